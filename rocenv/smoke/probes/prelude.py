"""What the Python probes share: how they answer, and how they find ROCm's libraries in an image. Python 3.8 and later.

No probe itself. Where one says `from prelude import *`, rocenv puts this text in that line's place before it sends it.
"""
import ctypes, glob, json, os, re, struct, sys, time

STAND_IN = bool(os.environ.get("ROCENV_STAND_IN"))  # no GPU here: only then may a probe run on the CPU, and it says so
TARGETS = os.environ.get("ROCENV_TARGETS", "").split()  # the planned GPUs' gfx targets
HIP_CAUSES = {2: "out of memory", 35: "no GPU seen", 100: "no GPU seen", 101: "no GPU seen",
              98: "no code for this GPU", 200: "no code for this GPU", 209: "no code for this GPU"}


class Fault(Exception):
    """What is wrong, in words that begin with the kind of fault: `wrong numbers: ...`."""


class Missing(Exception):
    """What the image or the GPU does not have, so that there is nothing to test."""


def say(result, cause=None, gpu=None, ran_on=None, seconds=None, figures=None):
    """Answer in one line of JSON: for one GPU (a dict of bdf, uuid, gfx, name as far as known) or for the container."""
    line = {"result": result, "cause": cause, "gpu": gpu, "ran_on": ran_on, "seconds": seconds, "figures": figures or {}}
    print(json.dumps({key: value for key, value in line.items() if value is not None}), flush=True)


def load(stem):
    """The shared library `stem` (libamdhip64 ...): the linker's own first, then where ROCm and its wheels lie."""
    here = os.path.join(sys.prefix, "lib*", "python*", "*-packages")
    folders = ["/opt/rocm/lib", "/opt/rocm/lib64", "/opt/rocm-*/lib", "/opt/rocm/core-*/lib",
               here + "/_rocm_sdk_*/lib", here + "/torch/lib"]
    names = ["%s.so.%d" % (stem, major) for major in range(12, -1, -1)] + [stem + ".so"]
    names += [path for folder in folders for path in sorted(glob.glob("%s/%s.so*" % (folder, stem)), reverse=True)]
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class Hip:
    """The few HIP calls that the probes make, by name and number: no struct whose layout changed between releases."""

    def __init__(self):
        self.library = load("libamdhip64")
        if self.library is None:
            raise Fault("no HIP runtime: libamdhip64 is not in the image")

    def call(self, name, *arguments):
        """Call it, or raise a Fault that names the call and HIP's error number."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Fault("%s: %s answers %d" % (HIP_CAUSES.get(status, "HIP error"), name, status))

    def count(self):
        """How many GPUs HIP sees; none is an answer too."""
        found = ctypes.c_int(0)
        status = self.library.hipGetDeviceCount(ctypes.byref(found))
        if status and HIP_CAUSES.get(status) != "no GPU seen":
            raise Fault("HIP error: hipGetDeviceCount answers %d" % status)
        return found.value

    def gpu(self, device):
        """Who device number `device` is.

        The property struct has two layouts (before and from HIP 6) and its end still grows, so it is called into a
        large buffer: the name stands first in both, and the gfx target is found by its spelling.
        """
        bus, raw, uuid = ctypes.create_string_buffer(32), ctypes.create_string_buffer(1 << 16), ctypes.create_string_buffer(16)
        self.call("hipDeviceGetPCIBusId", bus, ctypes.c_int(32), ctypes.c_int(device))
        layouts = ("hipGetDevicePropertiesR0600", "hipGetDeviceProperties")
        self.call(next(name for name in layouts if hasattr(self.library, name)), raw, ctypes.c_int(device))
        gfx = re.search(rb"gfx[0-9a-f]{3,}", raw.raw[256:])
        gpu = {"bdf": bus.value.decode(), "gfx": gfx.group().decode() if gfx else None, "name": raw.value.decode("utf-8", "replace")}
        if hasattr(self.library, "hipDeviceGetUuid") and not self.library.hipDeviceGetUuid(uuid, ctypes.c_int(device)):
            if re.fullmatch(rb"[0-9a-f]{16}", uuid.raw):  # on AMD: the sixteen digits as text
                gpu["uuid"] = "GPU-" + uuid.raw.decode()
        return gpu

    def memory(self, data, size=0):
        """Memory of the current GPU that holds `data`, or `size` bytes of rubbish."""
        at, size = ctypes.c_void_p(), len(data) if data is not None else size
        self.call("hipMalloc", ctypes.byref(at), ctypes.c_size_t(size))
        if data is None:
            self.call("hipMemset", at, 0xA5, ctypes.c_size_t(size))
        else:
            self.call("hipMemcpy", at, data, ctypes.c_size_t(size), 1)  # hipMemcpyHostToDevice
        return at

    def read(self, at, size):
        """Bytes of the current GPU's memory, once all that was started on it has ended."""
        out = ctypes.create_string_buffer(size)
        self.call("hipDeviceSynchronize")
        self.call("hipMemcpy", out, at, ctypes.c_size_t(size), 2)  # hipMemcpyDeviceToHost
        return out.raw

    def timed(self, start, runs):
        """The median of the seconds between two events around what `start` starts, the first run left out."""
        marks, milliseconds, seconds = (ctypes.c_void_p(), ctypes.c_void_p()), ctypes.c_float(0), []
        for mark in marks:
            self.call("hipEventCreate", ctypes.byref(mark))
        for _ in range(runs + 1):
            self.call("hipEventRecord", marks[0], None)
            start()
            self.call("hipEventRecord", marks[1], None)
            self.call("hipEventSynchronize", marks[1])
            self.call("hipEventElapsedTime", ctypes.byref(milliseconds), *marks)
            seconds.append(milliseconds.value / 1e3)
        for mark in marks:
            self.call("hipEventDestroy", mark)
        return sorted(seconds[1:])[runs // 2]


def with_hip(check, needs=()):
    """Run `check(hip, device)` on every GPU and answer for each. What an image does not have is skipped.

    Without a GPU, where that was agreed on, the libraries are loaded and nothing more is shown.
    """
    try:
        hip = Hip()
        for stem in needs:
            if load(stem) is None:
                raise Missing("no %s: it is not in the image" % stem)
        if STAND_IN:
            say("passed", ran_on="CPU", figures={"loaded": list(needs), "kernels_run": 0})
            return
        if hip.count() == 0:
            raise Fault("no GPU seen: hipGetDeviceCount finds none")
    except Missing as lack:
        say("skipped", str(lack))
        return
    except Fault as fault:
        say("failed", str(fault))
        return
    for device in range(hip.count()):
        gpu, start, result, cause, figures = None, time.perf_counter(), "passed", None, {}
        try:
            gpu = hip.gpu(device)
            hip.call("hipSetDevice", device)
            figures = check(hip, device)
        except Fault as fault:
            result, cause = "failed", str(fault)
        say(result, cause, gpu=gpu, seconds=round(time.perf_counter() - start, 3), figures=figures)

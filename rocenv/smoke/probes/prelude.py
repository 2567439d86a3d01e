"""What the Python probes share: how they answer, and how they find ROCm's libraries in an image. Python 3.8 and later.

No probe itself. Where one says `from prelude import *`, rocenv puts this text in that line's place before it sends it.
"""
import ctypes, glob, json, os, re, sys, time

STAND_IN = bool(os.environ.get("ROCENV_STAND_IN"))  # no GPU here: only then may a probe run on the CPU, and it says so
TARGETS = os.environ.get("ROCENV_TARGETS", "").split()  # the planned GPUs' gfx targets
HIP_CAUSES = {2: "out of memory", 35: "no GPU seen", 100: "no GPU seen", 101: "no GPU seen",
              98: "no code for this GPU", 200: "no code for this GPU", 209: "no code for this GPU"}


class Fault(Exception):
    """What is wrong, in words that begin with the kind of fault: `wrong numbers: ...`."""


def say(result, cause=None, gpu=None, ran_on=None, seconds=None, figures=None):
    """Answer in one line of JSON: for one GPU (a dict of bdf, uuid, gfx, name as far as known) or for the container."""
    line = {"result": result, "cause": cause, "gpu": gpu, "ran_on": ran_on, "seconds": seconds, "figures": figures or {}}
    print(json.dumps({key: value for key, value in line.items() if value is not None}), flush=True)


def load(stem):
    """The shared library `stem` (libamdhip64 ...): the linker's own first, then where ROCm and its wheels lie."""
    here = os.path.join(sys.prefix, "lib*", "python*", "*-packages")
    folders = ["/opt/rocm/lib", "/opt/rocm/lib64", "/opt/rocm-*/lib", "/opt/rocm/core-*/lib",
               here + "/_rocm_sdk_core/lib", here + "/torch/lib"]
    names = ["%s.so.%d" % (stem, major) for major in range(12, 0, -1)] + [stem + ".so"]
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

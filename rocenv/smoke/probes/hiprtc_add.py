# /// probe
# summary: adds two vectors on every GPU with a kernel that hiprtc compiles, where the image has no compiler
# level: kernel
# needs: python
# timeout: 60
# quick: yes
# fallback-for: vector_add
# source: vector_add.hip
# ///
# The kernel is the device part of vector_add.hip; the host's part is here, through ctypes.
import array, random

from prelude import *

ELEMENTS, GUARD, BLOCK, POISON = (1 << 20) + 13, 1024, 256, 0xA5
COPY_IN, COPY_OUT = 1, 2  # hipMemcpyHostToDevice, hipMemcpyDeviceToHost
os.environ.setdefault("AMD_COMGR_CACHE", "0")  # a fresh compilation is what is to be shown, and nothing is left behind


def kernel_source():
    text = os.environ.get("ROCENV_SOURCE")
    if text is None:  # started by hand, from its own folder
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vector_add.hip"), encoding="utf-8") as file:
            text = file.read()
    return text.encode()


class Compiler:
    """hiprtc; a library of its own from ROCm 6 on, part of the HIP runtime before."""

    def __init__(self, hip):
        self.library = load("libhiprtc") or hip.library
        if not hasattr(self.library, "hiprtcCompileProgram"):
            raise Fault("no compiler: the image has neither hipcc nor hiprtc")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Fault("compiler failed: %s answers %d" % (name, status))

    def compile(self, options):
        """The code object of the kernel."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t(0)
        self.call("hiprtcCreateProgram", ctypes.byref(program), kernel_source(), b"vector_add.hip", 0, None, None)
        words = (ctypes.c_char_p * max(1, len(options)))(*[option.encode() for option in options])
        status = self.library.hiprtcCompileProgram(program, len(options), words)
        if status:
            self.call("hiprtcGetProgramLogSize", program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value + 1)
            self.call("hiprtcGetProgramLog", program, log)
            words = log.value.decode("utf-8", "replace")
            told = next((line for line in words.splitlines() if "error" in line), words[:200])
            raise Fault("compiler failed: hiprtcCompileProgram answers %d: %s" % (status, told.strip()))
        self.call("hiprtcGetCodeSize", program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        self.call("hiprtcGetCode", program, code)
        self.call("hiprtcDestroyProgram", ctypes.byref(program))
        return code


def filled(hip, data, size):
    """`size` bytes of device memory that start with `data`, poisoned beyond."""
    at = ctypes.c_void_p()
    hip.call("hipMalloc", ctypes.byref(at), ctypes.c_size_t(size))
    hip.call("hipMemset", at, POISON, ctypes.c_size_t(size))
    if data is not None:
        address, count = data.buffer_info()
        hip.call("hipMemcpy", at, ctypes.c_void_p(address), ctypes.c_size_t(count * data.itemsize), COPY_IN)
    return at


def launch(hip, code, pointers):
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    hip.call("hipModuleLoadData", ctypes.byref(module), code)
    hip.call("hipModuleGetFunction", ctypes.byref(function), module, b"add")
    values = [ctypes.c_void_p(at.value) for at in pointers] + [ctypes.c_uint(ELEMENTS)]
    arguments = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
    blocks = (ELEMENTS + BLOCK - 1) // BLOCK
    hip.call("hipModuleLaunchKernel", function, blocks, 1, 1, BLOCK, 1, 1, 0, None, arguments, None)
    hip.call("hipDeviceSynchronize")
    hip.call("hipModuleUnload", module)


def check(left, right, bytes_out):
    """Every sum, bit for bit: one IEEE addition, rounded to single precision by the array."""
    sums, wanted = array.array("I"), array.array("I")
    sums.frombytes(bytes_out[: ELEMENTS * 4])
    wanted.frombytes(array.array("f", [a + b for a, b in zip(left, right)]).tobytes())
    if sums != wanted:
        wrong = [i for i in range(ELEMENTS) if sums[i] != wanted[i]]
        raise Fault("wrong numbers: %d of %d sums differ, the first at %d" % (len(wrong), ELEMENTS, wrong[0]))
    if bytes_out[ELEMENTS * 4 :] != bytes([POISON]) * (4 * GUARD):
        raise Fault("wrong numbers: something was written beyond the end of the result")


def run(hip, compiler, device, left, right):
    hip.call("hipSetDevice", device)
    start = time.perf_counter()
    target = hip.gpu(device)["gfx"]
    code = compiler.compile(["--offload-arch=" + target] if target else [])
    compiled = time.perf_counter() - start
    size, sums = 4 * ELEMENTS, 4 * (ELEMENTS + GUARD)
    pointers = [filled(hip, left, size), filled(hip, right, size), filled(hip, None, sums)]
    launch(hip, code, pointers)
    out = ctypes.create_string_buffer(sums)
    hip.call("hipMemcpy", out, pointers[2], ctypes.c_size_t(sums), COPY_OUT)
    for at in pointers:
        hip.call("hipFree", at)
    check(left, right, out.raw)
    return {"elements": ELEMENTS, "compile_seconds": round(compiled, 3), "code_bytes": len(code)}


def main():
    try:
        hip = Hip()
        compiler = Compiler(hip)
        if STAND_IN:
            sizes = {target: len(compiler.compile(["--offload-arch=" + target])) for target in TARGETS}
            say("passed", ran_on="CPU", figures={"compiled_for": sizes, "kernels_run": 0})
            return
        if hip.count() == 0:
            raise Fault("no GPU seen: hipGetDeviceCount finds none")
    except Fault as fault:
        say("failed", str(fault))
        return
    draw = random.Random(20260101)
    left, right = (array.array("f", [draw.uniform(-1, 1) for _ in range(ELEMENTS)]) for _ in range(2))
    for device in range(hip.count()):
        gpu, start = None, time.perf_counter()
        try:
            gpu = hip.gpu(device)
            figures = run(hip, compiler, device, left, right)
            say("passed", gpu=gpu, seconds=round(time.perf_counter() - start, 3), figures=figures)
        except Fault as fault:
            say("failed", str(fault), gpu=gpu, seconds=round(time.perf_counter() - start, 3))


main()

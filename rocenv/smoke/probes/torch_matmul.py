# /// probe
# summary: multiplies matrices with PyTorch on every GPU in four types and checks each element against the CPU
# level: framework
# needs: torch
# timeout: 240
# ///
# Started by hand with --cuda it takes a CUDA build too: that is how its checks are shown on a GPU that is not AMD's.
from prelude import *

os.environ["PYTORCH_TUNABLEOP_ENABLED"] = "0"  # no search for the fastest kernel: minutes, and files in the home folder
M, N, K = 385, 321, 515  # multiples of no tile, so every edge is tested; not square, so a swapped operand cannot fit
TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}
UNIT = {"fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "fp64": 2.0**-53}  # unit roundoff of each type
LEAST = {"fp32": 2.0**-126, "fp16": 2.0**-14, "bf16": 2.0**-126, "fp64": 2.0**-1022}  # below it a type loses digits
GENERIC = {  # LLVM's generic targets (AMDGPUUsage): which GPUs code for them runs on
    "gfx9-generic": r"gfx90[02469c]", "gfx9-4-generic": r"gfx94[012]|gfx950", "gfx10-1-generic": r"gfx101[0-3]",
    "gfx10-3-generic": r"gfx103[0-6]", "gfx11-generic": r"gfx11[05][0-3]", "gfx12-generic": r"gfx120[01]",
}


def fits(built, target):
    """Whether code built for `built` (gfx90a, gfx90a:xnack-, gfx11-generic) runs on a GPU that says `target`."""
    name, _, features = built.partition(":")
    own, _, has = target.partition(":")
    if not set(filter(None, features.split(":"))) <= set(has.split(":")):
        return False
    return name == own or bool(re.fullmatch(GENERIC.get(name, "-"), own))


def product(a, b):
    return a @ b


def check(torch, kind, device):
    """Multiply on `device` and return the worst error as a fraction of what the type allows; above 1 is wrong.

    Every element: |c - ref| <= gamma_K * sum |a||b| + u * |ref|, with gamma_K = K*u/(1 - K*u) for the sums (kept in
    single precision by fp16 and bf16) and u for the rounding of the result to its type. The reference is the same
    product on the CPU in double precision, which for fp64 carries the same error once more.
    """
    draw = torch.Generator().manual_seed(20260101)
    dtype = getattr(torch, TYPES[kind])
    a = torch.randn(M, K, generator=draw, dtype=torch.float64).to(dtype)
    b = torch.randn(K, N, generator=draw, dtype=torch.float64).to(dtype)
    result = product(a.to(device), b.to(device))
    if result.device != device or result.dtype != dtype or tuple(result.shape) != (M, N):
        raise Fault("ran on the CPU: the result lies on %s as %s %s" % (result.device, result.dtype, tuple(result.shape)))
    c, wide_a, wide_b = result.to("cpu").double(), a.double(), b.double()
    reference, size = wide_a @ wide_b, wide_a.abs() @ wide_b.abs()
    unit = UNIT["fp64" if kind == "fp64" else "fp32"]
    gamma = K * unit / (1 - K * unit) * (2 if kind == "fp64" else 1)
    bound = gamma * size + UNIT[kind] * (reference.abs() + gamma * size) + LEAST[kind]
    error = (c - reference).abs() / bound
    wrong = int((~(error <= 1)).sum())  # so that a NaN is wrong
    if wrong:
        first = int((~(error <= 1)).flatten().nonzero()[0])
        raise Fault("wrong numbers: %d of %d elements of a %s product are off, the first at row %d, column %d"
                    % (wrong, M * N, kind, first // N, first % N))
    return float("%.3g" % float(error.max()))


def explain(error):
    """A RuntimeError of torch's as the kind of fault that it is."""
    text = " ".join(str(error).split())
    for words, kind in (("out of memory", "out of memory"), ("invalid device function", "no code for this GPU"),
                        ("no kernel image", "no code for this GPU"), ("no binary for", "no code for this GPU"),
                        ("ARCH_MISMATCH", "no code for this GPU"), ("Tensile", "no code for this GPU"),
                        ("No HIP GPUs", "no GPU seen"), ("invalid device ordinal", "no GPU seen")):
        if words.lower() in text.lower():
            return "%s: torch says `%s`" % (kind, text[:200])
    return "torch fails: `%s`" % text[:200]


def who(torch, device):
    """The GPU behind a torch device. The PCI address is asked of the very library that torch has loaded."""
    properties = torch.cuda.get_device_properties(device)
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        loaded = re.findall(r"(/\S*/lib(?:amdhip64|cudart)[^/\s]*)$", maps.read(), re.M)
    bus = ctypes.create_string_buffer(32)
    ask = "hipDeviceGetPCIBusId" if torch.version.hip else "cudaDeviceGetPCIBusId"
    answers = [getattr(ctypes.CDLL(path), ask)(bus, 32, device) for path in loaded[:1]]
    gfx = properties.gcnArchName if torch.version.hip else "sm_%d%d" % (properties.major, properties.minor)
    gpu = {"gfx": gfx, "name": properties.name, "bdf": bus.value.decode() if answers == [0] else None}
    try:  # on ROCm the sixteen bytes are the digits of the UUID as text
        digits = bytes.fromhex(str(properties.uuid).replace("-", "")).decode("ascii")
    except (AttributeError, ValueError):
        digits = ""
    if re.fullmatch(r"[0-9a-f]{16}", digits):
        gpu["uuid"] = "GPU-" + digits
    return gpu


def right_build(torch):
    """A Fault unless this torch was built for ROCm and sees a GPU."""
    version = torch.version
    if not version.hip and version.cuda and "--cuda" not in sys.argv:
        raise Fault("CUDA build of torch: torch %s is built for CUDA %s and not for ROCm" % (torch.__version__, version.cuda))
    if not version.hip and not version.cuda:
        raise Fault("CPU build of torch: torch %s is built without ROCm (torch.version.hip is None)" % torch.__version__)
    if torch.cuda.device_count() == 0 or not torch.cuda.is_available():
        raise Fault("no GPU seen: torch %s is built for ROCm (HIP %s) and sees none" % (torch.__version__, version.hip))


def on_gpu(torch, index, figures):
    """All types on one GPU."""
    gpu, start = None, time.perf_counter()
    try:
        gpu = who(torch, index)
        built = torch.cuda.get_arch_list()
        if torch.version.hip and not any(fits(target, gpu["gfx"]) for target in built):
            raise Fault("no code for this GPU: torch is built for %s and not for %s" % (" ".join(built), gpu["gfx"]))
        errors = {kind + "_error_of_bound": check(torch, kind, torch.device("cuda", index)) for kind in TYPES}
        say("passed", gpu=gpu, seconds=round(time.perf_counter() - start, 3), figures=dict(figures, **errors))
    except Fault as fault:
        say("failed", str(fault), gpu=gpu, seconds=round(time.perf_counter() - start, 3), figures=figures)
    except RuntimeError as error:
        say("failed", explain(error), gpu=gpu, seconds=round(time.perf_counter() - start, 3), figures=figures)


def main():
    start = time.perf_counter()
    try:
        import torch
    except ModuleNotFoundError as error:
        missing = error.name == "torch"
        say("error", "no torch: this Python does not have it" if missing else "torch does not import: %s" % error)
        return
    except (ImportError, OSError) as error:
        say("failed", "torch does not import: %s" % " ".join(str(error).split())[:200])
        return
    figures = {"torch": str(torch.__version__), "hip": torch.version.hip, "import_seconds": round(time.perf_counter() - start, 3)}
    try:
        if not STAND_IN:
            right_build(torch)
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
            torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
            for index in range(torch.cuda.device_count()):
                on_gpu(torch, index, figures)
            return
        errors = {kind + "_error_of_bound": check(torch, kind, torch.device("cpu")) for kind in TYPES}
        say("passed", ran_on="CPU", seconds=round(time.perf_counter() - start, 3), figures=dict(figures, **errors))
    except Fault as fault:
        say("failed", str(fault), ran_on="CPU" if STAND_IN else None, figures=figures)


main()

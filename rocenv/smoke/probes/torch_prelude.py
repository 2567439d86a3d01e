"""What the probes with torch share: they know a wrong build of it, name the GPU, and explain what torch complains of.

Started by hand with --cuda a probe takes a CUDA build too: that is how its checks are shown on a GPU that is not AMD's.
"""
from prelude import *

os.environ["PYTORCH_TUNABLEOP_ENABLED"] = "0"  # no search for the fastest kernel: minutes, and files in the home folder
for variable, folder in (("MIOPEN_USER_DB_PATH", "miopen"), ("MIOPEN_CUSTOM_CACHE_DIR", "miopen"), ("TRITON_CACHE_DIR", "triton"),
                         ("TORCHINDUCTOR_CACHE_DIR", "inductor")):  # what they find or compile ends with the probe
    os.environ[variable] = os.path.join(os.environ.get("TMPDIR", "/tmp"), folder)
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


def explain(error):
    """An error of torch's as the kind of fault that it is."""
    text = " ".join(str(error).split())
    for words, kind in (("out of memory", "out of memory"), ("invalid device function", "no code for this GPU"),
                        ("no kernel image", "no code for this GPU"), ("no binary for", "no code for this GPU"),
                        ("ARCH_MISMATCH", "no code for this GPU"), ("Tensile", "no code for this GPU"),
                        ("No HIP GPUs", "no GPU seen"), ("invalid device ordinal", "no GPU seen"),
                        ("C compiler", "no compiler"), ("C++ compiler", "no compiler"), ("Python.h", "no compiler"), ("Bus error", "shared memory too small")):
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


def has_code(torch, gpu):
    """A Fault unless this torch holds code for the GPU."""
    built = torch.cuda.get_arch_list()
    if torch.version.hip and not any(fits(target, gpu["gfx"]) for target in built):
        raise Fault("no code for this GPU: torch is built for %s and not for %s" % (" ".join(built), gpu["gfx"]))


def on_device(result, device):
    """The result, if it lies where it should: a silent fall to the CPU is a Fault."""
    if result.device != device:
        raise Fault("ran on the CPU: the result lies on %s" % result.device)
    return result


def off(result, wanted):
    """How far a result is from what is wanted in double precision, as a fraction of it: |a - b| / |b|, in the 2-norm."""
    result, wanted = result.detach().cpu().double(), wanted.detach().cpu().double()
    return float("%.3g" % float((result - wanted).norm() / wanted.norm()))


def hold(error, bound, what):
    """The error, if it stays below its bound; what is not a number does not."""
    if not error <= bound:
        raise Fault("wrong numbers: %s is off by %.3g of its size, and %.3g is allowed" % (what, error, bound))
    return error


def answered(check, torch, device, figures, **where):
    """Run a check on one device and answer for it."""
    start = time.perf_counter()
    try:
        if where.get("gpu"):
            has_code(torch, where["gpu"])
        result, cause, found = "passed", None, check(torch, device)
    except Missing as lack:
        result, cause, found = "skipped", str(lack), {}
    except Fault as fault:
        result, cause, found = "failed", str(fault), {}
    except (RuntimeError, AssertionError, ImportError, OSError) as error:
        result, cause, found = "failed", explain(error), {}
    say(result, cause, seconds=round(time.perf_counter() - start, 3), figures=dict(figures, **found), **where)


def with_torch(check):
    """Run `check(torch, device)` on every GPU, or once on the CPU where that was agreed on, and answer each time."""
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
    except Fault as fault:
        say("failed", str(fault), figures=figures)
        return
    torch.manual_seed(20260101)
    matmul = torch.backends.cuda.matmul
    matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    matmul.allow_fp16_reduced_precision_reduction = matmul.allow_bf16_reduced_precision_reduction = False
    if STAND_IN:
        answered(check, torch, torch.device("cpu"), figures, ran_on="CPU")
        return
    for index in range(torch.cuda.device_count()):
        torch.cuda.set_device(index)
        answered(check, torch, torch.device("cuda", index), figures, gpu=who(torch, index))

# /// probe
# summary: three Triton kernels, compiled here and now: vector add bit for bit, softmax, matmul in fp16
# level: framework
# needs: torch
# timeout: 300
# ///
# Softmax: exp is good to a few units of 2^-24, the sum of a row adds as little: 1e-6 absolutely, for values up to 1.
# Matmul: the products of fp16 are exact in fp32, sums of K of them round K times: the bound of torch_matmul's fp32.
import importlib.util

from torch_prelude import *

KERNELS = '''
import triton
import triton.language as tl


@triton.jit
def add(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(x, y, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + i, powers / tl.sum(powers, axis=0), mask=i < columns)


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        right = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))
'''
SIGNATURES = {  # for a compilation without a GPU: pointers, sizes, and what is fixed
    "add": ({"a": "*fp32", "b": "*fp32", "c": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    "softmax": ({"x": "*fp32", "y": "*fp32", "columns": "i32"}, {"BLOCK": 1024}),
    "matmul": ({"a": "*fp16", "b": "*fp16", "c": "*fp32", "M": "i32", "N": "i32", "K": "i32"}, {"BM": 64, "BN": 64, "BK": 32}),
}


def kernels():
    """The kernels as a module: Triton reads their source, so there has to be a file."""
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "rocenv_kernels.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(KERNELS)
    spec = importlib.util.spec_from_file_location("rocenv_kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled_for(module, target):
    """The bytes of each kernel's code object for a gfx target that need not be here."""
    import triton
    from triton.backends.compiler import GPUTarget
    sizes = {}
    for name, (arguments, fixed) in SIGNATURES.items():
        source = triton.compiler.ASTSource(fn=getattr(module, name), signature=dict(arguments, **dict.fromkeys(fixed, "constexpr")), constexprs=fixed)
        code = triton.compile(source, target=GPUTarget("hip", target, 64 if target.startswith("gfx9") else 32))
        sizes[name] = len(code.asm["hsaco"])
    return sizes


def add(torch, module, device):
    a, b = torch.randn(1000003), torch.randn(1000003)
    c = torch.full_like(a, float("nan"), device=device)
    module.add[(-(-a.numel() // 1024),)](a.to(device), b.to(device), c, a.numel(), BLOCK=1024)
    if not torch.equal(c.cpu(), a + b):
        raise Fault("wrong numbers: %d of %d sums differ" % (int((c.cpu() != a + b).sum()), a.numel()))


def softmax(torch, module, device):
    x = torch.randn(777, 1000) * 4
    y = torch.full_like(x, float("nan"), device=device)
    module.softmax[(777,)](x.to(device), y, 1000, BLOCK=1024)
    error = float((y.cpu().double() - x.double().softmax(1)).abs().max())
    if not error <= 1e-6:
        raise Fault("wrong numbers: a softmax is off by %.3g, and 1e-06 is allowed" % error)
    return {"softmax_error": float("%.3g" % error)}


def matmul(torch, module, device):
    M, N, K = 515, 387, 259
    a, b = torch.randn(M, K).half(), torch.randn(K, N).half()
    c = torch.full((M, N), float("nan"), device=device)
    module.matmul[(-(-M // 64), -(-N // 64))](a.to(device), b.to(device), c, M, N, K, BM=64, BN=64, BK=32)
    wanted, size = a.double() @ b.double(), a.double().abs() @ b.double().abs()
    worst = float(((c.cpu().double() - wanted).abs() / (size * (K * 2.0**-24 / (1 - K * 2.0**-24)))).nan_to_num(nan=9e9).max())
    if not worst <= 1:
        raise Fault("wrong numbers: a matmul is off by %.3g of its bound" % worst)
    return {"matmul_error_of_bound": float("%.3g" % worst)}


def check(torch, device):
    if importlib.util.find_spec("triton") is None:
        raise Missing("no Triton: this Python does not have it")
    import triton
    module, figures = kernels(), {"triton": triton.__version__}
    if device.type == "cpu":
        return dict(figures, compiled_for={target: sum(compiled_for(module, target).values()) for target in TARGETS}, kernels_run=0)
    target = triton.runtime.driver.active.get_current_target()
    if bool(torch.version.hip) != (target.backend == "hip"):
        raise Fault("wrong Triton: it compiles for %s, and torch for %s" % (target.backend, "hip" if torch.version.hip else "cuda"))
    for kernel in (add, softmax, matmul):
        start = time.perf_counter()
        figures.update(kernel(torch, module, device) or {})
        figures[kernel.__name__ + "_seconds"] = round(time.perf_counter() - start, 3)
    return figures


with_torch(check)

# /// probe
# summary: multiplies matrices with PyTorch on every GPU in four types and checks each element against the CPU
# level: framework
# needs: torch
# timeout: 240
# quick: yes
# ///
from torch_prelude import *

M, N, K = 385, 321, 515  # multiples of no tile, so every edge is tested; not square, so a swapped operand cannot fit
TYPES = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64"}
UNIT = {"fp32": 2.0**-24, "fp16": 2.0**-11, "bf16": 2.0**-8, "fp64": 2.0**-53}  # unit roundoff of each type
LEAST = {"fp32": 2.0**-126, "fp16": 2.0**-14, "bf16": 2.0**-126, "fp64": 2.0**-1022}  # below it a type loses digits


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


def main():
    with_torch(lambda torch, device: {kind + "_error_of_bound": check(torch, kind, device) for kind in TYPES})


main()

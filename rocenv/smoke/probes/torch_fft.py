# /// probe
# summary: Fourier transforms (rocFFT on ROCm) of lengths with large primes, there and back, against the CPU
# level: framework
# needs: torch
# timeout: 240
# ///
# An FFT's error grows with the logarithm of its length: about log2(n) * 2^-24, 1e-6 for these; Bluestein's algorithm for
# a large prime takes three transforms of twice the length. 1e-5 is allowed in fp32 and 1e-13 in fp64.
from torch_prelude import *

LENGTHS = (1024, 1000, 2 * 3 * 5 * 7 * 11, 1009)
BOUND = {"float32": 1e-5, "float64": 1e-13}


def transformed(torch, x):
    return torch.fft.fft(x)


def check(torch, device):
    figures = {}
    for kind, bound in BOUND.items():
        worst = 0.0
        for length in LENGTHS:
            x = torch.randn(33, length, dtype=getattr(torch, kind))
            there = on_device(transformed(torch, x.to(device)), device)
            wanted = torch.fft.fft(x.double())
            error = off(torch.view_as_real(there), torch.view_as_real(wanted))
            worst = max(worst, hold(error, bound, "a %s transform of length %d" % (kind, length)))
            back = torch.fft.irfft2(torch.fft.rfft2(x.to(device)), s=x.shape)
            hold(off(on_device(back, device), x), bound, "a %s transform of length %d and back" % (kind, length))
        figures[kind + "_error"] = worst
    return figures


with_torch(check)

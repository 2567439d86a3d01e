# /// probe
# summary: random numbers (rocRAND's generators on ROCm): repeatable by their seed, and distributed as they should be
# level: framework
# needs: torch
# timeout: 240
# ///
# Means and deviations within six standard errors: a right generator fails that once in five hundred million draws.
from torch_prelude import *

COUNT = 1 << 20


def drawn(torch, seed, device):
    torch.manual_seed(seed)
    return torch.randn(COUNT, device=device), torch.rand(COUNT, device=device), torch.randperm(100003, device=device)


def check(torch, device):
    first, again, other = drawn(torch, 11, device), drawn(torch, 11, device), drawn(torch, 12, device)
    if not all(torch.equal(a, b) for a, b in zip(first, again)):
        raise Fault("wrong numbers: one seed gave two sequences")
    if any(torch.equal(a, b) for a, b in zip(first, other)):
        raise Fault("wrong numbers: two seeds gave one sequence")
    normal, uniform, order = (on_device(value, device).cpu().double() for value in first)
    error = 6 / COUNT**0.5
    figures = {"normal_mean": float(normal.mean()), "normal_deviation": float(normal.std()), "uniform_mean": float(uniform.mean())}
    if abs(figures["normal_mean"]) > error or abs(figures["normal_deviation"] - 1) > error / 2**0.5:
        raise Fault("wrong numbers: normal numbers have the mean %(normal_mean).5f and the deviation %(normal_deviation).5f" % figures)
    if abs(figures["uniform_mean"] - 0.5) > error / 12**0.5 or float(uniform.min()) < 0 or float(uniform.max()) >= 1:
        raise Fault("wrong numbers: uniform numbers have the mean %(uniform_mean).5f, or leave [0, 1)" % figures)
    if not torch.equal(order.sort().values, torch.arange(100003).double()):
        raise Fault("wrong numbers: a permutation holds a number twice")
    return {name: float("%.4g" % value) for name, value in figures.items()}


with_torch(check)

# /// probe
# summary: a convolution (MIOpen on ROCm) forward and backward in fp32 and bf16 against double precision on the CPU
# level: framework
# needs: torch
# timeout: 600
# ///
# MIOpen searches for the fastest kernel, and may compile it, at the first convolution of each kind: first_seconds shows
# that. Bounds, of the size of the whole result: fp32 sums 288 products (rounding 2^-24 each; some algorithms transform
# first and lose a factor of ten); bf16 rounds the result, 2^-8 at most and less than half of that in the mean.
from torch_prelude import *

BOUND = {"float32": 2e-5, "bfloat16": 2.0**-8}


def convolved(torch, inputs, weights):
    """The result and the gradients of both operands."""
    inputs, weights = inputs.detach().requires_grad_(), weights.detach().requires_grad_()
    result = torch.nn.functional.conv2d(inputs, weights, stride=2, padding=1)
    result.backward(torch.ones_like(result))
    return result, inputs.grad, weights.grad


def check(torch, device):
    figures = {"backend": torch.backends.cudnn.version()}
    for kind, bound in BOUND.items():
        dtype = getattr(torch, kind)
        inputs, weights = torch.randn(4, 32, 41, 37).to(dtype), (torch.randn(48, 32, 3, 3) / 17).to(dtype)
        wanted = convolved(torch, inputs.double(), weights.double())
        start = time.perf_counter()
        results = convolved(torch, inputs.to(device), weights.to(device))
        errors = [off(on_device(result, device), exact) for result, exact in zip(results, wanted)]
        figures[kind + "_first_seconds"] = round(time.perf_counter() - start, 3)
        for error, what in zip(errors, ("the result", "the gradient of the input", "the gradient of the weights")):
            hold(error, bound, "%s of a %s convolution" % (what, kind))
        start = time.perf_counter()
        convolved(torch, inputs.to(device), weights.to(device))[2].cpu()
        figures.update({kind + "_next_seconds": round(time.perf_counter() - start, 4), kind + "_error": max(errors)})
    return figures


with_torch(check)

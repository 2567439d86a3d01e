# /// probe
# summary: the rates of torch's matrix products in four types and of a copy, as figures to hold against the datasheet
# level: framework
# needs: torch
# timeout: 300
# ///
# Figures, not verdicts, with one exception: a product that is not the same as before is wrong. Random operands, as those
# of zeros run faster. A product of n x n matrices takes 2*n^3 operations; a copy counts what it reads and writes.
from torch_prelude import *

LARGE = {"float64": 4096, "float32": 4096, "float16": 8192, "bfloat16": 8192}


def median_seconds(torch, device, step, runs):
    """The median of the time between two events, after two runs that warm up."""
    seconds = []
    for _ in range(runs + 2):
        start = time.perf_counter()
        if device.type == "cuda":
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
            marks[0].record()
            step()
            marks[1].record()
            marks[1].synchronize()
            seconds.append(marks[0].elapsed_time(marks[1]) / 1e3)
        else:
            step()
            seconds.append(time.perf_counter() - start)
    return sorted(seconds[2:])[runs // 2]


def check(torch, device):
    figures, runs = {}, 9 if device.type == "cuda" else 1
    for kind, size in LARGE.items():
        size = size if device.type == "cuda" else 128
        a, b = (torch.randn(size, size, device=device).to(getattr(torch, kind)) for _ in range(2))
        first = on_device(a @ b, device)
        out = torch.empty_like(first)
        seconds = median_seconds(torch, device, lambda: torch.matmul(a, b, out=out), runs)
        if not torch.equal(first, out):
            raise Fault("wrong numbers: a %s product of %d x %d differs from the one before" % (kind, size, size))
        figures[kind + "_tflops"] = float("%.4g" % (2 * size**3 / seconds / 1e12))
        del a, b, first, out
    source = torch.randint(0, 255, (1 << 30 if device.type == "cuda" else 1 << 20,), dtype=torch.uint8, device=device)
    copy = torch.empty_like(source)
    seconds = median_seconds(torch, device, lambda: copy.copy_(source), runs)
    if not torch.equal(source, copy):
        raise Fault("wrong numbers: a copy on the GPU differs from its source")
    figures["copy_gb_per_second"] = float("%.4g" % (2 * source.numel() / seconds / 1e9))
    return figures


with_torch(check)

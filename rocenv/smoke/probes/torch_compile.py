# /// probe
# summary: torch.compile of a small network (Triton kernels on a GPU): the same numbers as without, in fp32
# level: framework
# needs: torch
# timeout: 600
# ///
# The compiler fuses and reorders sums of some hundred terms: 1e-5 of the result's size, as for torch_autograd. Where the
# CPU stands in, the graph is captured and run without code being generated.
from torch_prelude import *


def network(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(127, 255), nn.GELU(), nn.LayerNorm(255), nn.Linear(255, 65), nn.Softmax(-1))


def compiled(torch, net, device):
    return torch.compile(net, backend="inductor" if device.type == "cuda" else "aot_eager", fullgraph=True)


def check(torch, device):
    net, inputs = network(torch), torch.randn(63, 127)
    torch._dynamo.utils.counters.clear()
    with torch.no_grad():
        wanted = network(torch).double()
        wanted.load_state_dict({name: value.double() for name, value in net.state_dict().items()})
        wanted = wanted(inputs.double())
        fast, near, seconds = compiled(torch, net.to(device), device), inputs.to(device), []
        for _ in range(2):
            start = time.perf_counter()
            result = on_device(fast(near), device).cpu()
            seconds.append(round(time.perf_counter() - start, 4))
        error = hold(off(result, wanted), 1e-5, "what the compiled network answers")
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    if not graphs:
        raise Fault("torch fails: torch.compile compiled nothing")
    return {"error": error, "graphs": graphs, "first_seconds": seconds[0], "next_seconds": seconds[1]}


with_torch(check)

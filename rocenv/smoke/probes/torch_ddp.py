# /// probe
# summary: all GPUs train together, a process each (RCCL on ROCm): all-reduce, gather, broadcast, and DDP's gradients
# level: framework
# needs: torch
# timeout: 600
# ///
# Integers are summed exactly. DDP's gradients are the mean over the ranks, compared with one process that sees all
# samples, in double precision: 1e-12. On one GPU it is a world of one, which shows that the library loads and runs.
import shutil, subprocess, tempfile

from torch_prelude import *

WORKER = r"""
import datetime, json, os, sys, time
import torch
import torch.distributed as dist

rank, world, store, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
device = torch.device(kind, rank) if kind == "cuda" else torch.device("cpu")
if kind == "cuda":
    torch.cuda.set_device(device)
start = time.perf_counter()
dist.init_process_group("nccl" if kind == "cuda" else "gloo", init_method="file://" + store, rank=rank, world_size=world,
                        timeout=datetime.timedelta(seconds=300))
wrong, figures = [], {}
count = torch.arange((1 << 20) + 3, device=device)
summed = count * (rank + 1)
dist.all_reduce(summed)
if not torch.equal(summed, count * (world * (world + 1) // 2)):
    wrong.append("all-reduce")
figures["first_seconds"] = round(time.perf_counter() - start, 3)
gathered = [torch.empty(5, device=device) for _ in range(world)]
dist.all_gather(gathered, torch.full((5,), float(rank), device=device))
if any(bool((part != other).any()) for other, part in enumerate(gathered)):
    wrong.append("all-gather")
sent = torch.full((7,), float(rank), device=device)
dist.broadcast(sent, world - 1)
if bool((sent != world - 1).any()):
    wrong.append("broadcast")

torch.manual_seed(7)  # the same network and the same samples in every process; each takes its own share of them
net = torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.Tanh(), torch.nn.Linear(65, 9)).double()
samples = torch.randn(8 * world, 33, dtype=torch.float64)
net(samples).square().mean().backward()
wanted = [parameter.grad.clone() for parameter in net.parameters()]
net.zero_grad()
both = torch.nn.parallel.DistributedDataParallel(net.to(device), device_ids=[rank] if kind == "cuda" else None)
both(samples[rank::world].to(device)).square().mean().backward()
for parameter, exact in zip(net.parameters(), wanted):
    if parameter.grad.device != device or not float((parameter.grad.cpu() - exact).norm()) <= 1e-12 * float(exact.norm()):
        wrong.append("DDP's gradients")
        break
if kind == "cuda":
    data = torch.randn(1 << 25, device=device)
    for _ in range(3):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        dist.all_reduce(data)
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) / 10
    figures["all_reduce_128mib_ms"] = round(seconds * 1e3, 3)
    if world > 1:  # what each GPU sends and receives, as rccl-tests counts it
        figures["bus_gb_per_second"] = round(data.numel() * 4 / seconds * 2 * (world - 1) / world / 1e9, 1)
    figures["rccl"] = ".".join(map(str, torch.cuda.nccl.version()))
dist.barrier()
dist.destroy_process_group()
print(json.dumps({"wrong": wrong, "figures": figures}))
"""


def collective(torch, world, kind):
    """Run all ranks; what each answered. A Fault names the ranks that did not."""
    folder = tempfile.mkdtemp()
    os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
    try:
        ranks = [subprocess.Popen([sys.executable, "-W", "ignore", "-c", WORKER, str(rank), str(world), os.path.join(folder, "store"), kind],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(world)]
        answers = [(process.communicate(), process.returncode) for process in ranks]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for rank, ((_, talk), status) in enumerate(answers):
        if status:
            lines = [line for line in talk.decode("utf-8", "replace").splitlines() if line.strip()]
            said = [line for line in lines if "Error" in line or "what()" in line] or lines or ["not a word"]
            raise Fault(explain("rank %d of %d ends with %d: %s" % (rank, world, status, said[-1])))
    return [json.loads(out.splitlines()[-1]) for (out, _), _ in answers]


ANSWERS = []  # of all ranks: the first GPU's check starts them, each GPU answers for its own


def check(torch, device):
    world = torch.cuda.device_count() if device.type == "cuda" else 1
    if not ANSWERS:
        ANSWERS.extend(collective(torch, world, device.type))
    own = ANSWERS[device.index or 0]
    if own["wrong"]:
        raise Fault("wrong numbers: %s of %d ranks" % (" and ".join(own["wrong"]), world))
    return dict(own["figures"], world=world)


with_torch(check)

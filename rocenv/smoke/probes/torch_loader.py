# /// probe
# summary: a DataLoader with four worker processes and pinned memory feeds the GPU: each sample once, in its order
# level: framework
# needs: torch
# timeout: 240
# ///
# Workers hand their batches over in /dev/shm: one that is too small ends them with a bus error.
from torch_prelude import *

SAMPLES, FLOATS, BATCH, WORKERS = 512, 64 * 1024, 32, 4  # batches of 8 MiB, 16 of them


class Samples:
    """Sample i is an array that starts at i and rises by 1/2 from element to element: exact in fp32."""

    def __init__(self, torch):
        self.rise = torch.arange(FLOATS, dtype=torch.float32) / 2

    def __len__(self):
        return SAMPLES

    def __getitem__(self, index):
        return self.rise + index


def check(torch, device):
    from torch.utils.data import DataLoader
    data = Samples(torch)
    loader = DataLoader(data, batch_size=BATCH, num_workers=WORKERS, pin_memory=device.type == "cuda", multiprocessing_context="fork")
    rise, seen, start = data.rise.to(device), 0, time.perf_counter()
    for batch in loader:
        there = on_device(batch.to(device, non_blocking=True), device)
        wanted = rise + torch.arange(seen, seen + len(batch), device=device, dtype=torch.float32)[:, None]
        if not torch.equal(there, wanted):
            raise Fault("wrong numbers: the samples from %d on are not what was loaded" % seen)
        seen += len(batch)
    if seen != SAMPLES:
        raise Fault("wrong numbers: %d of %d samples came" % (seen, SAMPLES))
    shm = os.statvfs("/dev/shm")
    return {"samples_per_second": round(SAMPLES / (time.perf_counter() - start)), "workers": WORKERS, "shm_bytes": shm.f_blocks * shm.f_frsize}


with_torch(check)

"""Train a small network to tell two spirals apart, on whatever device there is, and keep the result."""

import argparse
import math

import torch
from torch import nn


def spirals(points: int, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Points of two spirals, and which one each belongs to."""
    turn = torch.rand(points, device=device) * 3 * math.pi + 0.5
    arm = torch.arange(points, device=device) % 2
    angle = turn + arm * math.pi
    place = torch.stack((angle.cos(), angle.sin()), dim=1) * turn.unsqueeze(1) / 10
    return place + torch.randn_like(place) * 0.02, arm


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=1500)
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--log", metavar="FOLDER", help="write the loss there, for tensorboard")
    options.add_argument("--out", default="spirals.pt")
    wanted = options.parse_args()

    device = torch.device(wanted.device)
    torch.manual_seed(0)
    what = torch.cuda.get_device_name(device) if device.type == "cuda" else "the CPU"
    print(f"torch {torch.__version__}, HIP {torch.version.hip}, on {what}")
    network = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-2)
    writer = None
    if wanted.log:
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter(wanted.log)
    for step in range(wanted.steps):
        place, arm = spirals(512, device)
        loss = nn.functional.cross_entropy(network(place), arm)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if writer is not None:
            writer.add_scalar("loss", loss.item(), step)
        if step % 100 == 0 or step == wanted.steps - 1:
            print(f"step {step:5d}  loss {loss.item():.4f}")
    place, arm = spirals(4096, device)
    with torch.no_grad():
        right = (network(place).argmax(dim=1) == arm).float().mean().item()
    torch.save(network.state_dict(), wanted.out)
    print(f"{right:.1%} of 4096 points told apart, kept in {wanted.out}")


if __name__ == "__main__":
    main()

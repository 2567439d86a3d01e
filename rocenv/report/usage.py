"""`rocenv top`: the GPUs of a host with what is in use and by whom, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from rocenv.model.host import Gpu, Host
from rocenv.report.text import size, table


class Using(Protocol):
    """A process on GPUs: `vram` is what it holds by KFD's number of each, in bytes."""

    @property
    def pid(self) -> int: ...  # noqa: D102
    @property
    def command(self) -> str: ...  # noqa: D102
    @property
    def container(self) -> str | None: ...  # noqa: D102
    @property
    def vram(self) -> Mapping[int, int]: ...  # noqa: D102


def named(gpu: Gpu) -> dict[str, Any]:
    """A GPU by all its names, as every answer has them."""
    return {
        "index": gpu.index,
        "gfx": gpu.gfx,
        "bdf": gpu.bdf,
        "partition": gpu.partition.index,
        "uuid": gpu.uuid,
        "render_node": gpu.render_node,
    }


def usage_json(
    host: Host, found: Sequence[Using], memory: Mapping[int, int | None], names: Mapping[str, str]
) -> dict[str, Any]:
    """The whole answer of `top --json`; `names` are containers of rocenv's by their ids, all sizes are bytes."""
    return {
        "version": 1,
        "status": "ok",
        "gpus": [
            {
                **named(gpu),
                "card_vram_bytes": gpu.card_vram_bytes,
                "card_vram_used_bytes": memory.get(gpu.index),
                "processes": [
                    {
                        "pid": one.pid,
                        "command": one.command,
                        "vram_bytes": one.vram[gpu.kfd_gpu_id],
                        "container_id": one.container,
                        "container": names.get(one.container or ""),
                    }
                    for one in _on(gpu, found)
                ],
            }
            for gpu in host.gpus
        ],
    }


def usage_text(host: Host, found: Sequence[Using], memory: Mapping[int, int | None], names: Mapping[str, str]) -> str:
    """A row for each process on each GPU, and one for a GPU that has none."""
    if not host.gpus:
        return "no GPU; `rocenv doctor` says why"
    rows = [row for gpu in host.gpus for row in _rows(gpu, found, memory.get(gpu.index), names)]
    return table(("GPU", "GFX", "BDF", "VRAM USED", "PID", "COMMAND", "HOLDS", "CONTAINER"), rows)


def _rows(gpu: Gpu, found: Sequence[Using], used: int | None, names: Mapping[str, str]) -> list[tuple[str, ...]]:
    part = f"/{gpu.partition.index}" if gpu.partition.count > 1 else ""
    own = (str(gpu.index), gpu.gfx or "?", gpu.bdf + part, "?" if used is None else size(used))
    on = _on(gpu, found)
    if not on:
        return [(*own, "-", "-", "-", "-")]
    return [(*own, str(one.pid), one.command, size(one.vram[gpu.kfd_gpu_id]), _whose(one, names)) for one in on]


def _whose(one: Using, names: Mapping[str, str]) -> str:
    if one.container is None:
        return "-"
    return names.get(one.container, f"{one.container[:12]} (not rocenv's)")


def _on(gpu: Gpu, found: Sequence[Using]) -> list[Using]:
    """The processes that hold memory on a GPU: KFD has a file for each GPU that a process opened, used or not."""
    return [one for one in found if one.vram.get(gpu.kfd_gpu_id)]

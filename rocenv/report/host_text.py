"""A host in words: one row per physical GPU, then driver, ROCm and access, then what is odd."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocenv.model.host import DeviceNode, Gpu, Host, Link
from rocenv.report.host_notes import notes
from rocenv.report.text import size, table

_PLACES = {"wsl2": "WSL 2", "container": "container", "vm": "virtual machine", "bare-metal": "bare metal"}
_REASONS = {
    "no-driver": "no driver holds it",
    "vfio-pci": "held for a virtual machine",
    "other-driver": "its driver is not amdgpu",
    "no-kfd": "amdgpu without KFD",
    "refused-by-kfd": "KFD does not take it",
    "masked": "not given to this container or job",
}
_MAX_NAME = 40


def host_text(host: Host, links: Sequence[Link] | None = None) -> str:
    """The whole answer of `rocenv detect` for people."""
    blocks = [_heading(host), _gpu_table(host), _unusable_table(host), _facts(host), _notes(host)]
    if links is not None:
        blocks.append(_link_table(host, links))
    return "\n\n".join(block for block in blocks if block)


def _heading(host: Host) -> str:
    """Where this is: host, kind of place, distribution, kernel, memory."""
    place = _PLACES.get(host.environment, host.environment)
    if host.virtualization not in (None, "wsl"):
        place = f"{place} ({host.virtualization})"
    memory = f"{size(host.memory_bytes)} of memory" if host.memory_bytes else None
    kernel = f"Linux {host.kernel}" if host.kernel else None
    words = [place, host.os.pretty_name or host.os.id, kernel, memory]
    return f"{host.name or 'this machine'}: {', '.join(word for word in words if word)}"


def by_slot(gpus: Iterable[Gpu]) -> list[list[Gpu]]:
    """GPUs by the physical GPU that they are parts of; a node that is there twice stands for itself."""
    groups: dict[tuple[str, int], list[Gpu]] = {}
    for gpu in gpus:
        alone = gpu.index if gpu.partition.count == 1 else -1
        groups.setdefault((gpu.bdf.rpartition(".")[0], alone), []).append(gpu)
    return list(groups.values())


def _gpu_table(host: Host) -> str:
    """One row per physical GPU; columns in which no GPU has anything are left out."""
    if not host.gpus:
        return "No AMD GPU here that ROCm could use" + (":" if host.unusable else ", and none on the PCI bus.")
    headers = ("GPU", "TARGET", "BDF", "RENDER NODE", "VRAM", "CUS", "MODE", "NUMA", "NAME", "UUID")
    rows = [_gpu_row(parts, host) for parts in by_slot(host.gpus)]
    kept = [column for column in range(len(headers)) if column < 6 or any(row[column] for row in rows)]  # noqa: PLR2004
    return table([headers[column] for column in kept], [[row[column] or "-" for column in kept] for row in rows])


def _gpu_row(parts: list[Gpu], host: Host) -> tuple[str, ...]:
    """A physical GPU with its partitions folded into one row."""
    first = parts[0]
    minors = [int(part.render_node.rpartition("renderD")[2]) for part in parts if part.render_node]
    uuids = list(dict.fromkeys(part.uuid for part in parts if part.uuid))
    return (
        ranges([part.index for part in parts]),
        first.gfx or "unknown",
        first.bdf,
        f"renderD{ranges(minors)}" if minors else "",
        _each([size(part.vram_bytes) for part in parts]),
        _each([str(part.compute_units or "-") for part in parts]),
        "/".join(mode for mode in (first.partition.compute, first.partition.memory) if mode),
        "" if first.numa_node is None else str(first.numa_node),
        _name(first, host),
        uuids[0] + (f" +{len(uuids) - 1}" if len(uuids) > 1 else "") if uuids else "",
    )


def _name(gpu: Gpu, host: Host) -> str:
    """The name without the vendor's, which is the same for all."""
    name = gpu.marketing_name or gpu.product_name or host.chips.get(gpu.pci_id) or gpu.name
    return name.removeprefix("AMD ")[:_MAX_NAME]


def _each(words: list[str]) -> str:
    """`24 GiB` for one part, `8 × 24 GiB` for eight that are alike by their first."""
    return words[0] if len(words) == 1 else f"{len(words)} × {words[0]}"


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,6` for 0, 1, 2, 3 and 6."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def _unusable_table(host: Host) -> str:
    """AMD's devices that ROCm cannot use, each with the reason."""
    rows = [
        (
            device.bdf,
            device.pci_id,
            device.driver or "-",
            _REASONS.get(device.reason or "", device.reason or "-"),
            (device.marketing_name or host.chips.get(device.pci_id) or "-").removeprefix("AMD ")[:_MAX_NAME],
        )
        for device in host.unusable
    ]
    return table(("NOT USABLE", "PCI ID", "DRIVER", "WHY", "NAME"), rows) if rows else ""


def _facts(host: Host) -> str:
    """Driver, ROCm, access and other displays, a line each."""
    others = [
        f"{device.bdf} {host.chips.get(device.pci_id, device.pci_id)[:_MAX_NAME]} ({device.driver or 'no driver'})"
        for device in host.other_displays
    ]
    facts = {"driver": [_driver(host)], "ROCm": _rocm(host), "access": access_lines(host), "other": others}
    return "\n".join(
        f"{'' if number else key:<8}{line}" for key, lines in facts.items() for number, line in enumerate(lines)
    )


def _driver(host: Host) -> str:
    """The driver in one line."""
    driver = host.driver
    if not driver.loaded:
        return "amdgpu is not loaded"
    if driver.origin == "in-tree":
        return "amdgpu, the kernel's own"
    release = f", release {driver.release}" if driver.release else ""
    return f"amdgpu {driver.version}, AMD's (DKMS{release})"


def _rocm(host: Host) -> list[str]:
    """The ROCm trees, a line each, the default one marked."""
    default = host.rocm_default.resolves_to if host.rocm_default else None
    return [
        f"{install.version or 'no version'} in {install.path}{' (default)' if install.path == default else ''}"
        for install in host.rocm_installed
    ] or ["not on this host, and containers bring their own"]


def access_lines(host: Host) -> list[str]:
    """What the caller can open, and by what; nodes alike are counted together."""
    kfd = host.device("/dev/kfd")
    if kfd is None and not host.gpus:
        return ["/dev/dxg is there" if host.dxg else "there is no /dev/kfd"]
    wanted = {gpu.render_node for gpu in host.gpus}
    nodes = [device for device in host.devices if device.path in wanted]
    words: dict[str, list[str]] = {}
    for device in ([kfd] if kfd else []) + nodes:
        words.setdefault(_verdict(device, host), []).append(device.path)
    lines = [] if kfd else ["there is no /dev/kfd"]
    for verdict, paths in words.items():
        renders = [path.rpartition("renderD")[2] for path in paths if "renderD" in path]
        shown = ["/dev/kfd"] if "/dev/kfd" in paths else []
        if renders:
            shown.append(f"renderD{ranges(int(number) for number in renders)}")
        lines.append(f"{' and '.join(shown)}: {verdict}")
    missing = sorted({gpu.index for gpu in host.gpus if gpu.render_node and not gpu.render_node_exists})
    return [*lines, *([f"no render node in /dev for GPU {ranges(missing)}"] if missing else [])]


def _verdict(device: DeviceNode, host: Host) -> str:
    """Whether the caller may open a node, and why."""
    if device.accessible:
        return f"open to uid {host.caller.uid} ({device.granted_by})"
    if device.refused_by not in (None, "EACCES"):
        return f"opening it answers {device.refused_by}"
    return f"closed to uid {host.caller.uid} (mode {device.mode:04o}, group {device.group or device.gid})"


def _notes(host: Host) -> str:
    """What is odd, a line each."""
    return "\n".join(f"note: {note}" for note in notes(host))


def _link_table(host: Host, links: Sequence[Link]) -> str:
    """The links that KFD shows, with GPUs by their index."""
    if not links:
        return "KFD shows no links."
    names = {gpu.kfd_node: f"GPU {gpu.index}" for gpu in host.gpus}
    rows = [
        (
            names.get(link.node_from, f"node {link.node_from}"),
            names.get(link.node_to, f"node {link.node_to}"),
            link.type,
            str(link.weight),
            "-" if not link.max_bandwidth else f"{link.max_bandwidth} MB/s",
            "no" if link.no_atomics else "yes",
        )
        for link in links
    ]
    return table(("FROM", "TO", "LINK", "WEIGHT", "BANDWIDTH", "ATOMICS"), rows)

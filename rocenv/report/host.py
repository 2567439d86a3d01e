"""What was seen of a host: the JSON contract of `rocenv detect` (docs/detect.md), and its tables for people."""

from __future__ import annotations

from collections.abc import Sequence

from rocenv.model.host import DeviceNode, DisplayDevice, Gpu, Host, Link


def host_json(host: Host, links: Sequence[Link] | None = None) -> dict[str, object]:
    """The contract, version 1: every key always, unknown is null, sizes in bytes. `links` is null unless asked for."""
    kfd = host.device("/dev/kfd")
    return {
        "version": 1,
        "status": "ok",
        "host": host.name,
        "environment": host.environment,
        "virtualization": host.virtualization,
        "run_as": {"uid": host.caller.uid, "gid": host.caller.gid, "groups": list(host.caller.groups)},
        "os": {
            "id": host.os.id,
            "version_id": host.os.version_id,
            "pretty_name": host.os.pretty_name,
        },
        "kernel": host.kernel,
        "machine": host.machine,
        "memory_bytes": host.memory_bytes,
        "numa_nodes": host.numa_nodes,
        "selinux": host.selinux,
        "cgroup_version": host.cgroup_version,
        "user_namespace": host.user_namespace,
        "allocation": _allocation(host),
        "driver": {
            "loaded": host.driver.loaded,
            "version": host.driver.version,
            "origin": host.driver.origin,
            "release": host.driver.release,
        },
        "kfd": {
            "sysfs": host.kfd_sysfs,
            "device": None if kfd is None else _kfd_device(kfd),
            "access": None if kfd is None else kfd.accessible,
        },
        "dxg": host.dxg,
        "devices": [_device(device) for device in host.devices],
        "rocm": _rocm(host),
        "groups": {"render": host.group_render, "video": host.group_video},
        "gpu_count": len(host.gpus),
        "physical_gpu_count": len({_slot(gpu) for gpu in host.gpus}),
        "gpus": [_gpu(gpu) for gpu in host.gpus],
        "links": None if links is None else [_link(link) for link in links],
        "amd_display_devices_without_usable_kfd_node": [_unusable(device) for device in host.unusable],
        "other_vendor_display_devices": [_display(device) for device in host.other_displays],
        "masked_kfd_nodes": list(host.masked_nodes),
        "broken_kfd_nodes": list(host.broken_nodes),
        "problems": [{"path": problem.path, "what": problem.what} for problem in host.problems],
    }


def _slot(gpu: Gpu) -> str:
    """The PCI slot, without the function: what partitions of one GPU share."""
    return gpu.bdf.rpartition(".")[0]


def _allocation(host: Host) -> dict[str, object] | None:
    """Who gave this process its share, and the visibility lists that it inherits."""
    if host.allocation is None:
        return None
    return {"by": host.allocation.by, "job": host.allocation.job, "visible": dict(host.allocation.visible)}


def _kfd_device(device: DeviceNode) -> dict[str, object]:
    """The node /dev/kfd."""
    return {
        "major": device.major,
        "minor": device.minor,
        "mode": f"{device.mode:04o}",
        "group": device.group,
        "gid": device.gid,
    }


def _device(device: DeviceNode) -> dict[str, object]:
    """Any device node, with the verdict on the caller."""
    return {
        "path": device.path,
        "major": device.major,
        "minor": device.minor,
        "mode": f"{device.mode:04o}",
        "uid": device.uid,
        "gid": device.gid,
        "group": device.group,
        "access": device.accessible,
        "granted_by": device.granted_by,
        "refused_by": device.refused_by,
    }


def _rocm(host: Host) -> dict[str, object]:
    """ROCm trees of the host."""
    default = host.rocm_default
    return {
        "default": default and {"path": default.path, "resolves_to": default.resolves_to, "version": default.version},
        "installed": [
            {"path": install.path, "version": install.version, "raw": install.raw} for install in host.rocm_installed
        ],
    }


def _gpu(gpu: Gpu) -> dict[str, object]:
    """One GPU, or one partition of it."""
    return {
        "index": gpu.index,
        "kfd_node": gpu.kfd_node,
        "kfd_gpu_id": gpu.kfd_gpu_id,
        "bdf": gpu.bdf,
        "location_id": gpu.location_id,
        "pci_id": gpu.pci_id,
        "gfx": gpu.gfx,
        "gfx_source": gpu.gfx_source,
        "marketing_name": gpu.marketing_name,
        "product_name": gpu.product_name,
        "kind": gpu.kind,
        "vram_bytes": gpu.vram_bytes,
        "card_vram_bytes": gpu.card_vram_bytes,
        "gtt_bytes": gpu.gtt_bytes,
        "kfd_bank_bytes": gpu.kfd_bank_bytes,
        "compute_units": gpu.compute_units,
        "num_xcc": gpu.num_xcc,
        "render_node": gpu.render_node,
        "render_node_exists": gpu.render_node_exists,
        "card_node": gpu.card_node,
        "unique_id": gpu.unique_id,
        "uuid": gpu.uuid,
        "hive_id": None if gpu.hive_id is None else f"{gpu.hive_id:016x}",
        "partition": {
            "compute": gpu.partition.compute,
            "memory": gpu.partition.memory,
            "index": gpu.partition.index,
            "count": gpu.partition.count,
        },
        "numa_node": gpu.numa_node,
        "kfd_cpu_node": gpu.kfd_cpu_node,
        "access": {"kfd": gpu.can_open_kfd, "render": gpu.can_open_render},
    }


def _link(link: Link) -> dict[str, object]:
    """One io_link."""
    return {
        "from": link.node_from,
        "to": link.node_to,
        "type": link.type,
        "weight": link.weight,
        "min_bandwidth": link.min_bandwidth,
        "max_bandwidth": link.max_bandwidth,
        "no_atomics": link.no_atomics,
    }


def _display(device: DisplayDevice) -> dict[str, object]:
    """A display device of another vendor."""
    return {"bdf": device.bdf, "pci_id": device.pci_id, "driver": device.driver}


def _unusable(device: DisplayDevice) -> dict[str, object]:
    """An AMD device that is no GPU for ROCm."""
    return {
        **_display(device),
        "marketing_name": device.marketing_name,
        "render_node": device.render_node,
        "reason": device.reason,
    }

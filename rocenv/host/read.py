"""One host read whole: the parts in the order in which they need each other."""

from __future__ import annotations

from rocenv.host import access, driver, environment, gpus, names, pci, rocm
from rocenv.host.source import Root
from rocenv.host.topology import read_topology
from rocenv.model.host import Host


def read(root: Root, *, chips: bool = False) -> Host:
    """Everything that is to be seen of a host. Never raises for what its files hold; `chips`: see `read_host`."""
    caller = root.source.caller()
    groups = access.group_names(root)
    devices = access.devices(root, caller, groups)
    by_path = {device.path: device for device in devices}
    kernel = root.text("/proc/sys/kernel/osrelease")
    kind, virtualization = environment.environment(root, kernel, dxg="/dev/dxg" in by_path)
    topology = read_topology(root)
    functions = pci.scan(root)
    found = gpus.read_gpus(root, topology, functions, by_path)
    left = gpus.unusable(root, functions, found, topology)
    others = gpus.other_displays(root, functions)
    nameless = [gpu.pci_id for gpu in found if not (gpu.product_name or gpu.marketing_name)]
    nameless += [device.pci_id for device in (*left, *others) if device.marketing_name is None]
    numbers = {name: number for number, name in reversed(groups.items())}
    return Host(
        name=root.source.name,
        environment=kind,
        caller=caller,
        os=environment.os_release(root),
        kernel=kernel,
        machine=root.source.machine(),
        driver=driver.read_driver(root),
        kfd_sysfs=topology.present,
        devices=devices,
        rocm_default=rocm.default(root),
        rocm_installed=rocm.installed(root),
        group_render=numbers.get("render"),
        group_video=numbers.get("video"),
        gpus=found,
        unusable=left,
        other_displays=others,
        masked_nodes=tuple(topology.masked),
        broken_nodes=tuple(topology.broken),
        memory_bytes=environment.memory_bytes(root),
        numa_nodes=environment.numa_nodes(root),
        selinux=environment.selinux(root),
        cgroup_version=environment.cgroup_version(root),
        user_namespace=environment.user_namespace(root),
        virtualization=virtualization,
        allocation=environment.allocation(root.source.variables()),
        problems=tuple(root.problems),
        selinux_devices=environment.selinux_devices(root),
        wsl_libraries=environment.wsl_libraries(root) if kind == "wsl2" else (),
        chips=names.chip_names(root, nameless) if chips else {},
    )

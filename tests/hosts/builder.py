"""Writes whole host captures (root/ and devices.yaml) from descriptions of a few lines: `NAME.yaml` beside this file.

    python tests/hosts/builder.py NAME FOLDER

A description names GPUs by a model of models.yaml and says where they are; everything else has a default. The keys:

    kernel, os {ID: …}, machine, groups {name: gid}, run_as {uid, gid, groups}   the host and who asks
    driver      amdgpu's version (DKMS), `in-tree`, or `none`;  `module` where it differs from what is on the bus
    kfd         false: no KFD;  {mode, group, gid, major, fault}: its device node
    cpus        CPU nodes of KFD; GPUs hang on them by `numa`, else on the first
    old_kernel  true: KFD prints no domain, gfx_target_version, unique_id, num_xcc
    gpus []     model, at (BDF), and where it differs: numa, partitions, mode (CPX/NPS1), hive, unique_id, function,
                part_bit (28: the partition's number stands in the highest bits of location_id),
                driver (null: unbound), kfd (false: KFD does not know it), node, render, card, dev (false: no nodes in
                /dev), masked, vram, product, revision, rename of any KFD key under `properties`
    displays [] other devices: at, id (vendor:device), class, driver, card
    rocm        {path below /opt: version, or null for a folder without one, or `-> target` for a link}
    files {path: text}, links {path: target}, folders [], remove [], devices [] and faults []  whatever else

Standard library and PyYAML alone: the demo's test bed and the benchmark use it too.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
NODES = "/sys/devices/virtual/kfd/kfd/topology/nodes"
DRM_MAJOR = 226
KFD_MAJOR = 511
GIB = 1 << 30
MIB = 1 << 20
Description = dict[str, Any]


def names() -> list[str]:
    """The hosts that are described, by name."""
    return sorted(path.stem for path in HERE.glob("*.yaml") if path.stem != "models")


def describe(name: str) -> Description:
    """A host's description by its name; `based_on` another one, its keys laid over that one's."""
    text: Description = yaml.safe_load((HERE / f"{name}.yaml").read_text(encoding="utf-8"))
    base = text.pop("based_on", None)
    return {**describe(base), **text} if base else text


def build(description: Description, folder: Path) -> Path:
    """Write the capture to `folder`, whose name is the host's; what was there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    host = Host(description, folder)
    host.write()
    return folder


class Host:
    """One capture being written: files below root/, and the device nodes and faults of devices.yaml."""

    def __init__(self, description: Description, folder: Path) -> None:
        self.told = description
        self.folder = folder
        self.devices: list[Description] = []
        self.faults: list[Description] = list(description.get("faults", []))
        self.groups: dict[str, int] = description.get("groups", {"video": 44, "render": 109})
        models = yaml.safe_load((HERE / "models.yaml").read_text(encoding="utf-8"))
        self.gpus = [{**models[gpu["model"]], **gpu} for gpu in description.get("gpus", [])]
        self.next_card, self.next_render, self.next_xcp = 0, 128, 0

    # --- files -------------------------------------------------------------------------------------------------

    def path(self, path: str) -> Path:
        return self.folder / "root" / path.lstrip("/")

    def file(self, path: str, text: object) -> None:
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"{text}\n", encoding="utf-8")

    def files(self, folder: str, texts: Description) -> None:
        for name, text in texts.items():
            if text is not None:
                self.file(f"{folder}/{name}", text)

    def link(self, path: str, target: str) -> None:
        """A link to an absolute path of the host, written relative so that it stays inside root/."""
        place = self.path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.path.relpath(target, os.path.dirname(path)))

    def node(self, path: str, major: int, minor: int, mode: str, gid: int) -> None:
        entry = {"path": path, "type": "c", "major": major, "minor": minor, "mode": mode, "uid": 0, "gid": gid}
        self.devices.append(entry)

    # --- the whole ---------------------------------------------------------------------------------------------

    def write(self) -> None:
        self.path("/").mkdir(parents=True)
        self.system()
        self.software()
        for display in self.told.get("displays", []):
            self.display(display)
        properties = [self.gpu(gpu) for gpu in self.gpus]
        self.topology([node for nodes in properties for node in nodes])
        self.rest()
        manifest: Description = {
            "run_as": self.told.get("run_as", {"uid": 1000, "gid": 1000, "groups": [*self.groups.values(), 1000]}),
            "devices": self.devices,
            "faults": self.faults,
            **{key: self.told[key] for key in ("machine", "environment", "symlinks") if key in self.told},
        }
        text = yaml.safe_dump(manifest, sort_keys=False)
        (self.folder / "devices.yaml").write_text(text, encoding="utf-8")

    def system(self) -> None:
        told = self.told.get("os", {"ID": "ubuntu", "VERSION_ID": '"24.04"', "PRETTY_NAME": '"Ubuntu 24.04.3 LTS"'})
        self.file("/etc/os-release", "\n".join(f"{key}={value}" for key, value in told.items()))
        lines = [f"{name}:x:{gid}:" for name, gid in {"root": 0, **self.groups}.items()]
        self.file("/etc/group", "\n".join(lines))
        self.file("/proc/sys/kernel/osrelease", self.told.get("kernel", "6.8.0-60-generic"))
        self.file("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme de pse")
        self.path("/sys/bus/pci/devices").mkdir(parents=True)

    def software(self) -> None:
        driver = self.told.get("driver", "in-tree")
        if driver != "none":
            self.files("/sys/module/amdgpu", {"initstate": "live", "version": None if driver == "in-tree" else driver})
        for place, version in self.told.get("rocm", {}).items():
            path = f"/opt/{place}"
            if str(version).startswith("-> "):
                self.link(path, os.path.join(os.path.dirname(path), str(version)[3:]))
            elif version is None:
                self.path(path).mkdir(parents=True)
            else:
                self.file(f"{path}/.info/version", version)

    def rest(self) -> None:
        for path in self.told.get("folders", []):
            self.path(path).mkdir(parents=True, exist_ok=True)
        for path, text in self.told.get("files", {}).items():
            self.file(path, text)
        for path, target in self.told.get("links", {}).items():
            self.path(path).parent.mkdir(parents=True, exist_ok=True)
            self.path(path).symlink_to(target)
        for path in self.told.get("remove", []):
            place = self.path(path)
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink()
        self.devices += self.told.get("devices", [])

    # --- the bus -----------------------------------------------------------------------------------------------

    def function(self, bdf: str, pci_id: str, driver: str | None, texts: Description) -> str:
        """A PCI function with its driver; the path of its folder."""
        vendor, device = pci_id.split(":")
        place = f"/sys/devices/pci{bdf[:4]}:00/{bdf}"
        self.files(place, {"vendor": f"0x{vendor}", "device": f"0x{device}", **texts})
        self.link(f"/sys/bus/pci/devices/{bdf}", place)
        if driver:
            self.path(f"/sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
            self.link(f"{place}/driver", f"/sys/bus/pci/drivers/{driver}")
        return place

    def display(self, told: Description) -> None:
        """Another vendor's display, or any other function, with a card where it has one."""
        texts = {"class": told.get("class", "0x030000"), "revision": "0x00", "numa_node": -1}
        place = self.function(told["at"], told["id"], told.get("driver"), texts)
        if told.get("card", False):
            self.drm(place, render=told.get("render", False), dev=True)

    def drm(self, place: str, *, render: bool = True, dev: bool, told: Description | None = None) -> int:
        """A card node and its render node under one DRM parent; the minor of the render node, or -1."""
        told = told or {}
        card = told.get("card", self.next_card)
        self.next_card = max(self.next_card, card + 1)
        self.one_drm(place, f"card{card}", card, "video", dev=dev)
        if not render:
            return -1
        minor: int = told.get("render", self.next_render)
        self.next_render = max(self.next_render, minor + 1)
        self.one_drm(place, f"renderD{minor}", minor, "render", dev=dev)
        return minor

    def one_drm(self, place: str, name: str, minor: int, group: str, *, dev: bool) -> None:
        self.file(f"{place}/drm/{name}/dev", f"{DRM_MAJOR}:{minor}")
        self.link(f"{place}/drm/{name}/device", place)
        self.link(f"/sys/class/drm/{name}", f"{place}/drm/{name}")
        if dev:
            gid = self.groups.get(group, self.groups.get("video", 44))
            self.node(f"/dev/dri/{name}", DRM_MAJOR, minor, self.told.get("dri_mode", "0660"), gid)

    def gpu(self, gpu: Description) -> list[Description]:
        """One GPU on the bus, with all its partitions; what KFD knows of each, none where it knows none."""
        bdf, driver = gpu["at"], gpu.get("driver", "amdgpu")
        compute, _, memory = (gpu.get("mode") or "").partition("/")
        bound = driver == "amdgpu"
        vram = int(gpu["vram"])
        texts = {
            "class": gpu["class"],
            "revision": gpu["revision"],
            "numa_node": gpu.get("numa", -1),
            "mem_info_vram_total": vram if bound else None,
            "mem_info_gtt_total": gpu.get("gtt", 32 * GIB) if bound else None,
            "current_compute_partition": compute or None,
            "current_memory_partition": memory or None,
            "product_name": gpu.get("product"),
        }
        place = self.function(bdf, f"1002:{gpu['device']}", driver, texts)
        parts = gpu.get("partitions", 1)
        nodes = []
        for part in range(parts if bound else 0):
            beside = place if part == 0 else self.xcp()
            minor = self.drm(beside, dev=gpu.get("dev", True), told=gpu if part == 0 else None)
            if gpu.get("kfd", True):
                nodes.append(self.properties(gpu, part, minor))
        for _ in range(gpu.get("idle_xcps", 0) if bound else 0):
            self.drm(self.xcp(), dev=True)
        return nodes

    def xcp(self) -> str:
        """The next platform device that a partition beyond the first has its nodes under."""
        self.next_xcp += 1
        return f"/sys/devices/platform/amdgpu_xcp.{self.next_xcp - 1}"

    # --- KFD ---------------------------------------------------------------------------------------------------

    def properties(self, gpu: Description, part: int, minor: int) -> Description:
        """What KFD prints of one GPU node, and beside it what the node's other files hold."""
        domain, bus, rest = gpu["at"].split(":")
        location = int(bus, 16) << 8 | int(rest.split(".")[0], 16) << 3 | int(rest.split(".")[1])
        location |= part << gpu.get("part_bit", 0)
        parts = gpu.get("partitions", 1)
        keys: Description = {
            "cpu_cores_count": 0,
            "simd_count": gpu["cus"] * gpu["simd_per_cu"] // parts,
            "simd_per_cu": gpu["simd_per_cu"],
            "wave_front_size": gpu["wave"],
            "gfx_target_version": gpu["gfx"],
            "vendor_id": 0x1002,
            "device_id": int(gpu["device"], 16),
            "location_id": location,
            "domain": int(domain, 16),
            "drm_render_minor": minor,
            "hive_id": gpu.get("hive", 0),
            "unique_id": int(str(gpu.get("unique_id", 0)), 16),
            "num_xcc": max(1, gpu["xccs"] // parts),
        }
        if self.told.get("old_kernel"):
            for key in ("gfx_target_version", "domain", "unique_id", "num_xcc"):
                del keys[key]
        keys.update(gpu.get("properties", {}))
        vram = gpu["bank"] if "bank" in gpu else gpu["vram"]
        return {
            "properties": {key: value for key, value in keys.items() if value is not None},
            "gpu_id": gpu.get("gpu_id", (int(domain, 16) << 16 | location) * 7 + 11),
            "bank": int(vram) // parts,
            "cpu": max(0, gpu.get("numa", 0)),
            "node": gpu.get("node"),
            "masked": gpu.get("masked", False),
        }

    def topology(self, gpus: list[Description]) -> None:
        """All KFD nodes, CPUs first, and /dev/kfd."""
        kfd = self.told.get("kfd", bool(gpus))
        if kfd is False:
            return
        told = kfd if isinstance(kfd, dict) else {}
        self.link("/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd")
        cpus = self.told.get("cpus", 1)
        for number in range(cpus):
            self.kfd_node(number, {"cpu_cores_count": 16, "simd_count": 0, "vendor_id": 0}, gpu_id=0)
        number = cpus - 1
        for gpu in gpus:
            number = gpu["node"] or number + 1
            self.kfd_node(number, gpu["properties"], gpu_id=gpu["gpu_id"])
            place = f"{NODES}/{number}"
            self.file(f"{place}/mem_banks/0/properties", f"heap_type 1\nsize_in_bytes {gpu['bank']}\nflags 0")
            link = f"type 2\nnode_from {number}\nnode_to {gpu['cpu']}\nweight 20\nmax_bandwidth 63015\nflags 1"
            self.file(f"{place}/io_links/0/properties", link)
            if gpu["masked"]:
                names = ("properties", "gpu_id", "name", "mem_banks/0/properties", "io_links/0/properties")
                self.faults += [{"path": f"{place}/{name}", "errno": "EPERM", "op": "read"} for name in names]
        gid = told.get("gid", self.groups.get(told.get("group", "render"), self.groups.get("video", 44)))
        self.node("/dev/kfd", told.get("major", KFD_MAJOR), 0, told.get("mode", "0660"), gid)
        if "fault" in told:
            self.faults.append({"path": "/dev/kfd", "errno": told["fault"], "op": "open"})

    def kfd_node(self, number: int, properties: Description, *, gpu_id: int) -> None:
        text = "\n".join(f"{key} {value}" for key, value in properties.items())
        self.files(f"{NODES}/{number}", {"properties": text, "gpu_id": gpu_id, "name": ""})


def main(arguments: list[str]) -> None:
    if len(arguments) != 2 or arguments[0] not in names():
        sys.exit(f"usage: builder.py NAME FOLDER\nNAME: {', '.join(names())}")
    build(describe(arguments[0]), Path(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])

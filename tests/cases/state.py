"""A case's state, written as a host capture.

The cases say little of a host: what they leave out is what a healthy host would have. A KFD node gets its function on
the bus, its render node in sysfs and in /dev; device nodes without a topology stand for GPUs behind them.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from hosts import builder

State = dict[str, Any]
_NODE = re.compile(r"class/kfd/kfd/topology/nodes/(\d+)/properties")
_BUS = re.compile(r"bus/pci/devices/([0-9a-f:.]+)/(\w+)")
_DEV = re.compile(r"c (\d+):(\d+) (\d+) (\d+):(\d+)")
_RENDER = re.compile(r"/dev/dri/renderD(\d+)")
_GPU_NODES = ("/dev/kfd", "/dev/dri/")
_NODES = (*_GPU_NODES, "/dev/dxg")
_MODEL = "mi210"  # of a GPU of which a case says nothing
_GID = 109
_NOBODY = 65534  # what a user namespace shows of ids that it does not map
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"


def build(state: State, folder: Path) -> Path:
    """Write the capture of a case's host; what was there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    CaseHost(state, folder).write()
    return folder


class CaseHost(builder.Host):
    """The builder's host, with what a case gives word for word, and the rest completed."""

    def __init__(self, state: State, folder: Path) -> None:
        self.state = state
        sys_files = state.get("sys", {})
        self.nodes = {
            int(match.group(1)): _properties(text)
            for path, text in sys_files.items()
            if (match := _NODE.fullmatch(path))
        }
        self.raw_bus = {
            match.group(1) for path in (*sys_files, *state.get("sys_dirs", ())) if (match := _BUS.match(path))
        }
        super().__init__(self._description(), folder)

    def _description(self) -> State:
        state = self.state
        user = self._user()
        named = groups(state.get("etc_group", "")) or {"video": 44, "render": _GID}
        uid = user.get("uid", 1000)
        told: State = {
            "groups": named,
            "driver": "in-tree" if self._driver() else "none",
            "run_as": {
                "uid": uid,
                "gid": user.get("gid", uid),
                "groups": user.get("groups", [uid, *named.values(), *self._owners()]),
                "name": user.get("name", "u"),
            },
            "machine": state.get("machine", "x86_64"),
            "environment": state.get("env", {}),
            "kernel": state.get("uname", "6.8.0-60-generic"),
            "gpus": self._made_gpus(),
            "faults": [
                {"path": path, "errno": word, "op": "open"} for path, word in state.get("open_errno", {}).items()
            ],
            "files": self._files(),
            "folders": [f"/sys/{path}" for path in state.get("sys_dirs", ())],
        }
        return {key: value for key, value in told.items() if value is not None}

    def _owners(self) -> set[int]:
        """The groups of the nodes that a case gives: one who is not told of may open them."""
        return {int(text.rpartition(":")[2]) for text in self.state.get("dev", {}).values()} - {0, _NOBODY}

    def _user(self) -> State:
        """Who runs; /proc/self/status says it of the process inside of a container."""
        proc = self.state.get("proc", {})
        status = {path.partition(":")[2]: str(text) for path, text in proc.items() if path.startswith("self/status:")}
        found = dict(self.state.get("user", {}))
        if "Uid" in status:
            found["uid"] = int(status["Uid"])
        if "Groups" in status:
            found |= {"gid": found["uid"], "groups": [int(word) for word in status["Groups"].split()]}
        return found

    def _driver(self) -> bool:
        """Whether amdgpu is loaded: a case shows it by the module, a bound function, a topology, or /dev/kfd."""
        state = self.state
        if any(path.startswith("module/amdgpu") for path in (*state.get("sys", ()), *state.get("sys_dirs", ()))):
            return True
        if "dkms" in state:
            return False
        if "amdgpu" in state.get("links", {}).values() or self.nodes or not self._says_gpus():
            return True
        return any(path.startswith(_GPU_NODES) for path in state.get("dev", {})) or bool(self._made_gpus())

    def _says_gpus(self) -> bool:
        """Whether a case says which GPUs there are; one that does not means a host with a healthy one."""
        state = self.state
        dev = state.get("dev")
        if dev is not None and (not dev or any(path.startswith(_NODES) for path in dev)):
            return True
        return bool(
            self.nodes or self.raw_bus or any(key in state for key in ("gpus", "kfd_gpu_nodes", "links", "platform"))
        )

    def _made_gpus(self) -> list[State]:
        """GPUs for device nodes without a topology, for a bare number of them, or where none is named at all."""
        state = self.state
        if "kfd_gpu_nodes" in state:
            return _partitioned(state)
        if self.nodes or self.raw_bus:
            return []
        minors = [int(match.group(1)) for path in state.get("dev", {}) if (match := _RENDER.fullmatch(path))]
        by_path = _by_path(state.get("links", {}))
        if by_path:
            return [_gpu(number, minor, bdf) for number, (bdf, minor) in enumerate(sorted(by_path.items()))]
        if "dkms" in state and not self._says_gpus():
            return [{**_gpu(0, 128), "driver": None, "kfd": False}]
        count = state.get(
            "gpus", len(minors) or (1 if "/dev/kfd" in state.get("dev", {}) or not self._says_gpus() else 0)
        )
        return [_gpu(number, (minors or [128 + one for one in range(count)])[number]) for number in range(count)]

    def _files(self) -> dict[str, str]:
        state = self.state
        found = {f"/sys/{path}": text for path, text in state.get("sys", {}).items() if not _NODE.fullmatch(path)}
        found |= {
            f"/proc/{path.partition(':')[0]}": text for path, text in state.get("proc", {}).items() if ":" not in path
        }
        if "dmesg" in state:
            found["/captures/dmesg.txt"] = state["dmesg"]
        if "etc_subgid" in state:
            found["/etc/subgid"] = state["etc_subgid"]
        if "win_gpu" in state:
            found["/captures/windows-gpu"] = state["win_gpu"]
        kib = state.get("mem_gb", 128) * (1 << 20)
        found["/proc/meminfo"] = f"MemTotal:       {kib} kB"
        if "uid_map" in state:
            found |= {"/proc/self/uid_map": state["uid_map"], "/proc/self/gid_map": state["uid_map"]}
        if state.get("in_container"):
            found["/run/.containerenv"] = ""
        if "virt" in state:
            found["/run/systemd/container"] = state["virt"]
        if "etc_group" in state:
            found["/etc/group"] = "root:x:0:\n" + state["etc_group"]
        for path in state.get("files", ()):
            found[path] = state["files"][path] if isinstance(state["files"], dict) else ""
        return found

    # --- what is written --------------------------------------------------------------------------------------

    def write(self) -> None:
        super().write()
        for number in _range(self.state.get("sys", {}).get("devices/system/node/online", "0")):
            self.path(f"/sys/devices/system/node/node{number}").mkdir(parents=True, exist_ok=True)
        if "efivar" in self.state:
            place = self.path(_SECURE_BOOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(bytes([6, 0, 0, 0, self.state["efivar"]["SecureBoot"]]))

    def node(self, path: str, major: int, minor: int, mode: str, gid: int) -> None:
        """The builder's nodes, but for those that a case gives itself."""
        dev = self.state.get("dev", {})
        given = [one for one in dev if one.startswith(_GPU_NODES)]
        if "dev" not in self.state or (dev and not given):
            super().node(path, major, minor, mode, gid)
        elif given == ["/dev/kfd"] and _RENDER.fullmatch(path):
            super().node(path, major, minor, mode, int(dev["/dev/kfd"].rpartition(":")[2]))

    def rest(self) -> None:
        super().rest()
        for path, text in self.state.get("dev", {}).items():
            match = _DEV.fullmatch(text)
            assert match, text
            major, minor, mode, uid, gid = match.groups()
            self.devices.append(
                {
                    "path": path,
                    "type": "c",
                    "major": int(major),
                    "minor": int(minor),
                    "mode": mode,
                    "uid": int(uid),
                    "gid": int(gid),
                }
            )
        if any("/ports/" in path for path in self.state.get("sys", {})) and "dev" not in self.state:
            super().node("/dev/infiniband/uverbs0", 231, 192, "0666", 0)
        for path, target in self.state.get("links", {}).items():
            if path.endswith("/driver"):
                self.path(f"/sys/bus/pci/drivers/{target}").mkdir(parents=True, exist_ok=True)
                self.link(path, f"/sys/bus/pci/drivers/{target}")
        for bdf in self.raw_bus:
            self._complete(bdf)

    def _complete(self, bdf: str) -> None:
        """A function of which a case gives some files: its id, and the DRM nodes by which sysfs is joined."""
        place = f"/sys/bus/pci/devices/{bdf}"
        for name, usual in (("device", "0x73bf"), ("revision", "0x00")):
            if not self.path(f"{place}/{name}").exists() and self.path(f"{place}/vendor").exists():
                self.file(f"{place}/{name}", usual)
        for path in sorted(self.path(f"{place}/drm").glob("renderD*")):
            if not self.path(f"/sys/class/drm/{path.name}").is_symlink():
                self.link(f"/sys/class/drm/{path.name}", f"{place}/drm/{path.name}")
                self.link(f"{place}/drm/{path.name}/device", place)

    def topology(self, gpus: list[State]) -> None:
        if not self.nodes:
            super().topology(gpus)
            return
        self.link("/sys/class/kfd/kfd", "/sys/devices/virtual/kfd/kfd")
        done: set[str] = set()
        for number, properties in sorted(self.nodes.items()):
            if not properties.get("simd_count"):
                self.kfd_node(number, {"cpu_cores_count": 16, **properties}, gpu_id=0)
                continue
            wide = 4 if properties["gfx_target_version"] < 100000 else 2
            self.kfd_node(number, {"cpu_cores_count": 0, "simd_per_cu": wide, **properties}, gpu_id=1000 + number)
            self._function(properties, done)
        self.node("/dev/kfd", builder.KFD_MAJOR, 0, "0660", self.groups.get("render", 44))

    def _function(self, properties: State, done: set[str]) -> None:
        """The function of a KFD node, once for all partitions, and each node's render node."""
        location = properties["location_id"]
        bdf = f"{properties['domain']:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.0"
        beside = f"/sys/devices/platform/amdgpu_xcp.{self.next_xcp}"
        if bdf not in done:
            device = properties["device_id"]
            texts = {"class": "0x120000" if device >= 0x7400 and device < 0x7440 else "0x030000", "revision": "0x00"}
            apu = properties["simd_count"] <= 8 or properties["gfx_target_version"] in (110501, 110003, 90012)
            texts["mem_info_vram_total"] = str(builder.GIB if apu else 32 * builder.GIB)
            beside = self.function(bdf, f"1002:{device:04x}", "amdgpu", texts)
            done.add(bdf)
        else:
            self.next_xcp += 1
        self.drm(beside, dev=True, told={"render": properties["drm_render_minor"]})


def _gpu(number: int, minor: int, bdf: str | None = None) -> State:
    return {"model": _MODEL, "at": bdf or f"0000:{3 + number:02x}:00.0", "render": minor}


def _partitioned(state: State) -> list[State]:
    """As many KFD nodes as a case counts, on as many GPUs."""
    nodes: int = state["kfd_gpu_nodes"]
    cards = int(state.get("pci", nodes))
    parts = nodes // cards
    mode = state.get("mode", {}).get("pci0") or next(
        (text for path, text in state.get("sys", {}).items() if path.endswith("current_compute_partition")), "SPX"
    )
    made = {"model": "mi300x", "partitions": parts, "mode": f"{mode}/NPS1"}
    return [{**made, "at": f"0000:{5 + number:02x}:00.0"} for number in range(cards)]


def _by_path(links: dict[str, str]) -> dict[str, int]:
    found = {}
    for path, target in links.items():
        match = re.fullmatch(r"/dev/dri/by-path/pci-(.+)-render", path)
        if match:
            found[match.group(1)] = int(target.rpartition("renderD")[2])
    return found


def groups(text: str) -> dict[str, int]:
    fields = [line.split(":") for line in text.split()]
    return {line[0]: int(line[2]) for line in fields}


def _properties(text: str) -> dict[str, int]:
    return {key: int(value) for key, value in (line.split() for line in text.splitlines())}


def _range(text: str) -> range:
    first, _, last = str(text).partition("-")
    return range(int(first), int(last or first) + 1)

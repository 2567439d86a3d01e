"""A capture that was saved gives the same answer, and tells of no person and no serial number."""

from __future__ import annotations

import errno
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import builder

from rocenv.errors import UsageError
from rocenv.host import read_host, read_links, save_capture
from rocenv.host.files import Folder
from rocenv.model.host import Host
from rocenv.report.host import host_json

Build = Callable[..., Path]


def answer(path: str | None) -> dict[str, object]:
    """All that is read of a host, but its name, which is its file's."""
    host = read_host(path, chips=True)
    return {**host_json(host._replace(name=None), read_links(path)), "chips": dict(host.chips)}


def contents(file: Path) -> dict[str, bytes]:
    found = {}
    with tarfile.open(file) as members:
        for member in members:
            stream = members.extractfile(member) if member.isreg() else None
            if stream is not None:
                found[member.name] = stream.read()
    return found


@pytest.mark.parametrize("name", builder.names())
def test_a_saved_host_gives_the_same_answer(name: str, built: Build, tmp_path: Path) -> None:
    folder, file = built(name), tmp_path / "saved.tar.gz"
    saved = save_capture(str(file), str(folder), anonymous=False)
    assert answer(str(file)) == answer(str(folder))
    assert saved.file == str(file)
    again = tmp_path / "again/saved.tar.gz"
    again.parent.mkdir()
    save_capture(str(again), str(file), anonymous=False)
    assert again.read_bytes() == file.read_bytes(), "a capture of a capture is that capture"


def test_this_machine_saved_gives_the_same_answer(tmp_path: Path) -> None:
    file = tmp_path / "me.tar.gz"
    save_capture(str(file), anonymous=False)
    assert answer(str(file)) == answer(None)


def test_an_error_on_reading_is_saved_too(built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, file = built("mi300x-bed"), tmp_path / "saved.tar.gz"
    read = Folder.read

    def failing(tree: Folder, path: str, limit: int) -> bytes:
        for ending, number in (("nodes/3/properties", errno.EIO), ("nodes/4/gpu_id", errno.EPERM)):
            if path.endswith(ending):
                raise OSError(number, os.strerror(number), path)
        return read(tree, path, limit)

    monkeypatch.setattr(Folder, "read", failing)
    before = answer(str(folder))
    save_capture(str(file), str(folder), anonymous=False)
    assert (before["broken_kfd_nodes"], before["masked_kfd_nodes"]) == ([3], [4])
    assert answer(str(file)) == before


SECRETS = {
    "/etc/group": "root:x:0:\nrender:x:109:ada,eve\nvideo:x:44:ada\nada:x:1000:\nwheel:x:10:ada",
    "/etc/passwd": "ada:x:1000:1000:Ada L:/home/ada:/bin/sh",
    "/etc/hostname": "adas-machine",
    "/proc/sys/kernel/hostname": "adas-machine",
    "/proc/1/environ": "API_KEY=ada-secret\0container=podman\0HOSTNAME=adas-machine",
    "/proc/1/cgroup": "0::/user.slice/ada/docker/ada",
    "/proc/cpuinfo": "processor\t: 0\nflags\t\t: fpu hypervisor\nserial : ada-serial",
    "/proc/meminfo": "MemTotal:  1024 kB\nadas: 1 kB",
    "/etc/os-release": "ID=ubuntu\nBUG_REPORT_URL=ada\nVERSION_ID=1",
    "/var/lib/dpkg/status": "Package: adas-tool\nVersion: 1\n\nPackage: amdgpu-dkms\nVersion: 1:6.16.13.30300400-1\n",
    "/home/ada/rocm-7/.info/version": "7.0.0-1",
    "/usr/share/misc/pci.ids": "1002  AMD\n\t744c  Navi 31\n1a03  ASPEED\n\t2000  ASPEED Graphics\n\t2001  ada",
    "/usr/share/libdrm/amdgpu.ids": "744C,\tC8,\tAMD Radeon RX 7900 XTX\n7550,\tC0,\tada",
    "/sys/devices/pci0000:00/0000:03:00.0/serial_number": "ada-serial",
    "/sys/devices/pci0000:00/0000:03:00.0/unique_id": "7cf529dea4b33bad",
    "/sys/class/dmi/id/product_serial": "ada-serial",
    "/sys/class/net/eth0/address": "0a:da:0a:da:0a:da",
}


def test_personal_details_stay_behind(built: Build, tmp_path: Path) -> None:
    folder = built(
        "rx7900xtx",
        driver="6.16.13",
        files=SECRETS,
        links={"/opt/rocm": "/home/ada/rocm-7", "/opt/rocm-2": "../home/ada/rocm-7"},
        displays=[{"at": "0000:c3:00.0", "id": "1a03:2000", "driver": "ast"}],
        environment={"JENKINS_URL": "https://ada.example", "SLURM_JOB_ID": "7", "SECRET": "ada"},
    )
    file = tmp_path / "saved.tar.gz"
    save_capture(str(file), str(folder), anonymous=False)
    with tarfile.open(file) as members:
        shown = [part for member in members for part in (member.name, member.linkname, member.uname, member.gname)]
    for name, data in contents(file).items():
        shown += [name, data.decode()]
    assert [text for text in shown if re.search(r"ada|eve", text, re.IGNORECASE)] == []
    before, after = answer(str(folder)), answer(str(file))
    assert after.pop("rocm") == {
        "default": {"path": "/opt/rocm", "resolves_to": "/home/user/rocm-7", "version": "7.0.0"},
        "installed": [],
    }
    before.pop("rocm")
    assert after == before


def test_anonymous_replaces_ids_consistently(built: Build, tmp_path: Path) -> None:
    folder = built("mi300x-cpx", environment={"ROCR_VISIBLE_DEVICES": "GPU-a1b2c3d4e5f60002,0"})
    file = tmp_path / "saved.tar.gz"
    save_capture(str(file), str(folder), anonymous=True)
    old, new = read_host(str(folder)), read_host(str(file))
    pairs = {(before.uuid, after.uuid) for before, after in zip(old.gpus, new.gpus, strict=True)}
    assert len(pairs) == 8, "the eight partitions of a GPU keep one id"
    assert len({after for _, after in pairs}) == 8
    everything = b"".join(contents(file).values())
    assert not any(re.search(rb"(?i)a1b2c3d4e5f6|%d" % int(uuid[4:], 16), everything) for uuid, _ in pairs if uuid)
    assert new.allocation is not None
    renamed = dict(pairs)["GPU-a1b2c3d4e5f60002"]
    assert new.allocation.visible == (("ROCR_VISIBLE_DEVICES", f"{renamed},0"),)
    assert without_ids(new) == without_ids(old)


def test_anonymous_replaces_hives(built: Build, tmp_path: Path) -> None:
    folder, file = built("mi250x"), tmp_path / "saved.tar.gz"
    save_capture(str(file), str(folder), anonymous=True)
    hives = {gpu.hive_id for gpu in read_host(str(file)).gpus}
    assert len(hives) == 1
    assert hives != {1234605616436508552, None}


def without_ids(host: Host) -> Host:
    gpus = tuple(gpu._replace(unique_id=None, hive_id=None) for gpu in host.gpus)
    return host._replace(name=None, gpus=gpus, allocation=None)


def test_a_failing_write_leaves_nothing(built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, place = built("no-gpu"), tmp_path / "place"
    place.mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UsageError, match="cannot be written: No space left on device"):
        save_capture(str(place / "x.tar.gz"), str(folder), anonymous=False)
    assert list(place.iterdir()) == []
    monkeypatch.undo()
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        save_capture(str(place / "missing/x.tar.gz"), str(folder), anonymous=False)
    with pytest.raises(UsageError, match="cannot be written"):
        save_capture(str(place), str(folder), anonymous=False)
    assert list(place.iterdir()) == []


def test_an_interrupt_leaves_nothing(built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, place = built("no-gpu"), tmp_path / "place"
    place.mkdir()

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tarfile.TarFile, "addfile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_capture(str(place / "x.tar.gz"), str(folder), anonymous=False)
    assert list(place.iterdir()) == []


def test_only_an_archive_gives_way_to_another(built: Build, tmp_path: Path) -> None:
    folder, notes, pipe = str(built(builder.names()[0])), tmp_path / "notes.txt", tmp_path / "pipe"
    notes.write_text("mine")
    os.mkfifo(pipe)
    for place in (notes, pipe, tmp_path, Path(os.devnull)):
        with pytest.raises(UsageError, match=r"cannot be written.*: it is no"):
            save_capture(str(place), folder, anonymous=False)
    assert notes.read_text() == "mine"
    real, link = tmp_path / "real.tar.gz", tmp_path / "link.tar.gz"
    link.symlink_to(real)
    for _ in range(2):
        save_capture(str(link), folder, anonymous=False)
    assert link.is_symlink()
    assert tarfile.is_tarfile(real)

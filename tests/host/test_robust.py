"""No tree makes the reading crash: damaged captures give the healthy rest, and nothing is read without bound."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts import builder
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rocenv.errors import UsageError
from rocenv.host import archive, files, read_host, read_links
from rocenv.report.host import host_json
from rocenv.report.host_text import host_text

Build = Callable[..., Path]
KINDS = ("rx9070xt-igpu", "container-masked", "rocm-cores", "fedora-rootless", "broken-topology")
NODES = "sys/devices/virtual/kfd/kfd/topology/nodes"
KEYS = [
    "simd_count",
    "domain",
    "location_id",
    "drm_render_minor",
    "unique_id",
    "device_id",
    "gfx_target_version",
    "node_to",
]
LINES = st.tuples(st.sampled_from([*KEYS, "size_in_bytes", "heap_type"]), st.integers(-(2**70), 2**70))
JUNK = (
    st.binary(max_size=200)
    | st.sampled_from([b"", b"\x00" * 64, b"\xff\xfe", b"-1", b"0x", b"9" * 5000, b"simd_count 9" + b"9" * 30])
    | LINES.map(lambda line: f"{line[0]} {line[1]}\n".encode())
)
DAMAGE = st.sampled_from(["cut", "junk", "remove", "folder", "loop", "outside", "dangling", "pipe", "shut", "append"])


def places(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_symlink() or not path.is_dir())


def harm(path: Path, how: str, junk: bytes) -> None:
    """Damage one file or link of a tree; what another wound made of it may no longer be a file that can be read."""
    plain = path.is_file() and not path.is_symlink() and os.access(path, os.R_OK)
    if how == "cut" and plain:
        path.write_bytes(path.read_bytes()[: len(junk)])
        return
    if how == "append" and plain:
        path.write_bytes(path.read_bytes() + junk)
        return
    if how == "shut" and plain:
        path.chmod(0)
        return
    path.unlink()
    if how in ("junk", "cut", "append", "shut"):
        path.write_bytes(junk)
    elif how == "folder":
        path.mkdir()
    elif how == "loop":
        path.symlink_to(path.name)
    elif how == "outside":
        path.symlink_to("/" + "../" * 30 + "etc/passwd")
    elif how == "dangling":
        path.symlink_to(os.fsdecode(b"nowhere\xff"))
    elif how == "pipe":
        os.mkfifo(path)


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("originals")
    return {name: builder.build(builder.describe(name), folder / name) for name in KINDS}


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(KINDS),
    wounds=st.lists(st.tuples(st.integers(0, 10_000), DAMAGE, JUNK), min_size=1, max_size=8),
    manifest=st.none() | st.none() | st.binary(max_size=80),
)
@example(name="rx9070xt-igpu", wounds=[(0, "remove", b"")], manifest=b"devices: [1, {path: /dev/kfd}, {}]\nrun_as: 7")
@example(name="rx9070xt-igpu", wounds=[(0, "remove", b"")], manifest=b"faults: [{path: [], errno: {}}]\nsymlinks: 3")
@example(name="rx9070xt-igpu", wounds=[(0, "remove", b"")], manifest=b"devices: [{path: /dev/kfd, mode: 9e9, gid: x}]")
def test_a_damaged_capture_is_read_or_refused(
    originals: dict[str, Path], name: str, wounds: list[tuple[int, str, bytes]], manifest: bytes | None
) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        shutil.copytree(originals[name], folder, symlinks=True)
        for number, how, junk in wounds:
            found = places(folder / "root")
            if found:
                harm(found[number % len(found)], how, junk)
        if manifest is not None:
            (folder / "devices.yaml").write_bytes(manifest)
        try:
            host = read_host(str(folder), chips=True)
        except UsageError:
            assert manifest is not None, "only devices.yaml makes a folder unreadable"
            return
        answer = host_json(host, read_links(str(folder)))
        assert answer["gpu_count"] == len(host.gpus) <= 4
        assert "root:x:0:0" not in str(answer), "a link led out of the capture"
        assert host_text(host).encode("utf-8")


@pytest.mark.parametrize("how", ["cut", "junk", "remove", "folder", "loop", "outside", "pipe"])
@pytest.mark.parametrize("name", ["properties", "gpu_id"])
def test_one_bad_gpu_costs_itself_alone(built: Build, how: str, name: str) -> None:
    folder = built("mi300x-spx")
    harm(folder / "root" / NODES / "4" / name, how, b"")
    host = read_host(str(folder))
    assert host.broken_nodes == (4,)
    assert [gpu.kfd_node for gpu in host.gpus] == [2, 3, 5, 6, 7, 8, 9]
    assert [gpu.index for gpu in host.gpus] == list(range(7)), "an index counts what can be used"
    assert [problem.path.rpartition("/")[2] for problem in host.problems] == ["4"]
    assert [device.bdf for device in host.unusable] == ["0000:47:00.0"]


def test_the_same_for_a_whole_node(built: Build) -> None:
    folder = built("mi300x-spx")
    shutil.rmtree(folder / "root" / NODES / "4")
    (folder / "root" / NODES / "4").symlink_to("4")
    assert len(read_host(str(folder)).gpus) == 7


def test_huge_files_are_read_in_part(built: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = built("rx7900xtx")
    for path in (
        "etc/group",
        "etc/os-release",
        f"{NODES}/1/properties",
        "sys/devices/pci0000:00/0000:03:00.0/product_name",
    ):
        with (folder / "root" / path).open("ab") as stream:
            stream.truncate(1 << 33)  # sparse: it takes no disk, but would take all memory
    asked: list[int] = []
    read = os.read

    def counted(descriptor: int, size: int) -> bytes:
        data = read(descriptor, size)
        asked.append(len(data))
        return data

    monkeypatch.setattr(os, "read", counted)
    host = read_host(str(folder))
    assert host.gpus[0].gfx == "gfx1100"
    assert sum(asked) < 32 << 20


def test_a_folder_of_very_many_names_is_listed_in_part(built: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_NAMES", 50)
    folder = built("rx7900xtx")
    for number in range(200):
        (folder / f"root/opt/rocm-{number}").mkdir(parents=True)
    assert len(read_host(str(folder)).rocm_installed) == 50


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no whole .tar.gz"),
        (b"junk", "no whole .tar.gz"),
        (gzip.compress(b"junk"), "no whole .tar.gz"),
        (gzip.compress(b"\0" * 10240), "holds no host capture"),
    ],
    ids=["empty", "no gzip", "no tar", "no members"],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    place = tmp_path / "x.tar.gz"
    place.write_bytes(content)
    with pytest.raises(UsageError, match=words) as caught:
        read_host(str(place))
    assert caught.value.hint


def test_an_archive_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_MAX_UNPACKED", 1 << 20)
    bomb = tarfile.TarInfo("x/root/big")
    bomb.size = 4 << 20
    path = tmp_path / "bomb.tar.gz"
    path.write_bytes(gzip.compress(bomb.tobuf() + b"\0" * bomb.size))
    with pytest.raises(UsageError, match="unpacks to more than 1 MiB"):
        read_host(str(path))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_archive_is_read_or_refused(originals: dict[str, Path], data: st.DataObject) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as members:
        members.add(originals["rx9070xt-igpu"], "x")
    plain = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(0, 12))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    packed = gzip.compress(bytes(plain[: data.draw(st.integers(0, len(plain)))]))
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "x.tar.gz"
        place.write_bytes(packed[: data.draw(st.integers(len(packed) // 2, len(packed)))])
        with contextlib.suppress(UsageError):
            read_host(str(place))


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = "", data: bytes = b""
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, link, len(data)
    return info, data


def archive_of(folder: Path, *members: tuple[tarfile.TarInfo, bytes]) -> str:
    path = folder / "evil.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for info, data in members:
            packed.addfile(info, io.BytesIO(data))
    return str(path)


def test_members_that_would_lie_outside_are_passed_over(tmp_path: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in [tmp_path, *Path("/etc").glob("os-release")]}
    path = archive_of(
        tmp_path,
        member("x/root/", tarfile.DIRTYPE),
        member("x/root/../../../etc/os-release", data=b"ID=evil"),
        member("/etc/os-release", data=b"ID=evil"),
        member("x/root/etc", tarfile.SYMTYPE, link="/../../../../etc"),
        member("x/root/dev/kfd", tarfile.CHRTYPE),
        member("x/root/opt/rocm/.info", tarfile.FIFOTYPE),
        member("x/root/" + "deep/" * 100 + "file", data=b"1"),
    )
    host = read_host(path)
    assert (host.os.id, host.devices, host.rocm_installed) == (None, (), ())
    assert {place: place.stat().st_mtime_ns for place in before if place != tmp_path} == {
        place: stamp for place, stamp in before.items() if place != tmp_path
    }


def test_hard_links_and_links_of_an_archive_lead_inside_it(tmp_path: Path) -> None:
    path = archive_of(
        tmp_path,
        member("./x/root/usr/lib/os-release", data=b"ID=inside\n"),
        member("./x/root/etc/os-release", tarfile.SYMTYPE, link="/usr/lib/os-release"),
        member("./x/root/opt/rocm-1/.info/version", data=b"1.0\n"),
        member("./x/root/opt/rocm-2/.info/version", tarfile.LNKTYPE, link="./x/root/opt/rocm-1/.info/version"),
    )
    host = read_host(path)
    assert host.name == "evil"
    assert host.os.id == "inside"
    assert [install.version for install in host.rocm_installed] == ["1.0", "1.0"]


def test_a_member_is_read_by_its_size_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int | None] = []

    class Noting(tarfile.ExFileObject):
        def read(self, size: int | None = -1, /) -> bytes:
            asked.append(size)
            return super().read(size)

    monkeypatch.setattr(tarfile.TarFile, "fileobject", Noting)
    tree, _ = archive.read_archive(archive_of(tmp_path, member("x/root/sys/one", data=b"four")))
    assert tree.read("/sys/one", 100) == b"four"
    assert asked == [4]


def test_a_pipe_is_no_capture_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="neither a file nor a folder"):
        read_host(str(tmp_path / "pipe"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a [x]\nb: &b [*a, *a]\nsymlinks: [{path: *b, target: x}]\n", "alias"),
        ('run_as: {uid: !!int ""}\n', "no YAML"),
        ("run_as: {uid: !!bool xx}\n", "no YAML"),
        ("run_as: {uid: !!timestamp xx}\n", "no YAML"),
    ],
)
def test_a_manifest_of_tricks_is_refused(built: Build, text: str, words: str) -> None:
    folder = built("rx7900xtx")
    (folder / "devices.yaml").write_text(text)
    with pytest.raises(UsageError, match=words):
        read_host(str(folder))


def test_a_root_or_manifest_that_is_a_link_is_refused(built: Build, tmp_path: Path) -> None:
    folder = built("rx7900xtx")
    (folder / "root").rename(tmp_path / "elsewhere")
    (folder / "root").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="its `root` is a link"):
        read_host(str(folder))
    (folder / "root").unlink()
    (tmp_path / "elsewhere").rename(folder / "root")
    (folder / "devices.yaml").rename(tmp_path / "other.yaml")
    (folder / "devices.yaml").symlink_to(tmp_path / "other.yaml")
    with pytest.raises(UsageError, match="cannot be read"):
        read_host(str(folder))


def test_a_number_beyond_all_measure_is_none(built: Build) -> None:
    folder = built("rx7900xtx")
    (folder / "devices.yaml").write_text(f"run_as: {{uid: 0x{'f' * 5000}, gid: 5, groups: [7]}}\n")
    assert (read_host(str(folder)).caller.uid, read_host(str(folder)).caller.gid) == (0, 5)

"""Files behind one set of questions: a capture is never left, and a live file is read in bounds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rocenv.errors import UsageError
from rocenv.host import read_host
from rocenv.host.files import Confined, Folder, Live, read_bounded
from rocenv.host.source import file_number, is_device, parse_number


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("outside")
    base = tmp_path / "root"
    (base / "a/b").mkdir(parents=True)
    (base / "a/b/file").write_text("inside")
    return base


def confined(root: Path, **faults: int) -> Confined:
    return Confined(Folder(str(root)), {}, faults)


@pytest.mark.parametrize("target", ["/a/b/file", "a/b/file", "../../../../a/b/file", "./a/./b//file", "/a/b/../b/file"])
def test_links_are_followed_inside(root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    files = confined(root)
    assert files.read("/link", 100) == b"inside"
    assert files.resolve("/link") == "/a/b/file"
    assert files.target("/link") == target


@pytest.mark.parametrize("target", ["../secret", "/../secret", "../../../../../../../secret"])
def test_links_do_not_lead_out(root: Path, target: str) -> None:
    (root / "link").symlink_to(target)
    with pytest.raises(FileNotFoundError):
        confined(root).read("/link", 100)


def test_a_folder_that_is_a_link_does_not_lead_out(root: Path) -> None:
    (root / "out").symlink_to(root.parent)
    with pytest.raises(FileNotFoundError):
        confined(root).read("/out/secret", 100)
    with pytest.raises(OSError, match="No such file"):
        confined(root).names("/out/nothing")


def test_loops_end(root: Path) -> None:
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    (root / "self").symlink_to("self/self")
    for path in ("/one", "/self", "/one/x"):
        with pytest.raises(OSError, match="Too many levels") as caught:
            confined(root).resolve(path)
        assert caught.value.errno == errno.ELOOP
        assert not confined(root).is_dir(path)
    assert confined(root).target("/one") == "two"
    assert confined(root).target("/one/x") is None


def test_a_chain_of_links(root: Path) -> None:
    (root / "l0").symlink_to("a/b/file")
    for number in range(1, 45):
        (root / f"l{number}").symlink_to(f"l{number - 1}")
    assert confined(root).read("/l30", 10) == b"inside"
    with pytest.raises(OSError, match="Too many levels"):
        confined(root).read("/l44", 10)


def test_links_laid_over_a_tree(root: Path) -> None:
    files = Confined(Folder(str(root)), {"/dev/x": "../a/b/file", "/a/c": "b"}, {})
    assert files.read("/dev/x", 10) == b"inside"
    assert files.resolve("/a/c/file") == "/a/b/file"


def test_a_fault_answers_by_the_real_path_before_the_file_does(root: Path) -> None:
    (root / "link").symlink_to("a/b")
    files = Confined(Folder(str(root)), {}, {"/a/b/file": errno.EPERM, "/a/b/missing": errno.EACCES, "/a": errno.EIO})
    for path, number in (("/link/file", errno.EPERM), ("/link/missing", errno.EACCES)):
        with pytest.raises(OSError, match=os.strerror(number)) as caught:
            files.read(path, 10)
        assert caught.value.errno == number
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        files.names("/a")
    assert files.resolve("/link/file") == "/a/b/file", "stat of it works, as on a masked host"


def test_what_is_no_file_is_not_read(root: Path) -> None:
    os.mkfifo(root / "pipe")
    for path, words in (("/pipe", "Invalid argument"), ("/a", "Is a directory")):
        with pytest.raises(OSError, match=words):
            confined(root).read(path, 10)
    with pytest.raises(NotADirectoryError):
        confined(root).names("/a/b/file")


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 200_000])
def test_reading_stops_at_the_limit_and_at_the_end(tmp_path: Path, size: int) -> None:
    data = os.urandom(size)
    (tmp_path / "file").write_bytes(data)
    for limit in (1, 8192, 70_000, 1 << 20):
        assert read_bounded(str(tmp_path / "file"), limit) == data[:limit]
        assert Live().read(str(tmp_path / "file"), limit) == data[:limit]


def test_proc_answers_in_pieces() -> None:
    with open("/proc/self/maps", "rb") as stream:
        lines = stream.read().count(b"\n")
    assert Live().read("/proc/self/maps", 1 << 20).count(b"\n") >= lines - 5


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7),
        ("-1", -1),
        ("0x1002", 0x1002),
        ("0XFF", 255),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), None),
        (str(-(2**63)), -(2**63)),
        (str(-(2**63) - 1), None),
        ("9" * 5000, None),
        ("", None),
        ("-", None),
        ("0x", None),
        ("0x" + "f" * 17, None),
        ("1_000", None),
        ("+1", None),
        (" 1", None),
        ("١", None),
        ("1e3", None),
        ("0xg", None),
    ],
)
def test_numbers(text: str, number: int | None) -> None:
    assert parse_number(text) == number


def test_numbers_of_files() -> None:
    assert file_number(b" 0x120000\n") == 0x120000
    assert file_number(b"1 2") is None
    assert file_number(b"\xff") is None
    assert file_number(None) is None


@pytest.mark.parametrize("path", ["/dev/kfd", "/dev/dxg", "/dev/dri/card0", "/dev/dri/renderD190"])
def test_device_paths(path: str) -> None:
    assert is_device(path)


@pytest.mark.parametrize(
    "path",
    [
        "/dev/dri",
        "/dev/dri/by-path",
        "/dev/dri/card",
        "/dev/dri/cardrenderD1",
        "/dev/dri/card1-DP-1",
        "/dev/kfd1",
        "kfd",
    ],
)
def test_other_paths(path: str) -> None:
    assert not is_device(path)


@pytest.mark.parametrize("what", ["missing", "file", "empty-folder"])
def test_what_is_no_capture_is_refused_with_a_hint(tmp_path: Path, what: str) -> None:
    path = tmp_path / what
    if what == "file":
        path.write_text("x")
    elif what == "empty-folder":
        path.mkdir()
    with pytest.raises(UsageError) as caught:
        read_host(str(path))
    assert str(path) in caught.value.message
    assert caught.value.hint

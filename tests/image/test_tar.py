"""Tars, against the standard library's own writer and by hand."""

from __future__ import annotations

import io
import tarfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image.making import cut, tarred

from rocenv.image.stream import DamagedError, Stream
from rocenv.image.tar import Tar, plain_path

FORMS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
LONG = "a/" * 120 + "file"


def read(data: bytes, size: int = 1000) -> list[tuple[str, str, str, bytes]]:
    tar = Tar(Stream(cut(data, size)))
    return [(entry.name, entry.kind, entry.link, b"".join(tar.parts())) for entry in tar]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read_as_it_was_written(form: int) -> None:
    files: dict[str, bytes | str | None] = {"dir": None, "dir/empty": b"", "dir/file": b"x" * 5000, "link": "dir/file"}
    assert read(tarred(files, form=form)) == [
        ("dir/", "folder", "", b""),
        ("dir/empty", "file", "", b""),
        ("dir/file", "file", "", b"x" * 5000),
        ("link", "link", "dir/file", b""),
    ]


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_links_and_letters(form: int) -> None:
    files: dict[str, bytes | str | None] = {LONG: b"1", "short": LONG, "näme": b"2"}
    assert [(name, link) for name, _, link, _ in read(tarred(files, form=form))] == [
        (LONG, ""), ("short", LONG), ("näme", ""),
    ]  # fmt: skip


def test_a_prefix_of_ustar() -> None:
    name = "p" * 90 + "/" + "n" * 90
    assert read(tarred({name: b"1"}, form=tarfile.USTAR_FORMAT))[0][0] == name


def test_other_kinds_hide_and_hold_nothing() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind in (("null", tarfile.CHRTYPE), ("pipe", tarfile.FIFOTYPE), ("hard", tarfile.LNKTYPE)):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "target" if name == "hard" else ""
            tar.addfile(member)
    assert [entry[:3] for entry in read(buffer.getvalue())] == [
        ("null", "other", ""), ("pipe", "other", ""), ("hard", "hard", "target"),
    ]  # fmt: skip


def test_sparse_files_are_passed_over() -> None:
    # GNU's old form: type S, a map in the header, and, with byte 482 set, more maps in blocks before the content.
    header = bytearray(tarred({"sparse": b"z" * 512}, form=tarfile.GNU_FORMAT)[:512])
    header[156:157] = b"S"
    header[482] = 1
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    data = bytes(header) + bytes(512) + b"z" * 512 + tarred({"next": b"1"})
    assert [entry[:2] for entry in read(data)] == [("sparse", "sparse"), ("next", "file")]
    pax = io.BytesIO()
    with tarfile.open(fileobj=pax, mode="w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("GNUSparseFile.0/file")
        member.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "file"}
        member.size = 10
        tar.addfile(member, io.BytesIO(b"0123456789"))
    assert read(pax.getvalue())[0][:2] == ("file", "sparse")


@pytest.mark.parametrize("kept", [100, 512, 700, 1024 + 200])
def test_a_cut_tar_is_told(kept: int) -> None:
    data = tarred({"one": b"x" * 600, "two": b"y" * 600}, form=tarfile.USTAR_FORMAT)[:kept]
    with pytest.raises(DamagedError, match="cut short at byte"):
        read(data)
    with pytest.raises(DamagedError, match="cut short at byte"):  # also where nobody reads the contents
        list(Tar(Stream(cut(data))))


@pytest.mark.parametrize(
    ("at", "what"),
    [(0, b"\xff"), (124, b"9999"), (124, b"\xff" * 12), (148, b"xx")],
    ids=["checksum", "digits", "negative", "no checksum"],
)
def test_a_broken_header_is_told(at: int, what: bytes) -> None:
    data = bytearray(tarred({"one": b"x"}, form=tarfile.USTAR_FORMAT))
    data[at : at + len(what)] = what
    with pytest.raises(DamagedError, match="header at byte 0"):
        read(bytes(data))


def test_a_header_of_gigabytes_is_refused() -> None:
    header = bytearray(tarred({"one": b""}, form=tarfile.USTAR_FORMAT)[:512])
    header[156:157], header[124:136] = b"x", b"77777777777\0"
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    with pytest.raises(DamagedError, match="announces 8589934591 bytes"):
        read(bytes(header) + bytes(5000))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_change_of_a_tar_is_a_traceback(data: st.DataObject) -> None:
    tar = bytearray(tarred({LONG: b"1" * 700, "two": "one", "ä": b"2"}, form=data.draw(st.sampled_from(FORMS[1:]))))
    for _ in range(data.draw(st.integers(1, 6))):
        tar[data.draw(st.integers(0, len(tar) - 1))] = data.draw(st.integers(0, 255))
    try:
        read(bytes(tar))
    except DamagedError:
        return


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("./opt/rocm", "opt/rocm"), ("/etc/passwd", "etc/passwd"), ("a//b/./c/", "a/b/c"), ("..data/x", "..data/x"),
        ("../etc/passwd", None), ("a/../../b", None), ("a/..", None), ("a\0b", None), ("a/" * 3000, None), (".", ""),
    ],
)  # fmt: skip
def test_paths_stay_in_the_image(name: str, path: str | None) -> None:
    assert plain_path(name) == path


def test_attributes_do_not_pile_up() -> None:
    """Headers of attributes one after the other, without an entry: the last one counts, and none is kept."""
    one = tarred({LONG: b"1"}, form=tarfile.PAX_FORMAT)
    other = tarred({LONG[1:] + "x": b"1"}, form=tarfile.PAX_FORMAT)
    assert [entry[0] for entry in read(one[:1024] + other)] == [LONG[1:] + "x"]

"""One layer: what its files tell, and what it hides."""

from __future__ import annotations

import io
import tarfile

import pytest
from image.making import OBJECTS, cut, device_elf, host_elf, layer_of, plain_bundle, tarred

from rocenv.errors import ImageError
from rocenv.image.layer import Found, Room, read_layer

LIBRARY = host_elf(plain_bundle("gfx942", "gfx1100"))


def test_a_library_with_code_and_one_without() -> None:
    layer = layer_of({"opt/rocm/lib/librocblas.so.4": LIBRARY, "usr/lib/libc.so.6": host_elf(), "etc/hosts": b"text"})
    assert layer.found == {"opt/rocm/lib/librocblas.so.4": Found(targets=("gfx942", "gfx1100"), code=True)}
    assert layer.entries == 3


def test_a_library_of_rocm_counts_by_its_name_where_it_holds_no_code() -> None:
    assert layer_of({"opt/rocm/lib/libamdhip64.so.7.2.70204": host_elf()}).found == {
        "opt/rocm/lib/libamdhip64.so.7.2.70204": Found()
    }


def test_loose_objects_bundled_and_bare() -> None:
    layer = layer_of({"app/kernels/a.co": device_elf(0x4C), "app/kernels/b.hsaco": plain_bundle("gfx90a:xnack+"),
                      "app/c.hsaco": (OBJECTS / "bundle-clang22.ccob").read_bytes()})  # fmt: skip
    assert layer.found == {
        "app/kernels/a.co": Found(targets=("gfx942",), code=True, loose=True),
        "app/kernels/b.hsaco": Found(targets=("gfx90a:xnack+",), code=True, loose=True),
        "app/c.hsaco": Found(targets=("gfx90a:xnack+", "gfx942", "gfx11-generic"), code=True, loose=True),
    }


def test_small_files_are_read_and_others_are_not() -> None:
    layer = layer_of({"opt/rocm/.info/version": b"7.2.4-90\n", "root/version": b"no", "etc/shadow": b"secret:"})
    assert layer.found == {"opt/rocm/.info/version": Found(text=b"7.2.4-90\n")}


def test_dpkg_tells_installed_packages_of_rocm() -> None:
    status = (
        b"Package: rocm-core\nStatus: install ok installed\nVersion: 7.2.4.70204-90\n\n"
        b"Package: hipcc\nStatus: deinstall ok config-files\nVersion: 1.0\n\n"
        b"Package: bash\nStatus: install ok installed\nVersion: 5.2\n\n"
        b"Package: libamdhip64-5\nStatus: install ok installed\nVersion: 5.7.1-6\nDepends: rocm\n"
    )
    layer = read_layer(cut(tarred({"var/lib/dpkg/status": status}), 97), "layer", Room())
    assert layer.found["var/lib/dpkg/status"].text == b"rocm-core 7.2.4.70204-90\nlibamdhip64-5 5.7.1-6"


def test_what_torch_was_built_for_stands_in_its_library() -> None:
    path = "opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_python.so"
    strings = b"\0gfx942\0get_arch_list\0gfx90a gfx942 gfx1100\0gfx908 gfx90a\0"
    for size in (100, 1 << 20):
        layer = read_layer(cut(tarred({path: host_elf(strings)}), size), "layer", Room())
        assert layer.found[path].text == b"gfx90a gfx942 gfx1100"


def test_a_hard_link_is_the_same_file_and_a_link_is_not() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, link in (
            ("one.so", tarfile.REGTYPE, ""),
            ("two.so", tarfile.LNKTYPE, "./one.so"),
            ("three.so", tarfile.SYMTYPE, "one.so"),
            ("four.so", tarfile.LNKTYPE, "../x"),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, link
            member.size = len(LIBRARY) if kind == tarfile.REGTYPE else 0
            tar.addfile(member, io.BytesIO(LIBRARY) if member.size else None)
    assert sorted(read_layer(cut(buffer.getvalue()), "layer", Room()).found) == ["one.so", "two.so"]


def test_the_last_of_a_name_counts() -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for content in (LIBRARY, b"no library any more"):
            member = tarfile.TarInfo("./lib.so" if content is LIBRARY else "lib.so")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    assert read_layer(cut(buffer.getvalue()), "layer", Room()).found == {}


def test_whiteouts_and_what_leads_out() -> None:
    layer = layer_of({"a/.wh.b": b"", ".wh.top": b"", "c/.wh..wh..opq": b"", "d/.wh..wh.plnk": b"", "e/.wh.": b"",
                      "../outside.so": LIBRARY, "x/../../y.so": LIBRARY})  # fmt: skip
    assert layer.removed == {"a/b", "top"}
    assert layer.opaque == {"c"}
    assert layer.outside == 2
    assert layer.found == {}


def test_an_image_made_to_fill_the_memory_is_refused() -> None:
    many = {f"opt/rocm/lib/rocblas/library/TensileLibrary_{n}_gfx942.dat": b"x" for n in range(200)}
    with pytest.raises(ImageError, match="more files that tell of GPUs"):
        read_layer(cut(tarred(many)), "layer", Room(20_000))
    with pytest.raises(ImageError, match="that it removes"):
        read_layer(cut(tarred({f"d/.wh.{n}": b"" for n in range(200)})), "layer", Room(20_000))


def test_a_damaged_layer_is_an_image_error_that_names_it() -> None:
    with pytest.raises(ImageError, match="the layer `sha256:1` cannot be read: the tar is cut short at byte") as caught:
        read_layer(cut(tarred({"a": LIBRARY})[:5000]), "sha256:1", Room())
    assert caught.value.code == 5
    with pytest.raises(ImageError, match="bzip2"):
        read_layer([b"BZh91AY&SY"], "sha256:1", Room())


def test_an_image_of_too_many_entries_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocenv.image.layer._MOST_ENTRIES", 50)
    with pytest.raises(ImageError, match="more than 50 entries"):
        read_layer(cut(tarred({str(n): b"" for n in range(60)})), "layer", Room())

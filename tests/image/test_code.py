"""Code objects in files: made by compilers, and by hand from the formats' descriptions."""

from __future__ import annotations

import gzip
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image.making import OBJECTS, cut, device_elf, host_elf, plain_bundle

from rocenv.image.code import CodeSearch, bundle, elf_target, packed
from rocenv.image.stream import zstandard

zstd = zstandard()

# The first 64 bytes of what LLVM 22.1.8's `clang -target amdgcn-amd-amdhsa -mcpu=TARGET -c` wrote: e_flags differ.
_HEAD = (
    "7f454c460201014004000000000000000100e0000100000000000000000000000000000000000000e805000000000000"
    "{}40000000000040000b000100"
)
COMPILED = {
    "gfx10-3-generic": "53000001",
    "gfx1030": "36000000",
    "gfx11-generic": "54000001",
    "gfx1100": "41000000",
    "gfx1153": "58000000",
    "gfx12-generic": "59000001",
    "gfx1201": "4e000000",
    "gfx1250": "49050000",
    "gfx9-4-generic": "5f050001",
    "gfx9-generic": "51010001",
    "gfx900": "2c010000",
    "gfx906:xnack-": "2f060000",
    "gfx908:sramecc+:xnack-": "300e0000",
    "gfx90a": "3f050000",
    "gfx90a:xnack+": "3f070000",
    "gfx942": "4c050000",
    "gfx950": "4f050000",
}


def searched(data: bytes, size: int = 4096) -> CodeSearch:
    search = CodeSearch()
    for piece in cut(data, size):
        search.feed(piece)
    search.end()
    return search


def targets(data: bytes, size: int = 4096) -> list[str]:
    return list(searched(data, size).targets)


def ccob(payload: bytes, version: int, method: int = 1) -> bytes:
    """A compressed bundle around a payload, by the header that the clang documentation describes."""
    sizes = {1: "<I", 2: "<II", 3: "<QQ"}[version]
    length = 8 + struct.calcsize(sizes) + 8 + len(payload)
    numbers = (5000,) if version == 1 else (length, 5000)
    return b"CCOB" + struct.pack("<HH", version, method) + struct.pack(sizes, *numbers) + bytes(8) + payload


@pytest.mark.parametrize("target", COMPILED)
def test_the_target_of_a_compiled_code_object(target: str) -> None:
    assert elf_target(bytes.fromhex(_HEAD.format(COMPILED[target]))) == target


def test_older_code_objects_flag_features_otherwise() -> None:
    # Version 3 (LLVM: EF_AMDGPU_FEATURE_XNACK_V3 0x100, SRAMECC_V3 0x200), e_ident[EI_ABIVERSION] 1.
    head = bytearray(device_elf(0x30 | 0x200))
    head[8] = 1
    assert elf_target(bytes(head)) == "gfx908:sramecc+"


def test_a_target_that_is_not_known_is_said_as_a_number() -> None:
    assert elf_target(device_elf(0xFE)) == "gfx?0xfe"


def test_a_host_library_is_no_code_object() -> None:
    assert elf_target(host_elf()[:64]) is None
    assert elf_target(b"\x7fELF") is None


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("bundle-clang19.ccob", ["gfx90a:xnack+", "gfx942", "gfx11-generic"]),
        ("bundle-clang22.ccob", ["gfx90a:xnack+", "gfx942", "gfx11-generic"]),
        ("bundle-clang22.gz", ["gfx90a:xnack+", "gfx942", "gfx11-generic"]),
        ("four-plain.so.gz", ["gfx1201", "gfx90a", "gfx942", "gfx950"]),
        ("two-compressed.so.gz", ["gfx1201", "gfx90a", "gfx942", "gfx950", "gfx1030"]),
        ("linked-late.so.gz", ["gfx942", "gfx90a"]),
    ],
)
@pytest.mark.parametrize("size", [1, 61, 4096, 1 << 20])
def test_what_compilers_made_is_read_as_their_tools_read_it(file: str, expected: list[str], size: int) -> None:
    data = (OBJECTS / file).read_bytes()
    assert targets(gzip.decompress(data) if file.endswith(".gz") else data, size) == expected


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, 1])
def test_every_version_and_method_of_a_compressed_bundle(version: int, method: int) -> None:
    inner = plain_bundle("gfx906", "gfx90a:xnack-")
    payload = zstd.compress(inner) if method else zlib.compress(inner)
    data = ccob(payload, version, method)
    found = packed(data)
    assert found is not None
    assert found.targets == ("gfx906", "gfx90a:xnack-")
    assert found.length == (0 if version == 1 else len(data))
    assert targets(host_elf(data, ccob(zlib.compress(plain_bundle("gfx1100")), 1, 0))) == [
        "gfx906", "gfx90a:xnack-", "gfx1100",
    ]  # fmt: skip


def test_ids_of_older_and_newer_compilers() -> None:
    names = [b"host-x86_64-unknown-linux-", b"hip-amdgcn-amd-amdhsa-gfx803", b"hipv4-amdgcn-amd-amdhsa-unknown-gfx942",
             b"openmp-amdgcn-amd-amdhsa--gfx90a", b"hip-spirv64-amd-amdhsa--amdgcnspirv"]  # fmt: skip
    text = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names))
    text += b"".join(struct.pack("<QQQ", 4096, 8, len(name)) + name for name in names)
    found = bundle(text)
    assert found is not None
    assert found.targets == ("gfx803", "gfx942", "gfx90a", "amdgcnspirv")


def test_an_entry_without_code_is_no_target() -> None:
    found = bundle(plain_bundle("gfx942", size=0))
    assert found is not None
    assert found.targets == ()


def test_a_compressed_bundle_lies_on_any_16_bytes() -> None:
    data = ccob(zstd.compress(plain_bundle("gfx942")), 3)
    for offset in range(4096, 4096 + 160, 16):
        file = host_elf(b"C" * 15 + b"CCOB")[:4096].ljust(offset, b"C") + data + bytes(100)
        for size in (1, 13, 4096):
            assert targets(file, size) == ["gfx942"]


def test_the_magic_alone_is_no_bundle() -> None:
    # As in libLLVM and clang-offload-bundler, which write bundles.
    data = host_elf(b"\0__CLANG_OFFLOAD_BUNDLE__\0CCOB\0clang-offload-bundler")
    search = searched(data)
    assert (list(search.targets), search.unreadable) == ([], 0)


def test_a_compressed_bundle_that_does_not_expand_is_told() -> None:
    search = searched(host_elf(ccob(b"\x28\xb5\x2f\xfd" + b"\xff" * 300, 3)))
    assert (list(search.targets), search.unreadable) == ([], 1)


def test_a_bundle_goes_on_behind_one_that_lies_about_its_length() -> None:
    broken = ccob(b"no zstd at all" * 10, 2)
    assert targets(host_elf(broken, plain_bundle("gfx1100"))) == ["gfx1100"]


def test_a_file_made_of_magics_does_not_take_hours() -> None:
    search = searched(host_elf(b"CCOB" * 500_000), 1 << 20)
    assert search.unreadable == 1


@pytest.mark.parametrize("size", [4096, 1 << 20])
def test_what_is_in_a_bundle_is_not_looked_at_again(size: int) -> None:
    inner = plain_bundle("gfx906")
    outer = plain_bundle("gfx942", size=3_000_000)
    data = outer[:2_500_000] + inner + outer[2_500_000 + len(inner) :]
    assert targets(host_elf(data, plain_bundle("gfx1100")), size) == ["gfx942", "gfx1100"]


def test_a_library_whose_code_is_in_kpack_archives() -> None:
    search = searched(host_elf() + b"\0.text\0.rocm_kpack_ref\0.shstrtab\0")
    assert search.marked
    assert not searched(host_elf()).marked


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 200), st.sampled_from([b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__", b""]))
def test_no_bytes_are_too_much(noise: bytes, at: int, magic: bytes) -> None:
    data = host_elf(noise[:at] + magic + noise[at:])
    assert targets(data, 100) == targets(data, 1 << 20)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_changed_bundle_is_read_or_refused(data: st.DataObject) -> None:
    file = bytearray(
        (OBJECTS / data.draw(st.sampled_from(["bundle-clang19.ccob", "bundle-clang22.ccob"]))).read_bytes()
    )
    for _ in range(data.draw(st.integers(1, 4))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    assert set(targets(bytes(file))) <= {"gfx90a:xnack+", "gfx942", "gfx11-generic"} or bytes(file)[:4] == b"CCOB"

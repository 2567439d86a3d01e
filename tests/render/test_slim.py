"""What the slim template's script makes of files: what stays is as it was, and what is not understood stays."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from render.recipes import PYTORCH, dockerfile, plan, profile

from rocenv.catalog.machines import running_on
from rocenv.errors import UsageError
from rocenv.image import code
from rocenv.model.recipe import Config
from rocenv.render.dockerfile import render_dockerfile
from rocenv.render.recipe import recipe_of

SCRIPT = Path(__file__).parents[2] / "dockerfiles" / "slim.py"
OBJECTS = Path(__file__).parents[1] / "image" / "objects"
HOST = "host-x86_64-unknown-linux--"
FORMS = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}  # LLVM's "Clang Offload Bundler": versions of the header


@pytest.fixture(scope="module")
def slim() -> ModuleType:
    spec = importlib.util.spec_from_file_location("slim_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bundled(entries: Mapping[str, bytes]) -> bytes:
    """A bundle as clang writes one for HIP: each entry's code on a page of its own."""
    named = {HOST: b"", **{f"hipv4-amdgcn-amd-amdhsa--{name}": body for name, body in entries.items()}}
    head, body, place = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(named)), b"", 4096
    for name, content in named.items():
        head += struct.pack("<QQQ", place, len(content), len(name)) + name.encode()
        padded = content + bytes(-len(content) % 4096)
        body, place = body + padded, place + len(padded)
    return head.ljust(4096, b"\0") + body


def contents(bundle: bytes) -> dict[str, bytes]:
    (count,), at, found = struct.unpack_from("<Q", bundle, 24), 32, {}
    for _ in range(count):
        offset, size, width = struct.unpack_from("<QQQ", bundle, at)
        name = bundle[at + 24 : at + 24 + width].decode()
        assert offset % 4096 == 0 or not size, "HIP's loader wants code on a page"
        assert offset + size <= len(bundle)
        found[name.rpartition("--")[2]] = bundle[offset : offset + size]
        at += 24 + width
    return found


def compressed(plain: bytes, version: int, *, zstd: bool = False) -> bytes:
    from rocenv.image.stream import zstandard

    small = zstandard().compress(plain) if zstd else zlib.compress(plain)
    width = struct.calcsize(FORMS[version])
    sizes = (len(plain),) if version == 1 else (width + len(small), len(plain))
    return struct.pack(FORMS[version], b"CCOB", version, int(zstd), *sizes, 0) + small


def run(root: Path, *targets: str, kept: tuple[str, ...] = (), env: Mapping[str, str] | None = None) -> tuple[int, str]:
    words = [f"{one}={','.join(f'{number:x}' for number in running_on(one))}" for one in targets]
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(root), *words, "--kept", *kept],
        env={"PATH": os.environ["PATH"], **(env or {})}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_code_that_stays_is_byte_for_byte_as_it_was(slim: ModuleType) -> None:
    code_of = {"gfx90a:xnack+": b"a" * 5000, "gfx90a:xnack-": b"b" * 9000, "gfx942": b"c" * 100, "gfx1100": b"d" * 7000}
    for target, names in {"gfx942": {"gfx942"}, "gfx90a": {"gfx90a:xnack+", "gfx90a:xnack-"}, "gfx1201": set()}.items():
        cut = slim.Cut({target: set()})
        new, left = cut.pruned(bundled(code_of))
        assert contents(new) == {"": b"", **{name: code_of[name] for name in names}}
        assert left == len(names)
        found = code.bundle(new)
        assert found is not None
        assert set(found.targets) == names


def test_generic_code_stays_where_a_target_has_none_of_its_own(slim: ModuleType) -> None:
    both = bundled({"gfx11-generic": b"g", "gfx9-4-generic": b"h", "gfx1100": b"o", "amdgcnspirv": b"s"})
    assert set(contents(slim.Cut({"gfx1100": set()}).pruned(both)[0])) == {"", "gfx1100"}
    assert set(contents(slim.Cut({"gfx1151": set()}).pruned(both)[0])) == {"", "gfx11-generic", "amdgcnspirv"}
    assert set(contents(slim.Cut({"gfx950": set()}).pruned(both)[0])) == {"", "gfx9-4-generic", "amdgcnspirv"}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("zstd", [False, True])
def test_compressed_bundles_are_compressed_again(slim: ModuleType, version: int, zstd: bool) -> None:
    body = hashlib.sha256(b"x").digest() * 200
    packed = compressed(bundled({"gfx942": body, "gfx1100": body[::-1]}), version, zstd=zstd) + bytes(100)
    new, left = slim.Cut({"gfx942": set()}).pruned(packed)
    assert left == 1
    found = code.packed(new)
    assert found is not None
    assert found.readable
    assert found.targets == ("gfx942",)
    assert len(new) < len(packed)
    width = struct.calcsize(FORMS[version])
    from rocenv.image.stream import zstandard

    plain = zstandard().decompress(new[width:]) if zstd else zlib.decompress(new[width:])
    assert contents(plain)["gfx942"] == body
    fields = struct.unpack_from(FORMS[version], new)
    assert fields[-2] == len(plain)
    assert version == 1 or fields[3] == len(new)
    # as LLVM makes it: the low half of the MD5 of what was compressed
    assert fields[-1] == int.from_bytes(hashlib.md5(plain, usedforsecurity=False).digest()[:8], "little")


@pytest.mark.parametrize(
    ("file", "target"), [("four-plain", "gfx942"), ("linked-late", "gfx90a"), ("two-compressed", "gfx1201")]
)
def test_libraries_that_compilers_made(slim: ModuleType, file: str, target: str) -> None:
    """By LLVM 22 (tests/image/objects/README.md); where less than a page falls the file stays as long as it was."""
    data = gzip.decompress((OBJECTS / f"{file}.so.gz").read_bytes())
    new = slim.slimmed(data, slim.Cut({target: set()}))
    search = code.CodeSearch()
    search.feed(bytes(new))
    search.end()
    assert (list(search.targets), search.unreadable) == ([target], 0)
    assert len(new) < len(data) if file == "four-plain" else len(new) == len(data)
    assert slim.slimmed(bytes(new), slim.Cut({target: set()})) is None, "nothing is left to cut"


NAMES = {
    # the files that ROCm's packages install, each with the target that it is for
    "opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx90a.dat": "gfx90a",
    "opt/rocm/lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco": "gfx90a",
    "opt/rocm/lib/rocblas/library/TensileLibrary_Type_HH_Contraction_l_Alik_Bljk_Cijk_Dijk_gfx942.co": "gfx942",
    "opt/rocm/lib/rocblas/library/TensileLibrary_Type_HH_Contraction_l_Alik_Bljk_Cijk_Dijk_fallback.dat": None,
    "opt/rocm/lib/hipblaslt/library/extop_gfx1100.co": "gfx1100",
    "opt/venv/lib/python3.12/site-packages/torch/lib/hipblaslt/library/TensileLibrary_gfx942.dat": "gfx942",
    "opt/rocm/share/miopen/db/gfx942130.HIP.fdb.txt": "gfx942",
    "opt/rocm/share/miopen/db/gfx90a68.kdb": "gfx90a",
    "opt/rocm/share/miopen/db/gfx1030_40.db": "gfx1030",
    "opt/venv/lib/python3.12/site-packages/torch/lib/aotriton.images/amd-gfx11xx/flash/attn_fwd.aks2": "gfx1100",
    "opt/venv/lib/python3.12/site-packages/torch/lib/aotriton.images/amd-gfx942/flash/attn_fwd.aks2": "gfx942",
    "opt/rocm/.kpack/blas_lib_gfx1100.kpack": "gfx1100",
    "usr/share/doc/gfx90a.txt": None,
    "opt/own/gfx90a/weights.dat": None,
}


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx1100"])
def test_data_files_go_by_their_names(tmp_path: Path, target: str) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("data")
    assert run(tmp_path, target) == (0, "")
    left = {name for name in NAMES if (tmp_path / name).exists()}
    assert left == {name for name, of in NAMES.items() if of in (None, target)}
    told = json.loads((tmp_path / "etc/rocenv/slim.json").read_text())
    assert (told["targets"], told["removed"]) == ([target], len(NAMES) - len(left))


def test_loose_code_goes_by_what_is_in_it(tmp_path: Path) -> None:
    """e_flags of LLVM's AMDGPU guide: 0x4c is gfx942, 0x41 gfx1100, 0x54 gfx11-generic."""
    for name, machine in {"a.co": 0x4C, "b.co": 0x41, "c.hsaco": 0x54, "d.so": 0x4C}.items():
        head = b"\x7fELF\x02\x01\x01\x40\x02".ljust(16, b"\0") + struct.pack("<HHIQQQI", 3, 224, 1, 0, 0, 0, machine)
        (tmp_path / name).write_bytes(head.ljust(4096, b"\0"))
    (tmp_path / "e.hsaco").write_bytes(bundled({"gfx942": b"x", "gfx1100": b"y"}))
    (tmp_path / "f.hsaco").write_bytes(bundled({"gfx942": b"x"}))
    assert run(tmp_path, "gfx1100") == (0, "")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["b.co", "c.hsaco", "d.so", "e.hsaco"]
    assert set(contents((tmp_path / "e.hsaco").read_bytes())) == {"", "gfx1100"}


def test_a_target_without_code_is_refused_with_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "e.hsaco").write_bytes(bundled({"gfx942": b"x", "gfx1100": b"y"}))
    status, said = run(tmp_path, "gfx942", "gfx1201")
    assert status == 1
    assert said == ("error: rocenv: the image has no code for gfx1201\n\nhint: it has some for: gfx1100, gfx942\n")


def test_variables_that_would_be_lost_end_it(tmp_path: Path) -> None:
    (tmp_path / "e.hsaco").write_bytes(bundled({"gfx942": b"x"}))
    env = {"OWN": "1", "ROCM_PATH": "/opt/rocm", "https_proxy": "http://p:1", "HTTP_PROXY": "http://p:1"}
    status, said = run(tmp_path, "gfx942", kept=("ROCM_PATH",), env=env)
    assert status == 1
    assert "the image's own variables would be lost: OWN\n" in said
    assert run(tmp_path, "gfx942", kept=("ROCM_PATH", "OWN"), env=env) == (0, "")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_what_is_not_as_it_should_be_stays(slim: ModuleType, data: st.DataObject) -> None:
    """A damaged bundle, plain or packed, ends in what `look` catches, or in a bundle that can be read."""
    good = bundled({"gfx942": b"x" * 50, "gfx1100": b"y" * 50})
    damaged = bytearray(
        data.draw(st.sampled_from([good, compressed(good, 1), compressed(good, 2), compressed(good, 3)]))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(4, min(len(damaged) - 1, 220)))] = data.draw(st.integers(0, 255))
    try:
        new, _ = slim.Cut({"gfx942": set()}).pruned(bytes(damaged))
    except (ValueError, LookupError, OverflowError, OSError, struct.error, zlib.error):
        return
    assert new.startswith((b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"))


# --- the template ----------------------------------------------------------------------------------------------------


def test_an_image_that_is_known_to_have_no_code_is_refused_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        dockerfile(
            "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0", template="slim", gfx=("gfx906",)
        )
    assert "holds no code for gfx906" in caught.value.message
    assert "gfx942" in str(caught.value.hint)


def test_what_the_image_says_of_itself_is_written_down() -> None:
    recipe = recipe_of(plan(PYTORCH), profile(PYTORCH, template="slim", user="image"))
    assert recipe.slim is not None
    config = Config(
        (("PATH", "/opt/rocm/bin:/bin"), ("A", 'b "c" $d')), ("/enter",), ("serve", "--x"), "jenkins", (("l", "m"),)
    )
    text = render_dockerfile(recipe._replace(slim=recipe.slim._replace(config=config)))
    _, _, last = text.partition("\nCOPY --from=whole / /\n")
    for line in (
        'ENV PATH="/opt/rocm/bin:/bin"',
        r'ENV A="b \"c\" \$d"',
        'ENTRYPOINT ["/enter"]',
        'CMD ["serve", "--x"]',
    ):
        assert f"{line}\n" in last
    assert 'LABEL l="m"\n' in last
    assert "USER jenkins\n" in last
    assert "--kept PATH A \\\n" in text or "--kept PATH A\n" in text

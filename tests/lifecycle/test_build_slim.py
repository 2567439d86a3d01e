"""An image really made slim: what is left works as before, byte for byte as it was; what fell is what was cut."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bed import images
from lifecycle.test_build import BUILDKIT

if TYPE_CHECKING:
    from conftest import TestBed

FAT = "rocenv-test/fat:1"
WISH = f"extends: hip\nimage: {{reference: '{FAT}'}}\nbuild: {{template: slim}}\n"
PAGE, TABLE = 4096, 400_000  # each kernel's code has a table of that many bytes with it
PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <stdexcept>
__device__ float table[100000] = {1};
__global__ void add(float *a, const float *b) { a[threadIdx.x] += b[threadIdx.x] * table[threadIdx.x]; }
extern "C" int launch(float *a) { add<<<1, 64>>>(a, a); return 7; }
int main() {
    try { throw std::runtime_error("thrown"); } catch (std::exception &error) { std::puts(error.what()); }
    std::printf("%d\\n", launch(nullptr));
}
"""
# Python and bash of the stand-in's on busybox, and beside them what a compiler and a linker made for three targets:
# programs and libraries by GNU ld and by lld, at fixed addresses and at any, with relocations in each form, and one
# with relocatable device code.
DOCKERFILE = f"""
FROM {images.STAND_IN} AS made
COPY one.hip two.hip /
RUN many="--offload-arch=gfx90a --offload-arch=gfx942 --offload-arch=gfx1100" && mkdir -p /made \\
 && hipcc $many -fPIC -c one.hip -o one.o && hipcc $many -fPIC -c two.hip -o two.o \\
 && hipcc one.o two.o -o /made/gnu \\
 && hipcc -fuse-ld=lld one.o two.o -o /made/lld \\
 && hipcc -fuse-ld=lld -Wl,-z,pack-dyn-relocs=relr one.o two.o -o /made/relr \\
 && hipcc -no-pie one.o two.o -o /made/fixed \\
 && hipcc -shared one.o two.o -o /made/libgnu.so \\
 && hipcc -fuse-ld=lld -shared one.o two.o -o /made/liblld.so \\
 && hipcc -fgpu-rdc $many -fPIC -c one.hip -o rdc.o \\
 && hipcc -fgpu-rdc --hip-link $many -shared rdc.o -o /made/librdc.so \\
 && hipcc --genco $many one.hip -o /made/loose.hsaco \\
 && mkdir -p /kept && cp -L --parents /bin/bash /usr/bin/python3 /kept \\
 && cp -L --parents $(ldd /bin/bash /usr/bin/python3 | grep -v ':$' | grep -o '/[^ ]*' | sort -u) /kept \\
 && cp -r --parents /usr/lib/python3.13 /kept
FROM {images.SMALL}
COPY --from=made /kept /
COPY --from=made /made /opt/made
RUN for one in gfx90a gfx942 gfx1100; do \\
      mkdir -p /opt/rocblas/library /opt/miopen/db \\
      && head -c 5000000 /dev/urandom > /opt/rocblas/library/TensileLibrary_lazy_$one.dat \\
      && echo > /opt/miopen/db/$one"130.db"; done; echo > /opt/rocblas/library/TensileManifest.txt
ENV OWN="a b" PATH=/opt/made:/usr/bin:/bin
LABEL own.label="it stays"
ENTRYPOINT ["/bin/sh","-c"]
CMD ["echo $OWN"]
"""
# In the stand-in: every file runs and loads; the loader finds each bundle where the library says; the code of the
# target by clang's own bundler, before and after.
JUDGE = r"""
set -e
cd "$1"
for one in gnu lld relr fixed; do ./$one; done
for one in gnu lld relr fixed libgnu.so liblld.so librdc.so loose.hsaco; do
  file=$one
  if [ $one != loose.hsaco ]; then
    file=/tmp/fat; /usr/lib/llvm-17/bin/llvm-objcopy -O binary --only-section=.hip_fatbin $one $file
  fi
  echo "$one: $(clang-offload-bundler-17 --list --type=o --input=$file | grep -v host | sed 's/.*--//' | sort | xargs)"
  clang-offload-bundler-17 --unbundle --type=o --input=$file --targets=hipv4-amdgcn-amd-amdhsa--gfx942 --output=/tmp/co
  echo "$one code: $(sha256sum < /tmp/co)"
done
for one in libgnu.so liblld.so librdc.so; do
  place=$(readelf -SW $one | grep ' .hipFatBinSegment' | sed 's/.*PROGBITS *//' | cut -d' ' -f1,3)
  python3 - "$PWD/$one" $place <<'END'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
base = min(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if line.rstrip().endswith(sys.argv[1]))
for at in range(0, int(sys.argv[3], 16), 24):
    bundle = ctypes.c_void_p.from_address(base + int(sys.argv[2], 16) + at + 8).value
    print(sys.argv[1].rpartition("/")[2], "loaded", library.launch(None), ctypes.string_at(bundle, 24).decode())
END
done
"""


@pytest.fixture(scope="module")
def fat(make_bed: Callable[[Path], TestBed], tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBed]:
    bed = make_bed(tmp_path_factory.mktemp("fat") / "project")
    bed = replace(bed, variables={**bed.variables, **BUILDKIT, "DOCKER_BUILDKIT": "1"})
    (bed.project / "Dockerfile").write_text(DOCKERFILE)
    (bed.project / "one.hip").write_text(PROGRAM)
    other = PROGRAM.partition("int main")[0]
    for word, instead in {"add": "sub", "launch": "other", "table": "rows", "+=": "-="}.items():
        other = other.replace(word, instead)
    (bed.project / "two.hip").write_text(other)
    (bed.project / "judge.sh").write_text(JUDGE)
    assert bed.docker("pull", "--quiet", images.STAND_IN).returncode == 0
    done = bed.docker("build", f"--tag={FAT}", ".")
    assert done.returncode == 0, done.stderr
    yield bed
    built = bed.docker("images", "-q", "--filter=label=rocenv.image.template=slim").stdout.split()
    bed.docker("rmi", "-f", FAT, *dict.fromkeys(built))


def taken(bed: TestBed, reference: str, name: str) -> Path:
    """The files of an image, and what the tools say of them."""
    held = bed.docker("create", reference, "x").stdout.strip()
    try:
        assert bed.docker("cp", f"{held}:/opt/made", name).returncode == 0
    finally:
        bed.docker("rm", held)
    return bed.project / name


def judged(bed: TestBed, name: str) -> list[str]:
    mount = f"--volume={bed.project}:/p:ro"
    words = ("--network=none", mount, "--entrypoint=bash", images.STAND_IN, "/p/judge.sh", f"/p/{name}")
    said = bed.docker("run", "--rm", *words)
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()


def test_one_target_of_three_is_left_and_all_works_as_before(fat: TestBed) -> None:
    (fat.project / "rocenv.yaml").write_text(
        f"extends: hip\nname: slim\nimage: {{reference: '{FAT}'}}\nbuild: {{template: slim, gfx: [gfx942]}}\n"
    )
    done = fat.rocenv("build", "--json")
    assert done.returncode == 0, done.stderr
    reference = json.loads(done.stdout)["reference"]

    before, after = taken(fat, FAT, "before"), taken(fat, reference, "after")
    said_before, said_after = judged(fat, "before"), judged(fat, "after")
    everything = {line.replace("gfx1100 gfx90a gfx942", "gfx942") for line in said_before}
    assert set(said_after) == everything, "the same output, the same code, bundles where the libraries say"
    assert sum(line.endswith("gfx1100 gfx90a gfx942") for line in said_before) == 8
    for one in sorted(before.iterdir()):
        fell, there = one.stat().st_size - (after / one.name).stat().st_size, after / one.name
        bundles = 1 if one.name in ("loose.hsaco", "librdc.so") else 2
        assert 0 <= fell - 2 * bundles * TABLE < 10 * PAGE, "two targets of three, in each bundle"
        assert fell % PAGE == 0 or one.name == "loose.hsaco"
        assert there.stat().st_mode == one.stat().st_mode

    audit = json.loads(fat.rocenv("audit", reference, "--from", "engine", "--json").stdout)
    assert {target for targets in audit["gfx"].values() for target in targets} == {"gfx942"}
    config = json.loads(fat.docker("image", "inspect", "--format", "{{json .Config}}", reference).stdout)
    assert (config["Entrypoint"], config["Cmd"]) == (["/bin/sh", "-c"], ["echo $OWN"])
    assert config["Labels"]["own.label"] == "it stays"
    assert fat.docker("run", "--rm", "--network=none", reference).stdout == "a b\n"
    sizes = [int(config["Labels"][f"rocenv.image.size.{when}"]) for when in ("before", "after")]
    fell = 2 * 5_000_000 + 14 * 2 * TABLE  # two data files, and fourteen bundles in eight files
    assert 0 <= sizes[0] - sizes[1] - fell < 500_000
    assert f"{FAT}: " in done.stderr
    files = fat.docker("run", "--rm", reference, "ls /opt/rocblas/library /opt/miopen/db").stdout.split()
    assert [one for one in files if "gfx" in one] == ["gfx942130.db", "TensileLibrary_lazy_gfx942.dat"]
    assert "TensileManifest.txt" in files


def test_a_target_that_the_image_lacks_ends_the_build(fat: TestBed) -> None:
    (fat.project / "rocenv.yaml").write_text(WISH)
    done = fat.rocenv("build", "--gfx", "gfx942", "--gfx", "gfx1201")
    assert done.returncode == 5, done.stderr
    assert "error: rocenv: the image has no code for gfx1201" in done.stderr
    assert "it has some for: gfx1100, gfx90a, gfx942" in done.stderr


def test_a_dockerfile_without_the_images_variables_does_not_build(fat: TestBed) -> None:
    """As `rocenv dockerfile` prints it, with nobody asked what the image says of itself."""
    (fat.project / "rocenv.yaml").write_text(WISH)
    (fat.project / "by-hand").write_text(fat.rocenv("dockerfile", "--gfx", "gfx942").stdout)
    done = fat.docker("build", "--file=by-hand", ".")
    assert done.returncode != 0
    assert "error: rocenv: the image's own variables would be lost: OWN" in done.stderr

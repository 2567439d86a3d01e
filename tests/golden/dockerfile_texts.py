"""Dockerfiles as they are, for review by people: every template, family and system, for three hosts.

    python tests/golden/dockerfile_texts.py            show what differs from the files that are there
    python tests/golden/dockerfile_texts.py --accept   the same, and write it: only after each line was thought about

One file a template and host, a section a profile or a system. The script that holds an image's Python packages is
written out once, in the first section, and named in the others.
"""

from __future__ import annotations

import difflib
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

if __name__ == "__main__":  # as a command it is not pytest that finds its neighbours
    sys.path.insert(0, str(Path(__file__).parents[1]))

from hosts import builder

from rocenv.catalog import distributions
from rocenv.errors import RocenvError
from rocenv.host import read_host
from rocenv.lifecycle.build import built
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts
from rocenv.plan import Request, make_plan
from rocenv.profile import load_profile
from rocenv.render.dockerfile_words import sh
from rocenv.render.scripts import script
from rocenv.resources import data_folder

FOLDER = Path(__file__).with_name("dockerfiles")
HOSTS = ("mi300x-spx", "rx7900xtx", "strix-halo")
TEMPLATES = ("on-image", "distribution", "debian", "from-source", "slim", "wheels")
_SCRATCH = tempfile.TemporaryDirectory()  # removed when the process ends
DOCKER = EngineFacts("docker", assumed=True)
PACKAGES = {
    "build.packages.apt": ["git"],
    "build.packages.dnf": ["git"],
    "build.packages.zypper": ["git"],
    "build.packages.pip": ["einops>=0.8"],
}
LEGACY = "7.2"
_OLDER = "rocm/dev-ubuntu-24.04:7.2.4-complete"
_FILES: dict[str, object] = {"build.source.files": ["main.cu", "kernels/scale.cu"], "build.source.program": "saxpy"}
# Of the other templates: what each section is called, its profile and what is wished beside the template.
SECTIONS: dict[str, tuple[tuple[str, str, dict[str, object]], ...]] = {
    "from-source": (
        ("hip, one program", "hip", {"build.source.files": ["add.hip"]}),
        ("hip 7.2.4, hipify-perl", "hip", {**_FILES, "build.source.hipify": "perl", "image.reference": _OLDER}),
        (
            "hip, hipify-clang, cmake, a generic target",
            "hip",
            {
                "build.source.folder": "src",
                "build.source.hipify": "clang",
                "build.source.packages": ["cmake", "ninja-build"],
                "build.source.options": ["-GNinja", "-DBUILD_TESTING=OFF"],
                "build.gfx": ["gfx942", "gfx11-generic"],
            },
        ),
        ("debian-13", "hip", {**_FILES, "build.source.hipify": "perl", "build.os": "debian-13"}),
        ("debian-13, cmake", "hip", {"build.os": "debian-13", "build.source.options": ["-DUSE_FFT=ON"]}),
        ("ubuntu-24.04", "hip", {"build.os": "ubuntu-24.04"}),
    ),
    "wheels": (
        ("pytorch", "pytorch", {}),
        ("pytorch 7.14, Python 3.13", "pytorch", {"image.rocm": "7.14", "image.python": "3.13"}),
        ("ROCm alone, for two targets", "hip", {"build.wheels": ["rocm"], "build.gfx": ["gfx90a", "gfx1201"]}),
        ("pytorch without wheels for it", "pytorch", {"build.gfx": ["gfx803"]}),
        ("pytorch of a release without wheels", "pytorch", {"image.rocm": "7.2"}),
    ),
    "slim": (
        ("pytorch", "pytorch", {}),
        ("vllm, its own user", "vllm", {"user": "image"}),
        ("pytorch for two targets", "pytorch", {"build.gfx": ["gfx90a", "gfx1100"]}),
        ("hip without code for it", "hip", {"build.gfx": ["gfx803"]}),
    ),
}


def names() -> list[str]:
    """The files, one a template and host."""
    return [f"{template}--{host}.Dockerfiles" for template in TEMPLATES for host in HOSTS]


def text(name: str) -> str:
    """A file as it would be now."""
    template, _, host = name.removesuffix(".Dockerfiles").partition("--")
    parts = [f"### {title}\n\n{dockerfile}" for title, dockerfile in sections(template, described(host))]
    whole = re.sub('(rocenv.image.plan=)"[0-9a-f]{16}"', '\\1"[the recipe\'s digest]"', "\n".join(parts))
    for file in ("hold.py", "slim.py"):
        lines = "".join(f"    {sh(line)} \\\n" for line in script(file))
        first, sign, rest = whole.partition(lines)
        whole = first + sign + rest.replace(lines, f"    [dockerfiles/{file}] \\\n")
    return whole


def sections(template: str, host: Host) -> Iterator[tuple[str, str]]:
    """The titles of a file's sections, and the Dockerfile of each, or why there is none."""
    if template == "on-image":
        for profile in sorted(path.stem for path in data_folder("profiles").glob("*.yaml")):
            yield profile, dockerfile(profile, host, {"build.template": template})
        return
    if template in SECTIONS:
        for title, profile, more in SECTIONS[template]:
            yield title, dockerfile(profile, host, {"build.template": template, **more})
        return
    for system in distributions.systems():
        for rocm in (None, LEGACY) if template == "distribution" else (None,):
            wish: dict[str, object] = {"build.template": template, "build.os": system.key, "image.rocm": rocm}
            wish["build.components"] = ["runtime", "hip-sdk", "math", "rccl"]
            yield f"{system.key}, ROCm {rocm or 'newest'}", dockerfile("terminal", host, wish)


def dockerfile(profile: str, host: Host, wish: dict[str, object]) -> str:
    """The text for a profile on a host, or the error that there is instead."""
    try:
        wished = load_profile(profile, project=Path("/nowhere"), overrides={**PACKAGES, **wish})
        plan = make_plan(wished, host, DOCKER, Request("golden", "/nowhere", home="/home/u"))
        return built(plan, wished, project() if wished.build.context else "/nowhere").dockerfile or ""
    except RocenvError as error:
        return f"refused: {error.message}\nhint: {error.hint}\n"


@cache
def project() -> str:
    """A project with something to compile."""
    folder = Path(_SCRATCH.name)
    for name in ("add.hip", "main.cu", "kernels/scale.cu", "src/CMakeLists.txt", "CMakeLists.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    return str(folder)


@cache
def described(name: str) -> Host:
    with tempfile.TemporaryDirectory() as folder:
        return read_host(str(builder.build(builder.describe(name), Path(folder) / name)))


def difference(name: str) -> str:
    """What the file would lose and gain, as a diff; nothing where it is as it should be."""
    path = FOLDER / name
    there = path.read_text() if path.exists() else ""
    lines = difflib.unified_diff(
        there.splitlines(keepends=True), text(name).splitlines(keepends=True), f"{name} (reviewed)", f"{name} (now)"
    )
    return "".join(lines)


def main(arguments: list[str]) -> int:
    found = {name: said for name in names() if (said := difference(name))}
    print("".join(found.values()), end="")
    if "--accept" in arguments:
        FOLDER.mkdir(exist_ok=True)
        for name in found:
            (FOLDER / name).write_text(text(name))
        return 0
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

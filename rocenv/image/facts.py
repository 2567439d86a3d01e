"""From what was found in an image's files and its configuration to an Audit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rocenv.image import names
from rocenv.image.layer import Found, Layer
from rocenv.image.merged import visible
from rocenv.image.releases import hip_releases, python_environment, releases, torch_built
from rocenv.model.audit import Audit, Library, Package, Python, Shared, Torch

_ENV = re.compile(
    r"(ROCM|HIP|HSA|ROCR|AMD|GPU|PYTORCH|TORCH|TRITON|MIOPEN|AITER|CUDA|NVIDIA|LD_|VIRTUAL_ENV|CONDA|PYTHON|PATH)"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASS|KEY|CREDENTIAL", re.IGNORECASE)
_GROUPS = ("video", "render")
_LONG = 4096


def audit(config: Mapping[str, Any], layers: Sequence[Layer], identity: str, digest: str | None) -> Audit:
    """All that an image of these layers (the lowest first) and this configuration tells."""
    seen = {path: found for path, found in visible(layers).items() if not names.is_kept(path)}
    told = config.get("config")
    run: Mapping[str, Any] = told if isinstance(told, Mapping) else {}
    texts = {path: found.text.decode("utf-8", "replace") for path, found in seen.items() if found.text is not None}
    status = {path: text for path, text in texts.items() if path.startswith("var/lib/dpkg/")}
    debian = dict(sorted(pair for text in status.values() for pair in _pairs(text)))
    return Audit(
        identity=identity,
        digest=digest,
        machine=_word(config.get("architecture")),
        system=_system(texts),
        rocm=releases(texts, debian, _packages(seen), _shared(seen)),
        hip=hip_releases(texts, debian),
        libraries=tuple(sorted(_libraries(seen))),
        shared=_shared(seen),
        kpack_wanted=tuple(sorted(f"/{path}" for path, found in seen.items() if found.kpack)),
        torch=tuple(_torch(texts)),
        cuda_torch=tuple(sorted(f"/{path}" for path in seen if path.endswith("/libtorch_cuda.so"))),
        packages=_packages(seen),
        debian=debian,
        pythons=tuple(sorted(_pythons(seen, texts))),
        links={f"/{path}": found.link for path, found in sorted(seen.items()) if found.link is not None},
        user=_word(run.get("User")) or "root",
        groups=_groups(texts.get("etc/group", "")),
        workdir=_word(run.get("WorkingDir")),
        entrypoint=_words(run.get("Entrypoint")),
        command=_words(run.get("Cmd")),
        env=dict(_env(run.get("Env"))),
        unreadable=tuple(sorted(f"/{path}" for path, found in seen.items() if found.unreadable)),
        outside=sum(layer.outside for layer in layers),
        sparse=sum(layer.sparse for layer in layers),
        layers=len(layers),
        entries=sum(layer.entries for layer in layers),
        bytes=sum(layer.bytes for layer in layers),
    )


def _word(value: object) -> str | None:
    return value[:_LONG] if isinstance(value, str) and value else None


def _words(value: object) -> tuple[str, ...]:
    return tuple(str(one)[:_LONG] for one in value) if isinstance(value, list) else ()


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        name, _, version = line.partition(" ")
        yield name, version


def _system(texts: Mapping[str, str]) -> str | None:
    """`Ubuntu 24.04`, by os-release."""
    text = texts.get("etc/os-release") or texts.get("usr/lib/os-release") or ""
    found = dict(re.findall(r'(?m)^(NAME|VERSION_ID)="?([^"\n]*)"?$', text))
    return f"{found['NAME']} {found.get('VERSION_ID', '')}".strip()[:200] if "NAME" in found else None


def _groups(text: str) -> dict[str, int]:
    rows = (line.split(":") for line in text.splitlines())
    return {row[0]: int(row[2]) for row in rows if len(row) > 2 and row[0] in _GROUPS and row[2].isdigit()}  # noqa: PLR2004


def _env(value: object) -> Iterator[tuple[str, str]]:
    """The variables that concern GPUs and Pythons, and are no secrets."""
    for pair in _words(value):
        name, _, text = pair.partition("=")
        if _ENV.match(name) and not _SECRET.search(name):
            yield name, text


def _libraries(seen: Mapping[str, Found]) -> Iterable[Library]:
    """What has code for GPUs or data for such code, with the targets of its files together."""
    kept: dict[tuple[str, str, str], tuple[dict[str, None], int]] = {}
    for path, found in seen.items():
        told = names.told(path) if "gfx" in path else None
        if told is not None:
            key, targets = (
                (told.library, told.kind, told.place),
                found.targets or ((told.target,) if told.target else ()),
            )
        elif found.code and found.targets:
            name, place = names.objects(path) if found.loose else names.library(path)
            key, targets = (name, "objects" if found.loose else "code", place), found.targets
        else:
            continue
        before, files = kept.get(key, ({}, 0))
        before.update(dict.fromkeys(targets))
        kept[key] = before, files + 1
    for (name, kind, place), (targets_of, files) in kept.items():
        if targets_of:
            yield Library(name, kind, f"/{place}", tuple(sorted(targets_of, key=target_order)), files)


def target_order(target: str) -> tuple[int, str]:
    """Targets by their numbers: gfx90a before gfx942 before gfx1030; generic ones behind their series."""
    match = re.match(r"gfx(\d+)-|gfx([0-9a-fx]+)", target)
    if match is None:
        return 1 << 30, target
    if match[1]:
        return int(match[1]) * 0x1000 + 0xFFF, target
    digits = match[2].replace("x", "f")
    return int(digits[:-2] or "0") * 0x1000 + int(digits[-2:], 16), target


def _shared(seen: Mapping[str, Found]) -> tuple[Shared, ...]:
    """The libraries of ROCm, and all places where each is."""
    kept: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(seen):
        found = names.rocm_library(path) if "/lib" in path else None
        if found is not None:
            kept.setdefault(found[0], []).append((f"/{path}", found[1]))
    return tuple(Shared(name, tuple(files)) for name, files in sorted(kept.items()))


def _packages(seen: Mapping[str, Found]) -> tuple[Package, ...]:
    found = {names.distribution(path) for path in seen if "-info" in path}
    return tuple(sorted(Package(name, version, f"/{site}") for site, name, version in filter(None, found)))


def _torch(texts: Mapping[str, str]) -> Iterator[Torch]:
    for path, text in sorted(texts.items()):
        if path.endswith("torch/version.py"):
            folder = path.rpartition("/")[0]
            flags = texts.get(f"{folder}/lib/libtorch_python.so", "")
            yield torch_built(text, f"/{folder}", tuple(flags.split()))


def _pythons(seen: Mapping[str, Found], texts: Mapping[str, str]) -> Iterator[Python]:
    """Every Python: environments by what describes them, others by their executable."""
    conda = [found for path in seen if "conda-meta/" in path and (found := names.conda_python(path))]
    folders = {place for place, _ in conda}
    for place, version in conda:
        yield Python(f"/{place}", version, "conda")
    for path, text in texts.items():
        if path.endswith("pyvenv.cfg"):
            yield python_environment(path.rpartition("/")[0], text)
    for path, file in seen.items():
        if file.link is None and names.is_python(path):
            home = path.rpartition("/bin/")[0]
            if home not in folders:
                kind = "system" if home in ("", "usr", "usr/local") else "other"
                yield Python(f"/{path}", path.rpartition("/python")[2], kind)

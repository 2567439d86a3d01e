"""What in an image is not as it should be, or not as its tag says: sentences for people."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocenv.catalog.images import CatalogImage
from rocenv.catalog.versions import Version
from rocenv.image.releases import release_of
from rocenv.image.verdict import carried
from rocenv.model.audit import Audit, Shared

_HIDING = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_FEW = 5


def warnings(audit: Audit, tagged: CatalogImage | None) -> tuple[str, ...]:
    """Everything that is worth a warning, what its tag promises first."""
    return (
        *_against_tag(audit, tagged),
        *_torch(audit),
        *_twice(audit),
        *_code(audit),
        *_variables(audit),
        *_layers(audit),
    )


def _against_tag(audit: Audit, tagged: CatalogImage | None) -> Iterator[str]:
    if tagged is None:
        return
    if tagged.rocm is not None and not audit.rocm:
        yield f"its tag says ROCm {tagged.rocm}, and nothing inside names a release"
    elif tagged.rocm is not None and not any(_is(one.version, tagged.rocm) for one in audit.rocm):
        there = ", ".join(one.version for one in audit.rocm)
        yield f"its tag says ROCm {tagged.rocm}, and ROCm {there} is inside"
    told = tagged.frameworks.get("pytorch")
    if told is not None and not any(_is(one.version, Version.parse(told)) for one in audit.torch):
        there = ", ".join(one.version for one in audit.torch) or "none"
        yield f"its tag says PyTorch {told}, and {there} is inside"
    python = tagged.python
    if python is not None and not any(_is(one.version or "", Version.parse(python)) for one in audit.pythons):
        there = ", ".join(sorted({one.version or one.path for one in audit.pythons})) or "none"
        yield f"its tag says Python {python}, and {there} is inside"
    if tagged.ubuntu is not None and audit.system is not None and audit.system != f"Ubuntu {tagged.ubuntu}":
        yield f"its tag says Ubuntu {tagged.ubuntu}, and {audit.system} is inside"
    held = carried(audit)
    lacking = [gfx for gfx in tagged.gfx or () if held and gfx not in held]
    if lacking and tagged.gfx_verified:
        yield f"images of this tag should carry {', '.join(lacking)}, and this one does not"


def _is(version: str, wanted: Version) -> bool:
    """True where a version is the one that a tag names: 2.9.1+rocm7.2 is 2.9.1, 7.2.4 is 7.2."""
    try:
        return Version.parse(version).within(wanted)
    except ValueError:
        return False


def _torch(audit: Audit) -> Iterator[str]:
    for torch in audit.torch:
        if torch.cuda is not None:
            yield f"PyTorch {torch.version} in {torch.path} is a CUDA build ({torch.cuda}): it cannot use an AMD GPU"
        elif torch.hip is None:
            yield f"PyTorch {torch.version} in {torch.path} is built for the CPU alone: it cannot use an AMD GPU"
        lacking = _missing_code(audit, torch.path, torch.arch)
        if lacking:
            yield f"PyTorch in {torch.path} says that it is built for {', '.join(lacking)}, and has no code for that"
    if len(audit.torch) == 1:
        named = tuple(word.partition(":")[0] for word in re.split(r"[;,\s]+", audit.env.get("PYTORCH_ROCM_ARCH", "")))
        lacking = _missing_code(audit, audit.torch[0].path, tuple(filter(None, named)))
        if lacking:
            yield f"its PYTORCH_ROCM_ARCH names {', '.join(lacking)}, and PyTorch's library has no code for that"
    elif audit.torch:
        yield f"there are {len(audit.torch)} PyTorchs: {', '.join(torch.path for torch in audit.torch)}"
    hip = [torch for torch in audit.torch if torch.hip is not None]
    wheels = [package for package in audit.packages if package.name.startswith("nvidia-")]
    if wheels and (hip or audit.rocm):
        yield f"{len(wheels)} packages of CUDA are in {wheels[0].path}: something came from a CUDA index"
    if hip and audit.cuda_torch:
        yield f"{audit.cuda_torch[0]} is PyTorch's CUDA library, beside a PyTorch for ROCm"


def _missing_code(audit: Audit, path: str, arch: tuple[str, ...]) -> list[str]:
    own = [one for one in audit.libraries if one.place == path and one.name.endswith("libtorch_hip")]
    held = {target.partition(":")[0] for one in own for target in one.targets}
    return [gfx for gfx in arch if held and gfx not in held]


def _twice(audit: Audit) -> Iterator[str]:
    versions = list(dict.fromkeys(one.version for one in audit.rocm))
    if len(versions) > 1:
        told = ", ".join(f"{one.version} ({one.path})" for one in audit.rocm[:_FEW])
        yield f"there are {len(versions)} releases of ROCm: {told}"
    mixed = [one for one in audit.shared if len(_releases(one)) > 1]
    for one in mixed:
        yield f"lib{one.name} is from ROCm {' and '.join(_releases(one))}: {_places(one)}"
    double = [one for one in audit.shared if one not in mixed and len({_folder(path) for path, _ in one.files}) > 1]
    if double:
        names = ", ".join(f"lib{one.name}" for one in double[:_FEW])
        more = f" and {len(double) - _FEW} more" if len(double) > _FEW else ""
        yield f"{names}{more} are there twice ({_places(double[0])}): which is loaded depends on the search path"


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _releases(shared: Shared) -> list[str]:
    """The releases of ROCm that the file names of a library tell."""
    return sorted({release for _, version in shared.files if (release := release_of(version))})


def _places(shared: Shared) -> str:
    return ", ".join(path for path, _ in shared.files[:_FEW])


def _code(audit: Audit) -> Iterator[str]:
    if audit.kpack_wanted and not any(one.kind == "kpack" for one in audit.libraries):
        first = ", ".join(audit.kpack_wanted[:_FEW])
        yield f"{len(audit.kpack_wanted)} libraries ({first}) keep their code in kpack archives, and there is none"
    if audit.unreadable:
        first = ", ".join(audit.unreadable[:_FEW])
        yield f"code objects in {len(audit.unreadable)} files could not be read: {first}"
    if audit.rocm and not audit.libraries and not audit.kpack_wanted:
        yield "there is ROCm inside, and no code for any GPU"


def _variables(audit: Audit) -> Iterator[str]:
    for name, value in audit.env.items():
        if name.startswith("HSA_OVERRIDE_GFX_VERSION"):
            yield f"the image sets {name}={value}: every GPU passes for another one"
        elif name in _HIDING:
            yield f"the image sets {name}={value}: it hides GPUs"


def _layers(audit: Audit) -> Iterator[str]:
    if audit.outside:
        yield f"{audit.outside} entries of its layers have a path that leads out of the image, or that no file can have"
    if audit.sparse:
        yield f"{audit.sparse} sparse files were not looked into"

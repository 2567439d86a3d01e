"""Room: whether an image fits on the engine's disk, by bytes and by inodes, and what else lies there."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.report.text import size

# ROCm images unpack to two and a half to three and a half times of what is pulled, and are on the disk beside that.
UNPACKING = 3
_TIGHT = 60 << 30  # bytes: a ROCm framework image unpacked, and room to build on it
_FULL = 5 << 30
_FEW_INODES = 500_000
_NO_INODES = 50_000
_FREE = "`docker system prune`, or a larger disk by `data-root` in /etc/docker/daemon.json"
# AMD's wheels come by target: what is made of them holds these GPUs' code alone, and nothing large is pulled before.
_SMALLER = "; or `rocenv build pytorch --template wheels`, which fetches the code of these GPUs alone"
_FREE_PODMAN = "`podman system prune`, or a larger disk by `graphroot` in storage.conf"


@check(
    id="engine.disk",
    layer="engine",
    severity="fail",
    title="the image fits on the engine's disk",
    reads="statvfs of the data root; the image's size in its registry × 3, or unpacked",
    why="ROCm images are 10 to 60 GB unpacked: a pull that fails late costs an hour and leaves the disk full",
    source="legacy-rocm-build#3935; ROCm/ROCm-docker#104",
    after=("engine.socket",),
)
def disk(facts: Facts) -> Answer:
    """Against the image where one is named; else against what images of ROCm commonly take."""
    health = facts.need_engine_health()
    if health.free_bytes is None:
        return skip(facts.missing.get("free_bytes", "the engine's data root is not on this host"))
    place = (facts.engine.data_root if facts.engine else None) or "the data root"
    free = f"{place}: {size(health.free_bytes)} free"
    fix = _FREE_PODMAN if health.kind == "podman" else _FREE
    needed = _needed(facts)
    image = facts.image
    if image is not None and image.state == "local":
        return ok(f"{free}; the image is here already")
    if image is not None and needed is not None:
        evidence = f"{free}; {image.reference} takes about {size(needed)}"
        if health.free_bytes >= needed:
            return ok(evidence)
        smaller = _SMALLER if "pytorch" in image.reference else ""
        return fail(evidence, "the image does not fit: the pull would end with no space left on device", fix + smaller)
    verify = f"df -h {place}"
    if health.free_bytes < _FULL:
        return fail(free, "the engine's disk is full: no image of ROCm fits, and builds fail", fix, verify=verify)
    if health.free_bytes < _TIGHT:
        return warn(free, f"images of ROCm with a framework take up to {size(_TIGHT)} unpacked", fix, verify=verify)
    return ok(free)


def _needed(facts: Facts) -> int | None:
    """The bytes that the image takes on the disk at most; None where nobody tells its size."""
    image = facts.image
    if image is None:
        return None
    if image.compressed_bytes is not None:
        return image.compressed_bytes * UNPACKING
    return image.unpacked_bytes


@check(
    id="engine.inodes",
    layer="engine",
    severity="fail",
    title="the engine's disk has inodes left",
    reads="statvfs of the data root",
    why="'no space left on device' while df shows gigabytes: ROCm images hold hundreds of thousands of files",
    source="ROCm/ROCm-docker#92",
    after=("engine.socket",),
)
def inodes(facts: Facts) -> Answer:
    """Against the image's files where they are known."""
    health = facts.need_engine_health()
    if health.free_inodes is None:
        return skip(facts.missing.get("free_inodes", "the engine's data root is not on this host, or counts no inodes"))
    place = (facts.engine.data_root if facts.engine else None) or "the data root"
    needed = facts.image.inodes if facts.image and facts.image.inodes else _NO_INODES
    evidence = f"{place}: {health.free_inodes} inodes free"
    fix = _FREE_PODMAN if health.kind == "podman" else _FREE
    if health.free_inodes < needed:
        cause = f"there is no inode for each of about {needed} files: the pull would end with no space left on device"
        return fail(evidence, cause, fix, verify=f"df -i {place}")
    if health.free_inodes < _FEW_INODES and not (facts.image and facts.image.inodes):
        return warn(evidence, "an image of ROCm may hold as many files", fix, verify=f"df -i {place}")
    return ok(evidence)


@check(
    id="engine.second-store",
    layer="engine",
    severity="warn",
    title="no other engine's images fill the disk",
    reads="/var/lib/docker, ~/.local/share/docker, and podman's stores",
    why="after a move to rootless docker the old images stay where nobody looks",
    source="pytorch/pytorch#92822",
)
def second_store(facts: Facts) -> Answer:
    """Another docker store beside the one in use."""
    health = facts.need_engine_health()
    shown = listed(f"{one.path} ({one.engine}{f', {size(one.bytes)}' if one.bytes else ''})" for one in health.stores)
    root = facts.engine.data_root if facts.engine else None
    others = [one for one in health.stores if one.path != root and one.engine == health.kind and one.holds is not False]
    if len(health.stores) < 2 or not others:  # noqa: PLR2004
        return ok(shown or "no store in the usual places")
    known = [one for one in others if one.holds or one.bytes is not None]
    if not known:
        return info(shown, f"what {others[0].path} holds may not be read; the engine that is asked uses another place")
    other = known[0] if root else health.stores[-1]
    sudo = "sudo " if other.path.startswith("/var/") else ""
    return warn(
        shown,
        f"two stores of images are here; the engine that is asked uses {root or 'one of them'}",
        f"`{sudo}du -sh {other.path}` shows what the other one takes; prune it with its own engine",
    )

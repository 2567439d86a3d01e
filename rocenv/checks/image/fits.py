"""Whether an image fits this machine's GPUs and driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rocenv.catalog import gpus as catalog
from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.model.check import Finding
from rocenv.model.health import ImageView
from rocenv.model.host import Gpu, Host
from rocenv.rules import override

if TYPE_CHECKING:  # the tables of images and releases are read only where an image is named
    from rocenv.catalog.images import CatalogImage, Family
    from rocenv.catalog.releases import DriverSeries
    from rocenv.catalog.versions import Version

_INCOMPATIBLE = "incompatible kernel and userspace"
_SHOWN = "`rocenv plan PROFILE --refused` shows every image that is known"


@check(
    id="gpu.gfx-supported",
    layer="image",
    severity="fail",
    title="the image holds code for the GPU",
    reads="gfx_target_version; PYTORCH_ROCM_ARCH, library files or the tag of the image",
    why="'hipErrorNoBinaryForGpu', 'invalid device function', 'TensileLibrary.dat: Illegal seek' mean it does not",
    source="containers/ramalama#497; ROCm/pytorch#2730; legacy-rocm-build#4386",
    after=("image.resolve",),
)
def targets(facts: Facts) -> Answer:
    """Each target, by the image's own list; an override is offered only where it is known to work."""
    image = facts.need_image()
    wanted = _wanted(facts)
    if not wanted:
        return skip("no gfx target is known: KFD shows no GPU, and `--gpu` names none")
    held = image.gfx
    if held is None:
        return _untold(wanted, image, facts)
    found = [_held(gfx, held, image, facts) for gfx in wanted]
    worst = [finding for finding in found if finding.verdict != "ok"]
    return worst or ok(f"{listed(wanted)}: {image.gfx_source or 'its list'} has {listed(held, 12)}")


def _untold(wanted: tuple[str, ...], image: ImageView, facts: Facts) -> Answer:
    """Nobody tells the image's targets: what a plan refuses it for all the same is told here too."""
    from rocenv.rules.rank import verdict

    known = _known(image)
    judged = {gfx: verdict(known, (gfx,), facts.host) for gfx in wanted} if known is not None else {}
    for gfx, one in judged.items():
        if one.kind == "target":
            fix = f"take an image for {gfx}: {_instead(gfx, image, facts)}"
            return warn(f"{gfx}; {image.reference}", one.refusal or "", fix)
    other = _other_builds(image) if known is None else None
    if other is not None:
        return warn(
            image.reference,
            f"no tag of an image for ROCm is written like this one: {other.cuda}",
            f"`rocenv images {other.name}` lists those for ROCm",
        )
    return info(
        f"{listed(wanted)}; {image.reference}",
        f"nobody tells which targets it holds code for; `rocenv audit {image.reference}` reads them from its layers",
    )


def _wanted(facts: Facts) -> tuple[str, ...]:
    """The targets that were named, or those of the host's discrete GPUs, or of all if there is none."""
    if facts.asked.targets or facts.host is None:
        return facts.asked.targets
    return tuple(dict.fromkeys(gpu.gfx for gpu in _chosen(facts.host) if gpu.gfx))


def _chosen(host: Host) -> Sequence[Gpu]:
    """The GPUs that a container is given unless others are asked for."""
    return [gpu for gpu in host.gpus if gpu.kind == "dgpu"] or host.gpus


def _overriding(gfx: str, facts: Facts) -> tuple[str, ...]:
    """The variables by which an override reaches the GPUs of one target alone."""
    if facts.asked.targets or facts.host is None:
        return (override.NAME,)
    return override.names(gfx, _chosen(facts.host), facts.host)


def _held(gfx: str, held: tuple[str, ...], image: ImageView, facts: Facts) -> Finding:
    """One target against the image's list."""
    if catalog.covered(gfx, held):
        return ok(gfx)
    evidence = f"{gfx}; {image.reference} has {listed(held, 12)} ({image.gfx_source or 'its list'})"
    if image.compiler:
        return info(evidence, f"its libraries lack {gfx}; hipcc in it may build for it")
    way = override.known(gfx)
    if way is not None and catalog.covered(way.gfx, held):
        return warn(
            evidence,
            f"no code for {gfx} is in it; that of {way.gfx} works {way.works} ({way.why}), and AMD does not support it",
            f"at your own risk `{' '.join(f'-e {name}={way.value}' for name in _overriding(gfx, facts))}`",
            needs="container",
        )
    return fail(
        evidence,
        f"no code for {gfx} is in the image: every kernel fails",
        f"take an image for {gfx}: {_instead(gfx, image, facts)}",
    )


def _instead(gfx: str, image: ImageView, facts: Facts) -> str:
    """The image that a plan takes: of the same family, else one that stands in for it; else how to see them."""
    from rocenv.catalog import images
    from rocenv.rules.rank import best

    known = _known(image)
    if known is not None:
        other = best(known.family, _wanted(facts), facts.host) or best(known.family, (gfx,), facts.host)
        found = other.image if other else next(images.instead_of(known.family, gfx), None)
        if found is not None:
            return f"`--image {found.reference.familiar}`"
    return _SHOWN


def _other_builds(image: ImageView) -> Family | None:
    """The family in whose repository an image lies, where that holds builds for other GPUs too."""
    from rocenv.catalog import images
    from rocenv.catalog.references import Reference

    try:
        family = images.holding(Reference.parse(image.reference))
    except ValueError:
        return None
    return family if family and family.cuda else None


def _known(image: ImageView) -> CatalogImage | None:
    """What the catalog knows of an image."""
    from rocenv.catalog import images
    from rocenv.catalog.references import Reference

    try:
        return images.describe(Reference.parse(image.reference))
    except ValueError:
        return None


@check(
    id="driver.userspace",
    layer="image",
    severity="fail",
    title="the image's ROCm goes with the driver",
    reads="the driver's release or module version, the image's ROCm release, against AMD's dated tables",
    why="the host's ROCm does not matter, its driver does: too far apart, /dev/kfd answers EINVAL or GPUs are refused",
    source="AMD: user and kernel-space support matrix; ROCm/amdgpu-docs#97; legacy-rocm-build#1423",
    after=("image.resolve", "driver.loaded"),
)
def user_space(facts: Facts) -> Answer:
    """The log's own word first; then the tables: outside is a warning, for it often works; silence is unknown."""
    if facts.log is not None and _INCOMPATIBLE in facts.log.lower():
        line = next(line for line in facts.log.splitlines() if _INCOMPATIBLE in line.lower())
        return fail(
            line.strip(),
            "this ROCm needs a newer driver than the one that runs for this GPU",
            "take an image with an older ROCm (`rocenv plan PROFILE` chooses one), or update the driver",
            needs="reboot",
        )
    host, image = facts.need_host(), facts.need_image()
    if image.rocm is None:
        return skip(f"the ROCm release in {image.reference} is unknown")
    if host.environment == "wsl2":
        return skip("on WSL2 Windows' driver is used")
    from rocenv.catalog import releases
    from rocenv.catalog.versions import Version

    rocm = Version.parse(image.rocm)
    series = releases.driver_series(host.driver.release, host.driver.version)
    if series is None:
        return info(
            f"image ROCm {rocm}, {_driver(host)}", "no table of AMD's names this driver: whether it fits is unknown"
        )
    return _judged(rocm, series, image, facts)


def _judged(rocm: Version, series: DriverSeries, image: ImageView, facts: Facts) -> Answer:
    from rocenv.catalog.releases import LISTED, OUTSIDE

    verdict = series.verdict(rocm)
    evidence = f"image ROCm {rocm}, {_driver(facts.need_host())}: listed with ROCm {series.span}"
    if verdict == LISTED:
        return ok(evidence)
    if not series.exact and verdict != OUTSIDE:
        return info(evidence, f"no table of AMD's holds a driver {series.name}: whether it fits is unknown")
    if verdict != OUTSIDE:
        return info(evidence, f"AMD's table of driver {series.name} says nothing of ROCm {rocm}")
    return warn(
        evidence,
        f"driver {series.name} and ROCm {rocm} are further apart than AMD tests; it often works all the same",
        f"take an image that goes with it ({_of_release(image, facts)}), or update the driver",
    )


def _of_release(image: ImageView, facts: Facts) -> str:
    """The image of the same family that a plan takes on this host, where the driver is listed for it."""
    from rocenv.rules.rank import best

    known = _known(image)
    found = best(known.family, _wanted(facts), facts.host) if known else None
    return f"`--image {found.image.reference.familiar}`" if found else "`rocenv plan PROFILE` chooses one"


def _driver(host: Host) -> str:
    driver = host.driver
    if driver.origin == "in-tree":
        return f"in-tree driver of kernel {host.kernel}"
    return f"driver {driver.release or 'of unknown release'}" + (
        f" (module {driver.version})" if driver.version else ""
    )


@check(
    id="image.rocm-version",
    layer="image",
    severity="warn",
    title="which ROCm the image holds",
    reads="the image's tag or /opt/rocm/.info/version",
    why="`latest` may be older than it sounds; inside, the host's ROCm is of no matter",
    source="legacy-rocm-build#1631; ROCm/ROCm-docker#129",
    after=("image.resolve",),
)
def rocm_version(facts: Facts) -> Answer:
    """A warning for an image older than its GPUs, or for a moving tag older than what the host has."""
    image, host = facts.need_image(), facts.host
    from rocenv.catalog.versions import Version

    if image.rocm is None:
        return skip(f"the ROCm release in {image.reference} is unknown")
    rocm = Version.parse(image.rocm)
    own = _newest_here(host) if host else None
    driver = f", {_driver(host)}" if host else ""
    aside = f", the host's own ROCm {own} does not matter inside" if own else ""
    evidence = f"image ROCm {rocm}{driver}{aside}"
    young = [gfx for gfx in _wanted(facts) if _since(gfx) is not None and (_since(gfx) or rocm) > rocm]
    if young:
        return warn(
            evidence,
            f"ROCm {rocm} came before AMD's lists held {listed(young)} ({listed(str(_since(gfx)) for gfx in young)})",
            "name a newer tag; `rocenv plan PROFILE` chooses one",
        )
    if own is not None and rocm < own and (image.moving or image.reference.endswith(":latest")):
        return warn(
            evidence,
            "the tag moves, and what it points at is older than the host's own ROCm",
            "name a tag with the release in it; `rocenv plan PROFILE` chooses one",
        )
    return info(evidence)


def _since(gfx: str) -> Version | None:
    """The release from which on AMD's lists hold a target; of `5.x` nobody knows more than the 5."""
    from rocenv.catalog.versions import Version

    target = catalog.target(gfx)
    return Version.parse(target.official_since.removesuffix(".x")) if target and target.official_since else None


def _newest_here(host: Host) -> Version | None:
    """The newest ROCm that the host has installed."""
    from rocenv.catalog.versions import Version

    found = []
    for tree in host.rocm_installed:
        try:
            found.append(Version.parse(tree.version or ""))
        except ValueError:
            continue
    return max(found, default=None)

"""Which image: every one that the catalog knows of a family, judged, ranked, the best taken and the others refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from rocenv.catalog import hazards, images
from rocenv.catalog.images import CatalogImage
from rocenv.catalog.references import Reference
from rocenv.errors import ImageError, UsageError
from rocenv.model.host import Gpu, Host
from rocenv.model.lock import FILE
from rocenv.model.plan import ImageChoice, Reason, Refusal
from rocenv.model.wish import Profile
from rocenv.plan.bare import Release, release
from rocenv.rules import override
from rocenv.rules.fit import Demand, Verdict, demand, judge
from rocenv.rules.rank import behind, rank


class Weighed(NamedTuple):
    """The images of a profile's family, or the one that is named, against the GPUs chosen on a host."""

    profile: Profile
    gpus: Sequence[Gpu]
    host: Host
    counted: Mapping[int, str | None]  # what each GPU, by its index, counts as
    wanted: Demand
    verdicts: tuple[Verdict, ...]  # the best first; none for a named image that no family describes
    warnings: tuple[str, ...]

    @property
    def fitting(self) -> list[Verdict]:
        """The images that fit, the best first."""
        return [one for one in self.verdicts if one.refusal is None]


class Choice(NamedTuple):
    """The image taken, what is known of it (None for an image that no family describes), and the others."""

    image: ImageChoice
    known: CatalogImage | None
    reasons: tuple[Reason, ...]
    refused: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()


def weigh(
    profile: Profile, gpus: Sequence[Gpu], host: Host, *, windows: bool = False, here: Collection[str] = ()
) -> Weighed:
    """The verdicts on what a profile chooses from; `windows` where those GPUs are given that WSL2 passes on.

    `here` are the references that the engine has already: of images that serve equally well such a one is better.
    Raises UsageError for an unknown family and a malformed reference.
    """
    counted, warnings = override.targets(gpus, host, profile.env)
    targets = [gfx for gfx in counted.values() if gfx]
    wanted = demand(profile.image, targets, host, gpus=bool(gpus) or windows)
    warnings += tuple(f"the target of GPU {index} is unknown" for index, gfx in counted.items() if gfx is None)
    state = hazards.State(host.kernel, None, host.driver.origin)
    warnings += tuple(f"{one.what}: {one.fix}" for one in hazards.hitting(targets, state))
    verdicts = [judge(image, wanted) for image in _meant(profile)]
    verdicts.sort(key=lambda one: rank(one, here), reverse=True)
    return Weighed(profile, gpus, host, counted, wanted, tuple(verdicts), warnings)


def choose(profile: Profile, gpus: Sequence[Gpu], host: Host, *, windows: bool = False) -> Choice:
    """The image for a profile on these GPUs, as `weigh` has them.

    Raises ImageError where none fits, with the fact that refuses them, and UsageError as `weigh` does.
    """
    found = weigh(profile, gpus, host, windows=windows)
    if profile.image.reference is not None:
        return _given(found, profile.image.reference)
    if not found.fitting:
        from rocenv.plan.unserved import error

        raise error(found)
    return _best(found)


def _meant(profile: Profile) -> Sequence[CatalogImage]:
    """The named image, where a family describes it, or all that the catalog knows of the profile's family."""
    text = profile.image.reference
    if text is not None:
        image = images.describe(reference_of(profile, text))
        return () if image is None else (image,)
    name = profile.image.family or ""
    if images.family(name) is None:
        raise UsageError(
            f"`{profile.origins.get('image.family')}`: the catalog has no image family `{name}`", _family_hint(name)
        )
    return images.known(name)


def _family_hint(name: str) -> str:
    """The way to the family that a name is a slip of, or the end of (vllm), or to all."""
    import difflib

    names = {word: one.name for one in reversed(images.families()) for word in (one.name.rpartition("/")[2], one.name)}
    near = difflib.get_close_matches(name, names, n=1)
    return f"did you mean `{names[near[0]]}`?" if near else "`rocenv images` lists the families"


def reference_of(profile: Profile, text: str) -> Reference:
    """The reference that a profile names. Raises UsageError for a malformed one."""
    try:
        return Reference.parse(text)
    except ValueError as error:
        raise UsageError(
            f"`{profile.origins.get('image.reference', '')}`: {error}", "write it like `rocm/pytorch:TAG`"
        ) from error


def _best(found: Weighed) -> Choice:
    best, *others = found.fitting
    refused = [
        *(Refusal(other.image.reference.familiar, f"fits too, but {behind(best, other)}") for other in others),
        *(Refusal(one.image.reference.familiar, one.refusal) for one in found.verdicts if one.refusal is not None),
    ]
    why = "; ".join([best_of(found), *best.speaks_for])
    reference = best.image.reference.familiar
    choice = ImageChoice(reference, "catalog", None, *_facts(best.image), equals=equals(found.fitting))
    reasons = [Reason("image", reference, why), *(Reason("image", "not known", one) for one in best.unknown)]
    reasons += [Reason("image", "known hazard", one) for one in best.hazards]
    warnings = (*found.warnings, *(f"`{reference}`: {one}" for one in best.hazards))
    return Choice(choice, best.image, tuple(reasons), tuple(refused), warnings)


def best_of(found: Weighed) -> str:
    """`the best of 12 that fit, out of 64 that the catalog knows of rocm/pytorch`."""
    family = found.profile.image.family
    return f"the best of {len(found.fitting)} that fit, out of {len(found.verdicts)} that the catalog knows of {family}"


def equals(fitting: Sequence[Verdict]) -> tuple[str, ...]:
    """The images that serve as well as the best one: the engine's having one of them decides between them.

    Their ROCm and frameworks are the same, so that nothing but the reference differs in a plan.
    """
    best, *others = fitting
    if best.image.rocm is None:
        return ()
    merit = rank(best).merit
    return tuple(one.image.reference.familiar for one in others if rank(one).merit == merit)


def _given(found: Weighed, text: str) -> Choice:
    """An image that the user names is taken; what speaks against it is said."""
    profile, warnings = found.profile, found.warnings
    reference = reference_of(profile, text)
    origin = profile.origins.get("image.reference", "")
    source = "flag" if origin == "--image" else "profile"
    if not found.verdicts:
        bare = release(profile, reference, found.wanted)
        if bare is not None:
            return _installed(found, reference.familiar, bare)
        unknown = (
            "no family of the catalog describes it: its ROCm, its gfx targets and whether the driver fits are unknown"
        )
        named = (Reason("image", reference.familiar, f"named by {origin}"), Reason("image", "not known", unknown))
        return Choice(ImageChoice(reference.familiar, source, reference.digest), None, named, (), warnings)
    verdict = found.verdicts[0]
    if verdict.refusal is not None:
        warnings += (f"`{reference.familiar}` is taken as named, though {verdict.refusal}",)
        if profile.strict and verdict.kind != "wish":
            mend = "`--no-lock` has one chosen" if origin == FILE else f"leave `{origin}` away to have one chosen"
            raise ImageError(f"`{reference.familiar}` does not fit: {verdict.refusal}", mend)
    warnings += tuple(f"`{reference.familiar}`: {one}" for one in verdict.hazards)
    why = "; ".join([f"named by {origin}", *verdict.speaks_for])
    choice = ImageChoice(reference.familiar, source, reference.digest, *_facts(verdict.image))
    reasons = (Reason("image", choice.reference, why), *(Reason("image", "not known", one) for one in verdict.unknown))
    return Choice(choice, verdict.image, reasons, (), warnings)


def _installed(found: Weighed, reference: str, bare: Release) -> Choice:
    """A bare system, with the ROCm release that will be installed on it."""
    verdict, warnings = bare.verdict, found.warnings
    if verdict.refusal is not None:
        warnings += (f"ROCm {bare.rocm} is installed on `{reference}`, though {verdict.refusal}",)
        if found.profile.strict:
            raise ImageError(f"ROCm {bare.rocm} does not fit: {verdict.refusal}", "`image: {rocm: …}` names another")
    warnings += tuple(f"ROCm {bare.rocm}: {one}" for one in verdict.hazards)
    why = "; ".join([f"a bare system; ROCm {bare.rocm} is installed on it", *verdict.speaks_for])
    why += "".join(f"; {one.image.rocm} is newer, but {one.refusal}" for one in bare.passed_over[:1])
    reasons = (Reason("image", reference, why), *(Reason("image", "not known", one) for one in verdict.unknown))
    choice = ImageChoice(reference, "profile", reference.partition("@")[2] or None, str(bare.rocm))
    return Choice(choice, None, reasons, (), warnings)


def _facts(image: CatalogImage) -> tuple[str | None, tuple[str, ...], int | None]:
    return (str(image.rocm) if image.rocm else None), image.gfx or (), image.size_bytes

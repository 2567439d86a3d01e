"""The choice of an image told in full: what speaks for and against each, what refuses the others, what else is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rocenv.catalog.references import Reference
from rocenv.model.choice import COMMUNITY, OVERRIDE, Alternative, Candidate, Chosen, Explained, Fault
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts, Refusal
from rocenv.model.wish import Profile
from rocenv.plan import wsl
from rocenv.plan.alternatives import alternatives
from rocenv.plan.choose import Weighed, best_of, equals, reference_of, weigh
from rocenv.plan.make import named
from rocenv.plan.select import select
from rocenv.plan.unserved import error
from rocenv.report.text import size
from rocenv.rules import override
from rocenv.rules.fit import Verdict
from rocenv.rules.rank import behind, score


def explain(
    profile: Profile, host: Host, engine: EngineFacts, *, cpu: bool = False, here: Collection[str] = ()
) -> Explained:
    """The choice of `choose`, on the GPUs that `up` would take. `here`: references that the engine has.

    Raises HostError where there is no such GPU, and UsageError as `choose` does.
    """
    words = "none" if cpu else profile.gpus
    windows = words != "none" and wsl.applies(host)
    if windows:
        wsl.whole(words)
    selection = None if windows else select(words, host, rootless=engine.rootless)
    gpus = selection.gpus if selection else ()
    known = frozenset(Reference.parse(one).familiar for one in here)
    found = weigh(profile, gpus, host, windows=windows, here=known)
    left = () if found.fitting or profile.image.reference else alternatives(found)
    way = None if found.fitting or len(set(found.counted.values())) > 1 else _opted(left)
    shown = found if way is None else weigh(_with(profile, way.env), gpus, host, here=known)
    chosen = _chosen(shown, way, known)
    told = Explained(
        profile=profile.name,
        gpus=tuple(named(gpu) for gpu in gpus),
        driver=found.wanted.driver_name if found.wanted.gpus else None,
        chosen=chosen,
        candidates=_candidates(shown, way, known),
        refused=tuple(Refusal(one.image.reference.familiar, one.refusal) for one in shown.verdicts if one.refusal),
        alternatives=left,
        warnings=((*selection.warnings, *found.warnings) if selection else found.warnings),
        equals=equals(shown.fitting) if shown.fitting and not profile.image.reference else (),
        error=_fault(found) if chosen is None else None,
    )
    return _qualified(told) if engine.kind == "podman" else told


def _fault(found: Weighed) -> Fault:
    said = error(found)
    return Fault(said.message, said.hint)


def _opted(left: Sequence[Alternative]) -> Alternative | None:
    """The override that is known to work: the image is told as chosen once it is asked for.

    A build for the very GPU, though not AMD's, is better than one for another: where there is one, nothing is chosen.
    """
    if any(one.kind == COMMUNITY and one.known_to_work for one in left):
        return None
    return next((one for one in left if one.kind == OVERRIDE and one.known_to_work), None)


def _with(profile: Profile, env: Mapping[str, str]) -> Profile:
    return profile._replace(env={**profile.env, **env})


def _chosen(found: Weighed, way: Alternative | None, here: Collection[str]) -> Chosen | None:
    profile = found.profile
    env = {key: value for key, value in profile.env.items() if key.startswith(override.NAME)}
    if profile.image.reference is not None:
        return _named(found, profile.image.reference, env)
    if not found.fitting:
        return None
    best = found.fitting[0]
    reference = best.image.reference.familiar
    asked = () if way is None else (way.why,)
    saved = ("it is on the engine already",) if reference in here else ()
    why = (*asked, best_of(found), *best.speaks_for, *best.unknown, *best.hazards, *saved)
    return Chosen(reference, why, env, () if way is None else tuple(way.env))


def _named(found: Weighed, text: str, env: Mapping[str, str]) -> Chosen:
    origin = found.profile.origins.get("image.reference", "the profile")
    why = [f"named by {origin}"]
    if not found.verdicts:
        why.append("no family of the catalog describes it: what is in it is unknown")
    for one in found.verdicts:
        why += [*one.speaks_for, *one.unknown, *one.hazards]
        why += [f"taken as named, though {one.refusal}"] if one.refusal else []
    return Chosen(reference_of(found.profile, text).familiar, tuple(why), env)


def _candidates(found: Weighed, way: Alternative | None, here: Collection[str]) -> tuple[Candidate, ...]:
    fitting = found.fitting
    asked = (
        () if way is None else tuple(f"only with {key}={value}, which you ask for" for key, value in way.env.items())
    )
    return tuple(
        Candidate(
            one.image.reference.familiar,
            score(one),
            (*one.speaks_for, *_also_for(one, here)),
            (*asked, *_against(one, fitting[0], here)),
        )
        for one in fitting
    )


def _against(one: Verdict, best: Verdict, here: Collection[str]) -> tuple[str, ...]:
    """What speaks against an image, and at last why it comes after the best one."""
    said = [*one.hazards, *one.unknown]
    if one is best:
        return tuple(said)
    why = behind(best, one, here)
    return (*(word for word in said if word != why), why)


def _also_for(one: Verdict, here: Collection[str]) -> tuple[str, ...]:
    image = one.image
    return (
        *([f"{size(image.size_bytes)} unpacked"] if image.size_bytes else []),
        *(["it is on the engine already"] if image.reference.familiar in here else []),
    )


def _qualified(told: Explained) -> Explained:
    """For podman the references with their registry, as `make_plan` gives them."""

    def full(reference: str) -> str:
        return Reference.parse(reference).full

    return told._replace(
        chosen=told.chosen and told.chosen._replace(reference=full(told.chosen.reference)),
        candidates=tuple(one._replace(reference=full(one.reference)) for one in told.candidates),
        refused=tuple(one._replace(reference=full(one.reference)) for one in told.refused),
        alternatives=tuple(one._replace(reference=full(one.reference)) for one in told.alternatives),
        equals=tuple(map(full, told.equals)),
    )

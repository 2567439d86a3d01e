"""Which GPUs: the words of `--gpus` against what is visible here. A selection narrows and never widens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rocenv.errors import HostError, UsageError
from rocenv.model.host import Gpu, Host
from rocenv.model.plan import Reason
from rocenv.rules.absent import no_gpu
from rocenv.rules.nodes import label, listed, mend, obstacle
from rocenv.rules.visible import narrowed

_INDEX = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")
_BDF = re.compile(r"(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:/([0-9]{1,3}))?", re.IGNORECASE)
_UUID = re.compile(r"GPU-[0-9a-f]{4,16}", re.IGNORECASE)
_RENDER = re.compile(r"(?:/dev/dri/)?(renderD[0-9]{1,4})")
_COUNT = re.compile(r"(?:count|idle)=([0-9]{1,4})")
_NUMA = re.compile(r"numa=([0-9]{1,4})")
_GFX = re.compile(r"gfx[0-9a-f]{3,5}", re.IGNORECASE)
_FORMS = (
    "auto, all, none, dgpu, apu, count=2, idle, idle=2, numa=0, 0,2, 0-3, gfx1100, 0000:03:00.0, 0000:03:00.0/2, "
    "GPU-…, renderD129"
)
# Words that mean whatever fits them: a GPU of theirs that cannot be used is left out, and that is said.
_BROAD = frozenset({"auto", "all", "dgpu", "apu", "idle"})


class Selection(NamedTuple):
    """The chosen GPUs in KFD order, out of those that are visible to the caller."""

    gpus: tuple[Gpu, ...]
    visible: tuple[Gpu, ...]  # in the order in which an index counts them
    reason: Reason
    warnings: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """True where fewer than the host's visible GPUs are chosen."""
        return len(self.gpus) < len(self.visible)


def select(words: str, host: Host, *, rootless: bool) -> Selection:
    """The GPUs that `words` mean on a host.

    Raises HostError where there is none, where a named one is not there or cannot be used, and UsageError for words
    that name nothing in any form.
    """
    if words.strip() == "none":
        return Selection((), (), Reason("gpus", "none", "asked for: `none`"))
    if not host.gpus:
        raise no_gpu(host)
    visible, narrowed = visible_gpus(host)
    chosen: set[int] = set()
    warnings: list[str] = []
    for word in words.split(","):
        found = _unused(word.strip(), _meant(word.strip(), visible, host, narrowed), host)
        usable = [gpu for gpu in found if obstacle(gpu, host, rootless=rootless) is None]
        for gpu in found:
            why = obstacle(gpu, host, rootless=rootless)
            if why is not None and (not _is_broad(word.strip()) or not usable):
                raise HostError(f"GPU {label(gpu)} cannot be used: {why}", _mend(gpu, host, rootless=rootless))
            if why is not None:
                warnings.append(f"GPU {label(gpu)} is left out: {why}")
        chosen |= {gpu.index for gpu in _counted(word.strip(), usable)}
    gpus = tuple(gpu for gpu in host.gpus if gpu.index in chosen)
    return Selection(gpus, visible, _reason(words, gpus, visible, narrowed), tuple(dict.fromkeys(warnings)))


def candidates(words: str, host: Host, *, rootless: bool) -> tuple[tuple[Gpu, ...], int]:
    """The GPUs out of which `words` take theirs, and how many: more than that only for `count=N` and `idle=N`.

    For whoever takes those that are free. Raises as `select` does.
    """
    match = _COUNT.fullmatch(words.strip())
    if match is None:
        gpus = select(words, host, rootless=rootless).gpus
        return gpus, len(gpus)
    select(words, host, rootless=rootless)  # raises where there are not enough
    broad = "idle" if words.strip().startswith("idle") else "auto"
    return select(broad, host, rootless=rootless).gpus, int(match.group(1))


def visible_gpus(host: Host) -> tuple[tuple[Gpu, ...], str | None]:
    """The GPUs that the caller may use, in the order in which indices count them, and what narrowed them.

    ROCR_VISIBLE_DEVICES chooses among all, HIP_ (or else CUDA_) VISIBLE_DEVICES among what that left; Slurm may set
    several to one list, which then counts once. As in ROCr a list ends at its first entry that means nothing.
    """
    given = dict(host.allocation.visible) if host.allocation else {}
    rocr = given.get("ROCR_VISIBLE_DEVICES")
    second = next((name for name in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if given.get(name)), None)
    gpus: tuple[Gpu, ...] = host.gpus
    notes: list[str] = []
    if rocr is not None:
        gpus = narrowed(gpus, rocr)
        notes.append(f"ROCR_VISIBLE_DEVICES={rocr}")
    if second is not None and given[second] != rocr:
        gpus = narrowed(gpus, given[second])
        notes.append(f"{second}={given[second]}")
    note = " and ".join(notes) or None
    if not gpus:
        raise HostError(
            f"`{note}` leaves none of the {len(host.gpus)} GPUs here",
            f"`unset {(note or '').split('=')[0]}`, or mend it",
        )
    return gpus, note


def _meant(word: str, visible: Sequence[Gpu], host: Host, narrowed: str | None) -> list[Gpu]:
    """The GPUs that one word means. Raises HostError where it means none of those that are visible."""
    if match := _INDEX.fullmatch(word):
        return _by_index(match, visible, narrowed)
    found = _by_name(word, visible)
    if found:
        return found
    elsewhere = _by_name(word, host.gpus)
    if elsewhere and narrowed:
        raise HostError(f"`{word}` is GPU {listed(elsewhere, 2)}, which `{narrowed}` leaves out", _shown(visible))
    what = "no discrete GPU" if word == "dgpu" else "no integrated GPU" if word == "apu" else f"no GPU `{word}`"
    raise HostError(f"there is {what} here; there are: {listed(visible)}", "`rocenv detect` shows each GPU's names")


def _by_index(match: re.Match[str], visible: Sequence[Gpu], narrowed: str | None) -> list[Gpu]:
    first, last = int(match.group(1)), int(match.group(2) or match.group(1))
    if last < first:
        raise UsageError(f"`{match.group(0)}` counts backwards", f"write `{last}-{first}`")
    if last >= len(visible):
        among = f" among those that `{narrowed}` leaves" if narrowed else ""
        raise HostError(f"there is no GPU {last}{among}: they count from 0 to {len(visible) - 1}", _shown(visible))
    return list(visible[first : last + 1])


def _unused(word: str, gpus: list[Gpu], host: Host) -> list[Gpu]:
    """For `idle` and `idle=N` those that nobody uses; everything for other words."""
    if word != "idle" and not word.startswith("idle="):
        return gpus
    if host.idle is None:
        raise UsageError(f"`{word}`: what is in use is not known of this host", f"forms: {_FORMS}")
    free = [gpu for gpu in gpus if gpu.index in host.idle]
    if not free:
        raise HostError(f"all {len(gpus)} GPUs are in use", "`rocenv top` shows by whom")
    return free


def _by_name(word: str, gpus: Sequence[Gpu]) -> list[Gpu]:
    lower = word.lower()
    if word in ("auto", "idle"):
        return [gpu for gpu in gpus if gpu.kind == "dgpu"] or list(gpus)
    if word == "all":
        return list(gpus)
    if word in ("dgpu", "apu"):
        return [gpu for gpu in gpus if gpu.kind == word]
    if match := _COUNT.fullmatch(word):
        if int(match.group(1)) == 0:
            raise UsageError(f"`{word}` chooses nothing", "`none` means no GPU")
        return _by_name("auto", gpus)
    if match := _NUMA.fullmatch(word):
        return [gpu for gpu in gpus if gpu.numa_node == int(match.group(1))]
    if _GFX.fullmatch(word):
        return [gpu for gpu in gpus if gpu.gfx == lower]
    if match := _RENDER.fullmatch(word):
        return [gpu for gpu in gpus if gpu.render_node == f"/dev/dri/{match.group(1)}"]
    if _UUID.fullmatch(word):
        return [gpu for gpu in gpus if gpu.uuid and gpu.uuid.lower() == lower]
    if match := _BDF.fullmatch(word):
        bdf = f"{int(match.group(1) or '0', 16):04x}:{match.group(2).lower()}"
        return [gpu for gpu in gpus if gpu.bdf == bdf and match.group(3) in (None, str(gpu.partition.index))]
    raise UsageError(f"`{word}` names no GPU in any form", f"forms: {_FORMS}")


def _is_broad(word: str) -> bool:
    return word in _BROAD or any(form.fullmatch(word) for form in (_COUNT, _NUMA, _GFX))


def _counted(word: str, gpus: list[Gpu]) -> list[Gpu]:
    """The first N of `count=N`; everything for other words."""
    match = _COUNT.fullmatch(word)
    if match is None:
        return gpus
    wanted = int(match.group(1))
    if wanted > len(gpus):
        what = "are idle" if word.startswith("idle") else "can be used here"
        raise HostError(f"{wanted} GPUs are wanted, and {len(gpus)} {what}", _shown(gpus))
    return gpus[:wanted]


def _reason(words: str, gpus: Sequence[Gpu], visible: Sequence[Gpu], narrowed: str | None) -> Reason:
    value = ", ".join(str(gpu.index) for gpu in gpus)
    inside = f"; indices count within {narrowed}" if narrowed else ""
    if words != "auto":
        return Reason("gpus", value, f"asked for: `{words}`{inside}")
    left = [gpu for gpu in visible if gpu.kind == "apu" and gpu not in gpus]
    if left:
        return Reason(
            "gpus", value, f"all discrete GPUs; integrated ones are left out ({listed(left)}): `all` has them{inside}"
        )
    only = "all discrete GPUs" if gpus[0].kind == "dgpu" else "all GPUs: there is no discrete one"
    return Reason("gpus", value, f"{only}{inside}")


def _mend(gpu: Gpu, host: Host, *, rootless: bool) -> str:
    node = host.device(gpu.render_node) if gpu.render_node else None
    if node is not None and rootless and not node.accessible:
        return mend(node)
    return "`rocenv detect` shows its node and who may open it"


def _shown(gpus: Sequence[Gpu]) -> str:
    return f"there are: {listed(gpus)}" if gpus else "`rocenv detect` shows what is here"

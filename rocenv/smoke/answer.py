"""A probe's answers, read from what it printed. Pure, and distrustful: a probe may print anything."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

RESULTS = ("passed", "failed", "skipped", "error")  # what a probe may say; a stand-in is the judge's word
LONGEST_TEXT = 300
A_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of a probe. `gpu` is what it said of the GPU, None where it speaks for the container."""

    result: str
    cause: str | None = None
    gpu: Mapping[str, object] | None = None
    ran_on: str | None = None
    seconds: float | None = None
    figures: Mapping[str, object] = field(default_factory=dict)

    @property
    def bdf(self) -> str | None:
        """The PCI address, as `0000:03:00.0`."""
        return self._of_gpu("bdf")

    @property
    def uuid(self) -> str | None:
        """The UUID, as `GPU-…`."""
        return self._of_gpu("uuid")

    @property
    def gfx(self) -> str | None:
        """The gfx target, perhaps with its features: `gfx90a:sramecc+:xnack-`."""
        return self._of_gpu("gfx")

    @property
    def name(self) -> str | None:
        """What the runtime calls the GPU."""
        return self._of_gpu("name")

    @property
    def render_node(self) -> str | None:
        """The device node that was used."""
        return self._of_gpu("render_node")

    def _of_gpu(self, key: str) -> str | None:
        value = (self.gpu or {}).get(key)
        return one_line(value) or None if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class Answers:
    """All answers in their order, and the first line that was meant as one and is none."""

    lines: tuple[Answer, ...]
    broken: str | None


def one_line(text: str) -> str:
    """`text` on one line, of bounded length, and free of what no encoding takes."""
    words = " ".join(text.encode("utf-8", "replace").decode("utf-8").split())
    return words if len(words) <= LONGEST_TEXT else words[:LONGEST_TEXT] + "…"


def read_answers(stdout: str) -> Answers:
    """Every line that begins with a brace is an answer or broken; libraries may print what they like besides.

    Where there is no answer at all, the first line of what there is counts as broken.
    """
    lines: list[Answer] = []
    broken: str | None = None
    rest = ""
    for line in stdout.splitlines():
        if not line.startswith("{"):
            rest = rest or line.strip()
            continue
        answer = _answer(line)
        if answer is not None:
            lines.append(answer)
        elif broken is None:
            broken = one_line(line[: 2 * LONGEST_TEXT])
    if not lines and broken is None and rest:
        broken = one_line(rest[: 2 * LONGEST_TEXT])
    return Answers(tuple(lines), broken)


def _answer(line: str) -> Answer | None:
    """The answer in one line; None where it is no JSON, no object, or has no result that a probe may give."""
    try:
        said = json.loads(line, parse_float=_finite, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("result") not in RESULTS:
        return None
    cause, gpu, ran_on = said.get("cause"), said.get("gpu"), said.get("ran_on")
    seconds, figures = said.get("seconds"), said.get("figures")
    return Answer(
        result=said["result"],
        cause=one_line(cause) if isinstance(cause, str) and cause.strip() else None,
        gpu=gpu if isinstance(gpu, dict) else None,
        ran_on=one_line(ran_on) if isinstance(ran_on, str) and ran_on.strip() else None,
        seconds=float(seconds) if isinstance(seconds, (int, float)) and 0 <= seconds <= A_DAY else None,
        figures={one_line(key): _plain(value) for key, value in figures.items()} if isinstance(figures, dict) else {},
    )


def _plain(value: object) -> object:
    """A figure: a scalar, or a list or mapping of scalars. What is deeper is no figure."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return None if any(isinstance(part, (dict, list)) for part in parts) else value


def _finite(text: str) -> float | None:
    """A JSON number as a float; None for one beyond all floats, which no JSON of ours could carry on."""
    value = float(text)
    return value if math.isfinite(value) else None

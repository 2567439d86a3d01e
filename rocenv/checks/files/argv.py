"""What only command lines get wrong: no engine in them, flags behind the image, flags that there are not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocenv.checks.catalogue import Answer, check, fail, ok
from rocenv.checks.facts import Facts
from rocenv.checks.files import argv_reading
from rocenv.checks.files.argv_flags import ENGINES_ALONE, SHORT_SWITCHES, SHORT_VALUES, SWITCHES, VALUES
from rocenv.checks.files.argv_reading import Flag, Line
from rocenv.checks.files.asked import Word
from rocenv.checks.files.lints import READS
from rocenv.errors import UsageError
from rocenv.model.check import Finding

_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:-]*(@sha256:[0-9a-f]{64})?", re.IGNORECASE)
_DEVICE = re.compile(r"/dev/|[a-z.]+/[a-z]+=")
_PROGRAMS = frozenset({"docker", "podman", "nerdctl", "sudo"})
_LONG_DASHES = ("–", "—", "―", "−")


@check(
    id="argv.readable",
    layer="files",
    severity="fail",
    title="the command line starts a container",
    reads=READS["argv"],
    why="quotes and brackets that nothing closes swallow what follows; without an image nothing starts",
    source="docker run, podman run",
)
def readable(facts: Facts) -> Answer:
    """Each text as a shell and the engine would take it."""
    found: list[Finding] = []
    counted: list[str] = []
    for document in facts.texts("argv"):
        try:
            lines = argv_reading.lines(document.text, document.name)
        except UsageError as error:
            place, _, said = error.message.removeprefix("`").partition("`")
            found.append(fail(place, said.lstrip(": "), error.hint or "mend it there"))
            continue
        found += [_without_image(line) for line in lines if line.image is None]
        counted += [f"{line.program} run {line.image.text}" for line in lines if line.image is not None]
    return found or ok(", ".join(counted))


def _without_image(line: Line) -> Finding:
    last = line.flags[-1] if line.flags else None
    why = f"; `{last.word.text}` takes the last word for its value" if last is not None and last.value else ""
    return fail(f"{line.where}: `{line.program} run` names no image", f"nothing is started{why}", "add the image")


def _lines(facts: Facts) -> Iterator[Line]:
    for document in facts.texts("argv"):
        try:
            yield from argv_reading.lines(document.text, document.name)
        except UsageError:
            continue  # `argv.readable` tells it


@check(
    id="argv.flag-after-image",
    layer="files",
    severity="fail",
    title="the engine's flags stand before the image",
    reads=READS["argv"],
    why="everything behind the image is the container's own command: the engine never sees such a flag",
    source="l1na-forever/stable-diffusion-rocm-docker#8",
    after=("argv.readable",),
)
def flag_after_image(facts: Facts) -> Answer:
    """Flags behind the image that can only be the engine's."""
    found = [finding for line in _lines(facts) for finding in _misplaced(line)]
    return found or ok("none is behind the image")


def _misplaced(line: Line) -> Iterator[Finding]:
    if line.image is None or any(word.text.rpartition("/")[2] in _PROGRAMS for word in line.behind):
        return
    first = True  # before the first word that is no flag: the program's own flags follow it
    for word, following in zip(line.behind, (*line.behind[1:], None), strict=False):
        if not word.text.startswith("-"):
            first = False
            continue
        if _engines(word, following, first=first):
            yield fail(
                f"{word.where}: `{word.text}` stands behind the image `{line.image.text}`",
                "what follows the image is the container's command: the engine never sees this flag",
                f"move `{word.text}` before `{line.image.text}`",
            )


def _engines(word: Word, following: Word | None, *, first: bool) -> bool:
    """True for a flag that is surely the engine's: by its name, or by a value that only the engine understands."""
    if not word.text.startswith("--"):
        return first and word.text in ("-it", "-ti", "-itd", "-dit")
    name, sign, value = word.text[2:].partition("=")
    if name == "device":
        given = value if sign else (following.text if following else "")
        return bool(_DEVICE.match(given))
    surely = name in ENGINES_ALONE
    return surely and (first or name in ("privileged", "group-add", "security-opt", "shm-size", "cap-add"))


@check(
    id="argv.unknown-flag",
    layer="files",
    severity="fail",
    title="every flag is one that the engine has",
    reads=READS["argv"],
    why="the engine refuses a line with a flag that it does not know; a podman flag means nothing to docker",
    source="docker run, podman run",
    after=("argv.readable",),
)
def unknown_flag(facts: Facts) -> Answer:
    """Flags that are in no list, with the nearest one."""
    found = [_unknown(line, flag) for line in _lines(facts) for flag in line.flags if not flag.known]
    return found or ok("all are known")


def _unknown(line: Line, flag: Flag) -> Finding:
    import difflib

    ours = SWITCHES[line.program] | VALUES[line.program]
    other = "docker" if line.program == "podman" else "podman"
    evidence = f"{flag.word.where}: `{flag.word.text}`"
    single = flag.word.text.startswith("-") and not flag.word.text.startswith("--")
    if single and flag.word.text[1:].partition("=")[0] in ours:
        return fail(evidence, "one dash begins short flags, letter by letter", f"write `-{flag.word.text}`")
    if flag.name in SWITCHES[other] | VALUES[other]:
        return fail(evidence, f"that is a flag of {other}'s: {line.program} has none of that name", "leave it away")
    shorts = [*SHORT_SWITCHES, *SHORT_VALUES]
    near = [] if flag.name in shorts else difflib.get_close_matches(flag.name.replace("_", "-"), sorted(ours), n=1)
    hint = f"did you mean `--{near[0]}`?" if near else f"`{line.program} run --help` shows what there is"
    return fail(evidence, f"{line.program} run has no such flag", hint)


@check(
    id="argv.image-word",
    layer="files",
    severity="fail",
    title="the first word behind the flags is an image",
    reads=READS["argv"],
    why="a value whose flag was forgotten (`seccomp=unconfined`), or a word behind a switch, is taken for the image",
    source="ROCm/ROCm#1482",
    after=("argv.readable", "argv.unknown-flag"),
)
def image_word(facts: Facts) -> Answer:
    """Words that cannot be an image."""
    found = []
    for line in _lines(facts):
        word = line.image
        if word is None or word.open or _IMAGE.fullmatch(word.text):
            continue
        option = re.match(r"(seccomp|apparmor|label|no-new-privileges)[=:]", word.text)
        fix = f"write `--security-opt {word.text}`" if option else "check which flag the word before it belongs to"
        if word.text.startswith(_LONG_DASHES):
            fix = f"write `--{word.text.lstrip(''.join(_LONG_DASHES))}`: a word processor made one dash of two"
        found.append(
            fail(f"{word.where}: `{word.text}` stands where the image belongs", "that is no name of an image", fix)
        )
    return found or ok("it is")

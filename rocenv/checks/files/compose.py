"""What only compose files get wrong: files that cannot be read, keys that are misspelt, values of the wrong type."""

from __future__ import annotations

from collections.abc import Iterator

from rocenv.checks.catalogue import Answer, check, fail, ok
from rocenv.checks.facts import Facts
from rocenv.checks.files import compose_reading
from rocenv.checks.files.lints import READS
from rocenv.errors import UsageError
from rocenv.model.check import Finding
from rocenv.profile.tree import Items, Leaf, Node, Table, kind_of

# Keys of a service that matter to a GPU, and the keys that their misspelt forms must not be taken for.
_KEYS = (
    "cap_add", "devices", "deploy", "environment", "gpus", "group_add", "image", "ipc", "privileged", "runtime",
    "security_opt", "shm_size", "ulimits", "user", "volumes",
)  # fmt: skip
_OTHERS = frozenset({"device_cgroup_rules", "env_file", "cap_drop", "userns_mode", "volumes_from", "pid", "ports"})
_LISTS = ("devices", "group_add", "security_opt", "cap_add", "volumes")
_NEAR = 0.75
_BOOLEANS = frozenset({"true", "false", "yes", "no", "on", "off"})


@check(
    id="compose.readable",
    layer="files",
    severity="fail",
    title="the compose file can be read",
    reads=READS["compose"],
    why="YAML forbids tabs, keys twice and open brackets; compose wants services that are mappings",
    source="the YAML and Compose specifications",
)
def readable(facts: Facts) -> Answer:
    """Each file as compose would read it."""
    found: list[Finding] = []
    counted: list[str] = []
    for document in facts.texts("compose"):
        try:
            counted.append(f"{document.name}: {len(compose_reading.containers(document.text, document.name))} services")
        except UsageError as error:
            place, _, said = error.message.removeprefix("`").partition("`")
            found.append(fail(place, said.lstrip(": "), error.hint or "mend it there"))
    return found or ok(", ".join(counted))


def _asked(facts: Facts) -> Iterator[tuple[str, Table]]:
    for document in facts.texts("compose"):
        try:
            yield from compose_reading.services(compose_reading.tree(document.text, document.name))
        except UsageError:
            continue  # `compose.readable` tells it


@check(
    id="compose.keys",
    layer="files",
    severity="fail",
    title="the keys that concern a GPU are spelt and filled as compose wants them",
    reads=READS["compose"],
    why="compose refuses unknown keys and values of another type; podman-compose passes over them in silence",
    source="the Compose specification",
    after=("compose.readable",),
)
def keys(facts: Facts) -> Answer:
    """Near misses of keys, lists that are none, and truth values in the environment."""
    found = [finding for name, table in _asked(facts) for finding in _faults(name, table)]
    return found or ok("all that concern a GPU")


def _faults(service: str, table: Table) -> Iterator[Finding]:
    import difflib

    for key, node in table.entries.items():
        if key in _KEYS or key in _OTHERS or key.startswith("x-"):
            yield from _wrong_type(service, key, node)
            continue
        near = difflib.get_close_matches(key.lower().replace("-", "_"), _KEYS, n=1, cutoff=_NEAR)
        if near and not any(near[0] == other for other in table.entries) and _is_typo(key, near[0]):
            yield fail(
                f"{table.places[key]}: service `{service}` has `{key}`",
                f"compose knows no such key; did you mean `{near[0]}`?",
                f"write `{near[0]}:`",
            )


def _is_typo(key: str, near: str) -> bool:
    """True for what differs in a letter or two, so that other keys of the specification are left alone."""
    return abs(len(key) - len(near)) <= 2 and key not in {"expose", "network", "image_pull"}  # noqa: PLR2004


def _wrong_type(service: str, key: str, node: Node) -> Iterator[Finding]:
    if key in _LISTS and isinstance(node, Leaf) and node.text is not None and "$" not in node.text:
        yield fail(
            f"{node.where}: service `{service}` has `{key}: {node.text}`",
            f"compose wants a list there, and this is {kind_of(node)}",
            f"write `{key}: [{node.text}]`",
        )
    elif key in _LISTS and isinstance(node, Table):
        yield fail(
            f"{node.where}: service `{service}` has a mapping at `{key}`",
            "compose wants a list there",
            f"write `- VALUE` lines below `{key}:`",
        )
    elif key == "environment" and isinstance(node, Table):
        yield from _truths(service, node)


def _truths(service: str, node: Table) -> Iterator[Finding]:
    for name, value in node.entries.items():
        if isinstance(value, Leaf) and value.plain and str(value.text).lower() in _BOOLEANS:
            yield fail(
                f"{value.where}: service `{service}` sets {name}: {value.text}",
                "YAML reads that as a truth value, and compose takes text and numbers alone",
                f'write `{name}: "{value.text}"`',
            )
        elif isinstance(value, (Items, Table)) and name != "<<":
            yield fail(
                f"{value.where}: service `{service}` sets {name} to {kind_of(value)}",
                "a variable holds one value",
                f'write `{name}: "VALUE"`',
            )

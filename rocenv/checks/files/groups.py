"""Groups that are added: by name, by a number that fits no node, by keep-groups, or not at all."""

from __future__ import annotations

from collections.abc import Iterator

from rocenv.checks.catalogue import fail, warn
from rocenv.checks.files.asked import DRI, Container, Word
from rocenv.checks.files.lints import Given, lint
from rocenv.model.check import Finding
from rocenv.model.host import DeviceNode, Host
from rocenv.rules.nodes import KFD, opens

KEEP = "keep-groups"
# In the base images of all distributions; the others are in some and not in the next.
_EVERYWHERE = frozenset({"root", "video", "audio"})


def node_groups(host: Host) -> tuple[int, ...]:
    """The distinct gids that own the GPUs' nodes of a host, never 0."""
    return tuple(dict.fromkeys(node.gid for node in gpu_nodes(host) if node.gid))


def gpu_nodes(host: Host) -> list[DeviceNode]:
    """/dev/kfd and the render nodes of the GPUs."""
    renders = {gpu.render_node for gpu in host.gpus}
    return [node for node in host.devices if node.path == KFD or node.path in renders]


def number_of(name: str, host: Host) -> int | None:
    """The number that is meant by a group's name on a host: that of the nodes it owns, or is added for; else its own.

    Where `render` is another group than the one that owns the GPUs' nodes, adding it opens nothing: the owner is meant.
    """
    owned = {node.group: node.gid for node in host.devices if node.group}
    if name in owned:
        return owned[name]
    if name == "render":
        return next(iter(node_groups(host)), host.group_render)
    return host.group_video if name == "video" else None


@lint(
    "group-names",
    severity="fail",
    title="groups are added by number",
    why="the engine looks a name up in the image's /etc/group: it is missing there, or has another number than the "
    "host's, and then the nodes stay closed",
    source="TilmanGriesel/chipper#101, ROCm/ROCm-docker#90",
)
def group_names(asked: Container, given: Given) -> Iterator[Finding]:
    """Names where numbers belong, and what is no group at all."""
    named = [word for word in asked.groups if not word.open and not word.text.isdecimal()]
    for word in named:
        if word.text == KEEP:
            yield from _keep(asked, word)
        elif not word.text.strip():
            yield fail(f"{word.where}: {asked.name} adds a group without a name", "no group is named", _by_stat(asked))
        else:
            yield _named(asked, word, given)
    for word in asked.groups:
        if "getent" in word.text:
            yield warn(
                f"{word.where}: {asked.name} adds `{word.text}`",
                "a host without that group answers with nothing, and a group's number need not own the nodes",
                _by_stat(asked),
            )


def _named(asked: Container, word: Word, given: Given) -> Finding:
    number = number_of(word.text, given.host) if given.host is not None else None
    evidence = f"{word.where}: {asked.name} adds the group `{word.text}`"
    if number is not None:
        evidence += f", which is {number} on this host"
    fix = _by_stat(asked) if number is None else asked.in_place_of(word.text, str(number), "--group-add=", quoted=True)
    cause = "the engine looks names up in the image's /etc/group, not in the host's: "
    if word.text in _EVERYWHERE:
        return warn(evidence, cause + "there the name may have another number than the nodes' owner here", fix)
    return fail(evidence, f"{cause}`Unable to find group {word.text}`, or another group's number", fix)


def _by_stat(asked: Container) -> str:
    if asked.kind == "argv":
        return f"`--group-add=$(stat -c %g {KFD})`, and the same for a render node with another owner"
    return f"write the number that `stat -c %g {KFD} {DRI}/renderD*` tells, in quotes"


def _keep(asked: Container, word: Word) -> Iterator[Finding]:
    others = [one.text for one in asked.groups if one is not word]
    if asked.engine == "docker" and asked.kind == "argv":
        yield fail(
            f"{word.where}: {asked.name} adds `{KEEP}`",
            f"that word is podman's: docker takes it for a name (`Unable to find group {KEEP}`)",
            _by_stat(asked),
        )
    elif others:
        yield fail(
            f"{word.where}: {asked.name} adds `{KEEP}` and `{others[0]}`",
            f"podman takes no other group beside `{KEEP}`, which keeps all of the caller's",
            f"leave `{others[0]}` away",
        )


@lint(
    "group-ids",
    severity="warn",
    title="the groups that are added own the nodes",
    why="a number from another host opens nothing here, and may be some other group's",
    source="ROCm/ROCm-docker#90, TheRock CI",
)
def group_ids(asked: Container, given: Given) -> Iterator[Finding]:
    """Numbers that own no node of this host, where one is needed."""
    numbers = [word for word in asked.groups if word.text.isdecimal()]
    if given.host is None or not numbers or len(numbers) < len(asked.groups):
        return
    needed = [node for node in gpu_nodes(given.host) if not opens(node, -1, ()) and node.gid]
    added = {int(word.text) for word in numbers}
    lacking = next((node for node in needed if node.gid not in added), None)
    if lacking is not None and _is_passed(asked, lacking):
        yield warn(
            f"{numbers[0].where}: {asked.name} adds {', '.join(word.text for word in numbers)}, "
            f"and `{lacking.path}` belongs to {lacking.gid} here",
            f"no user but root opens `{lacking.path}` with these groups",
            f"write `{asked.group(str(lacking.gid))}`",
        )


@lint(
    "rootless-groups",
    severity="fail",
    title="a rootless engine is given groups that mean something to it",
    why="its numbers are of its user namespace: the host's 109 is another group there, and the nodes are nogroup's",
    source="Firstbober/rocm-pytorch-gfx803-docker#4, ROCm/ROCm#1549",
)
def rootless_groups(asked: Container, given: Given) -> Iterator[Finding]:
    """Numbers of the host's groups given to a rootless engine, where the nodes need one."""
    engine, word = given.engine, next((one for one in asked.groups if one.text.isdecimal()), None)
    if engine is None or not engine.rootless or given.host is None or word is None:
        return
    closed = [node for node in gpu_nodes(given.host) if not opens(node, -1, ()) and _is_passed(asked, node)]
    if not closed or int(word.text) not in {node.gid for node in closed}:
        return
    if engine.kind == "podman" and engine.runtime in (None, "crun"):
        fix = asked.in_place_of(word.text, KEEP, "--group-add=")
    else:
        fix = f"`rocenv plan --engine {engine.kind} --rootless` shows the maps and numbers that hold inside"
    yield fail(
        f"{word.where}: {asked.name} adds {word.text}, and {engine.kind} is rootless",
        f"in a rootless container {word.text} is not the host's group: `{closed[0].path}` belongs to nogroup there",
        fix,
    )


@lint(
    "user-groups",
    severity="warn",
    title="a user other than root gets the nodes' groups",
    why="the nodes belong to a group of the host; a process that is not root and not in it cannot open them",
    source="truenas/apps#1100, lemonade-sdk/lemonade#2857",
)
def user_groups(asked: Container, given: Given) -> Iterator[Finding]:
    """A user that is not root, devices, and no group at all."""
    user = asked.user
    if user is None or user.open or asked.groups or not asked.devices or not asked.about_rocm:
        return
    uid, _, gid = user.text.partition(":")
    if uid in ("0", "root") or (given.host is None and not gid and not uid.isdecimal()):
        return
    if given.host is not None:
        groups = (int(gid),) if gid.isdecimal() else ()
        number = int(uid) if uid.isdecimal() else -1
        closed = [node for node in gpu_nodes(given.host) if not opens(node, number, groups) and _is_passed(asked, node)]
        if not closed or not closed[0].gid:
            return
        evidence = f"; `{closed[0].path}` belongs to {closed[0].gid} here"
        fix = f"add `{asked.group(str(closed[0].gid))}`"
    else:
        evidence, fix = "", f"add its group: {_by_stat(asked)}"
    yield warn(
        f"{user.where}: {asked.name} runs as `{user.text}`, and no group is added{evidence}",
        "a process that is not root opens the nodes by their group alone",
        fix,
    )


def _is_passed(asked: Container, node: DeviceNode) -> bool:
    return any(path.rstrip("/") in (node.path, DRI) for path in asked.sources if path.startswith(node.path[:8]))

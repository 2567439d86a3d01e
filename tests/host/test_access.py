"""Who may open a node: the first class that matches decides, as in acl(5) and path_resolution(7)."""

from __future__ import annotations

import pytest

from rocenv.host.access import granted_by
from rocenv.host.source import RawDevice
from rocenv.model.host import Caller

NAMES = {0: "root", 44: "video", 109: "render", 1000: "ada"}


def node(mode: int, uid: int = 0, gid: int = 109, acl: tuple[tuple[str, int, int], ...] = ()) -> RawDevice:
    return RawDevice("/dev/dri/renderD128", 226, 128, mode, uid, gid, acl)


def caller(uid: int = 1000, gid: int = 1000, *groups: int) -> Caller:
    return Caller(uid, gid, groups)


@pytest.mark.parametrize(
    ("raw", "who", "granted"),
    [
        (node(0o660), caller(1000, 1000, 109), "group render"),
        (node(0o660), caller(1000, 109), "group render"),  # the first group counts as the others
        (node(0o660), caller(1000, 1000, 44), None),
        (node(0o666), caller(), "everyone"),
        (node(0o600), caller(0, 0), "root"),
        (node(0o000), caller(0, 0), "root"),
        (node(0o660, uid=1000), caller(), "owner"),
        (node(0o066, uid=1000), caller(1000, 1000, 109), None),  # the owner's own class denies, whatever follows
        (node(0o606), caller(1000, 1000, 109), None),  # so does the group's
        (node(0o640), caller(1000, 1000, 109), None),  # reading alone is not enough
        (node(0o620), caller(1000, 1000, 109), None),
        (node(0o660, gid=777), caller(1000, 1000, 777), "group 777"),  # a group without a name
    ],
)
def test_by_mode(raw: RawDevice, who: Caller, granted: str | None) -> None:
    assert granted_by(raw, who, NAMES) == granted


def acl(*entries: tuple[str, int, int]) -> tuple[tuple[str, int, int], ...]:
    return (("owner", 0, 6), *entries, ("other", 0, 0))


@pytest.mark.parametrize(
    ("entries", "who", "granted"),
    [
        (acl(("user", 1000, 6), ("owning-group", 0, 6), ("mask", 0, 6)), caller(), "acl user"),
        (acl(("user", 1000, 6), ("owning-group", 0, 6), ("mask", 0, 4)), caller(), None),  # the mask takes it away
        (acl(("user", 1000, 4), ("owning-group", 0, 6), ("mask", 0, 6)), caller(1000, 1000, 109), None),
        (acl(("user", 1001, 6), ("owning-group", 0, 6), ("mask", 0, 6)), caller(1000, 1000, 109), "group render"),
        (acl(("owning-group", 0, 4), ("group", 44, 6), ("mask", 0, 6)), caller(1000, 1000, 109, 44), "acl group video"),
        (acl(("owning-group", 0, 4), ("group", 44, 4), ("mask", 0, 6)), caller(1000, 1000, 109, 44), None),
        (acl(("owning-group", 0, 6), ("mask", 0, 6)), caller(), None),
        ((("owner", 0, 6), ("owning-group", 0, 0), ("mask", 0, 0), ("other", 0, 6)), caller(), "everyone"),
        ((("owner", 0, 6), ("owning-group", 0, 0), ("mask", 0, 0), ("other", 0, 6)), caller(1000, 109), None),
    ],
)
def test_by_access_list(entries: tuple[tuple[str, int, int], ...], who: Caller, granted: str | None) -> None:
    assert granted_by(node(0o660, acl=entries), who, NAMES) == granted

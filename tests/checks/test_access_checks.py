"""Checks of access: each verdict by facts that give it, each errno told on its own."""

from __future__ import annotations

from typing import Any

import pytest
from checks.seen import (
    CONTAINER,
    DOCKER,
    KFD,
    RENDER,
    ROOTLESS,
    WELL,
    asked,
    facts,
    found,
    health,
    refused,
)  # fmt: skip
from plan.made import gpu, host, node

from rocenv.model.health import Group, Opening, SubIds
from rocenv.model.host import Caller
from rocenv.model.plan import EngineFacts

STALE = health(groups=(Group("render", 992, member=True),))
LXC = WELL._replace(environment="container", virtualization="lxc")
NOBODY = host(
    [gpu(0)], environment="container", user_namespace=True,
    devices=[node(KFD, 65534, group=None, accessible=False, refused_by="EACCES"), node(RENDER, 65534, group=None)],
)  # fmt: skip
CLOSED = refused(KFD, 992)
OTHER_GROUP = host([gpu(0)], devices=[node(KFD, 992), node(RENDER, 992)])
WORLD = host([gpu(0)], devices=[node(KFD, 992, 0o666), node(RENDER, 992, 0o666)])
CRUN = EngineFacts("podman", rootless=True, runtime="crun", server_version="5.4")
UNASKED: dict[str, Any] = {"engine": None}


def opened(path: str, errno: str | None) -> dict[str, Any]:
    other = RENDER if path == KFD else KFD
    return {"health": health(opens=(Opening(path, errno), Opening(other, None)))}


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("groups.session", {}, "ok", "those of this session"),
    ("groups.session", {"host": CLOSED, "health": STALE, **UNASKED}, "fail", "log out and in again"),
    ("groups.session", {"host": CLOSED, "health": STALE}, "info", "rootful engine"),
    ("groups.session", {"host": refused(KFD, 992, 0o600), "health": STALE, **UNASKED}, "ok", "those of this session"),
    ("groups.session", {"host": WELL._replace(caller=Caller(0, 0, (0,)))}, "skip", "root"),
    ("groups.session", {"health": health(user=None)}, "skip", "name is unknown"),
    ("userns.device-gid", {}, "ok", "host's"),
    ("userns.device-gid", {"host": NOBODY}, "fail", "keep-groups"),
    ("userns.device-gid", {"host": NOBODY._replace(name=None)}, "fail", "nothing that is done inside helps"),
    ("userns.device-gid", {"host": NOBODY._replace(devices=(node(KFD, 65534, 0o666), node(RENDER, 65534, 0o666)))},
     "ok", "can be opened"),
    ("userns.device-gid", {"host": WELL._replace(user_namespace=None)}, "skip", "uid_map"),
    ("userns.device-gid", {"host": NOBODY._replace(virtualization="lxc", group_render=993)}, "fail",
     "dev0: /dev/kfd,gid=993"),
    ("lxc.kfd-gid", {}, "skip", "LXC"),
    ("lxc.kfd-gid", {"host": LXC}, "ok", "/dev/kfd gid 109"),
    ("lxc.kfd-gid", {"host": LXC._replace(devices=(node(KFD, 44), node(RENDER, 109)))}, "warn",
     "`dev0: /dev/kfd,gid=109`"),
    ("lxc.kfd-gid", {"host": LXC._replace(group_render=991)}, "warn", "`dev1: /dev/dri/renderD128,gid=991`"),
    ("engine.rootless-gid", {}, "skip", "not rootless"),
    ("engine.rootless-gid", {"engine": ROOTLESS}, "fail", "u:109:1"),
    ("engine.rootless-gid", {"engine": ROOTLESS._replace(gid_map=((0, 1000, 1), (1, 100, 20)))}, "ok", "109 has a"),
    ("engine.rootless-gid", {"engine": ROOTLESS._replace(gid_map=()), "health": health(subgid=(SubIds(109, 1),))},
     "ok", "has a number"),
    ("engine.rootless-gid", {"engine": ROOTLESS._replace(gid_map=()), "health": health(subgid=())}, "fail", "none"),
    ("engine.rootless-gid", {"engine": ROOTLESS._replace(gid_map=())}, "skip", "could be read"),
    ("engine.rootless-gid", {"engine": ROOTLESS, "host": WORLD}, "ok", "without a group"),
    ("engine.rootless-gid", {"engine": CRUN}, "ok", "keep-groups"),
    ("engine.rootless-gid", {"engine": CRUN._replace(runtime="runc", gid_map=ROOTLESS.gid_map)}, "fail",
     "podman system migrate"),
    ("lsm.selinux", {}, "ok", "no SELinux"),
    ("lsm.selinux", {"host": WELL._replace(selinux="permissive")}, "ok", "permissive"),
    ("lsm.selinux", {"host": WELL._replace(selinux="enforcing", selinux_devices=True)}, "ok", "is on"),
    ("lsm.selinux", {"host": WELL._replace(selinux="enforcing", selinux_devices=False)}, "warn",
     "setsebool -P container_use_devices on"),
    ("lsm.selinux", {"host": WELL._replace(selinux="enforcing"), "asked": asked(strict=True)}, "fail", "denies"),
    ("kfd.open", {}, "ok", "opened"),
    ("kfd.open", {"host": CLOSED, **opened(KFD, "EACCES")}, "skip", "kfd.access"),
    ("kfd.open", opened(KFD, "EACCES"), "fail", "security module"),
    ("kfd.open", opened(KFD, "EPERM"), "fail", "device cgroup"),
    ("kfd.open", {"host": CONTAINER, **opened(KFD, "EPERM")}, "fail", "--device=/dev/kfd"),
    ("kfd.open", {"host": CONTAINER, **opened(KFD, "ENXIO")}, "fail", "another boot"),
    ("kfd.open", opened(KFD, "ENOENT"), "fail", "is gone"),
    ("kfd.open", opened(KFD, "ENXIO"), "fail", "no driver is behind"),
    ("kfd.open", opened(KFD, "ENODEV"), "fail", "no driver is behind"),
    ("kfd.open", opened(KFD, "ENOMEM"), "fail", "no GPU up"),
    ("kfd.open", {"health": health(opens=(Opening(KFD, "ENOMEM"),), kernel_log=("X not supported in kfd",))}, "fail",
     "ENOMEM; X not supported in kfd"),
    ("kfd.open", opened(KFD, "EINVAL"), "fail", "driver refused (EINVAL)"),
    ("kfd.open", opened(KFD, "EBUSY"), "fail", "holds it alone"),
    ("kfd.open", opened(KFD, "TIMEOUT"), "fail", "reboot"),
    ("kfd.open", opened(KFD, "ESTALE"), "fail", "ESTALE"),
    ("kfd.open", {"health": health(opens=())}, "skip", "not opened"),
    ("render.open", {}, "ok", "renderD128 opened"),
    ("render.open", opened(RENDER, "EPERM"), "fail", "renderD128"),
    ("render.open", {"host": host([gpu(0, render_node=None)], devices=[node(KFD)])}, "skip", "no render node"),
    ("kfd.access", {}, "ok", "0660, gid 109 render"),
    ("kfd.access", {"host": CLOSED, **UNASKED}, "fail", "`sudo usermod -aG render u`, then log out"),
    ("kfd.access", {"host": refused(KFD, 44, group="video"), **UNASKED}, "fail", "usermod -aG video u"),
    ("kfd.access", {"host": refused(KFD, 993, group=None), **UNASKED}, "fail", "groupadd -g 993 gpu993"),
    ("kfd.access", {"host": refused(KFD, 0, 0o600, None), **UNASKED}, "fail", "70-amdgpu.rules"),
    ("kfd.access", {"host": CLOSED}, "info", "containers of a rootful engine"),
    ("kfd.access", {"host": CLOSED, "engine": DOCKER._replace(rootless=True)}, "fail", "usermod"),
    ("kfd.access", {"host": CLOSED, "engine": DOCKER._replace(remote=True)}, "fail", "usermod"),
    ("kfd.access", {"host": CLOSED, "engine": DOCKER._replace(desktop=True)}, "fail", "usermod"),
    ("kfd.access", {"host": CLOSED, "engine": DOCKER._replace(assumed=True)}, "fail", "usermod"),
    ("kfd.access", {"host": refused(KFD, 0, 0o600, None)}, "fail", "70-amdgpu.rules"),
    ("kfd.access", {"host": CLOSED._replace(environment="container"), **UNASKED}, "fail", "`--group-add=992`"),
    ("kfd.access", {"host": CLOSED._replace(environment="container", virtualization="lxc", group_render=991),
                    **UNASKED}, "fail", "/dev/dri/renderD128,gid=991"),
    ("render.access", {}, "ok", "renderD128"),
    ("render.access", {"host": refused(RENDER, 992), **UNASKED}, "fail", "usermod -aG render u"),
    ("render.access", {"host": host([gpu(0, render_node=None)], devices=[node(KFD)])}, "skip", "no render node"),
    ("render.topology-match", {}, "ok", "1 of 1"),
    ("render.topology-match", {"host": host([gpu(0), gpu(1, render_node_exists=False)])}, "warn", "udevadm"),
    ("render.topology-match", {"host": host([gpu(0), gpu(1, render_node_exists=False)], environment="container")},
     "warn", "not every GPU was passed on"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "given", "verdict", "words"), CASES)
def test_a_check_of_access(check: str, given: dict[str, Any], verdict: str, words: str) -> None:
    finding = found(check, facts(**given))
    assert finding.verdict == verdict, finding
    assert words in " ".join(filter(None, (finding.evidence, finding.cause, finding.fix))), finding


@pytest.mark.parametrize("errno", ["EPERM", "EINVAL", "ENXIO", "ENOMEM", "EBUSY", "TIMEOUT"])
def test_what_is_no_matter_of_permissions_gets_no_advice_on_groups(errno: str) -> None:
    for where in (WELL, CONTAINER):
        finding = found("kfd.open", facts(host=where, **opened(KFD, errno)))
        assert "usermod" not in (finding.fix or "")
        assert "--group-add" not in (finding.fix or "")


def test_a_stale_session_is_the_cause_and_no_other_check_repeats_it() -> None:
    given = facts(host=CLOSED, health=STALE, engine=None)
    assert found("kfd.access", given).evidence == "because groups.session failed"


def test_nodes_that_answer_differently_are_told_one_by_one() -> None:
    given = facts(
        host=host([gpu(0), gpu(1)]),
        health=health(opens=(Opening(RENDER, "EPERM"), Opening("/dev/dri/renderD129", "ENXIO"))),
    )
    from rocenv.checks.run import run

    told = [one.evidence for one in run(given, only=["render.open"]) if one.check == "render.open"]
    assert [("EPERM" in one, "ENXIO" in one) for one in told] == [(True, False), (False, True)]

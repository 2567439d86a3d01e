"""The text of a specification and of the units that keep it fresh."""

from __future__ import annotations

import configparser
from typing import Any

import pytest
from plan.made import gpu, host, node

from rocenv.errors import HostError
from rocenv.render.cdi import left_out, specification, units

KFD = node("/dev/kfd", gid=993)
TWO = host([gpu(0), gpu(1)], devices=[KFD, node("/dev/dri/renderD128"), node("/dev/dri/renderD129", mode=0o666)])


def devices(spec: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return {one["name"]: one["containerEdits"]["deviceNodes"] for one in spec["devices"]}


def test_two_gpus() -> None:
    spec = specification(TWO)
    first = {"path": "/dev/dri/renderD128", "fileMode": 432, "uid": 0, "gid": 109, "permissions": "rw"}
    second = {"path": "/dev/dri/renderD129", "fileMode": 438, "uid": 0, "gid": 109, "permissions": "rw"}
    assert devices(spec) == {
        "0": [first], "0000:10:00.0": [first], "GPU-0000000000000001": [first],
        "1": [second], "0000:11:00.0": [second], "GPU-0000000000000002": [second],
        "all": [first, second],
    }  # fmt: skip
    kfd = {"path": "/dev/kfd", "fileMode": 432, "uid": 0, "gid": 993, "permissions": "rw"}
    assert spec["containerEdits"] == {"deviceNodes": [kfd]}
    assert (spec["cdiVersion"], spec["kind"]) == ("0.5.0", "amd.com/gpu")


def test_groups_are_given_by_the_engine_only_where_asked_for() -> None:
    spec = specification(TWO, additional_gids=True)
    assert (spec["cdiVersion"], spec["containerEdits"]["additionalGids"]) == ("0.7.0", [993, 109])


def test_nothing_of_a_gpu_that_cannot_be_used() -> None:
    refusing = node("/dev/dri/renderD129", refused_by="EPERM", accessible=False)
    seen = host([gpu(0), gpu(1)], devices=[KFD, node("/dev/dri/renderD128"), refusing])
    assert "/dev/dri/renderD129" not in str(specification(seen))
    assert left_out(seen) == (("0000:11:00.0", "opening `/dev/dri/renderD129` is refused with EPERM"),)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (host([]), "there is no AMD GPU"),
        (host([gpu(0, render_node=None)]), "no GPU here can be used: KFD gives it no render node"),
        (host([gpu(0)], devices=[node("/dev/dri/renderD128")]), "`/dev/kfd` is not there"),
        (host([gpu(0)], devices=[node("/dev/kfd", refused_by="EPERM"), node("/dev/dri/renderD128")]), "EPERM"),
        (host([], environment="wsl2"), "WSL2"),
    ],
)
def test_there_is_nothing_to_give(seen: Any, words: str) -> None:
    with pytest.raises(HostError, match=words) as caught:
        specification(seen)
    assert caught.value.hint


def test_units_watch_the_nodes_and_run_the_program_by_its_words() -> None:
    texts = units("/opt/my tools/rocenv", "/etc/cdi/50%$x.json", user=False)
    assert set(texts) == {"rocenv-cdi.path", "rocenv-cdi.service"}
    service, path = (configparser.RawConfigParser(strict=False) for _ in range(2))
    service.read_string(texts["rocenv-cdi.service"])
    path.read_string(texts["rocenv-cdi.path"])
    # systemd.service(5): a word in quotes may hold blanks; `%%` and `$$` stand for one of them.
    told = "'/opt/my tools/rocenv' cdi generate '--output=/etc/cdi/50%%$$x.json'"
    assert service["Service"]["ExecStart"] == told
    assert path["Path"]["Unit"] == "rocenv-cdi.service"
    assert "PathChanged=/dev/dri\n" in texts["rocenv-cdi.path"]
    assert path["Install"]["WantedBy"] == service["Install"]["WantedBy"] == "multi-user.target"
    own = units("/usr/bin/rocenv", "/home/u/.config/cdi/rocenv.json", user=True)["rocenv-cdi.service"]
    assert "WantedBy=default.target" in own
    assert "udevadm" not in own

"""By which way the GPUs come in: what each engine takes, what a specification must hold, what the plan says."""

from __future__ import annotations

from typing import Any

import pytest
from plan.made import CRUN, DOCKER, PODMAN, REQUEST, ROOTLESS_DOCKER, gpu, host, node, plan, why

from rocenv.errors import EngineError, HostError, UsageError
from rocenv.lifecycle.decided import decided, labelled
from rocenv.model.health import CdiNode, CdiSpec
from rocenv.model.host import Partition
from rocenv.model.plan import EngineFacts, Plan
from rocenv.render.argv import run_argv
from rocenv.report.plan import plan_json

TWO = host([gpu(0), gpu(1)])
NEW = EngineFacts("docker", client_version="28.5.2+dfsg4", server_version="28.5.2+dfsg4", runtimes=("runc",),
                  cdi_folders=("/etc/cdi", "/var/run/cdi"))  # fmt: skip
AMD = NEW._replace(runtimes=("amd", "runc"))


def spec(file: str = "/etc/cdi/rocenv.json", version: str = "0.5.0", /, **devices: list[str]) -> CdiSpec:
    made = {name: tuple(CdiNode(path) for path in ("/dev/kfd", *paths)) for name, paths in devices.items()}
    return CdiSpec(file, "amd.com/gpu", made, version=version)


FIRST, SECOND = "/dev/dri/renderD128", "/dev/dri/renderD129"
OURS = spec(**{"0000:10:00.0": [FIRST], "0000:11:00.0": [SECOND], "0": [FIRST], "all": [FIRST, SECOND]})


def by(way: str | None, *, engine: EngineFacts = NEW, specs: tuple[CdiSpec, ...] = (OURS,), **wishes: Any) -> Plan:
    seen = wishes.pop("seen", TWO)
    return plan(seen, engine=engine, request=REQUEST._replace(via=way, specs=specs), **wishes)


def reach(made: Plan) -> list[str]:
    """The words of the command line by which GPUs come in."""
    starts = ("--device", "--runtime", "--group-add", "--env=AMD_V", "--env=ROCR")
    return [word for word in run_argv(made) if word.startswith(starts)]


def test_without_a_word_the_nodes_themselves_also_where_there_is_more() -> None:
    made = by(None, engine=AMD)
    assert reach(made) == ["--device=/dev/kfd", f"--device={FIRST}", f"--device={SECOND}", "--group-add=109"]
    assert why(made, "via").startswith("devices: the nodes themselves")
    assert why(by("devices"), "via") == "devices: asked for"
    assert why(plan(TWO, request=REQUEST._replace(cpu=True)), "via") == ""


def test_by_cdi_each_gpu_by_its_lasting_name_and_still_by_its_group() -> None:
    made = by("cdi", gpus="1")
    assert reach(made) == ["--device=amd.com/gpu=0000:11:00.0", "--group-add=109"]
    told = plan_json(made, [])
    assert (told["via"], told["cdi"], told["devices"]) == ("cdi", ["amd.com/gpu=0000:11:00.0"], ["/dev/kfd", SECOND])
    assert "/etc/cdi/rocenv.json says what each name stands for: /dev/kfd, /dev/dri/renderD129" in why(made, "devices")
    assert why(made, "via") == "cdi: asked for: docker 28.5.2+dfsg4 knows CDI and has it on"


def test_another_tool_s_names_are_taken_by_what_they_pass() -> None:
    """AMD's own counts by the bus, and passes the card nodes too: the plan tells them."""
    theirs = spec("/etc/cdi/amd.json", **{"0": [SECOND], "1": [FIRST, "/dev/dri/card0"]})
    made = by("cdi", gpus="0", specs=(theirs,))
    assert made.cdi == ("amd.com/gpu=1",)
    assert made.devices == ("/dev/kfd", FIRST, "/dev/dri/card0")


def test_what_a_device_brings_beside_nodes_is_told_and_avoided_where_another_serves() -> None:
    hooked = spec(**{"0000:10:00.0": [FIRST], "1": [FIRST]})._replace(more={"0000:10:00.0": ("env", "hooks")})
    assert by("cdi", gpus="0", specs=(hooked,)).cdi == ("amd.com/gpu=1",)
    alone = spec(x=[FIRST])._replace(more={"x": ("mounts",)})
    assert (
        "/etc/cdi/rocenv.json gives more than nodes with amd.com/gpu=x: mounts"
        in by("cdi", gpus="0", specs=(alone,)).warnings
    )


def test_other_nodes_stay_nodes() -> None:
    verbs = node("/dev/infiniband/uverbs0", gid=110)
    seen = host([gpu(0)], devices=[node("/dev/kfd"), node(FIRST), verbs, node("/dev/infiniband/rdma_cm")])
    made = by("cdi", seen=seen, loosen=("rdma",), specs=(spec(**{"0": [FIRST]}),))
    assert {"--device=amd.com/gpu=0", "--device=/dev/infiniband/uverbs0"} <= set(reach(made))
    assert not {"--device=/dev/kfd", f"--device={FIRST}"} & set(reach(made))


OLD = "knows no CDI \\(`not an absolute path`\\)"


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (NEW._replace(server_version="20.10.24+dfsg1", cdi_folders=None), f"docker's daemon 20.10.24\\+dfsg1 {OLD}"),
        (NEW._replace(client_version="20.10.24"), f"docker's client 20.10.24 {OLD}: docker 25.0"),
        (NEW._replace(server_version="26.1.5", client_version="26.1.5", cdi_folders=()), "26.1.5 has CDI switched off"),
        (PODMAN._replace(server_version="3.4.4"), f"podman 3.4.4 {OLD}: podman 4.1"),
    ],
)
def test_engines_that_take_no_cdi(engine: EngineFacts, words: str) -> None:
    with pytest.raises(EngineError, match=words) as caught:
        by("cdi", engine=engine)
    assert caught.value.hint


def test_podman_takes_it() -> None:
    assert reach(by("cdi", engine=PODMAN._replace(server_version="4.3.1"), gpus="0")) == [
        "--device=amd.com/gpu=0000:10:00.0", "--group-add=109",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("specs", "engine", "words", "hint"),
    [
        ((), NEW, "in /etc/cdi or /var/run/cdi passes GPU 0 gfx942 0000:10:00.0 and no other",
         "`sudo rocenv cdi generate --output=/etc/cdi/rocenv.json`"),
        ((spec(all=[FIRST, SECOND]),), NEW, "and no other", "--output=/etc/cdi/rocenv.json"),
        ((OURS,), NEW._replace(cdi_folders=("/opt/cdi",)), "in /opt/cdi passes", "--output=/opt/cdi/rocenv.json`"),
        ((OURS, OURS._replace(file="/etc/cdi/amd.json")), NEW, "json and /etc/cdi/amd.json contradict", "cdi check"),
        ((OURS._replace(version="0.6.0"),), PODMAN._replace(server_version="4.3.1"),
         "is CDI 0.6.0, which podman 4.3.1 passes over", "--output=/etc/cdi/rocenv.json"),
        ((CdiSpec("/etc/cdi/a.json", "amd.com/gpu", {"0": (CdiNode("/dev/kfd", 1, 2), CdiNode(FIRST))}),), NEW,
         "`/etc/cdi/a.json` is older than the nodes: /dev/kfd is 226:0, not 1:2", "--output=/etc/cdi/a.json"),
        ((spec(**{"0000:11:00.0": [FIRST]}),), NEW, "older than the nodes: 0000:11:00.0 is", "rocenv.json"),
    ],
)  # fmt: skip
def test_specifications_that_do_not_serve(
    specs: tuple[CdiSpec, ...], engine: EngineFacts, words: str, hint: str
) -> None:
    with pytest.raises(HostError) as caught:
        by("cdi", engine=engine, specs=specs, gpus="0")
    assert words in caught.value.message
    assert hint in str(caught.value.hint)


def test_a_newer_podman_takes_a_newer_specification() -> None:
    newer = OURS._replace(version="0.6.0")
    assert by("cdi", engine=PODMAN._replace(server_version="5.4.2"), specs=(newer,)).cdi


def test_a_rootless_engine_still_gets_every_node_and_one_variable() -> None:
    made = by("cdi", engine=CRUN, gpus="1")
    assert reach(made) == [
        "--device=amd.com/gpu=0000:10:00.0", "--device=amd.com/gpu=0000:11:00.0", "--group-add=keep-groups",
        "--env=ROCR_VISIBLE_DEVICES=GPU-0000000000000002",
    ]  # fmt: skip
    assert any("cannot isolate" in one for one in made.warnings)


def test_by_amd_s_runtime() -> None:
    """UUIDs as its tracker parses them: `0x` and the number without leading zeros."""
    seen = host([gpu(0), gpu(1)], devices=[*TWO.devices, node("/dev/dri/card1", gid=44)])
    made = by("runtime", engine=AMD, seen=seen, gpus="1")
    assert reach(made) == ["--runtime=amd", "--group-add=109", "--env=AMD_VISIBLE_DEVICES=0x2"]
    assert made.devices == ("/dev/kfd", SECOND, "/dev/dri/card1")
    assert plan_json(made, [])["runtime"] == "amd"
    assert why(made, "via") == "runtime: asked for; docker lists the runtime `amd`"


def test_amd_s_runtime_counts_by_the_bus_what_has_no_uuid_of_its_own() -> None:
    parts = [gpu(index, bdf="0000:05:00.0", unique_id="aa", partition=Partition("DPX", "NPS1", index, 2))
             for index in (1, 2)]  # fmt: skip
    made = by("runtime", engine=AMD, seen=host([gpu(0), *parts]), gpus="0,2")
    assert made.env["AMD_VISIBLE_DEVICES"] == "1,2"


@pytest.mark.parametrize(
    ("engine", "words"),
    [(NEW, "docker has no runtime `amd`; it has: runc"), (CRUN, "this is rootless podman"),
     (ROOTLESS_DOCKER._replace(runtimes=("amd",)), "this is rootless docker"), (PODMAN, "this is podman")],
)  # fmt: skip
def test_engines_without_amd_s_runtime(engine: EngineFacts, words: str) -> None:
    with pytest.raises(EngineError, match=words):
        by("runtime", engine=engine)


def test_where_no_engine_was_asked_it_is_assumed_and_said() -> None:
    for way in ("cdi", "runtime"):
        assert any("no engine was asked: the plan assumes" in one for one in by(way, engine=DOCKER).warnings)
    assert by("runtime", engine=DOCKER).runtime == "amd"


@pytest.mark.parametrize(("way", "wishes"), [("hooks", {}), ("cdi", {"gpus": "none"}), ("runtime", {"gpus": "none"})])
def test_ways_that_make_no_sense(way: str, wishes: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        by(way, **wishes)


def test_the_way_is_a_part_of_what_was_decided() -> None:
    plans = {way: labelled(by(way, engine=AMD)) for way in (None, "devices", "cdi", "runtime")}
    hashes = {way: made.labels["rocenv.plan"] for way, made in plans.items()}
    assert hashes[None] == hashes["devices"]
    assert len(set(hashes.values())) == 3
    assert [decided(made).get("via") for made in plans.values()] == [None, None, "cdi", "runtime"]


def test_a_name_of_the_moment_is_none() -> None:
    """The same GPU by another file's number, or by the runtime's count: the same plan."""
    theirs = spec("/etc/cdi/amd.json", **{"7": [FIRST], "3": [SECOND]})
    assert by("cdi").labels["rocenv.plan"] == by("cdi", specs=(theirs,)).labels["rocenv.plan"]
    before, after = host([gpu(0, unique_id=None)]), host([gpu(0, unique_id=None), gpu(1, bdf="0000:01:00.0")])
    counts = [by("runtime", engine=AMD, seen=seen, gpus="0") for seen in (before, after)]
    assert [made.env["AMD_VISIBLE_DEVICES"] for made in counts] == ["0", "1"]
    assert counts[0].labels["rocenv.plan"] == counts[1].labels["rocenv.plan"]

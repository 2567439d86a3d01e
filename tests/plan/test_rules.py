"""The thirteen rules that users pay for when they are broken, each on hosts made for it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from plan.made import (
    CALLER,
    CRUN,
    DOCKER,
    PODMAN,
    REQUEST,
    ROOTLESS_DOCKER,
    RUNC,
    gpu,
    host,
    node,
    plan,
    why,
)

from rocenv.errors import EngineError, HostError, ImageError, PolicyError, UsageError
from rocenv.model.host import Driver, Host, Partition
from rocenv.model.plan import EngineFacts
from rocenv.model.wish import ImageWish, PolicyWish
from rocenv.plan.labels import digest
from rocenv.render.argv import run_argv

TWO = host([gpu(0), gpu(1)])
IN_TREE = Driver(loaded=True, version=None, origin="in-tree")


# Rule 1: group ids come from the nodes that are passed, by number, each distinct one that is not 0.


@pytest.mark.parametrize(
    ("kfd", "render", "expected"),
    [(109, 109, (109,)), (110, 44, (110, 44)), (0, 992, (992,)), (39, 39, (39,)), (0, 0, ())],
)
def test_groups_are_those_of_the_nodes(kfd: int, render: int, expected: tuple[int, ...]) -> None:
    where = host([gpu(0)], devices=[node("/dev/kfd", kfd, 0o666), node("/dev/dri/renderD128", render, 0o666)])
    assert plan(where).groups == expected


def test_groups_of_nodes_that_are_not_passed_are_not_given() -> None:
    nodes = [
        node("/dev/kfd", 109),
        node("/dev/dri/renderD128", 110),
        node("/dev/dri/renderD129", 111),
        node("/dev/dri/card0", 44),
    ]
    assert plan(host([gpu(0), gpu(1)], devices=nodes), gpus="0").groups == (109, 110)


def test_no_group_is_ever_given_by_name_or_as_gid_zero() -> None:
    words = run_argv(plan(host([gpu(0)], devices=[node("/dev/kfd", 0, 0o666), node("/dev/dri/renderD128", 105)])))
    assert [word for word in words if word.startswith("--group-add")] == ["--group-add=105"]


@pytest.mark.parametrize("mode", [0o600, 0o660])
def test_a_node_of_gid_zero_that_nobody_else_may_open_is_an_error_with_the_udev_rule(mode: int) -> None:
    where = host([gpu(0)], devices=[node("/dev/kfd", 0, mode), node("/dev/dri/renderD128", 109)])
    with pytest.raises(HostError) as caught:
        plan(where)
    assert "/dev/kfd" in caught.value.message
    assert "/etc/udev/rules.d/70-amdgpu.rules" in str(caught.value.hint)
    assert plan(where, user="root").devices  # root inside opens it by its capability


# Rule 2: only the chosen render nodes and kfd; no privilege beyond need; loosening is named, and --strict refuses it.


def test_only_kfd_and_the_chosen_render_nodes_are_passed() -> None:
    words = run_argv(plan(TWO, gpus="1"))
    assert [word for word in words if word.startswith("--device")] == [
        "--device=/dev/kfd",
        "--device=/dev/dri/renderD129",
    ]


def test_the_default_is_confined() -> None:
    words = run_argv(plan(TWO))
    assert "--security-opt=no-new-privileges" in words
    assert "--ipc=private" in words
    assert not [word for word in words if "privileged" in word or "seccomp" in word or "cap-add" in word]


@pytest.mark.parametrize(
    ("ram", "expected", "words"),
    [
        (256 << 30, 16 << 30, "16g"),
        (32 << 30, 16 << 30, "16g"),
        (20 << 30, 10 << 30, "10g"),
        ((7 << 30) + 12345, 3584 << 20, "3584m"),
    ],
)
def test_shm_is_16_gib_or_half_of_the_ram(ram: int, expected: int, words: str) -> None:
    made = plan(TWO._replace(memory_bytes=ram))
    assert made.shm_size == expected
    assert f"--shm-size={words}" in run_argv(made)


@pytest.mark.parametrize(
    ("text", "expected"), [("8g", 8 << 30), ("512m", 512 << 20), ("1.5 GiB", 3 << 29), ("2G", 2 << 30)]
)
def test_a_profile_may_size_shm(text: str, expected: int) -> None:
    assert plan(TWO, shm_size=text).shm_size == expected


@pytest.mark.parametrize(
    ("name", "has", "lacks"),
    [
        ("sudo", [], ["--security-opt=no-new-privileges"]),
        ("ptrace", ["--cap-add=SYS_PTRACE", "--security-opt=no-new-privileges"], ["--security-opt=seccomp=unconfined"]),
        ("perf", ["--cap-add=PERFMON"], []),
        ("numa", ["--cap-add=SYS_NICE"], []),
        ("host-ipc", ["--ipc=host"], ["--ipc=private", "--shm-size=16g"]),
    ],
)
def test_one_thing_is_loosened_by_name_with_a_reason(name: str, has: list[str], lacks: list[str]) -> None:
    made = plan(TWO, loosen=(name,))
    words = run_argv(made)
    assert set(has) <= set(words)
    assert not set(lacks) & set(words)
    assert name in why(made, "loosen")
    with pytest.raises(PolicyError, match=name):
        plan(TWO, loosen=(name,), strict=True)


def test_rdma_gives_the_verbs_and_not_what_manages_the_fabric() -> None:
    verbs = [node(f"/dev/infiniband/{name}", 0, 0o666) for name in ("uverbs0", "rdma_cm", "umad0", "issm0")]
    words = run_argv(plan(TWO._replace(devices=(*TWO.devices, *verbs)), loosen=("rdma",)))
    assert {"--device=/dev/infiniband/uverbs0", "--device=/dev/infiniband/rdma_cm"} <= set(words)
    assert {"--cap-add=IPC_LOCK", "--ulimit=memlock=-1:-1", "--ulimit=nofile=1048576:1048576"} <= set(words)
    assert not [word for word in words if "umad" in word or "issm" in word or word == "--device=/dev/infiniband"]
    with pytest.raises(HostError, match="uverbs"):
        plan(TWO, loosen=("rdma",))


@pytest.mark.parametrize(
    ("selinux", "boolean", "engine", "disabled"),
    [
        ("enforcing", None, DOCKER, True),
        ("enforcing", False, CRUN, True),
        ("enforcing", True, CRUN, False),
        ("permissive", None, CRUN, False),
        (None, None, CRUN, False),
        ("enforcing", None, EngineFacts("docker", security=("seccomp", "selinux")), True),
        ("enforcing", None, EngineFacts("docker", security=("seccomp",)), False),
    ],
)
def test_selinux_forces_one_loosening(
    selinux: str | None, boolean: bool | None, engine: EngineFacts, disabled: bool
) -> None:
    where = TWO._replace(selinux=selinux, selinux_devices=boolean)
    made = plan(where, engine=engine)
    assert ("label=disable" in made.security) is disabled
    assert ("SELinux" in why(made, "security")) is disabled
    if disabled:
        with pytest.raises(PolicyError) as caught:
            plan(where, engine=engine, strict=True)
        assert "setsebool -P container_use_devices" in str(caught.value.hint)
    else:
        plan(where, engine=engine, strict=True)


def test_without_gpus_selinux_forces_nothing() -> None:
    made = plan(TWO._replace(selinux="enforcing"), request=REQUEST._replace(cpu=True))
    assert made.security == ("no-new-privileges",)


# Rule 3: one identity table; KFD order, numeric. (The words of a selection: test_select.py.)


def test_gpus_are_in_kfd_order_with_all_their_names() -> None:
    crossed = [
        gpu(0, bdf="0000:c3:00.0", render_node="/dev/dri/renderD131"),
        gpu(1, bdf="0000:23:00.0", render_node="/dev/dri/renderD128"),
    ]
    made = plan(host(crossed), gpus="0000:23:00.0,0000:c3:00.0")
    assert [(one.index, one.bdf, one.render_node) for one in made.gpus] == [
        (0, "0000:c3:00.0", "/dev/dri/renderD131"),
        (1, "0000:23:00.0", "/dev/dri/renderD128"),
    ]
    assert made.devices == ("/dev/kfd", "/dev/dri/renderD131", "/dev/dri/renderD128")


def test_the_label_holds_the_table_for_the_proof() -> None:
    assert json.loads(plan(TWO, gpus="1").labels["rocenv.gpus"]) == [
        {
            "index": 1, "gfx": "gfx942", "bdf": "0000:11:00.0", "partition": 0, "uuid": "GPU-0000000000000002",
            "render_node": "/dev/dri/renderD129", "name": "AMD GPU gfx942",
        }
    ]  # fmt: skip


def test_after_a_reboot_the_nodes_follow_the_bdf_and_the_plan_stays_the_same() -> None:
    moved = host([gpu(0, render_node="/dev/dri/renderD129"), gpu(1, render_node="/dev/dri/renderD128")])
    moved = moved._replace(devices=tuple(one._replace(gid=110) for one in moved.devices))
    before, after = plan(TWO, gpus="0000:10:00.0"), plan(moved, gpus="0000:10:00.0")
    assert before.devices != after.devices
    assert before.groups != after.groups
    assert before.labels["rocenv.plan"] == after.labels["rocenv.plan"]
    assert before.labels["rocenv.plan"] != plan(TWO, gpus="0000:11:00.0").labels["rocenv.plan"]


@pytest.mark.parametrize(
    "wish",
    [
        {"env": {"A": "1"}}, {"shm_size": "1g"}, {"ports": ("80:80",)}, {"user": "root"}, {"loosen": ("ptrace",)},
        {"mounts": ("/data:/data",)}, {"caches": ()}, {"image": ImageWish("rocm/pytorch", rocm="7.2")},
        {"env": {"TOKEN": "$TOKEN"}},
    ],
)  # fmt: skip
def test_what_the_user_asks_changes_the_plan_s_hash(wish: dict[str, Any]) -> None:
    assert digest(plan(TWO)) != digest(plan(TWO, **wish))


def test_numbers_of_a_rootless_subset_are_of_the_moment_and_the_user_s_own_are_not() -> None:
    nameless = [gpu(0, unique_id=None), gpu(1, unique_id=None)]
    swapped = [nameless[1]._replace(index=0, kfd_node=1), nameless[0]._replace(index=1, kfd_node=2)]
    before, after = (plan(host(gpus), engine=CRUN, gpus="0000:11:00.0") for gpus in (nameless, swapped))
    assert (before.env["ROCR_VISIBLE_DEVICES"], after.env["ROCR_VISIBLE_DEVICES"]) == ("1", "0")
    assert digest(before) == digest(after)
    assert digest(plan(TWO)) != digest(plan(TWO, env={"ROCR_VISIBLE_DEVICES": "0"}))


def test_a_proof_s_level_makes_no_other_container() -> None:
    from rocenv.model.wish import SmokeWish

    assert digest(plan(TWO)) == digest(plan(TWO, smoke=SmokeWish("access")))


# Rule 4: rootless engines pass every node that opens, choose by a variable, and say so.


@pytest.mark.parametrize("engine", [CRUN, RUNC, ROOTLESS_DOCKER], ids=["crun", "runc", "docker"])
def test_a_rootless_subset_passes_all_nodes_and_hides_by_one_variable(engine: EngineFacts) -> None:
    made = plan(TWO, engine=engine, gpus="1")
    assert made.devices == ("/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129")
    assert made.env["ROCR_VISIBLE_DEVICES"] == "GPU-0000000000000002"
    assert "HIP_VISIBLE_DEVICES" not in made.env
    assert made.visible_indices == (1,)
    assert [one for one in made.warnings if "isolate" in one]
    with pytest.raises(PolicyError, match="isolate"):
        plan(TWO, engine=engine, gpus="1", strict=True)


@pytest.mark.parametrize("engine", [CRUN, RUNC, ROOTLESS_DOCKER, DOCKER, PODMAN])
def test_where_all_are_chosen_or_devices_choose_no_variable_is_set(engine: EngineFacts) -> None:
    words = "all" if engine.rootless else "1"
    made = plan(TWO, engine=engine, gpus=words, strict=True)
    assert not [name for name in made.env if name.endswith("VISIBLE_DEVICES")]
    assert made.visible_indices is None


def test_rootless_names_the_nodes_that_the_caller_cannot_open() -> None:
    nodes = [
        node("/dev/kfd"),
        node("/dev/dri/renderD128", accessible=False, refused_by="EACCES"),
        node("/dev/dri/renderD129"),
    ]
    made = plan(
        host(
            [gpu(0, unique_id=None), gpu(1, unique_id=None), gpu(2, unique_id=None)],
            devices=[*nodes, node("/dev/dri/renderD130")],
        ),
        engine=CRUN,
        gpus="2",
    )
    assert made.devices == ("/dev/kfd", "/dev/dri/renderD129", "/dev/dri/renderD130")
    assert made.env["ROCR_VISIBLE_DEVICES"] == "1"  # renumbered: the second of those that are passed
    assert [one for one in made.warnings if "renderD128" in one]


def test_crun_keeps_groups_and_takes_no_numbers_beside() -> None:
    words = run_argv(plan(TWO, engine=CRUN))
    assert [word for word in words if word.startswith("--group-add")] == ["--group-add=keep-groups"]
    assert "--userns=keep-id" in words
    assert "--user=1000:1000" in words


def test_runc_maps_the_host_s_group_numbers() -> None:
    words = run_argv(plan(TWO, engine=RUNC))
    assert "--group-add=109" in words
    assert "--gidmap=109:65537:1" in words
    assert "--gidmap=1000:0:1" in words
    assert "--uidmap=1000:0:1" in words
    assert not [word for word in words if word.startswith("--userns") or "keep-groups" in word]


def test_without_an_engine_to_ask_the_map_is_the_common_one_and_said_to_be_assumed() -> None:
    made = plan(TWO, engine=EngineFacts("podman", rootless=True, runtime="runc", assumed=True))
    assert "109:1:1" in made.gidmap  # podman counts in the order of the host's numbers
    docker = plan(TWO, engine=EngineFacts("docker", rootless=True, assumed=True))
    assert docker.groups == (65537,)  # Docker in the order of /etc/subgid
    for one in (made, docker):
        assert [warning for warning in one.warnings if "/etc/subgid" in warning]


def test_rootless_docker_gets_the_number_that_the_group_has_inside() -> None:
    made = plan(TWO, engine=ROOTLESS_DOCKER)
    assert made.groups == (65537,)
    assert made.user == "0:0"  # who is the caller outside


@pytest.mark.parametrize("engine", [RUNC, ROOTLESS_DOCKER], ids=["runc", "docker"])
def test_an_unmapped_group_stops_with_the_line_for_subgid(engine: EngineFacts) -> None:
    with pytest.raises(EngineError) as caught:
        plan(TWO, engine=engine._replace(gid_map=((0, 1000, 1), (1, 100000, 65536))))
    assert "109" in caught.value.message
    assert "$USER:109:1" in str(caught.value.hint)
    assert "/etc/subgid" in str(caught.value.hint)


@pytest.mark.parametrize("engine", [RUNC, ROOTLESS_DOCKER], ids=["runc", "docker"])
def test_nodes_that_open_for_everybody_need_no_map(engine: EngineFacts) -> None:
    open_nodes = tuple(one._replace(mode=0o666) for one in TWO.devices)
    made = plan(TWO._replace(devices=open_nodes), engine=engine._replace(gid_map=()))
    assert made.groups == ()
    assert made.gidmap == ()


def test_keep_groups_is_never_said_to_docker_or_rootful_podman() -> None:
    for engine in (DOCKER, PODMAN, ROOTLESS_DOCKER):
        assert not plan(TWO, engine=engine).keep_groups


# Rule 5: one visibility variable, the profile's choice, renumbered.


def test_the_profile_chooses_the_variable() -> None:
    made = plan(TWO, engine=CRUN, gpus="1", visible="hip")
    assert made.env["HIP_VISIBLE_DEVICES"] == "1"
    assert "ROCR_VISIBLE_DEVICES" not in made.env


def test_partitions_that_share_a_uuid_are_chosen_by_number() -> None:
    parts = [gpu(n, bdf="0000:10:00.0", unique_id="a" * 16, partition=Partition("CPX", "NPS4", n, 4)) for n in range(4)]
    made = plan(host(parts), engine=CRUN, gpus="0000:10:00.0/1,0000:10:00.0/3")
    assert made.env["ROCR_VISIBLE_DEVICES"] == "1,3"


def test_a_list_of_the_profile_s_own_never_meets_the_chosen_one() -> None:
    made = plan(TWO, engine=CRUN, gpus="1", env={"HIP_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "0"})
    assert [name for name in made.env if name.endswith("VISIBLE_DEVICES")] == ["ROCR_VISIBLE_DEVICES"]
    assert made.env["ROCR_VISIBLE_DEVICES"] == "GPU-0000000000000002"
    assert len([one for one in made.warnings if "is dropped" in one]) == 2


def test_an_inherited_list_is_translated_into_devices() -> None:
    inherited = host([gpu(n) for n in range(8)], visible={"ROCR_VISIBLE_DEVICES": "0,3,4,5"})
    made = plan(inherited, gpus="1")
    assert made.devices == ("/dev/kfd", "/dev/dri/renderD131")
    assert "ROCR_VISIBLE_DEVICES" not in made.env


# Rule 6: what the image needs from the driver is known before the pull. (The choice itself: test_choose.py.)


def test_an_unknown_driver_is_said_as_unknown() -> None:
    assert "unknown" in why(plan(TWO._replace(driver=IN_TREE)), "image")


def test_a_driver_that_lists_the_release_is_named() -> None:
    assert "driver 30.30 (release 30.30.4) is listed" in why(plan(TWO), "image")


# Rule 7: no override unasked.


def test_no_override_is_set_and_the_known_one_is_told() -> None:
    with pytest.raises(ImageError) as caught:
        plan(host([gpu(0, "gfx1031")], driver=IN_TREE))
    assert "-e HSA_OVERRIDE_GFX_VERSION=10.3.0" in str(caught.value.hint)


def test_an_override_of_the_user_s_counts_and_is_said() -> None:
    made = plan(host([gpu(0, "gfx1031")], driver=IN_TREE), env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert [one for one in made.warnings if "pass for gfx1030" in one]
    assert made.gpus[0].gfx == "gfx1031"


def test_no_plan_sets_an_override_of_its_own() -> None:
    for gfx in ("gfx942", "gfx1100", "gfx1201"):
        assert not [name for name in plan(host([gpu(0, gfx)])).env if name.startswith("HSA_")]


@pytest.mark.parametrize(
    ("value", "mended"), [("9.0.a", "9.0.10"), ('"10.3.0"', "10.3.0"), ("gfx1030", "10.3.0"), ("10.3", "10.3.0")]
)
def test_a_malformed_override_is_refused_with_the_decimal_form(value: str, mended: str) -> None:
    with pytest.raises(UsageError) as caught:
        plan(host([gpu(0, "gfx90c")]), env={"HSA_OVERRIDE_GFX_VERSION": value})
    assert f"HSA_OVERRIDE_GFX_VERSION={mended}" in str(caught.value.hint)


def test_an_override_by_node_counts_the_cpu_nodes() -> None:
    pair = host([gpu(0, "gfx1100"), gpu(1, "gfx1032")], driver=IN_TREE, numa_nodes=2)
    made = plan(pair, env={"HSA_OVERRIDE_GFX_VERSION_3": "10.3.0"})
    assert [one for one in made.warnings if "GPU 1 (gfx1032) pass for gfx1030" in one]
    with pytest.raises(ImageError):
        plan(pair, env={"HSA_OVERRIDE_GFX_VERSION_2": "10.3.0"})


# Rule 8: a silent fall to the CPU is a failure.


def test_cpu_is_only_on_purpose_and_said() -> None:
    made = plan(TWO, request=REQUEST._replace(cpu=True))
    assert made.devices == ()
    assert made.groups == ()
    assert "on purpose" in why(made, "gpus")
    assert plan(TWO, gpus="none").devices == ()


def test_a_host_without_a_gpu_is_an_error_and_not_a_cpu_plan() -> None:
    with pytest.raises(HostError):
        plan(host())
    assert plan(host(), request=REQUEST._replace(cpu=True)).devices == ()


# Rule 9: nothing of the host's ROCm over the image's.


@pytest.mark.parametrize(
    "mount", ["/opt/rocm:/opt/rocm", "/opt/rocm-7.2.4:/opt/rocm-7.2.4:ro", "/x:/opt/rocm/lib", "/dev:/dev", "/x:/"]
)
def test_no_mount_covers_the_image_s_rocm(mount: str) -> None:
    with pytest.raises(UsageError, match="would cover"):
        plan(TWO, mounts=(mount,))


def test_no_plan_mounts_from_opt_rocm() -> None:
    assert not [one for one in plan(TWO).mounts if one.source.startswith("/opt/rocm")]


# Rule 10: everything carries its label.


def test_the_labels_name_what_made_it() -> None:
    labels = plan(TWO).labels
    assert {name: labels[name] for name in ("rocenv.project", "rocenv.name", "rocenv.profile", "rocenv.owner")} == {
        "rocenv.project": "demo", "rocenv.name": "pytorch", "rocenv.profile": "pytorch", "rocenv.owner": "1000",
    }  # fmt: skip
    assert {"rocenv.version", "rocenv.plan", "rocenv.gpus"} <= set(labels)
    assert plan(TWO, request=REQUEST._replace(name="two")).container == "rocenv-demo-two"


# Rule 11: secrets are in no argv, label or plan.


def test_a_variable_passed_by_name_leaves_no_value_anywhere() -> None:
    made = plan(TWO, env={"HF_TOKEN": "$HF_TOKEN"})
    assert made.env_names == ("HF_TOKEN",)
    assert "HF_TOKEN" not in made.env
    assert "--env=HF_TOKEN" in run_argv(made)


def test_a_secret_given_by_value_is_warned_of_and_shown_in_no_reason() -> None:
    made = plan(TWO, env={"HF_TOKEN": "hf_geheim"})
    assert [one for one in made.warnings if "HF_TOKEN" in one]
    assert "hf_geheim" not in str(made.reasons) + str(made.labels) + str(made.warnings)


# Rule 12: messages name what was found and one command that mends it. (Absent GPUs: test_absent.py.)


def test_every_choice_has_its_reason() -> None:
    made = plan(TWO, loosen=("ptrace",), env={"A": "1"}, mounts=("~/d:/d",))
    said = {one.choice for one in made.reasons}
    assert {"engine", "gpus", "image", "devices", "groups", "security", "shm_size", "user", "loosen", "env A"} <= said
    assert {"mount /workspace", "mount /d", "cache home", "cache miopen", "cache hf"} <= said
    assert all(one.why for one in made.reasons)


def test_an_assumed_engine_is_said() -> None:
    assert "assumed" in why(plan(TWO), "engine")
    assert "assumed" not in why(plan(TWO, engine=PODMAN), "engine")


# Rule 13: versions are no text, and previews do not outrank production.


def test_ten_is_newer_than_seven_and_previews_are_not_taken() -> None:
    chosen = plan(TWO._replace(driver=IN_TREE)).image
    assert chosen.rocm == "10.1.0"
    refused = {one.reference: one.why for one in plan(TWO, image=ImageWish("rocm/vllm")).refused}
    previews = [reason for name, reason in refused.items() if "rocm7.13.0" in name]
    assert previews
    assert all("preview" in reason for reason in previews)


# Engines on another kernel, and policies.


@pytest.mark.parametrize(
    ("facts", "said"),
    [({"desktop": True}, "Docker Desktop"), ({"remote": True, "endpoint": "ssh://u@gpu-box"}, "gpu-box")],
)
def test_an_engine_elsewhere_gets_no_facts_from_here(facts: dict[str, object], said: str) -> None:
    elsewhere = DOCKER._replace(assumed=False, **facts)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match=said):
        plan(TWO, engine=elsewhere)
    assert plan(TWO, engine=elsewhere, request=REQUEST._replace(cpu=True)).devices == ()


def live(where: Host) -> Host:
    return where._replace(name=None)


def test_an_engine_on_another_kernel_is_refused() -> None:
    with pytest.raises(EngineError, match="linuxkit"):
        plan(live(TWO), engine=EngineFacts("docker", kernel="5.15.49-linuxkit"))
    assert plan(live(TWO), engine=EngineFacts("docker", kernel="6.8.0-60-generic")).devices


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (PolicyWish(registries=("docker.io/other", "ghcr.io")), "docker.io/other"),
        (PolicyWish(loosen=("perf",)), "ptrace"),
        (PolicyWish(digests=True), "digest"),
    ],
)
def test_a_policy_is_kept(policy: PolicyWish, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        plan(TWO, policy=policy, loosen=("ptrace",))


def test_what_a_policy_allows_is_planned() -> None:
    allowed = PolicyWish(registries=("docker.io/rocm",), loosen=("ptrace",))
    assert plan(TWO, policy=allowed, loosen=("ptrace",)).cap_add == ("SYS_PTRACE",)


def test_the_caller_runs_in_it_with_a_home_that_can_be_written() -> None:
    made = plan(TWO)
    assert made.user == f"{CALLER.uid}:{CALLER.gid}"
    home = next(one for one in made.mounts if one.target == made.env["HOME"])
    assert home.kind == "volume"
    assert made.env["MIOPEN_USER_DB_PATH"] in {one.target for one in made.mounts}

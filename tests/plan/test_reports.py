"""Real problems that people reported, as far as a plan answers them; each named by its public thread."""

from __future__ import annotations

import pytest
from plan.made import CRUN, DOCKER, PODMAN, ROOTLESS_DOCKER, gpu, host, node, plan

from rocenv.errors import EngineError, ImageError
from rocenv.model.host import Caller, Driver, Host
from rocenv.model.plan import EngineFacts
from rocenv.model.wish import ImageWish
from rocenv.render.argv import run_argv

IN_TREE = Driver(loaded=True, version=None, origin="in-tree")
ANY = ImageWish(reference="x")


def one_gpu(gid: int, mode: int = 0o660, *, uid: int = 1000) -> Host:
    return host(
        [gpu(0)],
        devices=[node("/dev/kfd", gid, mode), node("/dev/dri/renderD128", gid, mode)],
        caller=Caller(uid, uid, ()),
    )


@pytest.mark.parametrize(
    ("thread", "gid", "reference", "user"),
    [
        ("ROCm/ROCm-docker#116", 109, "rocm/rocm-terminal:latest", "image"),
        ("ROCm/rocm-libraries#6563", 109, "rocm/pytorch:latest", "caller"),
        ("vllm-project/vllm#27881", 39, "x", "caller"),
        ("lemonade-sdk/lemonade#2857", 992, "x", "image"),
        ("ROCm/rocm-examples#172", 992, "x", "image"),
        ("truenas/apps#1100", 107, "ollama/ollama:rocm", "568:568"),
    ],
)
def test_the_node_s_group_is_given_by_number_whoever_the_image_runs_as(
    thread: str, gid: int, reference: str, user: str
) -> None:
    words = run_argv(plan(one_gpu(gid), image=ImageWish(reference=reference), user=user))
    assert {"--device=/dev/kfd", "--device=/dev/dri/renderD128", f"--group-add={gid}"} <= set(words)
    assert not {"--group-add=render", "--group-add=video", "--group-add=", "--privileged"} & set(words)


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        (DOCKER, "--group-add=105"),
        (CRUN, "--group-add=keep-groups"),
        (PODMAN, "--group-add=105"),
        (ROOTLESS_DOCKER._replace(gid_map=((0, 1000, 1), (1, 105, 1))), "--group-add=1"),
    ],
)
def test_the_words_for_groups_follow_the_engine_s_mode(engine: EngineFacts, expected: str) -> None:
    """lamikr/rocm_sdk_builder#247, Firstbober/rocm-pytorch-gfx803-docker#4, vllm-project/vllm#34573"""
    words = run_argv(plan(one_gpu(105), engine=engine, image=ANY))
    assert [word for word in words if word.startswith("--group-add")] == [expected]


def test_rootless_docker_without_the_group_in_subgid_stops() -> None:
    """ROCm with rootless docker: the node's group is unmapped, and shows as nogroup."""
    with pytest.raises(EngineError) as caught:
        plan(one_gpu(105), engine=ROOTLESS_DOCKER._replace(gid_map=((0, 1000, 1), (1, 100000, 65536))), image=ANY)
    assert "$USER:105:1" in str(caught.value.hint)


def test_a_rootless_subset_is_made_by_variable() -> None:
    """ROCm/legacy-rocm-build#2860"""
    four = host([gpu(n, unique_id=None) for n in range(4)])
    made = plan(four, engine=CRUN, gpus="0", image=ANY)
    assert made.env["ROCR_VISIBLE_DEVICES"] == "0"
    assert len(made.devices) == 5


def test_label_disable_and_no_relabelling_of_what_is_mounted() -> None:
    """containers/ramalama#525"""
    words = run_argv(plan(host([gpu(0)], selinux="enforcing"), engine=CRUN, image=ANY, mounts=("~/models:/models",)))
    assert "--security-opt=label=disable" in words
    assert not [word for word in words if ":Z" in word or ":z" in word]


def test_numa_by_name_and_never_seccomp_unconfined() -> None:
    """moby/moby#37241, ROCm/legacy-rocm-build#2067"""
    assert "--cap-add=SYS_NICE" in run_argv(plan(one_gpu(109), loosen=("numa",)))
    assert not {"--security-opt=seccomp=unconfined", "--privileged"} & set(run_argv(plan(one_gpu(109))))


def test_an_integrated_gpu_beside_a_discrete_one_is_left_out() -> None:
    """oobabooga/textgen#7319: the display's GPU was taken, and crashed."""
    gpus = [
        gpu(0, "gfx1100", render_node="/dev/dri/renderD129"),
        gpu(1, "gfx1036", kind="apu", render_node="/dev/dri/renderD128", unique_id=None),
    ]
    words = run_argv(plan(host(gpus, driver=IN_TREE), image=ANY))
    assert "--device=/dev/dri/renderD129" in words
    assert not {"--device=/dev/dri/renderD128", "--device=/dev/dri"} & set(words)


def test_the_discrete_gpu_is_chosen_by_uuid_where_devices_cannot() -> None:
    """A tool set HIP_VISIBLE_DEVICES=1 by an order of its own, and the program died with 139."""
    gpus = [gpu(0, "gfx1100", unique_id="abcdef0123456789"), gpu(1, "gfx1036", kind="apu", unique_id=None)]
    env = plan(host(gpus, driver=IN_TREE), engine=CRUN, image=ANY).env
    assert env["ROCR_VISIBLE_DEVICES"] == "GPU-abcdef0123456789"
    assert "HIP_VISIBLE_DEVICES" not in env


def test_an_index_inside_an_inherited_slice() -> None:
    """An absolute index was set again within a slice of the scheduler's."""
    eight = host([gpu(n) for n in range(8)], visible={"ROCR_VISIBLE_DEVICES": "0,3,4,5"})
    assert [one.index for one in plan(eight, gpus="1", image=ANY).gpus] == [3]


def test_a_render_node_that_moved() -> None:
    """A compose file named renderD128, and after a reboot that was the other GPU."""
    gpus = [gpu(0, bdf="0000:0b:00.0"), gpu(1, bdf="0000:03:00.0")]
    words = run_argv(plan(host(gpus), gpus="0000:03:00.0", image=ANY))
    assert "--device=/dev/dri/renderD129" in words
    assert "--device=/dev/dri/renderD128" not in words


def test_mi300_needs_six() -> None:
    """ROCm/ROCm-docker: the hub's text was old; gfx942 is in images from ROCm 6.0 on."""
    made = plan(host([gpu(0)], driver=IN_TREE), image=ImageWish("rocm/pytorch", rocm="<6.2"))
    assert made.image.rocm == "6.1"


def test_an_mi300_tag_on_a_radeon() -> None:
    """vLLM's mi300 image on an RX 7900 XT: no kernel for gfx1100 in it."""
    wish = ImageWish(reference="rocm/vllm:rocm6.3.1_mi300_ubuntu22.04_py3.12_vllm_0.6.6")
    assert [
        one
        for one in plan(host([gpu(0, "gfx1100")], driver=IN_TREE), image=wish).warnings
        if "no code for gfx1100" in one
    ]


def test_one_override_on_a_mixed_pair_hits_one_gpu_alone() -> None:
    pair = host([gpu(0, "gfx1100"), gpu(1, "gfx1032")], driver=IN_TREE)
    warnings = plan(pair, env={"HSA_OVERRIDE_GFX_VERSION_2": "10.3.0"}).warnings
    assert [one for one in warnings if "GPU 1 (gfx1032) pass for gfx1030" in one]
    assert not [one for one in warnings if "GPU 0" in one]


def test_shared_memory_for_tensor_parallel_runs() -> None:
    """vllm-project/vllm#1710"""
    words = run_argv(plan(host([gpu(0), gpu(1)], memory_bytes=128 << 30)))
    assert "--shm-size=16g" in words
    assert "--ipc=host" not in words


def test_arm_hosts_are_told_before_a_pull() -> None:
    with pytest.raises(ImageError, match="amd64"):
        plan(host([gpu(0, "gfx1100")], machine="aarch64"))


def test_a_driver_that_does_not_list_the_image_s_release() -> None:
    """Which user space goes with which driver: a warning for a named image, and never such a choice."""
    old = Driver(loaded=True, version="6.7.0", origin="dkms")
    named = plan(
        host([gpu(0)], driver=old),
        image=ImageWish(reference="rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.10.0"),
    )
    assert [one for one in named.warnings if "driver 6.1" in one]
    assert plan(host([gpu(0)], driver=old)).image.rocm == "6.3.3"


def test_the_miopen_cache_can_be_written_by_the_caller() -> None:
    """ROCm/MIOpen#1878"""
    made = plan(one_gpu(109))
    assert {made.env["MIOPEN_USER_DB_PATH"], made.env["MIOPEN_CUSTOM_CACHE_DIR"]} <= {
        one.target for one in made.mounts if one.kind == "volume"
    }

"""What changed between a container and a plan, and what of it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocenv.lifecycle.decided import changes, decided, labelled, moved
from rocenv.model.plan import EngineFacts, GpuRef, ImageChoice, Mount, Plan
from rocenv.model.proof import Environment

GPU = GpuRef(0, "gfx942", "0000:05:00.0", 0, "GPU-0123456789abcdef", "/dev/dri/renderD128", "MI300X")


def plan(**changed: object) -> Plan:
    base = Plan(
        profile="hip", project="demo", name="hip", engine=EngineFacts("docker"),
        image=ImageChoice("rocm/dev:7.1", "catalog"), gpus=(GPU,), devices=("/dev/null", "/dev/zero"), groups=(44, 993),
        keep_groups=False, env={"A": "1", "TOKEN": "s3cret"}, mounts=(Mount("bind", "/home/me/demo", "/workspace"),),
        security=("no-new-privileges",), cap_add=(), ipc="private", shm_size=1 << 30, ports=(), user="1000:1000",
        workdir="/workspace", labels={"rocenv.plan": "new"}, smoke_level="kernel",
    )  # fmt: skip
    return labelled(base._replace(**changed))  # type: ignore[arg-type]


def there(made_by: Plan, **labels: str) -> Environment:
    return Environment(
        container="rocenv-demo-hip", id="1", name="hip", project="demo", profile="hip", state="running",
        reference="rocm/dev:7.1", digest=None, plan="old", gpus="", owner="1000", created=None,
        labels={**made_by.labels, **labels},
    )  # fmt: skip


def test_the_same_plan_changed_nothing() -> None:
    same = plan()
    assert changes(there(same)._replace(plan="new"), same) == []


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"image": ImageChoice("rocm/dev:7.2", "catalog")}, "image: rocm/dev:7.1 → rocm/dev:7.2"),
        ({"gpus": ()}, "gpus: − 0000:05:00.0"),
        ({"gpus": (GPU, GPU._replace(bdf="0000:26:00.0"))}, "gpus: + 0000:26:00.0"),
        ({"env": {"A": "2", "TOKEN": "s3cret"}}, "env: A"),
        ({"env": {"A": "1"}}, "env: TOKEN"),
        ({"mounts": (Mount("bind", "/home/me/demo", "/workspace", read_only=True),)},
         "mounts: + /home/me/demo:/workspace:ro, − /home/me/demo:/workspace"),
        ({"ipc": "host"}, "ipc: private → host"),
        ({"shm_size": None}, "shm_size: 1073741824 → none"),
        ({"user": None}, "user: 1000:1000 → none"),
        ({"ports": ("127.0.0.1:8888:8888",)}, "ports: + 127.0.0.1:8888:8888"),
        ({"cap_add": ("SYS_PTRACE",)}, "cap_add: + SYS_PTRACE"),
    ],
)  # fmt: skip
def test_what_changed_is_told(changed: dict[str, object], line: str) -> None:
    assert changes(there(plan()), plan(**changed)) == [line]


def test_values_of_variables_stand_in_no_label() -> None:
    assert "s3cret" not in str(plan().labels)


def test_node_numbers_gids_and_reasons_are_not_a_decision() -> None:
    assert decided(plan()) == decided(plan(devices=("/dev/full",), groups=(1,), warnings=("w",)))


@pytest.mark.parametrize("label", ["", "{", "[]", '"x"', "3"])
def test_a_label_that_says_nothing_is_no_crash(label: str) -> None:
    assert changes(there(plan(), **{"rocenv.decided": label}), plan())
    assert moved(there(plan(), **{"rocenv.nodes": label}), plan()) == []


def test_devices_that_stayed_have_not_moved() -> None:
    assert moved(there(plan()), plan()) == []


def test_another_number_under_the_same_path_has_moved(tmp_path: Path) -> None:
    link = tmp_path / "kfd"
    link.symlink_to("/dev/null")  # major 1, minor 3
    made = plan(devices=(str(link),))
    link.unlink()
    link.symlink_to("/dev/zero")  # minor 5
    assert moved(there(made), plan(devices=(str(link),))) == [f"devices: {link}"]


def test_another_path_has_moved() -> None:
    assert moved(there(plan()), plan(devices=("/dev/null", "/dev/full"))) == ["devices: /dev/full, /dev/zero"]


def test_another_group_has_moved() -> None:
    assert moved(there(plan()), plan(groups=(44, 110))) == ["groups: + 110, − 993"]


def test_a_device_that_is_gone_has_moved(tmp_path: Path) -> None:
    node = tmp_path / "kfd"
    node.symlink_to("/dev/null")
    made = plan(devices=(str(node),))
    node.unlink()
    assert moved(there(made), plan(devices=(str(node),))) == [f"devices: {node}"]


@pytest.mark.parametrize(
    "label",
    ["[" * 20_000, '{"env": ' * 900 + "1" + "}" * 900, "null", "[1,2]",
     '{"env": 5, "gpus": {"a": NaN}, "mounts": "x"}',
     '{"devices": [1, [2]], "groups": {"a": 1}}', '{"devices": 7, "groups": Infinity, "image": [1]}'],
)  # fmt: skip
def test_a_label_of_another_shape_is_a_difference_and_no_fault(label: str) -> None:
    old = there(plan(), **{"rocenv.decided": label, "rocenv.nodes": label})
    assert all(isinstance(line, str) for line in (*changes(old, plan()), *moved(old, plan())))
    assert changes(old, plan()) != []

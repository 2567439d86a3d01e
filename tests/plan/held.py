"""The rules that hold for every plan, whatever the host, the engine and the wish."""

from __future__ import annotations

from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts, Plan
from rocenv.render.argv import run_argv


def check(made: Plan, where: Host, engine: EngineFacts) -> None:
    """Assert the rules on one plan."""
    words = run_argv(made)
    devices = [word.removeprefix("--device=") for word in words if word.startswith("--device=")]
    assert tuple(devices) == made.devices
    assert len(set(devices)) == len(devices)
    assert not [path for path in devices if "/card" in path or path == "/dev/dri"]
    assert "--privileged" not in words
    assert "--security-opt=no-new-privileges" in words
    nodes = [found for path in devices if (found := where.device(path))]
    assert len(nodes) == len(devices)
    assert not [found for found in nodes if found.refused_by not in (None, "EACCES")]
    if made.gpus:
        assert devices[0] == "/dev/kfd"
        assert {one.render_node for one in made.gpus} <= set(devices)
    else:
        assert devices == []
    if not engine.rootless:
        assert set(devices[1:]) == {one.render_node for one in made.gpus}
        assert set(made.groups) == {found.gid for found in nodes} - {0}
        assert made.visible_indices is None
    else:
        assert all(found.accessible for found in nodes)
        assert (made.visible_indices is None) == (len(made.gpus) in (0, len(devices) - 1))
    assert 0 not in made.groups
    assert len([name for name in made.env if name.endswith("VISIBLE_DEVICES")]) <= 1
    assert made.shm_size is not None
    assert made.shm_size <= min(16 << 30, (where.memory_bytes or 1 << 40) // 2)
    assert [one.index for one in made.gpus] == sorted(one.index for one in made.gpus)
    assert all(one.why and one.choice for one in made.reasons)
    assert not [
        one
        for one in words
        if one.startswith("--group-add=") and not one.partition("=")[2].isdecimal() and one != "--group-add=keep-groups"
    ]

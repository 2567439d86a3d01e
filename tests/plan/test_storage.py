"""Mounts and cache volumes: where they come from, what they are shared with."""

from __future__ import annotations

import pytest
from plan.made import CALLER, REQUEST, gpu, host, plan

from rocenv.errors import UsageError
from rocenv.model.host import Caller, Host
from rocenv.model.plan import Mount
from rocenv.model.wish import ImageWish

ONE = host([gpu(0)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/data:/data", Mount("bind", "/data", "/data")),
        ("/data:/data:ro", Mount("bind", "/data", "/data", read_only=True)),
        ("/data:/data:rw", Mount("bind", "/data", "/data")),
        ("~/models:/models:ro", Mount("bind", "/home/u/models", "/models", read_only=True)),
        ("~:/me", Mount("bind", "/home/u", "/me")),
        ("./data:/data", Mount("bind", "/home/u/demo/data", "/data")),
        (".:/here", Mount("bind", "/home/u/demo", "/here")),
        ("../other:/other", Mount("bind", "/home/u/other", "/other")),
        ("/a//b/./c/..:/x", Mount("bind", "/a/b", "/x")),
        ("weights:/weights", Mount("volume", "weights", "/weights")),
        ("/with space:/x", Mount("bind", "/with space", "/x")),
    ],
)
def test_mounts_are_read(text: str, expected: Mount) -> None:
    assert plan(ONE, mounts=(text,)).mounts[-1] == expected


@pytest.mark.parametrize("text", ["", "/data", "/data:data", ":/data", "a/b:/data", "$HOME:/x", "-v:/x"])
def test_what_is_no_mount_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError):
        plan(ONE, mounts=(text,))


def test_two_mounts_at_one_place_are_refused() -> None:
    for second in ("/b:/data", "/b:/data/", "/b:/workspace"):
        with pytest.raises(UsageError, match="both"):
            plan(ONE, mounts=("/a:/data", second))


def test_a_home_that_is_not_known_is_said() -> None:
    with pytest.raises(UsageError, match="HOME"):
        plan(ONE, mounts=("~/x:/x",), request=REQUEST._replace(home=None))


def test_the_project_is_the_workspace() -> None:
    made = plan(ONE)
    assert made.mounts[0] == Mount("bind", "/home/u/demo", "/workspace")
    assert made.workdir == "/workspace"


def test_a_project_that_is_everything_is_refused_and_one_that_is_home_is_said() -> None:
    with pytest.raises(UsageError, match="whole file system"):
        plan(ONE, request=REQUEST._replace(project_folder="/"))
    assert [one for one in plan(ONE, request=REQUEST._replace(project_folder="/home/u")).warnings if "home" in one]


def volumes(where: Host = ONE, **wishes: object) -> dict[str, str]:
    made = plan(where, **wishes)  # type: ignore[arg-type]
    return {one.source.split("-")[2]: one.source for one in made.mounts if one.kind == "volume"}


def differing(one: dict[str, str], other: dict[str, str]) -> set[str]:
    return {kind for kind in one if one[kind] != other[kind]}


def test_kernel_caches_belong_to_targets_and_release() -> None:
    assert differing(volumes(), volumes(host([gpu(0, "gfx1100")]))) == {"miopen"}
    assert differing(volumes(), volumes(image=ImageWish("rocm/pytorch", rocm="7.2"))) == {"miopen"}
    assert differing(volumes(), volumes(host([gpu(0), gpu(1)]))) == set()


def test_home_belongs_to_the_environment_and_downloads_to_the_user() -> None:
    assert differing(volumes(), volumes(request=REQUEST._replace(name="two"))) == {"home"}
    assert differing(volumes(), volumes(request=REQUEST._replace(project="other"))) == {"home"}


def test_nothing_is_shared_between_users() -> None:
    somebody = ONE._replace(caller=Caller(1001, 1001, CALLER.groups))
    assert differing(volumes(), volumes(somebody)) == {"home", "miopen", "hf"}
    assert differing(volumes(), volumes(user="root")) == {"home", "miopen", "hf"}


def test_names_are_fit_for_volumes() -> None:
    assert all(name.startswith(f"rocenv-cache-{kind}-") for kind, name in volumes().items())


def test_without_a_known_user_there_are_no_caches() -> None:
    made = plan(ONE, user="image", image=ImageWish(reference="example/own"))
    assert made.user is None
    assert not [one for one in made.mounts if one.kind == "volume"]
    assert "HOME" not in made.env


def test_every_cache_kind_of_the_schema_has_its_place() -> None:
    from rocenv.plan.storage import CACHES
    from rocenv.profile.keys import CACHES as KINDS

    assert set(CACHES) == set(KINDS)
    assert len({one.target for one in CACHES.values()}) == len(CACHES)


def test_a_wish_for_a_path_that_no_command_line_can_carry_is_refused() -> None:
    with pytest.raises(UsageError, match="colon and a comma"):
        plan(ONE, request=REQUEST._replace(project_folder="/a,b:c"))


@pytest.mark.parametrize("target", ["/b/../dev", "//dev", "/b/../opt/rocm", "/dev/./x", "/b/..", "/opt//rocm"])
def test_a_target_is_judged_by_where_it_leads(target: str) -> None:
    with pytest.raises(UsageError, match="would cover"):
        plan(ONE, mounts=(f"/data:{target}",))


def test_two_spellings_of_one_target_are_one() -> None:
    with pytest.raises(UsageError, match="both be mounted"):
        plan(ONE, mounts=("/one:/data", "/two:/b/..//data/"))


def test_a_training_image_s_own_workspace_is_covered_and_that_is_said() -> None:
    # Primus lies in /workspace of its images (AMD-AGI/Primus, Dockerfile.primus-v26.5).
    primus = plan(host([gpu(0)]), image=ImageWish("rocm/primus"))
    assert [one for one in primus.warnings if "/workspace" in one]
    assert not [one for one in plan(host([gpu(0)])).warnings if "/workspace" in one]

"""`up` on a real Docker: made once, used again, changed only with consent, and never what is not ours."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rocenv.errors import EngineError, ImageError, UsageError
from rocenv.lifecycle.up import look
from rocenv.model.plan import EngineFacts, ImageChoice, Mount

if TYPE_CHECKING:
    from lifecycle.conftest import Life

pytestmark = pytest.mark.engine


def docker(*arguments: str) -> str:
    import subprocess

    return subprocess.run(["docker", *arguments], check=True, capture_output=True, text=True).stdout


def gone(container: str) -> None:
    """Wait until one that was killed has ended: newer engines answer before that."""
    docker("wait", container)


def test_up_makes_the_container_and_up_again_uses_it(life: Life) -> None:
    first = life.up()
    assert (first.action, first.environment.state) == ("created", "running")
    again = life.up()
    assert (again.action, again.environment.id) == ("used", first.environment.id)
    [there] = life.containers()
    assert (there["Id"], there["State"]["Running"]) == (first.environment.id, True)
    assert there["Name"] == f"/rocenv-{life.project}-hip"
    assert there["Config"]["Labels"]["rocenv.plan"] == "p1"


def test_what_up_returns_is_what_the_engine_lists(life: Life) -> None:
    made = life.up().environment
    [listed] = life.engine.find(project=life.project)
    assert (made.container, made.id, made.plan, made.owner) == (listed.container, listed.id, listed.plan, listed.owner)
    assert made.labels == {key: value for key, value in listed.labels.items() if key in made.labels}
    seen = look(life.engine, made)
    assert seen.digest is not None
    pulled = docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", life.image)
    assert pulled.strip().endswith(f"@{seen.digest}")
    assert (seen.id, seen.state, seen.labels) == (listed.id, "running", listed.labels)


def test_one_that_does_not_stay_is_told(life: Life) -> None:
    made = life.up().environment
    docker("kill", made.id)
    gone(made.id)
    with pytest.raises(ImageError, match="did not stay"):
        look(life.engine, made)


def test_a_changed_plan_is_refused_where_nobody_can_be_asked(life: Life) -> None:
    first = life.up()
    with pytest.raises(UsageError, match=r"env: A") as refused:
        life.up(life.plan(hashed="p2", env={"A": "1"}))
    assert refused.value.hint is not None
    assert "--recreate" in refused.value.hint
    [there] = life.containers()
    assert (there["Id"], there["State"]["Running"]) == (first.environment.id, True)


@pytest.mark.parametrize("yes", [True, False])
def test_a_changed_plan_is_asked_about(life: Life, *, yes: bool) -> None:
    first = life.up()
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return yes

    changed = life.plan(hashed="p2", env={"A": "1"})
    if yes:
        assert life.up(changed, ask=ask).action == "recreated"
    else:
        with pytest.raises(UsageError):
            life.up(changed, ask=ask)
    assert len(asked) == 1
    assert "  env: A" in life.told
    [there] = life.containers()
    assert (there["Id"] != first.environment.id) is yes
    assert ("A=1" in there["Config"]["Env"]) is yes


def test_recreate_asks_nobody(life: Life) -> None:
    first = life.up()
    assert life.up(recreate=True).action == "recreated"
    [there] = life.containers()
    assert there["Id"] != first.environment.id


@pytest.mark.parametrize("verb", ["stop", "pause", "kill"])
def test_one_that_does_not_run_is_started(life: Life, verb: str) -> None:
    first = life.up()
    docker(verb, first.environment.id)
    if verb == "kill":
        gone(first.environment.id)
    again = life.up()
    assert (again.action, again.environment.id) == ("started", first.environment.id)
    [there] = life.containers()
    assert (there["State"]["Running"], there["State"]["Paused"]) == (True, False)


def test_one_that_was_left_created_is_completed(life: Life) -> None:
    first = life.up()
    labels = [f"--label={key}={value}" for key, value in first.environment.labels.items()]
    docker("rm", "-f", first.environment.id)
    docker("create", "--name", first.environment.container, *labels, life.image, "sleep", "infinity")
    assert life.up().action == "started"
    [there] = life.containers()
    assert there["State"]["Running"]


def test_one_that_was_left_created_and_cannot_start_is_made_anew(life: Life) -> None:
    first = life.up()
    labels = [f"--label={key}={value}" for key, value in first.environment.labels.items()]
    docker("rm", "-f", first.environment.id)
    docker("create", "--name", first.environment.container, *labels, "--device=/dev/rocenv-none", life.image)
    assert life.up().action == "recreated"
    [there] = life.containers()
    assert there["State"]["Running"]


class TestRenumberedDevices:
    """A path whose node has another number now, as after a reboot or a driver's reload."""

    def renumber(self, life: Life, folder: Path) -> Any:
        link = folder / "kfd"
        link.symlink_to("/dev/null")
        plan = life.plan(devices=(str(link),))
        life.up(life.plan())
        labels = dict(life.containers()[0]["Config"]["Labels"])
        docker("rm", "-f", f"rocenv-{life.project}-hip")
        labels["rocenv.nodes"] = f'{{"devices":{{"{link}":"1:99"}},"groups":[]}}'
        words = [f"--label={key}={value}" for key, value in labels.items()]
        docker("run", "-d", f"--name=rocenv-{life.project}-hip", *words, life.image, "sleep", "infinity")
        return plan

    def test_a_running_container_is_not_taken_away_unasked(self, life: Life, tmp_path: Path) -> None:
        plan = self.renumber(life, tmp_path)
        with pytest.raises(UsageError, match="devices"):
            life.up(plan)

    def test_a_stopped_one_is_made_anew(self, life: Life, tmp_path: Path) -> None:
        self.renumber(life, tmp_path)
        docker("kill", f"rocenv-{life.project}-hip")
        gone(f"rocenv-{life.project}-hip")
        assert life.up(life.plan()).action == "recreated"
        assert any("other device numbers" in line for line in life.told)


def test_a_foreign_container_of_that_name_is_left_alone(life: Life) -> None:
    identity = docker("run", "-d", "--name", f"rocenv-{life.project}-hip", life.image, "sleep", "infinity").strip()
    with pytest.raises(EngineError, match="did not make"):
        life.up(recreate=True)
    assert docker("inspect", "--format", "{{.State.Running}}", identity).strip() == "true"


def test_another_users_environment_is_left_alone(life: Life) -> None:
    plan = life.plan()
    first = life.up(life.plan(labels={**plan.labels, "rocenv.owner": "4321"}))
    with pytest.raises(EngineError, match="another user"):
        life.up(recreate=True)
    [there] = life.containers()
    assert there["Id"] == first.environment.id


def test_a_start_that_fails_leaves_no_container(life: Life) -> None:
    with pytest.raises(EngineError, match="/dev/rocenv-none"):
        life.up(life.plan(devices=("/dev/rocenv-none",)))
    assert life.containers() == []


def test_a_registry_that_is_dead_is_told(life: Life) -> None:
    with pytest.raises(ImageError, match="cannot be reached") as told:
        life.up(life.plan(image=ImageChoice("127.0.0.1:1/rocm/none:1", "flag")))
    assert "connection refused" in told.value.message
    assert life.containers() == []


def test_what_is_no_reference_is_told(life: Life) -> None:
    with pytest.raises(UsageError, match="no image reference"):
        life.up(life.plan(image=ImageChoice("NOT/A Reference", "flag")))


def test_what_cannot_fit_is_refused_before_the_pull(life: Life) -> None:
    image = ImageChoice("127.0.0.1:1/rocm/huge:1", "flag", size_bytes=1 << 60)
    with pytest.raises(EngineError, match=r"needs about 1024 PiB") as told:
        life.up(life.plan(image=image, engine=EngineFacts("docker", data_root="/")))
    assert "and / has" in told.value.message
    assert life.pulled == []


MANY = 20  # 50 do as well; these are as many as a small machine bears in a few seconds


def test_many_at_once_make_one_container_and_all_succeed(life: Life) -> None:
    came: list[Any] = []

    def one() -> None:
        try:
            came.append(life.up(life.cached()).environment.id)
        except Exception as error:
            came.append(error)

    threads = [threading.Thread(target=one) for _ in range(MANY)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [there] = life.containers()
    assert came == [there["Id"]] * MANY
    assert [name for name in life.volumes() if name.endswith(".new")] == []


def test_the_old_container_stays_where_the_new_one_cannot_be_made(life: Life, tmp_path: Path) -> None:
    first = life.up()
    with pytest.raises(UsageError, match=r"gone`, to be mounted at `/data`, does not exist"):
        life.up(life.plan(mounts=(Mount("bind", str(tmp_path / "gone"), "/data"),)), recreate=True)
    with pytest.raises((ImageError, EngineError)):
        life.up(life.plan(image=ImageChoice("127.0.0.1:1/nobody/has:it", "flag")), recreate=True)
    [there] = life.containers()
    assert (there["Id"], there["State"]["Running"]) == (first.environment.id, True)


class TestCaches:
    def test_new_volumes_carry_labels_and_belong_to_the_user(self, life: Life) -> None:
        life.up(life.cached())
        assert life.volumes() == [f"rocenv-cache-a-{life.project}", f"rocenv-cache-b-{life.project}"]
        for name in life.volumes():
            assert docker("volume", "inspect", "--format", '{{index .Labels "rocenv.owner"}}', name).strip() == str(
                os.getuid()
            )
        assert life.inside(
            "echo x > /cache/a/x && echo x > /cache/b/x && stat -c %u:%g /cache/a /cache/b /cache/a/x"
        ) == ("1234:1234\n1234:1234\n1234:1234")

    def test_they_stay_when_the_container_is_made_anew(self, life: Life) -> None:
        life.up(life.cached())
        life.inside("echo kept > /cache/a/x")
        life.up(life.cached(), recreate=True)
        assert life.inside("cat /cache/a/x") == "kept"

    def test_one_that_was_left_unready_is_handed_over_at_the_next_up(self, life: Life) -> None:
        [name, other] = [f"rocenv-cache-{kind}-{life.project}" for kind in "ab"]
        for volume in (name, f"{name}.new", other):
            docker("volume", "create", "--label=rocenv.version=0", volume)
        life.up(life.cached())
        assert life.inside("stat -c %u /cache/a") == "1234"
        assert life.volumes() == [name, other]

    def test_an_image_without_chown_is_no_failure(self, life: Life) -> None:
        bare = f"rocenv-test/bare:{life.project}"
        docker("import", os.devnull, bare)
        try:
            life.up(life.cached(image=ImageChoice(bare, "flag")))
            assert any("read-only for user 1234:1234" in line for line in life.told)
        finally:
            docker("rm", "-f", f"rocenv-{life.project}-hip")
            docker("rmi", bare)


def test_of_a_container_that_is_gone_nothing_is_known(life: Life) -> None:
    """Docker answers for one that another process has just removed with an empty line."""
    gone = ["0" * 64]
    assert life.engine.mounted(gone) == []
    assert life.engine.digests(gone) == {}
    assert life.engine.made_of(gone) == {}

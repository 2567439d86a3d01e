"""The commands of an environment's life, typed by a user on the test bed: files, devices, statuses, other people's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import CompletedProcess
from typing import TYPE_CHECKING, Any

import pytest
from bed.demo import ROCENV

if TYPE_CHECKING:
    from conftest import TestBed

pytestmark = pytest.mark.engine


@pytest.fixture
def running(home: TestBed) -> TestBed:
    """The same with its environment up, not tested."""
    assert_well(home.rocenv("up", "--no-test"))
    return home


def assert_well(done: CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def containers(bed: TestBed) -> list[str]:
    """The names of all containers of the project, in any state."""
    return bed.docker("ps", "-a", f"--filter=name={bed.project.name}", "--format", "{{.Names}}").stdout.split()


def test_up_answers_in_json_what_it_came_to(home: TestBed) -> None:
    answer = json.loads(assert_well(home.rocenv("up", "--no-test", "--json")))
    assert (answer["version"], answer["status"], answer["action"], answer["proof"]) == (1, "ok", "created", None)
    name = home.project.name
    assert answer["container"] == f"rocenv-{name}-{answer['environment']['name']}"
    assert (answer["environment"]["project"], answer["environment"]["state"]) == (name, "running")
    assert [gpu["bdf"] for gpu in answer["environment"]["gpus"]] == [gpu["bdf"] for gpu in answer["plan"]["gpus"]]
    assert len(answer["plan"]["gpus"]) == 4
    assert json.loads(assert_well(home.rocenv("up", "--no-test", "--json")))["action"] == "used"
    assert containers(home) == [answer["container"]]


def test_what_the_plan_shows_is_what_runs(running: TestBed) -> None:
    plan = json.loads(assert_well(running.rocenv("plan", "--json")))
    [there] = json.loads(running.docker("inspect", plan["container"]).stdout)
    assert [device["PathOnHost"] for device in there["HostConfig"]["Devices"]] == plan["devices"]
    assert there["HostConfig"]["GroupAdd"] == [str(gid) for gid in plan["groups"]]
    assert set(plan["labels"].items()) <= set(there["Config"]["Labels"].items())
    assert there["HostConfig"]["Privileged"] is False


def test_dry_run_shows_the_plan_and_starts_nothing(home: TestBed) -> None:
    shown = assert_well(home.rocenv("up", "--dry-run"))
    assert shown == assert_well(home.rocenv("plan"))
    assert containers(home) == []


def test_up_says_the_gpus_the_image_and_how_to_go_on(home: TestBed, small_image: str) -> None:
    said = home.rocenv("up", "--no-test").stderr
    assert re.search(r"^gpus .*4 × AMD Instinct MI300X.*gfx942: 0, 1, 2, 3", said, re.MULTILINE)
    assert re.search(rf"^image .*{re.escape(small_image)}", said, re.MULTILINE)
    assert "`rocenv shell`" in said


class TestInside:
    def test_files_belong_to_the_caller(self, running: TestBed) -> None:
        assert_well(running.rocenv("exec", "--", "sh", "-c", "echo x > /workspace/made && echo x > $HOME/made"))
        owner = running.project.stat()
        made = (running.project / "made").stat()
        assert (made.st_uid, made.st_gid) == (owner.st_uid, owner.st_gid)

    def test_the_nodes_groups_are_there_by_number(self, running: TestBed) -> None:
        plan = json.loads(running.rocenv("plan", "--json").stdout)
        inside = assert_well(running.rocenv("exec", "--", "id", "-G")).split()
        assert {str(gid) for gid in plan["groups"]} <= set(inside)
        assert len(plan["groups"]) == 2  # the bed's kfd and render nodes have different ones, and no name

    def test_a_chosen_device_opens_and_another_is_denied_by_its_number(self, home: TestBed) -> None:
        assert_well(home.rocenv("up", "--no-test", "--gpus", "0"))
        gpus = json.loads(home.run("env", str(ROCENV), "detect", "--json").stdout)["gpus"]
        chosen, other = gpus[0]["render_node"], gpus[1]["render_node"]
        assert_well(home.rocenv("exec", "--", "sh", "-c", f": <> /dev/kfd && : <> {chosen}"))
        numbers = home.run("stat", "-c", "%t %T", other).stdout.split()
        major, minor = (int(word, 16) for word in numbers)
        script = f"mknod /tmp/node c {major} {minor} && : <> /tmp/node"
        denied = home.rocenv("exec", "-u", "root", "--", "sh", "-c", script)
        assert denied.returncode != 0
        assert "Operation not permitted" in denied.stderr
        assert home.rocenv("exec", "--", "test", "-e", other).returncode == 1

    @pytest.mark.parametrize(
        ("script", "status"), [("true", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)]
    )
    def test_exec_passes_the_status_on(self, running: TestBed, script: str, status: int) -> None:
        assert running.rocenv("exec", "--", "sh", "-c", script).returncode == status

    def test_options_behind_the_dashes_are_the_commands_own(self, running: TestBed) -> None:
        assert assert_well(running.rocenv("exec", "--", "echo", "--help", "-e", "--", "x")) == "--help -e -- x\n"

    def test_variables_user_and_folder(self, running: TestBed) -> None:
        run = replace(running, variables={"PASSED": "by name"})
        script = 'echo "$SET,$PASSED,$(id -u),$PWD"'
        done = run.rocenv("exec", "-e", "SET=here", "-e", "PASSED", "-u", "0", "-w", "/tmp", "--", "sh", "-c", script)
        assert assert_well(done) == "here,by name,0,/tmp\n"

    def test_a_shell_takes_a_script_from_a_pipe(self, running: TestBed) -> None:
        done = running.run("sh", "-c", f"echo 'echo $PWD; exit 3' | {ROCENV} shell")
        assert (done.stdout, done.returncode) == ("/workspace\n", 3)

    def test_words_before_the_dashes_are_told(self, running: TestBed) -> None:
        done = running.rocenv("exec", "ls", "-l")
        assert done.returncode == 125
        assert "`-l` stands before `--`" in done.stderr
        assert "-- python train.py" in done.stderr


class TestRun:
    def test_the_status_passes_and_the_container_goes(self, home: TestBed) -> None:
        done = home.rocenv("run", "--", "sh", "-c", "echo out; echo err >&2; touch /workspace/x; exit 7")
        assert (done.returncode, done.stdout) == (7, "out\n")
        assert "err\n" in done.stderr
        assert (home.project / "x").stat().st_uid == home.project.stat().st_uid
        assert containers(home) == []

    def test_beside_the_environment_and_with_its_home(self, running: TestBed) -> None:
        assert_well(running.rocenv("exec", "--", "sh", "-c", "echo mine > $HOME/note"))
        assert assert_well(running.rocenv("run", "--", "sh", "-c", "cat $HOME/note")) == "mine\n"
        assert len(containers(running)) == 1

    def test_input_is_the_commands(self, home: TestBed) -> None:
        done = home.run("sh", "-c", f"echo typed | {ROCENV} run -- cat")
        assert assert_well(done) == "typed\n"

    def test_what_does_not_start_is_125_and_leaves_nothing(self, home: TestBed) -> None:
        done = home.rocenv("run", "--image", "127.0.0.1:1/rocm/none:1", "--", "true")
        assert done.returncode == 125
        assert "connection refused" in done.stderr
        assert containers(home) == []


class TestWhichOne:
    def test_of_several_the_name_is_asked_for(self, running: TestBed) -> None:
        assert_well(running.rocenv("up", "--no-test", "--name", "second", "--gpus", "1"))
        done = running.rocenv("exec", "--", "true")
        assert done.returncode == 125
        assert "2 environments" in done.stderr
        assert "`second`" in done.stderr
        assert_well(running.rocenv("exec", "second", "--", "true"))
        assert_well(running.rocenv("down", "second"))
        assert_well(running.rocenv("exec", "--", "true"))

    def test_none_is_told(self, home: TestBed) -> None:
        done = home.rocenv("exec", "--", "true")
        assert done.returncode == 125
        assert "no environment" in done.stderr
        assert "rocenv up" in done.stderr

    def test_one_that_is_stopped_is_told(self, running: TestBed) -> None:
        running.docker("stop", "-t", "0", *containers(running))
        done = running.rocenv("exec", "--", "true")
        assert done.returncode == 125
        assert "does not run (it is exited)" in done.stderr

    def test_from_a_folder_below(self, running: TestBed) -> None:
        below = running.project / "a" / "b"
        below.mkdir(parents=True)
        assert_well(replace(running, project=below).rocenv("exec", "--", "true"))


class TestPs:
    def rows(self, bed: TestBed) -> list[dict[str, Any]]:
        answer = json.loads(assert_well(bed.rocenv("ps", "--json")))
        assert (answer["version"], answer["status"]) == (1, "ok")
        return [row for row in answer["environments"] if row["project"] == bed.project.name]

    def test_an_environment_with_all_that_is_known_of_it(self, running: TestBed, small_image: str) -> None:
        [row] = self.rows(running)
        assert set(row) >= {
            "name", "project", "profile", "container", "state", "gpus", "reference", "digest", "created", "proof",
            "drift",
        }  # fmt: skip
        assert (row["state"], row["reference"], row["drift"], row["proof"]) == ("running", small_image, [], None)
        assert [gpu["index"] for gpu in row["gpus"]] == [0, 1, 2, 3]
        assert set(row["gpus"][0]) == {"index", "gfx", "bdf", "partition", "uuid", "render_node"}
        pulled = running.docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", small_image).stdout
        assert row["digest"] == pulled.strip().partition("@")[2]
        assert row["container"] in assert_well(running.rocenv("ps"))

    def test_a_container_of_others_is_not_listed(self, running: TestBed, small_image: str) -> None:
        name = f"other-{running.project.name}"
        running.docker("run", "-d", "--name", name, f"--label=rocenv.project={running.project.name}", small_image)
        try:
            assert len(self.rows(running)) == 1
        finally:
            running.docker("rm", "-f", name)

    def test_a_gpu_that_is_another_now_is_drift(self, home: TestBed, small_image: str) -> None:
        gone = {"index": 0, "gfx": "gfx942", "bdf": "0000:ff:00.0", "partition": 0, "uuid": None, "render_node": "/x"}
        labels = {"version": "0", "project": home.project.name, "name": "old", "gpus": json.dumps([gone])}
        words = [f"--label=rocenv.{key}={value}" for key, value in labels.items()]
        home.docker("run", "-d", "--name", f"rocenv-{home.project.name}-old", *words, small_image)
        try:
            [row] = self.rows(home)
            assert row["drift"] == ["GPU 0000:ff:00.0 is gone"]
        finally:
            home.docker("rm", "-f", f"rocenv-{home.project.name}-old")


class TestDown:
    def test_it_leaves_nothing_and_says_so(self, running: TestBed) -> None:
        [name] = containers(running)
        done = running.rocenv("down", "--volumes")
        assert f"removed {name}" in done.stderr
        assert containers(running) == []
        again = running.rocenv("down", "--volumes")
        assert (again.returncode, again.stderr) == (0, "nothing to remove\n")

    def test_caches_stay_unless_asked(self, running: TestBed) -> None:
        assert_well(running.rocenv("exec", "--", "sh", "-c", "echo kept > $HOME/x"))
        assert_well(running.rocenv("down"))
        assert_well(running.rocenv("up", "--no-test"))
        assert assert_well(running.rocenv("exec", "--", "sh", "-c", "cat $HOME/x")) == "kept\n"

    def test_volumes_of_one_off_commands_go_too(self, home: TestBed) -> None:
        assert_well(home.rocenv("run", "--", "true"))
        label = f"--filter=label=rocenv.project={home.project.name}"
        assert home.docker("volume", "ls", "-q", label).stdout != ""
        assert_well(home.rocenv("down", "--volumes"))
        assert home.docker("volume", "ls", "-q", label).stdout == ""

    def test_a_volume_that_another_project_uses_stays(self, running: TestBed) -> None:
        below = running.project / "other"
        below.mkdir()
        (below / "rocenv.yaml").write_text((running.project / "rocenv.yaml").read_text())
        other = replace(running, project=below)
        assert_well(other.rocenv("up", "--no-test"))
        try:
            done = running.rocenv("down", "--volumes")
            assert re.search(r"kept volume rocenv-cache-pip-\S+: another container uses it", done.stderr)
            assert_well(other.rocenv("exec", "--", "sh", "-c", "touch $PIP_CACHE_DIR/x"))
        finally:
            other.rocenv("down", "--volumes")

    def test_what_is_not_ours_stays(self, running: TestBed, small_image: str) -> None:
        other = f"rocenv-{running.project.name}-foreign"
        running.docker("run", "-d", "--name", other, small_image, "sleep", "infinity")
        try:
            assert_well(running.rocenv("down", "--all"))
            assert containers(running) == [other]
        finally:
            running.docker("rm", "-f", other)

    def test_a_name_that_is_none_is_told(self, running: TestBed) -> None:
        done = running.rocenv("down", "typo")
        assert done.returncode == 2
        assert "no environment `typo`" in done.stderr


def test_logs_show_what_the_container_printed(running: TestBed, small_image: str) -> None:
    labels = [f"--label=rocenv.{key}={value}" for key, value in (("version", "0"), ("name", "loud"))]
    words = [*labels, f"--label=rocenv.project={running.project.name}", "--name", f"{running.project.name}-loud"]
    running.docker("run", *words, small_image, "sh", "-c", "echo heard; echo too >&2")
    try:
        done = running.rocenv("logs", "loud")
        assert (done.stdout, done.stderr) == ("heard\n", "too\n")
    finally:
        running.docker("rm", "-f", f"{running.project.name}-loud")


class TestTold:
    """Each failure with its exit code, its cause and a way out."""

    def test_a_changed_plan(self, running: TestBed) -> None:
        done = running.rocenv("up", "--no-test", "--gpus", "0")
        assert done.returncode == 2
        assert "gpus: − " in done.stderr
        assert "--recreate" in done.stderr
        assert_well(running.rocenv("up", "--no-test", "--gpus", "0", "--recreate"))

    def test_a_name_that_is_taken(self, home: TestBed, small_image: str) -> None:
        name = f"rocenv-{home.project.name}-mine"
        home.docker("run", "-d", "--name", name, small_image, "sleep", "infinity")
        try:
            done = home.rocenv("up", "--no-test", "--name", "mine")
            assert done.returncode == 4
            assert f"`{name}` is taken" in done.stderr
        finally:
            home.docker("rm", "-f", name)

    def test_an_image_that_no_registry_has(self, home: TestBed) -> None:
        done = home.rocenv("up", "--no-test", "--image", "127.0.0.1:5000/rocm/none:1", "--json")
        assert done.returncode == 5
        answer = json.loads(done.stdout)
        assert (answer["status"], answer["error"]["kind"]) == ("error", "image")
        assert "127.0.0.1:5000/rocm/none:1" in answer["error"]["message"]

    def test_no_daemon(self, home: TestBed) -> None:
        done = replace(home, variables={"DOCKER_HOST": "unix:///run/none.sock"}).rocenv("up")
        assert done.returncode == 4
        assert "there is no socket `/run/none.sock`" in done.stderr

    def test_no_docker(self, home: TestBed) -> None:
        done = home.run("env", "PATH=/nowhere", str(ROCENV), "ps")
        assert done.returncode == 4
        assert "neither `docker` nor `podman`" in done.stderr

    def test_a_socket_that_the_user_may_not_use(self, home: TestBed) -> None:
        user = home.project.stat()
        # Reading folders that are closed stays allowed: the checkout may lie in root's home.
        drop = [f"--reuid={user.st_uid}", f"--regid={user.st_gid}", "--clear-groups"]
        keep = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
        done = home.run("setpriv", *drop, *keep, str(ROCENV), "ps", as_root=True)
        assert done.returncode == 4
        assert "permission denied" in done.stderr
        assert "usermod -aG docker" in done.stderr

    def test_an_engine_on_another_host(self, home: TestBed) -> None:
        done = replace(home, variables={"DOCKER_HOST": "tcp://127.0.0.1:1"}).rocenv("up")
        assert done.returncode == 4
        assert "tcp://127.0.0.1:1" in done.stderr

    def test_a_capture_starts_nothing(self, home: TestBed) -> None:
        assert_well(home.rocenv("detect", "--save", "here.tar.gz"))
        done = replace(home, variables={"ROCENV_HOST": "here.tar.gz"}).rocenv("up")
        assert done.returncode == 2
        assert "unset ROCENV_HOST" in done.stderr
        assert containers(home) == []


def test_a_folder_of_the_same_name_is_another_project(
    running: TestBed, make_bed: Callable[[Path], TestBed], tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o755)
    twin = make_bed(tmp_path / "elsewhere" / running.project.name)
    (twin.project / "rocenv.yaml").write_text((running.project / "rocenv.yaml").read_text())
    there = containers(running)
    assert len(there) == 1

    up = twin.rocenv("up", "--no-test")
    assert up.returncode == 4, up.stderr
    assert str(running.project) in up.stderr
    assert "--name OTHER" in up.stderr
    assert twin.rocenv("exec", "--", "true").returncode == 125
    down = twin.rocenv("down")
    assert down.returncode == 0, down.stderr
    assert f"of the folder {running.project}" in down.stderr
    assert containers(running) == there

    assert_well(twin.rocenv("up", "--no-test", "--name", "second"))
    assert len(containers(running)) == 2
    assert_well(twin.rocenv("down"))
    assert containers(running) == there

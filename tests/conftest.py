"""For all tests: the test bed as a fixture, and no skips in CI."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from bed import images, life, space
from bed.demo import ROCENV, STAND_IN
from bed.place import Bed

# A shell that runs a job in the background has it ignore Ctrl-C, and all that the job starts inherits that: the tests
# that interrupt rocenv would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BED = Bed("test")
CI = bool(os.environ.get("CI"))
# Set by `./dev test`, which has started the bed: from there on a missing engine is a failure.
ENGINE_EXPECTED = CI or bool(os.environ.get("ROCENV_TEST_ENGINE"))


@dataclass(frozen=True)
class TestBed:
    """Commands inside the bed: a host with four MI300X, its Docker, and a user who is in no group of the nodes."""

    __test__ = False

    project: Path
    variables: Mapping[str, str]

    def run(self, *command: str, as_root: bool = False) -> CompletedProcess[str]:
        """Run any command in the project folder, as the bed's user or as root."""
        return life.run(BED, command, as_root=as_root, folder=self.project, environment=self.variables)

    def rocenv(self, *arguments: str) -> CompletedProcess[str]:
        """Run the rocenv that is being tested."""
        return self.run(str(ROCENV), *arguments)

    def docker(self, *arguments: str) -> CompletedProcess[str]:
        """Ask the bed's Docker itself."""
        return self.run("docker", *arguments)

    def argv(self, *command: str) -> list[str]:
        """The command line that enters the bed, for tests that need a terminal or a signal."""
        return life.argv(BED, command, as_root=False, folder=self.project)

    def environment(self) -> dict[str, str]:
        """The environment that goes with `argv`."""
        return space.environment(BED, self.variables)

    def standing_in(self) -> TestBed:
        """The same with the demo's variable set: probes may run on the CPU in an image that says it stands in."""
        return replace(self, variables={**self.variables, **STAND_IN})


@pytest.fixture(scope="session")
def engine_host() -> str:
    """The address of a real Docker of the tests' own. It holds the image `small_image`."""
    if not space.is_up(BED):
        if ENGINE_EXPECTED:
            pytest.fail("the test bed is not up")
        pytest.skip("needs the test bed: `./dev test` starts it")
    return f"unix://{BED.socket}"


@pytest.fixture(scope="session")
def small_image(engine_host: str) -> str:
    """A busybox image that is in the bed's registry and in its Docker."""
    pulled = life.run(BED, ["docker", "pull", "--quiet", images.SMALL])
    assert pulled.returncode == 0, pulled.stderr
    return images.SMALL


@pytest.fixture(scope="session")
def make_bed(engine_host: str) -> Callable[[Path], TestBed]:
    """Makes the bed with a project folder at a path, which the bed's user owns."""

    def made(project: Path) -> TestBed:
        project.mkdir()
        os.chown(project, *life.user())
        return TestBed(project, {})

    return made


@pytest.fixture
def bed(make_bed: Callable[[Path], TestBed], tmp_path: Path) -> TestBed:
    """The bed with a project folder of the test's own."""
    return make_bed(tmp_path / "project")


def pytest_configure(config: pytest.Config) -> None:
    """Tell the engine tests where their Docker is, in the way that a person would."""
    if space.is_up(BED):
        os.environ["ROCENV_TEST_DOCKER_HOST"] = f"unix://{BED.socket}"


@pytest.hookimpl(tryfirst=True)  # before `-m` is looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for the engine is an engine test, without a word of its own."""
    for item in items:
        if "engine_host" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.engine)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a test that was skipped is a test that was not run: the run fails."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if CI and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why a run without a failure failed."""
    if CI and terminalreporter.stats.get("skipped"):
        terminalreporter.write_line("CI runs every test: the skipped ones above are failures")

"""Docker, and podman as far as the same words serve, driven by the engine's own command line.

The docker SDK is used for one thing only, a pull with its progress by layer (`rocenv.engine.pull`): importing it costs
as much as two `docker run`s, and the command line is what a terminal, its signals and its exit status need anyway.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rocenv import process
from rocenv.engine import where
from rocenv.engine.build import Builder
from rocenv.engine.client import WORK
from rocenv.errors import EngineError, ImageError, UsageError
from rocenv.rules.engines import absent

if TYPE_CHECKING:
    from rocenv.engine.pull import PullEvent
    from rocenv.model.plan import EngineFacts, Plan
    from rocenv.model.proof import Environment

# Docker's own, Ctrl-P Ctrl-Q, hold back the Ctrl-P that calls up a shell's last command; nobody types these.
DETACH_KEYS = "ctrl-^,ctrl-^"


def open_engine(kind: str | None) -> Engine:
    """The engine asked for; without a wish docker, or podman where it alone is. Asks nothing of it yet.

    Raises UsageError for one that there is not, EngineError for one that is not installed.
    """
    if kind not in (None, "docker", "podman"):
        raise UsageError(f"there is no engine `{kind}`", "`--engine docker` or `--engine podman`")
    kinds = ("docker", "podman") if kind is None else (kind,)
    for name in kinds:
        program = shutil.which(name)
        if program is not None:
            podman = name == "podman" or where.is_podman(Path(program))
            return Engine("podman" if podman else "docker", name)
    raise EngineError(*absent(kind))


class Engine(Builder):
    """One container engine: what it is asked, and what it is told to do."""

    # Questions

    def begin(self, project: str) -> None:
        """Start what `up` will ask anyway, so that the engine answers while Python reads the profile and the host."""
        self._begin(self._facts_question(), self._names_question())
        self.begin_find(project)

    def begin_find(self, project: str) -> None:
        """Start asking for a project's containers: `find` has the answer sooner."""
        self._begin(self._find_question(project))

    def _facts_question(self) -> list[str]:
        """What `facts` asks."""
        return ["info", "--format", "json" if self.kind == "podman" else "{{json .}}"]

    def facts(self) -> EngineFacts:
        """What the engine says of itself. Raises EngineError where it cannot be reached, with the reason."""
        from rocenv.engine import facts

        answer = self._answer(self._facts_question())
        try:
            with self._read("info"):
                if self.kind == "podman":
                    return facts.podman_facts(answer.stdout, answer.stderr)
                found = facts.docker_facts(answer.stdout, answer.stderr, where.docker_endpoint())
        except facts.NoAnswerError as error:
            raise self._error(error.said) from None
        if found.client_version is None:  # a client before 23 does not tell it there
            found = found._replace(client_version=self._ask(["version", "--format", "{{.Client.Version}}"]).strip())
        return found._replace(gid_map=where.rootless_gid_map()) if found.rootless else found

    def _find_question(self, project: str | None = None, name: str | None = None) -> list[str]:
        """What `find` asks."""
        from rocenv.engine.listing import DOCKER_FORMAT

        form = "json" if self.kind == "podman" else DOCKER_FORMAT
        wanted = [f"--filter=label=rocenv.project={project}"] if project else []
        wanted += [f"--filter=label=rocenv.name={name}"] if name else []
        return ["ps", "--all", "--no-trunc", "--filter=label=rocenv.version", *wanted, "--format", form]

    def find(self, *, project: str | None = None, name: str | None = None) -> list[Environment]:
        """The containers that rocenv made, in any state, by their labels; newest first."""
        from rocenv.engine import listing

        text = self._ask(self._find_question(project, name))
        with self._read("ps"):
            return listing.podman_environments(text) if self.kind == "podman" else listing.docker_environments(text)

    def images_here(self, references: Sequence[str]) -> set[str]:
        """Those of these references that the engine has an image of."""
        import json

        rows = self._answer(["image", "inspect", "--format", "{{json .RepoTags}}", *references]).stdout.splitlines()
        with self._read("image inspect"):
            tags = {str(tag) for row in rows if row for tag in json.loads(row) or ()}
        return tags.intersection(references)

    def listed(self, container: str) -> bool:
        """Whether there is a container of this name, whoever made it. One that is only being made is not there yet."""
        return self._answer(["container", "inspect", "--format", "{{.Id}}", container]).status == 0

    def _names_question(self) -> list[str]:
        """What `volume_names` asks."""
        return ["volume", "ls", "--format", "{{.Name}}"]

    def _volumes_question(self, *labels: str) -> list[str]:
        """What `volumes` asks."""
        wanted = [f"--filter=label={label}" for label in ("rocenv.version", *labels)]
        return ["volume", "ls", *wanted, "--format", "{{.Name}}"]

    def volumes(self, *labels: str) -> set[str]:
        """The names of the volumes that rocenv made, of those that also carry these labels (`rocenv.owner=1000`)."""
        return set(self._ask(self._volumes_question(*labels)).split())

    def volume_names(self) -> set[str]:
        """The names of all volumes on this engine, whoever made them."""
        return set(self._ask(self._names_question()).split())

    def dangling(self) -> set[str]:
        """The names of the volumes that no container has mounted, whoever made them."""
        return set(self._ask(["volume", "ls", "--filter=dangling=true", "--format", "{{.Name}}"]).split())

    def volumes_made(self, names: Sequence[str]) -> dict[str, tuple[int | None, str | None]]:
        """Of these volumes the bytes that they hold, where their folder may be read here, and when they were made."""
        import json

        from rocenv.engine.space import held

        if not names:
            return {}
        text = self._answer(["volume", "inspect", *names]).stdout
        with self._read("volume inspect"):
            return {
                str(one["Name"]): (held(str(one.get("Mountpoint") or "")), one.get("CreatedAt"))
                for one in json.loads(text or "[]")
            }

    def mounted(self, containers: Sequence[str]) -> list[str]:
        """The names of the volumes that these containers have mounted, each once; one that is gone has none."""
        import json

        if not containers:
            return []
        rows = self._answer(["inspect", "--format", "{{json .Mounts}}", *containers]).stdout.splitlines()
        with self._read("inspect"):
            mounts = [mount for row in rows if row for mount in json.loads(row) or ()]  # of what is gone: an empty row
            return list(dict.fromkeys(str(mount["Name"]) for mount in mounts if mount.get("Type") == "volume"))

    # Effects

    def pull(self, reference: str, progress: Callable[[PullEvent], None]) -> None:
        """Fetch an image, telling each layer's progress. Raises ImageError or EngineError."""
        from rocenv.engine import pull

        try:
            if self.kind == "docker" and pull.pull(reference, where.docker_endpoint(), progress):
                return
        except pull.PullError as error:
            raise self._error(str(error), reference) from None
        if process.attached([self.program, "pull", reference]) != 0:
            raise ImageError(f"`{self.program} pull {reference}` failed; what it said stands above")

    def size(self, reference: str, facts: EngineFacts) -> int | None:
        """The bytes that a pull of `reference` would fetch, or None where its registry does not tell."""
        from rocenv.engine import registry

        return registry.compressed_size(reference, registry.settings(self), facts.machine)

    def room(self, facts: EngineFacts) -> int | None:
        """The free bytes where the engine keeps its images, or None where that is not on this host."""
        import os

        if facts.data_root is None or facts.remote or facts.desktop:
            return None
        try:
            disk = os.statvfs(facts.data_root)
        except OSError:
            return None
        return disk.f_bavail * disk.f_frsize

    def start(self, plan: Plan) -> str:
        """Create and start the plan's container, exactly as `rocenv plan` shows it; its id. The image must be here.

        An interrupt waits until the engine is done, then removes what it made; so does a failure to start.
        """
        from rocenv.render.argv import run_argv

        argv = run_argv(plan)
        argv.insert(2, "--pull=never")  # a pull is `pull`'s: with its size known before, and its progress shown
        done, interrupted = self._through(argv)
        made = done.stdout.split()
        if interrupted or done.status != 0:
            if made:
                self.remove(made[-1])
            if interrupted:
                raise KeyboardInterrupt
            raise self._error(done.stderr, plan.image.reference)
        with self._read("run"):
            return made[-1]

    def hold(self, image: str, labels: Mapping[str, str]) -> str:
        """Make a container that is never started, so that the image's files can be read from it; its id.

        An interrupt waits until it is made, then removes it.
        """
        words = [f"--label={key}={value}" for key, value in labels.items()]
        argv = [self.program, "create", "--pull=never", "--network=none", "--entrypoint=/none", *words, image]
        done, interrupted = self._through(argv)
        made = done.stdout.split()
        if interrupted:
            if made:
                self.remove(made[-1])
            raise KeyboardInterrupt
        if done.status != 0:
            raise self._error(done.stderr, image)
        with self._read("create"):
            return made[-1]

    def once(self, arguments: Sequence[str], image: str) -> None:
        """Run a short-lived container (`run --rm` and these arguments) to its end."""
        done, interrupted = self._through([self.program, "run", "--rm", *arguments])
        if interrupted:
            raise KeyboardInterrupt
        if done.status != 0:
            raise self._error(done.stderr, image)

    def start_stopped(self, container: str) -> None:
        """Start a container that is there already."""
        self._do(["start", container])

    def unpause(self, container: str) -> None:
        """Let a paused container go on."""
        self._do(["unpause", container])

    def stop(self, container: str) -> None:
        """Stop a container: a second's grace, for its main process only waits."""
        self._do(["stop", "--time", "1", container])

    def remove(self, container: str) -> None:
        """Remove a container in any state, with the volumes that its image alone asked for. Gone already is well."""
        answer = self._answer(["rm", "--force", "--volumes", container], WORK)
        if (
            answer.status != 0
            and "o such container" not in answer.stderr
            and "already in progress" not in answer.stderr
        ):
            raise self._error(answer.stderr)

    def make_volume(self, name: str, labels: Mapping[str, str]) -> None:
        """Make a volume with these labels; one that is there stays as it is."""
        self._do(["volume", "create", *(f"--label={key}={value}" for key, value in labels.items()), name])

    def remove_volume(self, name: str) -> bool:
        """Remove a volume; False where a container still uses it."""
        answer = self._answer(["volume", "rm", name])
        if answer.status != 0 and ("in use" in answer.stderr or "being used" in answer.stderr):
            return False
        if answer.status != 0 and "o such volume" not in answer.stderr:
            raise self._error(answer.stderr)
        return True

    # Command lines for `rocenv.process.replace`

    def exec_argv(
        self,
        container: str,
        command: Sequence[str],
        *,
        interactive: bool,
        tty: bool,
        user: str | None = None,
        env: Mapping[str, str | None] | None = None,
        workdir: str | None = None,
    ) -> list[str]:
        """The command line that runs `command` in a running container; a variable of None is passed by its name."""
        words = [self.program, "exec"]
        words += ["--interactive"] if interactive else []
        words += ["--tty", f"--detach-keys={DETACH_KEYS}"] if tty else []
        words += ["--user", user] if user else []
        words += ["--workdir", workdir] if workdir else []
        words += [f"--env={key}" if value is None else f"--env={key}={value}" for key, value in (env or {}).items()]
        return [*words, container, *command]

    def logs_argv(self, container: str, *, follow: bool) -> list[str]:
        """The command line that shows what a container printed."""
        return [self.program, "logs", *(["--follow"] if follow else []), container]

"""A stand-in for an engine: what should run in a container runs here, as a plain process. No container is involved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


class Local:
    """Satisfies smoke.runner.Executor; `before` is put in front of every command (`chroot FOLDER`, `busybox`)."""

    def __init__(self, *before: str) -> None:
        self.before = before

    def exec_argv(
        self,
        container: str,
        command: Sequence[str],
        *,
        interactive: bool,
        tty: bool,
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        """The command itself, with its variables."""
        return [*self.before, "env", *(f"{name}={value}" for name, value in (env or {}).items()), *command]

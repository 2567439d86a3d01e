"""What the parts of rocenv.host expect of each other; for the type checker alone, so that no start pays for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from rocenv.host.source import RawDevice, Storage
from rocenv.model.host import Caller


class Files(Protocol):
    """What can be asked. Paths are absolute, as on the host; `read`, `names` and `resolve` raise OSError."""

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes of a regular file."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, in no order."""

    def resolve(self, path: str) -> str:
        """The path without any link in it; FileNotFoundError where it leads nowhere."""

    def is_dir(self, path: str) -> bool:
        """True for a folder, or links to one."""

    def target(self, path: str) -> str | None:
        """Where a link points, as it is written; None where the last part of the path is no link."""


class Tree(Protocol):
    """Plain storage below Confined: paths hold no links, so that none is followed here."""

    def kind(self, path: str) -> str | None:
        """`dir`, `file`, `other`, or None where there is nothing."""

    def target(self, path: str) -> str | None:
        """Where a link points; None for what is no link."""

    def read(self, path: str, limit: int) -> bytes:
        """The first `limit` bytes of a file; OSError for anything else."""

    def names(self, path: str) -> list[str]:
        """The names in a folder; OSError for anything else."""


class Source(Protocol):
    """A host to read: its files, and what files cannot carry."""

    name: str | None  # None for this machine
    files: Files

    def caller(self) -> Caller:
        """Who asks."""

    def caller_name(self) -> str | None:
        """The caller's name, where it is known."""

    def devices(self) -> list[RawDevice]:
        """The device nodes that matter: /dev/kfd, /dev/dxg, those of /dev/dri, and InfiniBand's verbs."""

    def variables(self) -> Mapping[str, str]:
        """Those of VARIABLES that are set."""

    def machine(self) -> str | None:
        """The machine's architecture as uname has it."""

    def storage(self) -> Storage:
        """The files behind `files`."""

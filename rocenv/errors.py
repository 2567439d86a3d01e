"""Every error that rocenv raises on purpose: one class, one exit code, one hint.

Raised where the fault is seen, shown once, by `rocenv.__main__`. The message names what was read and what was
found there; the hint holds one command or edit that mends it.
"""


class RocenvError(Exception):
    """Base of all deliberate errors: `message` says what is wrong, `hint` the one thing that mends it."""

    code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    @property
    def kind(self) -> str:
        """The class's short name in JSON and in the words shown, as `host` for HostError."""
        return type(self).__name__.removesuffix("Error").lower()


class UsageError(RocenvError):
    """A command line, a profile or a configuration file that cannot be followed."""

    code = 2


class HostError(RocenvError):
    """The host cannot do it: no GPU, no driver, no access, or a selection that matches nothing."""

    code = 3


class EngineError(RocenvError):
    """The container engine cannot do it: not there, not reachable, refused, or out of disk."""

    code = 4


class NameTakenError(EngineError):
    """A container has the name already: another `up` of it may be making it at this moment."""

    @property
    def kind(self) -> str:
        """To users it is the engine's error, as its parent."""
        return "engine"


class ImageError(RocenvError):
    """No image fits, or the image cannot be resolved, pulled or built."""

    code = 5


class ProofError(RocenvError):
    """A smoke test failed."""

    code = 6


class PolicyError(RocenvError):
    """A lock, a policy or `--strict` forbids it."""

    code = 7

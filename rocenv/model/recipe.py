"""What a Dockerfile is written from: the wish, the image below it and ROCm's packages, and nothing of any machine."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Source(NamedTuple):
    """A project that is compiled in a stage of its own, and the image that the result is put into."""

    folder: str  # below the context
    files: tuple[str, ...]  # what hipcc compiles into one program; none: cmake
    hipify: str | None  # perl or clang
    program: str
    options: tuple[str, ...]
    packages: tuple[str, ...]  # of the stage that compiles
    runtime: str

    @property
    def tools(self) -> tuple[str, ...]:
        """The programs that compiling needs."""
        hipify = (f"hipify-{self.hipify}",) if self.hipify else ()
        return (*hipify, "hipcc") if self.files else (*hipify, "cmake")


class Config(NamedTuple):
    """What an image says beside its files: lost with `FROM scratch` unless it is written down anew."""

    env: tuple[tuple[str, str], ...] = ()
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    user: str | None = None
    labels: tuple[tuple[str, str], ...] = ()


class Slim(NamedTuple):
    """An image without the device code of other targets."""

    targets: tuple[str, ...]  # gfx942=4c,5f: with the machine numbers of code that runs on it
    script: tuple[str, ...]  # dockerfiles/slim.py, line by line
    config: Config | None = None  # of the base; read when it is there


class Recipe(NamedTuple):
    """All that a template sees, as `recipe`. Same recipe, same Dockerfile."""

    template: str
    base: str  # the reference that FROM names, with its digest where that is known
    system_key: str  # ubuntu-24.04 …; `image` where it is unknown
    manager: str | None  # apt, dnf, zypper; None where the system is unknown and nothing is asked of it
    python: str  # the image's own Python, by its path where that is known
    gfx: tuple[str, ...]  # the targets that it is for
    packages: Mapping[str, tuple[str, ...]]  # apt, dnf, zypper, conda, pip; pip and conda are always there
    args: Mapping[str, str]
    secrets: tuple[str, ...]  # names alone
    context: bool  # whether there is a folder to copy from
    labels: Mapping[str, str]
    user: str | None = None  # who runs it by default, UID:GID; None: whoever the base says
    health: str | None = None  # a bash command that succeeds while its server is well
    rocm_packages: Any = None  # of a bare system: rocenv.catalog.distributions.Packages
    hold_script: tuple[str, ...] = ()  # dockerfiles/hold.py, line by line
    root: bool = True  # whether the steps run as root, whoever the base says
    restored: str | None = None  # the base's own user, who is to run it again
    conda: tuple[str, str] = ("", "")  # its program, and the environment that packages go into
    source: Source | None = None
    slim: Slim | None = None
    wheels: Any = None  # of a Python image: rocenv.catalog.wheels.Wheels
    what: str = ""  # what is done beside installing packages, for people

    @property
    def runs(self) -> bool:
        """Whether anything is installed."""
        return self.rocm_packages is not None or self.wheels is not None or any(self.packages.values())


class Building(NamedTuple):
    """How a plan's image is built, beside its Dockerfile: what lies on this machine and stays out of the image."""

    context: str | None = None  # an absolute folder
    secrets: tuple[str, ...] = ()  # NAME, or NAME=FILE
    mirrors: Mapping[str, str] = {}  # pip: an index; apt: a proxy
    recipe: Recipe | None = None  # what the Dockerfile is written from, where that is not done yet
    templates: tuple[str, ...] = ()  # the folders of the user's own

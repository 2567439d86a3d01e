"""What was decided: the engine as it is, the image chosen, and the Plan, each choice with its reason."""

from collections.abc import Mapping
from typing import NamedTuple

from rocenv.model.recipe import Building


class EngineFacts(NamedTuple):
    """What a container engine says of itself. `assumed` where no engine was asked."""

    kind: str  # docker | podman
    rootless: bool = False
    assumed: bool = False
    client_version: str | None = None
    server_version: str | None = None
    endpoint: str | None = None  # unix:///var/run/docker.sock …
    operating_system: str | None = None  # as `docker info` says it
    kernel: str | None = None
    machine: str | None = None
    runtime: str | None = None  # runc | crun …
    runtimes: tuple[str, ...] = ()
    security: tuple[str, ...] = ()
    data_root: str | None = None
    desktop: bool = False
    remote: bool = False
    # Of a rootless user namespace: (id inside, id on the host, count), from /proc/PID/gid_map or `podman info`.
    gid_map: tuple[tuple[int, int, int], ...] = ()
    # Folders in which it looks for CDI specifications; none where that is off, None where it does not tell.
    cdi_folders: tuple[str, ...] | None = None


class Reason(NamedTuple):
    """One choice and why it was made."""

    choice: str
    value: str
    why: str


class Refusal(NamedTuple):
    """An image that was not taken, and the fact that refused it."""

    reference: str
    why: str


class ImageChoice(NamedTuple):
    """The image decided on. `source`: catalog, profile, flag, lock or build; `gfx`: the targets that it carries."""

    reference: str
    source: str
    digest: str | None = None
    rocm: str | None = None
    gfx: tuple[str, ...] = ()
    size_bytes: int | None = None  # unpacked, where the catalog knows it
    base: str | None = None  # of one that is built here: the image that it is built on
    # Of a locked one: the digests and names by which an engine may have it, and the other repositories that hold it.
    ids: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    equals: tuple[str, ...] = ()  # other references that serve as well: where the engine has one of them, it is taken
    local: str | None = None  # the id of one that is here under another name than its reference
    # Of one that is built, where nothing may drift from the lock: the versions that its packages must have.
    packages: Mapping[str, Mapping[str, str]] | None = None

    @property
    def given(self) -> str:
        """What the engine is told."""
        return self.local or self.reference


class GpuRef(NamedTuple):
    """A chosen GPU by all its names; the numbers are those of this moment, `bdf` with partition and `uuid` last."""

    index: int  # type: ignore[assignment]
    gfx: str | None
    bdf: str
    partition: int
    uuid: str | None
    render_node: str | None
    name: str

    @property
    def identity(self) -> str:
        """The name that survives a reboot: the BDF, with `/N` for a partition beyond the first."""
        return self.bdf if self.partition == 0 else f"{self.bdf}/{self.partition}"


class Mount(NamedTuple):
    """A bind mount (an absolute host path) or a named volume."""

    kind: str  # bind | volume
    source: str
    target: str
    read_only: bool = False


class Plan(NamedTuple):
    """The decided container: pure data. A dry run, an export and a launch are this, rendered differently."""

    profile: str
    project: str
    name: str  # of the environment; the container is rocenv-PROJECT-NAME
    engine: EngineFacts
    image: ImageChoice
    gpus: tuple[GpuRef, ...]
    devices: tuple[str, ...]
    groups: tuple[int, ...]
    keep_groups: bool
    env: Mapping[str, str]
    mounts: tuple[Mount, ...]
    security: tuple[str, ...]
    cap_add: tuple[str, ...]
    ipc: str | None
    shm_size: int | None  # bytes
    ports: tuple[str, ...]
    user: str | None
    workdir: str
    labels: Mapping[str, str]
    smoke_level: str
    smoke_probes: tuple[str, ...] = ()
    visible_indices: tuple[int, ...] | None = None  # set where a visibility variable, not the devices, selects
    reasons: tuple[Reason, ...] = ()
    refused: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()
    env_names: tuple[str, ...] = ()  # passed by name from the caller's environment: their values stand nowhere
    userns: str | None = None  # keep-id, on rootless podman
    uidmap: tuple[str, ...] = ()  # CONTAINER:INTERMEDIATE:COUNT, as podman takes them
    gidmap: tuple[str, ...] = ()
    ulimits: tuple[str, ...] = ()  # memlock=-1:-1 …
    dockerfile: str | None = None  # of an image that is built here
    catalog_date: str | None = None  # of the table of images that was chosen from
    catalog_laid: tuple[str, ...] = ()  # files of a configuration folder that took the place of built-in tables
    building: Building | None = None  # how that image is built, beside its Dockerfile
    via: str = "devices"  # how the GPUs come in: devices | cdi | runtime
    injected: tuple[str, ...] = ()  # of `devices`, those that the engine or its runtime puts in by another word
    cdi: tuple[str, ...] = ()  # CDI devices, amd.com/gpu=…
    runtime: str | None = None  # the OCI runtime asked for; None: the engine's own

    @property
    def container(self) -> str:
        """The container's name."""
        return f"rocenv-{self.project}-{self.name}"

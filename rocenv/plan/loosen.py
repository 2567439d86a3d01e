"""How the container is confined: security options, capabilities, IPC, shared memory; and what forbids to loosen it."""

from __future__ import annotations

import re
from typing import NamedTuple

from rocenv.catalog.references import Reference
from rocenv.errors import HostError, PolicyError, UsageError
from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts, Reason
from rocenv.model.wish import Profile
from rocenv.profile.keys import LOOSEN
from rocenv.report.text import size_words

_GIB = 1 << 30
_MIB = 1 << 20
_MOST_SHM = 16 * _GIB
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([bkmgt]?)(?:i?b)?", re.IGNORECASE)
_SHIFT = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_CAPABILITIES = {"ptrace": "SYS_PTRACE", "perf": "PERFMON", "numa": "SYS_NICE", "rdma": "IPC_LOCK"}
_VERBS = re.compile(r"/dev/infiniband/(uverbs[0-9]+|rdma_cm)")


class Confinement(NamedTuple):
    """How the container is confined; `loosened` names what is less than the default, for --strict."""

    security: tuple[str, ...]
    cap_add: tuple[str, ...]
    ipc: str
    shm_size: int | None
    devices: tuple[str, ...]
    groups: tuple[int, ...]
    ulimits: tuple[str, ...]
    reasons: tuple[Reason, ...]
    loosened: tuple[tuple[str, str], ...]  # what, and how it is undone


def confine(profile: Profile, host: Host, engine: EngineFacts, *, gpus: bool) -> Confinement:
    """The confinement of a profile's container: the default, less what the profile names or the host forces."""
    loosen = profile.loosen
    reasons: list[Reason] = []
    loosened = [(f"`{name}` ({LOOSEN[name]})", f"take `{name}` out of `loosen`") for name in loosen]
    security: list[str] = []
    if "sudo" not in loosen:
        security.append("no-new-privileges")
        reasons.append(
            Reason("security", "no-new-privileges", "no program inside gains rights that it did not start with")
        )
    if gpus and _confined_by_selinux(host, engine):
        security.append("label=disable")
        why = "SELinux enforces here, and lets containers open no GPU node as it stands"
        reasons.append(Reason("security", "label=disable", why))
        loosened.append(("`label=disable`, which SELinux forces", "`sudo setsebool -P container_use_devices on`"))
    devices, groups, ulimits = _verbs(host) if "rdma" in loosen else ((), (), ())
    shm = None if "host-ipc" in loosen else _shm(profile, host, reasons)
    caps = tuple(_CAPABILITIES[name] for name in loosen if name in _CAPABILITIES)
    origin = profile.origins.get("loosen", "the profile")
    reasons += [Reason("loosen", name, f"named by {origin}: {LOOSEN[name]}") for name in loosen]
    ipc = "host" if "host-ipc" in loosen else "private"
    return Confinement(tuple(security), caps, ipc, shm, devices, groups, ulimits, tuple(reasons), tuple(loosened))


def check_policy(profile: Profile, reference: str, loosened: tuple[tuple[str, str], ...]) -> None:
    """Raise PolicyError for what --strict or the project's policy forbids."""
    policy = profile.policy
    if profile.strict and loosened:
        what, mend = loosened[0]
        raise PolicyError(f"--strict refuses {what}", mend)
    forbidden = [name for name in profile.loosen if policy.loosen is not None and name not in policy.loosen]
    if forbidden:
        allowed = ", ".join(policy.loosen or ()) or "nothing"
        raise PolicyError(
            f"the policy allows to loosen {allowed}, not `{forbidden[0]}`", f"take `{forbidden[0]}` out of `loosen`"
        )
    full = Reference.parse(reference)
    if policy.digests and full.digest is None:
        raise PolicyError(
            f"the policy wants images named by digest, and `{reference}` is not", f"`--image {full.name}@sha256:…`"
        )
    fronts = policy.registries
    if fronts is not None and not any(
        full.name == front or full.name.startswith(front.rstrip("/") + "/") for front in fronts
    ):
        raise PolicyError(
            f"the policy allows images from {', '.join(fronts)}, not `{full.name}`", "choose an image from there"
        )


def _confined_by_selinux(host: Host, engine: EngineFacts) -> bool:
    """True where containers are confined by SELinux; docker says itself whether it uses it."""
    if host.selinux != "enforcing" or host.selinux_devices:
        return False
    return engine.assumed or engine.kind != "docker" or "selinux" in engine.security


def _verbs(host: Host) -> tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]:
    """The nodes of InfiniBand verbs (never umad or issm, which manage the fabric), their groups, and the limits."""
    nodes = [node for node in host.devices if _VERBS.fullmatch(node.path)]
    if not nodes:
        raise HostError(
            "`rdma` is loosened, and there is no `/dev/infiniband/uverbs*` here", "`sudo modprobe ib_uverbs`"
        )
    groups = tuple(dict.fromkeys(node.gid for node in nodes if node.gid))
    return tuple(node.path for node in nodes), groups, ("memlock=-1:-1", "nofile=1048576:1048576")


def _shm(profile: Profile, host: Host, reasons: list[Reason]) -> int:
    if profile.shm_size is not None:
        size = parse_size(profile.shm_size)
        origin = profile.origins.get("shm_size", "the profile")
        reasons.append(Reason("shm_size", profile.shm_size, f"set by {origin}"))
        return size
    if host.memory_bytes is None:
        reasons.append(
            Reason(
                "shm_size", "16g", "Docker's 64 MiB stop data loaders and RCCL; how much RAM there is could not be read"
            )
        )
        return _MOST_SHM
    size = min(_MOST_SHM, host.memory_bytes // 2 // _MIB * _MIB)
    words = "16 GiB" if size == _MOST_SHM else f"half of the RAM, {size // _MIB} MiB"
    reasons.append(Reason("shm_size", size_words(size), f"{words}: Docker's 64 MiB stop data loaders and RCCL"))
    return size


def parse_size(text: str) -> int:
    """Bytes in `16g`, `512 MiB`, `1.5g`: binary units, as docker reads them."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"`{text}` is no size", "write it like `16g`")
    size = int(float(match.group(1)) * (1 << _SHIFT[match.group(2).lower()]))
    if size < _MIB:
        raise UsageError(f"`shm_size: {text}` is less than 1 MiB", "write it like `16g`")
    return size

"""What engines say when they cannot, turned into rocenv's errors: the cause, and the one thing that mends it.

The texts are those of docker 20.10 to 28 and podman 4, as they were seen. An engine's words are hostile text: they are
matched here and quoted in a message, and never become a part of a pattern, a template or a command.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rocenv.errors import EngineError, ImageError, NameTakenError, RocenvError, UsageError


class Saying(NamedTuple):
    """One thing that an engine says: where `pattern` matches, this error, with the pattern's groups filled in."""

    pattern: str
    error: type[RocenvError]
    message: str
    hint: str


_REACH = (
    Saying(
        r"permission denied.*?(?:unix://|dial unix )(?P<socket>/[^\s:]+)",
        EngineError,
        "the engine's socket `{socket}` is there, but this user may not use it (permission denied)",
        "`sudo usermod -aG docker $USER`, then log out and in again; or run it with `sudo`",
    ),
    Saying(
        r"(?:error during connect|unable to resolve docker endpoint|Failed to initialize): (?P<why>.+)",
        EngineError,
        "the engine that DOCKER_HOST or the docker context points at cannot be reached: {why}",
        "`unset DOCKER_HOST` and `docker context use default` go back to this machine's own",
    ),
    Saying(
        r"[Cc]urrent context \"?(?P<context>[^\s\"]+)\"? is not found",
        EngineError,
        "the docker context `{context}` is chosen, and does not exist",
        "`docker context use default`, or `docker context ls` to see which there are",
    ),
    Saying(
        r"client version (?P<client>[\d.]+) is too (?P<which>new|old)",
        EngineError,
        "the docker client (API {client}) is too {which} for this daemon",
        "install a client and a daemon of the same release (`docker version` shows both)",
    ),
)

_IMAGES = (
    Saying(
        r"no matching manifest for (?P<platform>\S+)|image with platform (?P<other>\S+) .*does not match",
        ImageError,
        "`{image}` is not made for this machine: {said}",
        "AMD's images are for linux/amd64: run it on such a host",
    ),
    Saying(
        r"manifest (?:for \S+ )?(?:not found: manifest )?unknown|manifest for \S+ not found|name unknown"
        r"|repository name not known|not found: does not exist",
        ImageError,
        "its registry has no image `{image}`",
        "look at the tag once more; `rocenv plan PROFILE` shows the images that are known",
    ),
    Saying(
        r"pull access denied|requested access to the resource is denied|insufficient_scope|unauthorized|no basic auth",
        ImageError,
        "its registry refuses `{image}`: there is no such repository, or it asks for a login",
        "look at the name once more; for a private one `docker login REGISTRY`",
    ),
    Saying(
        r"toomanyrequests|429 Too Many Requests|pull rate limit",
        ImageError,
        "the registry takes no more pulls for now (too many requests) of `{image}`",
        "`docker login` raises the limit; or wait, or name a mirror in the daemon's `registry-mirrors`",
    ),
    Saying(
        r"x509: (?P<why>.+)|tls: (?P<tls>.+)|server gave HTTP response to HTTPS client",
        ImageError,
        "no safe connection to the registry of `{image}`: {said}",
        "put the registry's certificate into /etc/docker/certs.d/REGISTRY/ca.crt (a proxy may stand in between)",
    ),
    Saying(
        r"Get \"https?://(?P<registry>[^/\"]+)[^\"]*\": (?P<why>.+)"
        r"|pinging container registry (?P<pinged>[^:\s]+(?::\d+)?): (?P<ping>.+)",
        ImageError,
        "the registry of `{image}` cannot be reached: {said}",
        "look at the network and proxy of the engine; where there is none, `rocenv bundle load FILE` brings in what "
        "`rocenv bundle save FILE` packed elsewhere",
    ),
    Saying(
        r"invalid reference format|repository name must be lowercase|could not parse reference|invalid tag format",
        UsageError,
        "`{image}` is no image reference",
        "write it as `repository:tag` or `registry/repository@sha256:…`, in lower case",
    ),
    Saying(
        r"[Nn]o such image|image not known|Unable to find image",
        ImageError,
        "there is no image `{image}` here",
        "`docker pull IMAGE`, or leave `--image` out",
    ),
)

_LAUNCH = (
    Saying(
        r"no space left on device|disk quota exceeded",
        EngineError,
        "the engine's disk is full: {said}",
        "`docker system df` shows what takes the room, `docker system prune` frees what nobody uses",
    ),
    Saying(
        r"[Cc]ontainer name \"/?(?P<name>[^\"]+)\" is already in use",
        NameTakenError,
        "the name `{name}` is taken by a container that rocenv did not make; it is left alone",
        "`rocenv up … --name OTHER`, or `docker rename {name} OTHER`",
    ),
    Saying(
        r"custom device \"(?P<device>[^\"]+)\": no such file|stat (?P<stat>/dev/\S+): no such file",
        EngineError,
        "the engine finds no device `{device}{stat}`: it is gone, or the engine runs on another kernel",
        "`rocenv detect` shows this machine's devices, `docker info` where the engine runs",
    ),
    Saying(
        r"custom device \"(?P<device>[^\"]+)\": not a device node",
        EngineError,
        "`{device}` is no device node",
        "remove it (an earlier `docker run -v` may have made it) and reload the driver: `sudo modprobe -r amdgpu`",
    ),
    Saying(
        r"[Uu]nable to find group (?P<group>\S+?):",
        EngineError,
        "the image has no group `{group}`: an engine looks for a group's name in the image",
        "give the group by its number (`stat -c %g /dev/kfd`)",
    ),
    Saying(
        r"unable to find user (?P<user>\S+?):",
        ImageError,
        "the image has no user `{user}`",
        "set `user: caller`, or a number, in rocenv.yaml",
    ),
    Saying(
        r"[Uu]nknown runtime specified (?P<runtime>\S+)|unknown or invalid runtime name: (?P<other>\S+)",
        EngineError,
        "the engine has no runtime `{runtime}{other}`",
        "`docker info` lists its runtimes; for AMD's: `sudo amd-ctk runtime configure`",
    ),
    Saying(
        r"unknown server OS:",
        EngineError,
        "docker's client passes no device to the engine that it is led to: podman's socket does not tell its system",
        "`--engine podman` asks podman itself",
    ),
    Saying(
        r"unresolvable CDI devices (?P<names>[^\n]+)",
        EngineError,
        "the engine finds no CDI device {names}, or several that contradict each other",
        "`rocenv cdi check` says what is wrong with its specifications; without `--via` rocenv passes the device nodes",
    ),
    Saying(
        r"could not select device driver \"(?P<driver>[^\"]*)\"",
        EngineError,
        "the engine cannot give devices that way: {said}",
        "leave it out: rocenv passes the device nodes themselves",
    ),
    Saying(
        r"exec: \"(?P<program>[^\"]+)\": (?:stat .*: )?(?P<why>executable file not found|no such file|permission den)",
        ImageError,
        "the image has no program `{program}` that can be started ({why})",
        "rocenv keeps an environment alive by `sleep`: take an image that holds a shell and coreutils",
    ),
    Saying(
        r"container-init binary not found",
        EngineError,
        "podman finds no init program for containers (`--init` needs one)",
        "`sudo apt-get install catatonit`",
    ),
    Saying(
        r"exec format error",
        ImageError,
        "the image is made for another kind of processor (exec format error)",
        "AMD's images are for linux/amd64: run it on such a host",
    ),
    Saying(
        r"(?:Bind for (?P<port>\S+) failed: )?(?:port is already allocated|address already in use)",
        EngineError,
        "a port that is asked for is in use already: {said}",
        "choose another under `ports:` in rocenv.yaml; `docker ps` shows who holds it",
    ),
    Saying(
        r"bind source path does not exist: (?P<path>.+)|statfs (?P<stat>\S+): no such file",
        UsageError,
        "the folder `{path}{stat}` is to be mounted, and does not exist where the engine runs",
        "make it, or take it out of `mounts:` in rocenv.yaml",
    ),
    Saying(
        r"error setting rlimit|setrlimit|unable to apply caps",
        EngineError,
        "the engine may not give what is asked for on this host: {said}",
        "take the loosening that asks for it out of rocenv.yaml (`rocenv plan` shows them)",
    ),
    Saying(
        r"[Nn]o such container: (?P<name>\S+)|no container with name or ID \"(?P<other>[^\"]+)\"",
        EngineError,
        "there is no container `{name}{other}` any more",
        "`rocenv ps` lists what is there",
    ),
    Saying(
        r"[Cc]ontainer (?P<name>\S+) is not running|container state improper",
        EngineError,
        "the container is not running",
        "`rocenv up` starts it again",
    ),
)
SAYINGS = (*_REACH, *_IMAGES, *_LAUNCH)


def no_daemon(endpoint: str, *, exists: bool, chosen: bool) -> EngineError:
    """The error for an address at which no daemon answers.

    `exists`: the socket is there; `chosen`: DOCKER_HOST or a docker context led to it, not the client's default.
    """
    back = "`unset DOCKER_HOST` and `docker context use default` go back to this machine's own engine"
    if "/.docker/desktop/" in endpoint:
        return EngineError(
            f"no Docker Desktop answers at `{endpoint}`, and its containers would have no AMD GPU",
            "`docker context use default` goes back to this machine's own engine",
        )
    if not endpoint.startswith("unix://"):
        return EngineError(f"no Docker daemon answers at `{endpoint}`, to which DOCKER_HOST or a context points", back)
    socket = endpoint.removeprefix("unix://")
    if not exists:
        message = f"no Docker daemon runs: there is no socket `{socket}`"
    else:
        message = f"no Docker daemon runs: nobody listens on the socket `{socket}`"
    return EngineError(message, back if chosen else "`sudo systemctl start docker`")


def explain(said: str, *, engine: str, image: str | None = None) -> RocenvError:
    """The error that an engine's text on stderr means; its last words as they are where they are not known."""
    words = last_words(said)
    for saying in SAYINGS:
        found = re.search(saying.pattern, said)
        if found is not None:
            facts: Mapping[str, str] = {
                "said": words,
                "image": image or "it",
                **{name: value or "" for name, value in found.groupdict().items()},
            }
            return saying.error(saying.message.format(**facts), saying.hint.format(**facts))
    return EngineError(f"`{engine}` said: {words or 'nothing'}", f"`{engine} info` shows whether the engine is well")


def last_words(said: str) -> str:
    """The line that carries the cause, without what engines put around it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("WARNING:", "Run '", "See '", "Usage:"))]
    if not lines:
        return ""
    line = next((line for line in reversed(lines) if re.search(r"[Ee]rror", line)), lines[-1])
    return re.sub(r"^(?:docker: )?(?:Error response from daemon: |Error: )?", "", line).rstrip(".")

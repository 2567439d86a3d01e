"""What an engine can give: isolation, groups, CDI devices; and containers that were given what is gone."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed
from rocenv.model.health import Health, OwnContainer
from rocenv.model.host import Host
from rocenv.rules.cdi import KIND, folders, found, generating, gone, leaving_one, stale

_ALL = ("auto", "all")


@check(
    id="engine.oci-runtime",
    layer="engine",
    severity="warn",
    title="rootless podman runs containers by crun",
    reads="`podman info`: ociRuntime",
    why="keep-groups works with crun alone: runc ignores it without a word, and the nodes stay closed",
    source="podman#10166; vllm-project/vllm#34573",
    after=("engine.socket",),
)
def oci_runtime(facts: Facts) -> Answer:
    """The runtime of rootless podman."""
    engine = facts.need_engine()
    if engine.kind != "podman" or not engine.rootless:
        runtimes = f"; it has {listed(engine.runtimes)}" if engine.runtimes else ""
        return ok(f"{engine.runtime or 'its runtime'} serves{runtimes}")
    if engine.runtime == "crun":
        return ok("crun")
    return warn(
        f"podman info: ociRuntime {engine.runtime or 'unknown'}",
        "`--group-add=keep-groups` has no effect with it; `rocenv up` maps the groups by number instead",
        '`sudo apt-get install crun`, and `runtime = "crun"` under [engine] in ~/.config/containers/containers.conf',
        needs="container",
        verify="podman info --format '{{.Host.OCIRuntime.Name}}'",
    )


@check(
    id="engine.subids",
    layer="engine",
    severity="fail",
    title="a rootless engine has ids to map",
    reads="/etc/subuid, /etc/subgid",
    why="without ranges a rootless engine can unpack no image that holds files of more than one owner",
    source="podman: rootless tutorial",
    after=("engine.socket",),
)
def subids(facts: Facts) -> Answer:
    """A range for the caller in both files."""
    engine, health = facts.need_engine(), facts.need_health()
    if not engine.rootless:
        return skip("the engine is not rootless")
    files = {"/etc/subuid": health.subuid, "/etc/subgid": health.subgid}
    if None in files.values():
        return skip("/etc/subuid or /etc/subgid could not be read")
    lacking = [name for name, ranges in files.items() if not ranges]
    if not lacking:
        return ok("; ".join(f"{name}: {sum(one.length for one in ranges or ())} ids" for name, ranges in files.items()))
    user = health.user or "$USER"
    return fail(
        f"{listed(lacking)} has no line for {user}",
        "this user has no subordinate ids: images with files of several owners cannot be unpacked",
        f"`sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}`",
        needs="restart",
        verify=f"grep {user} /etc/subuid /etc/subgid",
    )


@check(
    id="engine.subset-isolation",
    layer="engine",
    severity="fail",
    title="a part of the GPUs is kept apart from the others",
    reads="whether the engine is rootless, which GPUs are asked for",
    why="a rootless engine has no device cgroup: a container that was given some GPUs can reach them all",
    source="podman#21454; legacy-rocm-build#2860",
    after=("engine.socket",),
)
def isolation(facts: Facts) -> Answer:
    """Only where fewer than all are asked for."""
    host, engine = facts.need_host(), facts.need_engine()
    wanted = facts.asked.gpus
    whole = wanted == "all" or (wanted == "auto" and len({gpu.kind for gpu in host.gpus}) < 2)  # noqa: PLR2004
    if whole or len(host.gpus) < 2:  # noqa: PLR2004
        return skip("all GPUs are asked for")
    if not engine.rootless:
        return ok("the device cgroup holds: no other GPU is reached, nor shown by KFD")
    say = fail if facts.asked.strict else warn
    return say(
        f"rootless {engine.kind}, GPUs `{wanted}` of {len(host.gpus)}",
        "it cannot be isolated: a variable (ROCR_VISIBLE_DEVICES) hides the other GPUs, and a program may undo that",
        "use a rootful engine where isolation matters, or give all GPUs (`--gpus all`)",
    )


@check(
    id="engine.cdi-fresh",
    layer="engine",
    severity="warn",
    title="the CDI specification names nodes that are there",
    reads="/etc/cdi, /var/run/cdi, ~/.config/cdi against /dev and the nodes' numbers",
    why="a specification is written once; after a reboot, a new mode of partitions or a new card it names what is gone",
    source="ROCm/container-toolkit: troubleshooting",
)
def cdi_fresh(facts: Facts) -> Answer:
    """Each device of each specification of amd.com/gpu."""
    host, health = facts.need_host(), facts.need_health()
    broken = [spec for spec in health.cdi if spec.problem]
    if broken:
        evidence = f"{broken[0].file}: {broken[0].problem}"
        return warn(
            evidence, "this CDI specification cannot be read", generating(broken[0].file), verify="rocenv cdi check"
        )
    for name, files in found(health.cdi, folders(health.cdi)).conflicts.items():
        evidence = f"{' and '.join(files)}: both give {KIND}={name}"
        cause = "files of one folder that give the same devices contradict each other: engines take none of these"
        return warn(evidence, cause, leaving_one(files), verify="rocenv cdi check")
    ours = [spec for spec in health.cdi if spec.kind == KIND]
    if not ours:
        return skip("there is no CDI specification for amd.com/gpu, which nothing here needs")
    for spec in ours:
        wrong = stale(spec, host, health.kfd_number)
        if wrong:
            return warn(
                f"{spec.file}: {listed(wrong)}",
                "the CDI specification is older than the nodes: `--device amd.com/gpu=…` fails or gives another device",
                generating(spec.file),
                needs="container",
                verify="rocenv cdi check",
            )
    return ok("; ".join(f"{spec.file}: {listed(spec.devices, 9)}" for spec in ours))


@check(
    id="container.devnum",
    layer="engine",
    severity="warn",
    title="environments hold nodes of this boot",
    reads="the device numbers of rocenv's containers against /sys/class/kfd/kfd/dev and /dev/dri",
    why="/dev/kfd's major number is dynamic: a container keeps that of the boot it was made in",
    source="linux: register_chrdev of amdkfd; nextcloud/all-in-one#8471",
    after=("engine.socket", "engine.same-kernel", "kfd.present"),
)
def device_numbers(facts: Facts) -> Answer:
    """Containers of rocenv's whose nodes have other numbers now, or are gone."""
    host, health, engine = facts.need_host(), facts.need_health(), facts.need_engine_health()
    if engine.containers is None:
        return skip("the engine was not asked for its containers")
    if not engine.containers:
        return ok("there is no environment here")
    found = {one.name: said for one in engine.containers if (said := _gone_of(one, host, health))}
    if not found:
        return ok(f"{len(engine.containers)} environments")
    name, said = next(iter(found.items()))
    return warn(
        f"{listed(found)}: {listed(said)}",
        "the container was made with device numbers of another boot, and opens nothing, or another device",
        f"`{renewal(engine.kind, said, name)}`"
        + ("" if _restarts(engine.kind, said) else ", then `rocenv up` makes it anew"),
        needs="container",
        verify="rocenv ps",
    )


def renewal(kind: str, gone: list[str], name: str) -> str:
    """The command that gives a container the nodes of this boot. Docker looks a node up at each start, podman once."""
    return f"{kind} restart {name}" if _restarts(kind, gone) else f"{kind} rm -f {name}"


def _restarts(kind: str, gone: list[str]) -> bool:
    return kind == "docker" and not any(said.endswith("is not there") for said in gone)


def stale_containers(facts: Facts) -> dict[str, list[str]]:
    """The containers of rocenv's whose nodes have other numbers now, or are gone: what is wrong with each."""
    host, health, engine = facts.need_host(), facts.need_health(), facts.need_engine_health()
    return {one.name: said for one in engine.containers or () if (said := _gone_of(one, host, health))}


def _gone_of(container: OwnContainer, host: Host, health: Health) -> list[str]:
    return [said for node in container.devices if (said := gone(node, host, health.kfd_number))]


@check(
    id="engine.amd-runtime",
    layer="engine",
    severity="info",
    title="whether AMD's container runtime or CDI is set up",
    reads="`docker info`: Runtimes, discovered CDI devices",
    why="`--runtime=amd`, `--gpus` and `--device amd.com/gpu=…` need them; rocenv passes the nodes and needs neither",
    source="ROCm/container-toolkit: docs; ROCm/ROCm-docker#152",
    after=("engine.socket",),
)
def amd_runtime(facts: Facts) -> Answer:
    """Told."""
    engine, health = facts.need_engine(), facts.engine_health
    devices = [name for name in (health.cdi_devices or () if health else ()) if name.startswith(KIND)]
    runtime = "runtime amd" if "amd" in engine.runtimes else "no runtime amd"
    return info(f"{runtime}, CDI devices: {listed(devices) or 'none'}")

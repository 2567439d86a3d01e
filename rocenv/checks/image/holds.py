"""What is in an image: torch built for ROCm, the Python that has it, groups, programs."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import inside, listed
from rocenv.rules.nodes import KFD

_DRI = "/dev/dri/renderD"


@check(
    id="image.torch-hip",
    layer="image",
    severity="fail",
    title="torch in the image is built for ROCm",
    reads="torch.__version__ and torch.version.hip of the image's Python",
    why="pip takes CUDA's torch from the default index, and puts it over ROCm's with any package that asks for torch",
    source="YanWenKun/ComfyUI-Docker#187; ROCm/pytorch#1532",
    after=("image.resolve",),
)
def torch(facts: Facts) -> Answer:
    """A torch whose hip is None computes on the CPU, or asks for NVIDIA's driver."""
    image = facts.need_image()
    if image.torch is None:
        return skip(f"whether torch is in {image.reference} was not looked up")
    if image.hip is not None:
        return ok(f"torch {image.torch}, hip {image.hip}")
    build = image.torch.partition("+")[2]
    kind = f"a build for CUDA ({build})" if build.startswith("cu") else f"a build without HIP ({build or 'no label'})"
    return fail(
        f"torch {image.torch}, torch.version.hip None",
        f"this torch is {kind}: it never uses an AMD GPU",
        "install it from AMD's index alone (`pip install --index-url …`), or take an image of `rocenv plan pytorch`",
        needs="container",
        verify="python3 -c 'import torch; print(torch.__version__, torch.version.hip)'",
    )


@check(
    id="image.python",
    layer="image",
    severity="warn",
    title="the Python on PATH is the one with torch",
    reads="python3 on the image's PATH, /opt/venv, /opt/conda/envs/*, by torch.version.hip of each",
    why="torch lies in a conda environment or venv; another entry point or a login shell takes another Python",
    source="tile-ai/tilelang#503; legacy-rocm-build#1155; AMDResearch/Ryzers#79",
    after=("image.resolve",),
)
def python(facts: Facts) -> Answer:
    """Which of the image's Pythons sees torch for ROCm; the first is the one on PATH."""
    image = facts.need_image()
    if not image.pythons:
        return skip(f"the Pythons in {image.reference} were not looked at")
    with_torch = [path for path, hip in image.pythons.items() if hip is not None]
    first = next(iter(image.pythons))
    if not with_torch:
        return info(f"{listed(image.pythons)}: none has torch for ROCm")
    if first == with_torch[0]:
        return ok(f"{first}, hip {image.pythons[first]}")
    return warn(
        f"{first} has no torch for ROCm; {with_torch[0]} has (hip {image.pythons[with_torch[0]]})",
        "`python3` here is not the Python that torch was installed for",
        f"run `{with_torch[0]}`, or put `{with_torch[0].rpartition('/')[0]}` first on PATH",
    )


@check(
    id="image.group-gid",
    layer="image",
    severity="warn",
    title="the image's render group has the host's number",
    reads="/etc/group of the image against the gids of the nodes",
    why="render's number differs by host: a number that is baked into an image opens nothing elsewhere",
    source="ROCm/ROCm-docker#90; ROCm/rocm-examples#172; ROCm/rocm-libraries#6563",
    after=("image.resolve",),
)
def group(facts: Facts) -> Answer:
    """The names render and video of the image; rocenv passes numbers and needs neither."""
    image, host = facts.need_image(), facts.need_host()
    if image.groups is None:
        return skip(f"/etc/group of {image.reference} was not read")
    gids = list(dict.fromkeys(one.gid for one in host.devices if one.path == KFD or one.path.startswith(_DRI)))
    if not gids:
        return skip("there are no nodes to compare with")
    shown = listed(map(str, gids))
    if inside(host) and set(gids) <= {*host.caller.groups, host.caller.gid}:
        return ok(f"the nodes are of {shown}, and the process in here has those groups by number")
    told = {name: gid for name in ("render", "video") if (gid := image.groups.get(name)) is not None}
    if any(gid in gids for gid in told.values()):
        return ok(f"{listed(f'{name} is {gid}' for name, gid in told.items())}; the nodes are of {shown}")
    numbers = " ".join(f"--group-add={gid}" for gid in gids if gid)
    if image.user in (None, "", "root", "0", "0:0") and "render" not in told:
        return info(f"the image runs as root and has no group render; the nodes are of {shown}")
    seen = listed(f"{name} is {gid}" for name, gid in told.items()) or "neither render nor video"
    return warn(
        f"the image's /etc/group: {seen}; the host's nodes are of {shown}",
        "a group's name means the image's number: membership in there or `--group-add render` opens no node",
        f"pass numbers: `{numbers}`, as `rocenv up` does" if numbers else "mend the nodes' group first: `kfd.access`",
        needs="container",
    )


@check(
    id="image.numactl",
    layer="image",
    severity="warn",
    title="numactl is in the image",
    reads="the programs in the image",
    why="`--numa-bind` is ignored without a word where numactl is missing; whether binding helps is to be measured",
    source="vllm-project/vllm#55416",
    after=("image.resolve",),
)
def numactl(facts: Facts) -> Answer:
    """Only where NUMA is asked for."""
    image = facts.need_image()
    if not {"numa", "hpc"} & {*facts.asked.loosen, facts.asked.profile}:
        return skip("NUMA binding is not asked for")
    if image.programs is None:
        return skip(f"the programs in {image.reference} were not looked up")
    if "numactl" in image.programs:
        return ok("numactl is there")
    return warn(
        "no numactl on the image's PATH",
        "programs that bind themselves by numactl do not, and do not say so",
        "add it: `build: {packages: {apt: [numactl]}}` in rocenv.yaml",
        needs="container",
    )

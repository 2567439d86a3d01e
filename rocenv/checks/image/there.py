"""Whether an image exists, and is made for this machine's processor."""

from __future__ import annotations

from rocenv.checks.catalogue import Answer, check, fail, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import listed

AMD64 = ("x86_64", "amd64")
_SHOWN = "`rocenv plan PROFILE --refused` shows every image that is known"


@check(
    id="image.resolve",
    layer="image",
    severity="fail",
    title="the image exists",
    reads="the image's manifest in its registry, the engine's own images",
    why="tags move and go; Docker Hub says 'access denied' for repositories that never were",
    source="ROCm/ROCm-docker#159; ggml-org/llama.cpp#12318; vllm-project/vllm-omni#7405",
)
def resolve(facts: Facts) -> Answer:
    """What the registry said, and the nearest image that there is."""
    image = facts.need_image()
    near = f"did you mean `{image.nearest[0]}`?" if image.nearest else _SHOWN
    evidence = f"{image.reference}: {image.said or image.state}"
    match image.state:
        case "local":
            return ok(f"{image.reference} is here")
        case "found":
            return ok(f"{image.reference} is in its registry")
        case "no-tag":
            return fail(evidence, "its registry has the repository and not this tag (manifest unknown)", near)
        case "no-repository":
            return fail(evidence, "there is no such repository, or it asks for a login (access denied)", near)
        case "refused":
            return fail(evidence, "its registry asks for a login", "`docker login REGISTRY`")
        case "busy":
            return warn(
                evidence, "the registry takes no more pulls for now (too many requests)", "`docker login`, or wait"
            )
        case "unreachable":
            return fail(
                evidence,
                "its registry cannot be reached, and the image is not here",
                "mend the network or proxy; offline, `docker load` brings an image that `docker save` wrote elsewhere",
            )
    return skip(image.said or "its registry was not asked")


@check(
    id="image.arch",
    layer="image",
    severity="fail",
    title="the image is made for this processor",
    reads="uname -m, the platforms of the image",
    why="AMD's images are for amd64 alone, also where an AMD GPU sits in an arm64 machine",
    source="containers/ramalama#2048",
)
def architecture(facts: Facts) -> Answer:
    """The machine against the image; without one, against what AMD publishes."""
    host = facts.need_host()
    if host.machine is None:
        return skip("the machine's architecture is unknown")
    machines = facts.image.machines if facts.image else ()
    ours = "amd64" if host.machine in AMD64 else {"aarch64": "arm64"}.get(host.machine, host.machine)
    if ours in (machines or ("amd64",)):
        return ok(f"{host.machine}, {listed(machines) or 'amd64'}")
    return fail(
        f"uname -m: {host.machine}; the image: {listed(machines) or 'amd64'}",
        f"images with ROCm are for amd64, and this machine is {host.machine}",
        "run it on an amd64 host; on this one Vulkan serves the GPU",
    )

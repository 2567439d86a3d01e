"""WSL2: no PCI, no KFD; Windows' driver through /dev/dxg, and a library that leads there."""

from __future__ import annotations

from rocenv.catalog import gpus as catalog
from rocenv.checks.catalogue import Answer, check, fail, info, ok, skip, warn
from rocenv.checks.facts import Facts
from rocenv.checks.words import on_wsl
from rocenv.rules.absent import UPDATE_WSL

_DXCORE, _ROCDXG, _OLD_RUNTIME = "libdxcore.so", "librocdxg.so", "libhsa-runtime64.so"
_ELSEWHERE = "this is not WSL2"
_OLDEST = (11, 0)  # RDNA3: what AMD's driver for Windows passes on


@check(
    id="wsl.detect",
    layer="hardware",
    severity="fail",
    title="whether this is WSL2, and Windows passes its GPU on",
    reads="the kernel's release, /dev/dxg",
    why="guides for Linux name /dev/kfd, which WSL2 does not have: 'adding custom device \"/dev/kfd\"' fails there",
    source="hydrian/stable-diffusion-webui-rocm#17; ROCm/AMDMIGraphX#3834",
)
def detect(facts: Facts) -> Answer:
    """WSL2 is a warning: it works in its own way, with some Radeons."""
    host = facts.need_host()
    if not on_wsl(host):
        return skip(_ELSEWHERE)
    if not host.dxg:
        return fail("no /dev/dxg", "this is WSL2, and Windows passes no GPU on", UPDATE_WSL, verify="ls -l /dev/dxg")
    return warn(
        f"kernel {host.kernel}, /dev/dxg",
        "this is WSL2: there is no /dev/kfd and no render node, GPUs are reached through /dev/dxg",
        "`rocenv up PROFILE` passes /dev/dxg and Windows' libraries by itself",
        verify="ls -l /dev/dxg",
    )


@check(
    id="wsl.gpu-supported",
    layer="hardware",
    severity="fail",
    title="Windows' driver lets WSL2 use this GPU for ROCm",
    reads="the PCI id that Windows tells, librocdxg's list of device ids",
    why="for older Radeons /dev/dxg is there and ROCm is not: no package inside WSL mends that",
    source="robertrosenbusch/gfx803_rocm#28; ROCm/librocdxg",
    after=("wsl.detect",),
)
def gpu_supported(facts: Facts) -> Answer:
    """By librocdxg's own list where it is there, else by the GPU's generation."""
    host, health = facts.need_host(), facts.need_health()
    if not on_wsl(host):
        return skip(_ELSEWHERE)
    if health.windows_gpu is None:
        return skip(health.missing.get("windows_gpu", "Windows did not tell its GPU's PCI id"))
    pci_id = health.windows_gpu
    vendor, _, device = pci_id.partition(":")
    gfx = catalog.gfx_of(pci_id)
    name = f"{pci_id} ({catalog.pci_name(pci_id) or gfx or 'unknown'})"
    cause = "Windows' driver for this GPU has no ROCm for WSL2: it is unsupported on WSL, whatever is installed here"
    fix = "boot Linux itself on this machine; on WSL2 a Radeon RX 7000 or later is served"
    if vendor != "1002":
        return fail(name, "Windows' GPU is not AMD's", fix)
    if health.dxg_ids is not None:
        listed = device in health.dxg_ids
        evidence = f"{name}: {'in' if listed else 'not in'} librocdxg's dids.conf"
        return ok(evidence) if listed else fail(evidence, cause, fix)
    if gfx is None:
        return skip(f"{name}: its gfx target is unknown, and librocdxg's list is not there")
    return ok(name) if _version(gfx) >= _OLDEST else fail(name, cause, fix)


def _version(gfx: str) -> tuple[int, ...]:
    return tuple(int(part) for part in (catalog.hip_version(gfx) or "0").split("."))[:2]


@check(
    id="wsl.rocdxg-abi",
    layer="hardware",
    severity="fail",
    title="the libraries that lead to Windows' driver fit",
    reads="/usr/lib/wsl/lib, /opt/rocm/lib, the image's ROCm release",
    why="images before ROCm 7.13 look for dxg only when told to; without librocdxg none finds a GPU",
    source="ROCm/librocdxg#1; TheRock RELEASES.md",
    after=("wsl.detect",),
)
def libraries(facts: Facts) -> Answer:
    """Windows' libdxcore, librocdxg of AMD's package, and what the image's ROCm needs to use them."""
    host, health = facts.need_host(), facts.need_health()
    if not on_wsl(host):
        return skip(_ELSEWHERE)
    from rocenv.catalog.versions import Version
    from rocenv.rules.wsl import DXG_VARIABLE, ON_BY_DEFAULT, needs_variable

    found = " ".join(health.libraries) or "none of them"
    if _DXCORE not in found:
        return fail(f"/usr/lib/wsl/lib: {found}", "Windows' libdxcore.so is not there", UPDATE_WSL)
    if _ROCDXG not in found:
        old = _OLD_RUNTIME in found
        say = warn if old else fail
        return say(
            f"{found}: no {_ROCDXG}",
            "this is the older ROCm for WSL: its runtime library must be mounted over the image's, of the same release"
            if old
            else "AMD's library for WSL2 is not installed",
            "`amdgpu-install --usecase=wsl,rocm --no-dkms`, or the package `amdrocm-wsl`",
            verify="ls /opt/rocm/lib/librocdxg.so*",
        )
    rocm = facts.image.rocm if facts.image else None
    if rocm is None:
        return info(found, f"images before ROCm {ON_BY_DEFAULT} need {DXG_VARIABLE}=1, which `rocenv up` sets")
    if needs_variable(Version.parse(rocm)):
        return info(
            f"{found}; the image has ROCm {rocm}",
            f"before {ON_BY_DEFAULT} it looks for dxg only with {DXG_VARIABLE}=1: `rocenv up` sets it",
        )
    return ok(f"{found}; the image has ROCm {rocm}")

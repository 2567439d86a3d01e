"""WSL2: no KFD and no render nodes, but /dev/dxg and two libraries that lead through it to Windows' driver."""

from __future__ import annotations

from rocenv.catalog.versions import Version
from rocenv.errors import HostError
from rocenv.model.host import Host
from rocenv.model.plan import ImageChoice, Mount, Reason
from rocenv.plan.access import Access
from rocenv.plan.storage import Storage
from rocenv.rules.wsl import DXG_VARIABLE, ON_BY_DEFAULT, needs_variable

DXG = "/dev/dxg"
# What Windows and AMD's package for WSL bring; inside they lie where the loader looks, beside the image's ROCm.
_DXCORE = "/usr/lib/wsl/lib/libdxcore.so"
_ROCDXG = ("/opt/rocm/lib/librocdxg.so", "/opt/rocm/lib/librocdxg.so.1")

_NO_BRIDGE = (
    "`librocdxg.so` is not in /opt/rocm/lib: ROCm for WSL from 7.2 on brings it; an older one replaces the image's own "
    "HSA runtime instead, which rocenv does not do"
)


def applies(host: Host) -> bool:
    """True on WSL2 with a GPU passed on by Windows, where KFD does not exist."""
    return host.environment == "wsl2" and host.dxg and not host.gpus


def whole(words: str) -> None:
    """Raise HostError for a wish for one GPU: Windows passes on what it passes on."""
    if words not in ("auto", "all", "dgpu"):
        raise HostError(f"on WSL2 GPUs cannot be told apart, and `{words}` is asked for", "`--gpus all`")


def give(words: str, host: Host, user: Access) -> Access:
    """The access to what Windows passes on. Raises HostError for a wish for one GPU, and without AMD's library."""
    whole(words)
    if host.rocm_default is None and not host.rocm_installed:
        raise HostError(
            "WSL2 passes a GPU on, but ROCm for WSL (with `librocdxg.so`) is not installed beside it",
            "install it as AMD's page on WSL says: `amdgpu-install --usecase=wsl,rocm --no-dkms`",
        )
    node = host.device(DXG)
    groups = (node.gid,) if node and node.gid else ()
    why = "WSL2 has no /dev/kfd; Windows' driver is reached through /dev/dxg"
    return Access(
        devices=(DXG,),
        groups=groups,
        user=user.user,
        userns=user.userns,
        reasons=(Reason("devices", DXG, why), *user.reasons),
        warnings=("which GPUs Windows passes on is seen inside alone: their targets are unknown here",),
    )


def storage(image: ImageChoice, host: Host) -> Storage:
    """The two libraries by the names that they have on the host, and the variable that older images need.

    Where none is to be seen, as in a capture without them, they are taken to be where AMD's page has them.
    """
    seen = host.wsl_libraries
    bridge = tuple(path for path in _ROCDXG if path in seen) if seen else _ROCDXG[:1]
    mounts = tuple(
        Mount("bind", path, f"/usr/lib/{path.rpartition('/')[2]}", read_only=True) for path in (_DXCORE, *bridge)
    )
    reasons = tuple(Reason(f"mount {one.target}", one.source, "the way to Windows' driver on WSL2") for one in mounts)
    warnings = () if bridge else (_NO_BRIDGE,)
    if not needs_variable(Version.parse(image.rocm) if image.rocm else None):
        return Storage(mounts, {}, reasons, warnings)
    why = f"before ROCm {ON_BY_DEFAULT} it looks for dxg only so"
    return Storage(mounts, {DXG_VARIABLE: "1"}, (*reasons, Reason(f"env {DXG_VARIABLE}", "1", why)), warnings)

"""Plans and profiles that Dockerfiles are written from, in a few words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rocenv.model.plan import EngineFacts, GpuRef, ImageChoice, Plan
from rocenv.model.wish import BuildWish, ImageWish, Profile, SmokeWish
from rocenv.render.dockerfile import render_dockerfile
from rocenv.render.recipe import recipe_of

PYTORCH = "rocm/pytorch:rocm7.2.4_ubuntu24.04_py3.12_pytorch_release_2.10.0"
CONDA = "rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.3.0"
DEV = "rocm/dev-ubuntu-24.04:7.2.4-complete"
ALMA = "rocm/dev-almalinux-8:7.2.1-complete"


def profile(reference: str, *, rocm: str | None = None, **build: Any) -> Profile:
    """A profile on that image; `build` are the keys below `build`, `user` and `ports` the profile's own."""
    user, ports = build.pop("user", "caller"), build.pop("ports", ())
    return Profile(
        name="pytorch", summary="", image=ImageWish(reference=reference, rocm=rocm), build=BuildWish(**build),
        gpus="auto", visible="rocr", env={}, mounts=(), caches=(), ports=ports, user=user, shm_size=None, loosen=(),
        smoke=SmokeWish("access"), strict=False,
    )  # fmt: skip


def plan(reference: str, *, gfx: tuple[str, ...] = ("gfx942",), rocm: str | None = None) -> Plan:
    """The plan of such a profile on a host with one GPU of each of these targets."""
    gpus = tuple(GpuRef(at, target, f"0000:0{at}:00.0", 0, None, None, target) for at, target in enumerate(gfx))
    return Plan(
        profile="pytorch", project="p", name="pytorch", engine=EngineFacts("docker"),
        image=ImageChoice(reference, "profile", rocm=rocm), gpus=gpus, devices=(), groups=(), keep_groups=False, env={},
        mounts=(), security=(), cap_add=(), ipc=None, shm_size=None, ports=(), user=None, workdir="/workspace",
        labels={}, smoke_level="access",
    )  # fmt: skip


def dockerfile(
    reference: str = PYTORCH, *, gfx: tuple[str, ...] = ("gfx942",), folders: tuple[str, ...] = (), **wish: Any
) -> str:
    """The text for a wish on an image."""
    wished = profile(reference, **wish)
    return render_dockerfile(recipe_of(plan(reference, gfx=gfx), wished), folders)


def packages(**names: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    return names

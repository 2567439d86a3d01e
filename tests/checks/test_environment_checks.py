"""Checks of variables, packages, caches, containers and profiles: each verdict by facts that give it."""

from __future__ import annotations

from typing import Any

import pytest
from checks.seen import CONTAINER, TWO, WELL, facts, found, health, image
from plan.made import gpu, host, plan, profile

from rocenv.errors import EngineError, HostError, ImageError, PolicyError
from rocenv.model.health import CacheFolder, ClusterNode
from rocenv.model.host import RocmDefault

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
RENOIR = host([gpu(0, "gfx90c", kind="apu")])
MIXED = host([gpu(0, "gfx1100"), gpu(1, "gfx1032")])
TORCH = {"torch": "2.9.0+rocm7.0"}
CONTAINER_OF_TWO = CONTAINER._replace(numa_nodes=2)


def env(**variables: str) -> dict[str, Any]:
    return {"env": variables}


CASES: list[tuple[str, dict[str, Any], str, str]] = [
    ("env.override-format", {}, "ok", "not set"),
    ("env.override-format", env(**{OVERRIDE: "10.3.0"}), "ok", "10.3.0"),
    ("env.override-format", env(**{OVERRIDE: '"10.3.0"'}), "fail", "the quotes are part of the value"),
    ("env.override-format", {**env(**{OVERRIDE: "9.0.a"}), "host": RENOIR}, "fail", f"export {OVERRIDE}=9.0.0"),
    ("env.override-format", env(**{f"{OVERRIDE}_1": "gfx1030"}), "fail", f"export {OVERRIDE}_1=10.3.0"),
    ("env.override-format", {**env(**{f"{OVERRIDE}_2": "x"}), "host": MIXED}, "fail", f"export {OVERRIDE}_2=10.3.0"),
    ("env.override-format", {"env": None}, "skip", "no environment variables"),
    ("env.override-noop", {}, "ok", "not set"),
    ("env.override-noop", env(**{OVERRIDE: "9.4.2"}), "info", "changes nothing"),
    ("env.override-noop", {**env(**{OVERRIDE: "10.3.0"}), "host": MIXED}, "warn", f"`{OVERRIDE}_<n>`"),
    ("env.override-noop", {**env(**{OVERRIDE: "9.0.0"}), "host": RENOIR}, "info", "pass for gfx900"),
    ("gpu.visible-env", {}, "ok", "none is set"),
    ("gpu.visible-env", {**env(ROCR_VISIBLE_DEVICES="1"), "host": TWO}, "ok", "1 left"),
    ("gpu.visible-env", {**env(ROCR_VISIBLE_DEVICES="1", HIP_VISIBLE_DEVICES="1"), "host": TWO}, "fail",
     "unset HIP_VISIBLE_DEVICES"),
    ("gpu.visible-env", {**env(ROCR_VISIBLE_DEVICES="0,1", HIP_VISIBLE_DEVICES="1"), "host": TWO}, "warn", "both"),
    ("gpu.visible-env", {**env(ROCR_VISIBLE_DEVICES="GPU-0000000000000002"), "host": TWO}, "ok", "1 left"),
    ("gpu.visible-env", {**env(ROCR_VISIBLE_DEVICES="0,9"), "host": TWO}, "fail", "`9` of ROCR_VISIBLE_DEVICES"),
    ("gpu.visible-env", {**env(HIP_VISIBLE_DEVICES=""), "host": TWO}, "fail", "no GPU"),
    ("gpu.visible-env", {**env(CUDA_VISIBLE_DEVICES="0"), "host": host()}, "skip", "no GPU to count"),
    ("env.ld-library-path", {}, "ok", "no ROCm"),
    ("env.ld-library-path", env(LD_LIBRARY_PATH="/usr/lib:/home/u/lib"), "ok", "no ROCm"),
    ("env.ld-library-path", env(LD_LIBRARY_PATH="/opt/rocm-6.2.0/lib"), "info", "reach containers"),
    ("env.ld-library-path", {**env(LD_LIBRARY_PATH="/opt/rocm-6.2.0/lib"), "packages": TORCH}, "fail",
     "ROCm 6.2.0 over the ROCm 7.0"),
    ("env.ld-library-path", {**env(LD_LIBRARY_PATH="/opt/rocm-7.0.1/lib"), "packages": TORCH}, "warn", "come first"),
    ("env.ld-library-path", {**env(LD_LIBRARY_PATH="/opt/rocm/lib"), "packages": TORCH, "host": WELL._replace(
        rocm_default=RocmDefault("/opt/rocm", "/opt/rocm-6.4", "6.4"))}, "fail", "ROCm 6.4 over"),
    ("env.ld-library-path", {**env(LD_LIBRARY_PATH="/opt/rocm-6.2.0/lib"), "image": image(torch="2.9.0+rocm7.0")},
     "fail", "ROCm 6.2.0 over"),
    ("env.path-space", {}, "ok", "none does"),
    ("env.path-space", env(ROCM_PATH="/home/u/my rocm"), "warn", "my rocm"),
    ("env.cache-writable", {}, "ok", "none yet"),
    ("env.cache-writable", {"health": health(caches=(CacheFolder("/c", 1000, writable=True),))}, "ok", "1 are there"),
    ("env.cache-writable", {"health": health(caches=(CacheFolder("/c", 0, writable=False),))}, "warn",
     "sudo chown -R $USER: /c"),
    ("env.cache-writable", {"health": health(caches=(CacheFolder("/c", 1000, writable=False),))}, "warn",
     "chmod -R u+rwX /c"),
    ("libs.wheel-versions", {}, "skip", "--venv"),
    ("libs.wheel-versions", {"packages": {"numpy": "2"}}, "ok", "none is installed"),
    ("libs.wheel-versions", {"packages": {"rocm": "7.0", "rocm-sdk-core": "7.0"}}, "ok", "rocm-sdk-core 7.0"),
    ("libs.wheel-versions", {"packages": {"rocm": "7.0", "rocm-sdk-core": "7.1"}}, "fail", "rocm-sdk-core==7.0"),
    ("container.shm", {}, "skip", "no container"),
    ("container.shm", {"host": CONTAINER, "health": health(shm_bytes=64 << 20)}, "warn", "--shm-size=16g"),
    ("container.shm", {"host": CONTAINER, "health": health(shm_bytes=16 << 30)}, "ok", "16 GiB"),
    ("container.shm", {"host": CONTAINER}, "skip", "not read"),
    ("seccomp.mempolicy", {}, "skip", "in containers"),
    ("seccomp.mempolicy", {"host": CONTAINER_OF_TWO, "health": health(seccomp=2)}, "info", "--loosen numa"),
    ("seccomp.mempolicy", {"host": CONTAINER_OF_TWO, "health": health(seccomp=0)}, "skip", "in containers"),
    ("seccomp.mempolicy", {"host": TWO, "health": health(seccomp=2)}, "skip", "in containers"),
    ("seccomp.mempolicy", {"host": CONTAINER, "health": health(seccomp=2)}, "skip", "in containers"),
    ("k8s.gid-uniform", {}, "skip", "no cluster"),
    ("k8s.gid-uniform", {"cluster": (ClusterNode("a", (109,)), ClusterNode("b", (109,)))}, "ok", "a: 109"),
    ("k8s.gid-uniform", {"cluster": (ClusterNode("a", (109,)), ClusterNode("b", (110,)))}, "fail", 'KERNEL=="kfd"'),
    ("k8s.capacity", {}, "skip", "no cluster"),
    ("k8s.capacity", {"cluster": (ClusterNode("a", capacity=8, gpus=8),)}, "ok", "a: 8"),
    ("k8s.capacity", {"cluster": (ClusterNode("a", capacity=0, gpus=64),)}, "fail", "KFD 64"),
    ("k8s.capacity", {"cluster": (ClusterNode("a"),)}, "skip", "told both"),
    ("k8s.capacity", {"cluster": (ClusterNode("a", capacity=8),)}, "skip", "told both"),
    ("profile.plan", {}, "skip", "no profile"),
    ("profile.plan", {"plan": plan(host([gpu(0)]))}, "ok", "GPUs 0"),
    ("profile.plan", {"plan_error": HostError("no such GPU", "choose another")}, "fail", "choose another"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "given", "verdict", "words"), CASES)
def test_a_check_of_the_environment(check: str, given: dict[str, Any], verdict: str, words: str) -> None:
    finding = found(check, facts(**given))
    assert finding.verdict == verdict, finding
    assert words in " ".join(filter(None, (finding.evidence, finding.cause, finding.fix))), finding


@pytest.mark.parametrize(
    ("error", "layer"),
    [(HostError("x"), "hardware"), (EngineError("x"), "engine"), (ImageError("x"), "image"),
     (PolicyError("x"), "environment")],
)  # fmt: skip
def test_what_stands_in_a_plan_s_way_counts_for_the_layer_that_it_is_of(error: Exception, layer: str) -> None:
    assert found("profile.plan", facts(plan_error=error)).layer == layer


def test_a_profile_s_name_is_told() -> None:
    assert profile().name in found("profile.plan", facts(plan=plan(host([gpu(0)])))).evidence

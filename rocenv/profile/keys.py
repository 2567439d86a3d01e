"""The one table of keys that a profile and `rocenv.yaml` may hold: it checks them and makes the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

NAME = r"[a-z0-9][a-z0-9_.-]{0,62}"
ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_CONSTRAINT = r"\s*(>=|<=|==|!=|>|<)?\s*v?\d[\w.+-]*(\s*,\s*(>=|<=|==|!=|>|<)?\s*v?\d[\w.+-]*)*\s*"

LOOSEN: dict[str, str] = {
    "sudo": "new privileges may be gained, so that sudo and setuid programs work",
    "ptrace": "SYS_PTRACE, for debuggers and for GPU memory shared between processes",
    "perf": "PERFMON, for profilers that read hardware counters",
    "numa": "SYS_NICE, so that programs may place their memory on NUMA nodes",
    "rdma": "InfiniBand and RoCE verbs, pinned memory without a limit, and many open files",
    "host-ipc": "the host's shared memory and IPC instead of an own",
}
CACHES = ("home", "miopen", "triton", "inductor", "comgr", "hf", "pip", "uv", "vllm", "jax", "ollama", "llama")
LEVELS = ("access", "runtime", "kernel", "compile", "libraries", "framework")
COMPONENTS = ("runtime", "hip-sdk", "math", "rccl", "profilers", "debuggers", "all")
GFX = r"gfx[0-9a-f]{3,5}|gfx\d{1,2}(-\d)?-generic"
FILE = r"(?!.*(?:^|/)\.\.(?:/|$))[A-Za-z0-9._][A-Za-z0-9._/+-]{0,200}"  # below a folder: no `..`, not absolute


class Key(NamedTuple):
    """One key: its kind (text, flag, list, or table: names of the user's own with texts, or lists, in them)."""

    kind: str
    summary: str
    example: str
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    names: str | None = None  # of a table: what its own keys must look like
    of_lists: bool = False  # of a table: its values are lists


KEYS: Mapping[str, Key] = {
    "extends": Key("text", "the profile that this one builds on", "extends: pytorch", pattern=NAME),
    "name": Key("text", "what its environment is called unless --name says otherwise", "name: train", pattern=NAME),
    "summary": Key("text", "one line for people", "summary: PyTorch for training"),
    "image.family": Key("text", "the catalog's family that the image is chosen from", "family: rocm/pytorch"),
    "image.reference": Key("text", "one exact image, taken instead of choosing", "reference: rocm/pytorch:latest"),
    "image.rocm": Key("text", "which ROCm releases are wanted", 'rocm: ">=7.0"', pattern=_CONSTRAINT),
    "image.python": Key("text", "which Python is wanted", 'python: "3.12"', pattern=_CONSTRAINT),
    "image.ubuntu": Key("text", "which Ubuntu is wanted", 'ubuntu: "24.04"', pattern=_CONSTRAINT),
    "image.framework": Key(
        "table", "which versions of frameworks are wanted", 'framework: {pytorch: ">=2.9"}', pattern=_CONSTRAINT
    ),
    "build.template": Key("text", "the Dockerfile template to build from", "template: on-image", pattern=NAME),
    "build.os": Key(
        "text",
        "the system to build on, or the image's where its name does not tell",
        "os: ubuntu-24.04",
        pattern=r"[a-z]+-\d+(\.\d+)?",
    ),
    "build.components": Key("list", "which parts of ROCm", "components: [runtime, math]", choices=COMPONENTS),
    "build.gfx": Key("list", "the targets to build for, instead of the host's", "gfx: [gfx942]", pattern=GFX),
    "build.packages.apt": Key("list", "packages to install with apt", "apt: [git]"),
    "build.packages.dnf": Key("list", "packages to install with dnf", "dnf: [git]"),
    "build.packages.zypper": Key("list", "packages to install with zypper", "zypper: [git]"),
    "build.packages.conda": Key("list", "packages to install with conda", "conda: [ffmpeg]"),
    "build.packages.pip": Key("list", "packages to install with pip", "pip: [numpy]"),
    "build.context": Key("text", "the folder that the build may copy from, below the project's", "context: ."),
    "build.wheels": Key("list", "which of AMD's wheels by target", "wheels: [torch]", choices=("rocm", "torch")),
    "build.source.folder": Key("text", "the HIP project's folder, below the context", "folder: src", pattern=FILE),
    "build.source.files": Key(
        "list",
        "what hipcc compiles into one program; without any, cmake builds the folder's CMakeLists.txt",
        "files: [add.hip]",
        pattern=FILE,
    ),
    "build.source.program": Key("text", "what the program is called", "program: add", pattern=NAME),
    "build.source.hipify": Key(
        "text", "what makes HIP of its CUDA sources first", "hipify: perl", choices=("perl", "clang")
    ),
    "build.source.options": Key("list", "options of hipcc, or of cmake", "options: [-lrocblas]"),
    "build.source.packages": Key("list", "packages that compiling needs, and running does not", "packages: [cmake]"),
    "build.source.runtime": Key(
        "text", "the image that the result is put into", "runtime: rocm/dev-ubuntu-24.04:7.2.4"
    ),
    "build.health": Key(
        "text", "where its server answers that it is well", "health: /health", pattern=r"/[\w./-]{0,200}"
    ),
    "build.mirrors": Key(
        "table",
        "where packages come from on the machine that builds: pip, an index; apt, a caching proxy",
        "mirrors: {pip: https://pypi.example/simple}",
        names="pip|apt",
    ),
    "build.args": Key("table", "build arguments", "args: {JOBS: 8}", names=ENV_NAME),
    "build.secrets": Key(
        "list",
        "secrets of the build: a variable of the caller's by name, or NAME=FILE; neither stays in the image",
        "secrets: [HF_TOKEN]",
        pattern=ENV_NAME + r"(=[^\x00-\x1f]+)?",
    ),
    "gpus": Key(
        "text",
        "which GPUs: auto, all, none, dgpu, apu, indices, a gfx target, BDF, UUID or render node; commas join them",
        "gpus: auto",
    ),
    "visible": Key(
        "text", "the visibility variable that this software bears", "visible: rocr", choices=("rocr", "hip")
    ),
    "env": Key(
        "table",
        "environment variables; `NAME: $NAME` passes the caller's own on without its value being written anywhere",
        "env: {NCCL_DEBUG: INFO}",
        names=ENV_NAME,
    ),
    "mounts": Key(
        "list", "SOURCE:TARGET[:ro]; a source without a slash is a named volume", "mounts: [~/data:/data:ro]"
    ),
    "caches": Key("list", "caches kept in volumes", "caches: [home, miopen]", choices=CACHES),
    "ports": Key(
        "list",
        "published ports, [ADDRESS:]HOST:CONTAINER[/tcp|/udp]",
        'ports: ["127.0.0.1:8000:8000"]',
        pattern=r"(?:(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-fA-F:]+\]):)?\d{1,5}(?:-\d{1,5})?:\d{1,5}(?:-\d{1,5})?(?:/(?:tcp|udp))?",
    ),
    "user": Key(
        "text",
        "who runs in it: caller, image, root, or UID[:GID]",
        "user: caller",
        pattern=r"caller|image|root|\d{1,10}(?::\d{1,10})?",
    ),
    "shm_size": Key(
        "text", "size of /dev/shm", "shm_size: 16g", pattern=r"\d{1,15}(?:[.]\d+)?\s*[bkmgtBKMGT]?[iI]?[bB]?"
    ),
    "loosen": Key("list", "what to loosen, by name", "loosen: [ptrace]", choices=tuple(LOOSEN)),
    "smoke.level": Key("text", "how far `up` proves that it works", "level: framework", choices=LEVELS),
    "smoke.probes": Key("list", "smoke tests by name, instead of a level's", "probes: [torch]", pattern=NAME),
    "strict": Key("flag", "refuse whatever would loosen anything", "strict: true"),
}
PROJECT_KEYS: Mapping[str, Key] = {
    "mirrors": Key(
        "table",
        "where else a registry's images can be had",
        "mirrors: {docker.io: [mirror.example:5000]}",
        of_lists=True,
    ),
    "policy.registries": Key("list", "the only registries or repositories allowed", "registries: [docker.io/rocm]"),
    "policy.loosen": Key("list", "the only loosenings allowed", "loosen: [ptrace]", choices=tuple(LOOSEN)),
    "policy.digests": Key("flag", "only images named by digest are allowed", "digests: true"),
}
ENVIRONMENTS = "environments"  # of rocenv.yaml: profiles of the project's own, by name


def children(keys: Mapping[str, Key], parent: str) -> tuple[str, ...]:
    """The names one step below `parent` (the empty text: at the top), in the table's order."""
    prefix = f"{parent}." if parent else ""
    return tuple(dict.fromkeys(key[len(prefix) :].split(".")[0] for key in keys if key.startswith(prefix)))

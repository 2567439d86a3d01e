"""The probes in a real container of the test bed: nodes that open, no driver behind them, and a torch for CPUs."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from bed import images
from smoke.mutants import HIP, MATMUL, PROBES, PYTHON, Mutant, bundle, planted
from smoke.test_runner import GOOD, waited

from rocenv.model.plan import GpuRef
from rocenv.model.proof import Probe, ProbeResult
from rocenv.report.proof import blame
from rocenv.smoke import run_probes
from rocenv.smoke.judge import judge
from rocenv.smoke.runner import hear, run_probe, supervisor

pytestmark = pytest.mark.engine

GROUPS = ("--group-add=993", "--group-add=2044")  # the gids of the bed's kfd and render nodes
MI300X = GpuRef(0, "gfx942", "0000:26:00.0", 0, None, "/dev/dri/renderD128", "AMD Instinct MI300X")
SECOND = MI300X._replace(index=1, bdf="0000:46:00.0", render_node="/dev/dri/renderD136")
GPUS = [MI300X, SECOND]


@dataclass
class Docker:
    """The bed's Docker, from outside the bed."""

    host: str
    started: list[str] = field(default_factory=list)

    def argv(self, *arguments: str) -> list[str]:
        return ["docker", "--host", self.host, *arguments]

    def __call__(self, *arguments: str, **options: Any) -> str:
        done = subprocess.run(self.argv(*arguments), check=True, capture_output=True, text=True, **options)
        return str(done.stdout).strip()

    def exec_argv(
        self,
        container: str,
        command: Sequence[str],
        *,
        interactive: bool,
        tty: bool,
        env: Mapping[str, str] | None = None,
    ) -> list[str]:
        variables = [f"--env={name}={value}" for name, value in (env or {}).items()]
        return self.argv("exec", "--interactive", *variables, container, *command)

    def start(self, image: str, *options: str) -> str:
        """A container that sleeps, as an ordinary user."""
        name = f"smoke-{uuid.uuid4().hex[:8]}"
        common = ("--detach", "--init", f"--name={name}", "--user=1000:1000", "--security-opt=no-new-privileges")
        self.started.append(name)
        self("run", *common, *options, "--entrypoint=sleep", image, "infinity")
        return name

    def processes(self, container: str) -> list[str]:
        return [line.split(maxsplit=1)[1] for line in self("top", container, "-eo", "pid,args").splitlines()[1:]]


@pytest.fixture(scope="module")
def docker(engine_host: str) -> Iterator[Docker]:
    """The engine; containers of these tests are removed at the end."""
    engine = Docker(engine_host)
    yield engine
    if engine.started:
        engine("rm", "--force", *engine.started)


@pytest.fixture(scope="module")
def torch(docker: Docker) -> str:
    """The stand-in for rocm/pytorch with two of the nodes."""
    return docker.start(images.STAND_IN, "--device=/dev/kfd", *(f"--device={gpu.render_node}" for gpu in GPUS), *GROUPS)


@pytest.fixture(scope="module")
def small(docker: Docker) -> str:
    """Busybox and nothing else, with the same nodes."""
    return docker.start(images.SMALL, "--device=/dev/kfd", *(f"--device={gpu.render_node}" for gpu in GPUS), *GROUPS)


@pytest.fixture(params=["torch", "small"])
def any_image(request: pytest.FixtureRequest) -> str:
    """Debian's shell and busybox's."""
    container: str = request.getfixturevalue(request.param)
    return container


def proved(
    docker: Docker, container: str, *names: str, gpus: Sequence[GpuRef] = GPUS, stand_in: bool = False
) -> list[ProbeResult]:
    return run_probes(
        docker, container, gpus, level="framework", probes=names, quick=True, stand_in=stand_in, tell=lambda _: None
    )


def at_rest(docker: Docker, container: str) -> None:
    """Nothing of a probe is left: no process but the two that the container began with, no file."""
    waited(lambda: [1] if len(docker.processes(container)) == 2 else [], 1)
    assert docker("exec", container, "ls", "-A", "/tmp") == ""


# For real: nodes open, and all that needs a driver fails with its own cause.


def test_access_passes(docker: Docker, any_image: str) -> None:
    results = proved(docker, any_image, "access")
    assert [(r.gpu, r.result, r.ran_on) for r in results] == [
        (None, "passed", "/dev/kfd"),
        (0, "passed", "/dev/dri/renderD128"),
        (1, "passed", "/dev/dri/renderD136"),
    ]
    assert results[0].figures["shm_bytes"] == 64 << 20
    assert results[0].figures["uid"] == 1000


def test_runtime_fails_at_hsa_itself(docker: Docker, torch: str) -> None:
    results = proved(docker, torch)
    by_level = {level: [r.result for r in results if r.level == level] for level in ("access", "runtime", "kernel")}
    assert by_level == {"access": ["passed"] * 3, "runtime": ["failed"], "kernel": ["skipped"]}
    [runtime] = [r for r in results if r.level == "runtime"]
    assert str(runtime.cause).startswith(
        "the ROCm runtime does not start: hsa_init answers 0x1008 HSA_STATUS_ERROR_OUT_OF"
    )
    assert runtime.figures["rocm_agent_enumerator"] == ["gfx942"] * 4, "which only reads sysfs: information"
    assert blame(results) == "host"
    at_rest(docker, torch)


@pytest.mark.parametrize(
    ("probe", "cause"),
    [
        ("vector_add", "no GPU seen: hipGetDeviceCount answers 100 and 0 GPUs"),
        ("hiprtc_add", "no GPU seen: hipGetDeviceCount finds none"),
        ("torch_matmul", "CPU build of torch: torch "),
    ],
)
def test_kernel_and_framework_fail_without_a_gpu(docker: Docker, torch: str, probe: str, cause: str) -> None:
    results = proved(docker, torch, probe)
    assert {(r.name, r.result) for r in results} == {(probe, "failed")}
    assert str(results[0].cause).startswith(cause)
    at_rest(docker, torch)


def test_image_without_python_or_compiler(docker: Docker, small: str) -> None:
    results = proved(docker, small)
    assert [(r.result, r.cause) for r in results if r.level == "runtime"] == [
        ("error", "no Python: none is on PATH, in /opt/venv or in /opt/conda")
    ] * 2
    assert blame(results) == "image"
    kernel = proved(docker, small, "vector_add")
    assert {(r.name, r.result) for r in kernel} == {("hiprtc_add", "error")}, "the fallback, which lacks Python"
    both = proved(docker, small, "vector_add", "hiprtc_add")
    assert [(r.name, r.gpu) for r in both] == [(r.name, r.gpu) for r in kernel], "it has stepped in: not once more"
    at_rest(docker, small)


def test_image_without_a_shell(docker: Docker) -> None:
    container = docker.start(images.SMALL, "--user=0")
    docker("exec", container, "rm", "/bin/sh")
    results = proved(docker, container, "access")
    assert {str(r.cause).partition(":")[0] for r in results} == {"no shell"}
    assert blame(results) == "image"


def test_node_that_the_device_cgroup_denies(docker: Docker) -> None:
    container = docker.start(images.SMALL, "--device=/dev/kfd", "--user=0")
    docker("exec", container, "mkdir", "/dev/dri")
    docker("exec", container, "mknod", "-m", "666", str(MI300X.render_node), "c", "4", "40")
    results = proved(docker, container, "access", gpus=[MI300X])
    assert str(results[1].cause).startswith("device not allowed: EPERM on /dev/dri/renderD128")
    assert blame(results) == "engine"


def test_node_whose_group_was_not_passed(docker: Docker) -> None:
    container = docker.start(images.SMALL, "--device=/dev/kfd", "--device=/dev/dri/renderD128", GROUPS[0])
    results = proved(docker, container, "access", gpus=[MI300X])
    assert [r.result for r in results] == ["passed", "failed"]
    assert str(results[1].cause).startswith("no permission: EACCES, group 2044 has access")


def test_node_that_was_not_passed(docker: Docker, small: str) -> None:
    third = MI300X._replace(index=2, render_node="/dev/dri/renderD144")
    results = proved(docker, small, "access", gpus=[third])
    assert [r.cause for r in results] == [None, "node missing: ENOENT on /dev/dri/renderD144"]
    assert results[0].figures["unplanned_nodes"] == "/dev/dri/renderD128 /dev/dri/renderD136"


# Standing in: agreed on, said, and never passed.


def test_stand_in_runs_what_a_cpu_can(docker: Docker, torch: str) -> None:
    results = proved(docker, torch, stand_in=True)
    assert {(r.level, r.result) for r in results} == {
        ("access", "passed"),
        ("runtime", "stand-in"),
        ("kernel", "stand-in"),
        ("framework", "stand-in"),
    }
    assert {r.ran_on for r in results if r.result == "stand-in"} == {"CPU (stand-in)"}
    figures = {r.name: r.figures for r in results}
    assert figures["vector_add"] == {"elements": (1 << 20) + 13, "built_for": "gfx942"}
    assert figures["torch_matmul"]["hip"] is None
    at_rest(docker, torch)


def test_stand_in_finds_a_target_that_is_not_in_sysfs(docker: Docker, torch: str) -> None:
    results = proved(docker, torch, "runtime", gpus=[MI300X._replace(gfx="gfx1100")], stand_in=True)
    assert [(r.result, str(r.cause).partition(":")[0]) for r in results] == [("failed", "missing GPU")]


def test_kernel_compiles_for_the_planned_targets(docker: Docker, torch: str) -> None:
    targets = ("gfx90a", "gfx942", "gfx1100")
    gpus = [MI300X._replace(index=i, gfx=gfx) for i, gfx in enumerate(targets)]
    [result] = proved(docker, torch, "vector_add", gpus=gpus, stand_in=True)
    assert (result.result, result.figures["built_for"]) == ("stand-in", "gfx1100 gfx90a gfx942")
    [by_hiprtc] = proved(docker, torch, "hiprtc_add", gpus=gpus, stand_in=True)
    sizes = by_hiprtc.figures["compiled_for"]
    assert isinstance(sizes, dict)
    assert set(sizes) == set(targets)
    assert min(sizes.values()) > 1000
    assert by_hiprtc.figures["kernels_run"] == 0


@pytest.mark.parametrize("stand_in", [False, True])
def test_target_that_the_compiler_does_not_know(docker: Docker, torch: str, *, stand_in: bool) -> None:
    results = proved(docker, torch, "vector_add", gpus=[MI300X._replace(gfx="gfx9999")], stand_in=stand_in)
    assert {r.result for r in results} == {"failed"}
    assert "compiler failed: " in str(results[0].cause)
    assert "gfx9999" in str(results[0].cause)
    assert blame(results) == "image"
    at_rest(docker, torch)


# Every HIP probe, by both compilers of the image; faults planted in them and in those with torch.

COMPILE = """
set -e
host=$(ls /usr/bin/clang++-* | head -n 1)
"$host" -w -x c++ -DROCENV_CPU=2 -std=c++17 -O1 -o all all.hip
"$host" -w -x c++ -DROCENV_CPU=1 -DROCENV_WAVE=32 -std=c++17 -O1 -o narrow narrow.hip
for number in $(seq 0 $1); do
    ./all $number >said 2>&1 && status=0 || status=$?
    echo "$status $(tr '\\n' ' ' <said)"
done
./narrow 0
"""


def test_every_fault_in_a_kernel_is_found(docker: Docker, torch: str, tmp_path: Path) -> None:
    """On the CPU, as two GPUs with waves of 64 lanes; what only a GPU shows is in docs/verification.md."""
    text, what = bundle(HIP)
    (tmp_path / "all.hip").write_text(text)
    (tmp_path / "narrow.hip").write_text(bundle(["reduce"], mutants=False)[0])
    for name in ("prelude.hpp", "cpu.hpp"):
        (tmp_path / name).write_text((PROBES / name).read_text())
    copied(docker, torch, tmp_path)
    last = str(len(what) - 1)
    told = docker("exec", "--user=0", "--workdir=/opt/planted", torch, "sh", "-c", COMPILE, "sh", last).splitlines()
    assert json.loads(told.pop())["figures"]["lanes"] == 32
    for line, (probe, mutant) in zip(told, what, strict=True):
        status, _, said = line.partition(" ")
        if mutant is None:
            assert (status, said.count('"passed"')) == ("0", 2), f"{probe}: {said}"
        elif mutant.on_cpu:
            assert status != "0", f"{probe}: {mutant.name}"
            assert mutant.says in said, f"{probe}: {mutant.name}"


def test_every_kernel_compiles_for_amd(docker: Docker, torch: str, tmp_path: Path) -> None:
    """The real hipcc, for what Debian's knows of the targets; with warnings as errors, but for unused functions."""
    (tmp_path / "amd.hip").write_text(bundle(HIP, mutants=False)[0])
    (tmp_path / "prelude.hpp").write_text((PROBES / "prelude.hpp").read_text())
    copied(docker, torch, tmp_path)
    targets = ("gfx90a", "gfx942", "gfx1100")
    flags = ("-std=c++17", "-O1", "-Wall", "-Werror", "-Wno-unused-function", "-Wno-unused-result")
    argv = ("hipcc", *(f"--offload-arch={target}" for target in targets), *flags, "-o", "amd", "amd.hip")
    docker("exec", "--user=0", "--workdir=/opt/planted", torch, *argv)
    for target in targets:
        docker("exec", "--workdir=/opt/planted", torch, "grep", "-q", "-a", f"amdgcn-amd-amdhsa--{target}", "amd")


EACH = """
import json, sys, contextlib, io
for text in json.load(sys.stdin):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(text, {"__name__": "probe"})
    print(json.dumps(out.getvalue()))
"""


def test_every_fault_in_a_probe_with_torch_is_found(docker: Docker) -> None:
    """With the real torch of the image, on the CPU; the same faults were found on a GPU: docs/verification.md."""
    torch = docker.start(images.STAND_IN, "--shm-size=1g")
    jobs: list[tuple[str, Mutant]] = [("torch_matmul", mutant) for mutant in MATMUL]
    jobs += [(name, mutant) for name, mutants in PYTHON.items() for mutant in mutants if mutant.on_cpu]
    texts = json.dumps([planted(f"{name}.py", mutant) for name, mutant in jobs])
    argv = ("exec", "--interactive", "--env=ROCENV_STAND_IN=1", torch, "python3", "-W", "ignore", "-c", EACH)
    told = [json.loads(json.loads(line)) for line in docker(*argv, input=texts).splitlines()]
    for answer, (name, mutant) in zip(told, jobs, strict=True):
        assert answer["result"] == "failed", f"{name}: {mutant.name}: {answer}"
        assert mutant.says in answer["cause"], f"{name}: {mutant.name}: {answer}"


# Above the kernels: each of these for real, as far as it goes without a GPU.

NO_TRITON = "no Triton: this Python does not have it"
STOOD_IN = {  # probe of the stand-in image → its result there, and how its cause begins
    "hipcc_targets": ("stand-in", None),
    "hipify": ("stand-in", None),
    "cmake_hip": ("skipped", "no CMake: it is not on PATH"),
    "tools": ("passed", None),
    "rocblas": ("skipped", "no librocblas: it is not in the image"),
    "rocfft": ("skipped", "no librocfft: it is not in the image"),
    "rocrand": ("skipped", "no librocrand: it is not in the image"),
    "rccl": ("skipped", "no librccl: it is not in the image"),
    "triton_ops": ("skipped", NO_TRITON),
    "gemm": ("stand-in", None),
    "peer": ("skipped", "no second GPU: there is nothing to copy to"),
}


def test_the_others_stand_in_or_are_skipped(docker: Docker, torch: str) -> None:
    results = proved(docker, torch, *STOOD_IN, stand_in=True)
    assert {(r.name, r.result, r.cause) for r in results} == {(name, *said) for name, said in STOOD_IN.items()}
    figures = {r.name: r.figures for r in results}
    assert figures["hipcc_targets"]["code_objects"] == "gfx942"
    assert "hipconfig" in str(figures["tools"]["started"])
    at_rest(docker, torch)


def test_shared_memory_of_the_engines_default_is_too_small(docker: Docker, torch: str) -> None:
    """64 MiB in /dev/shm: a real DataLoader's workers die of a bus error."""
    results = proved(docker, torch, "torch_loader", stand_in=True)
    assert short(results) == [(None, "failed", "shared memory too small")]
    assert blame(results) == "engine"


def test_the_others_fail_without_a_gpu(docker: Docker, torch: str) -> None:
    results = proved(docker, torch, "hipcc_targets", "hipify", "torch_conv", "torch_ddp")
    causes = {r.name: (r.result, str(r.cause).partition(":")[0]) for r in results}
    assert causes == {
        "hipcc_targets": ("failed", "no GPU seen"),
        "hipify": ("failed", "no GPU seen"),
        "torch_conv": ("failed", "CPU build of torch"),
        "torch_ddp": ("failed", "CPU build of torch"),
    }
    assert blame(results) == "image", "the compile level is the lowest that failed"


def test_the_others_are_skipped_where_the_image_has_nothing(docker: Docker, small: str) -> None:
    results = proved(docker, small, "gemm", "hipify", "rocblas", "torch_conv", "tools")
    assert {r.result for r in results} == {"skipped"}


def copied(docker: Docker, container: str, folder: Path) -> None:
    """The folder's files in the container, as /opt/planted, for everybody there."""
    folder.chmod(0o755)
    docker("cp", f"{folder}/.", f"{container}:/opt/planted")


# What HSA says, read by the real probe through a library that is a stand-in and says so (hsa_of_two.cpp).


@pytest.fixture(scope="module")
def two(docker: Docker, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A container in which HSA knows two GPUs; no node is needed to ask it."""
    container = docker.start(images.STAND_IN, "--env=LD_LIBRARY_PATH=/opt/planted")
    folder = tmp_path_factory.mktemp("hsa")
    (folder / "hsa.cpp").write_text((Path(__file__).parent / "hsa_of_two.cpp").read_text())
    copied(docker, container, folder)
    build = 'cd /opt/planted && "$(ls /usr/bin/clang++-*|head -n 1)" -shared -fPIC -o libhsa-runtime64.so.12 hsa.cpp'
    docker("exec", "--user=0", container, "sh", "-c", build)
    return container


TWO = [
    GpuRef(0, "gfx942", "0000:26:00.0", 0, "GPU-8d1457e2c20f59d2", None, "AMD Instinct MI300X"),
    GpuRef(1, "gfx1100", "0001:03:01.1", 0, None, None, "AMD Radeon RX 7900 XTX"),
]


def short(results: Sequence[ProbeResult]) -> list[tuple[int | None, str, str]]:
    return [(r.gpu, r.result, str(r.cause or "").partition(":")[0]) for r in results]


def test_hsa_is_the_judge(docker: Docker, two: str) -> None:
    results = proved(docker, two, "runtime", gpus=TWO)
    assert short(results) == [(None, "passed", ""), (0, "passed", ""), (1, "passed", "")]
    assert [r.ran_on for r in results[1:]] == [
        "AMD Instinct MI300X gfx942 0000:26:00.0",
        "AMD Radeon RX 7900 XTX gfx1100 0001:03:01.1",
    ]
    assert (None, "failed", "extra GPU") in short(proved(docker, two, "runtime", gpus=TWO[:1]))
    missing = proved(docker, two, "runtime", gpus=[*TWO, TWO[0]._replace(index=2, bdf="0000:86:00.0", uuid=None)])
    assert short(missing)[-1] == (2, "failed", "missing GPU")
    wrong = proved(docker, two, "runtime", gpus=[TWO[0], TWO[1]._replace(gfx="gfx1101")])
    assert short(wrong)[-1] == (1, "failed", "wrong gfx")


ALL = [(None, "passed", ""), (0, "passed", ""), (1, "passed", "")]
FIRST = [(None, "passed", ""), (0, "passed", ""), (1, "failed", "missing GPU")]
SECOND_ALONE = [(None, "passed", ""), (0, "failed", "missing GPU"), (1, "passed", "")]


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("HIP_VISIBLE_DEVICES=0,1", ALL),
        ("HIP_VISIBLE_DEVICES=", ALL),
        ("HIP_VISIBLE_DEVICES=1,0", [ALL[0], (None, "failed", "other order"), *ALL[1:]]),
        ("HIP_VISIBLE_DEVICES=0", FIRST),
        ("CUDA_VISIBLE_DEVICES=1", SECOND_ALONE),
        ("HIP_VISIBLE_DEVICES=GPU-8d1457e2c20f59d2", FIRST),
        ("HIP_VISIBLE_DEVICES=7,0", [(None, "failed", "no GPU seen")]),
        ("HSA_OF_TWO_FAILS=1", [(None, "failed", "the ROCm runtime does not start")]),
    ],
)
def test_visibility_is_applied_as_hip_applies_it(
    docker: Docker, two: str, variable: str, expected: list[tuple[int | None, str, str]]
) -> None:
    class With(Docker):
        def exec_argv(self, container: str, command: Any, *, env: Any = None, **options: Any) -> list[str]:
            name, _, value = variable.partition("=")
            return super().exec_argv(container, command, env={**env, name: value}, **options)

    assert short(proved(With(docker.host), two, "runtime", gpus=TWO)) == expected


# Probes that misbehave, behind a real `docker exec`.


def hostile(docker: Docker, container: str, file: Path, seconds: float) -> list[ProbeResult]:
    probe = Probe("probe", "", "kernel", (), seconds, str(file))
    said = run_probe(docker, container, probe, [MI300X], stand_in=False)
    return judge(probe, said, [MI300X], stand_in=False)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("while :; do sleep 1000; done", "hung"),
        (f"{GOOD}; yes | head -c 100000000", "too much output"),
        ("sleep 1000 & setsid sleep 1000 & kill -SEGV $$", "killed"),
    ],
    ids=["hang", "flood", "forks"],
)
def test_nothing_stays_in_the_container(docker: Docker, any_image: str, tmp_path: Path, text: str, cause: str) -> None:
    (tmp_path / "probe.sh").write_text(text)
    results = hostile(docker, any_image, tmp_path / "probe.sh", 60 if cause != "hung" else 1)
    assert cause in {str(r.cause).partition(":")[0] for r in results}
    at_rest(docker, any_image)


def test_killed_client_takes_the_probe_with_it(docker: Docker, small: str) -> None:
    """What SIGKILL to rocenv and to its `docker exec` leaves: nothing, for the input that they held has ended."""
    text = b"setsid sleep 1000 & sleep 1000"
    command = ["sh", "-c", supervisor(), "rocenv-probe", "900", str(len(text)), "sh"]
    argv = docker.exec_argv(small, command, interactive=True, tty=False, env={"ROCENV_PROBE": "mark"})
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, bufsize=0) as client:
        assert client.stdin is not None
        client.stdin.write(text)
        waited(lambda: [line for line in docker.processes(small) if line == "sleep 1000"], 2)
        client.kill()
    at_rest(docker, small)


def test_container_that_dies_under_a_probe(docker: Docker, tmp_path: Path) -> None:
    container = docker.start(images.SMALL)
    script = tmp_path / "kill.sh"
    # `docker top` needs the machine's `ps`: without one this ends, and the test with it.
    script.write_text(
        'tries=0; until docker --host "$1" top "$2" | grep -q "sleep 1000"\n'
        'do tries=$((tries + 1)); [ $tries -lt 300 ] || break; done; docker --host "$1" kill "$2"'
    )
    killer = subprocess.Popen(["sh", str(script), docker.host, container], stdout=subprocess.DEVNULL)
    (tmp_path / "probe.sh").write_text("sleep 1000")
    [result] = hostile(docker, container, tmp_path / "probe.sh", 120)
    killer.wait()
    assert (result.result, str(result.cause).partition(":")[0]) == ("error", "engine gave up")


def test_container_that_is_gone(docker: Docker) -> None:
    heard = hear(docker.argv("exec", "no-such-container", "true"), b"", 30)
    assert heard.ended == "end"
    results = proved(docker, "no-such-container", "access", gpus=[MI300X])
    assert "No such container" in str(results[0].cause)
    assert blame(results) == "engine"

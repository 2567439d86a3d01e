"""Shows the probes on a real NVIDIA GPU: the same sources, HIP's NVIDIA path, torch's CUDA build. Nothing about AMD's.

    export PYTHONPATH=.:tests
    python tests/smoke/nvidia/prove.py build FOLDER HEADERS   where nvcc is; HEADERS holds hip/ of libamdhip64-dev 5.7
    python tests/smoke/nvidia/prove.py run FOLDER [PART…]     where the GPU is; prints one JSON line a step

Ends with 1 if anything came out otherwise than it should.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from smoke.local import Local
from smoke.mutants import (
    HANG,
    HIP,
    KERNEL,
    LIBRARIES,
    MATMUL,
    ON_THE_CPU,
    PROBES,
    PYTHON,
    TENSOR_FLOAT,
    bundle,
    planted,
    write,
)

from rocenv.model.plan import GpuRef
from rocenv.model.proof import Probe
from rocenv.report.proof import blame
from rocenv.smoke import run_probes
from rocenv.smoke.header import read_probe
from rocenv.smoke.judge import Said, judge
from rocenv.smoke.runner import payload, run_probe

HERE = Path(__file__).resolve().parent
FLAGS = ["-x", "cu", "-arch=sm_90", "-std=c++17", "-O2", "-w", "-D__HIP_PLATFORM_NVIDIA__", "-D__HIP_PLATFORM_NVCC__"]
HIPIFY = Path(os.environ.get("HIPIFY", "/usr/bin/hipify-perl"))  # Debian's hipify-perl is one file
LIBRARY = "libamdhip64.so.12"  # the first name that a probe tries: the machine may hold AMD's own under another


def build(folder: Path, headers: Path) -> None:
    """Every HIP probe with its mutants as one program each, and the library that stands in for libamdhip64."""
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = ["nvcc", *FLAGS, "-include", str(HERE / "cuda13.hpp"), "-I", str(headers), "-I", str(PROBES)]
    shared = ["-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden"]
    jobs = [[*nvcc, *shared, str(HERE / "hip_on_cuda.cpp"), "-o", str(folder / LIBRARY)]]
    for name in HIP:
        source = folder / f"{name}_bundle.hip"
        source.write_text(bundle([name])[0])
        jobs.append([*nvcc, str(source), "-o", str(source.with_suffix(""))])
        jobs.append([*nvcc, str(PROBES / f"{name}.hip"), "-o", str(folder / name)])
    ours = str(HERE / "rocm_on_cuda.cpp")
    libraries = ["-lcublas", "-lcufft", "-lcurand", "-o", str(folder / "librocblas.so.12")]
    jobs.append(["nvcc", "-std=c++17", "-O2", *shared, ours, *libraries])
    cuda = folder / "add.cu"
    cuda.write_text((PROBES / "hipify.sh").read_text().partition("<<'SOURCE'\n")[2].partition("\nSOURCE\n")[0])
    hipified = folder / "hipified.hip"
    if HIPIFY.is_file():
        done = subprocess.run(["perl", str(HIPIFY), str(cuda)], capture_output=True, text=True, check=True)
        hipified.write_text(done.stdout)
        jobs.append([*nvcc, str(hipified), "-o", str(folder / "hipified")])
    own = folder / "own.hip"
    own.write_text((PROBES / "hipcc_targets.sh").read_text().partition("<<'SOURCE'\n")[2].partition("\nSOURCE\n")[0])
    jobs.append([*nvcc, str(own), "-o", str(folder / "own")])
    hang = write(folder, "vector_add.hip", HANG)
    jobs.append([*nvcc, str(hang), "-o", str(hang.with_suffix(""))])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done in pool.map(lambda job: subprocess.run(job, capture_output=True, text=True, check=False), jobs):
            if done.returncode:
                print(done.stderr[-1500:], flush=True)
                sys.exit(1)


class Show:
    """Runs steps and keeps what went wrong."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def step(self, name: str, command: list[str], env: dict[str, str] | None = None) -> tuple[int, str]:
        """Run a command and return its status and output."""
        began = time.perf_counter()
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=240, check=False
            )
        except subprocess.TimeoutExpired:
            self.want(f"{name} ends", holds=False)
            return -1, ""
        seconds = round(time.perf_counter() - began, 2)
        said = {"step": name, "status": done.returncode, "seconds": seconds, "said": done.stdout[-1500:]}
        print(json.dumps({**said, "stderr": done.stderr[-400:]}), flush=True)
        return done.returncode, done.stdout

    def want(self, name: str, *, holds: bool) -> None:
        """Note a step that came out otherwise than it should."""
        print(json.dumps({"check": name, "holds": holds}), flush=True)
        if not holds:
            self.wrong.append(name)


def run(folder: Path, parts: list[str]) -> list[str]:
    """Every probe and every mutant, or only the parts named; the names of the checks that did not hold."""
    show = Show()
    for part in (hip, judged, compiled, hang, hiprtc_add, libraries, torch_matmul, python):
        if not parts or part.__name__ in parts:
            part(show, folder)
    return show.wrong


def hip(show: Show, folder: Path) -> None:
    """Every HIP probe as it is, and each of its planted faults."""
    for name in HIP:
        status, out = show.step(name, [str(folder / name), "sm_90"])
        alone = '"skipped"' in out if name == "peer" else '"passed"' in out  # one GPU: nothing to copy to
        show.want(f"{name} passes", holds=status == 0 and alone)
        for number, (_, mutant) in enumerate(bundle([name])[1]):
            if mutant is not None and mutant.on_gpu and name != "peer":
                told = f"{name}: {mutant.name}"
                status, out = show.step(told, [str(folder / f"{name}_bundle"), str(number)])
                show.want(f"caught: {told}", holds=status != 0 and mutant.says in out)


def judged(show: Show, folder: Path) -> None:
    """The judge on what a HIP program said, and a program that sees no GPU."""
    program = str(folder / "vector_add")
    status, out = show.step("vector_add", [program, "sm_90"])
    seen = json.loads(out.splitlines()[0])["gpu"]
    planned = GpuRef(0, "sm_90", seen["bdf"].lower(), 0, None, "/dev/dri/renderD128", "H200")
    other = GpuRef(0, "sm_90", "0000:ff:00.0", 0, None, "/dev/dri/renderD128", "H200")
    probe, said = read_probe(PROBES / "vector_add.hip"), Said("end", status, out, "", 1.0)
    show.want("judged as passed", holds=[r.result for r in judge(probe, said, [planned], stand_in=False)] == ["passed"])
    causes = sorted(str(r.cause).partition(":")[0] for r in judge(probe, said, [other], stand_in=False))
    show.want("another GPU is told apart", holds=causes == ["extra GPU", "missing GPU"])
    status, out = show.step("vector_add without a GPU", [program], {"CUDA_VISIBLE_DEVICES": ""})
    show.want("no GPU ends with 4", holds=status == 4 and "no GPU seen" in out)


def hang(show: Show, folder: Path) -> None:
    """A kernel that never ends is ended by its limit, and the GPU works afterwards."""
    script = folder / "hang.sh"
    script.write_text(f"exec {(folder / HANG.file).resolve()}\n")
    probe = Probe("hang", "", "kernel", (), 5, str(script))
    said = run_probe(Local(), "here", probe, [], stand_in=False)
    results = judge(probe, said, [], stand_in=False)
    print(json.dumps({"step": "hang", "seconds": round(said.seconds, 2), "said": [result.cause for result in results]}))
    show.want("a hung kernel is a failure with its cause", holds=str(results[0].cause) == "hung: no end within 5 s")
    status, _ = show.step("vector_add after a hang", [str(folder / "vector_add")])
    show.want("the GPU works after a hang", holds=status == 0)


def hiprtc_add(show: Show, folder: Path) -> None:
    """The Python host of the same kernel, through the stand-in library and NVRTC."""
    libraries = [os.environ.get("LD_LIBRARY_PATH", ""), str(folder), *nvrtc_folders()]
    env = {"LD_LIBRARY_PATH": ":".join(filter(None, libraries)), "LD_PRELOAD": "libcuda.so.1"}
    text = payload(read_probe(PROBES / "hiprtc_add.py"))
    _, out = show.step("hiprtc_add", [sys.executable, "-c", text], env)
    show.want("hiprtc_add passes", holds='"passed"' in out)
    host = text[
        text.index("\n", text.index("ROCENV_SOURCE")) :
    ]  # without its own source: the faulty one is in the environment
    for mutant in KERNEL:
        source = {**env, "ROCENV_SOURCE": planted("vector_add.hip", mutant)}
        _, out = show.step(f"hiprtc: {mutant.name}", [sys.executable, "-c", host], source)
        show.want(f"hiprtc mutant caught: {mutant.name}", holds='"failed"' in out and mutant.says in out)
    broken = {**env, "ROCENV_SOURCE": 'extern "C" __global__ void add() { nonsense; }'}
    _, out = show.step("hiprtc: broken source", [sys.executable, "-c", host], broken)
    show.want("a broken source is the compiler's complaint", holds="compiler failed" in out and "nonsense" in out)


def compiled(show: Show, folder: Path) -> None:
    """What the compile probes run: their own program, and what hipify made of the CUDA one."""
    for name in ("own", "hipified"):
        if name == "own" or HIPIFY.is_file():
            status, out = show.step(name, [str(folder / name)])
            show.want(f"{name} passes", holds=status == 0 and '"passed"' in out)


def libraries(show: Show, folder: Path) -> None:
    """The library probes, through the stand-in libraries, and each of their planted faults."""
    for stem in ("librocfft", "librocrand"):
        shutil.copy(folder / "librocblas.so.12", folder / f"{stem}.so.12")
    nccl = subprocess.run(
        "ldconfig -p | sed -n 's/.*libnccl.so.2 .*=> //p'", shell=True, capture_output=True, text=True, check=True
    )
    shutil.copy(nccl.stdout.splitlines()[0], folder / "librccl.so.12")
    paths = [os.environ.get("LD_LIBRARY_PATH", ""), str(folder), *nvrtc_folders()]
    env = {"LD_LIBRARY_PATH": ":".join(filter(None, paths)), "LD_PRELOAD": "libcuda.so.1"}
    for name, mutants in LIBRARIES.items():
        _, out = show.step(name, [sys.executable, "-c", payload(read_probe(PROBES / f"{name}.py"))], env)
        show.want(f"{name} passes", holds='"passed"' in out)
        for mutant in mutants:
            told = f"{name}: {mutant.name}"
            _, out = show.step(told, [sys.executable, "-c", planted(f"{name}.py", mutant)], env)
            show.want(f"caught: {told}", holds='"failed"' in out and mutant.says in out)


def nvrtc_folders() -> list[str]:
    """Where Python packages keep libnvrtc."""
    return [str(path.parent) for base in sys.path if base for path in Path(base).glob("nvidia/**/libnvrtc.so.13")]


def torch_matmul(show: Show, folder: Path) -> None:
    """Refused as a CUDA build; with the test's own switch, passed, and every planted fault found."""
    refs = [GpuRef(0, "gfx942", "0000:01:00.0", 0, None, "/dev/dri/renderD128", "MI300X")]
    results = run_probes(
        Local(), "here", refs, level="framework", probes=["torch_matmul"], stand_in=False, tell=lambda _: None
    )
    print(
        json.dumps({"step": "torch_matmul as it is shipped", "said": [result.cause for result in results]}), flush=True
    )
    cause = str(results[0].cause)
    show.want(
        "a CUDA build is refused", holds=cause.startswith("CUDA build of torch") and blame(results) == "framework"
    )
    whole = payload(read_probe(PROBES / "torch_matmul.py"))
    status, out = show.step("torch_matmul --cuda", [sys.executable, "-c", whole, "--cuda"])
    show.want("torch_matmul passes", holds=status == 0 and '"passed"' in out)
    for mutant in (*MATMUL, ON_THE_CPU, TENSOR_FLOAT):
        _, out = show.step(mutant.name, [sys.executable, "-c", planted("torch_matmul.py", mutant), "--cuda"])
        show.want(f"torch mutant caught: {mutant.name}", holds='"failed"' in out and mutant.says in out)


def python(show: Show, folder: Path) -> None:
    """Every other Python probe that torch's CUDA build can run, and each of its planted faults, some side by side."""

    def alone() -> dict[str, str]:  # a folder for what it writes and compiles
        return {"TMPDIR": tempfile.mkdtemp(dir=folder)}

    with ThreadPoolExecutor(4) as pool:
        for name in PYTHON:
            whole = payload(read_probe(PROBES / f"{name}.py"))
            status, out = show.step(name, [sys.executable, "-c", whole, "--cuda"], alone())
            show.want(f"{name} passes", holds=status == 0 and '"passed"' in out)
        jobs = [(name, mutant) for name, mutants in PYTHON.items() for mutant in mutants]
        texts = [[sys.executable, "-c", planted(f"{name}.py", mutant), "--cuda"] for name, mutant in jobs]
        names = [f"{name}: {mutant.name}" for name, mutant in jobs]
        folders = [alone() for _ in jobs]
        for (name, mutant), (_, out) in zip(jobs, pool.map(show.step, names, texts, folders), strict=True):
            show.want(f"caught: {name}: {mutant.name}", holds='"failed"' in out and mutant.says in out)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        failed = run(Path(sys.argv[2]), sys.argv[3:])
        print(json.dumps({"failed": failed}))
        sys.exit(1 if failed else 0)

"""Shows the probes on a real NVIDIA GPU: the same sources, HIP's NVIDIA path, torch's CUDA build. Nothing about AMD's.

    export PYTHONPATH=.:tests
    python tests/smoke/nvidia/prove.py build FOLDER HEADERS   where nvcc is; HEADERS holds hip/ of libamdhip64-dev 5.7
    python tests/smoke/nvidia/prove.py run FOLDER [PART…]     where the GPU is; prints one JSON line a step

Ends with 1 if anything came out otherwise than it should.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from smoke.local import Local
from smoke.mutants import HANG, KERNEL, MATMUL, ON_THE_CPU, PROBES, TENSOR_FLOAT, planted, write

from rocenv.model.plan import GpuRef
from rocenv.model.proof import Probe
from rocenv.report.proof import blame
from rocenv.smoke import run_probes
from rocenv.smoke.header import read_probe
from rocenv.smoke.judge import Said, judge
from rocenv.smoke.runner import run_probe

HERE = Path(__file__).resolve().parent
FLAGS = ["-x", "cu", "-arch=sm_90", "-std=c++17", "-O2", "-w", "-D__HIP_PLATFORM_NVIDIA__", "-D__HIP_PLATFORM_NVCC__"]
HOST = f"{PROBES / 'hiprtc_add.py'}"
LIBRARY = "libamdhip64.so.12"  # the first name that a probe tries: the machine may hold AMD's own under another


def build(folder: Path, headers: Path) -> None:
    """The probe, its mutants, and the library that stands in for libamdhip64."""
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = ["nvcc", *FLAGS, "-include", str(HERE / "cuda13.hpp"), "-I", str(headers)]
    subprocess.run([*nvcc, str(PROBES / "vector_add.hip"), "-o", str(folder / "vector_add")], check=True)
    shared = ["-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden"]
    subprocess.run([*nvcc, *shared, str(HERE / "hip_on_cuda.cpp"), "-o", str(folder / LIBRARY)], check=True)
    for mutant in (*KERNEL, HANG):
        source = write(folder, "vector_add.hip", mutant)
        subprocess.run([*nvcc, str(source), "-o", str(source.with_suffix(""))], check=True)


class Show:
    """Runs steps and keeps what went wrong."""

    def __init__(self) -> None:
        self.wrong: list[str] = []

    def step(self, name: str, command: list[str], env: dict[str, str] | None = None) -> tuple[int, str]:
        """Run a command and return its status and output."""
        began = time.perf_counter()
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=240, check=False
        )
        seconds = round(time.perf_counter() - began, 2)
        print(
            json.dumps(
                {
                    "step": name,
                    "status": done.returncode,
                    "seconds": seconds,
                    "said": done.stdout[-1500:],
                    "stderr": done.stderr[-400:],
                }
            ),
            flush=True,
        )
        return done.returncode, done.stdout

    def want(self, name: str, *, holds: bool) -> None:
        """Note a step that came out otherwise than it should."""
        print(json.dumps({"check": name, "holds": holds}), flush=True)
        if not holds:
            self.wrong.append(name)


def run(folder: Path, parts: list[str]) -> list[str]:
    """Every probe and every mutant, or only the parts named; the names of the checks that did not hold."""
    show = Show()
    for part in (vector_add, hang, hiprtc_add, torch_matmul):
        if not parts or part.__name__ in parts:
            part(show, folder)
    return show.wrong


def vector_add_mutants(show: Show, folder: Path) -> None:
    """Every planted fault of the kernel."""
    for mutant in KERNEL:
        status, out = show.step(mutant.name, [str(folder / mutant.name.replace(" ", "_").replace("'", ""))])
        show.want(f"kernel mutant caught: {mutant.name}", holds=status == 1 and mutant.says in out)


def vector_add(show: Show, folder: Path) -> None:
    """The HIP program itself, and the judge on what it said."""
    program = str(folder / "vector_add")
    status, out = show.step("vector_add", [program, "sm_90"])
    show.want("vector_add passes", holds=status == 0)
    seen = json.loads(out.splitlines()[0])["gpu"]
    planned = GpuRef(0, "sm_90", seen["bdf"].lower(), 0, None, "/dev/dri/renderD128", "H200")
    other = GpuRef(0, "sm_90", "0000:ff:00.0", 0, None, "/dev/dri/renderD128", "H200")
    probe, said = read_probe(PROBES / "vector_add.hip"), Said("end", status, out, "", 1.0)
    show.want("judged as passed", holds=[r.result for r in judge(probe, said, [planned], stand_in=False)] == ["passed"])
    causes = sorted(str(r.cause).partition(":")[0] for r in judge(probe, said, [other], stand_in=False))
    show.want("another GPU is told apart", holds=causes == ["extra GPU", "missing GPU"])
    status, out = show.step("vector_add without a GPU", [program], {"CUDA_VISIBLE_DEVICES": ""})
    show.want("no GPU ends with 4", holds=status == 4 and "no GPU seen" in out)
    vector_add_mutants(show, folder)


def hang(show: Show, folder: Path) -> None:
    """A kernel that never ends is ended by its limit, and the GPU works afterwards."""
    script = folder / "hang.sh"
    script.write_text(f"exec {(folder / 'kernel_never_ends').resolve()}\n")
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
    _, out = show.step("hiprtc_add", [sys.executable, HOST], env)
    show.want("hiprtc_add passes", holds='"passed"' in out)
    for mutant in KERNEL:
        _, out = show.step(
            f"hiprtc: {mutant.name}",
            [sys.executable, HOST],
            {**env, "ROCENV_SOURCE": planted("vector_add.hip", mutant)},
        )
        show.want(f"hiprtc mutant caught: {mutant.name}", holds='"failed"' in out and mutant.says in out)
    _, out = show.step(
        "hiprtc: broken source",
        [sys.executable, HOST],
        {**env, "ROCENV_SOURCE": 'extern "C" __global__ void add() { nonsense; }'},
    )
    show.want("a broken source is the compiler's complaint", holds="compiler failed" in out and "nonsense" in out)


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
    status, out = show.step("torch_matmul --cuda", [sys.executable, str(PROBES / "torch_matmul.py"), "--cuda"])
    show.want("torch_matmul passes", holds=status == 0 and '"passed"' in out)
    for mutant in (*MATMUL, ON_THE_CPU, TENSOR_FLOAT):
        _, out = show.step(mutant.name, [sys.executable, "-c", planted("torch_matmul.py", mutant), "--cuda"])
        show.want(f"torch mutant caught: {mutant.name}", holds='"failed"' in out and mutant.says in out)


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        failed = run(Path(sys.argv[2]), sys.argv[3:])
        print(json.dumps({"failed": failed}))
        sys.exit(1 if failed else 0)

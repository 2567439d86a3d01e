"""Faults planted in the probes: text to find, text to put there, and how the probe must end. A probe that lets one
through proves nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import rocenv.smoke.header
from rocenv.smoke.header import read_probe
from rocenv.smoke.runner import payload

PROBES = rocenv.smoke.header.FOLDER


@dataclass(frozen=True)
class Mutant:
    """A planted fault; `says` stands in the cause that the probe then gives."""

    name: str
    old: str
    new: str
    says: str = "wrong numbers"


def planted(probe: str, mutant: Mutant) -> str:
    """The text of a probe, all includes in, with the fault in it. The fault must change something, once."""
    text = payload(read_probe(PROBES / probe))
    assert text.count(mutant.old) == 1, (
        f"{mutant.name}: `{mutant.old}` stands {text.count(mutant.old)} times in {probe}"
    )
    return text.replace(mutant.old, mutant.new)


SUM = "if (i < n) c[i] = a[i] + b[i];"
KERNEL = (
    Mutant("last element left out", SUM, "if (i + 1 < n) c[i] = a[i] + b[i];"),
    Mutant("written beyond the end", SUM, "if (i < n + 1) c[i] = a[i < n ? i : 0] + b[i < n ? i : 0];"),
    Mutant("neighbour's operand", SUM, "if (i < n) c[i] = a[i] + b[i ^ 1u];"),
    Mutant("one operand twice", SUM, "if (i < n) c[i] = a[i] + a[i];"),
    Mutant("wrong sign", SUM, "if (i < n) c[i] = a[i] - b[i];"),
    Mutant("type too narrow", SUM, "if (i < n) c[i] = float(int((a[i] + b[i]) * 4194304.0f)) / 4194304.0f;"),
    Mutant(
        "one wrong bit", SUM, "if (i < n) c[i] = a[i] + b[i]; if (i == 777777u) c[i] = a[i] + b[i] + 6.0e-8f * c[i];"
    ),
    Mutant("blocks overlap", "blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.x * (blockDim.x - 1u) + threadIdx.x"),
    Mutant("kernel does nothing", SUM, "(void)i;"),
)
HANG = Mutant("kernel never ends", SUM, "volatile const float* p = a; while (p[0] == p[0]) c[i % n] = p[0];", "hung")

PRODUCT = "    return a @ b\n"


def only(kind: str, wrong: str) -> str:
    """The wrong product for one type, the right one for the others: so each type's own check is tried."""
    return f"    return ({wrong}) if str(a.dtype) == 'torch.{kind}' else a @ b\n"


_CHUNKS = "sum((a[:, k : k + 5] @ b[k : k + 5] for k in range(5, a.shape[1], 5)), a[:, :5] @ b[:5])"
MATMUL = (
    Mutant("one operand mirrored", PRODUCT, "    return a @ b.flip(1)\n", "of a fp32 product"),
    Mutant("last k left out", PRODUCT, "    return a[:, :-1] @ b[:-1]\n", "of a fp32 product"),
    Mutant(
        "one element off",
        PRODUCT,
        "    c = a @ b\n    c[-1, -1] += 0.25\n    return c\n",
        "of a fp32 product are off, the first at row 384, column 320",
    ),
    Mutant("not a number", PRODUCT, "    return (a @ b) / (0 * a[:1, :1])\n", "of a fp32 product"),
    Mutant("fp32 in bf16", PRODUCT, only("float32", "(a.bfloat16() @ b.bfloat16()).float()"), "of a fp32 product"),
    Mutant("fp16 summed in fp16", PRODUCT, only("float16", _CHUNKS), "of a fp16 product"),
    Mutant("fp16 rounded to bf16", PRODUCT, only("float16", "(a @ b).bfloat16().half()"), "of a fp16 product"),
    Mutant("bf16 summed in bf16", PRODUCT, only("bfloat16", _CHUNKS), "of a bf16 product"),
    Mutant("fp64 in fp32", PRODUCT, only("float64", "(a.float() @ b.float()).double()"), "of a fp64 product"),
    Mutant("fp16 without its last element", PRODUCT, only("float16", "(a @ b).triu(-383)"), "of a fp16 product"),
)
ON_THE_CPU = Mutant("computed on the CPU", PRODUCT, "    return a.cpu() @ b.cpu()\n", "ran on the CPU")
TENSOR_FLOAT = Mutant("fp32 in tf32", "allow_tf32 = False", "allow_tf32 = True", "of a fp32 product")


def write(folder: Path, probe: str, mutant: Mutant) -> Path:
    """The mutated probe as a file of its own."""
    file = folder / (mutant.name.replace(" ", "_").replace("'", "") + Path(probe).suffix)
    file.write_text(planted(probe, mutant), encoding="utf-8")
    return file

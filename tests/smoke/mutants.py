# ruff: noqa: E501 (a planted fault is a line of somebody else's program)
"""Faults planted in the probes: text to find, text to put there, and how the probe must end. A probe that lets one
through proves nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import rocenv.smoke.header
from rocenv.smoke.header import read_probe
from rocenv.smoke.runner import payload

PROBES = rocenv.smoke.header.FOLDER
HALF = "#ifndef ROCENV_CPU\n#include <hip/hip_fp16.h>\n#endif\n"


@dataclass(frozen=True)
class Mutant:
    """A planted fault; `says` stands in the cause that the probe then gives."""

    name: str
    old: str
    new: str
    says: str = "wrong numbers"
    on_cpu: bool = True  # also found where threads run one after the other
    on_gpu: bool = True  # found in every run on a GPU, and not by chance alone

    @property
    def file(self) -> str:
        """Its name, as a file may have it."""
        return self.name.replace(" ", "_").replace("'", "")


def planted(probe: str, mutant: Mutant) -> str:
    """The text of a probe, all includes in, with the fault in it."""
    return _with_fault(payload(read_probe(PROBES / probe)), probe, mutant)


def bundle(probes: Iterable[str], *, mutants: bool = True) -> tuple[str, list[tuple[str, Mutant | None]]]:
    """One program of several HIP probes, each as it is and with each of its faults, each in a namespace of its own.

    Its first argument is the number of what is to run, as in the list that is given back; one compilation for all.
    """
    parts: list[str] = ['#include "prelude.hpp"', HALF]
    what: list[tuple[str, Mutant | None]] = []
    for probe in probes:
        own = (
            (PROBES / f"{probe}.hip")
            .read_text()
            .replace('#include "prelude.hpp"', "")
            .replace(HALF, "")
            .replace('extern "C" ', "")
        )
        for mutant in (None, *(HIP[probe] if mutants else ())):
            text = own if mutant is None else _with_fault(own, probe, mutant)
            parts.append(f"namespace n{len(what)} {{\n{text}\n}}")
            what.append((probe, mutant))
    calls = ", ".join(f"n{number}::main" for number in range(len(what)))
    parts.append(f"static int (*const kAll[])(int, char**) = {{{calls}}};")
    parts.append("int main(int argc, char** argv) { return kAll[std::stoi(argv[1])](argc - 1, argv + 1); }\n")
    return "\n".join(parts), what


def _with_fault(text: str, probe: str, mutant: Mutant) -> str:
    """The fault must change something, once."""
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

HIP: dict[str, tuple[Mutant, ...]] = {
    "vector_add": KERNEL,
    "saxpy": (
        Mutant("last element left out", "i < n; i += gridDim.x * blockDim.x) x[i]", "i + 1 < n; i += gridDim.x * blockDim.x) x[i]"),
        Mutant("strides too long", "i += gridDim.x * blockDim.x) y[i]", "i += gridDim.x * blockDim.x + 1) y[i]"),
        Mutant("rounded twice", "y[i] = fmaf(a, x[i], y[i]);", "y[i] = float(double(a) * x[i]) + y[i];", on_gpu=False),
        Mutant("last bit of an operand", "y[i] = fmaf(a, x[i], y[i]);", "y[i] = fmaf(a, x[i] * 0.99999994f, y[i]);"),
        Mutant("one wrong bit", "x[i] = x[i] * 2.0f;", "x[i] = x[i] * (i == 777777u ? 2.0000002f : 2.0f);"),
    ),
    "reduce": (
        Mutant("last shuffle left out", "by > 0; by /= 2", "by > 1; by /= 2"),
        Mutant("wave of another width", "waves = blockDim.x / warpSize", "waves = blockDim.x / 128"),
        Mutant("missing barrier", "sums[wave] = sum;\n  __syncthreads();", "sums[wave] = sum;", on_cpu=False),
        Mutant("ballot of the other lanes", "BALLOT(threadIdx.x & 1)", "BALLOT(~threadIdx.x & 1)"),
        Mutant("type too narrow", "sum += in[i];", "sum += T(unsigned(in[i] * 4) / 4);"),
    ),
    "atomics": (
        Mutant("plain sum of floats", "atomicAdd(&at->ones, 1.0f);", "at->ones += 1.0f;", on_cpu=False),
        Mutant("plain histogram", "atomicAdd(&own[in[i]], 1u);", "own[in[i]]++;", on_cpu=False),
        Mutant("swap without a comparison", "while (found != expected);", "while (false);", on_cpu=False),
        Mutant("missing barrier", "own[i] = 0;\n  __syncthreads();", "own[i] = 0;", on_gpu=False),
        Mutant("missing second barrier", "atomicAdd(&own[in[i]], 1u);\n  __syncthreads();", "atomicAdd(&own[in[i]], 1u);"),
        Mutant("minimum for maximum", "atomicMax(&at->most, t)", "atomicMin(&at->most, t)"),
        Mutant("type too narrow", "(unsigned long long)t << 20);\n  atomicAdd", "(unsigned long long)(t << 20));\n  atomicAdd"),
        Mutant("half of the halves", "atomicAdd(&at->halves, 0.5)", "atomicAdd(&at->halves, t == 9u ? 0.25 : 0.5)"),
    ),
    "gemm": (
        Mutant("last k left out", "k < kTile; k++) sum", "k < kTile - (k0 == 0); k++) sum", "of a fp64 product"),
        Mutant("missing barrier", "    __syncthreads();  // the tile is whole\n", "", "of a fp64 product"),
        Mutant("missing second barrier", "    __syncthreads();  // and read by all\n", "", "of a fp64 product"),
        Mutant("edge left out", "if (row < M && column < N)", "if (row < M - 1 && column < N)", "of a fp64 product"),
        Mutant("operand transposed", "b[(k0 + y) * N + column]", "b[column * K + k0 + y]", "of a fp64 product"),
        Mutant("fp64 summed in fp32", "  Sum sum = 0;", "  float sum = 0;", "of a fp64 product"),
        Mutant(
            "fp32 cut to fp16", "float widened(float x) { return x; }",
            "float widened(float x) { return __half2float(__float2half(x)); }", "of a fp32 product",
        ),
        Mutant(
            "fp16 summed in fp16", "sum += rows[y][k] * columns[k][x];",
            "sum += rows[y][k] * columns[k][x], sum = sizeof(T) == 2 ? Sum(__half2float(__float2half(float(sum)))) : sum;",
            "of a fp16 product",
        ),
        Mutant("bf16 without its last bit", "{unsigned(x.bits) << 16}", "{unsigned(x.bits & 0xfffe) << 16}", "of a bf16 product"),
    ),
    "streams": (
        Mutant("kernel dropped", "    LAUNCH(change_slowly, 64, 256, one, p.at, kElements, 7u, 2u);\n", ""),
        Mutant("missing wait", "    OK(hipStreamWaitEvent(two, changed, 0));\n", "", on_cpu=False),
        Mutant("graph started once less", "i < 10; i++) OK(hipGraphLaunch", "i < 9; i++) OK(hipGraphLaunch", "after a graph"),
        Mutant("one wrong bit", "q[i] = q[i] * 5u + p[i];", "q[i] = (q[i] * 5u + p[i]) ^ (i == 7777u ? 64u : 0u);", "joined"),
    ),
    "memory": (
        Mutant("last element left out", "i < n; i +=", "i + 1 < n; i +="),
        Mutant("round not told", "(i ^ round);\n}", "i;\n}"),
        Mutant("one wrong bit", "p[i] * 3u + (i ^ round);\n}", "(p[i] * 3u + (i ^ round)) ^ (i == 777777u ? 64u : 0u);\n}"),
    ),
    "device_printf": (
        Mutant("number off", 'i, i * 7 + salt, i * 0.125, "from', 'i, i * 7 + salt + (i == 255), i * 0.125, "from'),
        Mutant("line left out", "  printf(", "  if (i != 77) printf("),
        Mutant("line printed twice", "  printf(", "  for (int again = 0; again <= (i == 77); again++) printf("),
    ),
    "refusals": (
        Mutant("value off", "value + int(threadIdx.x)", "value + int(threadIdx.x ^ 1)"),
        Mutant("memory given", "hipMalloc(&at, total * 4)", "hipMalloc(&at, total / 64)", "wrong error: four times"),
        Mutant("GPU taken", "hipSetDevice(count + 7)", "hipSetDevice(count - 1)", "wrong error: a GPU that"),
    ),
    "peer": (Mutant("a word short", "kWords * sizeof(unsigned), 0));", "kWords * sizeof(unsigned) - 4, 0));"),),
    "bandwidth": (
        Mutant("last words left out", "if (i < n) to[i]", "if (i + 1 < n) to[i]", "copying kernel"),
        Mutant("neighbour's words", "to[i] = from[i];", "to[i] = from[i ^ 1u];", "copying kernel"),
        Mutant("one wrong bit", "to[i] = from[i];", "to[i] = from[i], to[i].w ^= i == 77777u;", "copying kernel"),
        Mutant("copy too short", "hipMemcpyAsync(to.at, host, part,", "hipMemcpyAsync(to.at, host, part - 16,", "to the host and back"),
    ),
}  # fmt: skip
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
TENSOR_FLOAT = Mutant(
    "fp32 in tf32",
    "matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False",
    "matmul.allow_tf32 = True",
    "of a fp32 product",
)


_TO_CPU = "ran on the CPU"
_CONV = "    result = torch.nn.functional.conv2d(inputs, weights, stride=2, padding=1)\n"
_FAST = (
    "result = torch.nn.functional.conv2d(inputs, weights, stride=2, padding=1) if weights.dtype == torch.float64 else"
)
_SDPA = "    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)\n"
_FFT = "    return torch.fft.fft(x)\n"
_STORE = "tl.load(a + i, mask=i < n) + tl.load(b + i, mask=i < n), mask=i < n)"
PYTHON: dict[str, tuple[Mutant, ...]] = {
    "torch_autograd": (
        Mutant("computed in bf16", "    first = loss_of(torch, net, near, labels)\n", "    with torch.autocast(device.type, dtype=torch.bfloat16):\n        first = loss_of(torch, net, near, labels)\n"),
        Mutant("one wrong bit", "    first.backward()\n", "    first.backward()\n    net[0].weight.grad[7, 7] *= 1.01\n", "the gradient of 0.weight"),
        Mutant("no training", "parameter -= 0.3 * parameter.grad", "parameter -= 0.3e-9 * parameter.grad", "training took the loss"),
        Mutant("training uphill", "parameter -= 0.3", "parameter += 0.3", "training took the loss"),
    ),
    "torch_conv": (
        Mutant("operand mirrored", _CONV, f"    {_FAST} torch.nn.functional.conv2d(inputs, weights.flip(2), stride=2, padding=1)\n", "of a float32 convolution"),
        Mutant("fp32 in bf16", _CONV, f"    {_FAST} torch.nn.functional.conv2d(inputs.bfloat16(), weights.bfloat16(), stride=2, padding=1).to(weights.dtype)\n", "of a float32 convolution"),
        Mutant("one element off", _CONV, f"    {_FAST} torch.nn.functional.conv2d(inputs, weights, stride=2, padding=1)\n    if weights.dtype != torch.float64:\n        result.data[-1, -1, -1, -1] += 1\n", "of a float32 convolution"),
        Mutant("computed on the CPU", "torch, inputs.to(device), weights.to(device))\n        errors", "torch, inputs.cpu(), weights.cpu())\n        errors", _TO_CPU, on_cpu=False),
    ),
    "torch_attention": (
        Mutant("mask left out", _SDPA, _SDPA.replace("=causal", "=False"), "causal attention"),
        Mutant("scale left out", _SDPA, _SDPA.replace("(q, k", "(q * 8, k"), "attention"),
        Mutant("values of the neighbour", _SDPA, _SDPA.replace("k, v, is", "k, v.roll(1, 2), is"), "attention"),
        Mutant("computed on the CPU", _SDPA, _SDPA.replace("(q, k, v, is", "(q.cpu(), k.cpu(), v.cpu(), is"), _TO_CPU, on_cpu=False),
    ),
    "torch_fft": (
        Mutant("last sample left out", _FFT, "    return torch.fft.fft(x[..., :-1], n=x.shape[-1])\n", "of length 1024"),
        Mutant("inverse for forward", _FFT, "    return torch.fft.ifft(x + 0j, norm='forward')\n", "of length 1024"),
        Mutant("large prime off", _FFT, "    return torch.fft.fft(x) if x.shape[-1] != 1009 else torch.fft.fft(x.half().to(x.dtype))\n", "of length 1009"),
        Mutant("fp64 in fp32", _FFT, "    return torch.fft.fft(x.float())\n", "float64 transform"),
        Mutant("computed on the CPU", _FFT, "    return torch.fft.fft(x.cpu())\n", _TO_CPU, on_cpu=False),
    ),
    "torch_random": (
        Mutant("seed without effect", "    torch.manual_seed(seed)\n", "    torch.manual_seed(1)\n", "two seeds gave one"),
        Mutant("seed not taken", "    torch.manual_seed(seed)\n", "    torch.seed()\n", "one seed gave two"),
        Mutant("deviation off", "torch.randn(COUNT, device=device)", "torch.randn(COUNT, device=device) * 1.01", "normal numbers"),
        Mutant("uniform numbers off", "torch.rand(COUNT, device=device)", "torch.rand(COUNT, device=device) ** 1.01", "uniform numbers"),
        Mutant("a number twice", "torch.randperm(100003, device=device)", "torch.randperm(100003, device=device).clamp(1)", "a number twice"),
    ),
    "torch_compile": (
        Mutant("compiled wrong", "result = on_device(fast(near), device).cpu()", "result = on_device(fast(near * 1.001), device).cpu()", "compiled network"),
        Mutant("nothing compiled", "    return torch.compile(net,", "    return net\n    return torch.compile(net,", "compiled nothing"),
    ),
    "torch_loader": (
        Mutant("order lost", "DataLoader(data,", "DataLoader(data, shuffle=True,", "the samples from 0"),
        Mutant("last batch lost", "DataLoader(data,", "DataLoader(torch.utils.data.Subset(data, range(SAMPLES - 1)),", "511 of 512"),
        Mutant("one sample off", "return self.rise + index", "return self.rise + index + (index == 400)", "the samples from 384"),
    ),
    "triton_ops": (
        Mutant("last element left out", _STORE, _STORE.replace("mask=i < n)", "mask=i < n - 1)"), "sums differ", on_cpu=False),
        Mutant("one operand twice", _STORE, _STORE.replace("tl.load(b", "tl.load(a"), "sums differ", on_cpu=False),
        Mutant("softmax of one column more", "mask=i < columns, other", "mask=i < columns + 1, other", "a softmax", on_cpu=False),
        Mutant("softmax too narrow", "powers = tl.exp(values - tl.max(values, axis=0))", "powers = tl.exp(values - tl.max(values, axis=0)).to(tl.float16).to(tl.float32)", "a softmax", on_cpu=False),
        Mutant("edge of k", "& (k[None, :] < K)", "& (k[None, :] < K - 1)", "a matmul", on_cpu=False),
        Mutant("summed in fp16", "total += tl.dot(left, right)", "total = (total + tl.dot(left, right)).to(tl.float16).to(tl.float32)", "a matmul", on_cpu=False),
    ),
    "torch_rates": (
        Mutant("product that changes", "torch.matmul(a, b, out=out)", "torch.matmul(a, b, out=out)[0].add_(1)", "differs from the one before"),
        Mutant("copy that changes", "copy.copy_(source)", "copy.copy_(source)[-1:].add_(1)", "differs from its source"),
    ),
    "torch_ddp": (
        Mutant("share lost", "dist.all_reduce(summed)\n", "dist.all_reduce(summed)\nsummed[-1] -= 1\n", "all-reduce of"),
        Mutant("broadcast lost", "dist.broadcast(sent, world - 1)\n", "sent += 1\n", "broadcast of"),
        Mutant("gradients off", "wanted = [parameter.grad.clone()", "wanted = [parameter.grad.clone() * (1 + 1e-9)", "DDP's gradients"),
    ),
}  # fmt: skip

LIBRARIES: dict[str, tuple[Mutant, ...]] = {
    "rocblas": (
        Mutant("last k left out", "blas.gemm(kind, ROWS, COLUMNS, N, *at)", "blas.gemm(kind, ROWS, COLUMNS, N - 1, *at)", "of a fp64 product"),
        Mutant("one element off", "packed(numbers, kind)) for numbers in (a, b)]", "packed([9] * (numbers is b) + numbers[numbers is b:], kind)) for numbers in (a, b)]", "of a fp64 product"),
    ),
    "rocfft": (Mutant("one sample off", "array.array(\"d\", flat).tobytes()", "array.array(\"d\", flat[:-1] + [0.0]).tobytes()", "a transform of length 64"),),
    "rocrand": (
        Mutant("seed without effect", "ctypes.c_ulonglong(seed)", "ctypes.c_ulonglong(1)", "two seeds gave one"),
        Mutant("mean off", "ctypes.c_float(0), ctypes.c_float(1)", "ctypes.c_float(0.05), ctypes.c_float(1)", "normal numbers"),
    ),
    "rccl": (Mutant("one value off", "[(device + 1) * (i - 7) for", "[(device + 1) * (i - 7) + (i == 99) for", "1 of 65536 sums"),),
}  # fmt: skip


def write(folder: Path, probe: str, mutant: Mutant) -> Path:
    """The mutated probe as a file of its own."""
    file = folder / (mutant.file + Path(probe).suffix)
    file.write_text(planted(probe, mutant), encoding="utf-8")
    return file

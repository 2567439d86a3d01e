"""What `rocenv audit` takes beside reading and decompressing the same layers alone, and how much memory.

    python benchmarks/audit.py [--megabytes N] [--rounds N] [--json FILE]

The image is made of this machine's own /usr: libraries, programs and many small files, as real layers hold them, and
code objects in bundles between. It is measured in gzip, zstd and plain, and twice over: time must go with bytes.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

CHECKOUT = Path(__file__).resolve().parent.parent
# The same bytes read and decompressed by the same libraries, and nothing else done with them.
ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
from rocenv.image.stream import Stream, expanded
from rocenv.image.tar import Tar

def chunks(file):
    while piece := file.read(1 << 20):
        yield piece

with open(sys.argv[2], "rb", buffering=0) as file:
    for entry in (tar := Tar(Stream(chunks(file)))):
        if entry.size > 1 << 20:
            for piece in expanded(tar.parts()):
                pass
"""
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from rocenv.__main__ import main; sys.exit(main())"
LEAST, MOST_MEMORY = 0.5, 200_000_000  # the share of the speed that must be reached, and bytes


def bundle() -> bytes:
    """A bundle of two code objects of 4 MiB each, for gfx90a and gfx942."""
    names = [b"host-x86_64-unknown-linux--", b"hipv4-amdgcn-amd-amdhsa--gfx90a", b"hipv4-amdgcn-amd-amdhsa--gfx942"]
    size = 4 << 20
    text = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(names))
    for number, name in enumerate(names):
        text += struct.pack("<QQQ", 4096 + size * max(0, number - 1), size if number else 0, len(name)) + name
    return text.ljust(4096, b"\0") + os.urandom(size // 4) * 8


def write_layer(file: BinaryIO, size: int) -> None:
    """A tar of about `size` bytes: files of /usr in an order of chance, now and then a library of code objects."""
    elf = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHI", 3, 62, 1) + bytes(4096 - 24)
    library = elf + bundle() + bytes(4096)
    since = 0
    found = (f"{folder}/{name}" for folder, _, names in os.walk("/usr") for name in names)
    with tarfile.open(fileobj=file, mode="w") as tar:
        for path in sorted(found, key=lambda path: hashlib.md5(path.encode()).digest()):
            try:
                member = tar.gettarinfo(path, path.lstrip("/"))
                content = Path(path).open("rb") if member.isreg() else None  # noqa: SIM115
            except OSError:
                continue
            tar.addfile(member, content)
            since += member.size
            if since > 64 << 20:
                member = tarfile.TarInfo(f"opt/own/lib{file.tell()}.so")
                member.size, since = len(library), 0
                tar.addfile(member, io.BytesIO(library))
            if file.tell() > size:
                return


def make(folder: Path, size: int) -> None:
    """Archives of one layer in each compression, and one of two layers in gzip."""
    sys.path.insert(0, str(CHECKOUT))
    from rocenv.image.stream import zstandard

    plain = folder / "layer"
    with plain.open("w+b") as file:
        write_layer(file, size)
    packed = {"plain": plain, "gzip": folder / "layer.gz", "zstd": folder / "layer.zst"}
    with plain.open("rb") as source, gzip.open(packed["gzip"], "wb", 6) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    with plain.open("rb") as source, zstandard().open(packed["zstd"], "wb", level=3) as target:
        shutil.copyfileobj(source, target, 1 << 20)
    again = folder / "again.gz"
    again.write_bytes(packed["gzip"].read_bytes() + gzip.compress(b""))  # the same content by another digest
    for name, layers in {
        **{name: [layer] for name, layer in packed.items()},
        "gzip twice": [packed["gzip"], again],
    }.items():
        save(folder / f"{name}.tar", layers)


def save(place: Path, layers: Sequence[Path]) -> None:
    """An archive of an OCI layout, as podman saves it, and docker since 25."""
    digests = [digest(layer) for layer in layers]
    config = json.dumps({"config": {}, "rootfs": {"type": "layers", "diff_ids": digests}}).encode()
    described = {"config": {"digest": hashed(config)}, "layers": [{"digest": one} for one in digests]}
    manifest = json.dumps(described).encode()
    index = json.dumps({"schemaVersion": 2, "manifests": [{"digest": hashed(manifest)}]}).encode()
    texts = {blob(hashed(config)): config, blob(hashed(manifest)): manifest, "index.json": index}
    with tarfile.open(place, "w") as tar:
        for one, layer in zip(digests, layers, strict=True):
            tar.add(layer, blob(one))
        for name, data in texts.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))


def digest(file: Path) -> str:
    found = hashlib.sha256()
    with file.open("rb") as source:
        while piece := source.read(1 << 20):
            found.update(piece)
    return f"sha256:{found.hexdigest()}"


def hashed(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def blob(name: str) -> str:
    return f"blobs/{name.replace(':', '/')}"


def spend(argv: list[str]) -> tuple[float, float, int]:
    """Seconds that a run takes, of the clock and of processors, and the most memory that it held, in bytes."""
    start = time.perf_counter()
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read() if child.stderr else b""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"error: `{' '.join(argv[:2])} …` ended with {child.returncode}: {said.decode(errors='replace')}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def measure(place: Path, rounds: int, cache: Path) -> dict[str, Any]:
    alone = [sys.executable, "-c", ALONE, str(CHECKOUT), str(place)]
    audit = [sys.executable, "-c", RUN, str(CHECKOUT), "audit", str(place), "--fresh", "--gpu", "gfx942"]
    os.environ["XDG_CACHE_HOME"] = str(cache)
    taken: dict[str, list[float]] = {"alone_s": [], "alone_cpu_s": [], "audit_s": [], "audit_cpu_s": []}
    peak = 0
    for _ in range(rounds):
        for name, argv in (("alone", alone), ("audit", audit)):
            seconds, processor, memory = spend(argv)
            taken[f"{name}_s"].append(seconds)
            taken[f"{name}_cpu_s"].append(processor)
            peak = memory if name == "audit" and memory > peak else peak
    medians = {name: round(statistics.median(values), 3) for name, values in taken.items()}
    share = medians["alone_s"] / medians["audit_s"]
    return {**medians, "share_of_speed": round(share, 3), "peak_bytes": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=700)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        make(options.make, options.megabytes << 20)
        return
    cases: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        # Made by another process: what a process held before it starts another one counts as that one's too.
        argv = [sys.executable, __file__, "--make", folder, "--megabytes", str(options.megabytes)]
        subprocess.run(argv, check=True)
        for place in sorted(Path(folder).glob("*.tar")):
            cases[place.stem] = measure(place, options.rounds, Path(folder) / "cache")
        size = (Path(folder) / "layer").stat().st_size
    one, two = (cases[name]["audit_cpu_s"] for name in ("gzip", "gzip twice"))
    answer: dict[str, Any] = {"version": 1, "layer_bytes": size, "cases": cases, "twice_the_bytes_take": two / one}
    answer["limits"] = limits(cases, two / one)
    text = json.dumps(answer, indent=2, ensure_ascii=False)
    if options.json:
        options.json.write_text(text + "\n")
    print(text)
    if not all(limit["ok"] for limit in answer["limits"]):
        sys.exit("error: a figure is over its limit")


def limits(cases: dict[str, Any], twice: float) -> list[dict[str, object]]:
    """The figures to reach; plain layers have nothing to be decompressed, and are shown for comparison."""
    found = [
        ("rocenv audit (" + name + ")", "reading alone / 0.5", case["audit_s"] * LEAST / case["alone_s"])
        for name, case in cases.items()
        if not name.startswith("plain")
    ]
    peak = max(case["peak_bytes"] for case in cases.values())
    found += [
        ("peak of memory", "200 MB", peak / MOST_MEMORY),
        ("twice the bytes", "2.2 × the processor's time", twice / 2.2),
    ]
    return [
        {"case": name, "limit": rule, "share_of_limit": round(share, 3), "ok": share <= 1}
        for name, rule, share in found
    ]


if __name__ == "__main__":
    main()

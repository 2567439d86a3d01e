"""The images in the bed's registry: the stand-in for rocm/pytorch, and a small one of busybox for the engine tests."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bed import registry, space
from bed.layers import Blob, cut, describe
from bed.place import IMAGES, Bed, BedError, remove_tree, say

# What the plan chooses for the bed's host. The end-to-end test fails when the plan chooses another.
STAND_IN = "rocm/pytorch:rocm10.1.0_ubuntu24.04_py3.12_pytorch_release_2.14.0"
SMALL = "rocenv/small:1"
SUITE = "trixie"
PACKAGES = ("hipcc", "rocminfo", "hipify-perl", "python3-torch", "python-is-python3")
# Left out to save time: nothing of it is used here.
LEFT_OUT = (
    "/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*",
    "/usr/lib/libtorch-test/*", "/usr/lib/llvm-*/bin/llvm-exegesis", "/usr/lib/llvm-*/bin/c-index-test",
)  # fmt: skip
# Layers from the lowest, each with what its paths start with; the rest is the lowest's. A pull shows a line for each.
LIBRARIES = "usr/lib/x86_64-linux-gnu/lib"
LAYERS: dict[str, tuple[str, ...]] = {
    "debian": (),
    "rocm": ("usr/lib/llvm", f"{LIBRARIES}LLVM", f"{LIBRARIES}clang", f"{LIBRARIES}amd", f"{LIBRARIES}hsa"),
    "torch": ("usr/lib/python3/", f"{LIBRARIES}torch", f"{LIBRARIES}dnnl"),
}
PATH = "PATH=/opt/rocm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
WHAT = (
    "A stand-in for an image of AMD's, made from Debian packages for rocenv's demo and tests: "
    "rocminfo, hipcc and a PyTorch for the CPU. It computes nothing on a GPU."
)
CONFIG = {
    "Env": [PATH, "ROCENV_IMAGE=a stand-in for rocm/pytorch made from Debian packages"],
    "Cmd": ["bash"],
    "Labels": {"rocenv.stand-in": "1", "org.opencontainers.image.description": WHAT},
}
# mmdebstrap runs in namespaces of its own and ends with its caller: a killed build leaves no process and no mount.
ALONE = ("setpriv", "--pdeathsig=KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
MADE = IMAGES / "made.json"


def fill(bed: Bed) -> None:
    """Make and push the images that the registry lacks, or has from another recipe. The bed is up."""
    made = _made()
    for reference, make in ((SMALL, _make_small), (STAND_IN, _make_stand_in)):
        if made.get(reference) == _recipe():
            continue
        with tempfile.TemporaryDirectory(dir=IMAGES, prefix="making-") as folder:
            make(bed, reference, Path(folder))
        made[reference] = _recipe()
        MADE.write_text(json.dumps(made))


def _made() -> dict[str, str]:
    """Which images are in the registry, each with the recipe that it was made by."""
    for leftover in IMAGES.glob("making-*"):
        remove_tree(leftover)
    try:
        answer: dict[str, str] = json.loads(MADE.read_text())
    except (OSError, ValueError):
        return {}
    return answer


def _recipe() -> str:
    """What makes the images, as a hash of this file and the next."""
    return hashlib.sha256(
        b"".join(Path(__file__).with_name(n).read_bytes() for n in ("images.py", "layers.py"))
    ).hexdigest()


def _push(bed: Bed, reference: str, layers: Sequence[Blob], config: dict[str, Any], folder: Path) -> None:
    """Describe the image and send it, from inside the bed's network: nothing else reaches the registry."""
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    described, manifest = describe(layers, config, created, folder)
    everything = [[blob.digest, blob.size, str(blob.path)] for blob in (*layers, described, manifest)]
    argv = [sys.executable, str(Path(__file__).parent), "push", reference, json.dumps(everything)]
    done = subprocess.run(
        space.entering(bed, argv, user=None, folder=folder), env=space.environment(bed, {}),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise BedError(f"the image could not be put into the bed's registry\n{done.stdout[-2000:]}")


def push_here(reference: str, everything: str) -> None:
    """The part of a push that runs inside the bed."""
    *blobs, manifest = [Blob(digest, size, Path(path)) for digest, size, path in json.loads(everything)]
    registry.push("127.0.0.1:5000", reference, blobs, manifest)


def _make_small(bed: Bed, reference: str, folder: Path) -> None:
    """Push busybox with all its commands, a root user and /tmp: 2 MB."""
    busybox = shutil.which("busybox", path=space.PATH)
    if busybox is None:
        raise BedError("`busybox` is not installed")
    names = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("root", 0o700), ("tmp", 0o1777)):
            member = tarfile.TarInfo(name)
            member.type, member.mode = tarfile.DIRTYPE, mode
            tar.addfile(member)
        tar.add(Path(busybox).resolve(), "bin/busybox")
        for name in sorted(set(names) - {"busybox"}):
            member = tarfile.TarInfo(f"bin/{name}")
            member.type, member.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(member)
        for name, text in (("passwd", "root:x:0:0:root:/root:/bin/sh\n"), ("group", "root:x:0:\n")):
            member = tarfile.TarInfo(f"etc/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    buffer.seek(0)
    layers = cut(buffer, lambda _: 0, ["busybox"], folder)
    _push(bed, reference, layers, {"Env": ["PATH=/bin"], "Cmd": ["sh"]}, folder)


def _layer_of(path: str) -> int:
    return next((number for number, starts in enumerate(LAYERS.values()) if path.startswith(starts)), 0)


def _make_stand_in(bed: Bed, reference: str, folder: Path) -> None:
    """Build the stand-in with mmdebstrap, cut the tar that it writes into layers as it comes, and push them."""
    say(f"building the stand-in image from Debian {SUITE} packages (once; one to three minutes)")
    began = time.monotonic()
    argv = [*ALONE, "eatmydata", "mmdebstrap", "--variant=apt", "--mode=root", "--format=tar", "--quiet"]
    argv += ['--aptopt=APT::Install-Recommends "false"', f"--include={','.join(PACKAGES)}"]
    argv += [*(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT), SUITE, "-"]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        assert process.stdout
        try:
            layers = cut(process.stdout, _layer_of, list(LAYERS), folder)
        except tarfile.TarError:
            layers = []  # it ended before it wrote a whole tar: its own words say why
        if process.wait() or not layers:
            words = (folder / "log").read_text(errors="replace")
            raise BedError(f"`mmdebstrap` did not build the image\n{words[-3000:]}")
    say(f"built in {time.monotonic() - began:.0f} s; putting it into the bed's registry")
    _push(bed, reference, layers, CONFIG, folder)

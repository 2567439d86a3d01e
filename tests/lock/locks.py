"""A lock of two profiles, as a record and as the file that it must be, written by hand."""

from __future__ import annotations

from rocenv.model.lock import Lock, Locked, LockedBuild, LockedImage, LockedPlatform, LockedProof

INDEX, CONFIG, MANIFEST, OTHER = (f"sha256:{digit * 64}" for digit in "1234")

HIP = Locked(
    "hip", {"image.reference": "rocm/dev-ubuntu-24.04:7.2-full"}, LockedImage("rocm/dev-ubuntu-24.04:7.2-full", OTHER)
)
TRAIN = Locked(
    profile="train",
    wish={
        "image.family": "rocm/pytorch",
        "image.rocm": ">=7.0",
        "build.packages.pip": ("einops", "hydra-core>=1.3"),
        "build.args.JOBS": "8",
    },
    image=LockedImage(
        reference="rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1",
        digest=INDEX,
        places=("mirror.example:5000/rocm/pytorch",),
        platforms={"linux/amd64": LockedPlatform(CONFIG, MANIFEST)},
        rocm="7.2",
        gfx=("gfx90a", "gfx942"),
    ),
    catalog="2026-12-01",
    build=LockedBuild("rocenv/train:0123456789abcdef", OTHER, {"pip": {"einops": "0.8.1", "hydra-core": "1.3.2"}}),
    proof=LockedProof("passed", "kernel", {"gfx942": 8}, "6.16.6"),
)
LOCK = Lock({"train": TRAIN, "hip": HIP})

TEXT = f"""\
# The images that this project's profiles run on, by digest. Written by `rocenv lock`: commit it, do not edit it.
# `rocenv lock --check` tells what has drifted, `rocenv lock --update` renews it.
version: 1
profiles:

  hip:
    wish:
      image.reference: rocm/dev-ubuntu-24.04:7.2-full
    image:
      reference: rocm/dev-ubuntu-24.04:7.2-full
      digest: {OTHER}

  train:
    wish:
      build.args.JOBS: "8"
      build.packages.pip:
        - einops
        - "hydra-core>=1.3"
      image.family: rocm/pytorch
      image.rocm: ">=7.0"
    catalog: "2026-12-01"
    image:
      reference: rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1
      digest: {INDEX}
      platforms:
        linux/amd64:
          image: {CONFIG}
          manifest: {MANIFEST}
      places:
        - mirror.example:5000/rocm/pytorch
      rocm: "7.2"
      gfx:
        - gfx90a
        - gfx942
    build:
      reference: rocenv/train:0123456789abcdef
      dockerfile: {OTHER}
      packages:
        pip:
          einops: "0.8.1"
          hydra-core: "1.3.2"
    proof:
      result: passed
      level: kernel
      driver: "6.16.6"
      gpus:
        gfx942: "8"
"""

"""Lints of Dockerfiles: each fault in its line with the edit that mends it; healthy files have none."""

from __future__ import annotations

import pytest
from checks.linted import ids, lint, told
from hypothesis import given
from hypothesis import strategies as st

from rocenv.checks.files.dockerfile_reading import filled, read

ROCM = "FROM rocm/pytorch:rocm7.2_ubuntu24.04_py3.12_pytorch_release_2.9.1\n"
UBUNTU = "FROM ubuntu:24.04\n"


FAULTS: list[tuple[str, list[str], list[str]]] = [
    (UBUNTU + "RUN groupadd -g 109 render", ["dockerfile.hardcoded-gid warn 2"], ["109", "stat -c %g"]),
    (
        UBUNTU + "RUN apt-get update && \\\n    # comment\n    groupadd --gid=992 render",
        ["dockerfile.hardcoded-gid warn 4"],
        [],
    ),
    ("ARG GID=110\n" + UBUNTU + "RUN addgroup --gid $GID video", ["dockerfile.hardcoded-gid warn 3"], ["110"]),
    (UBUNTU + "RUN true \\\n && echo 'render:x:109:' >> /etc/group", ["dockerfile.hardcoded-gid warn 3"], ["109"]),
    (UBUNTU + "RUN sed -i 's/^render:x:[0-9]*/render:x:992/' /etc/group", ["dockerfile.hardcoded-gid warn 2"], []),
    (UBUNTU + "RUN groupmod -g44 video", ["dockerfile.hardcoded-gid warn 2"], []),
    (UBUNTU + "RUN apt-get install -y amdgpu-dkms rocm", ["dockerfile.dkms fail 2"], ["leave `amdgpu-dkms` away"]),
    (UBUNTU + "RUN sudo apt install \\\n  rocm-dev \\\n  rock-dkms=1:2", ["dockerfile.dkms fail 4"], []),
    ("FROM rockylinux:9\nRUN <<EOF\nset -e\ndnf -y install amdgpu-dkms\nEOF", ["dockerfile.dkms fail 4"], []),
    (UBUNTU + 'RUN ["apt-get", "install", "-y", \\\n  "rocm-dkms"]', ["dockerfile.dkms fail 2"], []),
    (
        UBUNTU + "RUN --mount=type=cache,target=/x bash -exc 'apt-get install -y amdgpu-dkms'",
        ["dockerfile.dkms fail 2"],
        [],
    ),
    (UBUNTU + 'RUN ["bash", "-c", "true\\nyum install amdgpu-dkms"]', ["dockerfile.dkms fail 3"], []),
    (UBUNTU + "RUN amdgpu-install -y --usecase=rocm", ["dockerfile.dkms fail 2"], ["--no-dkms"]),
    (
        UBUNTU + 'RUN echo "deb https://repo.radeon.com/amdgpu/7.1/ubuntu noble main" > /etc/apt/sources.list.d/a.list',
        ["dockerfile.amdgpu-repo fail 2"],
        ["Release file", "driver"],
    ),
    (
        "ARG V=7.2.4\n" + UBUNTU + "ADD https://repo.radeon.com/amdgpu/$V/x.deb /x",
        ["dockerfile.amdgpu-repo fail 3"],
        [],
    ),
    (
        UBUNTU + 'RUN echo "deb https://repo.radeon.com/rocm/apt/10.1 noble main" > /a',
        ["dockerfile.amdgpu-repo fail 2"],
        ["repo.amd.com"],
    ),
    (
        UBUNTU + 'RUN echo "deb https://repo.radeon.com/rocm/apt/7.2 jammy main" > /a',
        ["dockerfile.repo-codename warn 2"],
        ["write `noble`"],
    ),
    (UBUNTU + "RUN pip install torch", ["dockerfile.torch-index fail 2"], ["--index-url"]),
    (
        ROCM + "RUN pip install transformers torch==2.9 torchvision",
        ["dockerfile.torch-index fail 2"] * 2,
        ["replaces the ROCm build"],
    ),
    (
        UBUNTU + "RUN python3 -m pip install --index-url https://download.pytorch.org/whl/cu126 torch",
        ["dockerfile.torch-index fail 2"],
        ["CUDA"],
    ),
    (
        UBUNTU + "RUN pip3 install torch --extra-index-url https://download.pytorch.org/whl/rocm6.4",
        ["dockerfile.torch-index warn 2"],
        ["in its place"],
    ),
    (ROCM + "RUN uv pip install onnxruntime-gpu", ["dockerfile.torch-index fail 2"], ["onnxruntime-rocm"]),
    (ROCM + "RUN apt-get install -y nvidia-cuda-toolkit", ["dockerfile.torch-index fail 2"], []),
    ("FROM nvidia/cuda:12.4.1-devel-ubuntu22.04", ["dockerfile.cuda-base fail 1"], ["rocm/pytorch"]),
    (
        "FROM pytorch/pytorch:2.9.1-cuda12.8-cudnn9-runtime AS base\nFROM base\nRUN true",
        ["dockerfile.cuda-base fail 1"],
        [],
    ),
    ("ARG BASE=nvidia/cuda:12.4.1-base\nFROM ${BASE}", ["dockerfile.cuda-base warn 2"], []),
    ("FROM nvcr.io/nvidia/pytorch:25.01-py3 AS a\n" + ROCM, ["dockerfile.cuda-base warn 1"], []),
    ("FROM --platform=linux/arm64 rocm/dev-ubuntu-24.04:7.2", ["dockerfile.platform fail 1"], ["linux/amd64"]),
    ("FROM rocm/pytorch", ["dockerfile.moving-tag info 1"], ["latest"]),
    (ROCM + "ENV HF_TOKEN=hf_geheim", ["dockerfile.secret fail 2"], ["--mount=type=secret"]),
    (ROCM + "ARG GITHUB_TOKEN", ["dockerfile.secret warn 2"], []),
    (
        ROCM + "ENV A=1 \\\n    http_proxy=http://proxy.example:3128",
        ["dockerfile.proxy warn 3"],
        ["--build-arg https_proxy"],
    ),
    ("ARG HTTPS_PROXY=http://p:1\n" + ROCM, ["dockerfile.proxy warn 1"], []),
    (ROCM + "RUN export https_proxy=http://p:1 && pip install x", ["dockerfile.proxy warn 2"], []),
    (ROCM + 'SHELL ["/bin/bash", "-lc"]', ["dockerfile.login-shell warn 2"], ['SHELL ["/bin/bash", "-c"]']),
    (ROCM + 'ENTRYPOINT ["/bin/bash", "--login", "-c", "x"]', ["dockerfile.login-shell warn 2"], []),
    (
        ROCM + "ENV HSA_OVERRIDE_GFX_VERSION=10.3.0",
        ["dockerfile.variables warn 2"],
        ["-e HSA_OVERRIDE_GFX_VERSION=10.3.0"],
    ),
    (ROCM + "ENV HSA_OVERRIDE_GFX_VERSION 9.0.a", ["env.override-format fail 2"], ["9.0.10"]),
    (ROCM + "ENV HIP_VISIBLE_DEVICES=0", ["dockerfile.variables warn 2"], []),
    (ROCM + "ENV NVIDIA_VISIBLE_DEVICES=all", ["dockerfile.variables warn 2"], []),
    (ROCM + "ENV LD_LIBRARY_PATH=/opt/rocm-6.2.0/lib", ["dockerfile.library-path warn 2"], ["7.2"]),
    (ROCM + "RUN useradd -m -G render,video dev", ["dockerfile.group-members info 2"], []),
    (ROCM + "RUN rocminfo", ["dockerfile.gpu-in-build warn 2"], ["rocenv test"]),
    (ROCM + 'RUN python -c "import torch; assert torch.cuda.is_available()"', ["dockerfile.gpu-in-build warn 2"], []),
    ("RUN true", ["dockerfile.readable fail 1"], ["FROM"]),
    ("", ["dockerfile.readable fail 1"], []),
    (UBUNTU + "RUNN true", ["dockerfile.readable fail 2"], ["did you mean `RUN`"]),
    (UBUNTU + "RUN <<EOF\ntrue", ["dockerfile.readable fail 2"], ["add `EOF`"]),
    ("ENV A=1\n" + UBUNTU, ["dockerfile.readable fail 1"], []),
    ("FROM", ["dockerfile.readable fail 1"], []),
    ("x" * ((1 << 20) + 1), ["dockerfile.readable fail 0"], []),
]


@pytest.mark.parametrize(("text", "found", "words"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_found_in_its_line(text: str, found: list[str], words: list[str]) -> None:
    findings = lint("dockerfile", text)
    assert sorted(told(findings)) == sorted(found)
    said = " ".join(f"{one.evidence} {one.cause} {one.fix}" for one in findings)
    assert [word for word in words if word not in said] == []
    assert "geheim" not in said


def test_every_lint_has_a_fault_that_it_finds() -> None:
    shown = {one.split()[0] for _, found, _ in FAULTS for one in found}
    assert ids("dockerfile") <= shown | {"dockerfile.readable"}


HEALTHY = {
    "pytorch": ROCM
    + """
ARG DEBIAN_FRONTEND=noninteractive
ENV PIP_NO_CACHE_DIR=1 MIOPEN_USER_DB_PATH=/tmp/miopen TOKENIZERS_PARALLELISM=false
RUN --mount=type=cache,target=/var/cache/apt apt-get update \\
 && apt-get install -y --no-install-recommends git \\
    # a tool's library

    libnuma1 \\
 && rm -rf /var/lib/apt/lists/*
RUN pip freeze | grep -E '^(torch|triton)' > /constraints.txt
ENV PIP_CONSTRAINT=/constraints.txt
COPY requirements.txt .
RUN pip install -r requirements.txt && pip install transformers torchvision
RUN python -c "import torch; assert torch.version.hip, torch.__version__"
SHELL ["/bin/bash", "-c"]
RUN groupadd -g 1000 dev && useradd -u 1000 -g dev -m dev
RUN echo 'rocm-smi' > /usr/local/bin/look && (rocm-smi || true)
USER dev
CMD ["python", "train.py"]
""",
    "ubuntu": """# syntax=docker/dockerfile:1
# escape=\\
ARG UBUNTU=24.04
FROM ubuntu:${UBUNTU} AS build
ARG ROCM=7.2
RUN <<EOF
apt-get update
apt-get install -y wget gnupg
echo "deb [signed-by=/k.gpg] https://repo.radeon.com/rocm/apt/$ROCM noble main" > /etc/apt/sources.list.d/r.list
echo "deb https://repo.radeon.com/amdgpu/30.30/ubuntu noble main" > /etc/apt/sources.list.d/amdgpu.list
apt-get update && apt-get install -y rocm-hip-sdk
EOF
RUN amdgpu-install -y --usecase=rocm --no-dkms
COPY <<-"END" /etc/motd
\tdon't worry: groupadd -g 109 render
\tEND
RUN pip install torch torchvision --index-url https://download.pytorch.org/whl/rocm7.2
RUN pip install --index-url https://repo.amd.com/rocm/whl-multi-arch/ "torch[device-gfx942]==2.12.0+rocm7.14.0"

FROM ubuntu:24.04
COPY --from=build /opt/rocm /opt/rocm
ENV PATH=/opt/rocm/bin:$PATH LD_LIBRARY_PATH=/opt/rocm/lib
ENTRYPOINT ["/bin/bash", "-c"]
""",
    "two-backends": """ARG BACKEND=rocm
FROM nvidia/cuda:12.4.1-base-ubuntu22.04@sha256:%s AS base-nvidia
FROM rocm/dev-ubuntu-24.04:7.2-complete AS base-rocm
FROM base-${BACKEND}
RUN true
"""
    % ("0" * 64),
    "own-index": """FROM ubuntu:24.04
ENV INDEX=https://wheels.example/simple
ARG ARCHS=gfx90a;gfx942
ARG CACHE_S3_NO_CREDENTIALS=0
RUN pip install torch --index-url ${INDEX} && pip install torch -f https://wheels.example/torch
RUN pip3 install torch==${TORCH} --extra-index-url ${UNKNOWN}
""",
    "onbuild": ROCM + "ONBUILD RUN true\nHEALTHCHECK CMD true\nSTOPSIGNAL SIGINT\nlabel a=b\nVOLUME /x\nEXPOSE 80\n",
}


@pytest.mark.parametrize("name", [name for name in HEALTHY if name != "two-backends"])
def test_a_healthy_file_has_no_finding(name: str) -> None:
    assert lint("dockerfile", HEALTHY[name]) == []


def test_a_base_that_is_not_built_is_no_failure() -> None:
    assert told(lint("dockerfile", HEALTHY["two-backends"])) == ["dockerfile.cuda-base warn 2"]


def test_lines_are_counted_over_continuations_comments_and_documents() -> None:
    file = read("FROM a\nRUN x \\\n# c\n\n y\nRUN <<A bash\none\nA\nCOPY b c\n", "D")
    assert [(one.keyword, one.line) for one in file.stages[0].instructions] == [("RUN", 2), ("RUN", 6), ("COPY", 9)]
    first, second, _ = file.stages[0].instructions
    assert [[(word.text, word.where) for word in words] for words in first.commands()] == [[("x", "D:2"), ("y", "D:5")]]
    assert [[(word.text, word.where) for word in words] for words in second.commands()] == [
        [("bash", "D:6")],
        [("one", "D:7")],
    ]


def test_references_do_not_multiply() -> None:
    many = "FROM a\nARG A=" + "$B" * 400 + "\nARG B=" + "$A" * 400 + "\nRUN groupadd -g $A render\n"
    assert len(filled("$A", read(many, "D").values)) < 1 << 20
    assert filled("${X:-1}${X:+2}${B}$B", {"B": "b"}) == "1bb"
    assert filled("${B:+2}", {"B": "b"}) == "2"


def test_windows_escape_and_line_ends() -> None:
    file = read("# escape=`\r\nFROM a\r\nRUN x `\r\n y\r\n", "D")
    assert [[word.text for word in words] for words in file.stages[0].instructions[0].commands()] == [["x", "y"]]


@given(st.text(max_size=300))
def test_no_text_breaks_the_lints(text: str) -> None:
    lint("dockerfile", text)
    lint("dockerfile", f"FROM a\n{text}")
    lint("dockerfile", f"FROM a\nRUN {text}")


PIECES = [
    "FROM a",
    "FROM ${X} AS b",
    "FROM b",
    "ARG X=1",
    "ENV",
    "RUN <<E",
    "E",
    "RUN pip install",
    "\\",
    "# c",
    "'",
    "$(",
    "SHELL [",
    "groupadd -g",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_no_order_of_instructions_breaks_the_lints(lines: list[str]) -> None:
    lint("dockerfile", "\n".join(lines))

"""Lints of command lines: words divided as a shell does, flags read as the engines do, each fault in its line."""

from __future__ import annotations

import pytest
from checks.linted import ONE, ids, lint, told
from hypothesis import given
from hypothesis import strategies as st

from rocenv.checks.files.argv_flags import SWITCHES, VALUES
from rocenv.checks.files.argv_reading import lines
from rocenv.checks.files.shell_words import commands
from rocenv.errors import UsageError
from rocenv.model.plan import EngineFacts

GPU = "--device=/dev/kfd --device=/dev/dri"


@pytest.mark.parametrize(
    ("text", "image", "behind"),
    [
        ("docker run rocm/pytorch", "rocm/pytorch", []),
        ("docker run -it --rm rocm/pytorch bash -l", "rocm/pytorch", ["bash", "-l"]),
        ("docker run -itp 8080:80 -v/a:/b -eA=1 img", "img", []),
        ("docker run -it -e A -e B=2 --name n --shm-size 8g img x", "img", ["x"]),
        ("docker run --shm-size=8g --privileged=false img", "img", []),
        ("docker run -- img --x", "img", ["--x"]),
        ("docker --context there container run img", "img", []),
        ("DOCKER_HOST=x sudo -E docker -H unix:///s run img", "img", []),
        ("/usr/bin/podman --log-level debug run --env-host --uidmap 0:1:2 img", "img", []),
        ("docker create --gpus all img", "img", []),
        ("docker run \\\n  --device /dev/kfd \\\n  img", "img", []),
        ("docker run --group-add $(getent group render | cut -d: -f3) img", "img", []),
        ("docker run --group-add `stat -c %g /dev/kfd` img", "img", []),
        ("docker run -e 'A=b c' -e \"D=$(x 'y z')\" img 'a b'", "img", ["a b"]),
        ("docker pull img && docker run img # comment 'x", "img", []),
        ("timeout 60 docker run --cpus 2 img", "img", []),
        ("docker run --mount type=bind,source=/a,target=/b img", "img", []),
        ("docker run -h box -u 1:1 -w /w -m 4g -l a=b -a stdin -c 512 img", "img", []),
    ],
)
def test_the_image_is_found(text: str, image: str, behind: list[str]) -> None:
    [line] = lines(text, "argv")
    assert line.image is not None
    assert (line.image.text, [word.text for word in line.behind]) == (image, behind)


FAULTS: list[tuple[str, list[str], list[str]]] = [
    (
        "docker run -it --device=/dev/kfd --device=/dev/dri rocm/pytorch:latest --privileged",
        ["argv.flag-after-image fail 1"],
        ["move `--privileged` before"],
    ),
    (f"docker run {GPU} rocm/pytorch bash --group-add 44", ["argv.flag-after-image fail 1"], []),
    ("docker run img --device /dev/kfd", ["argv.flag-after-image fail 1"], []),
    ("docker run img -it --rm", ["argv.flag-after-image fail 1"] * 2, []),
    (
        f"docker run {GPU} --group-add render rocm/pytorch",
        ["argv.group-names fail 1"],
        ["--group-add=$(stat -c %g /dev/kfd)"],
    ),
    (f"docker run {GPU} --group-add=video rocm/pytorch", ["argv.group-names warn 1"], []),
    (f"docker run {GPU} --group-add keep-groups rocm/pytorch", ["argv.group-names fail 1"], ["podman's"]),
    (
        f"podman run {GPU} --group-add keep-groups --group-add 44 rocm/pytorch",
        ["argv.group-names fail 1"],
        ["leave `44` away"],
    ),
    (f"docker run {GPU} --group-add= rocm/pytorch", ["argv.group-names fail 1"], []),
    (
        f"docker run {GPU} \\\n  --group-add $(getent group render | cut -d: -f3) rocm/pytorch",
        ["argv.group-names warn 2"],
        ["stat"],
    ),
    ("docker run --gpus all rocm/pytorch", ["argv.gpus-flag fail 1"], ["--device=/dev/kfd"]),
    (
        "docker run --device /dev/fdk --device /dev/dri rocm/pytorch",
        ["argv.device-exists fail 1"],
        ["write `--device=/dev/kfd` in place of `--device=/dev/fdk`"],
    ),
    ("docker run --device=/dev/kfd rocm/pytorch", ["argv.device-missing fail 1"], ["--device=/dev/dri"]),
    ("docker run rocm/pytorch", ["argv.device-missing warn 1"], []),
    ("docker run -v /dev/kfd:/dev/kfd rocm/pytorch", ["argv.device-mounted fail 1"], ["--device=/dev/kfd"]),
    ("docker run --mount type=bind,src=/dev,dst=/dev rocm/pytorch", ["argv.device-mounted fail 1"], []),
    ("docker run --privileged rocm/pytorch", ["argv.privileged warn 1"], ["remove `--privileged`"]),
    (f"docker run {GPU} --security-opt seccomp=unconfined rocm/pytorch", ["argv.seccomp info 1"], []),
    (
        "docker run —device=/dev/kfd –device=/dev/dri rocm/pytorch",
        ["argv.image-word fail 1"],
        ["write `--device=/dev/kfd`"],
    ),
    (
        f"docker run {GPU} seccomp=unconfined rocm/pytorch",
        ["argv.image-word fail 1"],
        ["--security-opt seccomp=unconfined"],
    ),
    (f"docker run {GPU} --ipc host --shm-size 8g rocm/pytorch", ["argv.shm info 1"], ["without `--ipc=host`"]),
    (f"docker run {GPU} --runtime=nvidia rocm/pytorch", ["argv.runtime fail 1"], []),
    (f"docker run {GPU} -e NVIDIA_VISIBLE_DEVICES=all rocm/pytorch", ["argv.nvidia-env warn 1"], []),
    (
        f"docker run {GPU} -e HSA_OVERRIDE_GFX_VERSION=\"'10.3.0'\" rocm/pytorch",
        ["env.override-format fail 1"],
        ["write `HSA_OVERRIDE_GFX_VERSION=10.3.0`"],
    ),
    (f"docker run {GPU} -e HF_TOKEN=hf_abcdef rocm/pytorch", ["argv.secret warn 1"], ["-e HF_TOKEN"]),
    (f"docker run {GPU} -v /opt/rocm:/opt/rocm rocm/pytorch", ["argv.host-rocm warn 1"], []),
    (f"docker run {GPU} --user 1000:1000 rocm/pytorch", ["argv.user-groups warn 1"], []),
    (f"docker run {GPU} --devices /dev/fuse rocm/pytorch", ["argv.unknown-flag fail 1"], ["`--device`"]),
    (f"docker run {GPU} --group_add 44 rocm/pytorch", ["argv.unknown-flag fail 1"], ["`--group-add`"]),
    (f"docker run {GPU} --gidmap 0:1:2 rocm/pytorch", ["argv.unknown-flag fail 1"], ["podman"]),
    (f"docker run {GPU} -privileged rocm/pytorch", ["argv.unknown-flag fail 1"], ["`--privileged`"]),
    ("docker run -it --device", ["argv.readable fail 1"], ["names no image"]),
    (f"docker run {GPU} --name rocm/pytorch", ["argv.readable fail 1"], ["takes the last word"]),
    ("docker ps", ["argv.readable fail 1"], ["no `docker run`"]),
    ("docker run 'x", ["argv.readable fail 1"], ["never closed"]),
    ("docker run $(x", ["argv.readable fail 1"], ["never closed"]),
    ("", ["argv.readable fail 1"], []),
    (
        f"docker run {GPU} -e ROCR_VISIBLE_DEVICES=0 -e HIP_VISIBLE_DEVICES=1 rocm/pytorch",
        ["gpu.visible-env fail 1", "argv.device-subset info 1"],
        [],
    ),
    (
        f"docker run {GPU} -e 'PYTORCH_ROCM_ARCH=\"gfx90a\"' rocm/pytorch",
        ["argv.env-quotes warn 1"],
        ["PYTORCH_ROCM_ARCH=gfx90a"],
    ),
]


@pytest.mark.parametrize(("text", "found", "words"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_found(text: str, found: list[str], words: list[str]) -> None:
    findings = lint("argv", text)
    assert sorted(told(findings)) == sorted(found)
    said = " ".join(f"{one.evidence} {one.cause} {one.fix}" for one in findings)
    assert [word for word in words if word not in said] == []


def test_every_lint_has_a_fault_that_it_finds() -> None:
    shown = {one.split()[0] for _, found, _ in FAULTS for one in found}
    elsewhere = {
        "argv.group-ids",
        "argv.variables",
        "argv.rootless-groups",
    }  # needs a host; tells under the ids of the variables' own checks
    assert ids("argv") <= shown | elsewhere


@pytest.mark.parametrize(
    "text",
    [
        "docker run -it --rm --device /dev/kfd --device /dev/dri IMAGE".replace("IMAGE", "rocm/pytorch:rocm7.2"),
        f"docker run -d {GPU} --group-add=992 --ipc=host vllm/vllm-openai-rocm:v0.20 --model x --device cuda --host ::",
        f"podman run --rm {GPU} --group-add=keep-groups --security-opt=label=disable rocm/pytorch rocminfo",
        "docker run --rm --device amd.com/gpu=all rocm/pytorch",
        "docker run --runtime=amd -e AMD_VISIBLE_DEVICES=0-3 rocm/pytorch",
        f"docker run {GPU} --group-add=$(stat -c %g /dev/kfd) -e HF_TOKEN -e MAX_TOKENS=9 r sh -c 'docker run --rm x'",
        "docker run --rm -v /var/run/docker.sock:/var/run/docker.sock docker:cli docker run --privileged x",
        """docker run -it --device /dev/dxg -v /usr/lib/wsl/lib/libdxcore.so:/usr/lib/libdxcore.so:ro \\
        -v /opt/rocm/lib/librocdxg.so:/usr/lib/librocdxg.so:ro --shm-size 8g rocm/pytorch:latest""",
        "docker run --rm python:3.12 python -m pytest -v -p no:cacheprovider -e x",
    ],
)
def test_a_healthy_line_has_no_finding(text: str) -> None:
    assert lint("argv", text) == []


def test_numbers_come_from_the_host() -> None:
    [finding] = lint("argv", f"docker run {GPU} --group-add render rocm/pytorch", where=ONE)
    assert finding.fix == "write `--group-add=992` in place of `--group-add=render`"
    [finding] = lint("argv", f"docker run {GPU} --group-add 109 --user 1000:1000 rocm/pytorch", where=ONE)
    assert (finding.check, finding.fix) == ("argv.group-ids", "write `--group-add=992`")


def test_a_rootless_engine_counts_for_itself() -> None:
    line = f"podman run {GPU} --group-add 992 rocm/pytorch"
    crun = EngineFacts("podman", rootless=True, runtime="crun")
    [finding] = lint("argv", line, where=ONE, engine=crun)
    assert (finding.check, finding.verdict) == ("argv.rootless-groups", "fail")
    assert finding.fix == "write `--group-add=keep-groups` in place of `--group-add=992`"
    [finding] = lint("argv", line, where=ONE, engine=crun._replace(runtime="runc"))
    assert "rocenv plan --engine podman --rootless" in str(finding.fix)
    assert lint("argv", line, where=ONE, engine=crun._replace(rootless=False)) == []


def test_no_value_of_a_secret_is_told() -> None:
    [finding] = lint("argv", f"docker run {GPU} -e HF_TOKEN=hf_geheim rocm/pytorch")
    assert "geheim" not in f"{finding}"


def test_flags_take_a_value_or_none() -> None:
    for engine in ("docker", "podman"):
        assert not SWITCHES[engine] & VALUES[engine]


@given(st.text(max_size=200))
def test_no_text_breaks_the_shells_words(text: str) -> None:
    try:
        found = commands(text, "argv")
    except UsageError:
        return
    assert all(line >= 1 for words in found for _, line in words)


@given(
    st.lists(
        st.sampled_from(["docker", "run", "--device", "-it", "-e", "$(", ")", "'", '"', "\\", "\n", "x", "--", "="]),
        max_size=20,
    )
)
def test_no_line_breaks_the_lints(words: list[str]) -> None:
    lint("argv", " ".join(words))

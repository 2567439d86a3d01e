"""Lints of compose files: each fault is found in its line with the edit that mends it; healthy files have none."""

from __future__ import annotations

import pytest
from checks.linted import HOST, ONE, ids, lint, told

from rocenv.model.host import Host
from rocenv.model.plan import EngineFacts


def service(*lines: str) -> str:
    """A service with what it needs, and these lines more, which begin at line 5."""
    head = ["services:", "  app:", "    image: rocm/pytorch:rocm7.2", "    devices: [/dev/kfd, /dev/dri]"]
    return "\n".join([*head, *(f"    {line}" for line in lines), ""])


# (lines of the service, what is found, words of the cause and the fix)
FAULTS: list[tuple[list[str], list[str], list[str]]] = [
    (["group_add: [render]"], ["compose.group-names fail 5"], ["Unable to find group render", "stat -c %g"]),
    (["group_add:", "  - video"], ["compose.group-names warn 6"], ["another number"]),
    (["group_add: [keep-groups, '44']"], ["compose.group-names fail 5"], ["leave `44` away"]),
    (["group_add: ['']"], ["compose.group-names fail 5"], ["no group is named"]),
    (
        ["devices: [/dev/fdk, /dev/dri]"],
        ["compose.device-exists fail 5"],
        ["did you mean `/dev/kfd`", "write `/dev/kfd` in place of `/dev/fdk`"],
    ),
    (["devices: [/dev/kfd, /dev/dri/renderd128]"], ["compose.device-exists fail 5"], ["/dev/dri/renderD128"]),
    (["devices: [/dev/kfd, /dev/renderD128]"], ["compose.device-exists fail 5"], ["/dev/dri/renderD128"]),
    (["devices: [/dev/kfd, dev/dri]"], ["compose.device-exists fail 5"], ["`/dev/dri`"]),
    (["devices: [nvidia.com/gpu=all]"], ["compose.device-exists fail 5"], ["amd.com/gpu=all"]),
    (["devices: [/dev/kfd]"], ["compose.device-missing fail 5"], ["/dev/dri"]),
    (["devices: [/dev/dri]"], ["compose.device-missing fail 5"], ["devices: [/dev/kfd]"]),
    (["devices: []"], ["compose.device-missing warn 3"], ["CPU"]),
    (["devices: []", "extends: {file: base.yaml, service: gpu}"], [], []),
    (
        ["devices: []", "volumes: [/dev/kfd:/dev/kfd]"],
        ["compose.device-mounted fail 6"],
        ["EPERM", "devices: [/dev/kfd]"],
    ),
    (["devices: [/dev/kfd, /dev/dri, /dev/dri/renderD128]"], ["compose.device-subset info 5"], ["every GPU"]),
    (["devices: [/dev/kfd, /dev/dri/card0, /dev/dri/renderD128]"], ["compose.device-subset info 5"], ["displays"]),
    (["environment: {HIP_VISIBLE_DEVICES: '0'}"], ["compose.device-subset info 4"], ["no isolation"]),
    (["gpus: all"], ["compose.gpus-flag fail 5"], ["28.3", "devices: [/dev/kfd, /dev/dri]"]),
    (["runtime: nvidia"], ["compose.runtime fail 5"], ["NVIDIA"]),
    (["privileged: true"], ["compose.privileged warn 5"], ["remove `privileged: true`"]),
    (["security_opt:", "  - seccomp:unconfined"], ["compose.seccomp info 6"], ["SYS_NICE"]),
    (["security_opt: [seccomp=unconfined]"], ["compose.seccomp info 5"], []),
    (["ipc: host", "shm_size: 16g"], ["compose.shm info 6"], ["without `ipc: host`"]),
    (["devices: [/dev/kfd, /dev/dri/renderD128, /dev/dri/renderD129]"], ["compose.shm warn 3"], ["shm_size: 16g"]),
    (["volumes: ['/opt/rocm:/opt/rocm:ro']"], ["compose.host-rocm warn 5"], ["remove the mount"]),
    (["user: '568:568'"], ["compose.user-groups warn 5"], ["not root"]),
    (
        ["environment:", '  - HSA_OVERRIDE_GFX_VERSION="10.3.0"'],
        ["env.override-format fail 6"],
        ["quotes", "write `HSA_OVERRIDE_GFX_VERSION=10.3.0`"],
    ),
    (
        ["environment: {HSA_OVERRIDE_GFX_VERSION: 9.0.a}"],
        ["env.override-format fail 5"],
        ['HSA_OVERRIDE_GFX_VERSION: "9.0.10"'],
    ),
    (["environment: {HSA_OVERRIDE_GFX_VERSION_1: gfx1030}"], ["env.override-format fail 5"], ["10.3.0"]),
    (["environment: [HSA_OVERRIDE_GFX_VERSION=10.3]"], ["env.override-format fail 5"], ["three"]),
    (
        ["environment: [ROCR_VISIBLE_DEVICES=1, HIP_VISIBLE_DEVICES=1]"],
        ["gpu.visible-env fail 5", "compose.device-subset info 4"],
        ["there is no 1"],
    ),
    (
        ["environment: [ROCR_VISIBLE_DEVICES=1, CUDA_VISIBLE_DEVICES=0]"],
        ["gpu.visible-env warn 5", "compose.device-subset info 4"],
        ["remove `CUDA_VISIBLE_DEVICES`"],
    ),
    (
        ["environment: ['HIP_VISIBLE_DEVICES=\"0\"']"],
        ["compose.env-quotes warn 5", "compose.device-subset info 4"],
        ["part of the value"],
    ),
    (["environment: {NVIDIA_VISIBLE_DEVICES: all}"], ["compose.nvidia-env warn 5"], ["NVIDIA's runtime"]),
    (["environment: {AMD_VISIBLE_DEVICES: all}"], ["compose.nvidia-env warn 5"], ["`amd`"]),
    (["environment: {HF_TOKEN: hf_abc}"], ["compose.secret warn 5"], ["without a value"]),
    (["environment: {HSA_ENABLE_SDMA: off}"], ["compose.keys fail 5"], ['"off"']),
    (["environment:", "  A: [1]"], ["compose.keys fail 6"], ["one value"]),
    (["group-add: ['992']"], ["compose.keys fail 5"], ["did you mean `group_add`"]),
    (["shm-size: 8g"], ["compose.keys fail 5"], ["`shm_size`"]),
    (["enviroment: {A: '1'}"], ["compose.keys fail 5"], ["`environment`"]),
    (["cap_add: SYS_PTRACE"], ["compose.keys fail 5"], ["cap_add: [SYS_PTRACE]"]),
    (["group_add: {video: 44}"], ["compose.keys fail 5"], ["list"]),
    (
        [
            "deploy:",
            "  resources:",
            "    reservations:",
            "      devices:",
            "        - driver: rocm",
            "          capabilities: [gpu]",
        ],
        ["compose.gpu-driver fail 9"],
        ['could not select device driver "rocm"', "devices: [/dev/kfd, /dev/dri]"],
    ),
    (
        ["deploy: {resources: {reservations: {devices: [{capabilities: [gpu]}]}}}"],
        ["compose.gpu-driver fail 5"],
        ["without naming"],
    ),
]


@pytest.mark.parametrize(("lines", "found", "words"), FAULTS, ids=range(len(FAULTS)))
def test_a_fault_is_found_in_its_line(lines: list[str], found: list[str], words: list[str]) -> None:
    text = service(*lines)
    if lines[0].startswith("devices:"):
        text = text.replace("    devices: [/dev/kfd, /dev/dri]\n", "    # none\n", 1)
    findings = lint("compose", text)
    assert sorted(told(findings)) == sorted(found)
    said = " ".join(f"{one.evidence} {one.cause} {one.fix}" for one in findings)
    assert [word for word in words if word not in said] == []


def test_every_lint_has_a_fault_that_it_finds() -> None:
    shown = {one.split()[0] for _, found, _ in FAULTS for one in found}
    elsewhere = {
        "compose.group-ids",
        "compose.rootless-groups",
        "compose.readable",
        "compose.variables",
    }  # in tests of their own
    assert ids("compose") <= shown | elsewhere


HEALTHY = {
    "as-on-amds-pages": """
# https://rocm.docs.amd.com
services:
  ollama:
    image: ollama/ollama:rocm
    devices:
      - /dev/kfd
      - /dev/dri
    group_add: ["44", "992"]
    cap_add: [SYS_PTRACE]
    ipc: host
    ports: ["11434:11434"]
    volumes:
      - ollama:/root/.ollama
    environment:
      OLLAMA_KEEP_ALIVE: 24h
      HSA_OVERRIDE_GFX_VERSION: 11.0.0
    restart: unless-stopped
volumes:
  ollama:
""",
    "with-anchors": """
x-gpu: &gpu
  devices: ["/dev/kfd:/dev/kfd", "/dev/dri/renderD128:/dev/dri/renderD128"]
  group_add: ["${RENDER_GID:-992}"]
  shm_size: 16gb
services:
  a:
    <<: *gpu
    image: ${REGISTRY}/rocm/vllm:${TAG:-latest}
    environment: &env
      - HF_TOKEN
      - HF_HOME=/cache
      - TOKENIZERS_PARALLELISM=false
  b:
    <<: *gpu
    image: rocm/pytorch:rocm7.2
    environment: *env
    command: ["python", "train.py", "--device", "cuda"]
""",
    "cdi": """
services:
  a:
    image: rocm/pytorch
    devices: ["amd.com/gpu=0"]
  b:
    image: rocm/pytorch
    deploy:
      resources:
        reservations:
          devices: [{driver: cdi, device_ids: ["amd.com/gpu=all"], capabilities: [gpu]}]
  c:
    image: rocm/pytorch
    runtime: amd
    environment: {AMD_VISIBLE_DEVICES: "0,1"}
""",
    "mounted-with-a-rule": """
services:
  a:
    image: example/ollama-rocm:1
    devices: [/dev/kfd]
    device_cgroup_rules: ['c 226:* rmw']
    volumes: [/dev/dri:/dev/dri]
""",
    "no-gpu-at-all": """
services:
  db:
    image: postgres:17
    user: "999"
    environment: {POSTGRES_PASSWORD_FILE: /run/secrets/pw, DEBUG: "true"}
    volumes: ["db:/var/lib/postgresql/data"]
    secrets: [pw]
    networks: [back]
    healthcheck: {test: ["CMD", "pg_isready"]}
  media:
    image: jellyfin/jellyfin
    devices: ["/dev/dri/renderD128:/dev/dri/renderD128", /dev/snd, /dev/video0, /dev/net/tun]
    group_add: ["992"]
networks: {back: {}}
volumes: {db: {}}
secrets: {pw: {file: ./pw}}
""",
    "overlay": """
services:
  app:
    image: !reset null
    devices: !override
      - /dev/kfd
      - /dev/dri/by-path/pci-0000:03:00.0-render:/dev/dri/renderD128
    group_add: ["992"]
    shm_size: 8g
  none:
""",
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("where", [None, ONE], ids=["anywhere", "here"])
def test_a_healthy_file_has_no_finding(name: str, where: Host | None) -> None:
    assert lint("compose", HEALTHY[name], where=where) == []


def test_a_host_gives_numbers_for_names() -> None:
    [video, render] = lint("compose", service("group_add: [video, render]"), where=ONE)
    assert (video.verdict, render.verdict) == ("warn", "fail")
    assert (video.fix, render.fix) == ('write `"985"` in place of `video`', 'write `"992"` in place of `render`')
    assert "which is 992 on this host" in render.evidence


@pytest.mark.parametrize(
    ("devices", "found", "fix"),
    [
        (
            "/dev/kfd, /dev/dri/renderD130",
            ["compose.device-exists fail 4"],
            "`/dev/dri/renderD128` in place of `/dev/dri/renderD130`",
        ),
        (
            "/dev/kfd, /dev/dri/card3, /dev/dri/renderD128",
            ["compose.device-exists fail 4", "compose.device-subset info 4"],
            "rocenv detect",
        ),
        ("/dev/kfd, /dev/dri/renderD129", [], ""),
    ],
)
def test_a_host_tells_which_nodes_are_missing(devices: str, found: list[str], fix: str) -> None:
    findings = lint("compose", service("group_add: ['992']").replace("/dev/kfd, /dev/dri", devices), where=HOST)
    assert told(findings) == found
    assert not fix or fix in str(findings[0].fix)


def test_a_missing_kfd_is_the_drivers() -> None:
    where = ONE._replace(devices=tuple(one for one in ONE.devices if one.path != "/dev/kfd"))
    assert "modprobe amdgpu" in str(lint("compose", service(), where=where)[0].fix)


def test_on_wsl_the_device_is_dxg() -> None:
    where = ONE._replace(environment="wsl2", gpus=(), devices=())
    findings = lint("compose", service(), where=where)
    assert told(findings) == ["compose.device-exists fail 4"] * 2
    assert "write `/dev/dxg` in place of `/dev/kfd`" in str(findings[0].fix)


def test_a_host_without_gpus_says_nothing_of_a_file_for_another() -> None:
    assert lint("compose", service(), where=ONE._replace(gpus=(), devices=())) == []


def test_numbers_of_another_host_are_seen() -> None:
    [finding] = lint("compose", service("group_add: ['109']"), where=ONE)
    assert (finding.check, finding.verdict) == ("compose.group-ids", "warn")
    assert 'group_add: ["992"]' in str(finding.fix)


def test_several_gpus_want_shared_memory() -> None:
    assert told(lint("compose", service("group_add: ['992']"), where=HOST)) == ["compose.shm warn 3"]
    assert lint("compose", service("group_add: ['992']", "shm_size: 8g"), where=HOST) == []
    assert lint("compose", service("group_add: ['992']", "volumes: [/dev/shm:/dev/shm]"), where=HOST) == []


def test_an_integrated_gpu_in_the_folder_is_told_of() -> None:
    mixed = HOST._replace(gpus=(HOST.gpus[0], HOST.gpus[1]._replace(kind="apu", gfx="gfx1036")))
    findings = lint("compose", service("group_add: ['992']", "shm_size: 8g"), where=mixed)
    assert told(findings) == ["compose.device-subset info 4"]
    assert "gfx1036" in findings[0].evidence
    assert "renderD128" in str(findings[0].cause)


def test_an_override_is_held_against_the_host() -> None:
    text = service("group_add: ['992']", "environment: {HSA_OVERRIDE_GFX_VERSION: 9.4.2}")
    assert told(lint("compose", text, where=ONE)) == ["env.override-noop info 6"]
    mixed = HOST._replace(gpus=(HOST.gpus[0], HOST.gpus[1]._replace(gfx="gfx1100")))
    found = lint("compose", text.replace("image:", "shm_size: 8g\n    image:"), where=mixed)
    assert told(found) == ["env.override-noop warn 7"]


def test_an_engine_that_knows_gpus_is_believed() -> None:
    text = service("gpus: all").replace("    devices: [/dev/kfd, /dev/dri]\n", "")
    new = EngineFacts("docker", server_version="28.3.0", runtimes=("amd", "runc"))
    assert told(lint("compose", text, engine=new)) == ["compose.gpus-flag info 4"]
    assert told(lint("compose", text, engine=new._replace(runtimes=("runc",)))) == ["compose.gpus-flag fail 4"]
    assert told(lint("compose", text, engine=new._replace(server_version="29.3.1", runtimes=()))) == [
        "compose.gpus-flag info 4"
    ]
    assert told(lint("compose", text, engine=EngineFacts("podman", server_version="5.4.0"))) == [
        "compose.gpus-flag fail 4"
    ]


def test_amds_runtime_must_be_registered() -> None:
    text = service("runtime: amd")
    assert lint("compose", text) == []
    [finding] = lint(
        "compose", text, engine=EngineFacts("docker", server_version="28.2", runtimes=("io.containerd.runc.v2", "runc"))
    )
    assert (finding.check, finding.verdict) == ("compose.runtime", "fail")
    assert "amd-ctk runtime configure" in str(finding.fix)


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("services:\n\ta: {}\n", 2, "YAML"),
        ("services:\n  a: {image: x\n", 3, "YAML"),
        ("services:\n  a: {image: x}\n  a: {image: y}\n", 3, "second time"),
        ("services: [a]\n", 1, "no mapping"),
        ("services:\n  a: text\n", 2, "no mapping"),
        ("version: '3'\n", 1, "no `services`"),
        ("- a\n", None, "mapping"),
        ("services: {a: {image: *x}}\n", 1, "stands for nothing"),
        ("services: {a: {image: !!python/object:os.system x}}\n", 1, "tag"),
        (
            "a: &a [" + "x," * 100 + "]\nb: &b [" + "*a," * 100 + "]\nc: [" + "*b," * 100 + "]\nservices: {}\n",
            2,
            "unfolds",
        ),
        ("services: " + "[" * 100 + "]" * 100 + "\n", 1, "deep"),
        ("x" * ((1 << 20) + 1), None, "bytes"),
        ("\x00\x01", None, "YAML"),
        ("services: {a: {image: x}}\n---\nservices: {}\n", 2, "second document"),
    ],
    ids=range(14),
)
def test_what_is_no_compose_file_is_a_finding_with_its_line(text: str, line: int | None, word: str) -> None:
    [finding] = lint("compose", text)
    assert (finding.check, finding.verdict) == ("compose.readable", "fail")
    assert word in f"{finding.evidence} {finding.cause}"
    assert line is None or finding.evidence.startswith(f"compose.yaml:{line}")
    assert finding.fix


def test_a_merge_is_followed_and_its_place_told() -> None:
    text = "x-a: &a\n  group_add: [render]\nservices:\n  s:\n    <<: [*a]\n    image: x\n"
    assert told(lint("compose", text)) == ["compose.group-names fail 2"]

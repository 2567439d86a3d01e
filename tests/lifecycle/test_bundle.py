"""A bundle for a bug report holds nothing of people, hosts and secrets, and gives its engine back."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from hosts import builder

from rocenv.cli.app import run
from rocenv.lifecycle.bundle import FILE, Bundle, read_bundle, save_bundle, scrubbed
from rocenv.model.health import CdiNode, EngineHealth, OwnContainer, Store
from rocenv.model.plan import EngineFacts

SECRETS = ("hunter2", "alice", "s3cr3t-token", "gpu-box-17", "203.0.113.7", "alice@example.org")
ENGINE = EngineFacts("docker", rootless=True, endpoint="ssh://alice:hunter2@203.0.113.7", gid_map=((0, 1000, 1),))
HEALTH = EngineHealth(
    "docker", name="gpu-box-17", said="cannot reach alice@example.org", stores=(Store("/home/alice/x", "docker", 9),),
    containers=(OwnContainer("rocenv-secretproject-pytorch", running=True, devices=(CdiNode("/dev/kfd", 1, 2),)),),
)  # fmt: skip


def everything(file: Path) -> str:
    """Names and contents of all that is in an archive, as one text."""
    with tarfile.open(file) as members:
        parts = []
        for member in members:
            stream = members.extractfile(member) if member.isreg() else None
            parts.append(f"{member.name} {member.linkname} {stream.read() if stream else b''!r}")
    return "\n".join(parts)


def test_names_addresses_and_logins_are_left_out(tmp_path: Path) -> None:
    host = str(builder.build(builder.describe("rx7900xtx"), tmp_path / "host"))
    file = tmp_path / "b.tar.gz"
    save_bundle(str(file), host, Bundle(ENGINE, HEALTH, {"HSA_X": "1"}), {"findings": ["as alice@example.org said"]})
    text = everything(file)
    for secret in ("hunter2", "203.0.113.7", "gpu-box-17", "alice", "secretproject"):
        assert secret not in text, secret


def test_what_was_saved_comes_back(tmp_path: Path) -> None:
    host = str(builder.build(builder.describe("rx7900xtx"), tmp_path / "host"))
    file = tmp_path / "b.tar.gz"
    facts = EngineFacts("podman", rootless=True, runtime="runc", gid_map=((0, 1000, 1), (1, 2, 3)), security=("a", "b"))
    health = EngineHealth("podman", free_bytes=7, stores=(Store("/var/lib/x", "podman"),), containers=())
    save_bundle(str(file), host, Bundle(facts, health, {"HSA_X": "1"}), {})
    with tarfile.open(file) as members:
        stream = members.extractfile(f"b/root/captures/{FILE}")
        assert stream is not None
        assert read_bundle(stream.read()) == Bundle(facts, health, {"HSA_X": "1"})


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"engine": {"rootless": 1}}', b'{"engine_health": [1]}'])
def test_a_broken_bundle_is_a_capture_alone(data: bytes) -> None:
    found = read_bundle(data)
    assert found is None or found.engine is None


def test_secrets_of_this_machine_stay_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no engine
    monkeypatch.setenv("HF_TOKEN", "s3cr3t-token")
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("HSA_TOOLS_LIB", "/home/alice/lib.so")
    monkeypatch.delenv("ROCENV_HOST", raising=False)
    file = tmp_path / "b.tar.gz"
    run(["doctor", "--save", str(file)])
    text = everything(file)
    for secret in SECRETS:
        assert secret not in text, secret
    assert "ROCR_VISIBLE_DEVICES" in text
    command_line = Path("/proc/cmdline").read_text().split()
    for word in command_line:
        if word.startswith(("root=", "ip=", "init=")):
            assert word not in text, word


def test_words_within_words_are_no_names() -> None:
    assert scrubbed("realice alice alice-x", {"alice": "user"}) == "realice user alice-x"
    assert scrubbed("version 1.2.3.4.5 at 127.0.0.1", {}).endswith("127.0.0.1")
    assert json.loads(scrubbed(json.dumps({"a": "/home/bob/x"}), {})) == {"a": "/home/user/x"}


@pytest.mark.parametrize("name", ["null", "true", "version", "engine"])
def test_a_user_may_have_a_word_of_json_as_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SUDO_USER", name)
    host = str(builder.build(builder.describe("rx7900xtx"), tmp_path / "host"))
    file = tmp_path / "b.tar.gz"
    health = EngineHealth("docker", free_bytes=None, said=f"{name} may not")
    save_bundle(str(file), host, Bundle(ENGINE, health, {"HSA_X": "1"}), {})
    with tarfile.open(file) as members:
        stream = members.extractfile(f"b/root/captures/{FILE}")
        assert stream is not None
        back = read_bundle(stream.read())
    assert back is not None
    assert back.health == health._replace(said="user may not")

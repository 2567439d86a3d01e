"""`rocenv catalog`: whatever a name means, with sources and dates. Expected values are public facts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from catalog.conftest import Places, forget, places

from rocenv.catalog import table
from rocenv.cli import app

__all__ = ["places"]  # the fixture
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: Places) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(["catalog", *words])
        return (status, *capfd.readouterr())

    return run


def shown(run: Run, *words: str) -> list[dict[str, Any]]:
    status, out, err = run("show", *words, "--json")
    assert status == 0, err
    answer = json.loads(out)
    assert (answer["version"], answer["status"]) == (1, "ok")
    found: list[dict[str, Any]] = answer["found"]
    for one in found:
        assert one["sources"], one["name"]
        assert answer["catalog"]
    return found


# libdrm's amdgpu.ids: 744C, C8 is the RX 7900 XTX, 74A1, 00 the MI300X; KFD: gfx1100 and gfx942.
@pytest.mark.parametrize(
    ("words", "name", "pci", "gfx"),
    [
        (["7900XTX"], "AMD Radeon RX 7900 XTX", "1002:744c", "gfx1100"),
        (["7900 xtx"], "AMD Radeon RX 7900 XTX", "1002:744c", "gfx1100"),
        (["AMD", "Radeon", "RX", "7900", "XTX"], "AMD Radeon RX 7900 XTX", "1002:744c", "gfx1100"),
        (["Instinct MI300X"], "AMD Instinct MI300X", "1002:74a1", "gfx942"),
        (["mi300x"], "AMD Instinct MI300X", "1002:74a1", "gfx942"),
        (["W7900"], "AMD Radeon Pro W7900", "1002:7448", "gfx1100"),
        (["8060S"], "AMD Radeon 8060S Graphics", "1002:1586", "gfx1151"),
    ],
)
def test_a_gpu_by_any_of_its_names(run: Run, words: list[str], name: str, pci: str, gfx: str) -> None:
    found = shown(run, *words)
    assert (found[0]["kind"], found[0]["name"]) == ("gpu", name)
    assert (found[0]["facts"]["pci_id"], found[0]["facts"]["target"]) == (pci, gfx)
    assert (found[-1]["kind"], found[-1]["name"]) == ("target", gfx)
    assert "amdgpu.ids" in found[0]["read_in"]
    assert found[0]["read_in"]["amdgpu.ids"]["date"]


@pytest.mark.parametrize("word", ["1002:744c", "744c", "0x744C", "1002,744c"])
def test_a_pci_id(run: Run, word: str) -> None:
    device, target = shown(run, word)
    assert device["facts"]["products"]["c8"] == "AMD Radeon RX 7900 XTX"
    assert target["name"] == "gfx1100"


def test_a_processor_and_a_code_name(run: Run) -> None:
    assert shown(run, "Ryzen AI 9 HX 370")[-1]["name"] == "gfx1150"
    assert shown(run, "Strix Halo")[0]["facts"]["pci_id"] == "1002:1586"


def test_a_target(run: Run) -> None:
    (found,) = shown(run, "GFX942")
    assert found["facts"]["official_since"] == "6.0.0"
    assert found["facts"]["generic_target"] == "gfx9-4-generic"
    assert "rocm/primus" in found["facts"]["image_families"]
    (halo,) = shown(run, "gfx1151")
    assert "firmware-20251125-gfx1151" in halo["facts"]["hazards"]
    assert halo["read_in"]["mk"]["hearsay"]  # of its override


def test_a_target_as_programs_print_it(run: Run) -> None:
    assert shown(run, "gfx90a:sramecc+:xnack-")[0]["name"] == "gfx90a"


@pytest.mark.parametrize(("word", "kind"), [("gfx11-generic", "generic target"), ("gfx110X-dgpu", "packages")])
def test_a_family_of_targets(run: Run, word: str, kind: str) -> None:
    (found,) = shown(run, word)
    assert found["kind"] == kind
    assert "gfx1100" in json.dumps(found["facts"])


# AMD's list of releases; names of packages on repo.radeon.com for HIP.
@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("7.2.4", ["ROCm 7.2.4"]),
        ("rocm7.2.4", ["ROCm 7.2.4"]),
        ("ROCm 10.0", ["ROCm 10.0.0"]),
        ("7.14", ["ROCm 7.14.0"]),
        ("6.3", ["ROCm 6.3.0"]),
        ("7.1.25424", ["ROCm 7.1.0"]),
        ("hip 6.4.43484-123eb5128", ["ROCm 6.4.2", "ROCm 6.4.3"]),
    ],
)
def test_a_release_by_its_own_number_and_hip_s(run: Run, word: str, names: list[str]) -> None:
    assert [one["name"] for one in shown(run, word) if one["kind"] == "release"] == names


def test_what_is_said_of_a_release(run: Run) -> None:
    (found,) = shown(run, "10.1.0")
    facts = found["facts"]
    assert (facts["date"], facts["stream"], facts["hip"]) == ("2026-10-05", "core-sdk", "7.16")
    assert "30.30" in facts["drivers_listed"]
    assert "2.14.0" in facts["frameworks"]["pytorch"]
    assert "gfx1153" in facts["targets"]


@pytest.mark.parametrize("word", ["30.30.4", "6.16.13.30300400-2341068.24.04"])
def test_a_driver_by_its_release_and_its_package(run: Run, word: str) -> None:
    (found,) = shown(run, word)
    assert (found["kind"], found["name"]) == ("driver", "amdgpu 30.30.4")
    assert found["facts"]["came_with"] == "7.2.4"
    assert "6.3" in found["facts"]["listed_for"]


@pytest.mark.parametrize("word", ["rocm/primus", "primus", "docker.io/rocm/primus"])
def test_a_family(run: Run, word: str) -> None:
    (found,) = shown(run, word)
    assert (found["kind"], found["name"]) == ("family", "rocm/primus")
    assert any("/opt/venv/bin/python3" in fact and "[primus]" in fact for fact in found["facts"]["facts"])


def test_an_image_by_its_reference(run: Run) -> None:
    (found,) = shown(run, "rocm/sgl-dev:v0.5.18-rocm724-mi35x-20260826")
    assert (found["facts"]["rocm"], found["facts"]["gfx"]) == ("7.2.4", ["gfx950"])
    (newer,) = shown(run, "rocm/pytorch:rocm9.9_ubuntu24.04_py3.12_pytorch_release_3.0.0")
    assert newer["facts"]["rocm"] == "9.9"


def test_a_hazard_and_all(run: Run) -> None:
    (one,) = shown(run, "dkms-on-ryzen")
    assert one["facts"]["fix"]
    assert len(shown(run, "hazards")) == len(table.built_in("hazards")["hazards"])


@pytest.mark.parametrize("word", ["rules", "indexes"])
def test_what_is_said_in_general(run: Run, word: str) -> None:
    assert len(shown(run, word)) > 3


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("gfx943", "gfx942"),
        ("7900XTZ", "Radeon RX 7900 XT"),
        ("rocm/pytorhc", "rocm/pytorch"),
        ("dkms-on-rizen", "dkms-on-ryzen"),
        ("7.2.9", "7.2."),
        ("7900", "AMD Radeon RX 7900 XT"),
        ("RX 7900", "AMD Radeon RX 7900 XT"),
        ("10", "10.1.0"),
        ("vlm", "rocm/vllm"),
        ("strix", "kyuz0/amd-strix-halo-toolboxes"),
    ],
)
def test_a_typo_gets_the_nearest(run: Run, word: str, near: str) -> None:
    status, _, err = run("show", word)
    assert status == 2
    assert "knows nothing of" in err
    assert near in err.partition("hint:")[2]


@pytest.mark.parametrize(
    "word", ["", "   ", "\x1b[31mred", "a" * 100_000, "rocm/pytorch:", "::", "gfx", "0x", "(", "1" * 50]
)
def test_no_name_whatever_crashes(run: Run, word: str) -> None:
    status, out, err = run("show", word)
    assert status == 2
    assert out == ""
    assert "knows nothing" in err
    assert "\x1b" not in err
    assert len(err) < 2000


def test_text_names_each_source_with_its_date(run: Run) -> None:
    status, out, _ = run("show", "7900XTX")
    assert status == 0
    assert "amdgpu.ids: libdrm 2.4.134 data/amdgpu.ids, 2026-10-24" in out
    assert "not verified" in run("show", "gfx1151")[1]


def test_every_name_of_the_list_is_shown(run: Run) -> None:
    names = json.loads(run("list", "--json")[1])
    for kind in ("targets", "releases", "drivers", "families", "hazards"):
        for name in names[kind]:
            assert shown(run, name), name
    from rocenv.catalog import lookup

    assert [name for name in names["products"] if not lookup.found(name)] == []


def test_the_status_tells_each_table_and_what_is_wrong_with_one(run: Run, places: Places) -> None:
    good = places.user / "catalog" / "hazards.json"
    good.write_text(json.dumps({**table.built_in("hazards"), "date": "2027-01-01"}))
    bad = places.system / "catalog" / "releases.json"
    bad.write_text(json.dumps({**table.built_in("releases"), "schema": 7}))
    (places.user / "catalog" / "image.json").write_text("{}")
    status, out, err = run("status", "--json")
    assert status == 0, err
    rows = {(row["table"], row["from"]): row for row in json.loads(out)["tables"]}
    assert rows["hazards", str(good)]["used"] == "yes"
    assert rows["hazards", "rocenv itself"]["used"] == "no"
    assert "schema 7" in rows["releases", str(bad)]["said"]
    assert rows["images", "rocenv itself"]["used"] == "yes"
    assert "no table has this name" in rows["", str(places.user / "catalog" / "image.json")]["said"]
    assert run("status")[0] == 0


@pytest.mark.parametrize("text", ['{"schema": 2, "date": "2027-01-01", "families": {}}', "[" * 100_000, '{"schema": 1'])
def test_a_catalog_that_cannot_be_read_ends_a_plan_in_words(
    run: Run, places: Places, capfd: pytest.CaptureFixture[str], text: str
) -> None:
    path = places.user / "catalog" / "images.json"
    path.write_text(text)
    assert app.run(["plan", "pytorch", "--cpu", "--json"]) == 2
    out, err = capfd.readouterr()
    answer = json.loads(out)
    assert (answer["status"], answer["error"]["kind"]) == ("error", "usage")
    assert str(path) in answer["error"]["message"]
    assert str(path) in err
    assert "Traceback" not in err


def test_the_doctor_tells_of_a_catalog_that_cannot_be_read(
    run: Run, places: Places, capfd: pytest.CaptureFixture[str]
) -> None:
    path = places.user / "catalog" / "images.json"
    path.write_text('{"schema": 2, "date": "2027-01-01"}')
    app.run(["doctor", "--json"])
    out, err = capfd.readouterr()
    assert json.loads(out)["status"] == "ok"
    assert f"warning: `{path}` is a catalog of schema 2" in err
    path.unlink()
    forget()
    app.run(["doctor", "--json"])
    assert "catalog of schema" not in capfd.readouterr().err

"""`rocenv images`: families, what fits a host, what a registry has; from the command line to its answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from catalog.conftest import Places, places
from hosts import builder

from rocenv.catalog import table
from rocenv.cli import app

__all__ = ["places"]  # the fixture
Run = Callable[..., tuple[int, str, str]]
VLLM = "rocm/vllm"


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, places: Places) -> Run:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)

    def run(*words: str) -> tuple[int, str, str]:
        status = app.run(["images", *words])
        return (status, *capfd.readouterr())

    return run


@pytest.fixture
def host(tmp_path: Path) -> Callable[[str], str]:
    def host(name: str) -> str:
        return str(builder.build(builder.describe(name), tmp_path / "hosts" / name))

    return host


def answer(run: Run, *words: str) -> dict[str, Any]:
    status, out, said = run(*words, "--json")
    found: dict[str, Any] = json.loads(out)
    assert (status, found["version"], found["status"]) == (0, 1, "ok"), said
    return found


def marks(found: dict[str, Any]) -> dict[str, Any]:
    return {one["reference"].partition(":")[2]: one for one in found["images"]}


def test_without_a_name_there_is_one_line_for_each_family(run: Run, host: Callable[[str], str]) -> None:
    found = answer(run, "--host", host("rx7900xtx"))
    named = {one["name"]: one for one in found["families"]}
    assert set(named) == set(table.built_in("images")["families"])
    assert found["gpus"] == [{"name": "AMD Radeon RX 7900 XTX", "gfx": "gfx1100"}]
    assert named["rocm/pytorch"]["fitting"] > 0
    assert named["rocm/pytorch"]["best"].startswith("rocm/pytorch:rocm")
    assert named["rocm/primus"]["fitting"] == 0  # gfx942 and gfx950 alone
    assert named["rocm/primus"]["best"] is None
    status, out, _ = run("--host", host("rx7900xtx"))
    assert status == 0
    assert len(out.splitlines()) == len(named) + 3


def test_what_fits_comes_first_and_what_does_not_says_why(run: Run, host: Callable[[str], str]) -> None:
    found = answer(run, VLLM, "--host", host("rx7900xtx"))
    fits = [one["fits"] for one in found["images"]]
    assert fits == sorted(fits, reverse=True)
    assert set(fits) == {True, False}
    by_tag = marks(found)
    assert by_tag["rocm7.14.0_rdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0"]["fits"]
    instinct = by_tag["rocm7.14.0_cdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0"]
    assert "no code for gfx1100" in instinct["why"]
    assert (instinct["rocm"], instinct["system"], instinct["python"]) == ("7.14.0", "Ubuntu 24.04", "3.14")
    assert instinct["frameworks"] == {"pytorch": "2.11.0", "vllm": "0.23.0"}
    assert instinct["gfx"] == ["gfx90a", "gfx942", "gfx950"]
    assert instinct["sources"]["tag"]


def test_the_same_images_on_another_host_are_judged_by_that(run: Run, host: Callable[[str], str]) -> None:
    by_tag = marks(answer(run, VLLM, "--host", host("mi300x-bed")))
    assert by_tag["rocm7.14.0_cdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0"]["fits"]
    assert not by_tag["rocm7.14.0_rdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0"]["fits"]


def test_a_profile_s_constraints_count(run: Run, host: Callable[[str], str], places: Places) -> None:
    (places.user / "profiles").mkdir()
    (places.user / "profiles" / "seven.yaml").write_text('extends: pytorch\nimage:\n  rocm: "7.2"\n')
    found = answer(run, "seven", "--host", host("mi300x-bed"))
    assert found["profile"] == "seven"
    assert {one["rocm"][:3] for one in found["images"] if one["fits"]} == {"7.2"}
    assert found["family"]["name"] == "rocm/pytorch"


def test_the_best_is_what_a_plan_takes(run: Run, host: Callable[[str], str], capfd: pytest.CaptureFixture[str]) -> None:
    best = answer(run, "pytorch", "--host", host("mi300x-bed"))["images"][0]["reference"]
    assert app.run(["plan", "pytorch", "--host", host("mi300x-bed"), "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["image"]["reference"] == best


def test_where_nothing_fits_another_family_is_named(run: Run, host: Callable[[str], str]) -> None:
    """`intel-first` has an MI60 (gfx906), for which AMD's images hold no code."""
    found = answer(run, "pytorch", "--host", host("intel-first"))
    assert not any(one["fits"] for one in found["images"])
    assert found["stand_ins"] == ["mixa3607/pytorch-gfx906"]
    _, out, _ = run("pytorch", "--host", host("intel-first"))
    assert "`rocenv images mixa3607/pytorch-gfx906`" in out
    assert "`rocenv explain pytorch`" in out
    assert answer(run, "rocm/pytorch", "--host", host("mi300x-bed"))["stand_ins"] == []


@pytest.mark.parametrize(("name", "words"), [("no-gpu", "no AMD GPU"), ("wsl2", "WSL2")])
def test_without_a_gpu_all_is_shown_and_nothing_marked(
    run: Run, host: Callable[[str], str], name: str, words: str
) -> None:
    found = answer(run, "rocm/pytorch", "--host", host(name))
    assert {one["fits"] for one in found["images"]} == {None}
    assert words in found["not_judged"]
    status, out, _ = run("rocm/pytorch", "--host", host(name))
    assert status == 0
    assert "what fits is not marked" in out


def test_a_long_list_is_cut_and_says_so(run: Run, host: Callable[[str], str]) -> None:
    _, out, _ = run("rocm/pytorch", "--host", host("mi300x-bed"))
    assert "`--all` shows each" in out
    _, whole, _ = run("rocm/pytorch", "--host", host("mi300x-bed"), "--all")
    assert len(whole.splitlines()) > len(out.splitlines())


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (["pytorh"], "no family and no profile `pytorh`", "`rocenv images pytorch`"),
        (["rocm/pytorc"], "no family and no profile", "`rocenv images rocm/pytorch`"),
        (["zzzzzz"], "no family and no profile", "`rocenv images` lists"),
        (["--remote"], "asks for one family", "rocm/pytorch --remote"),
        (["ollama", "--remote", "--engine", "lxc"], "there is no engine `lxc`", "docker"),
    ],
)
def test_a_wrong_name_gets_the_nearest(run: Run, words: list[str], said: str, hint: str) -> None:
    status, _, err = run(*words)
    assert status == 2
    assert said in err
    assert hint in err


# A registry that speaks the distribution API's list of tags, two a page.


class Registry(ThreadingHTTPServer):
    tags: list[str]


class Pages(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        if asked.path != "/v2/acme/vllm/tags/list":
            self.send_error(404)
            return
        last = parse_qs(asked.query).get("last", [""])[0]
        start = self.server.tags.index(last) + 1 if last else 0
        page = self.server.tags[start : start + 2]
        body = json.dumps({"name": "acme/vllm", "tags": page}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if start + 2 < len(self.server.tags):
            self.send_header("Link", f'</v2/acme/vllm/tags/list?n=2&last={page[-1]}>; rel="next"')
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is said."""


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = Registry(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def lay_family(places: Places, port: int) -> None:
    """A catalog with one family more, whose images are in the test's registry."""
    data = table.built_in("images")
    vllm = data["families"][VLLM]
    data["date"] = "2027-01-01"
    data["families"]["acme/vllm"] = {
        **vllm,
        "registry": f"127.0.0.1:{port}",
        "repositories": {"acme/vllm": {}},
        "tags": ["rocm7.0.0_vllm_0.11.2_20251210", "rocm6.4.1_vllm_0.10.1_20250909"],
    }
    (places.user / "catalog" / "images.json").write_text(json.dumps(data))


def test_a_registry_s_tags_are_held_against_the_catalog(
    run: Run, host: Callable[[str], str], places: Places, registry: Registry
) -> None:
    registry.tags = [
        "rocm7.0.0_vllm_0.11.2_20251210",
        "latest",
        "v0.23.0-cuda",
        "rocm7.0.0_vllm_0.12.0_20260101",
        "rocm7.14.0_rdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0",
    ]
    lay_family(places, registry.server_address[1])
    found = answer(run, "acme/vllm", "--remote", "--host", host("mi300x-bed"))
    said = {tag.rpartition(":")[2]: one["registry"] for tag, one in marks(found).items()}
    assert said == {
        "rocm7.0.0_vllm_0.11.2_20251210": "there",
        "rocm6.4.1_vllm_0.10.1_20250909": "gone",
        "latest": "new",
        "rocm7.0.0_vllm_0.12.0_20260101": "new",
        "rocm7.14.0_rdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0": "new",
    }
    by_tag = {one["reference"].rpartition(":")[2]: one for one in found["images"]}
    assert by_tag["rocm7.0.0_vllm_0.12.0_20260101"]["frameworks"] == {"vllm": "0.12.0"}
    assert not by_tag["rocm7.14.0_rdna_ubuntu24.04_py3.14_pytorch_2.11.0_vllm_0.23.0"]["fits"]
    assert found["remote"] == [{"repository": "acme/vllm", "error": None}]
    assert found["catalog"]["laid_in"].endswith("images.json")


def test_a_registry_that_does_not_answer_is_told_and_the_catalog_shown(
    run: Run, host: Callable[[str], str], places: Places, registry: Registry
) -> None:
    port = registry.server_address[1]
    lay_family(places, port)
    registry.server_close()
    status, out, err = run("acme/vllm", "--remote", "--host", host("mi300x-bed"))
    assert status == 0
    assert f"127.0.0.1:{port}" in err
    assert "the catalog's own are shown" in err
    assert "rocm7.0.0_vllm_0.11.2_20251210" in out

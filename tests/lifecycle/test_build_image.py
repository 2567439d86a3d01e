"""Images really built: what stays in them and what does not, that torch is held, and that one hash is built once."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sysconfig
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bed import images
from bed.demo import ROCENV
from lifecycle.test_build import BUILDKIT

if TYPE_CHECKING:
    from conftest import TestBed

PLANTED = "planted-3f1c9a"
# A small image's own template: it uses what it is given, and keeps a proof of it.
USING_SECRET = """{% extends "rocenv/on-image.Dockerfile.j2" %}
{% block packages %}
RUN --mount=type=secret,id=HF_TOKEN sha256sum < /run/secrets/HF_TOKEN > /proof \\
 && echo "$https_proxy" | sha256sum >> /proof
{% endblock %}
"""
VALUES = ("$(id)", '"; RUN id', "a\\", "${PATH}", "`id`", "# no comment", "é 日本", "'", "a  b", "<<EOF", "\\n")


@pytest.fixture
def home(bed: TestBed) -> Iterator[TestBed]:
    """A project with docker's BuildKit; the images that were built from it are removed."""
    name = f"c{bed.project.parent.name.lower()[-8:]}"
    here = replace(
        bed, project=bed.project.rename(bed.project.with_name(name)), variables={**bed.variables, **BUILDKIT}
    )
    yield here
    built = here.docker("images", "-q", f"--filter=label=rocenv.image.profile={name}").stdout.split()
    if built:
        here.docker("rmi", "-f", *dict.fromkeys(built))


def wish(home: TestBed, text: str) -> None:
    (home.project / "rocenv.yaml").write_text(f"extends: hip\nname: {home.project.name}\n{text}\n")


def template(home: TestBed, text: str) -> None:
    (home.project / "dockerfiles").mkdir()
    (home.project / "dockerfiles" / "on-image.Dockerfile.j2").write_text(text)


def build(home: TestBed, *options: str) -> dict[str, str]:
    done = home.rocenv("build", "--json", *options)
    assert done.returncode == 0, done.stderr
    answer: dict[str, str] = json.loads(done.stdout)
    assert PLANTED not in done.stdout + done.stderr
    return answer


def everything(home: TestBed, reference: str, folder: Path) -> bytes:
    """All bytes of an image: its layers, its configuration, its history."""
    file = folder / "image.tar"
    saved = home.run("docker", "save", "-o", str(file), reference, as_root=True)
    assert saved.returncode == 0, saved.stderr
    history = home.docker("history", "--no-trunc", reference).stdout
    return file.read_bytes() + history.encode()


def test_secrets_and_proxies_are_used_and_stay_out(home: TestBed, small_image: str, tmp_path: Path) -> None:
    wish(home, f"image: {{reference: '{small_image}'}}\nbuild: {{template: on-image, secrets: [HF_TOKEN]}}")
    template(home, USING_SECRET)
    proxy = f"http://{PLANTED}@proxy.example:8080"
    given = replace(home, variables={**home.variables, "HF_TOKEN": PLANTED, "HTTPS_PROXY": proxy})
    reference = build(given)["reference"]
    proof = given.docker("run", "--rm", reference, "cat", "/proof").stdout.split()
    assert proof[0] == hashlib.sha256(PLANTED.encode()).hexdigest()
    assert proof[2] == hashlib.sha256(f"{proxy}\n".encode()).hexdigest()
    assert PLANTED.encode() not in everything(given, reference, tmp_path)

    missing = home.rocenv("build", "--no-cache")
    assert missing.returncode == 2
    assert "the secret `HF_TOKEN` is not set" in missing.stderr


def test_whoever_runs_it_can_write_where_work_is_done(home: TestBed, small_image: str) -> None:
    wish(home, f"image: {{reference: '{small_image}'}}\nbuild: {{template: on-image}}")
    reference = build(home)["reference"]
    script = 'touch "$HOME/a" /workspace/a /var/cache/rocenv/a && id -u && pwd'
    for user, uid in ((), "1000"), (("--user=4321:4321",), "4321"):
        done = home.docker("run", "--rm", *user, reference, "sh", "-c", script)
        assert done.stdout.split() == [uid, "/workspace"], done.stderr


def test_one_hash_is_built_once_however_many_ask(home: TestBed, small_image: str) -> None:
    wish(
        home,
        f"image: {{reference: '{small_image}'}}\nbuild: {{template: on-image, args: {{FRESH: '{home.project.name}'}}}}",
    )
    argv = home.argv(str(ROCENV), "build")
    running = [
        subprocess.Popen(argv, env=home.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(6)
    ]
    said = [one.communicate(timeout=120) for one in running]
    assert [one.returncode for one in running] == [0] * 6, said
    assert len({out for out, _ in said}) == 1
    assert sum("building rocenv/" in err for _, err in said) == 1


def test_a_second_build_finds_it_there(home: TestBed, small_image: str) -> None:
    wish(home, f"image: {{reference: '{small_image}'}}\nbuild: {{template: on-image}}")
    first, second = build(home), build(home)
    assert first["reference"] == second["reference"]
    assert second["action"] == "there"
    assert build(home, "--no-cache")["action"] == "built"


def test_values_arrive_as_they_are(home: TestBed, small_image: str) -> None:
    """Docker itself reads what was written: a step sees each value as the profile has it."""
    args = json.dumps({f"OWN{place:02}": value for place, value in enumerate(VALUES)})
    wish(home, f"image: {{reference: '{small_image}'}}\nbuild: {{template: on-image, args: {args}}}")
    seen = " ".join(f'"$OWN{place:02}"' for place in range(len(VALUES)))
    template(
        home,
        '{% extends "rocenv/on-image.Dockerfile.j2" %}\n'
        f"{{% block packages %}}RUN printf '%s\\n' {seen} > /seen{{% endblock %}}\n",
    )
    reference = build(home)["reference"]
    assert home.docker("run", "--rm", reference, "cat", "/seen").stdout.splitlines() == list(VALUES)


# --- the image's own torch, in the stand-in for rocm/pytorch ---------------------------------------------------------


def wheel(folder: Path, name: str, version: str, *needs: str) -> str:
    """A wheel with nothing in it but its name and what it needs."""
    file = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {one}\n" for one in needs)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return file.name


@pytest.fixture(scope="module")
def with_pip(make_bed: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The stand-in with pip, which Debian's Python has not: the tests' own is copied in."""
    assert callable(make_bed)
    bed: TestBed = make_bed(tmp_path_factory.mktemp("pip") / "project")
    bed = replace(bed, variables={**bed.variables, **BUILDKIT, "DOCKER_BUILDKIT": "1"})
    shutil.copytree(Path(sysconfig.get_path("purelib")) / "pip", bed.project / "pip")
    (bed.project / "Dockerfile").write_text(
        f"FROM {images.STAND_IN}\nCOPY pip /usr/local/lib/python3.13/dist-packages/pip\n"
    )
    assert bed.docker("pull", "--quiet", images.STAND_IN).returncode == 0
    done = bed.docker("build", "--tag=rocenv-test/with-pip:1", ".")
    assert done.returncode == 0, done.stderr
    yield "rocenv-test/with-pip:1"
    bed.docker("rmi", "-f", "rocenv-test/with-pip:1")


def torch_wish(home: TestBed, with_pip: str, *wheels: str) -> None:
    named = ", ".join(f"./wheels/{one}" for one in wheels)
    wish(
        home,
        f"image: {{reference: '{with_pip}'}}\nbuild:\n  context: .\n  packages: {{pip: [{named}]}}\n"
        "  args: {PIP_NO_INDEX: '1', PIP_FIND_LINKS: /run/rocenv-context/wheels}\n",
    )


def test_packages_are_installed_and_torch_stays(home: TestBed, with_pip: str) -> None:
    """Debian's torch is 2.6.0; a wheel of torch 9.9 lies where pip looks, and nobody's wish brings it in."""
    folder = home.project / "wheels"
    folder.mkdir()
    wheel(folder, "torch", "9.9")
    for name, version in {"setuptools": "80", "sympy": "1.13.1", "mpmath": "1.3"}.items():
        wheel(folder, name, version)  # which Debian's torch says that it needs, and does not bring
    torch_wish(home, with_pip, wheel(folder, "own", "1.0", "torch"))
    reference = build(home)["reference"]
    code = "import own, torch, importlib.metadata as m; print(m.version('own'), torch.__version__.split('+')[0])"
    assert home.docker("run", "--rm", reference, "python3", "-c", code).stdout.split() == ["1.0", "2.6.0"]
    held = home.docker("run", "--rm", reference, "sh", "-c", "cat /etc/rocenv/constraints.txt; env").stdout
    assert "torch==2.6.0" in held
    assert "PIP_CONSTRAINT=/etc/rocenv/constraints.txt" in held


def test_a_package_that_wants_another_torch_ends_the_build(home: TestBed, with_pip: str) -> None:
    """Without the constraint this would install torch 9.9: pip finds it."""
    folder = home.project / "wheels"
    folder.mkdir()
    wheel(folder, "torch", "9.9")
    torch_wish(home, with_pip, wheel(folder, "wants", "1.0", "torch==9.9"))
    done = home.rocenv("build")
    assert done.returncode == 5, done.stderr
    assert "error: rocenv: what `build.packages.pip` asks for cannot be installed" in done.stderr
    assert "torch==2.6.0" in done.stderr


def test_what_replaces_torch_all_the_same_ends_the_build(home: TestBed, with_pip: str) -> None:
    folder = home.project / "wheels"
    folder.mkdir()
    wheel(folder, "torch", "9.9")
    torch_wish(home, with_pip, wheel(folder, "own", "1.0"))
    template(
        home,
        '{% extends "rocenv/on-image.Dockerfile.j2" %}\n{% block packages %}\n{{ super() }}\n'
        "RUN --mount=type=bind,target=/c PIP_CONSTRAINT= python3 -m pip install --break-system-packages --no-deps"
        " --ignore-installed /c/wheels/torch-9.9-py3-none-any.whl"
        " && python3 /etc/rocenv/hold.py check\n{% endblock %}\n",
    )
    done = home.rocenv("build")
    assert done.returncode == 5, done.stderr
    assert "error: rocenv: `torch` was 2.6.0" in done.stderr


def test_the_health_check_asks_the_server(home: TestBed, with_pip: str) -> None:
    """Nothing listens: unwell. Something answers: well. Only waiting, as an environment of rocenv's does: well."""
    wish(home, f"image: {{reference: '{with_pip}'}}\nports: ['8000:8000']\nbuild: {{template: on-image, health: /}}")
    reference = build(home)["reference"]
    told = home.docker("image", "inspect", "--format", "{{json .Config.Healthcheck.Test}}", reference).stdout
    kind, *command = json.loads(told)
    assert (kind, command[:2]) == ("CMD", ["/bin/bash", "-c"])
    serving = 'python3 -m http.server 8000 >/dev/null 2>&1 & until bash -c "$0" 2>/dev/null; do :; done; echo well'

    def asked(*words: str) -> str:
        done = home.docker("run", "--rm", "--init", "--network=none", reference, *words)
        return done.stdout.strip()

    assert asked("bash", "-c", 'bash -c "$0" 2>/dev/null || echo unwell', command[2]) == "unwell"
    assert asked("timeout", "60", "bash", "-c", serving, command[2]) == "well"
    waiting = home.docker("run", "-d", "--init", "--network=none", reference, "sleep", "infinity").stdout.strip()
    try:
        assert home.docker("exec", waiting, *command).returncode == 0
    finally:
        home.docker("rm", "-f", waiting)


# --- on Debian, from Debian's own packages ---------------------------------------------------------------------------

NEEDED = ("rocm-smi", "librocm-smi64-1")  # of what the template installs, all that the stand-in lacks


def apt(folder: Path, *words: str) -> None:
    """Debian 13's packages by apt with a state of its own: this machine's stays as it is."""
    done = subprocess.run(
        [
            "apt-get", "-q", f"-oDir::State={folder}", f"-oDir::State::status={folder}/status",
            f"-oDir::Cache={folder}/cache", f"-oDir::Etc::sourcelist={folder}/sources.list",
            "-oDir::Etc::sourceparts=-", "-oAPT::Sandbox::User=root", "-oAcquire::Languages=none", *words,
        ],
        cwd=folder / "repository", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture
def debian(home: TestBed) -> Iterator[str]:
    """The stand-in, a Debian 13, with a repository in it: its network has none."""
    folder = home.project / "apt"
    for name in ("lists/partial", "cache/archives/partial", "repository"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "sources.list").write_text(f"deb [signed-by={keyring}] http://deb.debian.org/debian trixie main\n")
    apt(folder, "update")
    apt(folder, "download", *NEEDED)
    index = ""
    for file in sorted((folder / "repository").glob("*.deb")):
        fields = subprocess.run(["dpkg-deb", "--field", file], capture_output=True, text=True, check=True).stdout
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        index += f"{fields.rstrip()}\nFilename: ./{file.name}\nSize: {file.stat().st_size}\nSHA256: {digest}\n\n"
    (folder / "repository" / "Packages").write_text(index)
    (home.project / "Dockerfile").write_text(
        f"FROM {images.STAND_IN}\nCOPY apt/repository /repository\n"
        "RUN rm -rf /etc/apt/sources.list.d && echo 'deb [trusted=yes] file:/repository ./' > /etc/apt/sources.list\n"
    )
    assert home.docker("pull", "--quiet", images.STAND_IN).returncode == 0
    given = replace(home, variables={**home.variables, "DOCKER_BUILDKIT": "1"})
    done = given.docker("build", "--tag=rocenv-test/debian:13", ".")
    assert done.returncode == 0, done.stderr
    yield "rocenv-test/debian:13"
    home.docker("rmi", "-f", "rocenv-test/debian:13")


def test_debians_own_packages_are_installed(home: TestBed, debian: str) -> None:
    wish(
        home,
        f"image: {{reference: '{debian}'}}\nbuild: {{template: debian, os: debian-13, components: [runtime]}}",
    )
    reference = build(home)["reference"]
    script = "dpkg-query -W -f '${Package} ${db:Status-Status}\\n' rocm-smi rocminfo libamdhip64-5; rocminfo"
    done = home.docker("run", "--rm", reference, "sh", "-c", script)
    assert done.stdout.splitlines()[:3] == ["libamdhip64-5 installed", "rocm-smi installed", "rocminfo installed"]
    assert "ROCk module" in done.stdout + done.stderr  # it runs, and says what it finds of the driver
    lists = home.docker("run", "--rm", reference, "ls", "/var/lib/apt/lists").stdout
    assert "Packages" not in lists  # they stay in the builder's cache

"""Dockerfiles: the same bytes for the same wish, what is in every one, and templates of the user's."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from render.recipes import ALMA, CONDA, PYTORCH, dockerfile, packages, plan, profile

from rocenv.checks.files.dockerfile_reading import Dockerfile, read
from rocenv.errors import UsageError
from rocenv.render.dockerfile import built_reference, render_dockerfile
from rocenv.render.recipe import hold_script, recipe_of

TWO = packages(apt=("git", "libsndfile1"), pip=("transformers>=4.40",))


def steps(text: str) -> Dockerfile:
    return read(text, "Dockerfile")


def line(text: str, *words: str) -> str:
    return next(one for one in text.splitlines() if all(word in one for word in words))


def test_packages_are_installed_by_the_images_own_tools() -> None:
    text = dockerfile(packages=TWO)
    assert text.startswith(f"FROM {PYTORCH}\n")
    assert line(text, "apt-get install").endswith("--no-install-recommends git libsndfile1")
    # rocm/pytorch of 6.4 to 7.2 has its packages in /opt/venv (images.yaml)
    assert line(text, "hold.py pip").strip() == "/opt/venv/bin/python3 /etc/rocenv/hold.py pip 'transformers>=4.40'"
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


def test_nothing_wanted_is_nothing_installed() -> None:
    text = dockerfile(template="on-image")
    assert [one.text.split()[0] for one in steps(text).instructions("RUN")] == ["mkdir"]
    assert "RUN" not in dockerfile(template="on-image", user="image")


def test_same_wish_same_bytes_and_tag() -> None:
    assert dockerfile(packages=TWO) == dockerfile(packages={name: TWO[name] for name in ("pip", "apt")})
    names = {
        built_reference(recipe_of(plan(PYTORCH), profile(PYTORCH, packages=wish)), "PyTorch", templates, context)
        for wish in (packages(apt=("git",)), packages(apt=("curl",)), packages(apt=("git",)))
        for templates in ("of these templates", "of others")
        for context in ("", "of these files")
    }
    assert len(names) == 8
    assert all(re.fullmatch("rocenv/pytorch:[0-9a-f]{16}", name) for name in names)


def test_every_process_writes_the_same_bytes() -> None:
    code = "from render.recipes import *; print(dockerfile(packages=packages(apt=('git',), pip=('einops',))), end='')"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": f"{Path(__file__).parent.parent}:{Path(__file__).parents[2]}", "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(texts) == 1


def test_what_stays_in_the_image_of_who_and_where() -> None:
    text = dockerfile(packages=TWO)
    file = steps(text)
    assert [one.text for one in file.instructions("USER")] == ["0", "1000:1000"]
    assert [one.text for one in file.instructions("WORKDIR")] == ["/workspace"]
    assert "groupadd" not in text
    assert "gid" not in text
    # hadolint is told of each exception by its rule, and docs/dockerfiles.md says why
    assert [one.text for one in file.instructions("SHELL")] == ['["/bin/bash","-c"]']


@pytest.mark.parametrize(
    ("reference", "user", "users"),
    [
        (PYTORCH, "caller", ["0", "1000:1000"]),
        (PYTORCH, "root", ["0"]),
        (PYTORCH, "image", []),  # its user is root
        ("rocm/rocm-terminal:6.4", "image", ["0", "rocm-user"]),
        ("rocm/rocm-terminal:6.4", "caller", ["0", "1000:1000"]),
        ("own/image:1", "image", []),
    ],
)
def test_who_runs_the_steps_and_who_the_image(reference: str, user: str, users: list[str]) -> None:
    text = dockerfile(reference, packages=packages(apt=("git",)), user=user)
    assert [one.text for one in steps(text).instructions("USER")] == users


def test_labels_name_profile_base_digest_targets_and_recipe() -> None:
    digest = "sha256:" + "ab" * 32
    wished = profile(PYTORCH, packages=TWO)
    planned = plan(PYTORCH, rocm="7.2.4")
    planned = planned._replace(image=planned.image._replace(digest=digest, gfx=("gfx90a", "gfx942")))
    text = render_dockerfile(recipe_of(planned, wished))
    assert text.startswith(f"FROM {PYTORCH}@{digest}\n")
    (label,) = steps(text).instructions("LABEL")
    said = dict(word.split("=", 1) for word in shlex.split(label.text.replace("\\\n", " ")))
    plan_hash = said.pop("rocenv.image.plan")
    assert len(plan_hash) == 16
    assert said.pop("rocenv.image.version")
    assert said == {
        "org.opencontainers.image.title": "pytorch",
        "org.opencontainers.image.version": "7.2.4",
        "org.opencontainers.image.base.name": f"docker.io/{PYTORCH}",  # the OCI's annotations: fully qualified
        "org.opencontainers.image.base.digest": digest,
        "rocenv.image.base": f"{PYTORCH}@{digest}",
        "rocenv.image.gfx": "gfx90a,gfx942",
        "rocenv.image.profile": "pytorch",
        "rocenv.image.rocm": "7.2.4",
        "rocenv.image.template": "on-image",
    }


def test_a_digest_in_the_reference_is_not_written_twice() -> None:
    pinned = f"{PYTORCH}@sha256:{'cd' * 32}"
    assert dockerfile(pinned, packages=TWO).startswith(f"FROM {pinned}\n")


def test_conda_packages_go_into_the_images_own_environment() -> None:
    text = dockerfile(CONDA, packages=packages(conda=("ffmpeg",)))
    told = line(text, "install --yes")
    assert told.strip().startswith(
        "/opt/conda/bin/conda install --yes --freeze-installed --prefix /opt/conda/envs/py_3.10"
    )
    assert line(text, "hold.py check").strip() == "&& /opt/conda/envs/py_3.10/bin/python3 /etc/rocenv/hold.py check"
    with pytest.raises(UsageError, match="not conda's"):
        dockerfile(packages=packages(conda=("ffmpeg",)))


def test_the_manager_is_that_of_the_images_system() -> None:
    both = packages(apt=("git",), dnf=("git-core",))
    assert line(dockerfile(ALMA, packages=both), "dnf install").endswith("git-core")
    assert "dnf" not in dockerfile(packages=both)
    with pytest.raises(UsageError, match="installs packages with apt"):
        dockerfile(packages=packages(dnf=("git",)))
    with pytest.raises(UsageError, match="nothing tells the system"):
        dockerfile("own/image:1", packages=both)
    assert "apt-get install" in dockerfile("own/image:1", packages=both, os="debian-12")


def test_secrets_are_named_and_their_values_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted")
    text = dockerfile(packages=TWO, secrets=("HF_TOKEN", "PIP_INDEX_URL=/home/me/index"))
    assert "--mount=type=secret,id=HF_TOKEN --mount=type=secret,id=PIP_INDEX_URL" in text
    assert "hf_planted" not in text
    assert "/home/me" not in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"https_proxy": "http://proxy.example:8080"}, "would be left in the image"),
        ({"HF_TOKEN": "x"}, "looks like a secret"),
        ({"1x": "x"}, "no name of a build argument"),
    ],
)
def test_arguments_that_do_not_belong_into_an_image(args: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        dockerfile(packages=TWO, args=args)


def test_a_server_is_asked_at_its_own_port() -> None:
    text = dockerfile(template="on-image", health="/health", ports=("127.0.0.1:9000:8000",))
    (check,) = steps(text).instructions("HEALTHCHECK")
    assert "/dev/tcp/127.0.0.1/8000" in check.text
    assert "GET /health HTTP/1.0" in check.text
    with pytest.raises(UsageError, match="publishes no port"):
        dockerfile(template="on-image", health="/health")


def test_files_of_the_project_are_mounted_for_the_step_alone() -> None:
    local = packages(pip=("./wheels/own-1.0-py3-none-any.whl", "-r requirements.txt"))
    text = dockerfile(packages=local, context=".")
    assert "--mount=type=bind,target=/run/rocenv-context" in text
    assert line(text, "hold.py pip").endswith("pip ./wheels/own-1.0-py3-none-any.whl -r requirements.txt")
    assert "COPY" not in text
    with pytest.raises(UsageError, match="no folder to take it from"):
        dockerfile(packages=local)


# --- templates of the user's ------------------------------------------------------------------------------------------


def written(folder: Path, text: str, name: str = "on-image") -> tuple[str, ...]:
    (folder / f"{name}.Dockerfile.j2").write_text(text)
    return (str(folder),)


def test_a_block_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    folders = written(
        tmp_path,
        '{% extends "rocenv/on-image.Dockerfile.j2" %}\n'
        "{% block packages %}{{ super() }}\nRUN make -j {{ recipe.args.JOBS | sh }}\n{% endblock %}\n",
    )
    text = dockerfile(packages=TWO, args={"JOBS": "8"}, folders=folders)
    assert "RUN make -j 8\n" in text
    assert text.replace("RUN make -j 8\n", "").count("RUN ") == dockerfile(packages=TWO, args={"JOBS": "8"}).count(
        "RUN "
    )
    assert text.index("hold.py pip") < text.index("RUN make") < text.index("USER 1000:1000")


def test_the_first_folder_wins(tmp_path: Path) -> None:
    for name in ("project", "user"):
        (tmp_path / name).mkdir()
        written(
            tmp_path / name,
            f'{{% extends "rocenv/on-image.Dockerfile.j2" %}}{{% block last %}}# {name}{{% endblock %}}',
        )
    both = (str(tmp_path / "project"), str(tmp_path / "user"))
    assert dockerfile(template="on-image", folders=both).endswith("# project\n")
    assert dockerfile(template="on-image", folders=both[1:]).endswith("# user\n")


def test_macros_of_rocenv_s_own_serve_a_template_of_the_users(tmp_path: Path) -> None:
    folders = written(
        tmp_path,
        '{% extends "rocenv/on-image.Dockerfile.j2" %}\n{% import "rocenv/macros.j2" as rocenv %}\n'
        "{% block packages %}\nRUN true{{ rocenv.secrets(recipe) }}\n{% endblock %}\n",
    )
    text = dockerfile(template="on-image", secrets=("A", "B"), folders=folders)
    assert "RUN true --mount=type=secret,id=A --mount=type=secret,id=B\n" in text


def test_a_template_of_the_users_own_name(tmp_path: Path) -> None:
    folders = written(tmp_path, '{% extends "rocenv/base.Dockerfile.j2" %}', "mine")
    assert "FROM" in dockerfile(template="mine", folders=folders)
    with pytest.raises(UsageError) as caught:
        dockerfile(template="yours", folders=folders)
    there = str(caught.value.hint).removeprefix("there are: ").split(", ")
    assert there == sorted(there)
    assert set(there) >= {"debian", "distribution", "mine", "on-image"}
    assert "base" not in there


def test_a_value_without_a_filter_is_refused(tmp_path: Path) -> None:
    folders = written(tmp_path, "FROM {{ recipe.base }}\n")
    with pytest.raises(UsageError, match="without a filter"):
        dockerfile(template="on-image", folders=folders)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FROM x\n{% if %}\n", "Dockerfile.j2:2`"),
        ("FROM {{ recipe.nothing | sh }}", "nothing"),
        ("FROM {{ ().__class__.__base__.__subclasses__() | words }}", "unsafe"),
        ("{% for i in range(100000) %}{% for j in range(100000) %}RUN true\n{% endfor %}{% endfor %}", "no end"),
        ("FROM {{ 1 // 0 }}", "zero"),
        ('{% include "../../etc/passwd" %}', "no Dockerfile template"),
    ],
)
def test_a_broken_template_is_told_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        dockerfile(template="on-image", folders=written(tmp_path, text))
    assert said in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize("name", ["nope", "../../etc/passwd", "base/../on-image"])
def test_a_template_that_there_is_not(name: str) -> None:
    with pytest.raises(UsageError, match="no Dockerfile template"):
        dockerfile(template=name)


# --- the script that holds the image's packages ----------------------------------------------------------------------


def test_the_script_is_the_same_program_without_its_comments() -> None:
    import ast

    kept = ast.parse("\n".join(hold_script()))
    source = (Path(__file__).parents[2] / "dockerfiles" / "hold.py").read_text()
    whole = ast.parse(source)
    for node in ast.walk(whole):
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    assert ast.dump(kept) == ast.dump(whole)
    assert max(map(len, hold_script())) < 200

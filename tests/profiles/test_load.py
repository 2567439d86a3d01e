"""Layers: later ones win, mappings merge, null unsets, and each key knows where it came from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from profiles.conftest import Layers

from rocenv.errors import UsageError
from rocenv.profile import available
from rocenv.profile.load import check_file


def test_the_built_in_profiles(layers: Layers) -> None:
    assert {("hip", "built-in"), ("pytorch", "built-in"), ("terminal", "built-in")} <= {
        (one.name, one.origin) for one in available(layers.project)
    }
    for one in available(layers.project):
        made = layers.load(one.name)
        assert made.summary == one.summary != ""
        assert made.gpus == "auto"
        assert made.user == "caller"
        assert made.loosen == ()


def test_each_layer_wins_over_those_below(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    def seen() -> tuple[str | None, str]:
        made = layers.load("pytorch")
        return made.shm_size, made.origins.get("shm_size", "")

    assert seen() == (None, "")
    layers.write(layers.system, "profiles/pytorch.yaml", "shm_size: 1g")
    assert seen() == ("1g", f"{layers.system}/pytorch.yaml:1")
    layers.write(layers.system, "rocenv.yaml", "\nshm_size: 2g")
    assert seen() == ("2g", f"{layers.system}/rocenv.yaml:2")
    layers.write(layers.user, "profiles/pytorch.yaml", "shm_size: 3g")
    assert seen() == ("3g", "~/.config/rocenv/pytorch.yaml:1")
    layers.write(layers.user, "rocenv.yaml", "shm_size: 4g")
    assert seen() == ("4g", "~/.config/rocenv/rocenv.yaml:1")
    layers.write(layers.project, "rocenv.yaml", "shm_size: 5g")
    assert seen() == ("5g", "rocenv.yaml:1")
    monkeypatch.setenv("ROCENV_SHM_SIZE", "6g")
    assert seen() == ("6g", "ROCENV_SHM_SIZE")
    made = layers.load("pytorch", {"shm_size": "7g"})
    assert (made.shm_size, made.origins["shm_size"]) == ("7g", "--shm-size")


def test_mappings_merge_and_lists_replace(layers: Layers) -> None:
    layers.write(layers.user, "rocenv.yaml", "env: {A: 1, B: 2}\nports: ['80:80', '81:81']\nimage: {rocm: '>=7'}")
    layers.write(layers.project, "rocenv.yaml", "env: {B: 3, C: 4}\nports: ['90:90']\nimage: {python: 3.10}")
    made = layers.load("pytorch")
    assert made.env == {"A": "1", "B": "3", "C": "4"}
    assert made.ports == ("90:90",)
    assert (made.image.family, made.image.rocm, made.image.python) == ("rocm/pytorch", ">=7", "3.10")
    assert made.origins["env.A"] == "~/.config/rocenv/rocenv.yaml:1"
    assert made.origins["env.B"] == "rocenv.yaml:1"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("env: {A: ~}", {"B": "2"}),
        ("env: ~", {}),
        ("env: null", {}),
        ("env: {}", {"A": "1", "B": "2"}),
        ("env:\n  A:\n", {"B": "2"}),
    ],
)
def test_null_unsets(layers: Layers, text: str, left: dict[str, str]) -> None:
    layers.write(layers.user, "rocenv.yaml", "env: {A: 1, B: 2}")
    layers.write(layers.project, "rocenv.yaml", text)
    assert layers.load("pytorch").env == left


def test_a_key_that_is_unset_may_be_set_again(layers: Layers) -> None:
    layers.write(layers.user, "rocenv.yaml", "image: ~")
    layers.write(layers.project, "rocenv.yaml", "image: {reference: x/y:1}")
    made = layers.load("pytorch")
    assert (made.image.family, made.image.reference) == (None, "x/y:1")


def test_an_unset_gpus_is_the_default_again(layers: Layers) -> None:
    layers.write(layers.user, "rocenv.yaml", "gpus: none")
    layers.write(layers.project, "rocenv.yaml", "gpus: ~")
    made = layers.load("pytorch")
    assert (made.gpus, made.origins["gpus"]) == ("auto", "default")


def test_a_profile_builds_on_another(layers: Layers) -> None:
    layers.write(layers.user, "profiles/train.yaml", "extends: big\nenv: {A: 1}")
    layers.write(layers.user, "profiles/big.yaml", "extends: pytorch\nshm_size: 64g\nenv: {A: 0, B: 2}")
    made = layers.load("train")
    assert (made.name, made.image.family, made.shm_size, made.env) == (
        "train",
        "rocm/pytorch",
        "64g",
        {"A": "1", "B": "2"},
    )
    assert made.origins["shm_size"] == "~/.config/rocenv/big.yaml:2"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"a": "extends: a"}, "a → a"),
        ({"a": "extends: b", "b": "extends: a"}, "a → b → a"),
        ({"a": "extends: nowhere"}, "no profile `nowhere`, which `a` builds on"),
    ],
)
def test_a_chain_that_leads_nowhere(layers: Layers, texts: dict[str, str], said: str) -> None:
    for name, text in texts.items():
        layers.write(layers.user, f"profiles/{name}.yaml", text)
    with pytest.raises(UsageError, match=said):
        layers.load("a")


def test_a_project_names_its_profile(layers: Layers) -> None:
    layers.write(layers.project, "rocenv.yaml", "extends: pytorch\nname: train\nenv: {A: 1}")
    assert (layers.load().name, layers.load().env) == ("train", {"A": "1"})
    other = layers.load("hip")
    assert (other.name, other.image.family, other.env) == ("hip", "rocm/dev-ubuntu", {"A": "1"})


def test_environments_are_profiles_of_the_project_s(layers: Layers) -> None:
    layers.write(
        layers.project,
        "rocenv.yaml",
        "extends: pytorch\nenv: {A: 1}\nenvironments:\n"
        "  ci:\n    gpus: none\n    env: {A: ~, B: 2}\n  dev: {extends: hip}\n  pytorch:\n",
    )
    ci = layers.load("ci")
    assert (ci.name, ci.image.family, ci.gpus, ci.env) == ("ci", "rocm/pytorch", "none", {"B": "2"})
    assert ci.origins["gpus"] == "rocenv.yaml:5"
    assert layers.load("dev").image.family == "rocm/dev-ubuntu"
    assert layers.load("pytorch").image.family == "rocm/pytorch"
    listed = {one.name: (one.summary, one.origin) for one in available(layers.project)}
    assert listed["ci"] == (listed["pytorch"][0], "rocenv.yaml")
    assert listed["dev"][1] == "rocenv.yaml"


def test_the_only_environment_is_the_default(layers: Layers) -> None:
    layers.write(layers.project, "rocenv.yaml", "environments: {ci: {extends: pytorch}}")
    assert layers.load().name == "ci"


@pytest.mark.parametrize("text", ["", "environments: {a: {extends: pytorch}, b: {extends: hip}}"])
def test_without_a_name_it_must_be_clear_which(layers: Layers, text: str) -> None:
    layers.write(layers.project, "rocenv.yaml", text)
    with pytest.raises(UsageError, match="no profile is named"):
        layers.load()


def test_a_profile_that_is_not_there_has_a_nearest_one(layers: Layers) -> None:
    with pytest.raises(UsageError) as caught:
        layers.load("pytroch")
    assert "`pytorch`" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["../etc/passwd", "a/b", "A B", "", "-x", "x" * 70, "pytorch\n"])
def test_names_reach_no_other_file(layers: Layers, name: str) -> None:
    with pytest.raises(UsageError):
        layers.load(name or "")


@pytest.mark.parametrize("base", ["../../x", '"a\\0b"', "a/b", "X"])
def test_what_is_built_on_reaches_no_other_file(layers: Layers, base: str) -> None:
    layers.write(layers.project, "rocenv.yaml", f"environments: {{mine: {{extends: {base}}}}}")
    with pytest.raises(UsageError, match="is no name of a profile"):
        layers.load("mine")


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("\ngpu: 1", "`rocenv.yaml:2`: there is no key `gpu`", "`gpus`"),
        ("image: {famly: x}", "there is no key `image.famly`", "`image.family`"),
        ("image:\n  rocm: [7]", "`rocenv.yaml:2`: `image.rocm` is a list, expected is a single text", 'rocm: ">=7.0"'),
        ("image: x", "`image` is `x`, expected is a mapping", "image:"),
        ("env: [A]", "`env` is a list, expected is a mapping", "env:"),
        ("caches: home", "`caches` is `home`, expected is a list", "caches: [home, miopen]"),
        ("caches: [hom]", "`caches` is `hom`", "`home`"),
        ("loosen: [everything]", "`loosen` is `everything`", "loosen: [ptrace]"),
        ("strict: maybe", "`strict` is `maybe`, expected is true or false", "strict: true"),
        ("visible: both", "`visible` is `both`, expected is `rocr` or `hip`", "visible: rocr"),
        ("shm_size: lots", "`shm_size` is `lots`, which is not its form", "shm_size: 16g"),
        ("ports: [http]", "`ports` is `http`", "8000"),
        ("user: me", "`user` is `me`", "user: caller"),
        ("image: {rocm: newest}", "`image.rocm` is `newest`", ">=7.0"),
        ("env: {'A B': 1}", "`A B` is no name for `env`", "env:"),
        ("env: {A: [1]}", "`env.A` is a list", "env:"),
        ("environments: [a]", "`environments` is no mapping", "environments:"),
        ("environments: {A B: {}}", "`A B` is no name for an environment", "small letters"),
        ("environments: {a: 1}", "the environment `a` is no mapping", "extends: pytorch"),
        ("policy: {anything: 1}", "no key `policy.anything`", "registries"),
        ("<<: {a: 1}", "no key `<<`", "known here"),
    ],
)
def test_what_cannot_be_followed_names_file_line_and_the_mend(layers: Layers, text: str, said: str, hint: str) -> None:
    layers.write(layers.project, "rocenv.yaml", text)
    with pytest.raises(UsageError) as caught:
        layers.load("pytorch")
    assert said in caught.value.message
    assert hint in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"rocenv\.yaml"):
        check_file(layers.project / "rocenv.yaml", "rocenv.yaml")


def test_faults_in_an_environment_are_found_by_the_check(layers: Layers) -> None:
    layers.write(layers.project, "rocenv.yaml", "environments:\n  ci:\n    gpu: 1\n")
    with pytest.raises(UsageError, match=r"rocenv\.yaml:3"):
        check_file(layers.project / "rocenv.yaml", "rocenv.yaml")


def test_a_profile_without_an_image_is_refused(layers: Layers) -> None:
    layers.write(layers.user, "profiles/own.yaml", "summary: nothing")
    with pytest.raises(UsageError, match="names no image"):
        layers.load("own")


def test_project_keys_do_not_belong_into_a_profile(layers: Layers) -> None:
    layers.write(layers.user, "profiles/own.yaml", "environments: {a: {}}\nimage: {family: rocm/pytorch}")
    with pytest.raises(UsageError, match="no key `environments`"):
        layers.load("own")


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("ROCENV_GPUS", "0,2", "0,2"),
        ("ROCENV_STRICT", "yes", True),
        ("ROCENV_LOOSEN", "ptrace, sudo", ("ptrace", "sudo")),
        ("ROCENV_USER", "root", "root"),
        ("ROCENV_CACHES", "", ()),
    ],
)
def test_variables_set_keys(
    layers: Layers, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, expected: object
) -> None:
    monkeypatch.setenv(variable, text)
    assert getattr(layers.load("pytorch"), variable.removeprefix("ROCENV_").lower()) == expected


def test_variables_reach_the_image(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCENV_IMAGE", "x/y:1")
    monkeypatch.setenv("ROCENV_IMAGE_ROCM", "7.2")
    made = layers.load("pytorch")
    assert (made.image.reference, made.image.rocm) == ("x/y:1", "7.2")
    assert made.origins["image.reference"] == "ROCENV_IMAGE"


def test_a_variable_that_is_nearly_one_is_an_error_and_strange_ones_are_none(
    layers: Layers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROCENV_SOMETHING_ELSE", "1")
    monkeypatch.setenv("ROCENV_HOST", "/x")
    layers.load("pytorch")
    monkeypatch.setenv("ROCENV_GPU", "0")
    with pytest.raises(UsageError, match="ROCENV_GPU") as caught:
        layers.load("pytorch")
    assert "ROCENV_GPUS" in str(caught.value.hint)


def test_a_malformed_variable_is_named(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCENV_SHM_SIZE", "much")
    with pytest.raises(UsageError, match="ROCENV_SHM_SIZE"):
        layers.load("pytorch")


def test_flags_are_named_as_the_user_knows_them(layers: Layers) -> None:
    made = layers.load("pytorch", {"image.reference": "x:1", "env": {"A": "1"}, "gpus": 0, "strict": True})
    assert {key: made.origins[key] for key in ("image.reference", "env.A", "gpus", "strict")} == {
        "image.reference": "--image", "env.A": "-e", "gpus": "--gpus", "strict": "--strict",
    }  # fmt: skip
    assert (made.gpus, made.strict) == ("0", True)


def test_policy_and_mirrors_are_read(layers: Layers) -> None:
    layers.write(
        layers.system,
        "rocenv.yaml",
        "policy: {registries: [docker.io/rocm], digests: false}\nmirrors: {docker.io: [m:5000]}",
    )
    made = layers.load("pytorch")
    assert made.policy.registries == ("docker.io/rocm",)
    assert made.policy.loosen is None
    assert made.mirrors == {"docker.io": ("m:5000",)}


def test_an_empty_list_of_allowances_allows_nothing(layers: Layers) -> None:
    layers.write(layers.project, "rocenv.yaml", "policy: {loosen: []}")
    assert layers.load("pytorch").policy.loosen == ()


@pytest.mark.parametrize("kind", ["folder", "unreadable", "pipe"])
def test_a_file_that_cannot_be_read_is_an_error(layers: Layers, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = layers.project / "rocenv.yaml"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    with pytest.raises(UsageError, match="cannot be read"):
        layers.load("pytorch")


def test_a_check_of_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        check_file(tmp_path / "x.yaml", "x.yaml")


def test_no_home_is_no_fault(layers: Layers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert layers.load("pytorch").image.family == "rocm/pytorch"


@pytest.mark.parametrize(
    ("flags", "hint"),
    [
        ({"loosen": ["nope"]}, "write it like `--loosen ptrace`"),
        ({"shm_size": "foo"}, "write it like `--shm-size 16g`"),
        ({"ports": ["x"]}, "write it like `--port 127.0.0.1:8000:8000`"),
        ({"env": {"1": "2"}}, "write it like `-e NCCL_DEBUG=INFO`"),
    ],
)
def test_a_hint_for_a_flag_speaks_of_the_flag(layers: Layers, flags: dict[str, object], hint: str) -> None:
    with pytest.raises(UsageError) as told:
        layers.load("pytorch", flags)
    assert told.value.hint == hint


def test_bytes_that_are_no_text_are_refused(layers: Layers) -> None:
    with pytest.raises(UsageError, match="is no UTF-8 text"):
        layers.load("pytorch", {"env": {"A": os.fsdecode(b"x\xff")}})


def test_the_projects_own_profile_is_found_by_the_name_that_it_bears(layers: Layers) -> None:
    layers.write(layers.project, "rocenv.yaml", "extends: hip\nname: mine\nshm_size: 3g\nenvironments: {other: {}}\n")
    assert layers.load("mine") == layers.load(None)
    assert layers.load("mine").name == "mine"
    assert layers.load("other").name == "other"
    with pytest.raises(UsageError, match="there is no profile `yours`"):
        layers.load("yours")

"""The lock's text: these very bytes, the same for the same record, read by any YAML as the texts that they are."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from lock.locks import HIP, LOCK, TEXT, TRAIN

from rocenv.lock.read import read_lock
from rocenv.lock.text import lock_text
from rocenv.model.lock import Lock, Locked, LockedImage, LockedProof


def test_the_text_is_these_bytes() -> None:
    assert lock_text(LOCK) == TEXT


def test_the_order_of_the_record_does_not_matter() -> None:
    turned = Lock(dict(reversed(list(LOCK.profiles.items()))))
    train = TRAIN._replace(wish=dict(reversed(list(TRAIN.wish.items()))))
    assert lock_text(turned) == lock_text(Lock({"train": train, "hip": HIP})) == TEXT


def test_what_was_written_is_read_again() -> None:
    assert read_lock(TEXT.encode()) == LOCK
    assert read_lock(lock_text(Lock()).encode()) == Lock()


def test_another_reader_of_yaml_sees_texts_and_no_numbers_or_dates() -> None:
    train = yaml.safe_load(TEXT)["profiles"]["train"]
    assert train["image"]["rocm"] == "7.2"
    assert train["catalog"] == "2026-12-01"
    assert train["build"]["packages"]["pip"] == {"einops": "0.8.1", "hydra-core": "1.3.2"}


names = st.from_regex(r"[a-z0-9][a-z0-9_.-]{0,12}", fullmatch=True)
texts = st.text(min_size=1, max_size=40).filter(lambda text: text.encode("utf-8", "replace").decode() == text)
words = texts.filter(lambda text: all(" " <= one != "\x7f" for one in text))
digests = st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)
profiles = st.builds(
    Locked,
    profile=st.just(""),
    wish=st.dictionaries(texts, texts | st.lists(texts, min_size=1, max_size=3).map(tuple), max_size=4),
    image=st.builds(
        LockedImage,
        reference=st.sampled_from(("rocm/pytorch:latest", "localhost:5000/x", "no/true:null")),
        digest=digests,
        places=st.just(()),
        platforms=st.sampled_from(({}, TRAIN.image.platforms)),
        rocm=st.none() | words,
        gfx=st.lists(st.sampled_from(("gfx90a", "gfx942")), unique=True).map(tuple),
    ),
    catalog=st.sampled_from((None, "2026-12-01")),
    build=st.sampled_from((None, TRAIN.build)),
    proof=st.none() | st.builds(LockedProof, st.just("passed"), st.just("kernel"), st.just({}), st.none() | words),
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(names, profiles, max_size=3))
def test_any_record_survives_the_file(found: dict[str, Locked]) -> None:
    lock = Lock({name: one._replace(profile=name) for name, one in found.items()})
    assert read_lock(lock_text(lock).encode()) == lock


@pytest.mark.parametrize("name", ["null", "no", "1e3", "7.2", "y"])
def test_a_profile_may_be_called_what_yaml_takes_for_something_else(name: str) -> None:
    lock = Lock({name: HIP._replace(profile=name)})
    assert read_lock(lock_text(lock).encode()) == lock
    assert list(yaml.safe_load(lock_text(lock))["profiles"]) == [name]


def test_changes_of_two_profiles_merge(tmp_path: Path) -> None:
    """Ours renews hip, theirs proves train: git merges both by itself."""
    ours = Lock({**LOCK.profiles, "hip": HIP._replace(image=HIP.image._replace(digest=TRAIN.image.digest))})
    theirs = Lock({**LOCK.profiles, "train": TRAIN._replace(proof=LockedProof("passed", "framework"))})
    for name, lock in (("base", LOCK), ("ours", ours), ("theirs", theirs)):
        (tmp_path / name).write_text(lock_text(lock))
    merged = subprocess.run(
        ["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=tmp_path, capture_output=True, check=True
    )
    assert read_lock(merged.stdout) == Lock({**ours.profiles, "train": theirs.profiles["train"]})

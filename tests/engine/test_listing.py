"""Lists of containers and images, in the words in which docker and podman gave them."""

from __future__ import annotations

import json

import pytest

from rocenv.engine.images import image_digests, image_facts
from rocenv.engine.listing import DOCKER_FORMAT, LABELS, docker_environments, podman_environments

GPUS = '[{"index":0,"bdf":"0000:05:00.0"},{"index":1,"bdf":"0000:26:00.0"}]'


def row(image: str = "rocm/pytorch:x", **labels: str) -> str:
    own = ["ef89ad2f", "rocenv-demo-pytorch", "running", image, "2026-12-01 10:28:59 +0100 CET"]
    return json.dumps([*own, *(labels.get(label.removeprefix("rocenv."), "") for label in LABELS)])


def test_a_container_of_dockers() -> None:
    [there] = docker_environments(
        row(project="demo", name="pytorch", profile="pytorch", plan="abc", gpus=GPUS, owner="1000")
    )
    assert (there.container, there.id, there.state) == ("rocenv-demo-pytorch", "ef89ad2f", "running")
    assert (there.project, there.name, there.profile, there.plan) == ("demo", "pytorch", "pytorch", "abc")
    assert (there.gpus, there.owner) == (GPUS, "1000")
    assert there.created == "2026-12-01T10:28:59+01:00"


@pytest.mark.parametrize(
    "image", ["a6104ece43f3", f"sha256:{'a' * 64}", "b" * 64, "docker.io/rocenv/locked:a6104ece43f35577"]
)
def test_a_container_of_a_mere_id_is_called_what_its_plan_called_it(image: str) -> None:
    [there] = docker_environments(row(image, decided='{"image":"rocm/pytorch:x@sha256:0"}'))
    assert there.reference == "rocm/pytorch:x@sha256:0"
    for odd in ("", "[]", "no", '{"image":[]}'):
        assert docker_environments(row(image, decided=odd))[0].reference == image


def test_a_label_that_is_not_there_is_none() -> None:
    [there] = docker_environments(row(name="x"))
    assert there.owner is None
    assert there.labels == {"rocenv.name": "x"}


def test_the_template_asks_for_each_label_by_name() -> None:
    for label in LABELS:
        assert f'{{{{json (.Label "{label}")}}}}' in DOCKER_FORMAT


def test_a_container_of_podmans() -> None:
    text = json.dumps(
        [
            {
                "Id": "a2bf87d7",
                "Names": ["rocenv-demo-hip"],
                "State": "exited",
                "Image": "docker.io/rocm/dev:x",
                "Created": 1796120939,
                "CreatedAt": "2 hours ago",
                "Labels": {"rocenv.name": "hip", "rocenv.project": "demo", "other": "x"},
            }
        ]
    )
    [there] = podman_environments(text)
    assert (there.container, there.state, there.name) == ("rocenv-demo-hip", "exited", "hip")
    assert there.created == "2026-12-01T10:28:59+00:00"


def test_no_containers() -> None:
    assert docker_environments("") == podman_environments("") == podman_environments("[]") == []


IMAGE = {
    "Id": "sha256:b4c1",
    "RepoDigests": ["other/name@sha256:bad", "rocm/pytorch@sha256:good"],
    "Config": {"User": "rocm", "Env": ["A=1"], "Entrypoint": ["/x"], "Labels": {"rocenv.stand-in": "1"}},
    "Architecture": "amd64",
    "Size": 1982462,
}


def test_an_image() -> None:
    image = image_facts("rocm/pytorch:x", json.dumps([IMAGE]))
    assert image is not None
    assert (image.id, image.user, image.env, image.entrypoint) == ("sha256:b4c1", "rocm", ("A=1",), ("/x",))
    assert (image.labels, image.size, image.machine) == ({"rocenv.stand-in": "1"}, 1982462, "amd64")


@pytest.mark.parametrize(
    "reference",
    ["rocm/pytorch:x", "rocm/pytorch", "rocm/pytorch:x@sha256:good", "rocm/pytorch@sha256:good"],
)
def test_the_digest_is_that_of_the_images_own_repository(reference: str) -> None:
    image = image_facts(reference, json.dumps([IMAGE]))
    assert image is not None
    assert image.digest == "sha256:good"


def test_podman_writes_the_registry_before_the_repository() -> None:
    image = image_facts("rocm/pytorch:x", json.dumps([{"RepoDigests": ["docker.io/rocm/pytorch@sha256:good"]}]))
    assert image is not None
    assert image.digest == "sha256:good"


def test_a_registry_with_a_port_is_no_tag() -> None:
    image = image_facts(
        "127.0.0.1:5000/a/b", json.dumps([{"RepoDigests": ["x@sha256:1", "127.0.0.1:5000/a/b@sha256:2"]}])
    )
    assert image is not None
    assert image.digest == "sha256:2"


def test_an_image_from_no_registry_has_no_digest() -> None:
    image = image_facts(
        "local:1", json.dumps([{"Id": "x", "RepoDigests": [], "Config": {"Labels": None, "Env": None}}])
    )
    assert image is not None
    assert (image.digest, dict(image.labels), image.env) == (None, {}, ())


def test_digests_of_containers_are_those_of_the_images_they_were_made_from() -> None:
    text = json.dumps([{"Id": "sha256:b4c1", "RepoDigests": IMAGE["RepoDigests"]}, {"Id": "sha256:local"}])
    made = {
        "c1": ("sha256:b4c1", "rocm/pytorch:x"),
        "c2": ("sha256:local", "local:1"),
        "c3": ("sha256:gone", "rocm/pytorch:y"),
    }
    assert image_digests(made, text) == {"c1": "sha256:good"}


def test_no_image() -> None:
    assert image_facts("x", "[]") is None

"""A compose file mended: what was wrong is right, and every other byte is as it was."""

from __future__ import annotations

import pytest
import yaml
from checks.linted import HOST, lint

from rocenv.checks.files.rewrite import mended
from rocenv.errors import UsageError

BLOCK = """\
# Our model server.   Do not reformat!
services:
  app:
    image:   "ollama/ollama:rocm"   # pinned elsewhere
    devices:
      - '/dev/fdk:/dev/kfd'  # compute
      - /dev/dri/renderd128
    group_add:
      - video
      - render  # the GPU's
\t
    ports: [ "11434:11434" ]   # é ü
  other: {image: busybox,   group_add: [ "render" ]}
"""


def changed(before: str, after: str) -> list[tuple[str, str]]:
    """The lines that differ, each as it was and as it is."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return [(old.strip(), new.strip()) for old, new in pairs if old != new]


def test_only_the_wrong_words_change() -> None:
    text = BLOCK.replace("\t\n", "\n")
    found = mended(text, "compose.yaml", HOST)
    assert changed(text, found.text) == [
        ("- '/dev/fdk:/dev/kfd'  # compute", "- '/dev/kfd:/dev/kfd'  # compute"),
        ("- /dev/dri/renderd128", "- /dev/dri/renderD128"),
        ("- video", '- "985"'),
        ("- render  # the GPU's", '- "992"  # the GPU\'s'),
        ('other: {image: busybox,   group_add: [ "render" ]}', 'other: {image: busybox,   group_add: [ "992" ]}'),
    ]
    assert len(found.done) == 5
    assert found.done[0] == "compose.yaml:6: `/dev/fdk` is now `/dev/kfd`"
    assert lint("compose", found.text, where=HOST) == []
    assert mended(found.text, "compose.yaml", HOST).done == ()


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_marks_stay(ending: str, start: str) -> None:
    text = start + ending.join(["services:", "  a:", "    image: x", "    group_add: ['render']", ""])
    assert mended(text, "c", HOST).text == text.replace("'render'", '"992"')


def test_a_name_whose_number_is_there_goes() -> None:
    text = "services:\n  a:\n    group_add:\n      - '992'\n      - render\n      - '44'\n"
    assert mended(text, "c", HOST).text == "services:\n  a:\n    group_add:\n      - '992'\n      - '44'\n"
    text = "services: {a: {group_add: ['render', '992']}}"
    assert mended(text, "c", HOST).text == "services: {a: {group_add: ['992']}}"


RESERVED = """\
    deploy:
      resources:
        limits: {memory: 4g}  # keep
        reservations:
          devices:
            - driver: rocm
              count: 1
              capabilities: [gpu, video]
"""


def test_a_reservation_gives_way_to_devices() -> None:
    text = f"services:\n  f:\n    image: x\n{RESERVED}    # tail\n    ports: ['80']\n"
    found = mended(text, "c", HOST)
    service = yaml.safe_load(found.text)["services"]["f"]
    assert service["devices"] == ["/dev/kfd", "/dev/dri"]
    assert service["deploy"] == {"resources": {"limits": {"memory": "4g"}}}
    assert "# keep" in found.text
    assert "# tail" in found.text
    only = text.replace("        limits: {memory: 4g}  # keep\n", "")
    service = yaml.safe_load(mended(only, "c", HOST).text)["services"]["f"]
    assert service == {"image": "x", "devices": ["/dev/kfd", "/dev/dri"], "ports": ["80"]}


def test_devices_that_are_there_are_not_written_twice() -> None:
    text = f"services:\n  f:\n    devices: [/dev/kfd, /dev/dri]\n{RESERVED}"
    service = yaml.safe_load(mended(text, "c", HOST).text)["services"]["f"]
    assert service["devices"] == ["/dev/kfd", "/dev/dri"]
    assert "reservations" not in service["deploy"]["resources"]


@pytest.mark.parametrize(
    "text",
    [
        "services: {a: {devices: [amd.com/gpu=0], group_add: ['${GID}', keep-groups]}}",
        "services: {a: {deploy: {resources: {reservations: {devices: [{driver: cdi, device_ids: [x/y=1]}]}}}}}",
        "services: {a: {group_add: [unknown-group], devices: [/dev/fuse]}}",
    ],
)
def test_what_is_right_or_unknown_is_left_alone(text: str) -> None:
    found = mended(text, "c", HOST)
    assert (found.text, found.done) == (text, ())


def test_a_name_means_the_owner_of_the_nodes() -> None:
    text = "services: {a: {group_add: [video, render]}}"
    elsewhere = HOST._replace(devices=tuple(one._replace(gid=993, group=None) for one in HOST.devices))
    assert mended(text, "c", elsewhere).text == 'services: {a: {group_add: ["985", "993"]}}'
    of_video = HOST._replace(devices=tuple(one._replace(gid=39, group="video") for one in HOST.devices))
    assert mended(text, "c", of_video).text == 'services: {a: {group_add: ["39"]}}'


def test_a_file_that_is_not_all_text_is_left_alone() -> None:
    text = "services: {a: {image: \ufffd, group_add: [render]}}"
    assert mended(text, "c", HOST).done == ()


def test_an_anchor_is_mended_once_for_all() -> None:
    text = "x-g: &g [render]\nservices:\n  a: {image: x, group_add: *g}\n  b: {image: x, group_add: *g}\n"
    found = mended(text, "c", HOST)
    assert found.text == text.replace("[render]", '["992"]')
    assert len(found.done) == 1


def test_a_file_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(UsageError, match="c:2"):
        mended("services:\n\ta: 1\n", "c", HOST)

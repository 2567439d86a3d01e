"""Which GPUs the words of --gpus mean, and that no wording reaches beyond what is visible."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan.made import gpu, host, node

from rocenv.errors import HostError, UsageError
from rocenv.model.host import Gpu, Host, Partition
from rocenv.plan.select import candidates, select

APU = gpu(4, "gfx1036", kind="apu", bdf="0000:c1:00.0", unique_id=None)
FOUR = [gpu(0), gpu(1), gpu(2, "gfx90a"), gpu(3, "gfx90a")]
MIXED = host([*FOUR, APU])


def cut(index: int, part: int) -> Gpu:
    """One of four partitions of the GPU at 0000:10:00.0; all of them share its unique id, as older drivers have it."""
    return gpu(index, bdf="0000:10:00.0", unique_id="a" * 16, partition=Partition("CPX", "NPS4", part, 4))


PARTITIONED = host([cut(0, 0), cut(1, 1), cut(2, 2), cut(3, 3), gpu(4)])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("auto", [0, 1, 2, 3]),
        ("all", [0, 1, 2, 3, 4]),
        ("dgpu", [0, 1, 2, 3]),
        ("apu", [4]),
        ("none", []),
        ("2", [2]),
        ("3,0", [0, 3]),
        ("1-3", [1, 2, 3]),
        ("0-1,1,3", [0, 1, 3]),
        ("gfx90a", [2, 3]),
        ("GFX90A", [2, 3]),
        ("0000:12:00.0", [2]),
        ("12:00.0", [2]),
        ("C1:00.0", [4]),
        ("0000:12:00.0/0", [2]),
        ("GPU-0000000000000003", [2]),
        ("renderD131", [3]),
        ("/dev/dri/renderD131", [3]),
        ("count=2", [0, 1]),
        ("gfx90a,0,c1:00.0", [0, 2, 3, 4]),
        (" 0 , 1 ", [0, 1]),
    ],
)
def test_words_mean_gpus(words: str, expected: list[int]) -> None:
    assert [one.index for one in select(words, MIXED, rootless=False).gpus] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("0000:10:00.0", [0, 1, 2, 3]),
        ("0000:10:00.0/2", [2]),
        ("GPU-aaaaaaaaaaaaaaaa", [0, 1, 2, 3]),
        ("10:00.0/0,4", [0, 4]),
    ],
)
def test_a_bdf_is_a_whole_gpu_and_a_slash_one_partition(words: str, expected: list[int]) -> None:
    assert [one.index for one in select(words, PARTITIONED, rootless=False).gpus] == expected


def test_the_default_is_every_gpu_where_none_is_discrete() -> None:
    chosen = select("auto", host([APU._replace(index=0)]), rootless=False)
    assert [one.index for one in chosen.gpus] == [0]
    assert "no discrete one" in chosen.reason.why


def test_the_default_says_which_integrated_gpu_it_leaves_out() -> None:
    assert "gfx1036 0000:c1:00.0" in select("auto", MIXED, rootless=False).reason.why


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("5", "no GPU 5"),
        ("4-9", "no GPU 9"),
        ("gfx1100", "gfx1100"),
        ("0000:99:00.0", "0000:99:00.0"),
        ("GPU-00000000000000ff", "GPU-00000000000000ff"),
        ("renderD200", "renderD200"),
        ("count=9", "9 GPUs"),
        ("0000:12:00.0/1", "0000:12:00.0/1"),
    ],
)
def test_what_is_not_there_is_an_error_that_names_what_is(words: str, said: str) -> None:
    with pytest.raises(HostError) as caught:
        select(words, MIXED, rootless=False)
    assert said in caught.value.message
    assert "gfx942" in caught.value.message + str(caught.value.hint)


@pytest.mark.parametrize("words", ["", "gpu", "0;1", "1-", "-1", "renderD", "gfx", "count=0", "all gpus", "3-1", "٣"])
def test_what_has_no_form_is_a_usage_error(words: str) -> None:
    with pytest.raises(UsageError):
        select(words, MIXED, rootless=False)


@pytest.mark.parametrize(
    ("variables", "words", "expected"),
    [
        ({"ROCR_VISIBLE_DEVICES": "2,3"}, "0", [2]),
        ({"ROCR_VISIBLE_DEVICES": "3,1"}, "0", [3]),  # an index counts in the list's order
        ({"ROCR_VISIBLE_DEVICES": "3,1"}, "auto", [1, 3]),  # the plan's order is KFD's
        ({"ROCR_VISIBLE_DEVICES": "GPU-0000000000000002,0"}, "0", [1]),
        ({"ROCR_VISIBLE_DEVICES": "0,9,1"}, "all", [0]),  # as in ROCr the list ends at what means nothing
        ({"HIP_VISIBLE_DEVICES": "1"}, "all", [1]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "all", [1]),
        ({"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "0"}, "all", [1]),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"}, "all", [3]),  # counted within ROCr's list
        ({"ROCR_VISIBLE_DEVICES": "2,3", "CUDA_VISIBLE_DEVICES": "2,3"}, "all", [2, 3]),  # Slurm says it twice
        ({"HIP_VISIBLE_DEVICES": ""}, "auto", [0, 1, 2, 3]),  # HIP takes an empty list for none
        ({"AMD_VISIBLE_DEVICES": "1"}, "auto", [0, 1, 2, 3]),  # for AMD's container runtime alone
    ],
)
def test_inherited_lists_narrow_what_an_index_counts(
    variables: dict[str, str], words: str, expected: list[int]
) -> None:
    chosen = select(words, host([*FOUR, APU], visible=variables), rootless=False)
    assert [one.index for one in chosen.gpus] == expected


def test_a_gpu_outside_of_an_inherited_list_is_refused_by_any_name() -> None:
    narrowed = host(FOUR, visible={"ROCR_VISIBLE_DEVICES": "0,1"})
    for words in ("0000:12:00.0", "gfx90a", "renderD130", "GPU-0000000000000003"):
        with pytest.raises(HostError, match="ROCR_VISIBLE_DEVICES=0,1"):
            select(words, narrowed, rootless=False)


@pytest.mark.parametrize("value", ["", "7", "x", "-1"])
def test_an_inherited_list_that_leaves_nothing_is_an_error(value: str) -> None:
    with pytest.raises(HostError, match="leaves none"):
        select("all", host(FOUR, visible={"ROCR_VISIBLE_DEVICES": value}), rootless=False)


def missing_second() -> Host:
    """Three GPUs, the second without its render node."""
    gpus = [gpu(0), gpu(1, render_node_exists=False), gpu(2)]
    return host(gpus, devices=[node("/dev/kfd"), node("/dev/dri/renderD128"), node("/dev/dri/renderD130")])


def test_a_missing_node_is_left_out_of_all_and_said() -> None:
    chosen = select("all", missing_second(), rootless=False)
    assert [one.index for one in chosen.gpus] == [0, 2]
    assert "renderD129" in chosen.warnings[0]


def test_a_named_gpu_without_its_node_is_an_error() -> None:
    with pytest.raises(HostError, match="renderD129"):
        select("1", missing_second(), rootless=False)


def test_a_node_that_a_cgroup_forbids_is_never_given() -> None:
    nodes = [
        node("/dev/kfd"),
        node("/dev/dri/renderD128"),
        node("/dev/dri/renderD129", accessible=False, refused_by="EPERM"),
    ]
    chosen = select("auto", host([gpu(0), gpu(1)], devices=nodes), rootless=False)
    assert [one.index for one in chosen.gpus] == [0]
    assert "EPERM" in chosen.warnings[0]


def test_membership_of_the_group_matters_to_a_rootless_engine_alone() -> None:
    closed = [node("/dev/kfd"), node("/dev/dri/renderD128", accessible=False, refused_by="EACCES")]
    where = host([gpu(0)], devices=closed)
    assert select("auto", where, rootless=False).gpus
    with pytest.raises(HostError) as caught:
        select("auto", where, rootless=True)
    assert caught.value.hint is not None
    assert "usermod -aG render" in caught.value.hint


WORDS = st.lists(
    st.one_of(
        st.sampled_from(["auto", "all", "dgpu", "apu", "gfx942", "gfx90a", "count=1", "renderD129", "0000:11:00.0"]),
        st.integers(0, 6).map(str),
        st.tuples(st.integers(0, 5), st.integers(0, 5)).map(lambda pair: f"{pair[0]}-{pair[1]}"),
    ),
    min_size=1,
    max_size=4,
).map(",".join)
LISTS = st.one_of(st.none(), st.lists(st.integers(0, 6), max_size=5).map(lambda some: ",".join(map(str, some))))


@given(words=WORDS, rocr=LISTS, hip=LISTS, rootless=st.booleans())
def test_no_wording_widens(words: str, rocr: str | None, hip: str | None, rootless: bool) -> None:
    variables = {"ROCR_VISIBLE_DEVICES": rocr, "HIP_VISIBLE_DEVICES": hip}
    given_ = {name: value for name, value in variables.items() if value is not None}
    try:
        chosen = select(words, host([*FOUR, APU], visible=given_), rootless=rootless)
    except (HostError, UsageError):
        return
    allowed = {0, 1, 2, 3, 4}
    if rocr is not None:
        allowed &= {int(one) for one in rocr.split(",") if one}
    assert {one.index for one in chosen.gpus} <= allowed
    assert [one.index for one in chosen.gpus] == sorted({one.index for one in chosen.gpus})


class TestIdle:
    def test_only_what_nobody_uses(self) -> None:
        seen = host([gpu(0), gpu(1), gpu(2), APU._replace(index=3)])._replace(idle=frozenset({0, 2, 3}))
        assert [one.index for one in select("idle", seen, rootless=False).gpus] == [0, 2]
        assert [one.index for one in select("idle=1", seen, rootless=False).gpus] == [0]
        with pytest.raises(HostError, match="3 GPUs are wanted, and 2 are idle"):
            select("idle=3", seen, rootless=False)

    def test_where_all_are_in_use_that_is_said(self) -> None:
        with pytest.raises(HostError, match="all 2 GPUs are in use"):
            select("idle", host([gpu(0), gpu(1)])._replace(idle=frozenset()), rootless=False)

    def test_what_is_not_known_is_not_taken_for_idle(self) -> None:
        with pytest.raises(UsageError, match="not known"):
            select("idle", host([gpu(0)]), rootless=False)


def test_the_gpus_of_a_numa_node() -> None:
    seen = host([gpu(0), gpu(1, numa_node=1), gpu(2, numa_node=1), gpu(3, numa_node=None)])
    assert [one.index for one in select("numa=1", seen, rootless=False).gpus] == [1, 2]
    with pytest.raises(HostError, match="no GPU `numa=5`"):
        select("numa=5", seen, rootless=False)


@pytest.mark.parametrize(
    ("words", "expected", "count"),
    [("count=2", [0, 1, 2], 2), ("idle=1", [0, 2], 1), ("idle", [0, 2], 2), ("0,1", [0, 1], 2), ("all", [0, 1, 2], 3)],
)
def test_out_of_which_gpus_free_ones_are_taken(words: str, expected: list[int], count: int) -> None:
    seen = host([gpu(0), gpu(1), gpu(2)])._replace(idle=frozenset({0, 2}))
    found, needed = candidates(words, seen, rootless=False)
    assert ([one.index for one in found], needed) == (expected, count)

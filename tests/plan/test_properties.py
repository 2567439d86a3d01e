"""Random hosts, engines and wishes: whatever a plan decides, the rules hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from plan.held import check
from plan.made import CRUN, DOCKER, PODMAN, REQUEST, ROOTLESS_DOCKER, RUNC, gpu, host, node, profile

from rocenv.errors import RocenvError
from rocenv.model.host import Driver, Gpu, Host
from rocenv.model.plan import EngineFacts
from rocenv.plan import make_plan
from rocenv.plan.namespaces import filled

GFX = ["gfx942", "gfx90a", "gfx1100", "gfx1201", "gfx1103", "gfx906", None]
GIDS = [0, 39, 44, 109, 992]
DRIVERS = [
    Driver(loaded=True, version=None, origin="in-tree"),
    Driver(loaded=True, version="6.12.12", origin="dkms"),
    Driver(loaded=True, version="6.16.13", origin="dkms", release="30.30.4"),
    Driver(loaded=True, version="9.9.9", origin="dkms"),
]


@st.composite
def hosts(draw: st.DrawFn) -> Host:
    count = draw(st.integers(0, 5))
    gpus: list[Gpu] = []
    nodes = [node("/dev/kfd", draw(st.sampled_from(GIDS)), draw(st.sampled_from([0o660, 0o666])))]
    for index in range(count):
        there = draw(st.booleans())
        one = gpu(
            index,
            draw(st.sampled_from(GFX)),
            kind=draw(st.sampled_from(["dgpu", "dgpu", "apu"])),
            unique_id=draw(st.sampled_from([None, f"{index + 1:016x}", "a" * 16])),
            render_node_exists=there,
        )
        gpus.append(one)
        if there:
            refused = draw(st.sampled_from([None, None, "EACCES", "EPERM"]))
            path = one.render_node or ""
            gid = draw(st.sampled_from(GIDS))
            nodes.append(
                node(path, gid, draw(st.sampled_from([0o660, 0o666])), accessible=refused is None, refused_by=refused)
            )
    nodes.append(node("/dev/dri/card0", 44))
    return host(
        gpus,
        devices=nodes,
        driver=draw(st.sampled_from(DRIVERS)),
        memory_bytes=draw(st.one_of(st.none(), st.integers(1 << 30, 1 << 40))),
        selinux=draw(st.sampled_from([None, "enforcing", "permissive"])),
        visible=draw(st.sampled_from([None, {"ROCR_VISIBLE_DEVICES": "1,0"}, {"HIP_VISIBLE_DEVICES": "0"}])),
    )


ENGINES = st.sampled_from(
    [DOCKER, PODMAN, CRUN, RUNC, ROOTLESS_DOCKER, EngineFacts("podman", rootless=True, assumed=True, runtime="runc")]
)
WORDS = st.sampled_from(["auto", "all", "0", "1", "0,2", "dgpu", "gfx942", "count=1", "none"])


@settings(max_examples=300, deadline=None)
@given(where=hosts(), engine=ENGINES, words=WORDS, reference=st.booleans(), root=st.booleans())
def test_the_rules_hold(where: Host, engine: EngineFacts, words: str, reference: bool, root: bool) -> None:
    wished = profile(gpus=words, user="root" if root else "caller")
    if reference:
        wished = wished._replace(image=wished.image._replace(reference="example/own:1"))
    try:
        made = make_plan(wished, where, engine, REQUEST)
    except RocenvError as refusal:
        hint = refusal.hint
    else:
        hint = None
        check(made, where, engine)
        assert made == make_plan(wished, where, engine, REQUEST)
        return
    assert hint


@given(
    fixed=st.dictionaries(st.integers(0, 70), st.integers(0, 60), max_size=5).filter(
        lambda one: len(set(one.values())) == len(one)
    ),
    total=st.integers(61, 200),
)
def test_a_map_covers_every_outer_id_once_and_keeps_the_fixed_pairs(fixed: dict[int, int], total: int) -> None:
    pairs = [(inside + n, outer + n) for inside, outer, count in filled(fixed, total) for n in range(count)]
    assert sorted(outer for _, outer in pairs) == list(range(total))
    assert len({inside for inside, _ in pairs}) == total
    assert set(fixed.items()) <= set(pairs)

"""An image's layers from a real registry, each in a compression of its own."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

from image.making import host_elf, plain_bundle, tarred

from rocenv.catalog.references import Reference
from rocenv.engine.layers import from_registry
from rocenv.image.facts import audit
from rocenv.image.stream import zstandard

if TYPE_CHECKING:
    from engine.conftest import Registry


def test_layers_from_a_registry_lie_over_each_other(registry: Registry) -> None:
    lower = tarred(
        {"own/libone.so": host_elf(plain_bundle("gfx906")), "own/libtwo.so": host_elf(plain_bundle("gfx90a"))}
    )
    middle = tarred({"own/.wh.libone.so": b""})
    upper = tarred({"own/libtwo.so": host_elf(plain_bundle("gfx942"))})
    digest = registry.put("own/layered", "1", [lower, gzip.compress(middle), zstandard().compress(upper)])
    source = from_registry(None, Reference.parse(f"{registry.address}/own/layered:1"))
    assert source.digest == digest
    told: list[str] = []
    read = source.read(told.append)
    found = audit(read.config, read.layers, read.identity, read.digest)
    assert [(one.name, one.targets) for one in found.libraries] == [("two", ("gfx942",))]
    assert (found.digest, found.layers, found.machine) == (digest, 3, "amd64")
    assert read.identity == source.identity
    assert [line.partition(" (")[0] for line in told] == [f"reading layer {number} of 3" for number in (1, 2, 3)]

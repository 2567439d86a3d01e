"""Bytes on their way: decompressed, cut, and refused where they are not what they should be."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image.making import cut

from rocenv.image import stream
from rocenv.image.stream import DamagedError, Stream, expanded, zstandard

zstd = zstandard()

DATA = bytes(range(256)) * 2000
FORMS = {
    "plain": DATA,
    "gzip": gzip.compress(DATA),
    "gzip of two members": gzip.compress(DATA[:1000]) + gzip.compress(DATA[1000:]),
    "zstd": zstd.compress(DATA),
    "zstd of two frames": zstd.compress(DATA[:1000]) + zstd.compress(DATA[1000:]),
    # A skippable frame (RFC 8878, 3.1.2) at the end, as zstd:chunked has.
    "zstd with a table": zstd.compress(DATA) + b"\x50\x2a\x4d\x18\x05\0\0\0table",
    "gzip with padding": gzip.compress(DATA) + bytes(512),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 999, 1 << 20])
def test_what_comes_out_is_what_went_in(form: str, size: int) -> None:
    assert b"".join(expanded(cut(FORMS[form], size))) == DATA


@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_what_is_cut_short_is_told(form: str) -> None:
    for kept in (20, len(FORMS[form]) // 2, len(FORMS[form]) - 3):
        with pytest.raises(DamagedError, match="cut short"):
            b"".join(expanded(cut(FORMS[form][:kept])))


@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_what_is_broken_is_told(form: str) -> None:
    data = bytearray(FORMS[form])
    data[10:50] = b"\xff" * 40
    with pytest.raises(DamagedError, match=f"its {form} data is"):
        b"".join(expanded(cut(bytes(data))))


@pytest.mark.parametrize(("data", "name"), [(bz2.compress(DATA), "bzip2"), (lzma.compress(DATA), "xz")])
def test_other_compressions_are_named(data: bytes, name: str) -> None:
    with pytest.raises(DamagedError, match=name):
        expanded(cut(data))


@pytest.mark.parametrize("form", ["gzip", "zstd"])
def test_a_bomb_is_ended_and_never_held(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_FREE", 64 << 20)
    zeros = bytes(1 << 20)
    if form == "gzip":
        buffer = io.BytesIO()
        with gzip.GzipFile(fileobj=buffer, mode="wb") as file:
            for _ in range(200):
                file.write(zeros)
        bomb = buffer.getvalue()
    else:
        engine = zstd.ZstdCompressor()
        bomb = b"".join(engine.compress(zeros) for _ in range(200)) + engine.flush()
    tracemalloc.start()
    try:
        with pytest.raises(DamagedError, match="decompression bomb"):
            assert max(map(len, expanded(cut(bomb)))) > 0
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@given(st.lists(st.binary(max_size=50)), st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=20))
def test_reading_and_skipping_is_slicing(pieces: list[bytes], steps: list[tuple[bool, int]]) -> None:
    whole, at = b"".join(pieces), 0
    found = Stream(pieces)
    for read, size in steps:
        if read:
            assert found.read(size) == whole[at : at + size]
        else:
            assert found.skip(size) == len(whole[at : at + size])
        at = min(len(whole), at + size)
        assert found.position == at

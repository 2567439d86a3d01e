"""Published ports: where they listen, and what is refused before an engine is asked."""

from __future__ import annotations

import pytest
from plan.made import gpu, host, plan

from rocenv.errors import UsageError
from rocenv.plan.ports import addresses, published


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("8000:8000", "127.0.0.1:8000:8000"),
        ("8080:80", "127.0.0.1:8080:80"),
        ("127.0.0.1:8000:8000", "127.0.0.1:8000:8000"),
        ("0.0.0.0:8000:8000", "0.0.0.0:8000:8000"),
        ("192.0.2.7:8000:8000", "192.0.2.7:8000:8000"),
        ("[::1]:8000:8000", "[::1]:8000:8000"),
        ("9000:9000/udp", "127.0.0.1:9000:9000/udp"),
        ("9000:9000/tcp", "127.0.0.1:9000:9000"),
        ("9000-9002:80-82", "127.0.0.1:9000-9002:80-82"),
    ],
)
def test_a_port_is_on_loopback_unless_an_address_is_given(word: str, told: str) -> None:
    assert published([word], "--port") == (told,)
    assert plan(host([gpu(0)]), ports=(word,)).ports == (told,)


@pytest.mark.parametrize("word", ["0:80", "80:0", "70000:80", "80:99999", "90-80:90-80", "80-90:80", "300.1.1.1:80:80"])
def test_what_no_port_is_is_told_with_its_place(word: str) -> None:
    with pytest.raises(UsageError, match="--port"):
        published([word], "--port")


def test_one_port_is_not_published_twice() -> None:
    with pytest.raises(UsageError, match="both want port 8001"):
        published(["8000-8002:1-3", "8001:9"], "--port")
    assert len(published(["8000:1", "8000:1/udp", "192.0.2.7:8000:1"], "--port")) == 3


def test_where_a_server_is_reached() -> None:
    assert addresses(("127.0.0.1:8000:8000", "0.0.0.0:8188:80", "[::]:1:1", "127.0.0.1:9:9/udp")) == (
        "http://127.0.0.1:8000",
        "http://127.0.0.1:8188",
        "http://[::1]:1",
    )

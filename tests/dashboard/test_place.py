import socket

import pytest

from paceline.dashboard.place import Place, bind
from paceline.errors import UsageError


def test_a_free_port_is_taken_and_told() -> None:
    listening, place = bind("127.0.0.1", 0)
    with listening:
        assert place.port == listening.getsockname()[1]
        assert place.url == f"http://127.0.0.1:{place.port}/"
        assert place.is_loopback
        with socket.create_connection(("127.0.0.1", place.port)):
            pass


def test_a_port_that_is_taken_is_named_with_what_to_do() -> None:
    listening, place = bind("127.0.0.1", 0)
    with listening, pytest.raises(UsageError, match=f"127.0.0.1:{place.port}: .*in use") as raised:
        bind("127.0.0.1", place.port)
    assert raised.value.exit_code == 2
    assert "--port" in str(raised.value.hint)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "a" * 300])
def test_an_address_of_nobody(host: str) -> None:
    with pytest.raises(UsageError, match="cannot listen on") as raised:
        bind(host, 0)
    assert "--host" in str(raised.value.hint)


@pytest.mark.parametrize(
    ("host", "url", "loopback"),
    [
        ("127.0.0.1", "http://127.0.0.1:80/", True),
        ("127.0.0.9", "http://127.0.0.9:80/", True),
        ("::1", "http://[::1]:80/", True),
        ("0.0.0.0", "http://127.0.0.1:80/", False),
        ("::", "http://[::1]:80/", False),
        ("192.168.1.7", "http://192.168.1.7:80/", False),
    ],
)
def test_where_a_browser_of_this_machine_finds_it(host: str, url: str, loopback: bool) -> None:
    place = Place(host, 80)
    assert place.url == url
    assert place.is_loopback is loopback

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paceline.engines import listeners as listening
from paceline.engines import processes as described
from paceline.engines.engine import Address
from paceline.engines.listeners import _ip, check_port, listeners, strangers
from paceline.errors import UsageError
from tests.support.standin import free_port

HELD = (
    "import socket, sys, time\ns = socket.socket(socket.AF_INET6 if ':' in sys.argv[1] else socket.AF_INET)\n"
    "s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
    "s.bind((sys.argv[1], int(sys.argv[2])))\ns.listen()\nprint('up', flush=True)\ntime.sleep(600)"
)


@contextmanager
def holder(host: str, port: int) -> Iterator[int]:
    """Another process that listens; its id."""
    command = [sys.executable, "-I", "-S", "-c", HELD, host, str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        try:
            yield child.pid
        finally:
            child.kill()


def test_addresses_are_read_as_the_kernel_writes_them() -> None:
    assert _ip("0100007F") == "127.0.0.1"
    assert _ip("00000000") == "0.0.0.0"
    assert _ip("00000000000000000000000001000000") == "::1"
    assert _ip("0000000000000000FFFF00000100007F") == "127.0.0.1"


def test_who_listens_where_a_client_would_come() -> None:
    with socket.socket() as mine:
        mine.bind(("127.0.0.1", 0))
        port = mine.getsockname()[1]
        assert listeners(Address("127.0.0.1", port)) == []
        mine.listen()
        (found,) = listeners(Address("127.0.0.1", port))
        assert (found.address, found.uid) == ("127.0.0.1", os.geteuid())
        assert found.inode == os.fstat(mine.fileno()).st_ino
        assert listeners(Address("0.0.0.0", port)) == [found]
        assert listeners(Address("localhost", port)) == [found]
        # Another address of the machine with the same port is another place.
        assert listeners(Address("127.0.0.2", port)) == []


def test_a_stranger_is_named_and_own_processes_are_none() -> None:
    port = free_port()
    address = Address("127.0.0.1", port)
    assert strangers(address, list) == []
    with holder("127.0.0.1", port) as pid:
        (who,) = strangers(address, list)
        assert f"process {pid} (python" in who
        assert strangers(address, lambda: [pid]) == []
        with holder("127.0.0.1", port) as second:
            assert [str(second) in one for one in strangers(address, lambda: [pid])] == [True]


def test_a_taken_port_is_refused_with_its_holder() -> None:
    port = free_port()
    with holder("0.0.0.0", port) as pid, pytest.raises(UsageError) as caught:
        check_port(Address("127.0.0.1", port))
    assert f"port {port} is taken: process {pid} (python" in caught.value.message
    assert caught.value.hint == "stop it, or give another --port"
    check_port(Address("127.0.0.1", port))


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 70])
def test_an_address_of_another_machine(host: str) -> None:
    with pytest.raises(UsageError, match="cannot listen on"):
        check_port(Address(host, free_port()))


def test_a_name_is_taken_where_any_of_its_addresses_is() -> None:
    port = free_port()
    with holder("127.0.0.1", port), pytest.raises(UsageError, match="is taken"):
        check_port(Address("localhost", port))
    check_port(Address("localhost", port))


def test_where_proc_does_not_tell_nobody_is_accused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    for module in (listening, described):
        monkeypatch.setattr(module, "PROC", tmp_path / "none")
    with holder("127.0.0.1", port):
        assert strangers(Address("127.0.0.1", port), list) == []
        with pytest.raises(UsageError, match=f"port {port} is taken: another process listens there"):
            check_port(Address("127.0.0.1", port))
    assert described.processes() == []
    assert described.process(os.getpid()) is None


def test_any_address_is_one_too() -> None:
    check_port(Address("", free_port()))
    check_port(Address("0.0.0.0", free_port()))

"""The data plane's process: orders on stdin, answers on stdout."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paceline.control import data_plane
from tests.control.fakes import FakeGateway

START = {
    "do": "start",
    "settings": {"listen": "127.0.0.1:0", "admin_listen": None, "key": "sk-secret-1"},
    "table": {"offers": []},
}


@contextmanager
def running() -> Iterator[tuple[Any, Any, threading.Thread]]:
    """A data plane in a thread: its orders, its answers."""
    order_end, orders = os.pipe()
    answers, answer_end = os.pipe()
    thread = threading.Thread(target=data_plane.main, args=(FakeGateway, order_end, answer_end))
    thread.start()
    with os.fdopen(orders, "wb", buffering=0) as sent, os.fdopen(answers, "rb") as read:
        yield sent, read, thread
    thread.join(10)
    assert not thread.is_alive()
    os.close(order_end)
    os.close(answer_end)


def ask(sent: Any, read: Any, order: object) -> dict[str, Any]:
    sent.write(json.dumps(order).encode() + b"\n")
    return json.loads(read.readline())  # type: ignore[no-any-return]


def test_each_order_has_its_answer() -> None:
    with running() as (sent, read, _):
        assert ask(sent, read, {"do": "stats"}) == {"ok": False, "error": "it has not started"}
        assert ask(sent, read, START) == {"ok": True, "listen": "127.0.0.1:4711", "admin": None}
        assert ask(sent, read, START) == {"ok": False, "error": "it has started already"}
        assert ask(sent, read, {"do": "swap", "table": {"offers": []}}) == {"ok": True}
        wrong = ask(sent, read, {"do": "swap", "table": {"offers": [{"id": "refused"}]}})
        assert wrong == {"ok": False, "error": 'route table: offer "refused": it is refused'}
        assert ask(sent, read, {"do": "stats"}) == {"ok": True, "stats": {"requests": 3}}
        assert ask(sent, read, {"do": "dance"})["ok"] is False
        assert ask(sent, read, {"do": "stop"}) == {"ok": True}


def test_what_is_no_order_is_refused_and_not_repeated() -> None:
    with running() as (sent, read, _):
        sent.write(b'{"do": "start", "settings": "sk-secret-1"\n')
        assert "sk-secret" not in str(json.loads(read.readline()))
        for order in ([1], {"no": 1}, {"do": "start"}, "x"):
            answer = ask(sent, read, order)
            assert answer["ok"] is False


def test_two_orders_in_one_write_and_one_order_in_two() -> None:
    with running() as (sent, read, _):
        line = json.dumps(START).encode() + b"\n"
        sent.write(line[:20])
        sent.write(line[20:] + b'{"do": "stats"}\n')
        assert json.loads(read.readline())["listen"] == "127.0.0.1:4711"
        assert json.loads(read.readline())["stats"] == {"requests": 3}


def test_a_drain_is_answered_at_once_and_the_process_ends_when_it_is_over() -> None:
    with running() as (sent, read, thread):
        ask(sent, read, START)
        assert ask(sent, read, {"do": "drain"}) == {"ok": True}
        thread.join(10)
        assert not thread.is_alive()


def test_it_ends_when_its_orders_do() -> None:
    with running() as (sent, read, thread):
        ask(sent, read, START)
        sent.close()
        thread.join(10)
        assert not thread.is_alive()


def test_it_imports_nothing_large() -> None:
    code = "import sys, paceline.control.data_plane; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    ours = sorted(name for name in loaded if name.startswith("paceline"))
    assert ours == ["paceline", "paceline.control", "paceline.control.data_plane"]
    assert not {"pydantic", "pyarrow", "numpy", "asyncio", "subprocess", "typer"} & set(loaded)

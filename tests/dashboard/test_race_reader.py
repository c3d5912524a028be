"""The process that asks: what it tells, that it lets go, and that it ends with whoever started it."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from paceline.dashboard.race import COMMAND
from paceline.dashboard.race_side import Side
from paceline.endpoints.target import Target
from paceline.endpoints.tiny import Tiny
from paceline.measure.sim import SimProcess
from paceline.protocols import Message
from tests.dashboard.served import lane
from tests.support.fake_server import FakeServer, error, serving

Line = dict[str, Any]


def order(number: int, url: str, **fields: Any) -> Line:
    target = Target.parse(url, model="tiny")
    tiny = Tiny("openai-chat", "tiny", streaming=True, messages=(Message("user", "Hello"),), limit=8)
    return {**Side(number, lane(url), target, tiny, 30.0).order(), **fields}


@contextmanager
def quiet() -> Iterator[str]:
    """A server that takes connections, and says nothing."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


async def _told(orders: list[Line], ends: int, then: list[Line]) -> tuple[list[Line], int]:
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"ask": orders}).encode() + b"\n")
    for one in then:
        process.stdin.write(json.dumps(one).encode() + b"\n")
    lines: list[Line] = []
    while sum(line["kind"] == "end" for line in lines) < ends:
        lines.append(json.loads(await asyncio.wait_for(process.stdout.readline(), 90)))
    process.stdin.close()
    return lines, await asyncio.wait_for(process.wait(), 90)


def told(orders: list[Line], ends: int | None = None, then: tuple[Line, ...] = ()) -> list[Line]:
    """What it says until so many sides have ended; it ends with its orders."""
    lines, code = asyncio.run(_told(orders, len(orders) if ends is None else ends, list(then)))
    assert code == 0
    return lines


def test_an_answer_piece_by_piece_in_order_of_time() -> None:
    with SimProcess(["--model", "tiny"]) as sim:
        lines = told([order(0, sim.url), order(1, sim.url)])
    for number in (0, 1):
        mine = [line for line in lines if line["side"] == number]
        assert [line["kind"] for line in mine[:2]] == ["sent", "head"]
        assert {line["kind"] for line in mine[2:-1]} == {"body"}
        assert mine[0]["connect_ns"] > 0
        assert mine[0]["tls_ns"] is None
        assert mine[1]["status"] == 200
        assert mine[-1]["kind"] == "end"
        assert mine[-1]["outcome"] is None
        instants = [line["ns"] for line in mine]
        assert instants == sorted(instants)


def test_one_side_fails_and_the_other_goes_on() -> None:
    server = FakeServer(on_post=lambda _: error(500, "no"))
    with serving(server):
        lines = told([order(0, "http://127.0.0.1:9/v1"), order(1, f"{server.url}/v1")])
    ends = {line["side"]: line for line in lines if line["kind"] == "end"}
    assert ends[0]["outcome"] == "connect_error"
    assert "connection refused" in ends[0]["error"]
    assert ends[1]["outcome"] is None
    assert [line["status"] for line in lines if line["kind"] == "head"] == [500]
    # The same headers that a load sends.
    assert server.seen[0].headers["accept-encoding"] == "identity"
    assert server.seen[0].headers["user-agent"].startswith("paceline/")


@pytest.mark.parametrize(
    ("fields", "outcome", "part"),
    [
        ({"timeout_s": 0.2}, "timeout", "not at its end within 0.2 s"),
        ({"most_bytes": 10}, "malformed", "larger than"),
    ],
)
def test_bounds(fields: Line, outcome: str, part: str) -> None:
    with quiet() as url, SimProcess(["--model", "tiny"]) as sim:
        lines = told([order(0, url if "timeout_s" in fields else sim.url, **fields)])
    assert lines[-1]["outcome"] == outcome
    assert part in lines[-1]["error"]


def test_a_side_that_is_dropped_says_nothing_more() -> None:
    with quiet() as url, SimProcess(["--model", "tiny"]) as sim:
        lines = told([order(0, url), order(1, sim.url)], 1, ({"drop": 0},))
    assert not any(line["side"] == 0 and line["kind"] == "end" for line in lines)


def test_it_ends_with_its_orders_whatever_still_streams() -> None:
    with quiet() as url:
        assert told([order(0, url)], 0) == []

"""A race against reference engines, held against what they say that they did."""

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from paceline.catalogue.price import PriceUnknown
from paceline.dashboard.race import COMMAND, MOST_PROMPT, Event, RaceOrder, run_race, sides_of
from paceline.dashboard.race_lanes import Lanes
from paceline.dashboard.race_side import Side
from paceline.measure.sim import SimProcess, read_truth
from paceline.protocols import Protocol
from tests.dashboard.served import lane

PROTOCOLS: tuple[Protocol, ...] = (
    "openai-chat",
    "openai-completions",
    "openai-responses",
    "anthropic-messages",
)
UNKNOWN = PriceUnknown("no price", "state one")
# What a busy machine may add between the engine's clock and the reader's, over a whole answer.
TOLERANCE_MS = 1_500.0


def sides(*lanes: Any, tokens: int = 24, seconds: float = 60.0) -> tuple[RaceOrder, list[Side]]:
    named = Lanes(tuple(lanes), ())
    order = RaceOrder(
        lanes=tuple(one.id for one in lanes), prompt="Hello there", max_tokens=tokens, max_seconds=seconds
    )
    return order, sides_of(order, named)


def run(order: RaceOrder, sides: list[Side], command: Any = COMMAND) -> list[Event]:
    async def all_of_it() -> list[Event]:
        return [one async for one in run_race(order, sides, lambda _: UNKNOWN, command)]

    return asyncio.run(asyncio.wait_for(all_of_it(), 110))


def results(events: list[Event]) -> dict[int, dict[str, Any]]:
    told = [given for name, tick in events if name == "tick" for given in tick["lanes"]]
    return {given["lane"]: given["result"] for given in told if "result" in given}


def test_figures_are_those_of_the_engines_own_logs(tmp_path: Path) -> None:
    logs = [tmp_path / "a", tmp_path / "b"]
    shapes = (("--ttft", "60ms", "--itl", "4ms"), ("--ttft", "20ms", "--itl", "9ms"))
    sims = [
        SimProcess(["--model", "tiny", "--truth-log", str(log), *shape])
        for log, shape in zip(logs, shapes, strict=True)
    ]
    raced = []
    with sims[0] as first, sims[1] as second:
        for protocol in PROTOCOLS:
            order, both = sides(*(lane(sim.url, "tiny", protocol, id=sim.url) for sim in (first, second)))
            events = run(order, both)
            assert [events[0][0], events[-1][0]] == ["start", "end"]
            assert sorted(events[-1][1]["order"]["e2e_ms"]) == [0, 1]
            raced.append((both, events))
        first.stop()
        second.stop()
    truths = [{one["id"]: one for one in read_truth(log)} for log in logs]
    for both, events in raced:
        for side in both:
            agrees(side, events, truths[side.number])


def agrees(side: Side, events: list[Event], truths: dict[str, Any]) -> None:
    """What a side has shown is what the engine has done, by its own log."""
    result, seen = results(events)[side.number], side.seen()
    truth = truths[seen["response_id"]]
    sent = [event for event in truth["events"] if event[1] > 0]
    assert result["outcome"] == "ok"
    assert result["tokens"] == sum(event[1] for event in sent) == 24
    assert len(seen["event_ns"]) == len(sent)
    told = [one for name, tick in events if name == "tick" for one in tick["lanes"]]
    mine = [event for one in told if one["lane"] == side.number for event in one["events"]]
    assert len("".join(text for _, _, text in mine).split()) == 24
    # One clock: it was asked before it was received, and each event was seen after it was sent.
    assert side.sent_ns is not None
    assert side.sent_ns <= truth["received_ns"]
    assert all(side.stamps[place] >= event[0] for place, event in zip(seen["event_ns"], sent, strict=True))
    true_ttft_ms = (sent[0][0] - truth["received_ns"]) / 1e6
    true_e2e_ms = (sent[-1][0] - truth["received_ns"]) / 1e6
    assert true_ttft_ms <= result["ttft_ms"] <= true_ttft_ms + TOLERANCE_MS
    assert true_e2e_ms <= result["e2e_ms"] <= true_e2e_ms + TOLERANCE_MS


def test_a_side_that_fails_leaves_the_others_running() -> None:
    with SimProcess(["--model", "tiny"]) as sim:
        events = run(*sides(lane("http://127.0.0.1:9/v1", id="gone"), lane(sim.url, id="there")))
    found = results(events)
    assert "connection refused" in found[0]["error"]
    assert found[1]["outcome"] == "ok"
    assert events[-1][1]["order"]["e2e_ms"] == [1]


def test_who_leaves_hangs_up_on_all_sides(tmp_path: Path) -> None:
    log = tmp_path / "truth"
    shape = ["--model", "tiny", "--itl", "50ms", "--output-tokens", "2000", "--truth-log", str(log)]

    async def leave_early(order: RaceOrder, sides: list[Side]) -> None:
        async with aclosing(run_race(order, sides, lambda _: UNKNOWN)) as events:  # type: ignore[type-var]
            async for name, data in events:
                if name == "tick" and all(given["events"] for given in data["lanes"]):
                    return

    with SimProcess(shape) as sim:
        raced = sides(lane(sim.url, id="a"), lane(sim.url, id="b"), tokens=2000, seconds=100.0)
        asyncio.run(asyncio.wait_for(leave_early(*raced), 100))
        sim.stop()
    assert [one["end"] for one in read_truth(log)] == ["client_gone", "client_gone"]


def test_a_time_that_is_over_cuts_a_side() -> None:
    with SimProcess(["--model", "tiny", "--itl", "200ms"]) as slow, SimProcess(["--model", "tiny"]) as sim:
        events = run(*sides(lane(slow.url, id="a"), lane(sim.url, id="b"), seconds=1.0))
    found = results(events)
    assert (found[0]["outcome"], found[0]["said"]) == ("timeout", "cut: the time was over")
    assert found[0]["ttft_ms"] is None


def test_a_reader_that_dies_is_said() -> None:
    raced = sides(lane("http://127.0.0.1:9/v1", id="a"), lane("http://127.0.0.1:9/v1", id="b"))
    events = run(*raced, command=(sys.executable, "-c", "raise SystemExit(3)"))
    assert events[-1] == ("error", {"message": "the process that asks the endpoints has ended"})


@pytest.mark.parametrize(
    "fields",
    [
        {"lanes": ("a",)},
        {"lanes": ("a",) * 5},
        {"prompt": "  "},
        {"prompt": "x" * (MOST_PROMPT + 1)},
        {"max_tokens": 0},
        {"max_tokens": 1_000_000},
        {"max_seconds": 1e9},
        {"max_seconds": float("nan")},
        {"url": "http://169.254.169.254/"},
    ],
)
def test_bounds_of_what_may_be_asked(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        RaceOrder.model_validate({"lanes": ("a", "b"), "prompt": "Hello", **fields})

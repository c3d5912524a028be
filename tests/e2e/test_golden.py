"""Figures of a run against what the reference engine says it did: its truth log, by its own clock.

What is expected is computed here anew. The report's figures are exactly those of the times that were seen,
whatever the machine was doing. The times that were seen are those of the log, compared in the median, except
for events that a busy machine let come in together: those are marked, and may be seen late, never early.
"""

from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from paceline.measure.sim import SimProcess, read_truth
from paceline.store.runs import open_run
from tests.e2e.conftest import Cli

READING_TOK_S = 5
TOKENS = 16
CASES: dict[str, tuple[str, ...]] = {
    "one token an event": (),
    "four tokens an event": ("--tokens-per-event", "4"),
    "four tokens an event, with ids": ("--tokens-per-event", "4", "--token-ids"),
    "usage in every event": ("--tokens-per-event", "4", "--usage", "each"),
    "reasoning": ("--reasoning-tokens", "6"),
    "reasoning, then tools": ("--reasoning-tokens", "4", "--tool-tokens", "4"),
    "no role event, empty first events": ("--no-role-first", "--empty-first-events", "3"),
    "role and empty first events": ("--empty-first-events", "2", "--tokens-per-event", "4"),
    "a stall": ("--stall", "4:1500ms"),
}


def as_seen(request: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """The log's line of a request, with the times that the client saw in place of the engine's."""
    events = [[at, *event[1:]] for at, event in zip(row["event_ns"], request["events"], strict=True)]
    return {"received_ns": row["sent_ns"], "events": events}


def expected(request: dict[str, Any]) -> dict[str, Any]:
    """The metrics of one request, from its line in the truth log, or as it was seen."""
    at_ms = [event[0] / 1e6 for event in request["events"]]
    tokens = [event[1] for event in request["events"]]
    start_ms = request["received_ns"] / 1e6
    answers = [at for at, event in zip(at_ms, request["events"], strict=True) if event[2] != 2]
    gaps = [later - earlier for earlier, later in pairwise(at_ms)]
    late = 0
    for place, (at, n) in enumerate(zip(at_ms, tokens, strict=True)):
        before = sum(tokens[:place])
        late += sum(at - at_ms[0] > (before + one) / READING_TOK_S * 1e3 for one in range(n))
    return {
        "ttft_ms": at_ms[0] - start_ms,
        "ttfat_ms": answers[0] - start_ms,
        "e2e_ms": at_ms[-1] - start_ms,
        "tpot_ms": (at_ms[-1] - at_ms[0]) / (sum(tokens) - tokens[0]),
        "longest_stall_ms": max(gaps),
        "chunk_gap_ms": gaps,
        "itl_ms": [gap / n for gap, n in zip(gaps, tokens[1:], strict=True)],
        "fluidity": 1 - late / sum(tokens),
        "tokens": sum(tokens),
        "reasoning": sum(event[1] for event in request["events"] if event[2] == 2),
    }


def errors_ms(
    rows: list[dict[str, Any]], truth: dict[str, dict[str, Any]]
) -> tuple[dict[str, list[float]], list[float]]:
    """How much later than it was sent each event was seen, counted from the request's beginning on either
    side, by whether it is marked as one that came in with another; and the errors of gaps of unmarked ones.
    """
    late: dict[str, list[float]] = {"marked": [], "unmarked": []}
    gaps = []
    for row in rows:
        request = truth[row["response_id"]]
        errors = [
            (seen - row["sent_ns"] - (event[0] - request["received_ns"])) / 1e6
            for seen, event in zip(row["event_ns"], request["events"], strict=True)
        ]
        marks = row["event_coalesced"]
        for error, mark in zip(errors, marks, strict=True):
            late["marked" if mark else "unmarked"].append(error)
        steps = zip(pairwise(errors), pairwise(marks), strict=True)
        gaps += [after - before for (before, after), either in steps if not any(either)]
    return late, gaps


# Each protocol has its own events, end marker and usage; the chat protocol has all cases.
ASKED = [
    *(("chat", case) for case in CASES),
    ("completions", "one token an event"),
    *(
        (name, case)
        for name in ("responses", "messages")
        for case in CASES
        if "usage" not in case and "ids" not in case
    ),
]


@pytest.mark.parametrize(("protocol", "case"), ASKED)
def test_figures_are_what_the_engine_did(cli: Cli, tmp_path: Path, protocol: str, case: str) -> None:
    log = tmp_path / "truth.jsonl"
    timing = ("--ttft", "40ms", "--itl", "5ms", "--output-tokens", str(TOKENS))
    with SimProcess([*timing, *CASES[case], "--truth-log", str(log)]) as engine:
        done = cli(
            *("measure", engine.url, "--protocol", protocol, "--prompt-tokens", "16", "-c", "4", "-n", "12"),
            *("--json", "-"),
        )
        engine.stop()
    assert done.report["outcomes"] == {"attempted": 12, "ok": 12, "by_outcome": {"ok": 12}}
    # The check before load is in the log too, and in no row.
    truth = {request["id"]: request for request in read_truth(log)}
    rows = open_run("latest").rows().to_pylist()
    seen = [expected(as_seen(truth[row["response_id"]], row)) for row in rows]
    metrics = done.report["metrics"]

    for name in ("ttft_ms", "ttfat_ms", "e2e_ms", "tpot_ms", "longest_stall_ms"):
        assert metrics[name]["p50"]["value"] == pytest.approx(median(one[name] for one in seen), abs=1e-6)
    for name in ("chunk_gap_ms", "itl_ms"):
        pooled = [value for one in seen for value in one[name]]
        assert metrics[name]["p50"]["value"] == pytest.approx(median(pooled), abs=1e-6)
    assert metrics["fluidity"]["mean"] == pytest.approx(sum(one["fluidity"] for one in seen) / 12)

    late_ms, gap_errors_ms = errors_ms(rows, truth)
    assert min(late_ms["marked"] + late_ms["unmarked"]) > -0.1
    assert median(late_ms["unmarked"]) < 1.0
    assert abs(median(gap_errors_ms)) < 0.5
    if case == "a stall":
        # Four of sixteen tokens come late to the reader; more where a busy machine holds up the engine.
        assert metrics["fluidity"]["mean"] <= 0.75 + 1e-9
        assert metrics["longest_stall_ms"]["p50"]["value"] > 1_499

    # What the engine was asked to do, it did not do sooner.
    assert metrics["ttft_ms"]["p50"]["value"] > 39.9
    assert done.report["tokens"]["completion"] == 12 * TOKENS == sum(one["tokens"] for one in seen)
    assert (done.report["tokens"]["reasoning"] or 0) == sum(one["reasoning"] for one in seen)
    assert done.report["tokens"]["mismatch"] in (0, None)
    for row in rows:
        assert row["prompt_tokens"] == truth[row["response_id"]]["prompt_tokens"]


def test_an_embedding_is_as_late_as_the_engine_made_it(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "truth.jsonl"
    with SimProcess(["--ttft", "40ms", "--truth-log", str(log)]) as engine:
        done = cli("measure", engine.url, "--protocol", "embeddings", "-c", "4", "-n", "12", "--json", "-")
        engine.stop()
    truth = {request["id"]: request for request in read_truth(log)}
    rows = open_run("latest").rows().to_pylist()
    seen, late_ms = [], []
    for row in rows:
        request = truth[row["response_id"]]
        seen.append((row["event_ns"][0] - row["sent_ns"]) / 1e6)
        late_ms.append(seen[-1] - (request["events"][0][0] - request["received_ns"]) / 1e6)
        assert row["event_kind"] == [8]
        assert row["prompt_tokens"] == request["prompt_tokens"]
    assert done.report["metrics"]["e2e_ms"]["p50"]["value"] == pytest.approx(median(seen), abs=1e-6)
    assert "ttft_ms" not in done.report["metrics"]
    assert done.report["tokens"]["completion"] in (0, None)
    assert min(late_ms) > -0.1
    assert median(late_ms) < 1.0

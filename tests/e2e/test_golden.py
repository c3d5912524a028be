"""Figures of a run against what the reference engine says it did: its truth log, by its own clock.

What is expected is computed here anew, from the log alone. Times are compared in the median, so that one
request that a busy machine held up says nothing.
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


def expected(request: dict[str, Any]) -> dict[str, Any]:
    """The metrics of one request, from its line in the truth log."""
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


@pytest.mark.parametrize("case", CASES)
def test_figures_are_what_the_engine_did(cli: Cli, tmp_path: Path, case: str) -> None:
    log = tmp_path / "truth.jsonl"
    timing = ("--ttft", "40ms", "--itl", "5ms", "--output-tokens", str(TOKENS))
    with SimProcess([*timing, *CASES[case], "--truth-log", str(log)]) as engine:
        done = cli("measure", engine.url, "--prompt-tokens", "16", "-c", "4", "-n", "12", "--json", "-")
        engine.stop()
    assert done.report["outcomes"] == {"attempted": 12, "ok": 12, "by_outcome": {"ok": 12}}
    # The check before load is in the log too, and in no row.
    truth = {request["id"]: request for request in read_truth(log)}
    rows = open_run("latest").rows().to_pylist()
    mine = [expected(truth[row["response_id"]]) for row in rows]
    metrics = done.report["metrics"]

    for name in ("ttft_ms", "ttfat_ms", "e2e_ms"):
        assert metrics[name]["p50"]["value"] == pytest.approx(median(one[name] for one in mine), abs=1.0)
    for name in ("tpot_ms", "longest_stall_ms"):
        assert metrics[name]["p50"]["value"] == pytest.approx(median(one[name] for one in mine), abs=0.5)
    for name in ("chunk_gap_ms", "itl_ms"):
        pooled = [value for one in mine for value in one[name]]
        assert metrics[name]["p50"]["value"] == pytest.approx(median(pooled), abs=0.5)
    assert metrics["fluidity"]["mean"] == pytest.approx(sum(one["fluidity"] for one in mine) / 12, abs=0.01)
    if case == "a stall":
        assert metrics["fluidity"]["mean"] == pytest.approx(0.75)
        assert metrics["longest_stall_ms"]["p50"]["value"] == pytest.approx(1_505, abs=50)

    # What the engine was asked to do, it did not do sooner.
    assert metrics["ttft_ms"]["p50"]["value"] > 39.9
    assert done.report["tokens"]["completion"] == 12 * TOKENS == sum(one["tokens"] for one in mine)
    assert (done.report["tokens"]["reasoning"] or 0) == sum(one["reasoning"] for one in mine)
    assert done.report["tokens"]["mismatch"] in (0, None)
    for row in rows:
        assert row["prompt_tokens"] == truth[row["response_id"]]["prompt_tokens"]

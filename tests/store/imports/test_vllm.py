from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.store.imports.vllm import RATES, read_result
from tests.store.imports.recorded import vllm_result

MS = 1_000_000


def test_a_detailed_result() -> None:
    run = read_result(vllm_result(), "file")
    assert (run.tool, run.model, run.protocol) == ("vllm", "truth", "openai-chat")
    assert run.started_at is not None
    assert run.started_at.isoformat() == "2026-11-30T10:15:00+00:00"
    first, second, failed = run.rows
    assert (first.sent_ns, second.sent_ns) == (0, 250 * MS)
    assert first.event_ns == (100 * MS, 110 * MS, 120 * MS)
    assert second.event_ns == (450 * MS, 470 * MS, 490 * MS, 510 * MS)
    assert (second.completion_tokens, second.prompt_tokens, second.text) == (4, 10, "d e f g")
    assert (failed.outcome, failed.status, failed.event_ns) == ("rate_limited", 429, ())
    assert failed.end_ns == failed.sent_ns


def test_what_waited_for_a_slot_was_due_before() -> None:
    assert [row.due_ns for row in read_result(vllm_result(), "file").rows] == [0, 200 * MS, 400 * MS]


@pytest.mark.parametrize(
    ("fields", "load"),
    [
        ({}, {"arrival": {"kind": "closed", "concurrency": 2}, "requests": 3}),
        ({"max_concurrency": None}, {"arrival": {"kind": "closed", "concurrency": 3}, "requests": 3}),
        (
            {"request_rate": 4.0},
            {"arrival": {"kind": "poisson", "rate_requests_s": 4.0}, "concurrency_cap": 2, "requests": 3},
        ),
        (
            {"request_rate": 4.0, "burstiness": 0.5, "max_concurrency": None},
            {"arrival": {"kind": "gamma", "rate_requests_s": 4.0, "burstiness": 0.5}, "requests": 3},
        ),
        (
            {"request_rate": 4.0, "ramp_up_strategy": "linear", "ramp_up_start_rps": 1, "ramp_up_end_rps": 9},
            {
                "arrival": {"kind": "ramp", "from_requests_s": 1.0, "to_requests_s": 9.0},
                "concurrency_cap": 2,
                "requests": 3,
            },
        ),
    ],
)
def test_the_load(fields: dict[str, Any], load: dict[str, Any]) -> None:
    assert read_result(vllm_result(**fields), "file").load == load


def test_totals_alone_are_a_run_without_requests() -> None:
    run = read_result(vllm_result(detailed=False), "file")
    assert run.rows == []
    assert run.figures["ttft_ms"]["p99"] == 199.0
    assert run.figures["requests_s"] == {"n": 1.0, "mean": 2.0}
    assert "--save-detailed" in run.lacks[0]


def test_without_starts_there_is_no_place_in_time() -> None:
    document = vllm_result()
    del document["start_times"]
    run = read_result(document, "file")
    assert RATES in run.hidden
    assert [row.sent_ns for row in run.rows] == [0, 0, 0]


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"itls": [[]]}, "itls: 1 items, where ttfts has 3"),
        ({"start_times": [1.0]}, "start_times: 1 items"),
        ({"ttfts": [0.1, "x", 0.0]}, r"ttfts\[1\]: 'x' is no number"),
        ({"itls": [[-1.0], [], []]}, r"itls\[0\]: -1.0 is no duration"),
        ({"output_lens": [1.5, 2, 3]}, r"output_lens\[0\]: 1.5 is no count"),
        ({"ttfts": []}, "items, where ttfts has 0"),
        ({"mean_ttft_ms": "fast"}, "mean_ttft_ms: 'fast' is no number"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(fields: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        read_result(vllm_result(**fields), "file")


def test_an_answer_with_a_token_and_an_error_did_not_end() -> None:
    document = vllm_result(errors=["Traceback ... payload error", "", "Too Many Requests"])
    assert read_result(document, "file").rows[0].outcome == "truncated"

import math
from dataclasses import replace

import pytest

from paceline.report.words import (
    arrival_words,
    bound,
    figure,
    interval,
    label,
    load_words,
    median,
    median_interval,
    samples_word,
    sentence_list,
    share,
    shorten,
    unit,
    workload_words,
)
from paceline.stats.quantiles import Estimate


def estimate(value: float, lo: float | None, hi: float | None, n: int = 10) -> Estimate:
    return Estimate(value, lo, hi, lo is not None and hi is not None, n, None)


def test_an_estimate_in_short() -> None:
    assert bound("ttft_ms", estimate(12.34, 11.0, 13.0)) == "12.3"
    assert bound("ttft_ms", estimate(12.34, 11.0, None)) == ">=11.0"
    assert bound("ttft_ms", estimate(12.34, None, None)) == "~12.3"
    assert bound("ttft_ms", estimate(math.nan, None, None, 0)) == "-"
    assert interval("ttft_ms", estimate(12.34, 11.0, 13.0)) == "11.0 to 13.0"
    assert interval("ttft_ms", estimate(12.34, 11.0, None)) == ""


def test_a_median_is_shown_with_an_open_interval() -> None:
    half_open, hidden = estimate(50.1, 50.0, None), replace(estimate(50.1, 50.0, None), known=False)
    assert (median("ttft_ms", half_open), median_interval("ttft_ms", half_open)) == ("50.1", "50.0 to ?")
    assert (median("ttft_ms", hidden), median_interval("ttft_ms", hidden)) == (">=50.0", "")
    handful, none = estimate(50.1, None, None), estimate(math.nan, None, None, 0)
    assert (median("ttft_ms", handful), median_interval("ttft_ms", handful)) == ("50.1", "? to ?")
    assert (median("ttft_ms", none), median_interval("ttft_ms", none)) == ("-", "")
    assert median_interval("ttft_ms", estimate(12.34, 11.0, 13.0)) == "11.0 to 13.0"


def test_samples_by_what_is_pooled() -> None:
    assert [samples_word(name) for name in ("itl_ms", "chunk_gap_ms", "ttft_ms")] == [
        "tokens",
        "gaps",
        "requests",
    ]


def test_figures_in_their_units() -> None:
    assert (figure("fluidity", 0.5), unit("fluidity")) == ("50.0", "%")
    assert (figure("itl_ms", 1234.5), unit("itl_ms")) == ("1,234", "ms")
    assert figure("itl_ms", math.nan) == "-"


@pytest.mark.parametrize(
    ("n", "of", "text"),
    [
        (0, 10, "0%"),
        (10, 10, "100%"),
        (1, 2, "50%"),
        (1187, 1190, "99.7%"),
        (99999, 100000, "99.999%"),
        (1, 1190, "0.1%"),
        (0, 0, "0%"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(n: int, of: int, text: str) -> None:
    assert share(n, of) == text


@pytest.mark.parametrize(
    ("load", "text"),
    [
        (
            {
                "arrival": {"kind": "closed", "concurrency": 4},
                "duration_ns": 30_000_000_000,
                "warmup_ns": 5_000_000_000,
            },
            "closed loop, 4 in flight, 30 s, after 5 s of warm-up",
        ),
        (
            {
                "arrival": {"kind": "constant", "rate_requests_s": 2.5},
                "requests": 1000,
                "warmup_requests": 10,
            },
            "open loop, 2.5 requests/s, evenly spaced, 1,000 requests, after 10 warm-up requests",
        ),
        (
            {"arrival": {"kind": "gamma", "rate_requests_s": 5.0, "burstiness": 0.5}, "concurrency_cap": 8},
            "open loop, 5 requests/s, gamma gaps of shape 0.5, at most 8 in flight",
        ),
        (
            {"arrival": {"kind": "ramp", "from_requests_s": 1.0, "to_requests_s": 20.0}},
            "open loop, ramp from 1 to 20 requests/s",
        ),
        ({}, "load unknown"),
    ],
)
def test_the_load_in_words(load: dict[str, object], text: str) -> None:
    assert load_words(load) == text


def test_the_workload_in_words() -> None:
    assert workload_words(
        {"prompt_tokens": "uniform:10:20", "max_tokens": 64, "unique_prefix": True, "tokenizer": "words"}
    ) == ("prompts of uniform:10:20 tokens, answers of at most 64 tokens, no common beginning")
    assert workload_words(
        {
            "prompt_tokens": "8",
            "output_tokens": "4",
            "shared_prefix_tokens": 100,
            "streaming": False,
            "tokenizer": "words",
        }
    ) == ("prompts of 8 tokens, answers of 4 tokens, 100 shared tokens before each prompt, not streaming")
    assert workload_words({}) == ""


@pytest.mark.parametrize("tokenizer", [{}, {"tokenizer": None}, {"tokenizer": "approximate"}])
def test_without_a_tokenizer_lengths_are_approximate(tokenizer: dict[str, object]) -> None:
    workload = {"prompt_tokens": "512", "output_tokens": "16", "shared_prefix_tokens": 100, **tokenizer}
    assert workload_words(workload) == (
        "prompts of about 512 tokens, answers of 16 tokens, about 100 shared tokens before each prompt"
    )


def test_long_text_is_cut() -> None:
    assert shorten("12345678", 8) == "12345678"
    assert shorten("123456789", 8) == "12345..."


def test_lists() -> None:
    assert [sentence_list(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_a_load_of_jobs_is_said_in_jobs() -> None:
    load = {
        "arrival": {"kind": "closed", "concurrency": 4},
        "jobs": True,
        "requests": 20,
        "warmup_requests": 2,
    }
    assert load_words(load) == "closed loop, 4 jobs at a time, 20 jobs, after 2 warm-up jobs"
    load["arrival"] = {"kind": "poisson", "rate_requests_s": 2.0}
    assert load_words({**load, "concurrency_cap": 3}).startswith(
        "open loop, 2 jobs/s, Poisson, at most 3 jobs at a time, 20 jobs"
    )
    assert arrival_words({"kind": "replay"}, "jobs") == "replay, jobs at the instants of the trace"


def test_workloads_of_calls_and_of_files() -> None:
    call = [{"name": "plan"}, {"name": "step", "repeat": "30"}, {"name": "answer"}]
    assert workload_words({"name": "agent", "call": call, "cached_share": 0.25}) == (
        "agent, jobs of plan, 30 x step and answer, 25% of each prompt common to all"
    )
    assert workload_words({"trace": {"path": "azure.csv"}}) == "prompts of the trace in azure.csv"
    for rows, words in (("conversation", "conversations"), ("log", "logged requests"), (None, "prompts")):
        said = workload_words({"data": {"path": "a.jsonl", "rows": rows}})
        assert said == f"{words} of the data in a.jsonl"
    asked = {"prompt_tokens": "64", "output_tokens": "128"}
    assert workload_words(asked, "openai-embeddings") == "prompts of about 64 tokens"


def test_job_metrics_have_labels_units_and_samples() -> None:
    assert (label("job_ms"), unit("job_ms"), samples_word("job_ms")) == ("Job time", "ms", "jobs")

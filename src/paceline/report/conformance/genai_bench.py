"""The figures of genai-bench."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import linear, rate
from paceline.report.conformance.parts import (
    BEFORE_CONNECTION,
    FIRST_IS_ONE,
    NUMPY,
    OWN_CONNECTION,
    ending_as,
    ms,
    read_late,
    span_s,
    tails,
    tokens_by_usage,
    whole_run,
    with_tool_calls,
)
from paceline.report.conformance.recording import TEXT, Recording
from paceline.stats.frame import Bools

_COUNTED = ("ok", "truncated")
_FASTEST_TOK_S = 1000.0


def compute(recording: Recording) -> View:
    """Its figures for a chat endpoint."""
    good = _good(recording)
    good = good.take(~_too_fast(good))
    tokens = tokens_by_usage(good)
    many = tokens > 1
    latency_ns = good.end_ns - good.begun_ns
    ttft_ns = good.first_ns - good.begun_ns
    seconds = span_s(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=seconds,
        figures={
            "ttft_ms": linear(ms(ttft_ns)),
            "tpot_ms": linear(ms((latency_ns - ttft_ns)[many]) / np.maximum(tokens[many] - 1, 1)),
            "e2e_ms": linear(ms(latency_ns)),
            "output_tok_s": rate(float(tokens.sum()), seconds),
            "requests_s": rate(len(good), seconds),
        },
    )


def _good(recording: Recording) -> Recording:
    text = recording.only(TEXT)
    return text.take(text.answered(*_COUNTED) & text.streaming & (text.event_counts > 0))


def _too_fast(good: Recording) -> Bools:
    """Those it throws away: over 1000 tokens a second after the first."""
    tokens = tokens_by_usage(good)
    decode_s = (good.end_ns - good.first_ns) / 1e9
    fast: Bools = (tokens > 1) & (tokens - 1 > _FASTEST_TOK_S * decode_s)
    return fast


_ON = "2026-11-30"

DEFINITION = Definition(
    name="genai-bench",
    title="genai-bench",
    version="00e863aa",
    sources=(
        Source(
            "sgl-project/genai-bench",
            "genai_bench/metrics/request_metrics_collector.py",
            "007ac4d74416db9a261b776b6826bc778b580e12",
            _ON,
        ),
        Source(
            "sgl-project/genai-bench",
            "genai_bench/metrics/aggregated_metrics_collector.py",
            "00e863aa17084f4eb9c60edacab15b4e55631ec8",
            _ON,
        ),
        Source(
            "sgl-project/genai-bench",
            "genai_bench/user/openai_user.py",
            "0aadae2775deb09f5ebd4da5b20a2e0f4a14ff7d",
            _ON,
        ),
    ),
    requests="status 200 with a token, less those faster than 1000 tokens/s after the first, which it "
    "throws away",
    window="from the start of the run to its end, its own warm-up and cool-down requests included",
    tokens="the server's usage; without it, its tokenizer over the text",
    start="before a connection is opened: each request has one of its own",
    percentiles=NUMPY,
    metrics={
        "ttft_ms": Meaning("ttft", "start -> first event with content or reasoning (in seconds)"),
        "tpot_ms": Meaning("tpot", "(e2e_latency - ttft) / (tokens - 1)"),
        "e2e_ms": Meaning("e2e_latency", "start -> the usage event or [DONE] (in seconds)"),
        "output_tok_s": Meaning(
            "mean_output_throughput_tokens_per_s", "tokens of the counted requests over the run"
        ),
        "requests_s": Meaning("requests_per_second", "good requests over the run"),
    },
    differences=(
        Difference(
            ("e2e_ms", "tpot_ms"),
            "until the usage event or [DONE], not until the last token; here until the end of the body",
            tails,
        ),
        Difference(
            ("ttft_ms", "tpot_ms", "e2e_ms", "requests_s"),
            "requests of more than 1000 tokens/s are thrown away as abnormal: with several tokens a chunk "
            "or a "
            "fast engine that is most of them",
            lambda recording: int(_too_fast(_good(recording)).sum()),
        ),
        FIRST_IS_ONE,
        Difference(("ttft_ms",), "tool-call arguments are not read", with_tool_calls),
        BEFORE_CONNECTION,
        OWN_CONNECTION,
        whole_run(),
        Difference(
            ("ttft_ms", "e2e_ms", "requests_s"),
            "an answer without an end counts as good once it had a token",
            ending_as("truncated"),
        ),
        read_late("in a process that many users share", "ttft_ms", "e2e_ms"),
    ),
    compute=compute,
)

"""The figures of SGLang's `bench_serving`."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import linear, rate
from paceline.report.conformance.parts import (
    BEFORE_CONNECTION,
    FIRST_IS_ONE,
    NO_TOOL_CALLS,
    NUMPY,
    ONE_A_CHUNK,
    OWN_CONNECTION,
    ending_as,
    ms,
    read_late,
    span_s,
    tails,
    tokens_by_usage,
    whole_run,
)
from paceline.report.conformance.recording import TEXT, Recording
from paceline.stats.frame import MISSING

_COUNTED = ("ok", "truncated", "error_in_stream", "empty")


def compute(recording: Recording) -> View:
    """Its figures for a chat endpoint (`sglang-oai-chat`, `vllm-chat`)."""
    good = recording.take(recording.answered(*_COUNTED)).only(TEXT)
    # Where the server says nothing it takes the length that was asked for.
    asked = np.where(good.asked_tokens != MISSING, good.asked_tokens, good.streamed_tokens)
    tokens = tokens_by_usage(good, otherwise=asked)
    many = tokens > 1
    latency_ns = good.end_ns - good.begun_ns
    with_text = good.event_counts > 0
    ttft_ns = np.where(with_text, good.first_ns - good.begun_ns, 0)
    ttft_ns = np.where(good.streaming, ttft_ns, latency_ns)
    seconds = span_s(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=seconds,
        figures={
            "ttft_ms": linear(ms(ttft_ns)),
            "itl_ms": linear(ms(good.take(good.streaming).gaps_ns)),
            "tpot_ms": linear(ms((latency_ns - ttft_ns)[many]) / np.maximum(tokens[many] - 1, 1)),
            "e2e_ms": linear(ms(latency_ns)),
            "output_tok_s": rate(float(tokens.sum()), seconds),
            "requests_s": rate(len(good), seconds),
        },
    )


def _without_text(recording: Recording) -> int:
    good = recording.take(recording.answered(*_COUNTED) & recording.streaming).only(TEXT)
    return int((good.event_counts == 0).sum())


_ON = "2026-11-30"

DEFINITION = Definition(
    name="sglang",
    title="SGLang bench_serving",
    version="00f9ec47",
    sources=(
        Source(
            "sgl-project/sglang",
            "python/sglang/benchmark/serving.py",
            "00f9ec472ffef82714c0407b842ccb5bd254d130",
            _ON,
        ),
    ),
    requests="status 200 and read to the end without an exception, with text or without",
    window="from before the first request is made to when the last task is done",
    tokens="the server's usage where it sends one unasked; else the length that was asked for",
    start="before a connection is opened: each request has a session and a connection of its own",
    percentiles=NUMPY,
    metrics={
        "ttft_ms": Meaning(
            "ttft",
            "start -> first event with content or reasoning; 0 where there was none; not streaming: e2e",
        ),
        "itl_ms": Meaning("itl", "gaps between events with content or reasoning, pooled"),
        "tpot_ms": Meaning("tpot", "(latency - ttft) / (tokens - 1)"),
        "e2e_ms": Meaning("e2e_latency", "start -> last line of the body, which is [DONE]"),
        "output_tok_s": Meaning("output_throughput", "tokens of the good requests over the whole duration"),
        "requests_s": Meaning("request_throughput", "good requests over the whole duration"),
    },
    differences=(
        Difference(
            ("e2e_ms", "tpot_ms"),
            "until the body's last line: usage and [DONE] that come after the last token are in both",
            tails,
        ),
        Difference(
            ("ttft_ms", "tpot_ms"),
            "a request without content or reasoning is a success with a TTFT of 0",
            _without_text,
        ),
        NO_TOOL_CALLS,
        ONE_A_CHUNK,
        FIRST_IS_ONE,
        BEFORE_CONNECTION,
        OWN_CONNECTION,
        Difference(
            ("output_tok_s", "tpot_ms"),
            "it does not ask for usage: against a server that sends it only when asked it takes the length "
            "asked "
            "for, even where the answer ended early. These figures have the usage that our run asked for",
            own="of the lengths asked for, where the server sends usage only when asked",
        ),
        whole_run(),
        Difference(
            ("ttft_ms", "e2e_ms", "requests_s"),
            "an answer without a token or an end, or with an error in its stream, counts as good",
            ending_as("truncated", "error_in_stream", "empty"),
        ),
        read_late("line by line"),
    ),
    compute=compute,
    by_gaps=("itl_ms",),
)

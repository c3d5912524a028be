"""The figures of `vllm bench serve`."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import linear, rate
from paceline.report.conformance.parts import (
    BEFORE_CONNECTION,
    FIRST_IS_ONE,
    NUMPY,
    ONE_A_CHUNK,
    ending_as,
    ms,
    read_late,
    silent_events,
    span_s,
    tokens_by_usage,
    whole_answers,
    whole_run,
)
from paceline.report.conformance.recording import Recording

_COUNTED = ("ok", "truncated", "error_in_stream")


def compute(recording: Recording) -> View:
    """Its figures for a chat or completions endpoint, from the events that carried a token."""
    streamed = recording.streaming & (recording.event_counts > 0)
    good = recording.take(recording.answered(*_COUNTED) & streamed)
    tokens = tokens_by_usage(good)
    many = tokens > 1
    latency_ns = good.last_ns - good.begun_ns
    ttft_ns = good.first_ns - good.begun_ns
    seconds = span_s(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=seconds,
        figures={
            "ttft_ms": linear(ms(ttft_ns)),
            "itl_ms": linear(ms(good.gaps_ns)),
            "tpot_ms": linear(ms((latency_ns - ttft_ns)[many]) / np.maximum(tokens[many] - 1, 1)),
            "e2e_ms": linear(ms(latency_ns)),
            "output_tok_s": rate(float(tokens.sum()), seconds),
            "requests_s": rate(len(good), seconds),
        },
    )


_ON = "2026-11-30"

DEFINITION = Definition(
    name="vllm",
    title="vllm bench serve",
    version="009e6d4a",
    sources=(
        Source(
            "vllm-project/vllm", "vllm/benchmarks/serve.py", "009e6d4a1cd6ba3fb2a9fc00f4ec06f5297232a1", _ON
        ),
        Source(
            "vllm-project/vllm",
            "vllm/benchmarks/lib/endpoint_request_func.py",
            "02cfb534df5674737558730b10f23d1b7aef9b7c",
            _ON,
        ),
    ),
    requests="status 200, read to the end without an exception, with at least one event that has `choices`",
    window="from before the first request is made to when the last task is done",
    tokens="the server's usage; without it, its own tokenizer over the text (1 where it has none)",
    start="before the connection is taken from the pool or opened",
    percentiles=NUMPY,
    metrics={
        "ttft_ms": Meaning("ttft", "start -> first event with `choices`, token or not"),
        "itl_ms": Meaning("itl", "gaps between events with `choices`, pooled; never divided among tokens"),
        "tpot_ms": Meaning("tpot", "(e2el - ttft) / (tokens - 1)"),
        "e2e_ms": Meaning("e2el", "start -> last event with `choices`"),
        "output_tok_s": Meaning("output_throughput", "tokens of the good requests over the whole duration"),
        "requests_s": Meaning("request_throughput", "good requests over the whole duration"),
    },
    differences=(
        Difference(
            ("ttft_ms",),
            "an event with a role and no token counts as the first: its TTFT ends there. Such events have no "
            "instant in our record: these figures do without them",
            silent_events,
            own="shorter where it counts an event with the role: rows have no instant of it",
        ),
        Difference(
            ("itl_ms", "tpot_ms", "e2e_ms"),
            "an event with a role or a finish reason and no token counts as a token: it makes a gap more, "
            "and the last one ends the request. Such events have no instant in our record: these figures do "
            "without them",
            silent_events,
            own="with events that carry no token: rows have no instant of them",
        ),
        BEFORE_CONNECTION,
        ONE_A_CHUNK,
        FIRST_IS_ONE,
        whole_run(". Failed requests lengthen its window and their tokens do not count"),
        Difference(
            ("ttft_ms", "itl_ms", "e2e_ms"),
            "an answer with an error in its stream, or without an end, counts as good once an event came",
            ending_as("truncated", "error_in_stream"),
        ),
        Difference(
            ("ttft_ms", "e2e_ms", "requests_s"),
            "it always streams: answers that came whole have no place in its figures",
            whole_answers,
        ),
        read_late("when a chunk has been read and cut into events, one clock reading for each"),
    ),
    compute=compute,
    by_gaps=("itl_ms",),
)

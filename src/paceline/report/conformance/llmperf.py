"""The figures of LLMPerf."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import linear, rate
from paceline.report.conformance.parts import (
    BEFORE_CONNECTION,
    NO_TOOL_CALLS,
    OWN_CONNECTION,
    ending_as,
    ms,
    read_late,
    span_s,
    tails,
    whole_run,
    with_reasoning,
)
from paceline.report.conformance.recording import Recording
from paceline.stats.frame import CONTENT, MISSING

_COUNTED = ("ok", "truncated", "empty")


def compute(recording: Recording) -> View:
    """Its figures for a chat endpoint; in place of its tokenizer, our best count of the content's tokens."""
    good = recording.take(recording.answered(*_COUNTED) & recording.streaming).only(CONTENT)
    tokens = good.streamed_tokens
    last_ns = np.where(good.last_ns == MISSING, good.begun_ns, good.last_ns)
    first_ns = np.where(good.first_ns == MISSING, good.begun_ns, good.first_ns)
    until_last = ms(last_ns - good.begun_ns)
    seconds = span_s(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=seconds,
        figures={
            "ttft_ms": linear(ms(first_ns - good.begun_ns)),
            "itl_ms": linear(np.where(tokens > 0, until_last / np.maximum(tokens, 1), 0.0)),
            "e2e_ms": linear(ms(good.end_ns - good.begun_ns)),
            "output_tok_s": rate(float(tokens.sum()), seconds),
            "requests_s": rate(len(good), seconds),
        },
    )


def _without_content(recording: Recording) -> int:
    good = recording.take(recording.answered(*_COUNTED) & recording.streaming).only(CONTENT)
    return int((good.event_counts == 0).sum())


_ON = "2026-11-30"

DEFINITION = Definition(
    name="llmperf",
    title="LLMPerf",
    version="004d3afb",
    sources=(
        Source(
            "ray-project/llmperf", "token_benchmark_ray.py", "004d3afb0e4b01201ea21dd5085135ee291a67c0", _ON
        ),
        Source(
            "ray-project/llmperf",
            "src/llmperf/ray_clients/openai_chat_completions_client.py",
            "0451d33bd3b1c304b0d5b1cc74dda15c13b7415c",
            _ON,
        ),
    ),
    requests="status 200, every line with `choices`, no exception; with text or without",
    window="from before the first request to after the last batch was collected",
    tokens="one tokenizer (Llama's, or the model's) over the content. Here: our best count of the content's "
    "events",
    start="before a connection is opened: each request has one of its own",
    percentiles="between the two nearest samples (linear, pandas)",
    metrics={
        "ttft_ms": Meaning(
            "ttft_s", "start -> first event with content; 0 where there was none (in seconds)"
        ),
        "itl_ms": Meaning(
            "inter_token_latency_s",
            "(last content - start) / tokens, one value a request: with the wait for the first token",
        ),
        "e2e_ms": Meaning("end_to_end_latency_s", "start -> the body has ended (in seconds)"),
        "output_tok_s": Meaning(
            "mean_output_throughput_token_per_s", "tokens of the good requests over the whole time"
        ),
        "requests_s": Meaning(
            "num_completed_requests_per_min", "good requests over the whole time (a minute; here a second)"
        ),
    },
    differences=(
        Difference(
            ("itl_ms",),
            "a mean for each request that has TTFT in it: between two tools this is the figure that parts "
            "the "
            "most, and it grows with prompts though decoding does not change",
        ),
        Difference(
            ("ttft_ms", "itl_ms"),
            "reasoning is not read: TTFT ends at the first answer token",
            with_reasoning,
        ),
        NO_TOOL_CALLS,
        Difference(
            ("ttft_ms", "itl_ms"), "a request without content is a success with a TTFT of 0", _without_content
        ),
        Difference(("e2e_ms",), "until the body has ended, not until the last token", tails),
        BEFORE_CONNECTION,
        OWN_CONNECTION,
        Difference(
            ("requests_s", "output_tok_s"),
            "an event without `choices`, such as usage, makes the request an error there; our run asked for "
            "usage, and these figures let such events pass",
            own="without the requests whose stream carries usage, which are errors to it",
        ),
        whole_run(". It starts requests in batches and waits for the slowest, so its own load has pauses"),
        Difference(
            ("ttft_ms", "e2e_ms", "requests_s"),
            "an answer without a token or an end counts as good",
            ending_as("truncated", "empty"),
        ),
        read_late("when a line has been read"),
    ),
    compute=compute,
)

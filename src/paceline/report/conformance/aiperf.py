"""AIPerf's figures."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import linear, rate
from paceline.report.conformance.parts import (
    BEFORE_CONNECTION,
    ending_as,
    in_bundles,
    ms,
    read_late,
    span_s,
    tokens_by_usage,
    whole_run,
)
from paceline.report.conformance.recording import Recording

_COUNTED = ("ok", "truncated", "error_in_stream", "malformed")


def compute(recording: Recording) -> View:
    """Its figures, with `--use-server-token-count`: the server's usage where there is one."""
    good = recording.take(recording.answered(*_COUNTED) & (recording.event_counts > 0))
    streamed = good.take(good.streaming)
    tokens = tokens_by_usage(good)
    of = tokens[good.streaming]
    many = of > 1
    decode_ns = (streamed.last_ns - streamed.first_ns)[many]
    seconds = span_s(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=seconds,
        figures={
            "ttft_ms": linear(ms(streamed.first_ns - streamed.begun_ns)),
            "itl_ms": linear(ms(decode_ns) / np.maximum(of[many] - 1, 1)),
            "chunk_gap_ms": linear(ms(streamed.gaps_ns)),
            "e2e_ms": linear(ms(good.last_ns - good.begun_ns)),
            "output_tok_s": rate(float(tokens.sum()), seconds),
            "requests_s": rate(len(good), seconds),
        },
    )


_ON = "2026-11-30"
_AT = "0.13.0"
_TYPES = "src/aiperf/metrics/types"

DEFINITION = Definition(
    name="aiperf",
    title="AIPerf",
    version=_AT,
    sources=(
        Source("ai-dynamo/aiperf", f"{_TYPES}/ttft_metric.py", _AT, _ON),
        Source("ai-dynamo/aiperf", f"{_TYPES}/inter_token_latency_metric.py", _AT, _ON),
        Source("ai-dynamo/aiperf", f"{_TYPES}/inter_chunk_latency_metric.py", _AT, _ON),
        Source("ai-dynamo/aiperf", f"{_TYPES}/request_latency_metric.py", _AT, _ON),
        Source("ai-dynamo/aiperf", "src/aiperf/metrics/metric_dicts.py", _AT, _ON),
        Source("ai-dynamo/aiperf", "src/aiperf/metrics/accumulator.py", _AT, _ON),
        Source("ai-dynamo/aiperf", "src/aiperf/transports/aiohttp_client.py", _AT, _ON),
    ),
    requests="those without an error and with at least one response that carries something",
    window="its profiling phase: from before the first request is handed out to when the last one has come "
    "back, failed ones included; here from the begin of the first to the end of the last",
    tokens="its own tokenizer over the whole text by default; with `--use-server-token-count`, as here, the "
    "server's usage",
    start="before a connection is taken from the pool or opened",
    percentiles="between the two nearest samples (linear)",
    metrics={
        "ttft_ms": Meaning(
            "time_to_first_token", "start -> first response with content, reasoning or a tool call"
        ),
        "itl_ms": Meaning(
            "inter_token_latency",
            "(request latency - TTFT) / (tokens - 1), one value a request; with `--per-chunk-usage` less the "
            "first chunk's tokens in place of 1",
        ),
        "chunk_gap_ms": Meaning("inter_chunk_latency", "gaps between responses that carry something, pooled"),
        "e2e_ms": Meaning("request_latency", "start -> last response that carries something"),
        "output_tok_s": Meaning("output_token_throughput", "tokens of the good requests over the phase"),
        "requests_s": Meaning("request_throughput", "good requests over the phase"),
    },
    differences=(
        BEFORE_CONNECTION,
        Difference(
            ("itl_ms",),
            "a mean for each request, not the gaps: near to our time per token, not to our ITL",
        ),
        Difference(("itl_ms",), "takes the first chunk for one token, whatever it carries", in_bundles),
        whole_run(),
        Difference(
            ("ttft_ms", "itl_ms", "e2e_ms"),
            "an answer with an error in its stream, an event that cannot be read, or no end counts as good "
            "once "
            "it had a token",
            ending_as("truncated", "error_in_stream", "malformed"),
        ),
        read_late("when a chunk has been read"),
        Difference(
            ("output_tok_s", "requests_s"),
            "its phase begins some ms before its first request and ends after its last, so its own rates are "
            "lower than these by that much; its `benchmark_duration` is another time",
            own="lower, since its phase is some ms longer",
        ),
        Difference(
            ("itl_ms", "output_tok_s"),
            "without `--use-server-token-count` it counts tokens with its own tokenizer",
            own="of its own tokenizer's counts, without `--use-server-token-count`",
        ),
    ),
    compute=compute,
    by_gaps=("chunk_gap_ms",),
)

"""The figures of inference-perf."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import Floats, linear, rate
from paceline.report.conformance.parts import (
    BEFORE_CONNECTION,
    NO_TOOL_CALLS,
    NUMPY,
    ending_as,
    in_bundles,
    ms,
    read_late,
    span_s,
    tails,
    whole_run,
)
from paceline.report.conformance.recording import TEXT, Recording

_COUNTED = ("ok", "truncated", "error_in_stream", "malformed", "empty")


def compute(recording: Recording) -> View:
    """Its figures; in place of its tokenizer, our best count of each event's tokens."""
    good = recording.take(recording.answered(*_COUNTED)).only(TEXT)
    tokens = good.streamed_tokens
    timed = good.streaming & (tokens > 1)
    spans = (good.last_ns - good.first_ns)[timed]
    seconds = span_s(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=seconds,
        figures={
            "ttft_ms": linear(ms((good.first_ns - good.begun_ns)[timed])),
            "itl_ms": linear(_token_gaps_ms(good.take(timed))),
            "tpot_ms": linear(ms(spans) / (tokens[timed] - 1)),
            "e2e_ms": linear(ms(good.end_ns - good.begun_ns)),
            "output_tok_s": rate(float(tokens.sum()), seconds),
            "requests_s": rate(len(good), seconds),
        },
    )


def _token_gaps_ms(recording: Recording) -> Floats:
    """Each token has the arrival of its chunk: the whole gap before the chunk, and none within it."""
    at_ns = np.repeat(recording.event_ns, recording.event_tokens)
    row = np.repeat(recording.event_row, recording.event_tokens)
    return ms(np.diff(at_ns)[row[1:] == row[:-1]])


def _of_one_token(recording: Recording) -> int:
    good = recording.take(recording.answered(*_COUNTED) & recording.streaming).only(TEXT)
    return int((good.streamed_tokens == 1).sum())


_ON = "2026-11-30"

DEFINITION = Definition(
    name="inference-perf",
    title="inference-perf",
    version="010d12fb",
    sources=(
        Source(
            "kubernetes-sigs/inference-perf",
            "inference_perf/reportgen/base.py",
            "010d12fb62cc3157b6bd228ef93dd865c7a05194",
            _ON,
        ),
        Source(
            "kubernetes-sigs/inference-perf",
            "inference_perf/apis/chat.py",
            "005a9a31bffdec78642dd90a3e4d62b17e82cd90",
            _ON,
        ),
        Source(
            "kubernetes-sigs/inference-perf",
            "inference_perf/client/modelserver/openai_client.py",
            "025219f570631ea0d8f8a7d54716abde0d3cc627",
            _ON,
        ),
    ),
    requests="status 200 and no exception, with text or without",
    window="from the start of the first request to the end of the last, failed ones included",
    tokens="its own tokenizer: over each chunk for the times, over the whole text for totals; the server's "
    "usage "
    "for totals on demand. Here: our best count of each event",
    start="before the connection is taken from the pool or opened",
    percentiles=NUMPY,
    metrics={
        "ttft_ms": Meaning(
            "time_to_first_token", "start -> first chunk with text; requests of two tokens or more"
        ),
        "itl_ms": Meaning(
            "inter_token_latency",
            "gaps between tokens, pooled, with all tokens of a chunk at its arrival: 0 within a chunk",
        ),
        "tpot_ms": Meaning("time_per_output_token", "(last token - first token) / (tokens - 1)"),
        "e2e_ms": Meaning("request_latency", "start -> the whole body has been read"),
        "output_tok_s": Meaning("output_tokens_per_sec", "tokens of the good requests over the window"),
        "requests_s": Meaning("requests_per_sec", "good requests over the window"),
    },
    differences=(
        Difference(
            ("itl_ms",),
            "tokens that share a chunk have gaps of 0 and the first of them the whole gap; ours divides "
            "the gap "
            "among them. Its median is 0 where most tokens share",
            in_bundles,
        ),
        Difference(("e2e_ms",), "until the body has ended, not until the last token", tails),
        Difference(
            ("tpot_ms",), "takes off one token for the first chunk, whatever that carries", in_bundles
        ),
        Difference(("ttft_ms",), "answers of one token have no TTFT", _of_one_token),
        NO_TOOL_CALLS,
        BEFORE_CONNECTION,
        whole_run(),
        Difference(
            ("e2e_ms", "requests_s"),
            "an event that cannot be read is passed over, and an answer without a token or an end, or with "
            "an "
            "error in its stream, counts as good",
            ending_as("truncated", "error_in_stream", "malformed", "empty"),
        ),
        Difference(
            ("itl_ms", "tpot_ms", "output_tok_s"),
            "its tokenizer cuts each chunk by itself, which can give another number of tokens than the "
            "server's",
            own="of its own tokenizer's counts, chunk by chunk",
        ),
        read_late("when a chunk has been read"),
    ),
    compute=compute,
    by_gaps=("itl_ms",),
)

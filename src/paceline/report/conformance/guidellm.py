"""GuideLLM's figures."""

import numpy as np

from paceline.report.conformance.definition import Definition, Difference, Meaning, Source, View
from paceline.report.conformance.figures import Figure, rate_over_time, stepped
from paceline.report.conformance.parts import (
    in_bundles,
    ms,
    read_late,
    tails,
    tokens_by_usage,
    whole_answers,
    whole_run,
)
from paceline.report.conformance.recording import Recording
from paceline.stats.frame import Ints

_COUNTED = ("ok", "truncated")


def compute(recording: Recording) -> View:
    """Its figures: TTFT, request latency, its two times per token, and rates as distributions over time."""
    good = recording.take(recording.answered(*_COUNTED) & (recording.event_counts > 0))
    streamed = good.streaming
    # It keeps no instant of a token for an answer that came whole.
    tokens = tokens_by_usage(good, otherwise=np.where(streamed, good.event_counts, 0))
    last_ns = np.where(streamed, good.last_ns, good.end_ns)
    decode_ns = np.where(streamed & (tokens > 1), good.last_ns - good.first_ns, 0)
    after_first = np.maximum(tokens - 1, 0)
    start_s, end_s = _window(recording)
    return View(
        requests=len(good),
        output_tokens=int(tokens.sum()),
        seconds=end_s - start_s,
        figures={
            "ttft_ms": stepped(ms((good.first_ns - good.sent_ns)[streamed])),
            "itl_ms": stepped(ms(decode_ns) / np.maximum(after_first, 1), after_first),
            "tpot_ms": stepped(ms(last_ns - good.sent_ns) / np.maximum(tokens, 1), tokens),
            "e2e_ms": stepped(ms(good.end_ns - good.sent_ns)),
            "output_tok_s": _token_rate(good, tokens, start_s, end_s),
            "requests_s": rate_over_time(good.end_ns / 1e9, np.ones(len(good)), start_s, end_s),
        },
    )


def _window(recording: Recording) -> tuple[float, float]:
    if not len(recording):
        return 0.0, 0.0
    return float(recording.sent_ns.min()) / 1e9, float(recording.end_ns.max()) / 1e9


def _token_rate(good: Recording, tokens: Ints, start_s: float, end_s: float) -> Figure:
    """Tokens as it lays them in time: one at the first event, the rest evenly from there to the last."""
    spread = good.streaming & (good.event_counts > 1)
    # All at the last event, or at the end of an answer that came whole.
    at_once = np.where(good.streaming, good.last_ns, good.end_ns)[~spread]
    some = good.take(spread)
    of = tokens[spread]
    row, steps = some.event_row, np.maximum(some.event_counts - 1, 1)
    step = np.arange(len(some.event_ns)) - some.starts[:-1][row]
    even_ns = some.first_ns[row] + (some.last_ns - some.first_ns)[row] * (step / steps[row])
    each = np.where(step == 0, np.minimum(of, 1)[row], np.maximum(of - 1, 0)[row] / steps[row])
    return rate_over_time(
        np.concatenate([even_ns, at_once]) / 1e9, np.concatenate([each, tokens[~spread]]), start_s, end_s
    )


_ON = "2026-11-30"
_AT = "0.8.1"

DEFINITION = Definition(
    name="guidellm",
    title="GuideLLM",
    version=_AT,
    sources=(
        Source("vllm-project/guidellm", "src/guidellm/schemas/base/request_stats.py", _AT, _ON),
        Source("vllm-project/guidellm", "src/guidellm/schemas/base/statistics.py", _AT, _ON),
        Source("vllm-project/guidellm", "src/guidellm/benchmark/schemas/metrics.py", _AT, _ON),
        Source("vllm-project/guidellm", "src/guidellm/backends/openai/http.py", _AT, _ON),
    ),
    requests="those that ended without an exception and with some text (its `successful`); one that overlaps "
    "the window counts whole",
    window="from the first request sent to the last one ended, less its own warm-up and cool-down, which are "
    "parts of the run's time or requests",
    tokens="the server's usage; without it, one a chunk",
    start="the head of the request is about to be written, after the connection was opened",
    percentiles="the smallest sample at which the share is reached (a step, never between two samples); "
    "ITL and "
    "TPOT weighted by the tokens of the request",
    metrics={
        "ttft_ms": Meaning(
            "time_to_first_token_ms", "start -> first line with content, reasoning or a tool call"
        ),
        "itl_ms": Meaning(
            "inter_token_latency_ms",
            "(last token - first token) / (tokens - 1), one value a request, weighted by tokens - 1",
        ),
        "tpot_ms": Meaning(
            "time_per_output_token_ms",
            "(last token - start) / tokens, so with the wait for the first; weighted by tokens",
        ),
        "e2e_ms": Meaning("request_latency", "start -> the body is closed (it says it in seconds)"),
        "output_tok_s": Meaning(
            "output_tokens_per_second",
            "a distribution over time; its mean is the tokens of the successful requests over the window",
        ),
        "requests_s": Meaning(
            "requests_per_second",
            "a distribution over time; its mean is the successful requests over the window, its median is "
            "not",
        ),
    },
    differences=(
        Difference(
            ("itl_ms",),
            "a mean for each request, not the gaps: a stall inside an answer is spread over the answer, and "
            "tail percentiles are those of requests",
        ),
        Difference(
            ("tpot_ms",),
            "with the wait for the first token, divided by all tokens: another quantity than ours of the "
            "same "
            "name, which is nearer to its ITL",
        ),
        Difference(
            ("itl_ms",),
            "takes the first event for one token, whatever it carries",
            in_bundles,
        ),
        Difference(("e2e_ms",), "until the body is closed, not until the last token", tails),
        Difference(
            ("itl_ms",), "an answer that came whole counts with 0 ms between its tokens", whole_answers
        ),
        whole_run(),
        Difference(
            ("output_tok_s", "requests_s"),
            "its medians (`Mdn`) are of the rate from one instant to the next, not of seconds: in a burst "
            "they "
            "are far from the mean",
        ),
        Difference(
            ("ttft_ms", "itl_ms", "e2e_ms"),
            "a stream that ends in order without end marker or finish reason is good; for us it is truncated",
            lambda recording: int(recording.answered("truncated").sum()),
        ),
        read_late("when a line has been read, in Unix seconds of 0.24 us grain"),
    ),
    compute=compute,
)

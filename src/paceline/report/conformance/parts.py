"""Parts of definitions that several tools share."""

from collections.abc import Callable

import numpy as np

from paceline.report.conformance.definition import Difference
from paceline.report.conformance.figures import Floats
from paceline.report.conformance.recording import Recording
from paceline.stats.frame import CONTENT, MISSING, TOOL_CALL, Ints

MS = 1e6
NUMPY = "between the two nearest samples (linear, numpy)"


def tokens_by_usage(recording: Recording, otherwise: Ints | None = None) -> Ints:
    """The server's completion tokens; where it says none, `otherwise`: by default those of the events."""
    streamed = recording.streamed_tokens if otherwise is None else otherwise
    return np.where(recording.completion_tokens != MISSING, recording.completion_tokens, streamed)


def span_s(recording: Recording) -> float:
    """From the begin of the first request to the end of the last."""
    if not len(recording):
        return 0.0
    return float(recording.end_ns.max() - recording.begun_ns.min()) / 1e9


def ms(ns: Ints) -> Floats:
    """Durations in ms."""
    return np.asarray(ns, np.float64) / MS


def per_token_ms(ns: Ints, tokens: Ints) -> Floats:
    """Durations of the requests that have a token to divide by, in ms a token."""
    some = tokens > 0
    return ms(ns[some]) / tokens[some]


def new_connections(recording: Recording) -> int:
    """Requests for which a connection was opened."""
    return int((recording.begun_ns < recording.sent_ns).sum())


def silent_events(recording: Recording) -> int:
    """Requests that had events without a token: a role, a finish reason, a usage."""
    return int((recording.streaming & (recording.other_events > 0)).sum())


def tails(recording: Recording) -> int:
    """Requests whose body ended after their last token."""
    return int(((recording.event_counts > 0) & (recording.end_ns > recording.last_ns)).sum())


def in_bundles(recording: Recording) -> int:
    """Requests with an event of more than one token."""
    many = np.zeros(len(recording), np.bool_)
    many[recording.event_row[recording.event_tokens > 1]] = True
    return int(many.sum())


def with_tool_calls(recording: Recording) -> int:
    """Requests with an event that carries tool-call arguments and no text."""
    found = np.zeros(len(recording), np.bool_)
    found[recording.event_row[(recording.event_kind & (TOOL_CALL | CONTENT)) == TOOL_CALL]] = True
    return int(found.sum())


def with_reasoning(recording: Recording) -> int:
    """Requests with reasoning alone in an event."""
    found = np.zeros(len(recording), np.bool_)
    found[recording.event_row[recording.event_kind == 2]] = True
    return int(found.sum())


def ending_as(*outcomes: str) -> Callable[[Recording], int]:
    """A function that counts the requests of a recording that ended so, in order."""
    return lambda recording: int(recording.answered(*outcomes).sum())


def whole_answers(recording: Recording) -> int:
    """Requests that did not stream."""
    return int((~recording.streaming).sum())


def read_late(how: str, *metrics: str) -> Difference:
    """Tools that look at the clock in Python, `how`."""
    return Difference(
        metrics or ("ttft_ms", "itl_ms", "e2e_ms"),
        f"times are taken in Python {how}; ours are the kernel's stamps. Its own figures have that lateness, "
        "these have not",
        own="later and less even, since its clock is read in Python",
    )


def whole_run(more: str = "") -> Difference:
    """Tools whose rates have no steady part."""
    return Difference(
        ("output_tok_s", "requests_s"),
        "over the whole run, its fill and drain included; ours are over the steady part, and count the "
        "part of "
        f"each request that lies in it{more}",
    )


BEFORE_CONNECTION = Difference(
    ("ttft_ms", "e2e_ms"),
    "counts from before the connection; ours from the request's first byte",
    new_connections,
)

OWN_CONNECTION = Difference(
    ("ttft_ms", "e2e_ms"),
    "it opens a connection for every request; connections that our run did not open are not in these figures",
    own="longer, since it opens a connection for every request",
)

NO_TOOL_CALLS = Difference(("ttft_ms", "itl_ms"), "tool-call arguments are no tokens to it", with_tool_calls)

FIRST_IS_ONE = Difference(
    ("tpot_ms",), "takes the first event for one token, whatever it carries", in_bundles
)

ONE_A_CHUNK = Difference(
    ("itl_ms",), "one value a chunk; ours is divided among the tokens that a chunk carries", in_bundles
)

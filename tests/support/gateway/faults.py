"""Every fault of the reference engine, and what a gateway is to make of it."""

from dataclasses import dataclass, replace
from typing import Any, Literal

from paceline.protocols import Protocol

# good: it is only odd, and goes through. fails: before the client has had a token, so another offer can
# answer. breaks: after it, so the client gets an error event. client: the request itself was refused, and
# that goes on. empty: a whole answer of nothing: another offer is asked, and where there is none it goes on.
Kind = Literal["good", "fails", "breaks", "client", "empty"]

TOKENS = 6
# Token events that leave before what breaks an answer.
BEFORE = 2
MAX_BYTES = 65_536


@dataclass(frozen=True)
class Effect:
    """What a fault does.

    outcome: of the attempt, as the row names it. code, status: what a client gets where no other offer is.
    ends: how it may look upstream.
    """

    kind: Kind
    outcome: str = "ok"
    code: str = ""
    status: int = 200
    ends: tuple[str, ...] = ("complete",)


GOOD = Effect("good")


@dataclass(frozen=True)
class FaultCase:
    """A fault in a stream and in a whole answer; None: it is not tried there."""

    name: str
    fault: dict[str, Any]
    stream: Effect | None = GOOD
    whole: Effect | None = GOOD

    @property
    def exact(self) -> dict[str, int]:
        """The engine's schedule. What breaks later does so after the client has had what came before."""
        breaks = self.stream is not None and self.stream.kind == "breaks"
        return {"output_tokens": TOKENS} | ({"itl_us": 100_000} if breaks else {})

    def effect(self, protocol: Protocol, stream: bool) -> Effect | None:
        if self.name == "no_end_marker" and protocol == "openai-responses" and stream:
            # There the end marker is all that says that the answer is complete.
            return Effect("breaks", "truncated", "upstream_cut")
        return self.stream if stream else self.whole


def _status(status: int, code: str, shown: int, outcome: str = "http_error") -> FaultCase:
    effect = Effect("fails", outcome, code, shown, ("error",))
    return FaultCase(f"http_{status}", {"kind": f"http_{status}", "retry_after_s": 7}, effect, effect)


def _break(kind: str, effect: Effect, whole: Effect | None = None, **more: Any) -> list[FaultCase]:
    """A fault that comes before the first token, and one after it."""
    first, later = ({"kind": kind, "after_events": after, **more} for after in (0, BEFORE))
    code = effect.code if effect.outcome == "timeout" else "upstream_cut"
    return [
        FaultCase(f"{kind}-first", first, effect, whole or effect),
        FaultCase(f"{kind}-later", later, replace(effect, kind="breaks", code=code), None),
    ]


def _fails(outcome: str, code: str, *ends: str, status: int = 502) -> Effect:
    return Effect("fails", outcome, code, status, ends)


_REFUSED = Effect("client", "http_error", "", 400, ("error",))
_HUNG_UP = ("client_gone", "complete")
_NO_ANSWER = _fails("malformed", "upstream_failed", "complete")
_EMPTY = Effect("empty", "empty")
_NOTHING = _fails("empty", "upstream_failed", "complete")
_CUT_SHORT = Effect("breaks", "truncated", "upstream_cut")

FAULTS: tuple[FaultCase, ...] = (
    FaultCase("http_400", {"kind": "http_400"}, _REFUSED, _REFUSED),
    _status(401, "upstream_failed", 502),
    _status(404, "upstream_failed", 502),
    _status(429, "upstream_rate_limited", 429, "rate_limited"),
    _status(500, "upstream_failed", 502),
    _status(503, "upstream_failed", 502),
    *_break("error_event", _fails("error_in_stream", "upstream_failed", "error")),
    *_break("cut", _fails("truncated", "upstream_failed", "cut")),
    FaultCase("cut-half", {"kind": "cut"}, None, _fails("truncated", "upstream_failed", "cut")),
    *_break("reset", _fails("truncated", "upstream_failed", "reset")),
    # Before the first token it is as an answer without one.
    FaultCase("end_early-first", {"kind": "end_early", "after_events": 0}, _NOTHING),
    FaultCase("end_early-later", {"kind": "end_early", "after_events": BEFORE}, _CUT_SHORT, None),
    *_break("stall", _fails("timeout", "upstream_timeout", "client_gone", status=504)),
    *_break("malformed_json", _fails("malformed", "upstream_failed", *_HUNG_UP)),
    FaultCase("not_sse", {"kind": "not_sse"}, _NO_ANSWER, _NO_ANSWER),
    FaultCase("empty", {"kind": "empty"}, _EMPTY, _EMPTY),
    *_break("huge_event", _fails("malformed", "upstream_failed", *_HUNG_UP), bytes=4 * MAX_BYTES),
    FaultCase("large_event", {"kind": "huge_event", "bytes": MAX_BYTES // 2, "after_events": BEFORE}),
    FaultCase("no_end_marker", {"kind": "no_end_marker"}),
    FaultCase("crlf", {"kind": "crlf"}),
    FaultCase("no_space", {"kind": "no_space"}),
    FaultCase("comments", {"kind": "comments"}),
    FaultCase("multi_line", {"kind": "multi_line"}),
    FaultCase("split_utf8", {"kind": "split_utf8"}),
    FaultCase("slow_headers", {"kind": "slow_headers", "delay_us": 2_000}),
    FaultCase("wrong_usage", {"kind": "wrong_usage"}),
    FaultCase("coalesce", {"kind": "coalesce", "events": 3}),
    FaultCase("byte_at_a_time", {"kind": "byte_at_a_time"}),
)  # fmt: skip

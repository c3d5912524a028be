"""One side of a race: what has come of its answer so far, and what it was in the end."""

import base64
import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from paceline.dashboard.masking import masked, secret_spans
from paceline.dashboard.race_lanes import Lane
from paceline.endpoints.client import Reply
from paceline.endpoints.target import Target
from paceline.endpoints.tiny import Tiny
from paceline.measure.border import core_observe
from paceline.stats.frame import CONTENT, REASONING
from paceline.stats.metrics import derive
from paceline.stats.tokens import count_tokens
from paceline.store.schema import ROW_SCHEMA

NS_PER_MS = 1e6
MOST_BYTES = 4 * 1024 * 1024
_ADAPTED = frozenset({400, 404, 422})
_NULLED = {
    "segment": 0,
    "request_index": 0,
    "session": None,
    "step": None,
    "phase": "measure",
    "connection_reused": False,
    "hangup_ns": None,
    "stopped_ns": None,
    "tail_bytes": None,
}


@dataclass(frozen=True)
class Figures:
    """What a side's answer was, by the definitions of every run; None: not known.

    outcome: as in a row. tokens: that were streamed. e2e_ms: to its last token. approximate: tokens are told
    from chunks alone.
    """

    outcome: str
    error: str | None
    ttft_ms: float | None
    ttfat_ms: float | None
    e2e_ms: float | None
    output_tok_s: float | None
    longest_stall_ms: float | None
    tokens: int
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None
    cached_tokens: int | None
    cache_write_tokens: int | None
    approximate: bool
    connect_ms: float | None
    finish_reason: str | None

    @property
    def ok(self) -> bool:
        """It came to its end."""
        return self.outcome == "ok"


@dataclass
class Side:
    """One lane in one race. `stamps` are CLOCK_MONOTONIC, ns, one for each of `chunks`."""

    number: int
    lane: Lane
    target: Target
    tiny: Tiny
    timeout_s: float
    sent_ns: int | None = None
    connect_ns: int | None = None
    tls_ns: int | None = None
    head_ns: int = 0
    status: int | None = None
    content_type: str | None = None
    chunks: list[bytes] = field(default_factory=list, repr=False)
    stamps: list[int] = field(default_factory=list)
    end: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    _seen: dict[str, Any] = field(default_factory=dict, repr=False)
    _seen_chunks: int = -1
    _told: int = 0

    def order(self) -> dict[str, Any]:
        """What the reader is told. Secret."""
        target = self.target
        return {
            "number": self.number,
            "scheme": target.scheme,
            "host": target.host,
            "port": target.port,
            "path": target.path,
            "headers": [list(pair) for pair in target.all_headers()],
            "body": json.dumps(self.tiny.body()),
            "ca_pem": target.ca_pem,
            "timeout_s": self.timeout_s,
            "most_bytes": MOST_BYTES,
        }

    def take(self, event: dict[str, Any]) -> None:
        """One line of the reader's."""
        if self.end is not None:
            return
        match event["kind"]:
            case "sent":
                self.sent_ns, self.connect_ns, self.tls_ns = (
                    event["ns"],
                    event["connect_ns"],
                    event["tls_ns"],
                )
            case "head":
                self.head_ns, self.status = event["ns"], event["status"]
                self.content_type = event["content_type"]
            case "body":
                self.chunks.append(base64.b64decode(event["data"]))
                self.stamps.append(event["ns"])
            case "end":
                self.end = event

    def seen(self) -> dict[str, Any]:
        """The answer so far as the load generator reads it; `event_ns`, `end_ns` are places in `stamps`."""
        if self._seen_chunks != len(self.chunks):
            self._seen_chunks = len(self.chunks)
            status = 0 if self.status is None else self.status
            self._seen = core_observe(self.target.protocol, True, status, self.content_type, self.chunks)
        return self._seen

    def close_at_marker(self) -> bool:
        """End it where the end marker has come: some servers keep the connection open behind it."""
        if self.end is not None or self.status != 200 or not self.seen()["end_marker"]:
            return False
        at_ns = self.stamps[self.seen()["end_ns"]]
        self.end = {"ns": at_ns, "outcome": None, "error": None, "hint": None}
        return True

    def ask_again(self) -> bool:
        """Whether the server refused a field that can be left out; the next order is without it."""
        if self.end is None or self.end["outcome"] is not None or self.status not in _ADAPTED:
            return False
        reply = Reply(status=self.status, headers={}, chunks=tuple(self.chunks), elapsed_ms=0.0)
        before = self.tiny.dialect
        if not self.tiny.adapt(reply) or self.tiny.dialect == before:
            return False
        self.notes.append(
            "asked twice: the server refused a field of the first request; times are the second's"
        )
        self.sent_ns = self.status = self.end = None
        self.chunks, self.stamps = [], []
        self._seen_chunks, self._told = -1, 0
        return True

    def progress(self, now_ns: int) -> dict[str, Any]:
        """What the browser is told now: meters, and the events that it does not know yet, each with its time.

        `events`: [ms since the first byte of the request, kind, text].
        """
        if self.sent_ns is None:
            state = "connecting" if self.end is None else "ended"
            return {"lane": self.number, "state": state, "ms": 0.0, "events": []}
        seen = self.seen()
        places, sizes = seen["event_ns"], seen["event_tokens"]
        state = "ended" if self.end else "streaming" if places else "waiting"
        until_ns = self.end["ns"] if self.end else now_ns
        found = {"lane": self.number, "state": state, "ms": self._ms(until_ns), "events": self._untold(seen)}
        if places:
            known = all(size >= 0 for size in sizes) and any(sizes)
            counts = sizes if known else [1] * len(sizes)
            span_ns = self.stamps[places[-1]] - self.stamps[places[0]]
            rest = sum(counts) - counts[0]
            found |= {
                "ttft_ms": self._ms(self.stamps[places[0]]),
                "tokens": sum(counts),
                "approximate": not known,
                "tok_s": rest * 1e9 / span_ns if span_ns > 0 and rest > 0 else None,
            }
        return found

    def figures(self) -> Figures:
        """What it was in the end."""
        row = self._row()
        rows = pa.Table.from_pylist([row], schema=ROW_SCHEMA)
        counts = count_tokens(rows)
        values = {
            name: float(samples.values[0]) if len(samples.values) else None
            for name, samples in derive(rows, {0: 0}, counts=counts).items()
        }
        return Figures(
            outcome=row["outcome"],
            error=row["error"],
            ttft_ms=values["ttft_ms"],
            ttfat_ms=values["ttfat_ms"],
            e2e_ms=values["e2e_ms"],
            output_tok_s=values["output_tok_s"],
            longest_stall_ms=values["longest_stall_ms"],
            tokens=int(counts.streamed[0]),
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            reasoning_tokens=row["reasoning_tokens"],
            cached_tokens=row["cached_tokens"],
            cache_write_tokens=row["cache_write_tokens"],
            approximate=bool(counts.approximate[0]),
            connect_ms=values["connect_ms"],
            finish_reason=row["finish_reason"],
        )

    def _row(self) -> dict[str, Any]:
        """The side as a request of a run."""
        end = self.end or {"ns": self.head_ns, "outcome": "cancelled", "error": None, "hint": None}
        seen = dict(self.seen())
        outcome, error = seen["outcome"], seen["error"]
        if end["outcome"] is not None and outcome != "error_in_stream":
            outcome, error = end["outcome"], ": ".join(text for text in (end["error"], end["hint"]) if text)
            if outcome == "truncated" and self.status is not None:
                error = "the connection was closed before the answer was complete"
        return {
            **_NULLED,
            **{name: value for name, value in seen.items() if name in ROW_SCHEMA.names},
            "outcome": outcome,
            "error": self.target.redact(error) if error else None,
            "intended_ns": self.sent_ns or end["ns"],
            "sent_ns": self.sent_ns,
            "written_ns": None,
            "connect_ns": self.connect_ns,
            "tls_ns": self.tls_ns,
            "headers_ns": self.head_ns if self.status is not None else None,
            "status": self.status,
            "end_ns": end["ns"],
            "event_ns": [self.stamps[place] for place in seen["event_ns"]],
        }

    def _untold(self, seen: dict[str, Any]) -> list[list[Any]]:
        places, kinds, sizes = seen["event_ns"], seen["event_kind"], seen["event_bytes"]
        if self._told == len(places):
            return []
        raw = seen["text"].encode()
        spans, known = secret_spans(raw, self.target.secrets, ended=self.end is not None)
        at = sum(sizes[: self._told])
        events = []
        for number in range(self._told, len(places)):
            end = at + sizes[number]
            if end > known:
                break
            text = masked(raw, at, end, spans)
            events.append([round(self._ms(self.stamps[places[number]]), 2), _kind(kinds[number]), text])
            at = end
        self._told += len(events)
        return events

    def _ms(self, ns: int) -> float:
        return (ns - (self.sent_ns or ns)) / NS_PER_MS


def _kind(bits: int) -> str:
    return "answer" if bits & CONTENT else "reasoning" if bits & REASONING else "tool"

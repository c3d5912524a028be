"""From an entry of the ledger to a row of `TRAFFIC_SCHEMA`."""

from typing import Any

from paceline.store.ledger import Place

_NS_PER_MS = 1e6
_TOKENS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "cache_write_tokens")


def traffic_row(entry: dict[str, Any], place: Place) -> dict[str, Any]:
    """The row of a request. `entry`: as `ledger_entry.read_entry` gives it."""
    attempts = entry["attempts"]
    tried = [_tried(attempt) for attempt in attempts]
    told = max(range(len(tried)), key=lambda k: (tried[k]["served"], k), default=None)
    main: dict[str, Any] = {}
    if told is not None:
        tried[told]["counted"] = True
        main = tried[told]
    served = main if main.get("served") else {}
    return {
        "ledger_segment": place.segment,
        "ledger_offset": place.offset,
        "received_at": entry["received_unix_ns"] // 1000,
        **{name: entry[name] for name in _SAME},
        **{name: main.get(name) for name in _OF_MAIN},
        "ttft_ms": _ms(entry["ttft_ns"]) if entry["streaming"] else None,
        "e2e_ms": (entry["ended_ns"] - entry["received_ns"]) / _NS_PER_MS,
        "queued_ms": entry["queued_ns"] / _NS_PER_MS,
        **{name: sum(one[name] for one in tried) for name in _TOKENS},
        **{f"served_{name}": served.get(name) for name in (*_TOKENS, "cost_usd")},
        "tokens_estimated": any(one["tokens_estimated"] for one in tried),
        "attempts": len(tried),
        "retries": sum(one["role"] == "retry" for one in tried),
        "hedged": any(one["role"] == "hedge" for one in tried),
        "hedge_won": served.get("role") == "hedge",
        "downgrade": attempts[told]["downgrade"] if told is not None else None,
        "deadline_ms": _ms(entry["deadline_ns"]),
        "finish_by_ms": _ms(entry["finish_by_ns"]),
        "tried": tried if len(tried) > 1 else None,
    }


_SAME = (
    *("id", "key", "app_title", "app_referer", "protocol", "streaming", "asked_model", "outcome", "status"),
    *("code", "cost_usd", "cost_is_partial", "deadline_met"),
)
_OF_MAIN = (
    *("model", "provider", "offer", "upstream_model", "tier", "upstream_outcome", "upstream_ttft_ms"),
    "decode_tok_s",
)


def _tried(attempt: dict[str, Any]) -> dict[str, Any]:
    usage, row = attempt["usage"], attempt["row"]
    # What an offer that refused cannot have used costs nothing, whatever its price.
    used = usage["source"] != "none"
    return {
        **{name: attempt[name] for name in _ATTEMPT_SAME},
        "counted": False,
        "upstream_outcome": row["outcome"],
        "upstream_ttft_ms": _upstream_ttft_ms(row),
        "decode_tok_s": _decode_tok_s(row, usage),
        **{name: usage[name] for name in _TOKENS},
        "tokens_estimated": usage["source"] == "estimated",
        "cost_is_partial": used and attempt["cost_usd"] is None,
    }


_ATTEMPT_SAME = ("offer", "provider", "model", "upstream_model", "tier", "role", "served", "cost_usd")


def _upstream_ttft_ms(row: dict[str, Any]) -> float | None:
    """First byte of the request written -> first token event, where the answer was a stream."""
    if not row["streaming"] or not row["event_ns"] or row.get("sent_ns") is None:
        return None
    return float(row["event_ns"][0] - row["sent_ns"]) / _NS_PER_MS


def _decode_tok_s(row: dict[str, Any], usage: dict[str, Any]) -> float | None:
    """(tokens - tokens of the first event) / (last token - first token) of a stream that ended well.

    Where the server does not say what each event carries, its usage is divided among them evenly.
    """
    events, each = row["event_ns"], row["event_tokens"]
    n = len(events)
    if not row["streaming"] or row["outcome"] != "ok" or n < 2 or events[-1] <= events[0]:
        return None
    if len(each) == n and min(each) >= 0:
        later = float(sum(each[1:]))
    elif usage["source"] == "server":
        later = usage["completion_tokens"] * (n - 1) / n
    else:
        later = float(n - 1)
    return later * 1e9 / (events[-1] - events[0]) if later > 0 else None


def _ms(duration_ns: int | None) -> float | None:
    return None if duration_ns is None else duration_ns / _NS_PER_MS

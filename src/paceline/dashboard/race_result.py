"""What a race has shown: each side's figures and cost, the order, and what one race cannot show."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from paceline.catalogue.price import Price, PriceUnknown
from paceline.dashboard.race_side import Figures, Side

_ONE_SAMPLE = (
    "One race is one sample of each side. The next may end the other way round: what holds is measured with "
    "many requests, by paceline measure, and stands on the board with its intervals."
)
_OUTCOMES = {
    "timeout": "cut: the time was over",
    "cancelled": "stopped",
    "connect_error": "no connection",
    "http_error": "the server refused",
    "rate_limited": "rate limited",
    "error_in_stream": "the server failed midway",
    "truncated": "broke off",
    "empty": "no text came",
    "malformed": "not a stream of this protocol",
}
# Closer than this is closer than one sample on one machine can tell apart.
_LIKE = 0.05


def result_of(side: Side, price: Price | PriceUnknown) -> dict[str, Any]:
    """A side's figures as the browser gets them."""
    figures = side.figures()
    return {
        "lane": side.number,
        **asdict(figures),
        "said": None if figures.ok else _OUTCOMES.get(figures.outcome, figures.outcome),
        "cost": cost_of(figures, price),
        "notes": list(side.notes),
    }


def cost_of(figures: Figures, price: Price | PriceUnknown) -> dict[str, Any]:
    """`usd`, or None and `why` it is not known, with a `hint` without a price; `source`: of the price."""
    if isinstance(price, PriceUnknown):
        return {"usd": None, "why": price.why, "hint": price.hint, "source": None}
    if price.kind == "hours":
        why = "own hardware has a price an hour, and one request tells nothing of how well it is used"
        return {"usd": None, "why": why, "source": price.source}
    if figures.prompt_tokens is None or figures.completion_tokens is None:
        return {"usd": None, "why": "the server did not say how many tokens it took", "source": price.source}
    usd = float(
        price.usd(
            figures.prompt_tokens,
            _or_nan(figures.cached_tokens),
            _or_nan(figures.cache_write_tokens),
            figures.completion_tokens,
            _or_nan(figures.reasoning_tokens),
        ).total[()]
    )
    if not math.isfinite(usd):
        return {"usd": None, "why": "its tokens do not tell what it cost", "source": price.source}
    return {"usd": usd, "why": None, "source": price.source}


def summary(sides: Sequence[Side], results: Mapping[int, Mapping[str, Any]]) -> dict[str, Any]:
    """`order` of the sides that came to their end, by each figure, the best first; who `leads`; and notes."""
    ok = [one for one in results.values() if one["outcome"] == "ok"]
    order = {
        "e2e_ms": _ranked(ok, "e2e_ms"),
        "ttft_ms": _ranked(ok, "ttft_ms"),
        "output_tok_s": _ranked(ok, "output_tok_s", best=-1.0),
    }
    leads = {name: _lead(ranked, name, results) for name, ranked in order.items()}
    return {"order": order, "leads": leads, "notes": [_ONE_SAMPLE, *_notes(sides, ok)]}


def _ranked(results: Sequence[Mapping[str, Any]], name: str, best: float = 1.0) -> list[int]:
    known = [one for one in results if one[name] is not None]
    return [one["lane"] for one in sorted(known, key=lambda one: (best * one[name], one["lane"]))]


def _lead(ranked: Sequence[int], name: str, results: Mapping[int, Mapping[str, Any]]) -> int | None:
    """The first, where it is so by more than a hair."""
    if len(ranked) < 2:
        return None
    first, second = (float(results[lane][name]) for lane in ranked[:2])
    return ranked[0] if max(first, second) > min(first, second) * (1 + _LIKE) else None


def _notes(sides: Sequence[Side], ok: Sequence[Mapping[str, Any]]) -> list[str]:
    notes = []
    if 0 < len(ok) < len(sides):
        notes.append("A side that did not come to its end has no figures, and no place in the order.")
    tokens = [one["tokens"] for one in ok]
    if len(tokens) > 1 and max(tokens) > min(tokens) * (1 + _LIKE):
        notes.append(
            f"The answers are of {min(tokens):,} to {max(tokens):,} tokens: who says less is done sooner. "
            "TTFT and tok/s do not depend on it."
        )
    if any(one["approximate"] for one in ok):
        notes.append("~ Tokens are told from pieces of the stream, since the server does not count them.")
    asked = [(side.lane.endpoint, side.lane.model) for side in sides]
    if len(set(asked)) < len(asked):
        notes.append("An endpoint runs against itself: what its lanes differ by is chance, or its own load.")
    elif len({side.target.origin for side in sides}) < len(sides):
        notes.append("Some sides are one server, which had to work on them at the same time.")
    return notes


def _or_nan(value: int | None) -> float:
    return np.nan if value is None else float(value)

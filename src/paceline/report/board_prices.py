"""Where the prices and bills of a board come from, as a page shows them."""

from typing import TYPE_CHECKING, Any

from paceline.catalogue.price import Price
from paceline.report.bill_text import PARTS
from paceline.report.board_words import figure_words, full_name
from paceline.report.cells import usd_words
from paceline.report.words import printable
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.board import Board, BoardRow
    from paceline.advisor.figures import Figure

JOBS = 1_000
"""Jobs that parts of a bill are shown for: those of one job are too small to read."""


def prices_context(board: "Board") -> list[dict[str, Any]]:
    """A line an offer: rates, parts of the bill, source and date; or why there is none, and what to do."""
    return [_row(place + 1, row) for place, row in enumerate(board.rows)]


def _row(number: int, row: "BoardRow") -> dict[str, Any]:
    found: dict[str, Any] = {"number": number, "offer": full_name(row.key), "known": False}
    price = row.price
    if not isinstance(price, Price):
        return {**found, "day": "", "why": printable(price.why), "hint": printable(price.hint)}
    return {
        **found,
        "known": True,
        "rates": _rates(price),
        "tokens": _tokens(row),
        "parts": [
            {"name": label, "usd": usd_words(JOBS * row.bill.parts[part])}
            for part, label in PARTS.items()
            if row.bill.parts.get(part)
        ],
        "day": _bill(row.bill.usd_per_day),
        "month": _bill(row.bill.usd_per_month),
        "source": printable(price.source),
        "as_of": price.as_of.isoformat(),
        "warnings": [printable(text) for text in (*price.warnings, *row.bill.notes)],
    }


def _bill(figure: "Figure | None") -> str:
    return "" if figure is None else figure_words("usd_per_job", figure)


def _rates(price: Price) -> str:
    if price.kind == "hours":
        return (
            "hardware not priced"
            if price.usd_per_hour is None
            else f"{usd_words(price.usd_per_hour)} an hour"
        )
    rates = price.rates
    parts = [f"{_rate(rates.input_usd_per_mtok)} in", f"{_rate(rates.output_usd_per_mtok)} out"]
    if rates.cache_read_usd_per_mtok is not None:
        parts.append(f"{_rate(rates.cache_read_usd_per_mtok)} cache read")
    if rates.cache_write_usd_per_mtok is not None:
        parts.append(f"{_rate(rates.cache_write_usd_per_mtok)} cache write")
    if rates.reasoning_usd_per_mtok is not None:
        parts.append(f"{_rate(rates.reasoning_usd_per_mtok)} reasoning")
    if rates.request_usd:
        parts.append(f"{_rate(rates.request_usd)} a request")
    parts += [f"other rates over {tier.over_prompt_tokens:,} tokens of prompt" for tier in price.tiers]
    return ", ".join(parts)


def _rate(usd: float) -> str:
    """As exact as prices are: `0.15`, `12`, `0.0375`."""
    return f"{usd:,.6f}".rstrip("0").rstrip(".")


def _tokens(row: "BoardRow") -> str:
    """`1,800 in, 420 out, measured`."""
    tokens = row.bill.tokens
    said = [f"{format_number(tokens[name])} {word}" for name, word in _WORDS.items() if tokens.get(name)]
    return ", ".join([*said, row.bill.basis]) if said else row.bill.basis


_WORDS = {"prompt": "in", "cached": "of them cached", "completion": "out", "reasoning": "of them reasoning"}

"""A board for programs: `paceline.board/1` (docs/reference/board.md), and CSV."""

import csv
import io
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paceline.catalogue.price import Price, PriceUnknown
from paceline.report.board_figures import FIGURES
from paceline.report.cells import name_cell
from paceline.report.figures import json_text

if TYPE_CHECKING:
    from paceline.advisor.bill import Bill
    from paceline.advisor.board import Board, BoardRow
    from paceline.advisor.figures import Figure
    from paceline.advisor.identity import OfferKey

SCHEMA = "paceline.board/1"
_DIGITS = 9


def board_dict(board: "Board") -> dict[str, Any]:
    """The document."""
    query = board.query
    return {
        "schema": SCHEMA,
        "made_at": _moment(board.made_at),
        "workload": board.workload,
        "workload_key": board.workload_key,
        "load": board.load,
        "since": _moment(query.since),
        "prices_at": (query.at or board.made_at).date().isoformat(),
        "benchmark": query.benchmark,
        "sort": query.sort,
        "jobs_per_day": query.jobs_per_day,
        "runs": board.runs,
        "requests": board.requests,
        "figures": {
            info.name: {
                "label": info.label,
                "unit": info.unit,
                "better": info.better,
                "definition": info.definition,
            }
            for info in FIGURES.values()
        },
        "rows": [row_dict(row) for row in board.rows],
        "elsewhere": [
            {
                **_key(one.key),
                "workload": one.workload,
                "load": one.load,
                "requests": one.requests,
                "last_at": _moment(one.last_at),
            }
            for one in board.elsewhere
        ],
        "published": [
            {
                "model": one.model,
                "tier": one.tier,
                "output_tok_s": one.output_tok_s,
                "qualifier": one.qualifier,
                "source": one.source,
                "as_of": one.as_of,
            }
            for one in board.published
        ],
        "problems": [{"run": one.run_id or None, "text": one.text} for one in board.problems],
        "choices": [
            {
                "workload": one.workload,
                "workload_key": one.workload_key,
                "load": one.load,
                "offers": one.offers,
                "requests": one.requests,
            }
            for one in board.choices
        ],
    }


def board_json(board: "Board") -> str:
    """The document as text, with a line end."""
    return json_text(board_dict(board))


def row_dict(row: "BoardRow") -> dict[str, Any]:
    """One offer, as in `rows`."""
    evidence = row.evidence
    return {
        **_key(row.key),
        "endpoint": evidence.endpoint,
        "runs": [one.run_id for one in evidence.digests],
        "suspect_runs": list(evidence.suspect),
        "requests": evidence.attempted,
        "requests_ok": evidence.ok,
        "requests_sampled": len(evidence.run),
        "last_at": _moment(evidence.last_at),
        "until": _moment(evidence.until),
        "marks": list(row.marks),
        "feel": row.feel,
        "figures": {name: figure_dict(row.figures[name]) for name in FIGURES},
        "bill": bill_dict(row.bill),
        "price": price_dict(row.price),
    }


def figure_dict(figure: "Figure") -> dict[str, Any]:
    """One value with its interval, as in `figures` of a row."""
    return {
        "value": _number(figure.value),
        "lo": _number(figure.lo),
        "hi": _number(figure.hi),
        "n": figure.n,
        "needs_n": figure.needs_n,
        "note": figure.note,
    }


def bill_dict(bill: "Bill") -> dict[str, Any]:
    """What a job costs and what that is made of, as in `bill` of a row."""
    return {
        "usd_per_day": None if bill.usd_per_day is None else figure_dict(bill.usd_per_day),
        "usd_per_month": None if bill.usd_per_month is None else figure_dict(bill.usd_per_month),
        "jobs_per_day": bill.jobs_per_day,
        "basis": bill.basis,
        "parts_usd": {name: _number(value) for name, value in bill.parts.items()},
        "tokens": {name: _number(value) for name, value in bill.tokens.items()},
        "notes": list(bill.notes),
    }


def price_dict(price: "Price | PriceUnknown") -> dict[str, Any]:
    """Where a price is from, or why there is none, as in `price` of a row."""
    if isinstance(price, PriceUnknown):
        return {"known": False, "why": price.why, "hint": price.hint}
    return {
        "known": True,
        "kind": price.kind,
        "source": price.source,
        "as_of": price.as_of.isoformat(),
        "warnings": list(price.warnings),
    }


CSV_HEAD = (
    *("model", "provider", "tier", "workload", "load", "runs", "requests", "last_at", "marks", "feel"),
    *(f"{name}{end}" for name in FIGURES for end in ("", "_lo", "_hi")),
)


def board_csv(board: "Board") -> str:
    """One line an offer, in the order of the board; published claims are not among them."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for row in board.rows:
        told: list[object] = [
            *(name_cell(part) for part in (row.key.model, row.key.provider, row.key.tier)),
            *(name_cell(part) for part in (board.workload, board.load)),
            len(row.evidence.digests),
            row.evidence.attempted,
            _moment(row.evidence.last_at),
            " ".join(row.marks),
            name_cell(row.feel),
        ]
        for name in FIGURES:
            figure = row.figures[name]
            told += ["" if end is None else _number(end) for end in (figure.value, figure.lo, figure.hi)]
        writer.writerow(told)
    return text.getvalue()


def _key(key: "OfferKey") -> dict[str, str]:
    return {"model": key.model, "provider": key.provider, "tier": key.tier}


def _number(value: float | None) -> float | None:
    """Nine digits that say something; below that it is noise."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{_DIGITS}g}")


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat(timespec="seconds")

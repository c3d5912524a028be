"""A board for programs: `paceline.board/1` (docs/reference/board.md), and CSV."""

import csv
import io
from typing import TYPE_CHECKING, Any

from paceline.catalogue.price import Price, PriceUnknown
from paceline.report.board_figures import FIGURES
from paceline.report.cells import name_cell
from paceline.report.figures import json_text, moment_text, offer_dict, rounded

if TYPE_CHECKING:
    from paceline.advisor.bill import Bill
    from paceline.advisor.board import Board, BoardRow
    from paceline.advisor.figures import Figure

SCHEMA = "paceline.board/1"


def board_dict(board: "Board") -> dict[str, Any]:
    """The document."""
    query = board.query
    return {
        "schema": SCHEMA,
        "made_at": moment_text(board.made_at),
        "workload": board.workload,
        "workload_key": board.workload_key,
        "load": board.load,
        "since": moment_text(query.since),
        "prices_at": moment_text(query.at or board.made_at),
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
                **offer_dict(one.key),
                "workload": one.workload,
                "load": one.load,
                "requests": one.requests,
                "last_at": moment_text(one.last_at),
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
        **offer_dict(row.key),
        "endpoint": evidence.endpoint,
        "runs": [one.run_id for one in evidence.digests],
        "suspect_runs": list(evidence.suspect),
        "requests": evidence.attempted,
        "requests_ok": evidence.ok,
        "requests_sampled": len(evidence.run),
        "last_at": moment_text(evidence.last_at),
        "until": moment_text(evidence.until),
        "marks": list(row.marks),
        "feel": row.feel,
        "figures": {name: figure_dict(row.figures[name]) for name in FIGURES},
        "bill": bill_dict(row.bill),
        "price": price_dict(row.price),
    }


def figure_dict(figure: "Figure") -> dict[str, Any]:
    """One value with its interval, as in `figures` of a row."""
    return {
        "value": rounded(figure.value),
        "lo": rounded(figure.lo),
        "hi": rounded(figure.hi),
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
        "parts_usd": {name: rounded(value) for name, value in bill.parts.items()},
        "tokens": {name: rounded(value) for name, value in bill.tokens.items()},
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
            moment_text(row.evidence.last_at),
            " ".join(row.marks),
            name_cell(row.feel),
        ]
        for name in FIGURES:
            figure = row.figures[name]
            told += ["" if end is None else rounded(end) for end in (figure.value, figure.lo, figure.hi)]
        writer.writerow(told)
    return text.getvalue()

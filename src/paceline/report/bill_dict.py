"""Bills for programs: `paceline.bill/1` (docs/reference/bill.md), and CSV."""

import csv
import io
from typing import TYPE_CHECKING, Any

from paceline.catalogue.price import PriceUnknown
from paceline.report.board_dict import bill_dict, figure_dict, price_dict
from paceline.report.cells import name_cell
from paceline.report.figures import json_text, moment_text, offer_dict

if TYPE_CHECKING:
    from paceline.advisor.bills import BilledOffer, Bills
    from paceline.advisor.figures import Figure

SCHEMA = "paceline.bill/1"
_PARTS = ("input", "cache_read", "cache_write", "output", "reasoning", "requests", "hardware")
_TOKENS = ("prompt", "cached", "cache_write", "completion", "reasoning")
_FIGURES = ("usd_per_job", "usd_per_day", "usd_per_month")


def bills_dict(bills: "Bills") -> dict[str, Any]:
    """The document."""
    return {
        "schema": SCHEMA,
        "prices_at": moment_text(bills.at),
        "rows": [_row(row) for row in bills.rows],
    }


def bills_json(bills: "Bills") -> str:
    """The document as text, with a line end."""
    return json_text(bills_dict(bills))


CSV_HEAD = (
    *("model", "provider", "tier", "workload", "load", "basis", "jobs_per_day"),
    *(f"{name}{end}" for name in _FIGURES for end in ("", "_lo", "_hi")),
    "jobs",
    *(f"{name}_usd" for name in _PARTS),
    *(f"{name}_tokens" for name in _TOKENS),
    *("price_source", "price_as_of", "notes"),
)


def bills_csv(bills: "Bills") -> str:
    """One line an offer, workload and load; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEAD)
    for row in bills.rows:
        told = _row(row)
        figures = [told[name] for name in _FIGURES]
        price = told["price"]
        names = ("model", "provider", "tier", "workload", "load", "basis")
        cells: list[Any] = [*(name_cell(told[name]) for name in names), told["jobs_per_day"]]
        cells += [None if one is None else one[end] for one in figures for end in ("value", "lo", "hi")]
        cells.append(told["usd_per_job"]["n"])
        cells += [told["parts_usd"].get(name) for name in _PARTS]
        cells += [told["tokens"].get(name) for name in _TOKENS]
        cells += [name_cell(price.get("source")), price.get("as_of"), name_cell("; ".join(_said(row)))]
        writer.writerow(["" if cell is None else cell for cell in cells])
    return text.getvalue()


def _row(row: "BilledOffer") -> dict[str, Any]:
    bill = row.bill
    told = bill_dict(bill)
    return {
        **offer_dict(row.key),
        "workload": row.workload,
        "workload_key": row.workload_key,
        "load": row.load,
        "runs": list(row.runs),
        "suspect_runs": list(row.suspect),
        "usd_per_job": figure_dict(bill.usd_per_job),
        **told,
        "price": {**price_dict(bill.price), **_rates(row)},
    }


def _rates(row: "BilledOffer") -> dict[str, Any]:
    """The figures of a price that is known."""
    price = row.bill.price
    if isinstance(price, PriceUnknown):
        return {}
    return {
        "rates": vars(price.rates) if price.kind == "tokens" else None,
        "context_tiers": [
            {"over_prompt_tokens": one.over_prompt_tokens, **vars(one.rates)} for one in price.tiers
        ],
        "usd_per_hour": price.usd_per_hour,
    }


def _said(row: "BilledOffer") -> list[str]:
    """Why there is no figure, what is to be said of the price, and of the bill."""
    figure: Figure = row.bill.usd_per_job
    price = row.bill.price
    warnings = () if isinstance(price, PriceUnknown) else price.warnings
    return [*([figure.note] if figure.note else []), *warnings, *row.bill.notes]

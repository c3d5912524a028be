"""Bills for the terminal: a table of 80 columns, and below it where each price is from."""

from collections.abc import Sequence
from datetime import UTC
from itertools import groupby
from typing import TYPE_CHECKING

from paceline.catalogue.price import PriceUnknown
from paceline.report.board_words import figure_words, full_name, interval_words, missing_words
from paceline.report.lines import WIDTH, aligned, folded
from paceline.report.words import printable, shorten
from paceline.units import format_number, format_percentage

if TYPE_CHECKING:
    from paceline.advisor.bill import Bill
    from paceline.advisor.bills import BilledOffer, Bills
    from paceline.advisor.figures import Figure

_LONGEST_NAME = 34
_USD = "usd_per_job"
PARTS = {
    "input": "prompt",
    "cache_read": "from the cache",
    "cache_write": "into the cache",
    "output": "answer",
    "requests": "requests",
    "hardware": "own hardware",
}
"""What the parts of a bill are called."""


def bills_text(bills: "Bills") -> str:
    """Every offer's bill, by workload and load."""
    blocks = [
        _block(bills, list(rows))
        for _, rows in groupby(bills.rows, key=lambda row: (row.workload_key, row.load))
    ]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _block(bills: "Bills", rows: Sequence["BilledOffer"]) -> list[str]:
    first = rows[0]
    how = "not measured, tokens as it asks for them" if first.load is None else first.load
    head = f"{first.workload}, {how}: USD a job, prices of {bills.at.astimezone(UTC):%Y-%m-%d}"
    per_day = first.bill.jobs_per_day
    if per_day is not None:
        head += f"; {format_number(per_day)} jobs a day"
    lines = [*folded(printable(head)), "", *_table(rows), ""]
    if per_day is None:
        lines += [*folded("A bill a day and month needs --jobs-per-day, or a workload that says it."), ""]
    for number, row in enumerate(rows, 1):
        lines += _below(number, row)
    return lines


def _table(rows: Sequence["BilledOffer"]) -> list[str]:
    cells = [["OFFER", "USD/JOB", "95% INTERVAL", "USD/DAY", "USD/MONTH"]]
    for number, row in enumerate(rows, 1):
        bill = row.bill
        name = shorten(full_name(row.key), _LONGEST_NAME)
        cells.append(
            [
                f"{number} {name}",
                "unknown" if bill.usd_per_job.value is None else figure_words(_USD, bill.usd_per_job),
                interval_words(_USD, bill.usd_per_job).replace(" to ", "-"),
                _money(bill.usd_per_day),
                _money(bill.usd_per_month),
            ]
        )
    kept = [place for place in range(len(cells[0])) if any(row[place] not in ("", "-") for row in cells[1:])]
    return aligned([[row[place] for place in kept] for row in cells], (0,))


def _money(figure: "Figure | None") -> str:
    return "-" if figure is None or figure.value is None else figure_words(_USD, figure)


def _begun(text: str) -> str:
    """As a sentence begins; the name of a file (`prices.toml:3`) stays as it is."""
    first, _, _ = text.partition(" ")
    return text if "." in first else f"{text[:1].upper()}{text[1:]}"


def _below(number: int, row: "BilledOffer") -> list[str]:
    """Where the price is from, of what tokens the bill is, and what is to be said of it."""
    bill, price = row.bill, row.bill.price
    texts = []
    if isinstance(price, PriceUnknown):
        texts.append(f"Price unknown: {price.why}. {_begun(price.hint)}.")
    else:
        texts.append(f"Price: {price.source}.")
        missing = missing_words(bill.usd_per_job) if bill.basis == "measured" else bill.usd_per_job.note or ""
        if missing:
            texts.append(f"{_begun(missing)}.")
        texts += [f"{_begun(one)}." for one in price.warnings]
    texts.append(_tokens_words(bill))
    if bill.parts:
        texts.append(_parts_words(bill))
    texts += [f"{_begun(one)}." for one in bill.notes]
    if row.suspect:
        texts.append(f"Suspect: {', '.join(row.suspect)}; `paceline runs show` says why.")
    lead = f"{number} "
    return folded(printable(" ".join(text for text in texts if text)), WIDTH, lead, " " * len(lead))


def _tokens_words(bill: "Bill") -> str:
    """`A job: 512 tokens in (300 from the cache), 128 out (40 reasoning).`."""
    tokens = bill.tokens
    known = []
    if "prompt" in tokens:
        inner = [
            f"{format_number(tokens[name])} {said}"
            for name, said in (("cached", "from the cache"), ("cache_write", "into it"))
            if tokens.get(name)
        ]
        known.append(f"{format_number(tokens['prompt'])} tokens in{_in_brackets(inner)}")
    if "completion" in tokens:
        inner = [f"{format_number(tokens['reasoning'])} reasoning"] if tokens.get("reasoning") else []
        known.append(f"{format_number(tokens['completion'])} out{_in_brackets(inner)}")
    return f"A job: {', '.join(known)}." if known else "Nobody says how many tokens a job has."


def _parts_words(bill: "Bill") -> str:
    """`Of the bill: prompt 45%, answer 55% (40% reasoning).`."""
    whole = bill.usd_per_job.value
    if not whole or "hardware" in bill.parts:
        return ""
    share = {name: format_percentage(usd / whole) for name, usd in bill.parts.items() if usd}
    told = {name: f"{said} {share[name]}" for name, said in PARTS.items() if name in share}
    if "reasoning" in share and "output" in told:
        told["output"] += f" ({share['reasoning']} reasoning)"
    return f"Of the bill: {', '.join(told.values())}."


def _in_brackets(parts: Sequence[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""

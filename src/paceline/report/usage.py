"""Usage for people (two tables of 80 columns), as CSV, and as JSON: `paceline.usage/1`."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from paceline.report.cells import name_cell, usd_words
from paceline.report.figures import json_text
from paceline.report.words import printable, shorten
from paceline.store.usage import Usage, UsageRow
from paceline.units import format_number

SCHEMA = "paceline.usage/1"
WIDTH = 80
# What a group that has no name is called: a request without key, one that no offer was asked for.
NO_NAME = "-"
_TOTAL = "TOTAL"
_SHORTEST_NAME = 5
_TIMES = ("day", "hour")
# What programs are given: below it a sum of float64 is noise.
_MONEY_DIGITS, _SHARE_DIGITS = 12, 6
# Of fewer streams the p95 is the maximum, or nearly.
FEWEST_FOR_P95 = 20
_Column = tuple[str, Callable[[UsageRow, Usage], str]]


def usage_text(usage: Usage, width: int | None = WIDTH) -> str:
    """Who used what, and how fast it was: two tables, and what is to be said of them.

    `width`: names are cut to fit it; None: they are not.
    """
    if not usage.total.requests and not usage.total.attempts:
        return f"no requests {_window(usage)}{_filters(usage)}\n"
    head = f"Requests {_window(usage)}{_filters(usage)}"
    tables = [_table(usage, columns, width) for columns in (_AMOUNTS, _SPEEDS)]
    notes = usage_notes(usage)
    return "\n".join([head, "", *tables[0], "", *tables[1], "", *notes]) + "\n"


@dataclass(frozen=True)
class UsageTable:
    """For pages: cells as text; the first `names` of a row say which group it is."""

    title: str
    names: int
    head: list[str]
    rows: list[list[str]]
    total: list[str]


def usage_tables(usage: Usage) -> list[UsageTable]:
    """The two tables of `usage_text`, with names uncut."""
    names = len(usage.query.by)
    return [
        UsageTable(
            title,
            names,
            [*usage.query.by, *(_HEADS.get(name, name.lower()) for name, _ in columns)],
            [[*_named(row, usage), *(shown(row, usage) for _, shown in columns)] for row in usage.rows],
            ["all", *[""] * (names - 1), *(shown(usage.total, usage) for _, shown in columns)],
        )
        for title, columns in (("Tokens and cost", _AMOUNTS), ("Speed and shares", _SPEEDS))
    ]


def usage_dict(usage: Usage) -> dict[str, Any]:
    """`paceline.usage/1` (docs/guides/usage.md)."""
    query = usage.query
    return {
        "schema": SCHEMA,
        "since": _iso(query.since),
        "until": _iso(query.until),
        "by": list(query.by),
        "filters": query.filters,
        "figures_of": "attempts" if query.of_attempts else "requests",
        "groups": usage.n_groups,
        "rows": [_row_dict(row, usage) for row in usage.rows],
        "total": _row_dict(usage.total, usage),
        "key_names": usage.key_names,
        "unread_lines": usage.unread_lines,
    }


def usage_json(usage: Usage) -> str:
    """The document as text, with a line end."""
    return json_text(usage_dict(usage))


CSV_FIGURES = (
    *("requests", "attempts", "ok_share", "prompt_tokens", "completion_tokens", "reasoning_tokens"),
    *("cached_tokens", "tokens_estimated", "cost_usd", "cost_is_partial", "ttft_n", "ttft_p50_ms"),
    *("ttft_p95_ms", "decode_n", "decode_p50_tok_s", "requests_share", "tokens_share", "cost_share"),
)


def usage_csv(usage: Usage) -> str:
    """One line a group, in the order of the table, without the total."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*usage.query.by, *CSV_FIGURES])
    for row in usage.rows:
        figures = _figures(row, usage)
        told = [figures[name] for name in CSV_FIGURES]
        writer.writerow([*(name_cell(name) for name in row.group), *(_cell(value) for value in told)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value


def _row_dict(row: UsageRow, usage: Usage) -> dict[str, Any]:
    return {"group": dict(zip(usage.query.by, row.group, strict=True)), **_figures(row, usage)}


def _figures(row: UsageRow, usage: Usage) -> dict[str, Any]:
    own = {name: getattr(row, name) for name in CSV_FIGURES if not name.endswith("_share")}
    shares = {name: _share(row, usage, name) for name in ("requests", "tokens", "cost")}
    own["cost_usd"] = round(row.cost_usd, _MONEY_DIGITS)
    told = {"ok_share": row.ok_share} | {f"{name}_share": value for name, value in shares.items()}
    rounded = {name: None if value is None else round(value, _SHARE_DIGITS) for name, value in told.items()}
    figures = own | rounded
    return {name: figures[name] for name in CSV_FIGURES}


def _share(row: UsageRow, usage: Usage, what: str) -> float | None:
    """Of all in the window; None of nothing."""
    name = {"cost": "cost_usd"}.get(what, what)
    whole = getattr(usage.total, name)
    return getattr(row, name) / whole if whole else None


_AMOUNTS: list[_Column] = [
    ("REQUESTS", lambda row, _: _short(row.requests)),
    ("PROMPT", lambda row, _: _short(row.prompt_tokens)),
    ("CACHED", lambda row, _: _short(row.cached_tokens)),
    ("OUTPUT", lambda row, _: _short(row.completion_tokens)),
    ("REASON", lambda row, _: _short(row.reasoning_tokens)),
    ("USD", lambda row, _: _cost(row)),
]
_SPEEDS: list[_Column] = [
    ("OK %", lambda row, _: _percent(row.ok_share)),
    ("TTFT ms", lambda row, _: _figure(row.ttft_p50_ms)),
    ("p95", lambda row, _: _figure(row.ttft_p95_ms if row.ttft_n >= FEWEST_FOR_P95 else None)),
    ("TOK/S", lambda row, _: _figure(row.decode_p50_tok_s)),
    ("% REQ", lambda row, usage: _percent(_share(row, usage, "requests"))),
    ("% TOK", lambda row, usage: _percent(_share(row, usage, "tokens"))),
    ("% USD", lambda row, usage: _percent(_share(row, usage, "cost"))),
]

# What pages have room for.
_HEADS = {
    "PROMPT": "prompt tokens",
    "OUTPUT": "output tokens",
    "REASON": "reasoning",
    "USD": "USD",
    "OK %": "ok, %",
    "TTFT ms": "TTFT, ms",
    "p95": "p95, ms",
    "TOK/S": "tok/s",
    "% REQ": "requests, %",
    "% TOK": "tokens, %",
    "% USD": "USD, %",
}


def _table(usage: Usage, columns: Sequence[_Column], width: int | None) -> list[str]:
    """Names to the left, cut to fit; figures to the right; the total below where there are groups."""
    by = usage.query.by
    rows = [*usage.rows, usage.total]
    figures = [[name for name, _ in columns], *([shown(row, usage) for _, shown in columns] for row in rows)]
    names = [[name.upper() for name in by], *(_named(row, usage) for row in rows)]
    names[-1] = [_TOTAL, *[""] * (len(by) - 1)] if by else []
    wide = [max(len(line[place]) for line in figures) for place in range(len(columns))]
    narrow = [max(len(line[place]) for line in names) for place in range(len(by))]
    if width is not None:
        narrow = _name_widths(by, narrow, width - sum(wide) - 2 * len(wide))
    lines = []
    for named, line in zip(names, figures, strict=True):
        left = [shorten(n, most).ljust(most) for n, most in zip(named, narrow, strict=True)]
        right = [text.rjust(most) for text, most in zip(line, wide, strict=True)]
        lines.append("  ".join([*left, *right]).rstrip())
    return lines


def _named(row: UsageRow, usage: Usage) -> list[str]:
    """A row's group in words: keys by their names, and by their ids too where several had the same name."""
    told = []
    for by, name in zip(usage.query.by, row.group, strict=True):
        known = usage.key_names.get(name or "") if by == "key" else None
        if known is not None and [*usage.key_names.values()].count(known) > 1:
            known = f"{known} ({name})"
        told.append(printable(known or name or NO_NAME))
    return told


def _name_widths(by: Sequence[str], needed: list[int], room: int) -> list[int]:
    """Of names that need more than there is room for, the widest are cut first, and times last."""
    room -= 2 * max(len(needed) - 1, 0)
    widths = list(needed)
    for mine in ([name not in _TIMES for name in by], [name in _TIMES for name in by]):
        places = [place for place, is_mine in enumerate(mine) if is_mine]
        while sum(widths) > room and any(widths[place] > _SHORTEST_NAME for place in places):
            widths[max(places, key=widths.__getitem__)] -= 1
    return widths


def usage_notes(usage: Usage) -> list[str]:
    """What is to be said of its figures, a sentence each."""
    total = usage.total
    of, ok_of = "streamed requests", "requests of clients, without those that left"
    if usage.query.of_attempts:
        of, ok_of = "streams of the offers asked", "times that an offer was asked, without those called off"
    notes = [
        f"OK % is of {total.judged:,} {ok_of}.",
        f"TTFT (median and p95) and TOK/S (median) are of {total.ttft_n:,} {of}.",
    ]
    if usage.n_groups > len(usage.rows):
        notes.append(f"{usage.n_groups - len(usage.rows):,} more groups are in the total.")
    if usage.query.of_attempts and total.attempts != total.requests:
        notes.append(f"Offers were asked {total.attempts:,} times; tokens and cost are of the one asked.")
    if total.cost_is_partial:
        notes.append(">= at least: of some tokens the price is not known.")
    if total.tokens_estimated:
        notes.append("Tokens of answers that were cut short are estimated in part.")
    if total.probes:
        notes.append(f"{total.probes:,} of the requests are the gateway's own probes.")
    return notes


def _window(usage: Usage) -> str:
    since, until = usage.query.since, usage.query.until
    parts = [f"since {_minute(since)}"] if since else []
    parts += [f"until {_minute(until)}"] if until else []
    return f"{' '.join(parts)} UTC" if parts else "of all times"


def _filters(usage: Usage) -> str:
    told = dict(usage.query.filters)
    if "key" in told:
        told["key"] = usage.key_names.get(told["key"], told["key"])
    return "".join(f", {name} {printable(value)}" for name, value in told.items())


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()


def _short(n: int) -> str:
    """`999`, `12.3k`, `4.56M`, `7.89G`."""
    value = float(n)
    for unit in ("", "k", "M", "G"):
        if value < 999.5:
            return f"{value:.0f}" if not unit else f"{format_number(value)}{unit}"
        value /= 1000.0
    return f"{value:,.0f}T"


def _percent(share: float | None) -> str:
    """`97.5`; 100 and 0 only of all and of nothing."""
    if share is None:
        return NO_NAME
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}"
    return f"{min(max(100 * share, 0.1), 99.9):.1f}"


def _cost(row: UsageRow) -> str:
    """At least so much where some price is not known; `>=0` would say nothing."""
    if row.cost_is_partial and not row.cost_usd:
        return "unknown"
    return f"{'>=' if row.cost_is_partial else ''}{usd_words(row.cost_usd)}"


def _figure(value: float | None) -> str:
    return NO_NAME if value is None else format_number(value)

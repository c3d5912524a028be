"""What is to be said of a board beside its figures: what to see, what is missing, and what to do next."""

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from paceline.catalogue.price import PriceUnknown
from paceline.report.board_figures import FIGURES
from paceline.report.board_words import (
    ends_of,
    figures_standing,
    full_name,
    interval_words,
    times_words,
    value_words,
)
from paceline.report.words import printable, sentence_list
from paceline.stats.mover import ratio

if TYPE_CHECKING:
    from paceline.advisor.board import Board, BoardRow, Choice, Elsewhere, PublishedRow

MARKS = {
    "suspect": ("!", "of a suspect run: `paceline runs show RUN` says why"),
    "approximate": ("~", "tokens are counted by chunks: rates are approximate"),
    "live": ("^", "live traffic: each offer had other requests"),
    "running": ("+", "still goes on"),
    "differ": (
        "#",
        "its runs differ: intervals span what they were; of 5 runs or more, what a further one may be",
    ),
}
"""The sign of each mark, and what it says."""

MEASURE = "paceline measure URL --model M --provider P"
_MOST_NAMED = 3


def marks_of(row: "BoardRow") -> str:
    """The signs that stand at an offer."""
    return "".join(MARKS[mark][0] for mark in row.marks if mark in MARKS)


def head_words(board: "Board") -> str:
    """Which board it is: workload, load, how much is behind it, date of prices, order."""
    offers = _count(len(board.rows), "offer")
    parts = [
        f"{printable(board.workload or 'no workload')}, {printable(board.load or 'no load')}: {offers}",
        f"{_count(board.runs, 'run')}",
        f"{_count(board.requests, 'request')}",
    ]
    if board.query.since is not None:
        parts.append(f"since {minute_words(board.query.since)}")
    parts.append(f"prices of {(board.query.at or board.made_at):%Y-%m-%d}")
    return f"{', '.join(parts)}. Sorted by {FIGURES[board.query.sort].label}, the best first."


def see_words(board: "Board") -> str:
    """The one line that says what to see: the best by the figure of the order, and how sure that is."""
    name = board.query.sort
    info = FIGURES[name]
    known = [row for row in board.rows if row.figures[name].value is not None]
    if not known:
        return f"No offer has a figure for {info.label} yet." if board.rows else ""
    best = known[0].figures[name]
    assert best.value is not None
    which = "Lowest" if info.better == "lower" else "Highest"
    unit = f" {info.unit}" if info.unit not in ("x", "") else ""
    spread = f" ({interval_words(name, best)})" if best.known else ""
    text = f"{which} {info.label}: {full_name(known[0].key)}, {value_words(name, best.value)}{unit}{spread}"
    return f"{text}{_next_words(name, known)}."


def _next_words(name: str, known: Sequence["BoardRow"]) -> str:
    """How sure the first is before the second."""
    if len(known) < 2:
        return ""
    second = full_name(known[1].key)
    ends = [ends_of(row.figures[name]) for row in known[:2]]
    if ends[0] is None or ends[1] is None:
        apart = figures_standing(known[0].figures[name], known[1].figures[name]) == "apart"
        return f"; next {second}" if apart else f"; too little data to tell it from {second}"
    found = ratio(ends[1], ends[0])
    if found is None:
        return f"; next {second}"
    apart = found.lo > 1.0 or found.hi < 1.0
    return (
        f"; {second} has {times_words(found)} that"
        if apart
        else f"; {second} may be no worse: {times_words(found)} that"
    )


def mark_notes(board: "Board") -> list[str]:
    """What the signs mean that stand on this board, and until when its figures are where a run goes on."""
    present = {mark for row in board.rows for mark in row.marks}
    notes = [f"{sign} {text}." for mark, (sign, text) in MARKS.items() if mark in present]
    if present & {"live", "running"}:
        until = max(row.evidence.until for row in board.rows if set(row.marks) & {"live", "running"})
        notes.append(f"Live traffic and runs that go on: as of {minute_words(until)}.")
    suspect = [run for row in board.rows for run in row.evidence.suspect]
    if suspect:
        notes.append(f"Suspect: {_some(suspect)}.")
    return notes


def missing_notes(board: "Board") -> list[str]:
    """Why figures have no value, once each reason, with the offers that it is of."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, info in FIGURES.items():
        for row in board.rows:
            figure = row.figures[name]
            if figure.value is None and figure.lo is None:
                why = _without_name(printable(figure.note or "not known"), row)
                found.setdefault((why, full_name(row.key)), []).append(info.label)
    reasons: dict[tuple[str, str], list[str]] = {}
    for (why, offer), labels in found.items():
        reasons.setdefault((sentence_list(labels), why), []).append(offer)
    return [
        f"{labels}: {why} ({'all offers' if len(offers) == len(board.rows) > 1 else _some(offers)})."
        for (labels, why), offers in reasons.items()
    ]


def _without_name(why: str, row: "BoardRow") -> str:
    """A reason without the offer's own names, so that it is said once of all that it is true of."""
    if not isinstance(row.price, PriceUnknown):
        return why
    names = {printable(digest.model or "") for digest in row.evidence.digests} | {printable(row.key.model)}
    for name in names:
        why = why.replace(f" of {name} at {printable(row.key.provider)}", "").replace(
            f'model = "{name}"', "model"
        )
    return why


def short_note(board: "Board") -> list[str]:
    """What `~` and `N more` mean, where they stand."""
    figures = [figure for row in board.rows for figure in row.figures.values()]
    if any(figure.value is not None and not figure.known for figure in figures):
        return [
            "~ and >=: not enough data for an interval; `N more` samples would give one "
            "(requests; of rates and stalls those with several tokens)."
        ]
    return []


def bill_lines(board: "Board") -> list[str]:
    """What each offer costs a day and a month, where it is said how many jobs a day there are."""
    lines = []
    for row in board.rows:
        day, month = row.bill.usd_per_day, row.bill.usd_per_month
        if day is None or month is None or day.value is None or month.value is None:
            continue
        spread = interval_words("usd_per_job", month)
        lines.append(
            f"{full_name(row.key)}: {value_words('usd_per_job', day.value)} USD a day, "
            f"{value_words('usd_per_job', month.value)} a month{f' ({spread})' if spread else ''}"
        )
    return lines


def problem_lines(board: "Board", most: int | None = None) -> list[str]:
    """Runs without figures, each with why; `most`: how many at most."""
    lines = [
        printable(f"{one.run_id}: {one.text}" if one.run_id else one.text) for one in board.problems[:most]
    ]
    return [*lines, *_left(len(board.problems) - len(lines))]


def elsewhere_lines(board: "Board", most: int | None = None) -> list[str]:
    """Offers that were measured otherwise, and how to see them."""
    lines = [elsewhere_words(one) for one in board.elsewhere[:most]]
    return [*lines, *_left(len(board.elsewhere) - len(lines))]


def elsewhere_words(one: "Elsewhere") -> str:
    """`model @ provider: chat, closed 1, 400 requests`."""
    how = f"{printable(one.workload)}, {printable(one.load)}"
    return f"{full_name(one.key)}: {how}, {_count(one.requests, 'request')}"


def choice_lines(board: "Board", most: int | None = None) -> list[str]:
    """Other boards that there are: `--workload chat --load 'closed 1': 3 offers, 1,200 requests`."""
    others = other_choices(board)
    lines = []
    for one in others[:most]:
        keys = {other.workload_key for other in board.choices if other.workload == one.workload}
        asked = one.workload if len(keys) == 1 else one.workload_key
        called = "" if asked == one.workload else f" ({printable(one.workload)})"
        lines.append(
            f"--workload {_quoted(asked)} --load {_quoted(one.load)}{called}: "
            f"{_count(one.offers, 'offer')}, {_count(one.requests, 'request')}"
        )
    return [*lines, *_left(len(others) - len(lines))]


def other_choices(board: "Board") -> list["Choice"]:
    """The workloads and loads that this board is not of."""
    return [one for one in board.choices if (one.workload_key, one.load) != (board.workload_key, board.load)]


def price_hints(board: "Board") -> list[str]:
    """What to do about prices that are not known, once each."""
    hints = [
        _without_name(printable(row.price.hint), row)
        for row in board.rows
        if isinstance(row.price, PriceUnknown)
    ]
    return list(dict.fromkeys(hints))


def next_steps(board: "Board") -> list[str]:
    """What to do next, where the board is not whole."""
    if board.rows:
        if len(board.rows) > 1:
            return []
        return [f"One offer stands alone: measure another with the same workload and load: {MEASURE}."]
    if board.query.since is not None and not board.choices and not board.problems:
        return [f"No run since {minute_words(board.query.since)}: leave --since out, or measure: {MEASURE}."]
    if board.problems:
        return [f"No run has figures: what is wrong with each stands below. Measure again: {MEASURE}."]
    return [f"No offer was measured yet. Measure one: {MEASURE}; or see how it goes: paceline demo."]


def published_words(row: "PublishedRow") -> str:
    """Who says so, and when."""
    return printable(f"{row.source}, {row.as_of}")


def minute_words(moment: datetime) -> str:
    """`2026-11-30 16:40 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _quoted(name: str) -> str:
    """As a shell takes it."""
    return shlex.quote(printable(name))


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else shown


def _left(n: int) -> list[str]:
    return [f"and {n:,} more: --json - has all"] if n > 0 else []

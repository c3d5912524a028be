"""A board as one HTML file, and as a part of a server's page.

A server's page has the same table and charts: `page_of(board)` is a `report.page.Page`, whose `filling()`
goes into a template that says `{% include "board_parts.html" %}` where the board is to stand; it needs the
assets `report.css`, `dark.css`, `report.js`, and those that the page names in `extras`. Single macros
(`board_table`, `chart`, `published_table` and others) are in `board_macros.html`; what they are given are
parts of `board_view`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paceline import __version__
from paceline.report.board_charts import board_charts
from paceline.report.board_dict import board_json
from paceline.report.board_figures import FIGURES
from paceline.report.board_notes import (
    MARKS,
    choice_lines,
    head_words,
    mark_notes,
    missing_notes,
    next_steps,
    other_choices,
    price_hints,
    see_words,
    short_note,
)
from paceline.report.board_points import JOBS_CHARTED, named_rows, points_of
from paceline.report.board_prices import prices_context
from paceline.report.board_sentences import LEADERS, leaders
from paceline.report.board_table import table_context
from paceline.report.board_words import figure_words, full_name, interval_words, missing_words
from paceline.report.page import Page, coded
from paceline.report.trend_chart import changes_drawn, trends_drawn
from paceline.report.words import printable
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.board import Board
    from paceline.advisor.trend import Trend
    from paceline.report.drawn import Drawn

# Rows of a list of offers that is about as high as the chart beside it.
_FEWEST_BESIDE, _MOST_BESIDE = 7, 14
EXTRAS = ("board.css", "board.js")


def render_board_html(
    board: "Board",
    *,
    speed: str = "output_tok_s",
    limits: Mapping[str, float] | None = None,
    trends: Sequence["Trend"] = (),
) -> str:
    """One self-contained file: the table, charts, published claims, prices, and all that is not in the table.

    speed, limits: see `board_charts`. trends: of its offers, where they are to be shown.
    """
    return page_of(board, speed=speed, limits=limits, trends=trends).as_file()


def page_of(
    board: "Board",
    *,
    speed: str = "output_tok_s",
    limits: Mapping[str, float] | None = None,
    trends: Sequence["Trend"] = (),
) -> Page:
    """What its page holds; parameters as in `render_board_html`."""
    drawn = board_charts(board, speed=speed, limits=limits)
    numbers = {row.key: number for number, _, row in named_rows(board)}
    over_time = trends_drawn(trends, numbers)
    if over_time is not None:
        drawn += [over_time, *changes_drawn(trends)]
    context = {
        "title": f"Board: {printable(board.workload or 'nothing measured yet')}",
        "version": __version__,
        "board_view": board_view(board, drawn),
        "file_name": "board.json",
    }
    return Page("board.html", context, {chart.name: chart.spec for chart in drawn}, board_json(board), EXTRAS)


def board_view(board: "Board", drawn: Sequence["Drawn"]) -> dict[str, Any]:
    """What `board_parts.html` shows."""
    first = _leaders(board)
    return {
        "head": head_words(board) if board.rows else "",
        "says": "" if board.query.sort in [one["name"] for one in first] else see_words(board),
        "next": next_steps(board),
        "leaders": first,
        "table": table_context(board),
        "notes": coded([*short_note(board), *_mark_notes(board), *missing_notes(board)]),
        "charts": [{"drawn": one, "wide": wide} for one, wide in zip(drawn, wides(drawn), strict=True)],
        "published": [
            {
                "model": printable(one.model),
                "tier": printable(one.tier or "not said"),
                "rate": "-" if one.output_tok_s is None else format_number(one.output_tok_s),
                "qualifier": printable(one.qualifier or ""),
                "source": printable(one.source),
                "as_of": printable(one.as_of),
            }
            for one in board.published
        ],
        "prices": prices_context(board),
        "elsewhere": [
            {
                "offer": full_name(one.key),
                "workload": printable(one.workload),
                "load": printable(one.load),
                "requests": f"{one.requests:,}",
                "last": f"{one.last_at:%Y-%m-%d}",
            }
            for one in board.elsewhere
        ],
        "choices": [
            {
                "line": line,
                "workload": one.workload_key,
                "load": one.load,
                "called": f"{printable(one.workload)}, {printable(one.load)}",
                "held": f"{one.offers:,} offer{'' if one.offers == 1 else 's'}, {one.requests:,} requests",
            }
            for line, one in zip(choice_lines(board), other_choices(board), strict=True)
        ],
        "hints": price_hints(board),
        "problems": [{"run": one.run_id, "text": printable(one.text)} for one in board.problems],
    }


def wides(drawn: Sequence["Drawn"]) -> list[bool]:
    """Which charts are as wide as the page: the first, a list that is much shorter or longer than the others
    are high, and the last where it would stand alone."""
    found = [
        place == 0 or (one.name.startswith("offers_") and not _FEWEST_BESIDE <= len(one.rows) <= _MOST_BESIDE)
        for place, one in enumerate(drawn)
    ]
    if found.count(False) % 2:
        found[len(found) - 1 - found[::-1].index(False)] = True
    return found


def _leaders(board: "Board") -> list[dict[str, str]]:
    """Who is best in what people look at first."""
    return [
        {
            "name": one.name,
            "best": LEADERS[one.name],
            "offer": one.offer,
            "value": figure_words(one.name, one.figure),
            "unit": f"USD for {JOBS_CHARTED:,} jobs" if one.name == "usd_per_job" else FIGURES[one.name].unit,
            "span": interval_words(one.name, one.figure) or missing_words(one.figure),
            "others": one.others,
        }
        for one in leaders(lambda name: points_of(board, name, name))
    ]


def _mark_notes(board: "Board") -> list[str]:
    """What the marks mean: here they stand as words, not as signs."""
    present = [name for name in MARKS if any(name in row.marks for row in board.rows)]
    said = [_about(name, MARKS[name][1]) for name in present]
    return [*said, *mark_notes(board)[len(present) :]]


def _about(name: str, text: str) -> str:
    """`Of a suspect run: ...`; the mark's own name first where the text has it not."""
    said = text if name in text else f"{name}: {text}"
    return f"{said[0].upper()}{said[1:]}."

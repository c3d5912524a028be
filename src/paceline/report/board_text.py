"""A board for the terminal, in tables of 80 columns or of what there is, and as Markdown."""

import textwrap
from typing import TYPE_CHECKING

from paceline.report.board_figures import FIGURES
from paceline.report.board_notes import (
    bill_lines,
    choice_lines,
    elsewhere_lines,
    head_words,
    mark_notes,
    marks_of,
    missing_notes,
    next_steps,
    problem_lines,
    published_words,
    see_words,
    short_note,
)
from paceline.report.board_words import figure_words, full_name, interval_words
from paceline.report.lines import WIDTH, Column, bullets, tables, width_of, wrapped
from paceline.report.markdown import escape, table_lines
from paceline.report.words import printable, shorten
from paceline.units import format_number

if TYPE_CHECKING:
    from paceline.advisor.board import Board, BoardRow
    from paceline.advisor.figures import Figure

_LONGEST_NAME = 30
_GAP = "  "
# Lists below the tables: the whole of them is in the JSON.
_MOST_LINES = 8
_CLAIMS = "Published elsewhere: claims, not measured here, and not to be held against the rows above."


def board_text(board: "Board", width: int | None = WIDTH) -> str:
    """The board for people. `width`: of the tables and lines; None: 80 columns."""
    wide = width_of(width)
    parts: list[list[str]] = []
    if board.rows:
        parts.append(wrapped([head_words(board), see_words(board)], wide))
        parts += _tables(board, wide)
        parts.append(wrapped([*short_note(board), *mark_notes(board), *missing_notes(board)], wide))
    parts.append(wrapped(next_steps(board), wide))
    for head, lines in _lists(board, _MOST_LINES):
        parts.append([*wrapped([head], wide), *bullets(lines, wide, first="  ", rest="    ")])
    parts.append(_published(board, wide))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def board_markdown(board: "Board") -> str:
    """The board for an issue or a wiki: one table, offers down, figures across."""
    lines = ["# Board", ""]
    if board.rows:
        lines += [escape(head_words(board)), "", escape(see_words(board)), ""]
        head = ["offer", *(f"{info.label}{_unit(info.unit, ', ')}" for info in FIGURES.values()), "feels"]
        lines += table_lines(head, [_markdown_row(row) for row in board.rows])
        notes = [*short_note(board), *mark_notes(board), *missing_notes(board)]
        lines += [f"\n{escape(note)}" for note in notes]
    lines += [f"\n{escape(step)}" for step in next_steps(board)]
    for title, told in _lists(board, None):
        lines += ["", escape(title), "", *(f"- {escape(line)}" for line in told)]
    if board.published:
        lines += ["", "## Published elsewhere", "", escape(_CLAIMS), ""]
        head = ["model", "tok/s", "what is said", "source"]
        lines += table_lines(head, [list(one) for one in _published_cells(board)])
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown_row(row: "BoardRow") -> list[str]:
    cells = []
    for name in FIGURES:
        value, below = _cell(name, row.figures[name])
        cells.append(f"{value} ({below})" if below else value)
    return [f"{full_name(row.key)} {marks_of(row)}".strip(), *cells, printable(row.feel)]


def _lists(board: "Board", most: int | None) -> list[tuple[str, list[str]]]:
    """Titles and lines of what stands below the tables."""
    jobs = board.query.jobs_per_day
    found = [
        (f"Bills of {format_number(jobs or 0.0)} jobs a day:", bill_lines(board) if jobs else []),
        ("Runs without figures:", problem_lines(board, most)),
        ("Measured otherwise only, so not to be held against these:", elsewhere_lines(board, most)),
        ("Other boards:", choice_lines(board, most)),
    ]
    return [(title, lines) for title, lines in found if lines]


def _tables(board: "Board", width: int) -> list[list[str]]:
    """As many tables as the columns need, each beginning with the offers' names."""
    names = Column(("OFFER", ""), tuple(_name(row) for row in board.rows))
    columns = [
        Column((info.label, _unit(info.unit)), tuple(_cell(name, row.figures[name]) for row in board.rows))
        for name, info in FIGURES.items()
    ]
    if any(row.feel for row in board.rows):
        columns.append(Column(("feels", ""), tuple((printable(row.feel), "") for row in board.rows)))
    return tables(names, columns, width)


def _name(row: "BoardRow") -> tuple[str, str]:
    """The model with its marks, and below it who has it, at which tier."""
    marks = marks_of(row)
    model = shorten(printable(row.key.model), _LONGEST_NAME - len(marks) - 1)
    tier = "" if row.key.tier == "standard" else f" ({row.key.tier})"
    provider = shorten(printable(row.key.provider), _LONGEST_NAME - len(tier) - 4)
    return f"{model} {marks}".strip(), f"  @ {provider}{printable(tier)}"


def _cell(name: str, figure: "Figure") -> tuple[str, str]:
    """The value, and below it its interval, or how many more samples it takes."""
    value = figure_words(name, figure)
    spread = interval_words(name, figure).replace(" to ", "-")
    if spread or value == "-":
        return value, spread
    if figure.needs_n is not None and figure.needs_n > figure.n:
        return value, f"{figure.needs_n - figure.n:,} more"
    return value, ""


def _unit(unit: str, before: str = "") -> str:
    return "" if unit in ("x", "tok/s", "USD", "tok/s/USD") else f"{before}{unit}"


def _published(board: "Board", width: int) -> list[str]:
    if not board.published:
        return []
    cells = _published_cells(board)
    rows = [("MODEL", "tok/s", "", ""), *cells]
    name, speed = (max(len(row[place]) for row in rows) for place in (0, 1))
    lines = [*wrapped([_CLAIMS], width), f"{'MODEL'.ljust(name)}{_GAP}{'tok/s'.rjust(speed)}{_GAP}SAID BY"]
    for model, rate, said, source in cells:
        head = f"{model.ljust(name)}{_GAP}{rate.rjust(speed)}{_GAP}"
        text = "; ".join(part for part in (said, source) if part)
        lines += textwrap.wrap(
            text, width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
        )
    return lines


def _published_cells(board: "Board") -> list[tuple[str, str, str, str]]:
    """Model and tier, tokens a second, what is added, and who says so."""
    found = []
    for row in board.published:
        tier = f" ({row.tier})" if row.tier else ""
        rate = "-" if row.output_tok_s is None else format_number(row.output_tok_s)
        found.append((printable(f"{row.model}{tier}"), rate, row.qualifier or "", published_words(row)))
    return found

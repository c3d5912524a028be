"""Plain text for a terminal: sentences in lines of so many columns, and tables whose cells have two lines."""

import textwrap
from collections.abc import Collection, Sequence
from dataclasses import dataclass

WIDTH = 80
_GAP = "  "


@dataclass(frozen=True)
class Column:
    """head: its two lines; cells: two lines an offer, the value and its interval. A second may be empty."""

    head: tuple[str, str]
    cells: tuple[tuple[str, str], ...]

    @property
    def width(self) -> int:
        """Characters of the longest line."""
        return max(len(line) for pair in (self.head, *self.cells) for line in pair)


def width_of(columns: int | None) -> int:
    """How wide lines are on a terminal of so many columns, or where there is none: 80 at least."""
    return WIDTH if columns is None else max(columns, WIDTH)


def tables(names: Column, columns: Sequence[Column], width: int) -> list[list[str]]:
    """The lines of as many tables as the columns need, each beginning with the offers' names."""
    found: list[list[Column]] = []
    room = 0
    for column in columns:
        if not found or column.width + len(_GAP) > room:
            found.append([names])
            room = width - names.width
        found[-1].append(column)
        room -= column.width + len(_GAP)
    return [_lines(one) for one in found]


def _lines(columns: Sequence[Column]) -> list[str]:
    """The first column to the left, the others to the right; second lines only where one says something."""
    lines = []
    for place in range(len(columns[0].cells) + 1):
        pairs = [(column.head, *column.cells)[place] for column in columns]
        for line in (0, 1):
            if any(pair[line] for pair in pairs):
                cells = [
                    pair[line].rjust(column.width) if number else pair[line].ljust(column.width)
                    for number, (pair, column) in enumerate(zip(pairs, columns, strict=True))
                ]
                lines.append(_GAP.join(cells).rstrip())
    return lines


def aligned(cells: Sequence[Sequence[str]], left: Collection[int]) -> list[str]:
    """Rows under each other, the columns of these places to the left, the others to the right."""
    wide = [max(len(row[place]) for row in cells) for place in range(len(cells[0]))]
    return [
        _GAP.join(
            text.ljust(wide[place]) if place in left else text.rjust(wide[place])
            for place, text in enumerate(row)
        ).rstrip()
        for row in cells
    ]


def wrapped(texts: Sequence[str], width: int = WIDTH) -> list[str]:
    """Texts below each other, without empty ones."""
    return [line for text in texts if text for line in folded(text, width)]


def bullets(texts: Sequence[str], width: int = WIDTH, *, first: str = "- ", rest: str = "  ") -> list[str]:
    """A list, each text wrapped under its own beginning; `first`, `rest`: before its lines."""
    return [line for text in texts if text for line in folded(text, width, first, rest)]


def folded(text: str, width: int = WIDTH, first: str = "", rest: str = "") -> list[str]:
    """A text in lines of `width` characters, broken between words only; `first`, `rest`: before its lines."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )

"""Jobs for the terminal, and as Markdown."""

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from paceline.report.job_figures import JobFigures
from paceline.report.job_words import (
    calls_table,
    groups_head,
    part_name,
    parts_shares,
    parts_title,
    turn_tables,
    whole_percent,
)
from paceline.report.words import printable
from paceline.stats.critical_path import Part

_BAR_WIDTH = 76
# Told apart without colours, from dense to thin.
_BLOCKS = {
    Part.QUEUEING: "\N{FULL BLOCK}",
    Part.FIRST_TOKEN: "\N{DARK SHADE}",
    Part.GENERATING: "\N{MEDIUM SHADE}",
    Part.TOOLS: "\N{LIGHT SHADE}",
    Part.THINKING: "\N{MIDDLE DOT}",
}
_COLOURS = {
    Part.QUEUEING: "red",
    Part.FIRST_TOKEN: "yellow",
    Part.GENERATING: "green",
    Part.TOOLS: "blue",
    Part.THINKING: "dim",
}
_MOST_LINES = 8
_CALL_COUNTS = 5


def parts_bar(figures: JobFigures) -> list[RenderableType]:
    """One line of blocks, and what they stand for; nothing where no job ended well."""
    shares = parts_shares(figures)
    if not shares:
        return []
    bar, legend = Text(), Text()
    for (part, _, share), cells in zip(shares, _cells([share for *_, share in shares]), strict=True):
        bar.append(_BLOCKS[part] * cells, style=_COLOURS[part])
        legend.append(_BLOCKS[part], style=_COLOURS[part])
        legend.append(f" {part_name(figures, part)} {whole_percent(share)}  ", style="dim")
    legend.rstrip()
    return [Text(parts_title(figures)), bar, legend]


def _cells(shares: list[float]) -> list[int]:
    """Cells of each part, at least one, that make up the bar (largest remainder)."""
    wanted = [share * (_BAR_WIDTH - len(shares)) for share in shares]
    cells = [int(one) for one in wanted]
    by_rest = sorted(range(len(shares)), key=lambda place: cells[place] - wanted[place])
    for place in by_rest[: _BAR_WIDTH - len(shares) - sum(cells)]:
        cells[place] += 1
    return [one + 1 for one in cells]


def call_parts(figures: JobFigures) -> list[RenderableType]:
    """How calls ended, by their names."""
    table = calls_table(figures, _MOST_LINES)
    if table is None:
        return []
    head, lines = table
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for place, name in enumerate(head):
        of_counts = 0 < place < _CALL_COUNTS
        grid.add_column(
            name,
            justify="right" if of_counts else "left",
            no_wrap=of_counts,
            overflow="fold",
            header_style="dim",
        )
    for cells in lines:
        grid.add_row(*(Text(printable(cell)) for cell in cells))
    return [Text(), grid]


def turn_parts(figures: JobFigures) -> list[RenderableType]:
    """TTFT by turn, by cached share and by call, as small tables."""
    parts: list[RenderableType] = []
    for what, lines in turn_tables(figures, _MOST_LINES):
        table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
        for place, name in enumerate(groups_head(f"TTFT by {what}")):
            justify = "right" if place else "left"
            table.add_column(name, justify=justify, no_wrap=True, header_style="dim")  # type: ignore[arg-type]
        for cells in lines:
            table.add_row(*(Text(printable(cell)) for cell in cells))
        parts += [Text(), table]
    return parts


def markdown_lines(figures: JobFigures) -> list[str]:
    """The parts as a table, and the tables of TTFT."""
    from paceline.report.markdown import table_lines

    lines: list[str] = []
    shares = parts_shares(figures)
    if shares:
        lines += ["", f"{parts_title(figures)}.", ""]
        rows = [[part_name(figures, part), f"{ms:,.0f}", whole_percent(share)] for part, ms, share in shares]
        lines += table_lines(["part", "mean, ms", "share"], rows)
    calls = calls_table(figures, _MOST_LINES)
    if calls is not None:
        lines += ["", *table_lines(*calls)]
    for what, table in turn_tables(figures, _MOST_LINES):
        lines += ["", *table_lines(groups_head(f"TTFT by {what}"), table)]
    return lines

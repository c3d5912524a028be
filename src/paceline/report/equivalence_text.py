"""The equivalence of two endpoints for the terminal and as Markdown."""

from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from paceline.report.comparison_text import result_cells
from paceline.report.equivalence_words import (
    PAIRS,
    agreement_rows,
    example_parts,
    example_title,
    limits_words,
    prompt_words,
    side_name,
    side_rows,
    speed_sentence,
    title,
)
from paceline.report.markdown import escape, table_lines
from paceline.report.terminal import WIDTH, bullet, plain_text

if TYPE_CHECKING:
    from paceline.advisor.answer_pairs import Example
    from paceline.advisor.equivalence import Equivalence

_COLOURS = {"same": "bold green", "different": "bold red", "not enough data": "bold yellow"}
_SPEED_HEAD = ["", "A", "B", "B / A", "interval", "B is"]


def print_equivalence(found: "Equivalence", console: Console) -> None:
    """Print it; without trailing blanks where no terminal is."""
    if console.is_terminal:
        console.print(render(found), highlight=False)
    else:
        console.file.write(render_text(found, min(console.width, WIDTH)))


def render_text(found: "Equivalence", width: int = WIDTH) -> str:
    """As plain text."""
    return plain_text(render(found), width)


def render(found: "Equivalence") -> RenderableType:
    """As something that Rich prints."""
    parts: list[RenderableType] = [Text(title(found), style=_COLOURS[found.verdict])]
    parts += [bullet(reason, "") for reason in found.reasons]
    said = speed_sentence(found)
    if said:
        parts.append(Text(said))
    parts.append(Text())
    parts += [Text(f"{letter}  {side_name(side)}") for letter, side in (("A", found.a), ("B", found.b))]
    parts += [Text(), _table(["", *PAIRS.values()], agreement_rows(found))]
    parts += [Text(), _table(["", "A", "B"], side_rows(found))]
    if found.speed:
        parts += [Text(), _table(_SPEED_HEAD, [result_cells(one) for one in found.speed])]
    parts.append(Text())
    parts += [Text(line, style="dim") for line in limits_words(found)]
    parts += [bullet(note, "yellow") for note in found.notes]
    for example in found.examples:
        parts += [Text(), *_example(example, found)]
    return Group(*parts)


def _table(head: list[str], rows: list[list[str]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for place, name in enumerate(head):
        last = place == len(head) - 1 and len(head) == len(_SPEED_HEAD)
        table.add_column(
            name,
            justify="left" if place == 0 or last else "right",
            no_wrap=place == 0,
            overflow="fold",
            header_style="dim",
        )
    for cells in rows:
        table.add_row(*(Text(cell) for cell in cells))
    return table


def _example(example: "Example", found: "Equivalence") -> list[RenderableType]:
    lines: list[RenderableType] = [Text(example_title(example, found), style="bold")]
    asked = prompt_words(example)
    if asked:
        lines.append(Padding(Text(asked, style="dim"), (0, 0, 0, 2)))
    for letter, text in (("A", example.a), ("B", example.b)):
        before, after = example_parts(text, example.at)
        line = Text(f"{letter}  ")
        line.append(before, style="dim")
        line.append(" >> ", style="bold")
        line.append(after or "(ends)")
        lines.append(Padding(line, (0, 0, 0, 2)))
    return lines


def render_markdown(found: "Equivalence") -> str:
    """As Markdown."""
    lines = ["# Are A and B the same model?", "", f"**{title(found)}**", ""]
    lines += [f"- {escape(reason)}" for reason in found.reasons]
    said = speed_sentence(found)
    lines += ["", *([escape(said), ""] if said else [])]
    lines += [
        f"- **{letter}**: {escape(side_name(side))}" for letter, side in (("A", found.a), ("B", found.b))
    ]
    lines += ["", *table_lines(["agreement", *PAIRS.values()], agreement_rows(found))]
    lines += ["", *table_lines(["answers", "A", "B"], side_rows(found))]
    if found.speed:
        rows = [result_cells(one) for one in found.speed]
        lines += ["", *table_lines(["speed", *_SPEED_HEAD[1:]], rows)]
    lines += ["", *(f"{escape(line)}" for line in limits_words(found))]
    lines += ["", *(f"- {escape(note)}" for note in found.notes)]
    for example in found.examples:
        lines += ["", f"**{escape(example_title(example, found))}**", ""]
        if example.prompt is not None:
            lines += [escape(prompt_words(example)), ""]
        for letter, text in (("A", example.a), ("B", example.b)):
            before, after = example_parts(text, example.at)
            lines.append(f"- {letter}: {escape(before)} **>>** {escape(after) or '(ends)'}")
    return "\n".join(lines).rstrip() + "\n"

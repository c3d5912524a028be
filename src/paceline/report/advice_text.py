"""An advice for the terminal, in 80 columns or what there is, and as Markdown: the answer first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paceline.report import advice_words as words
from paceline.report.board_words import full_name
from paceline.report.lines import WIDTH, Column, bullets, folded, tables, width_of, wrapped
from paceline.report.markdown import escape, table_lines
from paceline.report.words import printable, shorten

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice, OfferAdvice
    from paceline.advisor.explain import Origin

_LONGEST_NAME = 28
_STATUS = {"meets": "meets all", "fails": "fails", "open": "open", "aside": "set aside"}


def advice_text(
    advice: "Advice",
    width: int | None = WIDTH,
    *,
    origins: Sequence["Origin"] = (),
    formulas: dict[str, str] | None = None,
) -> str:
    """The advice for people. `origins`, `formulas`: of every number, where they are asked for."""
    wide = width_of(width)
    parts = [wrapped([words.headline(advice)], wide), bullets(words.because(advice), wide)]
    if advice.offers:
        parts.append(wrapped([words.head_words(advice)], wide))
        parts += _tables(advice, wide)
        legend = [f"{letter}: {what}" for letter, what in words.letters(advice)]
        parts.append(wrapped(legend, wide))
        parts.append(wrapped([words.pareto_words(advice)], wide))
    for head, lines in _sections(advice):
        if lines:
            parts.append([head, *bullets(lines, wide)])
    parts.append(bullets(words.notes(advice), wide))
    parts.append(wrapped(words.next_steps(advice), wide))
    if origins:
        parts.append(_explained(origins, formulas or {}, wide))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def advice_markdown(advice: "Advice") -> str:
    """The advice for an issue or a wiki."""
    lines = ["# Advice", "", f"**{escape(words.headline(advice))}**", ""]
    lines += [f"- {escape(line)}" for line in words.because(advice)]
    if advice.offers:
        columns = columns_of(advice)
        head = ["offer", *(" ".join(part for part in column.head if part) for column in columns)]
        rows = [
            [full_name(one.key), *(_one_line(column.cells[place]) for column in columns)]
            for place, one in enumerate(advice.offers)
        ]
        lines += ["", escape(words.head_words(advice)), "", *table_lines(head, rows), ""]
        lines += [f"- {letter}: {escape(what)}" for letter, what in words.letters(advice)]
        lines += ["", escape(words.pareto_words(advice))]
    for title, told in _sections(advice):
        if told:
            lines += ["", f"## {title.rstrip(':')}", "", *(f"- {escape(line)}" for line in told)]
    lines += ["", *(f"- {escape(line)}" for line in words.notes(advice))]
    lines += ["", *(escape(line) for line in words.next_steps(advice))]
    return "\n".join(lines).rstrip("\n") + "\n"


def columns_of(advice: "Advice") -> list[Column]:
    """Status, each constraint, bill, time and the chance of being in the Pareto set, offers down."""
    offers = advice.offers
    columns = [Column(("STATUS", ""), tuple((_STATUS[one.status], "") for one in offers))]
    for place, (letter, _) in enumerate(words.letters(advice)):
        cells = tuple(words.verdict_cell(one.verdicts[place]) for one in offers)
        columns.append(Column((letter, ""), cells))
    columns.append(Column(("USD/job", ""), tuple(words.mean_words(one.case.bill, "usd") for one in offers)))
    worth = advice.query.worth_usd_per_hour
    if advice.objective == "worth" and worth:
        totals = tuple(words.mean_words(one.case.total(worth), "usd") for one in offers)
        columns.append(Column(("with time", ""), totals))
    columns.append(
        Column(("time/job", ""), tuple(words.mean_words(one.case.time_ms, "ms") for one in offers))
    )
    chances = tuple((_pareto(one), "") for one in offers)
    columns.append(Column(("Pareto", ""), chances))
    return columns


def _pareto(one: "OfferAdvice") -> str:
    return "-" if one.pareto is None else words.chance_words(one.pareto)


def _sections(advice: "Advice") -> list[tuple[str, list[str]]]:
    return [
        ("What binds:", words.binding_words(advice)),
        ("What would flip it:", words.flip_words(advice)),
    ]


def _tables(advice: "Advice", width: int) -> list[list[str]]:
    """As many tables as the columns need, each beginning with the offers' names."""
    names = Column(("OFFER", ""), tuple(_name(one, advice) for one in advice.offers))
    # Chances are told in the sentence below.
    return tables(names, columns_of(advice)[:-1], width)


def _name(one: "OfferAdvice", advice: "Advice") -> tuple[str, str]:
    mark = "> " if one.key in (advice.best, advice.first) else ""
    model = shorten(printable(one.key.model), _LONGEST_NAME - len(mark))
    tier = "" if one.key.tier == "standard" else f" ({one.key.tier})"
    provider = shorten(printable(one.key.provider), _LONGEST_NAME - len(tier) - 4)
    return f"{mark}{model}", f"  @ {provider}{printable(tier)}"


def _explained(origins: Sequence["Origin"], formulas: dict[str, str], width: int) -> list[str]:
    lines = ["Where each number comes from:"]
    offer = None
    for one in origins:
        if one.offer != offer:
            offer = one.offer
            lines += folded(full_name(offer), width, "  ", "  ")
        text = f"{one.what}: {one.source} [{one.formula}]"
        lines += folded(printable(text), width, "    ", "      ")
    lines += ["", "Formulas, see docs/concepts/advice.md:"]
    for name, text in formulas.items():
        lines += folded(f"{name}: {text}", width, "  ", "    ")
    return lines


def _one_line(cell: tuple[str, str]) -> str:
    return f"{cell[0]} ({cell[1]})" if cell[1] else cell[0]

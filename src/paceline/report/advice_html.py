"""An advice as one HTML file: the answer, the table of offers and constraints, charts, and where numbers come
from.

`page_of(advice)` is a `report.page.Page`, for a server's page as well (`advice_parts.html`, context
`advice_view`).
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paceline import __version__
from paceline.report import advice_words as words
from paceline.report.advice_dict import advice_json
from paceline.report.advice_text import columns_of
from paceline.report.board_charts import capability_against_speed, speed_against_bill
from paceline.report.board_words import full_name
from paceline.report.page import Page, coded
from paceline.report.words import printable

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice, OfferAdvice
    from paceline.advisor.explain import Origin
    from paceline.report.drawn import Drawn

EXTRAS = ("board.css", "board.js")
_KINDS = {
    "recommended": "trusted",
    "not enough data": "suspect",
    "none meets": "invalid",
    "nothing measured": "suspect",
}


def render_advice_html(
    advice: "Advice", origins: Sequence["Origin"] = (), formulas: Mapping[str, str] | None = None
) -> str:
    """One self-contained file."""
    return page_of(advice, origins, formulas).as_file()


def page_of(
    advice: "Advice", origins: Sequence["Origin"] = (), formulas: Mapping[str, str] | None = None
) -> Page:
    """What its page holds."""
    drawn = advice_charts(advice)
    context = {
        "title": f"Advice: {printable(advice.board.workload or 'nothing measured yet')}",
        "version": __version__,
        "advice_view": advice_view(advice, drawn, origins, formulas or {}),
        "file_name": "advice.json",
    }
    document = advice_json(advice, origins, formulas)
    return Page("advice.html", context, {chart.name: chart.spec for chart in drawn}, document, EXTRAS)


def advice_charts(advice: "Advice") -> list["Drawn"]:
    """Speed against the bill, and capability against speed, with what is asked for shaded."""
    limits = limits_of(advice)
    charts = [
        speed_against_bill(advice.board, "e2e_500_ms", limits),
        capability_against_speed(advice.board, "e2e_500_ms", limits),
    ]
    return [chart for chart in charts if chart is not None]


def limits_of(advice: "Advice") -> dict[str, float]:
    """What is asked, by the figures of a board that it is of."""
    limits: dict[str, float] = {}
    for one in advice.query.constraints:
        if one.kind == "capability":
            limits["capability"] = getattr(one, "least", 0.0)
        elif one.kind == "budget" and getattr(one, "per", "") == "job":
            limits["usd_per_job"] = getattr(one, "usd", 0.0)
    return limits


def advice_view(
    advice: "Advice", drawn: Sequence["Drawn"], origins: Sequence["Origin"], formulas: Mapping[str, str]
) -> dict[str, Any]:
    """What `advice_parts.html` shows."""
    return {
        "kind": _KINDS[advice.outcome],
        "headline": words.headline(advice),
        "because": coded(words.because(advice)),
        "head": words.head_words(advice),
        "next": words.next_steps(advice),
        # Where the page knows the command, it shows the whole of it.
        "more": words.is_more_wanted(advice),
        "letters": words.letters(advice),
        "columns": _heads(advice),
        "rows": _rows(advice),
        "pareto": words.pareto_words(advice),
        "binding": coded(words.binding_words(advice)),
        "flips": coded(words.flip_words(advice)),
        "notes": coded(words.notes(advice)),
        "charts": drawn,
        "origins": [
            {
                "offer": full_name(one.offer),
                "what": printable(one.what),
                "source": printable(one.source),
                "formula": one.formula,
            }
            for one in origins
        ],
        "formulas": list(formulas.items()),
    }


def _heads(advice: "Advice") -> list[dict[str, str]]:
    about = dict(words.letters(advice))
    return [
        {"name": _head(column.head[0]), "about": about.get(column.head[0], "")}
        for column in columns_of(advice)
    ]


def _head(name: str) -> str:
    """As heads are written on pages."""
    return "status" if name == "STATUS" else name


def _below(text: str) -> str:
    """What stands under a value, in words: `at least 97.8%`, `1.72 s to 1.74 s`."""
    value, sign, end = text.partition(" >=") if " >=" in text else text.partition(" <=")
    if sign:
        return f"{value}, {words.plainly(sign.strip() + end)}"
    return words.plainly(text).replace("-", " to ")


def _rows(advice: "Advice") -> list[dict[str, Any]]:
    columns = columns_of(advice)
    # Charts number offers by their place on the board.
    numbers = {row.key: place + 1 for place, row in enumerate(advice.board.rows)}
    return [
        _row(one, [(column.head[0], *column.cells[place]) for column in columns], numbers[one.key], advice)
        for place, one in enumerate(advice.offers)
    ]


def _row(
    one: "OfferAdvice", cells: Sequence[tuple[str, str, str]], number: int, advice: "Advice"
) -> dict[str, Any]:
    return {
        "number": number,
        "model": printable(one.key.model),
        "provider": printable(one.key.provider),
        "tier": printable(one.key.tier),
        "chosen": one.key == advice.first,
        "chip": "the answer" if one.key == advice.best else "best so far",
        "cells": [{"name": _head(name), "text": text, "below": _below(below)} for name, text, below in cells],
    }

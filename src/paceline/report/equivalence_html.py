"""The equivalence of two endpoints as one HTML file."""

import re
from typing import TYPE_CHECKING, Any

import altair as alt

from paceline import __version__
from paceline.report.charts import ACCENT, FAILED, SECOND, WIDTH, Spec, inline, plain
from paceline.report.comparison_text import result_cells, verdict_words
from paceline.report.equivalence_words import (
    PAIRS,
    agreement_rows,
    example_title,
    limits_words,
    side_name,
    side_rows,
    speed_sentence,
    title,
)
from paceline.report.page import Page

if TYPE_CHECKING:
    from paceline.advisor.answer_pairs import Divergence, Example
    from paceline.advisor.equivalence import Equivalence

_TONES = {"same": "trusted", "different": "invalid", "not enough data": "suspect"}
_CURVES = {"a": ACCENT, "b": SECOND, "ab": FAILED}
_LONGEST_MARK = 24
_ENDS = "(ends)"


def equivalence_page(found: "Equivalence") -> Page:
    """Verdict, both sides, agreement with a curve, speed, limits, and answers that differ side by side."""
    rows = side_rows(found)
    charts = {"alike": _curve(found)} if _has_curve(found) else {}
    context: dict[str, Any] = {
        "title": f"{side_name(found.a)} against {side_name(found.b)}",
        "version": __version__,
        "tone": _TONES[found.verdict],
        "verdict": title(found).capitalize(),
        "speed": speed_sentence(found),
        "reasons": found.reasons,
        "sides": [
            {
                "letter": letter,
                "name": side_name(side),
                "facts": [(row[0].lower(), row[place]) for row in rows],
            }
            for place, letter, side in ((1, "A", found.a), (2, "B", found.b))
        ],
        "pair_names": list(PAIRS.values()),
        "agreement": agreement_rows(found),
        "has_curve": bool(charts),
        "curve_sentence": _curve_sentence(found),
        "unit": found.unit,
        "speed_rows": [
            {
                "cells": result_cells(one)[:-1],
                "verdict": verdict_words(one),
                "kind": one.verdict.outcome.replace(" ", "-"),
            }
            for one in found.speed
        ],
        "limits": limits_words(found),
        "notes": found.notes,
        "examples": [_example(example, found) for example in found.examples],
    }
    return Page("equivalence.html", context, charts, found.to_json(), ("equivalence.css",))


def render_html(found: "Equivalence") -> str:
    """One self-contained file."""
    return equivalence_page(found).as_file()


def _example(example: "Example", found: "Equivalence") -> dict[str, Any]:
    sides = []
    for letter, text in (("A", example.a), ("B", example.b)):
        rest = text[example.at :]
        mark = _first_word(rest)
        sides.append(
            {
                "letter": letter,
                "before": text[: example.at],
                "mark": mark or _ENDS,
                "after": rest[len(mark) :] + ("..." if example.cut else ""),
            }
        )
    return {"title": example_title(example, found), "prompt": example.prompt, "sides": sides}


def _first_word(text: str) -> str:
    """What is marked: the rest of a word, with blanks before it."""
    found = re.match(r"\s*\S*", text)
    return found.group()[:_LONGEST_MARK] if found else ""


def _has_curve(found: "Equivalence") -> bool:
    return any(one.parted for one in found.divergence.values())


def _curve_sentence(found: "Equivalence") -> str:
    if found.once:
        return "Each prompt was asked once, so that only A with B is known."
    return (
        "The further the line of A with B lies below the other two, the more differs beyond each one's noise."
    )


def _curve(found: "Equivalence") -> Spec:
    """Steps of three lines, each named at its end."""
    longest = max((one.at[-1] for one in found.divergence.values() if one.at), default=0) + 1
    rows = [
        row
        for side, one in found.divergence.items()
        if one.pairs
        for row in _steps(PAIRS[side], one, longest)
    ]
    ends = [row for row in rows if row["at"] == longest]
    names = [PAIRS[side] for side, one in found.divergence.items() if one.pairs]
    colours = [_CURVES[side] for side, one in found.divergence.items() if one.pairs]
    x = alt.X(
        "at:Q",
        title=f"{found.unit} from the start",
        # Room for the last number on the axis.
        scale=alt.Scale(domain=[0, longest * 1.03]),
    )
    y = alt.Y("alike:Q", title="still alike", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color(
        "pair:N",
        title=None,
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(orient="top", direction="horizontal"),
    )
    dash = alt.StrokeDash(
        "pair:N",
        title=None,
        scale=alt.Scale(domain=names, range=[[1, 0] if name == PAIRS["ab"] else [5, 3] for name in names]),
    )
    tooltip = [
        alt.Tooltip("pair:N", title="answers of"),
        alt.Tooltip("at:Q", title=found.unit),
        alt.Tooltip("alike:Q", title="still alike", format=".1%"),
    ]
    lines = (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(x=x, y=y, color=colour, strokeDash=dash)
    )
    dots = alt.Chart(inline(ends)).mark_point(filled=True, size=50, opacity=1)
    hover = alt.Chart(inline(rows)).mark_point(filled=True, size=120, opacity=0)
    return plain(
        (
            lines
            + dots.encode(x=x, y=y, color=colour, tooltip=tooltip)
            + hover.encode(x=x, y=y, color=colour, tooltip=tooltip)
        ).properties(width=WIDTH, height=200)
    )


def _steps(name: str, one: "Divergence", longest: int) -> list[dict[str, Any]]:
    """The share still alike after each place at which some part, at most a few hundred of them."""
    rows = [{"pair": name, "at": 0, "alike": 1.0}]
    for place in sorted(set(one.at)):
        parted = sum(at <= place for at in one.at)
        rows.append({"pair": name, "at": place, "alike": 1.0 - parted / one.pairs})
    rows.append({"pair": name, "at": longest, "alike": rows[-1]["alike"]})
    return rows

"""Capability scores for people: in lines of at most 80 columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from paceline.report.words import printable, sentence_list, shorten
from paceline.store.scores import ImportedScore
from paceline.workloads.capability.families import FAMILIES

_NAME = 21


def table_lines(document: Mapping[str, Any]) -> list[str]:
    """A `paceline.capability/1` document: a line a family, and the total."""
    total = document["total"]
    lines = [
        f"Capability of {printable(str(document['model']))} by the probe "
        f"({document['library']}, seed {document['seed']})",
        "",
        f"{'family':<{_NAME}}{'solved':>9}{'%':>7}   {'95% interval':<14}{'blind guess':>11}",
    ]
    for name, one in document["families"].items():
        guess = FAMILIES[name].guess if name in FAMILIES else None
        lines.append(_row(name, one["solved"], one["n"], one, guess))
    guesses = [FAMILIES[name].guess for name in document["families"] if name in FAMILIES]
    mean = sum(guesses) / len(guesses) if guesses else None
    return [*lines, _row("total", total["solved"], total["n"], total, mean)]


def notes(document: Mapping[str, Any]) -> list[str]:
    """What the total is of, and what it leaves out, a sentence a line."""
    total, asked = document["total"], document["items"] - document["missing"]
    found = ["Solved is full marks only. In the total each family weighs alike."]
    if document["missing"]:
        found.append(f"Only {asked} of {document['items']} items were asked: the run was cut.")
    if document["failed"]:
        found.append(
            f"{document['failed']} of {asked} requests failed, and nothing is known of their items: "
            f"figures are over the other {total['n']}."
        )
        found.append(f"With failures counted as wrong: {_share_words(document['failed_as_wrong'])}.")
    empty = [name for name, one in document["families"].items() if not one["n"]]
    if empty:
        found.append(f"Nothing is known of {sentence_list(empty)}: the total is without.")
    if document["unanswered"]:
        found.append(
            f"Without a marked final answer, and so not solved: {document['unanswered']} of {total['n']}."
        )
    if document["truncated"]:
        limit = (document.get("asked") or {}).get("max_tokens")
        at = f" of {limit:,} tokens (--max-tokens)" if limit else ""
        found.append(f"Cut by the limit{at}: {document['truncated']} of {total['n']}.")
    return found


def import_lines(scores: Iterable[ImportedScore]) -> list[str]:
    """A line a score that was imported, and one with where it is from."""
    lines = []
    for one in scores:
        whose = f" at {one.provider}" if one.provider else ""
        whose += f" ({one.tier})" if one.tier else ""
        counted = f", {one.solved} of {one.n}" if one.solved is not None and one.n is not None else ""
        error = f", standard error {100 * one.stderr:.2g} points" if one.stderr is not None else ""
        lines.append(
            f"{one.benchmark} {one.version} of {one.date}: {one.model}{whose} {100 * one.score:.1f}%"
            f"{counted}{error}"
        )
    return [printable(line) for line in lines]


def _row(name: str, solved: int, n: int, one: Mapping[str, Any], guess: float | None) -> str:
    share = "-" if one["share"] is None else f"{100 * one['share']:.0f}"
    interval = "no data" if one["lo"] is None else f"{100 * one['lo']:.0f} to {100 * one['hi']:.0f}"
    blind = "" if guess is None else f"{100 * guess:.0f}"
    return f"{name:<{_NAME}}{f'{solved}/{n}':>9}{share:>7}   {interval:<14}{blind:>11}".rstrip()


def _share_words(one: Mapping[str, Any]) -> str:
    if one["share"] is None:
        return "no data"
    lo, hi = 100 * one["lo"], 100 * one["hi"]
    return f"{100 * one['share']:.0f}% ({lo:.0f} to {hi:.0f})"


def list_lines(rows: Sequence[Mapping[str, Any]], width: int | None = None) -> list[str]:
    """The rows of `advisor.capability.listed` as a table; within `width` models are cut, then versions."""
    table = [("BENCHMARK", "VERSION", "DATE", "MODEL", "%", "95% INTERVAL", "N")]
    for row in rows:
        whose = f"{row['model']} @ {row['provider']}" if row["provider"] else row["model"]
        whose += f" ({row['tier']})" if row["tier"] not in (None, "standard") else ""
        share = "" if row["share"] is None else f"{100 * row['share']:.1f}"
        interval = "none" if row["lo"] is None else f"{100 * row['lo']:.1f} to {100 * row['hi']:.1f}"
        n = "?" if row["n"] is None else str(row["n"])
        table.append((row["benchmark"], row["version"], row["date"], whose, share, interval, n))
    widths = [max(len(line[place]) for line in table) for place in range(7)]
    for place in (3, 1, 0):
        if width is not None:
            over = sum(widths) + 12 - width
            widths[place] = max(widths[place] - max(over, 0), min(widths[place], 12))
    return [
        "  ".join(
            shorten(printable(cell), widths[place]).rjust(widths[place])
            if place in (4, 6)
            else shorten(printable(cell), widths[place]).ljust(widths[place])
            for place, cell in enumerate(line)
        ).rstrip()
        for line in table
    ]

"""Scores from a CSV table with a header line."""

import csv
import io
from itertools import islice
from pathlib import Path

from paceline.config import closest
from paceline.store.manifest import TIERS
from paceline.store.score_imports.model import (
    MOST_SCORES,
    FoundScores,
    bad,
    count,
    day,
    name,
    share,
    source_of,
)
from paceline.store.scores import ImportedScore

COLUMNS = (
    "model", "benchmark", "version", "date", "n", "solved", "score", "stderr", "provider", "tier", "source",
)  # fmt: skip
NEEDED = ("benchmark", "version", "date")


def read_table(data: bytes, path: Path, model: str | None) -> FoundScores:
    """The scores of a table; `model`: what the user says, where the table has no such column.

    Raises ConfigError with the line that is wrong.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise bad(str(path), "this is not UTF-8 text") from None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip().lower() for cell in next(reader, [])]
        _check_header(header, path, model)
        scores = [
            _score(dict(zip(header, cells, strict=False)), f"{path}, line {reader.line_num}", model)
            for cells in islice(filter(_has_text, reader), MOST_SCORES + 1)
        ]
    except csv.Error as error:
        raise bad(f"{path}, line {reader.line_num}", f"this is no CSV: {error}") from None
    return FoundScores(scores, source_of(path, "csv"), _notes(scores))


def _has_text(cells: list[str]) -> bool:
    return any(cell.strip() for cell in cells)


def _check_header(header: list[str], path: Path, model: str | None) -> None:
    where = f"{path}, line 1"
    for column in header:
        if column not in COLUMNS:
            near = closest(column, list(COLUMNS))
            meant = f"did you mean {near!r}? " if near else ""
            raise bad(where, f"unknown column {column!r}", f"{meant}columns are: {', '.join(COLUMNS)}")
    if len(set(header)) < len(header):
        raise bad(where, "a column is there twice")
    missing = [one for one in NEEDED if one not in header]
    if "model" not in header and model is None:
        missing.insert(0, "model")
    if missing:
        raise bad(where, f"there is no column {', '.join(missing)}", "name the columns in the first line")
    if "score" not in header and not {"solved", "n"} <= set(header):
        raise bad(where, "there is neither a column score, nor solved and n", "give one of them")


def _score(cells: dict[str, str], where: str, model: str | None) -> ImportedScore:
    given = {key: value.strip() for key, value in cells.items() if value.strip()}
    n = _count(given, "n", where)
    solved = _count(given, "solved", where)
    if n == 0:
        raise bad(where, "n is 0: there is no share of no items")
    if solved is not None and (n is None or solved > n):
        raise bad(where, f"solved is {solved}, of n {'not given' if n is None else n}")
    if solved is not None and n is not None:
        score = solved / n
        if "score" in given and abs(_share(given["score"], f"{where}: score") - score) > 0.005:
            raise bad(
                where, f"score {given['score']} is not solved / n = {score:.4g}", "leave one of them out"
            )
    elif "score" in given:
        score = _share(given["score"], f"{where}: score")
    else:
        raise bad(where, "neither score, nor solved and n")
    if solved is None and n is not None:
        # Percentages are rounded: the nearest count is meant, if it rounds to the same.
        solved = round(score * n) if abs(round(score * n) / n - score) <= 0.0005 else None
    tier = given.get("tier")
    if tier is not None and tier not in TIERS:
        raise bad(where, f"there is no tier {tier!r:.40}", f"tiers are: {', '.join(TIERS)}")
    stderr = given.get("stderr")
    return ImportedScore(
        model=name(given.get("model", model), f"{where}: model"),
        benchmark=name(given.get("benchmark"), f"{where}: benchmark"),
        version=name(given.get("version"), f"{where}: version"),
        date=day(given.get("date"), f"{where}: date"),
        score=score,
        solved=solved,
        n=n,
        stderr=None if stderr is None else _share(stderr, f"{where}: stderr"),
        provider=name(given["provider"], f"{where}: provider") if "provider" in given else None,
        tier=tier,
        source=name(given["source"], f"{where}: source") if "source" in given else None,
    )


def _count(given: dict[str, str], column: str, where: str) -> int | None:
    if column not in given:
        return None
    try:
        return count(int(given[column]), f"{where}: {column}")
    except ValueError:
        raise bad(where, f"{column}: {given[column]!r:.40} is no count") from None


def _share(text: str, where: str) -> float:
    percent = text.endswith("%")
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        raise bad(where, f"{text!r:.40} is no number") from None
    return share(value / 100.0 if percent else value, where)


def _notes(scores: list[ImportedScore]) -> list[str]:
    unknown = sum(one.n is None and one.stderr is None for one in scores)
    partial = sum(one.n is not None and one.solved is None for one in scores)
    notes = []
    if unknown:
        notes.append(f"without n and stderr, and so without an interval: {unknown} of {len(scores)}")
    if partial:
        notes.append(f"no share of whole items, and so without an exact interval: {partial} of {len(scores)}")
    return notes

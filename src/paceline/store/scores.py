"""Capability scores: of a probe beside its run, and those of other benchmarks that were imported."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paceline.errors import StoreError
from paceline.store.atomic import make_folder, write_text
from paceline.store.document import read_document
from paceline.store.paths import home

SCORES_NAME = "capability.json"
SCHEMA = "paceline.capability/1"
IMPORTED_SCHEMA = "paceline.scores/1"
PROBE = "probe"
"""The benchmark that Paceline makes itself."""


@dataclass(frozen=True)
class ImportedScore:
    """What somebody has found a model to be capable of.

    version, date: of the benchmark, and when it was run, as the file says. score: a share, 0 to 1. solved, n:
    counts where they are known, from which the interval is exact. stderr: of the score, as the file says.
    provider, tier: None: it is of the model, whoever serves it. source: where it is from.
    """

    model: str
    benchmark: str
    version: str
    date: str
    score: float
    solved: int | None = None
    n: int | None = None
    stderr: float | None = None
    provider: str | None = None
    tier: str | None = None
    source: str | None = None


@dataclass(frozen=True)
class DamagedScores:
    """A file of scores that cannot be read, and why."""

    path: Path
    why: str


def save_run_scores(folder: Path, document: Mapping[str, Any]) -> None:
    """Keep a `paceline.capability/1` document in the folder of its run. Raises StoreError."""
    write_text(folder / SCORES_NAME, json.dumps(document, indent=2) + "\n")


def run_scores(folder: Path) -> dict[str, Any] | None:
    """The scores of a run; None where it has none. Raises StoreError where they cannot be read."""
    path = folder / SCORES_NAME
    if not path.exists():
        return None
    hint = f"score the run again: paceline capability score {folder.name}"
    try:
        document = read_document(path, hint)
    except ValueError as error:
        raise StoreError(f"{path} is damaged: {error}", hint) from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise StoreError(f"{path} is no {SCHEMA}", hint)
    if not _whole(document):
        raise StoreError(f"{path} is damaged: it has no counts by family", hint)
    return document


def _whole(document: Mapping[str, Any]) -> bool:
    """What figures are made of is there: version, seed, and counts of each family."""
    families, total = document.get("families"), document.get("total")
    return (
        isinstance(document.get("version"), str)
        and isinstance(document.get("seed"), int)
        and isinstance(document.get("at"), str)
        and isinstance(document.get("asked") or {}, dict)
        and all(isinstance(document.get(name) or 0, int) for name in ("failed", "missing"))
        and isinstance(total, dict)
        and isinstance(total.get("n"), int)
        and isinstance(families, dict)
        and all(
            isinstance(one, dict)
            and isinstance(one.get("solved"), int)
            and isinstance(one.get("n"), int)
            and 0 <= one["solved"] <= one["n"]
            for one in families.values()
        )
    )


def scores_folder(at: Path | None = None) -> Path:
    """The folder of imported scores; `at`: another home."""
    return (at or home()) / "scores"


def save_scores(scores: Sequence[ImportedScore], source: Mapping[str, Any], at: Path | None = None) -> Path:
    """Keep imported scores as a `paceline.scores/1` document of their own. Raises StoreError.

    source: `file` and `format` they were read from, and whatever else tells where they are from.
    """
    folder = scores_folder(at)
    make_folder(folder)
    moment = datetime.now(UTC)
    path = folder / f"{moment:%Y%m%d-%H%M%S-%f}-{secrets.token_hex(2)}.json"
    document = {
        "schema": IMPORTED_SCHEMA,
        "imported_at": moment.isoformat(timespec="seconds"),
        "source": dict(source),
        "scores": [asdict(one) for one in scores],
    }
    write_text(path, json.dumps(document, indent=2) + "\n")
    return path


def imported_scores(at: Path | None = None) -> tuple[list[ImportedScore], list[DamagedScores]]:
    """All imported scores, those imported last at the end, and the files that cannot be read."""
    found: list[ImportedScore] = []
    damaged: list[DamagedScores] = []
    for path in sorted(scores_folder(at).glob("*.json")):
        try:
            found += _scores_of(path)
        except StoreError as error:
            damaged.append(DamagedScores(path, error.message))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            why = str(error) if isinstance(error, ValueError) else "it does not say what it must"
            damaged.append(DamagedScores(path, why))
    return found, damaged


def _scores_of(path: Path) -> list[ImportedScore]:
    document = read_document(path, "import the scores again")
    if not isinstance(document, dict) or document.get("schema") != IMPORTED_SCHEMA:
        raise ValueError(f"it is no {IMPORTED_SCHEMA}")
    names = {one.name for one in fields(ImportedScore)}
    return [
        _checked(ImportedScore(**{k: v for k, v in one.items() if k in names})) for one in document["scores"]
    ]


def _checked(score: ImportedScore) -> ImportedScore:
    """ValueError for what no import writes: figures are made of it."""
    texts = (score.model, score.benchmark, score.version, score.date)
    counts = (score.solved, score.n)
    if not all(isinstance(one, str) and one for one in texts):
        raise ValueError("a score without model, benchmark, version or date")
    if not isinstance(score.score, int | float) or not 0.0 <= score.score <= 1.0:
        raise ValueError(f"the score of {score.model} is no share")
    if score.stderr is not None and not (
        isinstance(score.stderr, int | float) and 0.0 <= score.stderr <= 1.0
    ):
        raise ValueError(f"the standard error of {score.model} is no share")
    if any(one is not None and not isinstance(one, int) for one in counts) or (
        score.n is not None and score.n <= 0
    ):
        raise ValueError(f"the counts of {score.model} are none")
    if score.solved is not None and not (score.n is not None and 0 <= score.solved <= score.n):
        raise ValueError(f"{score.model} solved {score.solved} of {score.n}")
    return score

"""What every reader of scores gives, and how it says that a field is not what it must be."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from paceline.errors import ConfigError
from paceline.store.scores import PROBE, ImportedScore

HINT = "see docs/guides/capability-scores.md for the forms that are read"
MOST_SCORES = 10_000
_LONGEST_NAME = 200
# A date beyond is a mistake, and no clock shows it.
_LAST_S = 253_402_300_799.0


@dataclass
class FoundScores:
    """The scores of one file, with what a reader must know of them; source: where they are from."""

    scores: list[ImportedScore]
    source: dict[str, Any]
    notes: list[str] = field(default_factory=list)


def bad(where: str, what: str, hint: str = HINT) -> ConfigError:
    """The error for what a file says wrongly."""
    return ConfigError(f"{where}: {what}", hint)


def parsed(data: bytes, where: str) -> Any:
    """A JSON document. Raises ConfigError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise bad(where, f"this is not JSON: {error}") from None


def mapping(value: Any, where: str) -> dict[str, Any]:
    """An object; an empty one for null."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise bad(where, "this is no object")
    return value


def name(value: Any, where: str) -> str:
    """A name or version as text that can be shown. Raises ConfigError for an empty or overlong one."""
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    if not text or len(text) > _LONGEST_NAME or not text.isprintable():
        raise bad(where, f"{_shown(value)} is no name of 1 to {_LONGEST_NAME} printable characters")
    return text


def share(value: Any, where: str) -> float:
    """A number from 0 to 1."""
    found = number(value, where)
    if not 0.0 <= found <= 1.0:
        raise bad(where, f"{_shown(value)} is no share from 0 to 1", f"write 0.735, or 73.5%; {HINT}")
    return found


def number(value: Any, where: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad(where, f"{_shown(value)} is no number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise bad(where, f"{_shown(value)} is no number that can be meant")
    return found


def count(value: Any, where: str) -> int:
    """A whole number that is not negative."""
    found = number(value, where)
    if found < 0 or found != int(found) or found > 1e12:
        raise bad(where, f"{_shown(value)} is no count")
    return int(found)


def day(value: Any, where: str) -> str:
    """A date as `2026-11-30`, of a date, a moment as ISO 8601 has it, or Unix seconds."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _LAST_S:
            return datetime.fromtimestamp(value, UTC).date().isoformat()
        if isinstance(value, str):
            text = value.strip()
            if len(text) == 10:
                return date.fromisoformat(text).isoformat()
            return datetime.fromisoformat(text).date().isoformat()
    except ValueError:
        pass
    raise bad(where, f"{_shown(value)} is no date", f"write it as 2026-11-30; {HINT}")


def solved_of(score: float, n: int) -> int | None:
    """How many of n items were solved, where the share is one of whole items; else None."""
    solved = round(score * n)
    # Files round to some 4 digits, or hold the exact quotient.
    return solved if abs(score * n - solved) <= 1e-6 * max(n, 1) else None


def checked(
    scores: Iterable[ImportedScore],
    path: Path,
    *,
    model: str | None,
    provider: str | None,
    tier: str | None,
) -> list[ImportedScore]:
    """The scores with what the user says of them. Raises ConfigError for none, and too many."""
    found = [
        replace(one, model=model or one.model, provider=provider or one.provider, tier=tier or one.tier)
        for one in scores
    ]
    if not found:
        raise bad(str(path), "there is no score in it")
    if len(found) > MOST_SCORES:
        raise bad(str(path), f"it holds more than {MOST_SCORES:,} scores", "import a part of them")
    if any(one.benchmark == PROBE for one in found):
        raise bad(
            str(path),
            f"a benchmark is called {PROBE!r}, which is Paceline's own",
            "give it another name; own probes are made by paceline capability run",
        )
    return found


def source_of(path: Path, form: str, facts: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`source` of a `paceline.scores/1` document."""
    return {"file": path.name, "format": form, **(facts or {})}


def _shown(value: Any) -> str:
    return f"{value!r:.60}"

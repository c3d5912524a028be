"""Scores from a file of any form that is read."""

from dataclasses import replace
from pathlib import Path

from paceline.errors import ConfigError
from paceline.store.score_imports import inspect_log, lm_eval
from paceline.store.score_imports.csv_table import read_table
from paceline.store.score_imports.model import HINT, FoundScores, bad, checked, parsed
from paceline.whole_file import read_whole

# Inspect's JSON has all samples in it, and is held in some ten times its bytes.
MOST_BYTES = 256 << 20
_ZIP = b"PK\x03\x04"


def read_scores(
    path: Path, *, model: str | None = None, provider: str | None = None, tier: str | None = None
) -> FoundScores:
    """The scores in a file: CSV, a log of Inspect, or results of lm-evaluation-harness.

    model, provider, tier: what the user says, over what the file says. Raises ConfigError for a file that is
    none of them, or too long, or says something that cannot be meant.
    """
    found = _read(path, _bytes(path), model)
    scores = checked(found.scores, path, model=model, provider=provider, tier=tier)
    return replace(found, scores=scores)


def _bytes(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise bad(
            str(path), "this is not a file, but a folder, pipe, socket or device", "name the file in it"
        )
    try:
        return read_whole(path, MOST_BYTES)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}", "check the path") from None


def _read(path: Path, data: bytes, model: str | None) -> FoundScores:
    if data.startswith(_ZIP):
        document, summaries = inspect_log.read_archive(data, path)
        return inspect_log.read_log(document, path, summaries)
    if data.lstrip().startswith((b"{", b"[")):
        document = parsed(data, str(path))
        if inspect_log.is_log(document):
            return inspect_log.read_log(document, path)
        if lm_eval.is_results(document):
            return lm_eval.read_results(document, path, model)
        raise bad(str(path), "this JSON is no log of Inspect and no results of lm-evaluation-harness", HINT)
    return read_table(data, path, model)

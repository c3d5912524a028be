"""Capability scores: of a probe beside its run, and those of other benchmarks that were imported."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paceline.errors import StoreError
from paceline.store.atomic import write_text
from paceline.store.document import read_document

SCORES_NAME = "capability.json"
SCHEMA = "paceline.capability/1"


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
    return document

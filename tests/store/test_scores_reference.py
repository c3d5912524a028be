"""docs/reference/capability.md has every key of the two formats, and no other."""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from paceline.store.scores import ImportedScore, save_scores
from paceline.workloads.capability.families import FAMILIES

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "capability.md").read_text()


def tables(title: str) -> list[list[str]]:
    """The keys of each table of a section, in order."""
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    found: list[list[str]] = []
    for line in section.splitlines():
        if line.startswith("| key "):
            found.append([])
        elif line.startswith("| `"):
            found[-1] += re.findall(r"`(\w+)`", line.split("|")[1])
    return found


def test_the_page_has_every_key_of_imported_scores(tmp_path: Path) -> None:
    score = ImportedScore("tiny", "gsm8k", "3", "2026-11-01", 0.5)
    document: dict[str, Any] = json.loads(save_scores([score], {"file": "a.csv"}, tmp_path).read_text())
    whole, one = tables("`scores/*.json`: `paceline.scores/1`")
    assert whole == list(document)
    assert sorted(one) == sorted(field.name for field in fields(ImportedScore))


def test_the_guide_has_every_family_with_its_guess() -> None:
    guide = (DOCS / "guides" / "capability-scores.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| (\d+) % \|$", guide, re.MULTILINE)
    assert rows == [(one.name, one.area, one.about, f"{100 * one.guess:.0f}") for one in FAMILIES.values()]

"""docs/reference/tuning.md has every key."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from paceline.tuning.journal import Block, Round, TrialEntry, Tuning

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "tuning.md").read_text()


@pytest.mark.parametrize(
    ("title", "model"), [("Keys", Tuning), ("A trial", TrialEntry), ("A round", Round), ("A block", Block)]
)
def test_the_page_has_every_key(title: str, model: type[BaseModel]) -> None:
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)
    told = re.findall(r"`(\w+)`", " ".join(cells))
    assert told == [field.alias or name for name, field in model.model_fields.items()]

"""docs/reference/profile.md names every key of the files, and none that there is not."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.profile import Gain, Profile, Sameness
from paceline.engines.served import Served

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "profile.md"


def tables(text: str) -> list[set[str]]:
    found = []
    for block in re.findall(r"^\| key \| meaning \|\n\|---\|---\|\n((?:\|.*\n?)+)", text, re.MULTILINE):
        cells = [row.split("|")[1] for row in block.splitlines()]
        found.append({name for cell in cells for name in re.findall(r"`([^`]+)`", cell)})
    return found


@pytest.mark.parametrize(
    ("place", "kind", "more"),
    [(0, Profile, {"schema"}), (1, Gain, set()), (2, Sameness, set()), (3, Served, {"schema"})],
)
def test_each_key_is_documented_and_exists(place: int, kind: Any, more: set[str]) -> None:
    assert tables(PAGE.read_text())[place] == {one.name for one in fields(kind)} | more

"""docs/reference/study.md has every key of a stored study and of its report."""

import re
from dataclasses import fields
from pathlib import Path

from paceline.report.study import FIGURES, Point, Series
from paceline.stats.capacity_search import Finding
from paceline.store.studies import StudyManifest, StudyStep
from tests.report.study_samples import sweep

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "study.md").read_text()


def told(title: str) -> list[str]:
    section = PAGE.split(f"## {title}\n")[1].split("\n## ")[0]
    return re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)))


def test_the_manifest() -> None:
    keys = [field.alias or name for name, field in StudyManifest.model_fields.items()]
    assert sorted(told("`study.json`: `paceline.study/1`")) == sorted(keys)


def test_a_step() -> None:
    assert told("A step") == list(StudyStep.model_fields)


def test_the_result() -> None:
    own = [field.name for field in fields(Finding)]
    assert sorted(told("The result of a capacity")) == sorted([*own, "needs_s", "left_out"])


def test_the_report() -> None:
    document = sweep().to_dict()
    named = told("The report: `paceline.study-report/1`")
    assert named == [*document, *FIGURES]
    for name in (*(field.name for field in fields(Series)), *(field.name for field in fields(Point))):
        assert f"`{name}`" in PAGE

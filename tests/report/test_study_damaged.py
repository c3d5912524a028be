"""A study.json whose parts are of the wrong kind is damaged, or can be shown: never an unexpected error."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError, StoreError
from paceline.measure.job import Credentials
from paceline.measure.study import job_of_study
from paceline.report.study import StudyReport, build_study_report
from paceline.report.study_charts import study_charts
from paceline.report.study_csv import render_csv
from paceline.report.study_text import render_markdown, render_text
from paceline.store.studies import StudyWriter, open_study
from tests.report.study_samples import capacity, sweep

GONE = object()
COMMON: dict[str, Any] = {"seed": 1, "keep_salt": False, "connection": {}, "budget_s": 60.0}


def document(report: StudyReport) -> dict[str, Any]:
    found: dict[str, Any] = report.manifest.model_copy(
        update={"asked": {**COMMON, **report.manifest.asked}, "steps": report.manifest.steps[:3]}
    ).model_dump(mode="json", by_alias=True)
    return found


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = (
        value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    )
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def broken(whole: dict[str, Any], at: tuple[Any, ...], value: Any) -> str:
    copy = json.loads(json.dumps(whole))
    inner = copy
    for key in at[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return json.dumps(copy)


@pytest.mark.parametrize("value", [None, GONE, "x", {}, [], [None], -1, 10**400, True])
@pytest.mark.parametrize("report", [sweep(), capacity()], ids=["sweep", "capacity"])
def test_whatever_is_broken_is_said_or_shown(home: Path, report: StudyReport, value: Any) -> None:
    whole = document(report)
    writer = StudyWriter.create(report.manifest.model_validate(whole))
    writer.release()
    for at in places(whole):
        (writer.folder / "study.json").write_text(broken(whole, at, value))
        with suppress(StoreError):
            stored = open_study(writer.id)
            with suppress(ConfigError):
                job_of_study(stored.manifest, Credentials())
            shown = build_study_report(stored)
            assert render_text(shown)
            assert render_markdown(shown)
            assert render_csv(shown)
            assert json.loads(shown.to_json())
            study_charts(shown) if value in ("x", -1) else None

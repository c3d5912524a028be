import json
import math
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import StoreError
from paceline.store.scores import (
    SCORES_NAME,
    ImportedScore,
    imported_scores,
    run_scores,
    save_run_scores,
    save_scores,
    scores_folder,
)

SCORE = ImportedScore("tiny", "gsm8k", "3, lm-eval 0.4.9", "2026-11-01", 0.75, solved=75, n=100)
DOCUMENT: dict[str, Any] = {
    "schema": "paceline.capability/1",
    "version": "reasoning-gym 0.1.25 abc",
    "seed": 5,
    "at": "2026-11-30T07:00:00+00:00",
    "total": {"n": 9},
    "families": {"products": {"solved": 7, "n": 9}},
}


def test_scores_of_a_run_are_kept_beside_it(tmp_path: Path) -> None:
    assert run_scores(tmp_path) is None
    save_run_scores(tmp_path, DOCUMENT)
    assert run_scores(tmp_path) == DOCUMENT


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "paceline.capability/2"}, "is no paceline.capability/1"),
        ({"families": None}, "no counts by family"),
        ({"families": {"products": {"solved": 9, "n": 7}}}, "no counts by family"),
        ({"families": {"products": {"solved": "7", "n": 9}}}, "no counts by family"),
        ({"version": None}, "no counts by family"),
        ({"asked": "x"}, "no counts by family"),
        ({"failed": "x"}, "no counts by family"),
        ({"missing": [1]}, "no counts by family"),
    ],
)
def test_damaged_scores_of_a_run_are_refused(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    (tmp_path / SCORES_NAME).write_text(json.dumps({**DOCUMENT, **change}))
    with pytest.raises(StoreError, match=says) as refused:
        run_scores(tmp_path)
    assert refused.value.hint == f"score the run again: paceline capability score {tmp_path.name}"


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / SCORES_NAME).write_text("[" * 100_000)
    with pytest.raises(StoreError, match="damaged"):
        run_scores(tmp_path)


def test_imported_scores_come_back_in_the_order_of_their_import(tmp_path: Path) -> None:
    other = ImportedScore("tiny", "mmlu", "1", "2026-10-01", 0.5, stderr=0.02, provider="acme", tier="fast")
    save_scores([SCORE], {"file": "a.csv", "format": "csv"}, tmp_path)
    path = save_scores([other], {"file": "b.csv", "format": "csv"}, tmp_path)
    assert path.parent == scores_folder(tmp_path)
    found, damaged = imported_scores(tmp_path)
    assert damaged == []
    assert found == [SCORE, other]
    assert imported_scores(tmp_path / "none") == ([], [])


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"schema": "paceline.scores/2", "scores": []}',
        '{"schema": "paceline.scores/1"}',
        '{"schema": "paceline.scores/1", "scores": [{"model": "a"}]}',
        '{"schema": "paceline.scores/1", "scores": [3]}',
        json.dumps({"schema": "paceline.scores/1", "scores": [{**SCORE.__dict__, "score": 2}]}),
        json.dumps({"schema": "paceline.scores/1", "scores": [{**SCORE.__dict__, "solved": 101}]}),
        json.dumps({"schema": "paceline.scores/1", "scores": [{**SCORE.__dict__, "model": ""}]}),
        json.dumps({"schema": "paceline.scores/1", "scores": [{**SCORE.__dict__, "stderr": math.nan}]}),
        json.dumps({"schema": "paceline.scores/1", "scores": [{**SCORE.__dict__, "stderr": "x"}]}),
    ],
)
def test_a_damaged_file_is_named_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    save_scores([SCORE], {"file": "a.csv", "format": "csv"}, tmp_path)
    (scores_folder(tmp_path) / "zzz.json").write_text(text)
    found, damaged = imported_scores(tmp_path)
    assert found == [SCORE]
    assert [one.path.name for one in damaged] == ["zzz.json"]
    assert damaged[0].why


def test_a_key_of_a_later_version_is_passed_over(tmp_path: Path) -> None:
    path = save_scores([SCORE], {"file": "a.csv", "format": "csv"}, tmp_path)
    document = json.loads(path.read_text())
    document["scores"][0]["mood"] = "good"
    path.write_text(json.dumps(document))
    assert imported_scores(tmp_path) == ([SCORE], [])

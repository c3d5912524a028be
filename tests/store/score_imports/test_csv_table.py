from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.store.score_imports.files import read_scores
from paceline.store.scores import ImportedScore
from tests.store.score_imports.samples import DATA

HEAD = "model,benchmark,version,date,"


def written(folder: Path, text: str) -> Path:
    path = folder / "scores.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_with_counts_percent_and_stated_errors() -> None:
    found = read_scores(DATA / "table.csv")
    assert found.scores == [
        ImportedScore(
            "tiny", "ours", "v2", "2026-11-01", 151 / 200, solved=151, n=200, source="our own suite"
        ),
        ImportedScore(
            "tiny", "ours", "v2", "2026-11-08", 0.76, solved=152, n=200, provider="acme", tier="fast"
        ),
        ImportedScore("tiny", "arena", "2026-10", "2026-10-31", 0.61, stderr=0.02, source="vendor's page"),
        ImportedScore("tiny", "card", "1", "2026-09-01", 0.583, source="model card"),
    ]
    assert found.source == {"file": "table.csv", "format": "csv"}
    assert found.notes == ["without n and stderr, and so without an interval: 1 of 4"]


def test_what_the_user_says_goes_over_what_the_table_says(tmp_path: Path) -> None:
    path = written(tmp_path, "benchmark,version,date,score\nours,1,2026-11-01,0.5\n")
    found = read_scores(path, model="big", provider="acme", tier="flex").scores
    assert [(one.model, one.provider, one.tier) for one in found] == [("big", "acme", "flex")]


def test_a_rounded_score_means_the_nearest_count_and_another_none(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEAD}n,score\na,b,1,2026-11-01,300,0.333\na,c,1,2026-11-01,7,0.5\n")
    found = read_scores(path)
    assert [(one.solved, one.n) for one in found.scores] == [(100, 300), (None, 7)]
    assert "no share of whole items" in found.notes[0]


def test_a_byte_order_mark_and_empty_lines_are_passed_over(tmp_path: Path) -> None:
    path = written(tmp_path, f"\ufeff{HEAD}score\n\na,b,1,2026-11-01,0.5\n,,,,\n")
    assert len(read_scores(path).scores) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no column model"),
        ("model,benchmark,version\n", "no column date"),
        (f"{HEAD}\n", "unknown column ''"),
        (f"{HEAD}scores\n", "did you mean 'score'"),
        (f"{HEAD}score,score\n", "twice"),
        (f"{HEAD}solved\n", "neither a column score, nor solved and n"),
        (f"{HEAD}score\n", "there is no score in it"),
        (f"{HEAD}score\na,b,1,2026-11-01,73.5\n", "line 2: score: 73.5 is no share"),
        (f"{HEAD}score\na,b,1,2026-11-01,nan\n", "no number that can be meant"),
        (f"{HEAD}score\na,b,1,2026-11-01,high\n", "line 2: score: 'high' is no number"),
        (f"{HEAD}score\na,b,1,yesterday,0.5\n", "date: 'yesterday' is no date"),
        (f"{HEAD}score\na,b,1,2026-13-01,0.5\n", "is no date"),
        (f"{HEAD}score\na,,1,2026-11-01,0.5\n", "benchmark"),
        (f"{HEAD}score\na,b\x07,1,2026-11-01,0.5\n", "printable"),
        (f"{HEAD}score\n{'a' * 201},b,1,2026-11-01,0.5\n", "printable"),
        (f"{HEAD}score\na,probe,1,2026-11-01,0.5\n", "Paceline's own"),
        (f"{HEAD}n,solved\na,b,1,2026-11-01,0,0\n", "n is 0"),
        (f"{HEAD}n,solved\na,b,1,2026-11-01,5,6\n", "solved is 6"),
        (f"{HEAD}n,solved\na,b,1,2026-11-01,,6\n", "solved is 6"),
        (f"{HEAD}n,solved\na,b,1,2026-11-01,-5,6\n", "no count"),
        (f"{HEAD}n,solved\na,b,1,2026-11-01,5.5,3\n", "no count"),
        (f"{HEAD}n,solved,score\na,b,1,2026-11-01,10,5,0.9\n", "not solved / n"),
        (f"{HEAD}n,solved\na,b,1,2026-11-01,10,\n", "neither score, nor solved and n"),
        (f"{HEAD}score,tier\na,b,1,2026-11-01,0.5,warp\n", "no tier 'warp'"),
        (f'{HEAD}score\n"a,b,1,2026-11-01,0.5\n', "no CSV"),
        (f"{HEAD}score\n{'a' * 200_000},b,1,2026-11-01,0.5\n", "no CSV"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_scores(written(tmp_path, text))
    said = f"{refused.value.message} {refused.value.hint}"
    assert says in said
    assert len(said) < 600


def test_more_scores_than_anybody_means_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEAD}score\n" + "a,b,1,2026-11-01,0.5\n" * 10_001)
    with pytest.raises(ConfigError, match="more than 10,000"):
        read_scores(path)

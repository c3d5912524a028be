import json
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.store.score_imports.files import read_scores
from tests.store.score_imports.samples import DATA


def results() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / "lm_eval.json").read_text())
    return document


def written(folder: Path, document: Any) -> Path:
    path = folder / "results.json"
    path.write_text(json.dumps(document))
    return path


def test_each_metric_that_is_a_share_is_a_score() -> None:
    found = read_scores(DATA / "lm_eval.json")
    assert [(one.benchmark, one.score, one.solved, one.n, one.stderr) for one in found.scores] == [
        ("gsm8k exact_match strict-match", 0.385, 77, 200, 0.03449),
        ("gsm8k exact_match flexible-extract", 0.42, 84, 200, 0.03499),
        ("arc_easy", 0.625, 25, 40, None),
        # A mean of overlaps, which no binomial interval holds for.
        ("truthfulqa_gen", 0.31, None, 100, 0.012),
    ]
    assert {(one.model, one.date, one.source) for one in found.scores} == {
        ("tiny", "2026-10-31", "lm-eval 0.4.9.2")
    }
    assert found.scores[0].version == "3.0, 5-shot, lm-eval 0.4.9.2"
    assert found.source["git_hash"] == "02bb9278"
    assert any("word_perplexity" in note and "left out" in note for note in found.notes)


def test_an_older_file_without_filters_and_counts_has_its_stated_error(tmp_path: Path) -> None:
    document = {
        "results": {
            "hellaswag": {"acc": 0.51, "acc_stderr": 0.005, "acc_norm": 0.63, "acc_norm_stderr": 0.004}
        },
        "versions": {"hellaswag": 0},
        "config": {"model": "hf", "model_args": "pretrained=org/tiny,dtype=float16"},
        "date": "2026-01-02",
    }
    found = read_scores(written(tmp_path, document))
    assert [(one.benchmark, one.n, one.stderr, one.model) for one in found.scores] == [
        ("hellaswag acc", None, 0.005, "org/tiny"),
        ("hellaswag acc_norm", None, 0.004, "org/tiny"),
    ]
    assert any("number of its items is not in the file" in note for note in found.notes)


def test_figures_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    document = results()
    document["results"] = {"a": {"acc,none": 0.5, "f1,none": float("nan"), "em,none": 10**400}}
    found = read_scores(written(tmp_path, document))
    assert [one.benchmark for one in found.scores] == ["a"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"results": {}}, "no score in it"),
        ({"results": {"a": 7}}, "no object"),
        ({"results": {"probe": {"acc,none": 0.5}}}, "Paceline's own"),
        ({"results": {"a\x07": {"acc,none": 0.5}}}, "printable"),
        ({"date": None}, "no date"),
        ({"date": 10**30}, "no date"),
        ({"n-samples": 7}, "no object"),
        ({"n-samples": {"gsm8k": {"effective": 1.5}}}, "no count"),
        ({"versions": []}, "no object"),
        ({"model_name": "", "config": {}}, "which model"),
        ({"model_name": "", "config": None}, "which model"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_scores(written(tmp_path, {**results(), **change}))


def test_the_user_may_say_which_model_it_was(tmp_path: Path) -> None:
    document = {**results(), "model_name": "", "config": {}}
    assert {one.model for one in read_scores(written(tmp_path, document), model="tiny").scores} == {"tiny"}

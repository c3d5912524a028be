from typing import Any

import pytest

from paceline.report.capability_text import import_lines, list_lines, notes, table_lines
from paceline.report.words import workload_words
from paceline.stats.binomial import exact_share, stratified_share
from paceline.store.scores import ImportedScore


def document(counts: dict[str, tuple[int, int]], **fields: Any) -> dict[str, Any]:
    def exact(solved: int, n: int) -> dict[str, Any]:
        if not n:
            return {"share": None, "lo": None, "hi": None}
        found = exact_share(solved, n)
        return {"share": found.value, "lo": found.lo, "hi": found.hi}

    n = sum(one for _, one in counts.values())
    total = stratified_share(list(counts.values())) if n else None
    shown: dict[str, Any] = {"share": None, "lo": None, "hi": None}
    if total is not None:
        shown = {"share": total.value, "lo": total.lo, "hi": total.hi}
    return {
        "model": "tiny",
        "library": "reasoning-gym 0.1.25",
        "seed": 5,
        "items": n,
        "missing": 0,
        "failed": 0,
        "unanswered": 0,
        "truncated": 0,
        "asked": {"max_tokens": 4096},
        "families": {
            name: {"solved": solved, "n": n, **exact(solved, n)} for name, (solved, n) in counts.items()
        },
        "total": {"solved": sum(one for one, _ in counts.values()), "n": n, **shown},
        "failed_as_wrong": {"n": n, **shown},
        **fields,
    }


def test_a_line_a_family_and_the_total() -> None:
    lines = table_lines(document({"products": (7, 10), "zebra_puzzles": (4, 10)}))
    assert lines[0] == "Capability of tiny by the probe (reasoning-gym 0.1.25, seed 5)"
    cells = [line.split() for line in lines[3:]]
    # Clopper-Pearson of 7 and of 4 of 10, and of 11 of 20, as tables have them.
    assert cells[0] == ["products", "7/10", "70", "35", "to", "93", "3"]
    assert cells[1] == ["zebra_puzzles", "4/10", "40", "12", "to", "74", "25"]
    assert cells[2] == ["total", "11/20", "55", "32", "to", "77", "14"]
    assert all(len(line) <= 80 for line in lines)


def test_a_family_without_an_item_has_no_figure() -> None:
    lines = table_lines(document({"products": (0, 0)}))
    assert lines[3].split() == ["products", "0/0", "-", "no", "data", "3"]
    assert lines[4].split()[:5] == ["total", "0/0", "-", "no", "data"]


def test_nothing_is_said_of_what_is_not_there() -> None:
    assert notes(document({"products": (7, 10)})) == [
        "Solved is full marks only. In the total each family weighs alike."
    ]


def test_all_that_a_total_leaves_out_is_said() -> None:
    whole = document(
        {"products": (7, 10), "leg_counting": (0, 0)},
        items=20,
        missing=4,
        failed=6,
        unanswered=2,
        truncated=1,
    )
    text = " ".join(notes(whole))
    for said in (
        "Only 16 of 20 items were asked: the run was cut.",
        "6 of 16 requests failed, and nothing is known of their items: figures are over the other 10.",
        "With failures counted as wrong: 70% (35 to 93).",
        "Nothing is known of leg_counting: the total is without.",
        "not solved: 2 of 10.",
        "Cut by the limit of 4,096 tokens (--max-tokens): 1 of 10.",
    ):
        assert said in text


def test_a_models_name_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in "".join(table_lines(document({"products": (1, 2)}, model="a\x1b[2J")))
    score = ImportedScore("a\x1b[2J", "b", "1", "2026-11-01", 0.5)
    assert "\x1b" not in "".join(import_lines([score]))


@pytest.mark.parametrize("width", [None, 80, 60])
def test_the_list_fits_and_keeps_its_figures(width: int | None) -> None:
    row = {
        "benchmark": "probe",
        "version": "reasoning-gym 0.1.25 8f9a5ac1272d",
        "date": "2026-11-30",
        "model": "a-model-with-a-long-name",
        "provider": "a-provider",
        "tier": "fast",
        "share": 0.75,
        "lo": 0.5,
        "hi": 0.9,
        "n": 20,
        "note": None,
    }
    lines = list_lines([row, {**row, "share": 0.5, "lo": None, "hi": None, "n": None, "tier": None}], width)
    assert lines[1].split()[-5:] == ["75.0", "50.0", "to", "90.0", "20"]
    assert lines[2].split()[-3:] == ["50.0", "none", "?"]
    if width is None:
        assert "a-model-with-a-long-name @ a-provider (fast)" in lines[1]
    else:
        assert all(len(line) <= max(width, 74) for line in lines)


def test_a_probe_is_told_in_the_words_of_the_report() -> None:
    workload = {"name": "probe", "max_tokens": 4096, "probe": {"families": ["a", "b"], "items": 100}}
    assert workload_words(workload) == "probe, 100 problems of 2 families, answers of at most 4096 tokens"
    alone = {"probe": {"families": ["products"], "items": 5}}
    assert workload_words(alone) == "5 problems of products"

import json
from typing import Any

import pytest

from paceline.advisor.figures import Figure
from paceline.report.board_points import Point, points_of
from paceline.report.board_scatter import scatter, table_of, title_of
from tests.report.board_samples import TRUTHS, board
from tests.report.walk import rows_of, walk

GAPS = ("no bill known", "no speed known")


def drawn(x: str = "usd_per_job", y: str = "output_tok_s", **limits: float) -> dict[str, Any]:
    found = scatter(points_of(board(), x, y), x, y, limits=limits, gaps=GAPS)
    assert found is not None
    return found[0]


def test_every_offer_is_drawn_also_one_without_a_price() -> None:
    rows = rows_of(drawn(), "full")
    assert {row["full"] for row in rows} == {str(truth.key) for truth in TRUTHS}
    (without,) = [row for row in rows if not row["known"]]
    assert without["full"] == "gpt-oss-20b @ local"
    assert without["x"] > max(row["x"] for row in rows if row["known"])
    assert without["x_said"] == "no price known: add it to prices.toml"
    assert GAPS[0] in json.dumps(drawn())


def test_both_intervals_are_drawn_in_the_units_of_the_axes() -> None:
    of = board()
    (row,) = [
        one
        for one in rows_of(drawn("output_tok_s", "capability"), "full")
        if one["name"].startswith("qwen3.7-max @ lantern") and one["tier"] == "fast"
    ]
    (truth,) = [one for one in of.rows if str(one.key) == row["full"]]
    speed, solved = truth.figures["output_tok_s"], truth.figures["capability"]
    assert (row["x_lo"], row["x_hi"]) == (speed.lo, speed.hi)
    assert solved.lo is not None
    assert row["y_lo"] == pytest.approx(100.0 * solved.lo)
    assert row["y"] == pytest.approx(83.0)


def test_the_region_that_is_asked_for_is_shaded_to_its_bounds() -> None:
    (region,) = rows_of(drawn(usd_per_job=0.003, output_tok_s=150.0), "x2")
    assert (region["x2"], region["y"]) == (3.0, 150.0)
    assert region["text"].startswith("asked for: USD for 1,000 jobs")
    assert not rows_of(drawn(), "x2") or "text" not in rows_of(drawn(), "x2")[0]


def test_the_frontier_is_a_step_line_that_reaches_the_edge() -> None:
    lines = [value for key, value in walk(drawn()) if key == "mark" and value.get("type") == "line"]
    assert [line["interpolate"] for line in lines] == ["step-after"]
    steps = rows_of(drawn(), "after")
    assert [step["x"] for step in steps] == sorted(step["x"] for step in steps)
    other = [value for key, value in walk(drawn("output_tok_s", "capability")) if key == "interpolate"]
    assert other == ["step-before"]


def test_nothing_to_draw() -> None:
    alone = [Point(1, "a", "a", "standard", Figure(None), Figure(3.0))]
    assert scatter(alone, "usd_per_job", "output_tok_s", limits={}, gaps=GAPS) is None
    assert scatter([], "usd_per_job", "output_tok_s", limits={}, gaps=GAPS) is None


def test_one_point_and_a_figure_of_zero_can_be_drawn() -> None:
    alone = [Point(1, "a", "a", "standard", Figure(0.0, 0.0, 0.0, 9), Figure(3.0))]
    assert scatter(alone, "usd_per_job", "output_tok_s", limits={}, gaps=GAPS) is not None


def test_the_table_says_why_a_figure_is_missing() -> None:
    head, rows = table_of(points_of(board(), "usd_per_job", "output_tok_s"), "usd_per_job", "output_tok_s")
    assert head[1] == "USD for 1,000 jobs"
    assert len(rows) == len(TRUTHS)
    (row,) = [one for one in rows if one[0] == "gpt-oss-20b @ local"]
    assert row[1:3] == ("-", "no price known: add it to prices.toml")
    assert row[-1] == "no"


def test_axes_say_their_unit_and_which_way_is_good() -> None:
    assert title_of("ttft_p50_ms") == "TTFT p50, ms (lower is better)"
    assert title_of("output_tok_s") == "tok/s (higher is better)"


def test_where_names_have_no_room_numbers_stand_but_for_the_frontier() -> None:
    sure = [Figure(value, value * 0.99, value * 1.01, 9) for value in (1.0, 1.001, 1.002, 1.003)]
    crowd = [
        Point(
            n, f"a-very-long-name-of-a-model-{n} @ somewhere", f"{n}", "standard", sure[n % 4], sure[n // 4]
        )
        for n in range(1, 16)
    ]
    found = scatter(crowd, "usd_per_job", "ttft_p50_ms", limits={}, gaps=GAPS)
    assert found is not None
    spec, crowded = found
    assert crowded
    rows = rows_of(spec, "full")
    assert all(row["m_text"] == row["name"] for row in rows if row["edge"])
    assert any(row["m_text"] == row["number"] for row in rows)
    assert all(row["n_text"] == row["number"] for row in rows)
    assert all(row["w_text"] == row["name"] for row in rows_of(drawn(), "full"))

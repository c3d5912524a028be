import json

import altair as alt
import numpy as np

from paceline.report.charts import _marks, beyond_words, histogram_chart, ladder_chart
from paceline.report.model import Report
from paceline.stats.summary import summarise
from tests.report.walk import rows_of, walk

VALUES = np.random.default_rng(1).lognormal(3.0, 0.5, 5_000)


def test_a_histogram_draws_every_bin_and_the_marks() -> None:
    spec = histogram_chart("ttft_ms", VALUES, summarise(VALUES))
    alt.Chart.from_dict(spec)
    bars, marks = rows_of(spec, "from"), rows_of(spec, "q")
    assert sum(row["n"] for row in bars) == 5_000 - 25
    assert [row["q"] for row in marks] == ["p50", "p90", "p99"]
    assert beyond_words("ttft_ms", VALUES).startswith("25 slower ones, up to ")
    assert beyond_words("ttft_ms", np.full(10, 3.0)) == ""
    one = np.append(np.linspace(10.0, 11.0, 200), 900.0)
    assert beyond_words("ttft_ms", one) == "1 slower one, of 900 ms, is not drawn."


def test_names_of_quantiles_do_not_lie_over_each_other() -> None:
    values = np.concatenate([[1.0], np.linspace(9.0, 9.5, 10_000), np.full(60, 20.0)])
    marks = rows_of(histogram_chart("itl_ms", values, summarise(values, dependent=False)), "q")
    assert [row["q"] for row in marks] == ["p50, p90, p99", "", ""]


def test_a_name_of_several_quantiles_has_room() -> None:
    """Two names take twice the room of one: 15 % from the right edge they are written to the left."""
    summary = summarise(
        np.concatenate([np.linspace(0.0, 84.0, 40), np.linspace(85.0, 86.0, 55), [100.0] * 5])
    )
    marks = _marks(summary, 0.0, 100.0)
    assert (marks[0]["q"], marks[0]["left"]) == ("p50, p90", True)


def test_a_ladder_draws_quantiles_and_intervals() -> None:
    spec = ladder_chart("itl_ms", VALUES, summarise(VALUES))
    alt.Chart.from_dict(spec)
    assert len(rows_of(spec, "share")) == 121
    assert [row["q"] for row in rows_of(spec, "text")] == ["p50", "p90", "p95", "p99"]


def test_an_interval_that_is_not_known_is_not_drawn() -> None:
    few = VALUES[:20]
    spec = ladder_chart("itl_ms", few, summarise(few, dependent=False))
    assert [row["q"] for row in rows_of(spec, "text")] == ["p50"]


def test_charts_follow_the_page(healthy: Report) -> None:
    spec = histogram_chart("ttft_ms", VALUES, summarise(VALUES))
    text = json.dumps(spec)
    assert "var(--accent)" in text
    assert "$schema" not in text
    colours = [value for key, value in walk(spec) if key == "color" and isinstance(value, str)]
    assert colours
    assert all(colour.startswith("var(--") for colour in colours)

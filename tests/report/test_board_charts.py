import pytest
import vl_convert

from paceline.advisor.trend import trends
from paceline.report.board_charts import SPEEDS, board_charts, offers_by, speed_against_bill
from paceline.report.board_points import charted_label
from paceline.report.drawn import Drawn
from paceline.report.trend_chart import trends_drawn
from tests.report.board_samples import TRUTHS, board, empty_board, loads, row

NAMES = [
    "speed_bill",
    "capability_speed",
    "offers_ttft_p50_ms",
    "answers",
    "ladder_ttft_ms",
    "prompts",
    "loads",
]


def all_charts() -> list[Drawn]:
    of = board(loads=tuple(loads()))
    over_time = trends_drawn(trends([one.evidence for one in of.rows]), {})
    assert over_time is not None
    return [*board_charts(of, limits={"output_tok_s": 150.0, "capability": 0.7}), over_time]


def test_a_full_board_has_every_chart() -> None:
    assert [chart.name for chart in all_charts()] == [*NAMES, "trends"]


def test_every_chart_compiles() -> None:
    """Vega-Lite itself takes them, and warns of nothing."""
    for chart in all_charts():
        assert vl_convert.vegalite_to_vega(chart.spec)["marks"], chart.name


def test_every_chart_has_its_words_and_every_offer_in_its_table() -> None:
    for chart in all_charts():
        assert chart.says.endswith("."), chart.name
        assert chart.about.endswith("."), chart.name
        assert all(len(cells) == len(chart.head) for cells in chart.rows), chart.name
        shown = {cells[0] for cells in chart.rows}
        # Only three offers were measured at several loads.
        expected = {str(truth.key) for truth in (TRUTHS[:3] if chart.name == "loads" else TRUTHS)}
        assert shown == expected, chart.name


def test_svg_has_the_names_and_the_units() -> None:
    svg = vl_convert.vegalite_to_svg(board_charts(board())[0].spec)
    assert "USD for 1,000 jobs (lower is better)" in svg
    assert all(
        text in svg for text in ("no bill known", "gpt-oss-120b @ wafer (fast)", "gpt-oss-20b @ local")
    )


@pytest.mark.parametrize("speed", SPEEDS)
def test_speed_may_be_any_of_four_figures(speed: str) -> None:
    chart = speed_against_bill(board(TRUTHS[:3]), speed, {})
    assert chart is not None
    assert chart.head[3] == charted_label(speed)


def test_an_empty_board_has_no_charts_and_one_offer_has_some() -> None:
    assert board_charts(empty_board()) == []
    charts = board_charts(board(rows=[row(TRUTHS[0])]))
    assert [chart.name for chart in charts] == NAMES[:-1]
    assert charts[0].says == "gpt-oss-120b is the only offer with both figures."


def test_offers_without_any_price_are_counted_not_dropped() -> None:
    charts = board_charts(board(rows=[row(TRUTHS[4]), row(TRUTHS[0])]))
    assert "gpt-oss-20b @ local" in [cells[0] for cells in charts[0].rows]
    assert board_charts(board(rows=[row(TRUTHS[4])]))[0].name == "capability_speed"
    assert offers_by(empty_board(), "ttft_p50_ms") is None

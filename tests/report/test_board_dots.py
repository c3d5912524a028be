from paceline.report.board_dots import dots_chart
from paceline.report.board_points import points_of
from tests.report.board_samples import TRUTHS, board, empty_board
from tests.report.walk import rows_of


def test_every_offer_has_a_row_the_best_first_and_those_without_the_figure_last() -> None:
    spec = dots_chart(points_of(board(), "capability", "capability"), "capability", "capability, %")
    assert spec is not None
    rows = rows_of(spec, "full")
    assert len(rows) == len(TRUTHS)
    values = [row["value"] for row in rows]
    assert values[-1] is None
    assert rows[-1]["said"] == rows[-1]["short"] == "not measured"
    assert rows[0]["said"].startswith(f"{rows[0]['short']} (")
    assert values[:-1] == sorted(values[:-1], reverse=True)
    assert [row["best"] for row in rows] == sorted((row["best"] for row in rows), reverse=True)
    assert [int(row["place"]) for row in rows] == list(range(len(TRUTHS)))


def test_there_is_no_chart_of_what_nobody_has() -> None:
    assert dots_chart(points_of(empty_board(), "ttft_p50_ms", "ttft_p50_ms"), "ttft_p50_ms", "TTFT") is None

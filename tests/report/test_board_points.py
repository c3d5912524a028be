import numpy as np
import pytest

from paceline.advisor.figures import Figure
from paceline.report.board_points import Better, Point, best, charted, frontier, points_of
from tests.report.board_samples import TRUTHS, board


def point(number: int, x: float | None, y: float | None) -> Point:
    return Point(number, f"p{number}", f"p{number}", "standard", Figure(x), Figure(y))


def beaten(one: Point, points: list[Point], x_sign: float, y_sign: float) -> bool:
    """By the definition: some other is no worse in both, and better in one."""
    assert one.x.value is not None
    assert one.y.value is not None
    for other in points:
        assert other.x.value is not None
        assert other.y.value is not None
        x, y = x_sign * (other.x.value - one.x.value), y_sign * (other.y.value - one.y.value)
        if x <= 0.0 and y <= 0.0 and (x < 0.0 or y < 0.0):
            return True
    return False


@pytest.mark.parametrize("x_better", ["lower", "higher"])
@pytest.mark.parametrize("y_better", ["lower", "higher"])
def test_the_frontier_is_all_that_no_other_beats(x_better: Better, y_better: Better) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        # Few distinct values, so that there are ties.
        points = [point(n, *map(float, pair)) for n, pair in enumerate(rng.integers(1, 7, (12, 2)))]
        x_sign, y_sign = (1.0 if one == "lower" else -1.0 for one in (x_better, y_better))
        expected = {one.number for one in points if not beaten(one, points, x_sign, y_sign)}
        found = frontier(points, x_better, y_better)
        assert {one.number for one in found} == expected
        assert [one.x.value for one in found] == sorted(one.x.value or 0.0 for one in found)


def test_points_without_a_value_are_on_no_frontier() -> None:
    assert frontier([point(1, None, 3.0), point(2, 1.0, None)], "lower", "higher") == []
    assert best([point(1, None, 3.0)], "x", "lower") is None


def test_every_row_is_a_point_and_bills_are_of_a_thousand_jobs() -> None:
    of = board()
    points = points_of(of, "usd_per_job", "output_tok_s")
    assert [one.number for one in points] == list(range(1, len(TRUTHS) + 1))
    assert {one.full for one in points} == {str(row.key) for row in of.rows}
    for one, row in zip(points, of.rows, strict=True):
        value = row.figures["usd_per_job"].value
        assert one.x.value == (None if value is None else value * 1_000)
    figure = Figure(0.002, None, 0.003, 9)
    assert charted("usd_per_job", figure) == Figure(2.0, None, 3.0, 9)
    assert charted("ttft_p50_ms", figure) is figure

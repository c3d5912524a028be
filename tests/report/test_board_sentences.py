import pytest

from paceline.advisor.figures import Figure
from paceline.report.board_points import Point
from paceline.report.board_sentences import alike_best, first_words, leaders, two_figures_words

BILL, SPEED = "usd_per_job", "output_tok_s"


def sure(value: float, share: float = 0.02) -> Figure:
    return Figure(value, value * (1.0 - share), value * (1.0 + share), 300)


def points(*figures: tuple[str, Figure, Figure]) -> list[Point]:
    return [Point(place + 1, name, name, "standard", x, y) for place, (name, x, y) in enumerate(figures)]


def test_one_that_is_best_in_both() -> None:
    found = points(("A", sure(1.0), sure(300.0)), ("B", sure(2.0), sure(200.0)))
    assert two_figures_words(found, BILL, SPEED) == "A writes fastest and is cheapest."


def test_two_that_cannot_be_told_apart_and_what_the_dearer_one_costs() -> None:
    found = points(
        ("A", sure(10.0), sure(301.0)), ("B", sure(4.0), sure(300.0)), ("C", sure(1.0), sure(50.0))
    )
    assert two_figures_words(found, BILL, SPEED) == (
        "A and B cannot be told apart in tok/s; B costs 0.40 times (0.39 to 0.41) as much."
    )


def test_wide_intervals_cannot_be_told_apart_either() -> None:
    """Medians 20 % apart, known to 15 %: nobody knows which is faster."""
    found = points(("A", sure(10.0), sure(300.0, 0.15)), ("B", sure(4.0), sure(250.0, 0.15)))
    assert two_figures_words(found, BILL, SPEED).startswith("A and B cannot be told apart in tok/s; B costs")


def test_a_figure_without_an_interval_is_not_said_to_be_better() -> None:
    found = points(("A", sure(10.0), Figure(300.0, n=3)), ("B", sure(4.0), sure(250.0)))
    assert two_figures_words(found, BILL, SPEED).startswith("A and B cannot be told apart")
    assert alike_best(found, SPEED) == found


def test_the_fastest_beside_the_cheapest() -> None:
    found = points(("A", sure(10.0), sure(300.0)), ("B", sure(4.0), sure(150.0)))
    assert two_figures_words(found, BILL, SPEED) == (
        "A writes fastest and B is cheapest; beside it, A has 2.0 times (1.9 to 2.1) the tok/s and costs "
        "2.5 times (2.4 to 2.6) as much."
    )


def test_two_that_are_alike_in_both() -> None:
    found = points(("A", sure(10.1), sure(301.0)), ("B", sure(10.0), sure(300.0)))
    assert two_figures_words(found, BILL, SPEED) == "A and B cannot be told apart in either figure."


@pytest.mark.parametrize(
    ("figures", "text"),
    [
        ([], "No offer has both figures yet."),
        ([("A", Figure(None), sure(1.0))], "No offer has both figures yet."),
        ([("A", sure(1.0), sure(1.0))], "A is the only offer with both figures."),
    ],
)
def test_too_few_to_compare(figures: list[tuple[str, Figure, Figure]], text: str) -> None:
    assert two_figures_words(points(*figures), BILL, SPEED) == text


def test_who_is_first_and_who_may_be_so_too() -> None:
    name = "ttft_p50_ms"
    apart = points(("A", sure(1), sure(100.0)), ("B", sure(1), sure(150.0)), ("C", sure(1), sure(170.0)))
    assert first_words(apart, "y", name) == (
        "A has the shortest TTFT; B is next, and has 1.50 times (1.46 to 1.54) the median TTFT."
    )
    alike = points(("A", sure(1), sure(100.0)), ("B", sure(1), sure(101.0)), ("C", sure(1), sure(170.0)))
    assert first_words(alike, "y", name) == "A has the shortest TTFT, but cannot be told apart from B."
    assert [one.name for one in alike_best(alike, name)] == ["A", "B"]
    many = points(*[(letter, sure(1), sure(100.0)) for letter in "ABCDEFG"])
    assert first_words(many, "y", name).endswith("from B, C, D and 3 more.")
    assert first_words(points(("A", sure(1), Figure(None))), "y", name) == "No offer has this figure yet."
    assert first_words(points(("A", sure(1), sure(2))), "y", name) == "A is the only offer with this figure."


def test_higher_is_better_where_it_is() -> None:
    found = points(("A", sure(1), sure(0.7)), ("B", sure(1), sure(0.9)))
    assert first_words(found, "y", "capability").startswith("B solves most; A is next, and has 0.78 times")


def test_one_end_of_an_interval_is_enough_to_tell_two_apart() -> None:
    """The other needs 290 ms at least; how much more is not known."""
    found = points(("A", sure(1), sure(100.0)), ("B", sure(1), Figure(310.0, 290.0, None, 9, needs_n=40)))
    assert first_words(found, "y", "ttft_p95_ms") == (
        "A has the shortest slow TTFT; B is next, and has a TTFT p95 that is higher, not known by how much."
    )
    assert [one.name for one in alike_best(found, "ttft_p95_ms")] == ["A"]


def test_too_little_data_is_not_called_alike() -> None:
    found = points(
        ("A", sure(1), sure(100.0)),
        ("B", sure(1), sure(101.0)),
        ("C", sure(1), Figure(120.0, n=3, needs_n=9)),
    )
    assert first_words(found, "y", "ttft_p50_ms") == (
        "A has the shortest TTFT, but cannot be told apart from B, and there is too little data to tell it "
        "from C."
    )


def test_rivals_of_the_best_of_two_figures_are_named() -> None:
    found = points(
        ("A", sure(10.0), sure(300.0)), ("B", sure(4.0), sure(150.0)), ("C", sure(10.0), sure(301.0))
    )
    assert two_figures_words(found, BILL, SPEED).startswith("C writes fastest (or A) and B is cheapest;")


def test_the_best_of_what_is_looked_at_first_and_who_may_be_as_good() -> None:
    def of(name: str) -> list[Point]:
        speeds = [sure(300.0), sure(301.0), sure(100.0)]
        bills = [sure(4.0), sure(1.0), Figure(None, note="unknown")]
        ys = {"output_tok_s": speeds, "usd_per_job": bills, "ttft_p50_ms": [sure(9.0)] * 3}
        return points(*zip("ABC", [sure(1.0)] * 3, ys.get(name, [Figure(None)] * 3), strict=True))

    found = {one.name: (one.offer, one.others) for one in leaders(of)}
    assert found == {
        "ttft_p50_ms": ("A", "no other can be told apart from it"),
        "output_tok_s": ("B", "or A"),
        "usd_per_job": ("B", ""),
    }

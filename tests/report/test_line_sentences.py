from dataclasses import replace

from paceline.report.line_chart import Line, LinePoint
from paceline.report.line_sentences import answer_words, ladder_words, load_words, prompt_words

SIZES = (1.0, 10.0, 100.0, 500.0, 1_000.0, 2_000.0)


def line(name: str, *values: tuple[float, float], share: float = 0.02, tag: str = "") -> Line:
    points = tuple(
        LinePoint(x, y, y * (1 - share), y * (1 + share), f"{x:g}", f"{y:g}", tag=tag or f"{x:g}")
        for x, y in values
    )
    return Line(1, name, name, points)


def answers(name: str, first_ms: float, rate: float, share: float = 0.02) -> Line:
    return line(name, *((n, first_ms + 1e3 * (n - 1) / rate) for n in SIZES), share=share)


def test_where_lines_cross() -> None:
    """A starts at once at 50 tok/s, B after a second at 200 tok/s: they meet at 1 + 950 / 15 = 64 tokens."""
    found = answer_words([answers("A", 50.0, 50.0), answers("B", 1_000.0, 200.0)])
    assert found == "A is done first up to about 10 tokens, B from about 100 on."


def test_one_that_is_first_everywhere() -> None:
    found = [answers("A", 100.0, 300.0), answers("B", 200.0, 100.0)]
    assert answer_words(found) == "A is done first with answers of every size, up to 2,000 tokens."
    near = [answers("A", 100.0, 300.0), answers("B", 130.0, 299.0)]
    assert answer_words(near) == (
        "A is done first with answers of up to 100 tokens; with others it cannot be told apart from B."
    )
    assert answer_words(found[:1]) == "A is the only offer with streamed answers."
    assert answer_words([]) == "No offer has streamed answers."


def test_growth_with_the_prompt() -> None:
    steep, flat = line("A", (100, 100.0), (5_000, 300.0)), line("B", (100, 200.0), (5_000, 202.0))
    assert prompt_words([flat, steep]) == (
        "The TTFT of A grows most with the prompt: 3.0 times (2.9 to 3.1) from prompts of about 100 tokens "
        "to 5,000; that of B is not seen to grow."
    )
    assert prompt_words([flat]) == "No TTFT is seen to grow from prompts of about 100 tokens to 5,000."
    open_ended = Line(1, "C", "C", (LinePoint(1, 2, None, None, "", ""), LinePoint(3, 4, None, None, "", "")))
    assert prompt_words([open_ended]) == (
        "By medians alone the TTFT of C grows most, about 2.0 times from prompts of about 1 tokens to 3; "
        "there are too few requests of each size to be sure of it."
    )
    assert prompt_words([]) == "There is not enough data yet to say how TTFT grows with the prompt."


def half_open(of: Line) -> Line:
    """Without upper ends, as a small sample has it."""
    return replace(of, points=tuple(replace(point, hi=None) for point in of.points))


def test_an_interval_with_one_end_tells_what_that_end_tells() -> None:
    """A is done after 2 s at most; B needs 9.8 s at least: no upper end is needed to see it."""
    quick, slow = answers("A", 100.0, 300.0), half_open(answers("B", 9_000.0, 300.0))
    assert answer_words([quick, slow]) == ("A is done first with answers of every size, up to 2,000 tokens.")
    near = half_open(answers("B", 101.0, 300.0))
    assert answer_words([quick, near]) == "No offer is clearly done first: A and B are too close."
    open_first = half_open(answers("A", 100.0, 300.0))
    assert answer_words([open_first, slow]).startswith("No offer is clearly done first")


def test_too_little_data_is_not_called_alike() -> None:
    """B's intervals end before A's at short answers, and are open below at long ones."""
    quick, other = answers("A", 100.0, 300.0), answers("B", 300.0, 290.0)
    far = replace(
        other, points=tuple(replace(p, lo=None, hi=None) if p.x >= 500.0 else p for p in other.points)
    )
    assert answer_words([quick, far]) == (
        "A is done first with answers of up to 100 tokens; with others there is too little data to tell it "
        "from B."
    )


def test_percentiles_that_overlap_are_not_ranked() -> None:
    """Medians differ clearly; p95 of A reaches beyond the lower end of B's."""
    tight, wide = line("A", (0.30103, 17.0), (1.30103, 33.0)), line("B", (0.30103, 60.0), (1.30103, 61.0))
    points = (tight.points[0], replace(tight.points[1], hi=70.0))
    assert ladder_words([replace(tight, points=points), wide], "TTFT") == (
        "A has the shortest TTFT at the median; at p95 the shortest cannot be told: A and B are too close; "
        "A has the longest tail: its p95 is 1.9 times its median."
    )


def test_tails() -> None:
    steady = line("A", (0.30103, 200.0), (1.30103, 220.0))
    wild = line("B", (0.30103, 100.0), (1.30103, 500.0))
    assert ladder_words([steady, wild], "TTFT") == (
        "B has the shortest TTFT at the median, A at p95; B has the longest tail: its p95 is 5.0 times its "
        "median."
    )
    assert ladder_words([wild], "TTFT") == "The p95 of B is 5.0 times its median."
    short = line("C", (0.30103, 100.0))
    assert ladder_words([short], "TTFT") == "There is not enough data yet for the 95th percentile of TTFT."
    assert ladder_words([short, line("D", (0.30103, 150.0))], "TTFT") == (
        "C has the shortest TTFT at the median; there is not enough data yet for the 95th percentile of TTFT."
    )


def at(x: float, y: float, load: str, share: float = 0.02) -> LinePoint:
    ends = (1.0 - share, 1.0 + share)
    return LinePoint(x, y, y * ends[0], y * ends[1], "", "", x_lo=x * ends[0], x_hi=x * ends[1], tag=load)


def test_loads() -> None:
    big = Line(
        1,
        "A",
        "A",
        (at(90, 90, "1"), at(40, 2_400, "64")),
    )
    quick = Line(
        2,
        "B",
        "B",
        (at(300, 300, "1"), at(5, 400, "64")),
    )
    assert load_words([big, quick]) == (
        "A gives most in all: 2,400 tok/s at a load of 64; one user gets most from B: 300 tok/s at 1."
    )
    assert "from it, too" in load_words([big])
    near = Line(3, "C", "C", (at(100, 100, "1"), at(40, 2_380, "64")))
    assert "2,400 tok/s at a load of 64 (C may give as much); one user" in load_words([big, quick, near])
    assert load_words([]) == "No offer was measured at several loads yet."

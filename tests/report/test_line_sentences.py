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
    assert answer_words(near).endswith("but cannot be told apart from B from 500 to 2,000 tokens.")
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
    assert prompt_words([open_ended]).startswith("There is not enough data yet")


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


def test_loads() -> None:
    big = Line(
        1, "A", "A", (LinePoint(90, 90, 1, 2, "", "", tag="1"), LinePoint(40, 2_400, 1, 2, "", "", tag="64"))
    )
    quick = Line(
        2, "B", "B", (LinePoint(300, 300, 1, 2, "", "", tag="1"), LinePoint(5, 400, 1, 2, "", "", tag="64"))
    )
    assert load_words([big, quick]) == (
        "A gives most in all: 2,400 tok/s at a load of 64; one user gets most from B: 300 tok/s at 1."
    )
    assert "from it, too" in load_words([big])
    assert load_words([]) == "No offer was measured at several loads yet."

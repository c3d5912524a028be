import pytest

from paceline.advisor.figures import Figure
from paceline.advisor.identity import OfferKey
from paceline.report.board_words import (
    figure_words,
    full_name,
    interval_words,
    missing_words,
    short_names,
    times_words,
    value_words,
)
from paceline.stats.mover import Ends


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ([("m", "p", "standard")], ["m"]),
        ([("m", "p", "standard"), ("m", "p", "fast")], ["standard", "fast"]),
        ([("m", "p", "standard"), ("m", "q", "fast")], ["p", "q (fast)"]),
        ([("m", "p", "standard"), ("n", "p", "standard")], ["m", "n"]),
        ([("m", "p", "standard"), ("n", "q", "flex")], ["m @ p", "n @ q (flex)"]),
        ([], []),
    ],
)
def test_a_name_says_what_tells_offers_apart(keys: list[tuple[str, str, str]], names: list[str]) -> None:
    found = short_names([OfferKey(*key) for key in keys])
    assert found == names
    assert len(set(found)) == len(found)


def test_names_steer_no_terminal() -> None:
    key = OfferKey("m\x1b[31m", "p\n")
    assert "\x1b" not in full_name(key)
    assert "\n" not in short_names([key, OfferKey("n", "q")])[0]


@pytest.mark.parametrize(
    ("name", "figure", "text", "span", "why"),
    [
        ("ttft_p50_ms", Figure(312.4, 300.0, 330.1, 200), "312", "300 to 330", ""),
        ("ttft_p50_ms", Figure(312.4, None, None, 4, needs_n=6), "~312", "", "not enough data (2 more)"),
        ("ttft_p95_ms", Figure(900.0, 700.0, None, 30, needs_n=93), ">=700", "", "not enough data (63 more)"),
        ("ttft_p95_ms", Figure(None, 700.0, None, 30), ">=700", "", "not known"),
        ("capability", Figure(0.705, 0.63, 0.77, 200), "70.5", "63.0 to 77.0", ""),
        ("capability", Figure(1.0, 0.98, 1.0, 200), "100", "98.0 to 100", ""),
        ("usd_per_job", Figure(0.00042, 0.0004, 0.00044, 9), "0.000420", "0.000400 to 0.000440", ""),
        ("usd_per_job", Figure(None, note="no price\x07 known"), "-", "", "no price  known"),
        ("usd_per_job", Figure(2.0, -0.5, 4.5, 3), "2.00", "-0.500 to 4.50", ""),
    ],
)
def test_a_figure_is_never_more_sure_than_it_is(
    name: str, figure: Figure, text: str, span: str, why: str
) -> None:
    assert figure_words(name, figure) == text
    assert interval_words(name, figure) == span
    assert missing_words(figure) == why


def test_ratios_are_said_with_their_intervals_where_those_can_be_seen() -> None:
    assert times_words(Ends(0.412, 0.38, 0.44)) == "0.41 times (0.38 to 0.44)"
    assert times_words(Ends(12.3, 9.84, 15.0)) == "12 times (10 to 15)"
    assert times_words(Ends(19.1, 19.0, 19.2)) == "19 times"


def test_money_is_never_written_with_an_exponent() -> None:
    assert value_words("usd_per_job", 1.23e-7) == "0.000000123"

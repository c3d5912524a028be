import pytest

from paceline.report.cells import name_cell, usd_words


@pytest.mark.parametrize(
    ("usd", "text"),
    [(0.0, "0.00"), (1234.5, "1,234.50"), (1.0, "1.00"), (0.5, "0.500"), (0.0000123, "0.0000123")],
)
def test_money_is_never_in_powers_of_ten(usd: float, text: str) -> None:
    assert usd_words(usd) == text


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        (None, ""),
        ("chat", "chat"),
        ("=1+1", "'=1+1"),
        (" @sum", "' @sum"),
        ("-x", "'-x"),
        ("a\rb", "a b"),
        ("\tb", " b"),
        ("\t=b", "' =b"),
        ("\x1b]0;a\x07b\nc", " ]0;a b c"),
        ("\u202eab", " ab"),
    ],
)
def test_a_name_becomes_no_formula(name: str | None, cell: str) -> None:
    assert name_cell(name) == cell

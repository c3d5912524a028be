from dataclasses import replace
from datetime import UTC, date, datetime

from paceline.advisor.bill import Bill
from paceline.advisor.bills import BilledOffer, in_order
from paceline.advisor.figures import Figure
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.report.bill_dict import bills_csv
from paceline.report.bill_text import bills_text

AT = datetime(2026, 11, 30, tzinfo=UTC)
PRICE = Price(
    "tokens", Rates(1.0, 2.0), "a list, as of 2026-11-30", date(2026, 11, 30), warnings=("mind it",)
)


def row(
    model: str, figure: Figure, price: Price | PriceUnknown = PRICE, load: str = "closed 8"
) -> BilledOffer:
    bill = Bill(
        figure,
        None,
        None,
        {"input": 0.75 * figure.value, "output": 0.25 * figure.value} if figure.value else {},
        {"prompt": 512.0, "cached": 300.0, "completion": 128.4, "reasoning": 0.0},
        "measured",
        None,
        price,
        ("3.1% of jobs did not end well",),
    )
    return BilledOffer(OfferKey(model, "acme"), "chat", "k", load, ("r",), (), bill)


def test_the_cheapest_first_and_what_is_unknown_last() -> None:
    rows = [
        row("dear", Figure(0.02, 0.019, 0.021, 100)),
        row("unknown", Figure(None, note="unknown"), PriceUnknown("nobody says", "ask")),
        row("cheap", Figure(0.0001, None, None, 7, 100)),
        row("other", Figure(0.5, 0.4, 0.6, 100), load="closed 1"),
    ]
    text = bills_text(in_order(rows, AT))
    assert text.index("closed 1") < text.index("cheap") < text.index("dear") < text.index("unknown @")
    assert ["2", "dear", "@", "acme", "0.0200", "0.0190-0.0210"] in [
        line.split() for line in text.splitlines()
    ]
    flat = " ".join(text.split())
    assert "1 Price: a list, as of 2026-11-30. Not enough data (93 more). Mind it." in flat
    assert "A job: 512 tokens in (300 from the cache), 128 out. Of the bill: prompt 75%, answer 25%." in flat
    assert "3 Price unknown: nobody says. Ask." in flat
    assert "3.1% of jobs did not end well." in flat
    assert all(len(line) <= 80 for line in text.splitlines())


def test_reasoning_is_told_as_a_part_of_the_answer() -> None:
    one = row("thinker", Figure(0.01, 0.009, 0.011, 100))
    parts = {"input": 0.00004, "output": 0.00996, "reasoning": 0.009}
    one = replace(one, bill=replace(one.bill, parts=parts))
    flat = " ".join(bills_text(in_order([one], AT)).split())
    assert "Of the bill: prompt 0.4%, answer 100% (90% reasoning)." in flat


def test_the_name_of_a_file_is_not_written_otherwise() -> None:
    price = replace(PRICE, warnings=("prices.toml:3 does not say it",))
    text = bills_text(in_order([row("one", Figure(0.02, 0.019, 0.021, 100), price)], AT))
    assert "prices.toml:3 does not say it." in " ".join(text.split())


def test_names_cannot_steer_a_terminal_nor_a_spreadsheet() -> None:
    bills = in_order([row("=a\x1b[2J" + "x" * 200, Figure(0.5, 0.4, 0.6, 100))], AT)
    assert "\x1b" not in bills_text(bills)
    assert all(len(line) <= 80 for line in bills_text(bills).splitlines())
    assert bills_csv(bills).splitlines()[1].startswith("'=a")

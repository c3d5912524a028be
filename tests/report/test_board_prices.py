from dataclasses import replace
from datetime import date

from paceline.catalogue.price import ContextTier, Price, Rates
from paceline.report.board_prices import prices_context
from tests.report.board_samples import TRUTHS, board, row


def test_every_offer_has_its_rates_bill_source_and_date_or_why_there_is_none() -> None:
    lines = {line["offer"]: line for line in prices_context(board())}
    assert len(lines) == len(TRUTHS)
    line = lines["gpt-oss-120b @ cerise"]
    assert line["rates"] == "0.15 in, 0.6 out, 0.015 cache read"
    assert (line["source"], line["as_of"]) == ("genai-prices 0.0.57", "2026-11-20")
    assert line["tokens"] == "1,800 in, 600 of them cached, 420 out, 120 of them reasoning, measured"
    assert [part["name"] for part in line["parts"]] == ["prompt", "answer"]
    unknown = lines["gpt-oss-20b @ local"]
    assert not unknown["known"]
    assert unknown["why"] == "no price of gpt-oss-20b at local is known"
    assert unknown["hint"]


def test_parts_of_a_bill_are_of_a_thousand_jobs_and_hold_reasoning_once() -> None:
    one = row(TRUTHS[0])
    usd = one.figures["usd_per_job"].value
    (line,) = prices_context(board(rows=[one]))
    assert usd is not None
    parts = sum(float(part["usd"]) for part in line["parts"])
    assert abs(parts - 1_000 * usd) < 0.002 * 1_000 * usd


def test_hours_tiers_fees_and_warnings_are_said() -> None:
    hours = Price("hours", Rates(0.0, 0.0), "prices.toml:4", date(2026, 11, 1), usd_per_hour=2.5)
    tiers = Price(
        "tokens",
        Rates(1.0, 5.0, cache_write_usd_per_mtok=1.25, request_usd=0.01),
        "prices.toml:9",
        date(2026, 11, 1),
        tiers=(ContextTier(200_000, Rates(2.0, 7.5)),),
        warnings=("the standard price: fast is not known",),
    )
    one = row(TRUTHS[0])
    first, second = prices_context(board(rows=[replace(one, price=hours), replace(one, price=tiers)]))
    assert first["rates"] == "2.50 an hour"
    assert second["rates"] == (
        "1 in, 5 out, 1.25 cache write, 0.01 a request, other rates over 200,000 tokens of prompt"
    )
    assert second["warnings"] == ["the standard price: fast is not known"]

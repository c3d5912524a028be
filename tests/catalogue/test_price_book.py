from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.identity import KnownOffer, OfferKey
from paceline.catalogue.price import Price, PriceUnknown, Rates
from paceline.catalogue.price_book import PriceBook
from paceline.errors import ConfigError

OPENAI = "https://api.openai.com/v1"
DAY = date(2026, 11, 30)
MINI = OfferKey("gpt-5-mini", "openai")
FAST = OfferKey("gpt-5-mini", "openai", "fast")


def price(book: PriceBook, key: OfferKey = MINI, url: str = OPENAI, **more: Any) -> Price | PriceUnknown:
    extra, table = more.get("extra", {}), more.get("known_price")
    return book.price(key, url, more.get("model", key.model), extra, table, more.get("at", DAY))


def known(book: PriceBook, key: OfferKey = MINI, url: str = OPENAI, **more: Any) -> Price:
    found = price(book, key, url, **more)
    assert isinstance(found, Price), found
    return found


def test_the_users_file_then_the_users_offer_then_the_package(tmp_path: Path) -> None:
    empty = PriceBook.load(tmp_path)
    assert known(empty).rates == Rates(0.25, 2.0, 0.025)
    table = {"input_usd_per_mtok": 7.0, "output_usd_per_mtok": 8.0, "price_multiplier": 1.0}
    of_offer = known(empty, known_price=table)
    assert of_offer.rates == Rates(7.0, 8.0)
    assert of_offer.source == "paceline.toml, the offer's, as of 2026-11-30"
    (tmp_path / "prices.toml").write_text(
        '[[price]]\nmodel = "gpt-5-mini"\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 1\n'
        "as_of = 2026-11-01\n"
    )
    assert known(PriceBook.load(tmp_path), known_price=table).rates == Rates(1.0, 1.0)
    other = tmp_path / "other.toml"
    other.write_text("")
    assert known(PriceBook.load(tmp_path, other), known_price=table).rates == Rates(7.0, 8.0)
    with pytest.raises(ConfigError, match="no such file"):
        PriceBook.load(tmp_path, tmp_path / "none.toml")


def test_an_offer_that_is_known_brings_its_price(tmp_path: Path) -> None:
    own = KnownOffer("a", MINI, OPENAI, "gpt-5-mini", {}, {"ref": "openai:gpt-5-nano", "price_multiplier": 2})
    found = known(PriceBook.load(tmp_path, known=[own]))
    assert found.rates.input_usd_per_mtok == pytest.approx(0.1)
    assert found.source.startswith('paceline.toml, offer "a", genai-prices ')
    assert found.source.endswith("openai:gpt-5-nano, as of 2026-11-30, times 2")
    wrong = KnownOffer("a", MINI, OPENAI, "gpt-5-mini", {}, {"ref": "openai:gpt-5-nao"})
    with pytest.raises(ConfigError, match=r'offer "a": price: .*no such model'):
        known(PriceBook.load(tmp_path, known=[wrong]))


def test_a_tier_has_its_own_price_or_a_warning(tmp_path: Path) -> None:
    book = PriceBook.load(tmp_path)
    by_body = known(book, FAST, extra={"service_tier": "priority"})
    by_name = known(book, FAST)
    assert by_body.rates == by_name.rates == Rates(0.45, 3.6, 0.045)
    assert by_name.warnings == ()
    groq = OfferKey("llama-3.3-70b-versatile", "groq", "fast")
    doubted = known(book, groq, "https://api.groq.com/openai/v1")
    assert "no price of its tier fast is known" in doubted.warnings[0]
    assert "prices.toml" in doubted.warnings[0]


def test_a_tier_of_an_own_offer_is_priced_as_the_gateway_does(tmp_path: Path) -> None:
    book = PriceBook.load(tmp_path)
    doubted = known(book, FAST, known_price={"ref": "openai:gpt-5-mini", "price_multiplier": 1.0})
    assert doubted.rates == Rates(0.25, 2.0, 0.025)
    assert "price_multiplier" in doubted.warnings[0]
    stated = known(book, FAST, known_price={"ref": "openai:gpt-5-mini", "price_multiplier": 3.0})
    assert stated.rates == Rates(0.75, 6.0, 0.075)
    assert stated.warnings == ()


def test_a_price_that_nobody_knows_says_what_to_do(tmp_path: Path) -> None:
    book = PriceBook.load(tmp_path)
    found = price(book, OfferKey("tiny", "127.0.0.1:9000"), "http://127.0.0.1:9000/v1")
    assert isinstance(found, PriceUnknown)
    assert "knows no price of tiny at 127.0.0.1:9000" in found.why
    assert f'{tmp_path / "prices.toml"}: [[price]] with model = "tiny"' in found.hint
    whisper = price(book, OfferKey("whisper-large-v3", "groq"), "https://api.groq.com/openai/v1")
    assert isinstance(whisper, PriceUnknown)
    assert "no price a token of groq:whisper-large-v3" in whisper.why


def test_the_moment_counts(tmp_path: Path) -> None:
    """deepseek-chat cost half between 16:30 and 00:30 UTC; a day is its noon."""
    book = PriceBook.load(tmp_path)
    key = OfferKey("deepseek-chat", "deepseek")
    url = "https://api.deepseek.com/v1"
    day = known(book, key, url, at=date(2025, 8, 1))
    night = known(book, key, url, at=datetime(2025, 8, 1, 20, tzinfo=UTC))
    assert day.rates.input_usd_per_mtok == 2 * night.rates.input_usd_per_mtok
    assert "within the day" in day.warnings[0]

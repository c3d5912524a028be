from datetime import UTC, datetime
from pathlib import Path

import pytest

from paceline.advisor.identity import OfferKey
from paceline.catalogue.price import ContextTier, Price, Rates
from paceline.catalogue.price_file import load_price_file
from paceline.errors import ConfigError

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
URL = "https://api.acme.test/v1"
ACME = OfferKey("m", "acme")
OWN = "input_usd_per_mtok = 1\noutput_usd_per_mtok = 2\nas_of = 2026-11-01\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text)
    return path


def found(
    folder: Path, text: str, key: OfferKey = ACME, at: datetime = NOW, *, url: str = URL, model: str = "m"
) -> Price | None:
    return load_price_file(written(folder, text)).price(key, model, url, at)


def entry(*lines: str, own: str = OWN) -> str:
    return "\n".join(["[[price]]", 'model = "m"', *lines, own])


def test_own_figures_with_context_tiers(tmp_path: Path) -> None:
    text = """schema = "paceline.prices/1"

[[price]]
model = "m"
input_usd_per_mtok = 0.25
output_usd_per_mtok = 2
cache_read_usd_per_mtok = 0.025
source = "contract of May"
as_of = 2026-11-01

[[price.context_tier]]
over_prompt_tokens = 200_000
input_usd_per_mtok = 0.5
"""
    price = found(tmp_path, text)
    assert price is not None
    assert price.rates == Rates(0.25, 2.0, 0.025)
    assert price.tiers == (ContextTier(200_000, Rates(0.5, 2.0, 0.025)),)
    assert price.source == "prices.toml:3 (contract of May), as of 2026-11-01"
    assert price.as_of.isoformat() == "2026-11-01"


def test_own_hardware(tmp_path: Path) -> None:
    by_gpu = found(tmp_path, entry("usd_per_gpu_hour = 2.5\ngpus = 4\nas_of = 2026-11-01", own=""))
    assert by_gpu is not None
    assert (by_gpu.kind, by_gpu.usd_per_hour) == ("hours", 10.0)
    whole = found(tmp_path, entry("usd_per_hour = 3\nmultiplier = 0.5\nas_of = 2026-11-01", own=""))
    assert whole is not None
    assert whole.usd_per_hour == 1.5
    assert whole.source.endswith("times 0.5")


def test_a_reference(tmp_path: Path) -> None:
    price = found(tmp_path, entry('ref = "openai:gpt-5-mini"', "multiplier = 0.8", own=""))
    assert price is not None
    assert price.rates == Rates(0.2, 1.6, 0.02)
    assert price.source.startswith("prices.toml:1, genai-prices ")
    assert price.source.endswith("openai:gpt-5-mini, as of 2026-11-30, times 0.8")
    text = entry('ref = "openai:gpt-5-mini"', 'variant = { processing = "batch" }', own="")
    batch = found(tmp_path, text)
    assert batch is not None
    assert batch.rates.output_usd_per_mtok == 1.0


def test_the_most_specific_entry_wins(tmp_path: Path) -> None:
    def figure(usd: int) -> str:
        return OWN.replace("= 1\n", f"= {usd}\n")

    text = "\n".join(
        [
            entry(own=figure(1)),
            entry('provider = "acme"', own=figure(2)),
            entry('provider = "acme"', 'tier = "fast"', own=figure(3)),
            entry(f'endpoint = "{URL}/"', 'provider = "acme"', 'tier = "standard"', own=figure(4)),
        ]
    )

    def rate(key: OfferKey, url: str = URL) -> float:
        price = found(tmp_path, text, key, url=url)
        assert price is not None
        return price.rates.input_usd_per_mtok

    assert rate(OfferKey("m", "other")) == 1
    assert rate(OfferKey("m", "acme"), "https://elsewhere.test") == 2
    assert rate(OfferKey("m", "acme", "fast")) == 3
    assert rate(OfferKey("m", "acme")) == 4
    assert found(tmp_path, text, OfferKey("n", "acme"), model="n") is None
    assert found(tmp_path, text, OfferKey("n", "other"), model="m") is not None


def test_an_entry_that_says_no_tier_is_doubted_for_another(tmp_path: Path) -> None:
    price = found(tmp_path, entry(), OfferKey("m", "acme", "fast"))
    assert price is not None
    assert "does not say whether it is the price of the tier fast" in price.warnings[0]
    standard = found(tmp_path, entry())
    assert standard is not None
    assert standard.warnings == ()


def test_prices_have_days(tmp_path: Path) -> None:
    text = entry("until = 2026-06-30") + entry("from = 2026-07-01", own=OWN.replace("= 1\n", "= 5\n"))

    def rate(month: int, day: int) -> float:
        price = found(tmp_path, text, at=datetime(2026, month, day, 23, 59, tzinfo=UTC))
        assert price is not None
        return price.rates.input_usd_per_mtok

    assert [rate(6, 30), rate(7, 1)] == [1, 5]
    assert found(tmp_path, entry("from = 2027-01-01")) is None


def test_two_equally_specific_entries_are_refused(tmp_path: Path) -> None:
    text = entry('provider = "acme"') + entry(f'endpoint = "{URL}"')
    file = load_price_file(written(tmp_path, text))
    assert file.price(ACME, "m", "https://elsewhere.test", NOW) is not None
    with pytest.raises(ConfigError, match=r"prices.toml:7: .*as well as the entry on line 1"):
        file.price(ACME, "m", URL, NOW)
    with pytest.raises(ConfigError, match=r"prices.toml:6: .*the entry on line 1 is of the same"):
        load_price_file(written(tmp_path, entry() + entry()))


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[[prices]]\n", r"prices.toml:1: prices: there is no such key", "did you mean `price`"),
        (entry("zzzz = 1"), r'prices.toml:3: price "m": zzzz: there is no such key', "keys are"),
        (entry("input_usd_per_mtk = 1"), "no such key", "did you mean `input_usd_per_mtok`"),
        (entry("multiplier = -1"), "prices.toml:3: .*multiplier", None),
        (entry("multiplier = true"), "must be a number", None),
        (entry(own=""), "it has no figure", "usd_per_gpu_hour"),
        (entry(own="input_usd_per_mtok = 1\nas_of = 2026-01-01"), "is missing", "0 is free"),
        (entry("usd_per_hour = 1"), "own figures and usd_per_hour are both given", None),
        (entry(own=OWN.replace("as_of", "#")), "as_of is missing", "the day that you looked it up"),
        (entry("gpus = 2"), "gpus is given without", None),
        (entry('variant = { speed = "fast" }'), "variant is of a ref", None),
        (entry('ref = "gpt-5-mini"', own=""), "ref has no provider", "openai:gpt-5-mini"),
        (entry("from = 2026-02-02\nuntil = 2026-02-01"), "from is after until", None),
        ("[[price]]\ninput_usd_per_mtok = 1\n", "model", None),
        ("price = [", "not TOML", None),
        ('schema = "paceline.prices/2"\n', r"prices.toml:1: schema", "paceline.prices/1"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        load_price_file(written(tmp_path, text))
    assert "prices.toml:" in caught.value.message
    if hint:
        assert hint in (caught.value.hint or "")


def test_a_tier_out_of_order_is_refused(tmp_path: Path) -> None:
    tiers = "".join(f"[[price.context_tier]]\nover_prompt_tokens = {n}\n" for n in (200, 100))
    with pytest.raises(ConfigError, match="context_tier is not in order"):
        load_price_file(written(tmp_path, entry() + tiers))


def test_a_reference_that_leads_nowhere_names_its_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'prices.toml:1: price "m": ref: .*no such model') as caught:
        found(tmp_path, entry('ref = "openai:gpt-5-mnii"', own=""))
    assert "gpt-5-mini" in (caught.value.hint or "")
    with pytest.raises(ConfigError, match="no such price"):
        found(tmp_path, entry('ref = "openai:gpt-5-mini"', 'variant = { speed = "fast" }', own=""))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_price_file(tmp_path / "none.toml")

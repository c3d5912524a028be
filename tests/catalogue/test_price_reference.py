"""docs/reference/prices.md says what the price file and the bill's documents are."""

import re
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from paceline.advisor.bill import bill_of
from paceline.advisor.bills import BilledOffer, in_order
from paceline.advisor.evidence import pooled
from paceline.advisor.identity import OfferKey
from paceline.catalogue.price_book import PriceBook
from paceline.catalogue.price_file import ContextTierEntry, PriceEntry, load_price_file
from paceline.report.bill_dict import CSV_HEAD, bills_dict
from tests.advisor.samples import digest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "reference" / "prices.md").read_text()
GUIDE = (DOCS / "guides" / "bill.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_page_has_every_key_of_an_entry() -> None:
    told = re.findall(r"^\| `(\w+)` \|", section("The price file"), re.MULTILINE)
    assert sorted(told) == sorted(field.alias or name for name, field in PriceEntry.model_fields.items())
    assert "over_prompt_tokens" in ContextTierEntry.model_fields


def test_the_page_has_every_field_of_a_row(tmp_path: Path) -> None:
    key = OfferKey("gpt-5-mini", "openai")
    at = datetime(2026, 11, 30, tzinfo=UTC)
    price = PriceBook.load(tmp_path).price(key, "https://api.openai.com/v1", "gpt-5-mini", {}, None, at)
    bill = bill_of(pooled([digest()])[0], price, jobs_per_day=1)
    (row,) = bills_dict(in_order([BilledOffer(key, "chat", "k", "closed 1", ("r",), (), bill)], at))["rows"]
    text = section("`paceline.bill/1`")
    first = re.findall(r"^\| (`.*?`) \|", text, re.MULTILINE)
    assert {name for cell in first for name in re.findall(r"`(\w+)`", cell)} == set(row)
    for inner in ("price", "parts_usd", "tokens", "usd_per_job"):
        assert all(f"`{name}`" in text for name in row[inner]), inner


def test_the_page_has_every_column_of_the_csv() -> None:
    told = re.findall(r"`(\w+)`", section("CSV"))
    ends = [f"{name}{end}" for name in told if name.startswith("usd_per") for end in ("_lo", "_hi")]
    assert {*told, *ends} - {"_lo", "_hi"} == set(CSV_HEAD)


def test_the_guides_file_is_one(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert tomllib.loads(example)["schema"] == "paceline.prices/1"
    path = tmp_path / "prices.toml"
    path.write_text(example)
    assert len(load_price_file(path).entries) == 2

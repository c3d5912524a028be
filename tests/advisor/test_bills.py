from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from paceline.advisor.bills import BilledOffer, Priced, in_order, measured_bill, unmeasured_bill
from paceline.advisor.evidence import pooled
from paceline.advisor.identity import KnownOffer, OfferKey
from paceline.catalogue.price_book import PriceBook
from paceline.workloads.spec import WorkloadSpec
from tests.advisor.samples import digest

AT = datetime(2026, 11, 30, tzinfo=UTC)
SPEC = WorkloadSpec.parse({"prompt_tokens": 500, "output_tokens": 100, "jobs_per_day": 10})


def bill(home: Path, *, batch: bool = False, known: tuple[KnownOffer, ...] = ()) -> BilledOffer:
    run = digest(model="gpt-5-mini", provider="openai", endpoint="https://api.openai.com/v1")
    (evidence,) = pooled([run, replace(run, run_id="b", verdict="suspect")], known)
    return measured_bill(evidence, Priced(PriceBook.load(home), AT, batch), SPEC)


def test_a_measured_offer(tmp_path: Path) -> None:
    """500 x 0.25 + 100 x 2 millionths, 10 times a day; half of it as a batch."""
    found = bill(tmp_path)
    assert found.bill.usd_per_job.value == pytest.approx(0.000325)
    assert found.bill.usd_per_day is not None
    assert found.bill.usd_per_day.value == pytest.approx(0.00325)
    assert len(found.runs) == 2
    assert found.suspect == ("b",)
    batch = bill(tmp_path, batch=True)
    assert batch.key.tier == "batch"
    assert batch.bill.usd_per_job.value == pytest.approx(0.0001625)


def test_the_users_own_offer_has_its_price(tmp_path: Path) -> None:
    key = OfferKey("mini", "mine")
    price = {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0, "price_multiplier": 2.0}
    own = KnownOffer("own", key, "https://api.openai.com/v1", "gpt-5-mini", {}, price)
    assert bill(tmp_path, known=(own,)).bill.usd_per_job.value == pytest.approx(0.0012)


def test_the_order(tmp_path: Path) -> None:
    measured = bill(tmp_path)
    cheap = bill(tmp_path, batch=True)
    price = PriceBook.load(tmp_path).price(OfferKey("x", "y"), "", "x", {}, None, AT)
    unknown = replace(unmeasured_bill(OfferKey("x", "y"), price, SPEC), workload="chat", workload_key="chat")
    assert in_order([unknown, measured, cheap], AT).rows == (cheap, measured, unknown)

"""Bills against sums done by hand."""

import math
from datetime import date
from typing import Any

import numpy as np
import pytest

from paceline.advisor.bill import asked_bill, bill_of, job_costs
from paceline.advisor.digest import CUT, FAILED, WELL, Digest
from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.catalogue.price import ContextTier, Price, PriceUnknown, Rates
from paceline.workloads.spec import WorkloadSpec
from tests.advisor.samples import digest

DAY = date(2026, 11, 30)
# 3 USD in, 15 out, 0.3 read from and 3.75 written to the cache; a fifth of a cent a request.
RATES = Rates(3.0, 15.0, 0.3, 3.75, request_usd=0.002)
PRICE = Price("tokens", RATES, "by hand", DAY)
HOURS = Price("hours", Rates(0.0, 0.0), "by hand", DAY, usd_per_hour=7.2)
UNKNOWN = PriceUnknown("nobody knows it", "write it down")


def evidence(*runs: Digest) -> OfferEvidence:
    """Of one offer."""
    (found,) = pooled(runs)
    return found


def test_jobs_a_day_are_those_of_the_runs_where_nothing_else_is_said() -> None:
    price = Price("tokens", Rates(0.0, 10.0), "test", date(2026, 11, 30))
    one = evidence(digest(100, jobs_per_day=5000.0))
    # 100 tokens at 10 USD a million: 0.001 USD a job.
    told = bill_of(one, price)
    assert told.jobs_per_day == 5000.0
    assert told.usd_per_day is not None
    assert told.usd_per_day.value == pytest.approx(5.0)
    assert bill_of(one, price, jobs_per_day=10.0).jobs_per_day == 10.0


def test_a_job_is_a_request() -> None:
    """1,000 in: 700 x 3 + 200 x 0.3 + 100 x 3.75 = 2,535; 400 out x 15 = 6,000 millionths; and 0.002 USD."""
    sample = {
        "prompt_tokens": 1000.0,
        "cached_tokens": 200.0,
        "cache_write_tokens": 100.0,
        "completion_tokens": 400.0,
        "reasoning_tokens": 300.0,
    }
    bill = bill_of(evidence(digest(sample=sample)), PRICE, jobs_per_day=1000)
    assert bill.usd_per_job.value == pytest.approx(0.010535)
    assert bill.usd_per_job.known
    assert bill.usd_per_day is not None
    assert bill.usd_per_day.value == pytest.approx(10.535)
    assert bill.usd_per_month is not None
    assert bill.usd_per_month.value == pytest.approx(316.05)
    assert bill.parts == pytest.approx(
        {
            "input": 0.0021,
            "cache_read": 0.00006,
            "cache_write": 0.000375,
            "output": 0.006,
            "requests": 0.002,
            "reasoning": 0.0045,
        }
    )
    whole = [bill.parts[name] for name in ("input", "cache_read", "cache_write", "output", "requests")]
    assert sum(whole) == pytest.approx(bill.usd_per_job.value)
    assert bill.tokens == {
        "prompt": 1000,
        "cached": 200,
        "cache_write": 100,
        "completion": 400,
        "reasoning": 300,
    }
    assert bill.basis == "measured"
    assert bill.notes == ()


def test_a_job_of_several_calls_costs_what_all_its_calls_do() -> None:
    """40 jobs of 3 calls, 500 in and 100 out each: 3 x (1,500 + 1,500) millionths, and three requests."""
    sample = {"job": np.repeat(np.arange(40), 3)}
    one = digest(120, sample=sample, jobs=40, jobs_ok=40, jobs_s=1.0)
    bill = bill_of(evidence(one), PRICE)
    assert bill.usd_per_job.value == pytest.approx(3 * (0.003 + 0.002))
    assert bill.usd_per_job.n == 40
    assert bill.tokens["prompt"] == 1500
    assert bill.usd_per_day is None
    costs = job_costs(evidence(one), PRICE)
    assert len(np.unique(costs.block)) == 40


def test_long_prompts_pay_their_tier_by_request_not_by_job() -> None:
    """Two calls of 150,000 are not one of 300,000; 200,000 is not over 200,000."""
    tiered = Price("tokens", Rates(3.0, 15.0), "by hand", DAY, (ContextTier(200_000, Rates(6.0, 22.5)),))
    prompts = np.tile([150_000.0, 150_000.0, 200_000.0, 200_001.0], 50)
    sample = {"job": np.repeat(np.arange(100), 2), "prompt_tokens": prompts, "completion_tokens": 1000.0}
    one = digest(200, sample=sample, jobs=100, jobs_ok=100, jobs_s=1.0)
    costs = job_costs(evidence(one), tiered)
    short = 2 * (0.45 + 0.015)
    long = (0.6 + 0.015) + (200_001 * 6e-6 + 0.0225)
    assert costs.usd == pytest.approx(np.tile([short, long], 50))


def test_jobs_that_ended_badly_are_in_no_figure_and_are_told() -> None:
    outcome = np.where(np.arange(200) % 4 == 0, np.where(np.arange(200) % 8 == 0, CUT, FAILED), WELL)
    tokens = np.where(outcome == WELL, 500.0, 1e6)
    bill = bill_of(evidence(digest(sample={"outcome": outcome, "prompt_tokens": tokens})), PRICE)
    assert bill.usd_per_job.value == pytest.approx(0.003 + 0.002)
    assert bill.usd_per_job.n == 150
    assert "25% of jobs did not end well" in bill.notes[0]


def test_a_job_with_a_failed_call_has_failed() -> None:
    outcome = np.where(np.arange(120) % 6 == 1, FAILED, WELL)
    sample = {"job": np.repeat(np.arange(40), 3), "outcome": outcome}
    bill = bill_of(evidence(digest(120, sample=sample, jobs=40, jobs_ok=20)), PRICE)
    assert bill.usd_per_job.n == 20
    assert "50% of jobs" in bill.notes[0]


def test_tokens_that_nobody_says() -> None:
    prompt = np.where(np.arange(200) < 20, math.nan, 500.0)
    bill = bill_of(evidence(digest(sample={"prompt_tokens": prompt})), PRICE)
    assert bill.usd_per_job.value == pytest.approx(0.005)
    assert "20 of 200 jobs are left out: the server did not say" in bill.notes[0]
    none = bill_of(evidence(digest(sample={"prompt_tokens": math.nan})), PRICE)
    assert none.usd_per_job.value is None
    assert "the server did not say how many tokens" in (none.usd_per_job.note or "")
    assert "prompt" not in none.tokens


def test_a_cache_that_is_not_told_of_counts_as_none() -> None:
    bill = bill_of(evidence(digest(sample={"cached_tokens": math.nan})), PRICE)
    assert bill.usd_per_job.value == pytest.approx(0.005)
    assert bill.notes == ("the server does not say what its cache gave: reckoned as nothing",)


def test_no_job_ended_well() -> None:
    bill = bill_of(evidence(digest(sample={"outcome": FAILED})), PRICE, jobs_per_day=5)
    assert bill.usd_per_job.value is None
    assert bill.usd_per_job.note == "not known: no job ended well"
    assert bill.usd_per_day is not None
    assert bill.usd_per_day.value is None


def test_an_unknown_price_is_unknown() -> None:
    bill = bill_of(evidence(digest()), UNKNOWN, jobs_per_day=5)
    assert bill.usd_per_job.value is None
    assert bill.usd_per_job.note == "unknown: nobody knows it; write it down"
    assert bill.tokens["prompt"] == 500
    assert bill.price == UNKNOWN


def test_the_interval_is_that_of_blocks() -> None:
    """Ten runs, each 20 requests at its own length: what varies between runs is what the interval shows."""
    rng = np.random.default_rng(1)
    means = rng.uniform(50, 150, 10).round()
    runs = [
        digest(20, run_id=f"r{place}", sample={"completion_tokens": mean}) for place, mean in enumerate(means)
    ]
    bill = bill_of(evidence(*runs), PRICE)
    usd = (1500 + means * 15) / 1e6 + 0.002
    assert bill.usd_per_job.value == pytest.approx(usd.mean())
    half = 2.262 * usd.std(ddof=1) / math.sqrt(10)
    assert bill.usd_per_job.lo == pytest.approx(usd.mean() - half, abs=0.35 * half)
    assert bill.usd_per_job.hi == pytest.approx(usd.mean() + half, abs=0.35 * half)


def test_few_requests_have_no_interval() -> None:
    bill = bill_of(evidence(digest(15)), PRICE)
    assert bill.usd_per_job.value == pytest.approx(0.005)
    assert (bill.usd_per_job.lo, bill.usd_per_job.needs_n) == (None, 20)


def test_the_interval_covers_the_mean_of_skewed_costs() -> None:
    """Answers of lognormal length, sigma 1: 60 requests cover in 93 %, as the docs say."""
    rng, held, above, tries = np.random.default_rng(9), 0, 0, 150
    truth = (1500 + 100 * math.exp(0.5) * 15) / 1e6 + 0.002
    for _ in range(tries):
        lengths = 100 * np.exp(rng.standard_normal(60))
        found = bill_of(evidence(digest(60, sample={"completion_tokens": lengths})), PRICE).usd_per_job
        assert found.lo is not None
        assert found.hi is not None
        held += found.lo <= truth <= found.hi
        above += truth > found.hi
    assert held >= 0.87 * tries
    assert above >= tries - held - above, "where it fails, a long answer was not seen"


def test_own_hardware_costs_what_it_does_in_an_hour() -> None:
    """7.2 USD an hour are 0.002 a second; at 4 requests a second each costs 0.0005."""
    varied = np.tile([1000.0, 3000.0], 100)
    bill = bill_of(evidence(digest(sample={"elapsed_ms": varied}, requests_s=4.0)), HOURS)
    assert bill.usd_per_job.value == pytest.approx(0.0005)
    assert bill.parts == {"hardware": pytest.approx(0.0005)}
    assert bill.usd_per_job.known
    # 7.2 x 24 = 172.80 USD, and 4 a second are 345,600 a day.
    assert bill.notes == (
        "own hardware: busy as at closed 8 it does 345,600 jobs a day for 172.80 USD, which it costs when it "
        "is idle too: say how many you have; another load gives another bill",
    )


def test_own_hardware_is_paid_all_day_by_the_jobs_of_a_day() -> None:
    """172.80 USD over 100 jobs are 1.728 USD each; 800,000 jobs are more than two do, so three are paid."""
    varied = np.tile([1000.0, 3000.0], 100)
    own = evidence(digest(sample={"elapsed_ms": varied}, requests_s=4.0))
    few = bill_of(own, HOURS, jobs_per_day=100)
    assert few.usd_per_day is not None
    assert few.usd_per_month is not None
    assert few.usd_per_job.value == pytest.approx(1.728)
    assert few.usd_per_day.value == pytest.approx(172.8)
    assert few.usd_per_month.value == pytest.approx(5184)
    assert few.notes[-1].endswith(
        "for 172.80 USD; 100 jobs a day take 0.029% of it, and bear all; another load gives another bill"
    )
    assert job_costs(own, HOURS, 100).usd == pytest.approx(1.728)
    much = bill_of(own, HOURS, jobs_per_day=800_000)
    assert much.usd_per_day is not None
    assert much.usd_per_day.value == pytest.approx(518.4)
    assert "800,000 jobs a day take 77% of 3 times that, and bear all" in much.notes[-1]


def test_own_hardware_by_jobs_and_over_runs() -> None:
    """Two runs, at 1 and at 2 jobs a second: 0.002 and 0.001 USD a job, on average 0.0015."""
    sample = {"job": np.repeat(np.arange(60), 2)}
    slow = digest(120, run_id="a", sample=sample, jobs=60, jobs_ok=60, jobs_s=1.0, requests_s=2.0)
    quick = digest(120, run_id="b", sample=sample, jobs=60, jobs_ok=60, jobs_s=2.0, requests_s=4.0)
    assert bill_of(evidence(slow, quick), HOURS).usd_per_job.value == pytest.approx(0.0015)
    short = digest(120, run_id="c", sample=sample, jobs=60, jobs_ok=60, jobs_s=None)
    bill = bill_of(evidence(slow, short), HOURS)
    assert bill.usd_per_job.value == pytest.approx(0.002)
    assert any("too short to tell" in note for note in bill.notes)


def workload(**fields: Any) -> WorkloadSpec:
    return WorkloadSpec.parse({"prompt_tokens": 1000, "output_tokens": 200, **fields})


def test_what_is_asked_has_a_bill_without_an_interval() -> None:
    bill = asked_bill(workload(jobs_per_day=10), PRICE)
    assert bill.basis == "asked"
    assert bill.usd_per_job.value == pytest.approx(0.003 + 0.003 + 0.002)
    assert (bill.usd_per_job.lo, bill.usd_per_job.hi) == (None, None)
    assert bill.usd_per_month is not None
    assert bill.usd_per_month.value == pytest.approx(0.008 * 300)
    assert bill.tokens == {"prompt": 1000, "completion": 200}


def test_what_is_asked_of_several_calls() -> None:
    """Prompts of 1,000 and, with what was said before, 1,000 + 200 + 50; answers of 200 each."""
    calls = [{"name": "first"}, {"name": "second", "prompt_tokens": 50}]
    bill = asked_bill(workload(call=calls), PRICE)
    assert bill.tokens == {"prompt": 2250, "completion": 400}
    assert bill.usd_per_job.value == pytest.approx(2250 * 3e-6 + 400 * 15e-6 + 2 * 0.002)


def test_what_is_asked_and_not_known() -> None:
    endless = asked_bill(workload(output_tokens=None), PRICE)
    assert endless.usd_per_job.value is None
    assert "does not say how long" in (endless.usd_per_job.note or "")
    assert endless.tokens == {"prompt": 1000}
    own = asked_bill(workload(), HOURS)
    assert own.usd_per_job.value is None
    assert "measure it" in (own.usd_per_job.note or "")
    assert asked_bill(workload(), UNKNOWN).usd_per_job.note == "unknown: nobody knows it; write it down"
    assert "its system prompt are not counted" not in str(asked_bill(workload(), PRICE).notes)


def test_what_is_not_counted_is_told() -> None:
    notes = asked_bill(workload(system="Be brief."), PRICE).notes
    assert any("its system prompt" in note for note in notes)

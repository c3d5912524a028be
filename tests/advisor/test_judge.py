from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from paceline.advisor.case import Case
from paceline.advisor.constraints import (
    Constraint,
    SuccessConstraint,
    Verdict,
    parse_budget,
    parse_capability,
    parse_slos,
)
from paceline.advisor.digest import CUT, FAILED, WELL
from paceline.advisor.figures import Figure
from paceline.advisor.judge import Errors, closeness, judge
from paceline.catalogue.price import PriceUnknown
from tests.advisor.planted import WORKS, Market
from tests.advisor.samples import evidence

ERRORS = Errors(meets=0.01, fails=0.02)
ROW = Market(WORKS[0], 1, 200).board(200).rows[0]


def case(n: int = 200, jobs_per_day: float | None = None, **sample: Any) -> Case:
    fields = {"streaming": sample.pop("streaming")} if "streaming" in sample else {}
    bill = replace(ROW.bill, jobs_per_day=jobs_per_day)
    return Case(replace(ROW, evidence=evidence(n, sample=sample, **fields), bill=bill))


def judged(of: Case, constraint: Constraint, figure: Figure | None = None) -> Verdict:
    return judge(of, constraint, ERRORS, lambda *_: figure or Figure(None, note="not probed"))


def test_a_limit_is_met_failed_or_open_by_the_bounds() -> None:
    slo = parse_slos("ttft_ms=500")[0]
    assert judged(case(200), slo).outcome == "meets"
    assert judged(case(200, ttft_ms=np.where(np.arange(200) % 4, 200.0, 900.0)), slo).outcome == "fails"
    open_ = judged(case(60), slo)
    assert open_.outcome == "not enough data"
    # 0.01^(1/n) >= 0.95 from n = 90 on.
    assert open_.needs == 30
    assert judged(case(19), slo).outcome == "not enough data"


def test_failed_requests_are_misses_of_a_limit_and_not_of_a_percentile() -> None:
    sample: dict[str, Any] = {"outcome": np.where(np.arange(200) % 5, WELL, FAILED)}
    sample["ttft_ms"] = np.where(np.arange(200) % 5, 200.0, np.nan)
    share, percentile = parse_slos("ttft_ms=500,p95:ttft_ms=500")
    found = judged(case(200, **sample), share)
    assert (found.outcome, found.value) == ("fails", 0.8)
    found = judged(case(200, **sample), percentile)
    assert (found.outcome, found.n) == ("meets", 160)
    cut = judged(case(200, **sample | {"outcome": np.where(np.arange(200) % 5, WELL, CUT)}), percentile)
    assert (cut.outcome, cut.value) == ("fails", 0.8)


def test_rates_are_limits_of_times_per_token_and_what_could_not_be_late_is_not() -> None:
    itl, rate = parse_slos("itl_ms=25")[0], parse_slos("output_tok_s=40")[0]
    for one in (itl, rate):
        near, _ = closeness(case(4, output_tok_s=[80.0, 40.0, 20.0, np.nan]), one)
        assert np.allclose(near, [0.5, 1.0, 2.0, 0.0])
    lost, _ = closeness(case(2, ttfat_ms=[200.0, np.nan]), parse_slos("ttfat_ms=400")[0])
    assert lost.tolist() == [0.5, np.inf]


def test_without_streams_times_of_tokens_are_missing_and_e2e_is_not() -> None:
    unstreamed = case(200, ttft_ms=np.nan, output_tok_s=np.nan, streaming=False)
    found = judged(unstreamed, parse_slos("ttft_ms=500")[0])
    assert (found.outcome, found.missing, found.needs) == ("not enough data", True, None)
    assert "--stream" in (found.why or "")
    assert judged(unstreamed, parse_slos("e2e_ms=5000")[0]).outcome == "meets"


def test_whole_jobs_have_limits_of_their_own() -> None:
    of = case(400, job=np.arange(400) // 2, at_s=np.arange(400) * 10.0)
    within, beyond = parse_slos("job_ms=13000")[0], parse_slos("job_ms=11000")[0]
    assert judged(of, within).outcome == "meets"
    found = judged(of, beyond)
    assert (found.outcome, found.n, found.unit) == ("fails", 200, "jobs")


def test_capability_on_exact_bounds() -> None:
    asked = parse_capability(">= 0.7")
    assert judged(case(), asked, Figure(0.85, 0.8, 0.9, 200)).outcome == "meets"
    assert judged(case(), asked, Figure(0.5, 0.4, 0.6, 200)).outcome == "fails"
    found = judged(case(), asked, Figure(0.75, 0.6, 0.9, 50))
    assert (found.outcome, found.unit) == ("not enough data", "items")
    assert found.needs
    missing = judged(case(), asked)
    assert (missing.missing, missing.why) == (True, "not probed")
    # A score with a standard error of 0.01 alone is worth p (1 - p) / 0.01^2 items.
    known = judged(case(), asked, Figure(0.8, 0.8 - 0.0195996, 0.8 + 0.0195996, 0))
    assert known.outcome == "meets"
    assert known.n == pytest.approx(1600, abs=1)


def test_the_bill_against_a_budget() -> None:
    # 500 tokens in, 100 out at 0.05 and 0.20 USD a million: each job costs the same.
    usd = (500 * 0.05 + 100 * 0.20) / 1e6
    assert judged(case(), parse_budget(f"{usd * 1.01}/job")).outcome == "meets"
    assert judged(case(), parse_budget(f"{usd * 0.99}/job")).outcome == "fails"
    daily = judged(case(jobs_per_day=1000.0), parse_budget(f"{usd * 990}/day"))
    assert daily.outcome == "fails"
    assert daily.value == pytest.approx(usd * 1000)
    monthly = judged(case(jobs_per_day=1000.0), parse_budget(f"{usd * 30_300}/month"))
    assert monthly.outcome == "meets"
    unsaid = judged(case(), parse_budget("5/day"))
    assert unsaid.missing
    assert "--jobs-per-day" in (unsaid.why or "")
    spread = np.random.default_rng(1).lognormal(0.0, 1.0, 200) * 500
    near = float((spread * 0.05 + 100 * 0.20).mean()) * 1.02e-6
    open_ = judged(case(prompt_tokens=spread), parse_budget(f"{near}/job"))
    assert open_.outcome == "not enough data"
    assert open_.needs


def test_an_unknown_price_says_what_to_do() -> None:
    unknown = Case(replace(ROW, price=PriceUnknown("no price of x", "add it to prices.toml")))
    found = judged(unknown, parse_budget("1/job"))
    assert found.missing
    assert found.why == "no price of x; add it to prices.toml"


def test_success() -> None:
    ended = np.where(np.arange(200) % 50, WELL, FAILED)
    assert judged(case(200, outcome=ended), SuccessConstraint(0.9)).outcome == "meets"
    assert judged(case(200, outcome=ended), SuccessConstraint(0.999)).outcome == "fails"

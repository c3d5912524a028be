import pytest

from paceline.advisor.constraints import (
    BudgetConstraint,
    CapabilityConstraint,
    SloConstraint,
    Verdict,
    parse_budget,
    parse_capability,
    parse_slos,
    slo_constraints,
)
from paceline.errors import ConfigError


def test_limits_of_requests_jobs_and_percentiles_are_constraints_of_their_own() -> None:
    found = parse_slos("ttft_ms=500, itl_ms=50, p95:e2e_ms=4000, job_ms=9000", 0.9)
    assert found == [
        SloConstraint({"ttft_ms": 500.0, "itl_ms": 50.0}, 0.9),
        SloConstraint({"e2e_ms": 4000.0}, 0.95, quantile=True),
        SloConstraint({"job_ms": 9000.0}, 0.9),
    ]
    assert [one.of_jobs for one in found] == [False, False, True]
    assert [one.name for one in found] == ["ttft_ms=500,itl_ms=50", "p95:e2e_ms=4000", "job_ms=9000"]
    assert parse_slos("") == []


@pytest.mark.parametrize(
    "text", ["ttft=5", "ttft_ms", "ttft_ms=0", "connect_ms=5", "chunk_gap_ms=9", "p0:ttft_ms=5", "job_ms=x"]
)
def test_limits_that_cannot_be_judged_are_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_slos(text)
    assert caught.value.hint


def test_of_a_workload_what_evidence_tells_of() -> None:
    found = slo_constraints({"ttft_ms": 200.0, "connect_ms": 5.0}, {"job_ms": 10_000.0})
    assert found == [SloConstraint({"ttft_ms": 200.0}), SloConstraint({"job_ms": 10_000.0})]
    assert slo_constraints({}, {}) == []


@pytest.mark.parametrize(
    ("text", "least", "benchmark"),
    [
        (">= 0.7", 0.7, None),
        (">=70%", 0.7, None),
        ("gpqa >= 0.5", 0.5, "gpqa"),
        ("mmlu-pro>=.4", 0.4, "mmlu-pro"),
    ],
)
def test_capability(text: str, least: float, benchmark: str | None) -> None:
    assert parse_capability(text) == CapabilityConstraint(least, benchmark)


@pytest.mark.parametrize("text", ["0.7", "> 0.7", ">= 1.5", ">= 0", "gpqa", ">= 70"])
def test_capability_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_capability(text)


@pytest.mark.parametrize(
    ("text", "usd", "per"),
    [("0.01/job", 0.01, "job"), ("$50 / day", 50.0, "day"), ("1500USD/month", 1500.0, "month")],
)
def test_budget(text: str, usd: float, per: str) -> None:
    found = parse_budget(text)
    assert (found.usd, found.per) == (usd, per)


@pytest.mark.parametrize("text", ["50", "50/week", "-1/job", "0/job", "x/job", "1e400/day"])
def test_budget_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_budget(text)


def test_a_verdict_says_what_it_takes() -> None:
    budget = BudgetConstraint(1.0, "job")
    assert str(Verdict(budget, "meets", 1.0)) == "meets"
    assert str(Verdict(budget, "not enough data", 1.0, needs=1200, unit="jobs")) == (
        "not enough data (1,200 more jobs)"
    )
    assert str(Verdict(budget, "not enough data", 1.0, missing=True, why="no price")) == (
        "not enough data (no price)"
    )

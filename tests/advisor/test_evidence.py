from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from paceline.advisor.digest import CUT, FAILED, WELL
from paceline.advisor.evidence import BLOCK, MOST_POOLED, pooled
from paceline.advisor.identity import KnownOffer, OfferKey
from tests.advisor.samples import STARTED_AT, digest, evidence


def test_one_offer_one_evidence_for_each_workload_and_load() -> None:
    runs = [
        digest(run_id="a"),
        digest(run_id="b", started_at=STARTED_AT - timedelta(days=1)),
        digest(run_id="c", load="closed 64"),
        digest(run_id="d", workload="voice", workload_key="voice"),
        digest(run_id="e", tier="fast"),
        digest(run_id="f", model="other"),
    ]
    found = {(one.workload, one.load, str(one.key)): one for one in pooled(runs)}
    assert {name: [run.run_id for run in one.digests] for name, one in found.items()} == {
        ("chat", "closed 8", "tiny @ acme"): ["b", "a"],
        ("chat", "closed 64", "tiny @ acme"): ["c"],
        ("voice", "closed 8", "tiny @ acme"): ["d"],
        ("chat", "closed 8", "tiny @ acme (fast)"): ["e"],
        ("chat", "closed 8", "other @ acme"): ["f"],
    }
    assert found["chat", "closed 8", "tiny @ acme"].attempted == 400


def test_invalid_runs_and_those_without_requests_give_nothing_and_suspect_ones_are_named() -> None:
    runs = [
        digest(run_id="a", verdict="invalid"),
        digest(run_id="b", attempted=0, ok=0),
        digest(run_id="c", verdict="suspect"),
        digest(run_id="d"),
    ]
    (one,) = pooled(runs)
    assert [run.run_id for run in one.digests] == ["c", "d"]
    assert one.suspect == ("c",)
    assert pooled(runs[:2]) == []


def test_each_run_has_the_same_weight_at_most() -> None:
    long = digest(8000, run_id="a", sample={"ttft_ms": 100.0})
    short = digest(300, run_id="b", sample={"ttft_ms": 900.0}, started_at=STARTED_AT + timedelta(hours=1))
    (one,) = pooled([long, short])
    assert np.bincount(one.run).tolist() == [MOST_POOLED // 2, 300]
    # Counts are of all requests, whatever the sample.
    assert (one.attempted, one.ok) == (8300, 8300)
    assert len(one.columns["ttft_ms"]) == len(one.run)
    assert one.columns["ttft_ms"][one.run == 1].tolist() == [900.0] * 300


def test_a_thousand_runs_each_count_a_little() -> None:
    runs = [digest(50, run_id=f"r{n:04}", started_at=STARTED_AT + timedelta(hours=n)) for n in range(1000)]
    (one,) = pooled(runs)
    assert np.bincount(one.run).tolist() == [16] * 1000
    assert one.attempted == 50_000
    assert one.last_at == STARTED_AT + timedelta(hours=999)


def test_blocks_are_of_twenty_requests_of_one_run() -> None:
    runs = [digest(50, run_id="a"), digest(30, run_id="b")]
    (one,) = pooled(runs)
    assert np.bincount(one.blocks).tolist() == [BLOCK, BLOCK, 10, BLOCK, 10]
    assert (np.diff(one.blocks) >= 0).all()
    assert not one.several_calls
    assert one.jobs_of(one.well) is None


def test_a_job_is_a_block_and_jobs_of_two_runs_are_two() -> None:
    job = np.repeat(np.arange(4.0), 3)
    runs = [digest(12, run_id=name, sample={"job": job}) for name in "ab"]
    (one,) = pooled(runs)
    assert one.blocks.tolist() == np.repeat(np.arange(8), 3).tolist()
    assert one.units.tolist() == one.blocks.tolist()
    assert one.several_calls


def test_thinning_keeps_whole_jobs() -> None:
    n = 9000
    job = np.repeat(np.arange(n / 6), 6)
    (one,) = pooled([digest(n, sample={"job": job})])
    assert np.unique(one.columns["job"], return_counts=True)[1].tolist() == [6] * (MOST_POOLED // 6)


def test_calls_of_a_job_are_no_independent_samples() -> None:
    rng = np.random.default_rng(1)
    job = np.repeat(np.arange(60.0), 10)
    times = np.repeat(200.0 * rng.lognormal(0.0, 0.5, 60), 10)
    in_jobs = evidence(600, sample={"job": job, "ttft_ms": times}).quantile("ttft_ms", 0.5)
    alone = evidence(600, sample={"ttft_ms": rng.permutation(times)}).quantile("ttft_ms", 0.5)
    assert in_jobs.value == alone.value
    assert None not in (in_jobs.lo, in_jobs.hi, alone.lo, alone.hi)
    # Ten equal calls tell as much as one: the interval is about sqrt(10) as wide.
    ratio = (in_jobs.hi - in_jobs.lo) / (alone.hi - alone.lo)  # type: ignore[operator]
    assert 1.8 < ratio < 6.0


def test_requests_that_were_cut_are_longer_than_what_was_seen_and_failed_ones_are_nothing() -> None:
    outcome = np.full(100, WELL)
    outcome[:30] = CUT
    outcome[30:40] = FAILED
    times = np.where(outcome == WELL, 100.0, np.nan)
    one = evidence(100, sample={"outcome": outcome, "ttft_ms": times, "elapsed_ms": 5000.0})
    assert len(one.values("ttft_ms")) == 60
    assert one.censored("ttft_ms").tolist() == [5000.0] * 30
    assert one.quantile("ttft_ms", 0.5).value == 100.0
    tail = one.quantile("ttft_ms", 0.95)
    assert (tail.n, tail.known, tail.hi) == (90, False, None)
    # A rate is not made longer.
    assert one.censored("output_tok_s").tolist() == []


def test_the_median_of_pooled_runs_by_hand() -> None:
    runs = [
        digest(3, run_id=name, sample={"ttft_ms": values})
        for name, values in (("a", [1, 2, 9]), ("b", [3, 4, 5]))
    ]
    assert pooled(runs)[0].quantile("ttft_ms", 0.5).value == 3.5


def test_it_is_the_users_own_offer_where_there_is_one() -> None:
    own = KnownOffer("own", OfferKey("m", "Acme"), "https://x.example/v1", "tiny", {}, {"ref": "a:b"})
    asked: dict[str, Any] = {"endpoint": "https://x.example/v1", "provider": None, "tier": None}
    assert pooled([digest(**asked)], [own])[0].known is own
    assert pooled([digest()], [own])[0].known is None


def test_until_is_when_the_last_request_was_sent() -> None:
    one = evidence(100)
    assert one.until == STARTED_AT + timedelta(seconds=99)
    assert evidence(1, sample={"at_s": 0.0}).until == STARTED_AT


@pytest.mark.parametrize("n", [1, 2])
def test_a_request_or_two(n: int) -> None:
    one = evidence(n)
    assert one.blocks.tolist() == [0] * n
    estimate = one.quantile("ttft_ms", 0.5)
    assert (estimate.value, estimate.lo, estimate.hi) == (200.0, None, None)


def test_quantiles_at_once_are_those_one_by_one() -> None:
    rng = np.random.default_rng(4)
    sample = {"ttft_ms": 200.0 * rng.lognormal(0.0, 0.4, 500)}
    together = evidence(500, sample=sample).quantiles("ttft_ms", (0.5, 0.95))
    alone = [evidence(500, sample=sample).quantile("ttft_ms", q) for q in (0.5, 0.95)]
    assert together == alone

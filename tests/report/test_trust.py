from dataclasses import replace
from typing import Any

import pytest

from paceline.report.limits import LIMITS
from paceline.report.trust import assess
from paceline.report.trust_facts import CommonError, Pair, TrustFacts

GOOD = TrustFacts(
    attempted=1000,
    by_outcome={"ok": 1000},
    due=1000,
    offered_requests_s=10.0,
    achieved_requests_s=10.0,
    schedule_lag_ms=Pair(0.03, 0.4),
    read_lag_ms=Pair(0.02, 0.3),
    cpu_fraction=0.2,
    runqueue_share=0.01,
    wait_per_read_ms=0.01,
    kernel_stamped_share=1.0,
    coalesced_share=0.0,
    event_spacing_ms=10.0,
    reads=5000,
    compared_with="the duration of a request",
    compared_with_ms=Pair(500.0, 900.0),
    ttft_ms=Pair(50.0, 120.0),
    gap_ms=Pair(10.0, 20.0),
    calibrated=True,
    ttft_error_us=Pair(30.0, 200.0),
    itl_error_us=Pair(10.0, 90.0),
    late_share=0.0,
    token_mismatch_share=0.0,
    prompts_unique=True,
)


def test_a_healthy_run_is_trusted_without_a_word() -> None:
    trust = assess(GOOD)
    assert (trust.verdict, trust.reasons) == ("trusted", ())


def outcomes(**counts: int) -> dict[str, Any]:
    return {"by_outcome": counts, "attempted": sum(counts.values())}


@pytest.mark.parametrize(
    ("changes", "code", "verdict", "words"),
    [
        (outcomes(ok=980, http_error=20), "failed_share", "suspect", ["2%", "20 http_error", "1%"]),
        (outcomes(ok=800, truncated=200), "failed_share", "invalid", ["20%", "200 truncated", "10%"]),
        (outcomes(ok=950, timeout=50), "timeout_share", "suspect", ["5%", "--timeout"]),
        (outcomes(ok=400, timeout=600), "timeout_share", "invalid", ["60%"]),
        (outcomes(http_error=9, timeout=1), "no_ok", "invalid", ["none of 10", "9 http_error"]),
        (outcomes(), "no_requests", "invalid", ["no request was measured"]),
        (outcomes(ok=5), "too_few", "suspect", ["only 5 requests", "needs 6"]),
        ({"dropped": 10}, "dropped_share", "suspect", ["10 requests", "never sent"]),
        ({"dropped": 100}, "dropped_share", "invalid", ["100 requests"]),
        ({"starved": 50}, "starved_share", "suspect", ["body was made"]),
        (
            {"schedule_lag_ms": Pair(80.0, 85.0)},
            "schedule_lag_share",
            "suspect",
            ["80.0 ms late at p50", "16%"],
        ),
        ({"schedule_lag_ms": Pair(0.1, 500.0)}, "schedule_lag_share", "invalid", ["500 ms late at p99"]),
        ({"cpu_fraction": 0.9}, "cpu_fraction", "suspect", ["busy 90%", "80%", "--threads"]),
        ({"cpu_fraction": 0.99}, "cpu_fraction", "invalid", ["busy 99%"]),
        ({"runqueue_share": 0.21}, "runqueue_share", "suspect", ["CPU starvation", "21%", "free cores"]),
        ({"runqueue_share": 0.5}, "runqueue_share", "invalid", ["CPU starvation", "50%"]),
        (
            {"ttft_error_us": Pair(5000.0, 9000.0)},
            "instrument_error_share",
            "suspect",
            ["5.00 ms", "TTFT", "10%"],
        ),
        (
            {"itl_error_us": Pair(4000.0, 9000.0)},
            "instrument_error_share",
            "invalid",
            ["4.00 ms", "p50", "median gap"],
        ),
        # Exact at the median, and yet a p99 may be off by a twelfth of itself.
        (
            {"ttft_error_us": Pair(7.9, 8380.0), "ttft_ms": Pair(50.0, 100.0)},
            "instrument_error_share",
            "suspect",
            ["8.38 ms at p99", "8.4% of the p99 of the TTFT"],
        ),
        (
            {"itl_error_us": Pair(7.9, 8380.0)},
            "instrument_error_share",
            "invalid",
            ["8.38 ms at p99", "42% of the p99 of the gap"],
        ),
        ({"token_mismatch_share": 0.1}, "token_mismatch_share", "suspect", ["disagree by 10%"]),
        ({"over_limit_share": 1.0}, "over_limit_share", "suspect", ["more tokens", "allowed"]),
        ({"cached_share": 0.5}, "cached_share", "suspect", ["50% of the prompt tokens", "--seed"]),
        ({"state": "failed"}, "state", "invalid", ["failed before its end"]),
        (
            {"state": "interrupted", "planned_requests": 2000},
            "state",
            "suspect",
            ["1,000 of 2,000", "resume"],
        ),
        (
            {"state": "interrupted", "of_a_pair": True},
            "state",
            "suspect",
            ["1,000 requests; compare again for the rest"],
        ),
        ({"state": "running"}, "state", "suspect", ["still goes on"]),
        (
            {"coalesced_share": 0.2, "read_lag_ms": Pair(8.0, 30.0)},
            "client_coalesced_share",
            "suspect",
            ["8.00 ms late at p50"],
        ),
        (
            {"coalesced_share": 0.2, "read_lag_ms": Pair(0.1, 30.0), "runqueue_share": 0.07},
            "client_coalesced_share",
            "suspect",
            ["30.0 ms late at p99", "CPU starvation"],
        ),
        (
            {"coalesced_share": 0.7, "read_lag_ms": Pair(8.0, 8.0), "event_spacing_ms": None},
            "client_coalesced_share",
            "invalid",
            ["70%", "8.00 ms late"],
        ),
        (
            {"kernel_stamped_share": 0.0, "wait_per_read_ms": 3.0},
            "read_lag_share",
            "suspect",
            ["CPU starvation", "3.00 ms"],
        ),
        ({"kernel_stamped_share": 0.0, "wait_per_read_ms": 9.0}, "read_lag_share", "invalid", ["90%"]),
    ],
)
def test_what_demotes(changes: dict[str, Any], code: str, verdict: str, words: list[str]) -> None:
    trust = assess(replace(GOOD, **changes))
    assert trust.verdict == verdict
    text = " ".join(str(reason) for reason in trust.reasons if reason.code == code)
    assert all(word in text for word in words), text


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"calibrated": False, "ttft_error_us": None, "itl_error_us": None}, "no_calibration"),
        ({"tokens_approximate": True}, "approximate"),
        ({"p99_needs_n": 4000}, "p99_unbounded"),
        ({"coalesced_share": 0.5}, "coalesced"),
        # The p99 of a handful of reads is one read, and typical reads came long before the next event.
        (
            {"coalesced_share": 1.0, "reads": 32, "read_lag_ms": Pair(0.05, 3.96), "runqueue_share": 0.03},
            "coalesced",
        ),
        # Late now and then, but never as long as events lie apart.
        ({"coalesced_share": 0.5, "read_lag_ms": Pair(0.05, 9.0), "runqueue_share": 0.07}, "coalesced"),
        # Late now and then, and with cores to spare.
        ({"coalesced_share": 0.5, "read_lag_ms": Pair(0.05, 30.0)}, "coalesced"),
        (outcomes(ok=999, truncated=1), "few_failed"),
        (outcomes(ok=999, timeout=1), "few_failed"),
        ({"kernel_stamped_share": 0.0}, "user_stamps"),
        ({"notes": ("resumed at noon",)}, "note"),
    ],
)
def test_what_is_only_noted(changes: dict[str, Any], code: str) -> None:
    trust = assess(replace(GOOD, **changes))
    assert trust.verdict == "trusted"
    assert [reason.code for reason in trust.reasons] == [code]
    assert str(trust.reasons[0]).startswith("note: ")


@pytest.mark.parametrize(
    "changes",
    [
        # Cut off by Ctrl-C: not failures.
        outcomes(ok=900, cancelled=100),
        # Late, but within the grain of the scheduler.
        {"schedule_lag_ms": Pair(0.9, 0.9), "compared_with_ms": Pair(1.0, 1.0)},
        # Busy threads wait now and then.
        {"runqueue_share": 0.2, "cpu_fraction": 0.5},
        # Shared prompts are meant to be cached.
        {"cached_share": 0.9, "prompts_unique": False},
        # A closed loop offers what it sends.
        {"offered_requests_s": 10.0, "achieved_requests_s": 5.0},
        {"late_share": 1.0},
    ],
)
def test_what_is_no_reason(changes: dict[str, Any]) -> None:
    assert assess(replace(GOOD, **changes)).verdict == "trusted"


def test_busy_threads_that_wait_a_quarter_of_the_time_are_starved_too() -> None:
    trust = assess(replace(GOOD, runqueue_share=0.3, cpu_fraction=0.6))
    assert [reason.code for reason in trust.reasons] == ["runqueue_share"]


def test_an_open_loop_must_deliver_its_load() -> None:
    short = replace(GOOD, open_loop=True, achieved_requests_s=9.0)
    assert assess(short).verdict == "suspect"
    assert "9.00 of the offered 10.0 requests/s" in assess(short).reasons[0].text
    far = replace(short, achieved_requests_s=1.0)
    assert assess(far).verdict == "invalid"
    capped = assess(replace(far, capped=True, late_share=1.0))
    assert capped.verdict == "suspect"
    assert "the cap" in capped.reasons[0].text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {**outcomes(connect_error=8), "errors": {"connect_error": CommonError("no route to host", True)}},
            "none of 8 requests succeeded (8 connect_error: no route to host)",
        ),
        (
            {
                **outcomes(ok=80, http_error=12, empty=8),
                "errors": {"http_error": CommonError("HTTP 500: no memory", False)},
            },
            "20% of requests failed (12 http_error, mostly: HTTP 500: no memory; 8 empty), more than 10%: "
            "latencies are those of the others; lower the load or mend the endpoint",
        ),
        (
            {
                **outcomes(ok=90, timeout=10),
                "errors": {"timeout": CommonError("no head within 2 s", True)},
            },
            "10% of requests timed out (no head within 2 s), more than 1%: high percentiles are only lower "
            "bounds; raise --timeout or lower the load",
        ),
        (
            {**outcomes(ok=999, truncated=1), "errors": {"truncated": CommonError("the stream broke", True)}},
            "not all succeeded: 1 truncated: the stream broke",
        ),
    ],
)
def test_failures_give_their_reason(changes: dict[str, Any], text: str) -> None:
    assert assess(replace(GOOD, **changes)).reasons[0].text == text


def test_a_long_reason_is_cut() -> None:
    errors = {"http_error": CommonError("x" * 500, True)}
    text = assess(replace(GOOD, **outcomes(http_error=3), errors=errors)).reasons[0].text
    assert text.endswith("xxx...)")
    assert len(text) < 200


def test_late_sends_name_the_starved_cpu() -> None:
    trust = assess(replace(GOOD, open_loop=True, late_share=0.3, runqueue_share=0.4, cpu_fraction=0.1))
    late = next(reason for reason in trust.reasons if reason.code == "late_share")
    assert "10 ms late" in late.text
    assert "CPU starvation, its threads waited 40%" in late.text


def test_the_gravest_reason_decides_and_comes_first() -> None:
    trust = assess(replace(GOOD, calibrated=False, cpu_fraction=0.85, runqueue_share=0.9))
    assert trust.verdict == "invalid"
    assert [reason.severity for reason in trust.reasons] == ["invalid", "suspect", "note"]


def test_every_limit_is_used() -> None:
    everything = replace(
        GOOD,
        by_outcome={"ok": 100, "http_error": 300, "timeout": 600},
        open_loop=True,
        achieved_requests_s=1.0,
        dropped=900,
        starved=900,
        late_share=1.0,
        schedule_lag_ms=Pair(900.0, 900.0),
        read_lag_ms=Pair(50.0, 90.0),
        cpu_fraction=1.0,
        runqueue_share=1.5,
        wait_per_read_ms=50.0,
        kernel_stamped_share=0.0,
        coalesced_share=1.0,
        ttft_error_us=Pair(1e6, 1e6),
        token_mismatch_share=1.0,
        over_limit_share=1.0,
        stalled_share=1.0,
        cached_share=1.0,
        jobs=10,
        failed_jobs=5,
        lengths=(100.0, 20.0),
        length_off_share=1.0,
        cache=(0.5, 0.0),
        cache_off=0.5,
    )
    assert {reason.code for reason in assess(everything).reasons} >= LIMITS.keys()


def test_as_json() -> None:
    document = assess(replace(GOOD, dropped=2, calibrated=False, ttft_error_us=None)).to_dict()
    assert document == {
        "verdict": "suspect",
        "reasons": document["reasons"],
        "offered_requests_s": 10.0,
        "achieved_requests_s": 10.0,
        "dropped": 2,
        "schedule_lag_ms": {"p50": 0.03, "p99": 0.4},
        "client_cpu_fraction": 0.2,
        "instrument_error_us": None,
    }
    assert assess(GOOD).to_dict()["instrument_error_us"] == {"p50": 30.0, "p99": 200.0}


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.0, "trusted"), (0.019, "trusted"), (0.067, "suspect"), (0.25, "invalid")]
)
def test_a_client_that_stood_still_is_found_out(share: float, verdict: str) -> None:
    trust = assess(replace(GOOD, stalled_s=30.0 * share, stalled_share=share))
    assert trust.verdict == verdict
    assert any("stood still" in str(reason) for reason in trust.reasons) == (verdict != "trusted")


def test_requests_that_went_out_twice_are_said() -> None:
    trust = assess(replace(GOOD, resent=3))
    assert trust.verdict == "trusted"
    assert "3 requests went out a second time" in str(trust.reasons)
    closing = assess(replace(GOOD, resent=3, reused=False))
    (said,) = (reason.text for reason in closing.reasons if reason.code == "resent")
    assert said == "the server closes the connection after each answer"

"""The limits of the trust verdict, in one table; docs/concepts/trust.md explains them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """A figure above `suspect` makes a run suspect, above `invalid` invalid; None: it never does.

    All are shares (0.01 is 1 %) unless the name ends in a unit.
    """

    name: str
    suspect: float | None
    invalid: float | None
    why: str

    def severity(self, value: float) -> str | None:
        """`invalid`, `suspect`, or None when the value is within the limits."""
        if self.invalid is not None and value > self.invalid:
            return "invalid"
        if self.suspect is not None and value > self.suspect:
            return "suspect"
        return None

    def passed(self, value: float) -> float:
        """The limit that `value` has passed."""
        limit = self.invalid if self.severity(value) == "invalid" else self.suspect
        return limit if limit is not None else 0.0


_ALL = (
    Limit(
        "failed_share",
        0.01,
        0.10,
        "failed requests give no latency, so beyond 1 % the p99 of what users saw lies among them, "
        "and beyond 10 % the p90",
    ),
    Limit(
        "timeout_share",
        0.01,
        0.50,
        "a timeout is counted as `at least so long`, so percentiles stay right; beyond 1 % the p99 is only a "
        "bound, and beyond half the median is",
    ),
    Limit(
        "undelivered_share",
        0.02,
        0.20,
        "what is measured belongs to the load that was delivered, not to the one that was asked for",
    ),
    Limit(
        "dropped_share",
        0.001,
        0.05,
        "requests that were due and never sent are most often those that would have been slow",
    ),
    Limit(
        "starved_share",
        0.01,
        0.10,
        "a request that was due and not ready makes the client, not the endpoint, set the load",
    ),
    Limit(
        "schedule_lag_share",
        0.10,
        0.50,
        "the client's own lateness, at the same percentile, is part of every figure counted from the due "
        "instant, and of the load in a closed loop; a tenth of it is a tenth of the figure",
    ),
    Limit(
        "late_share",
        0.05,
        0.50,
        "requests sent late arrive in other bunches than the schedule asked for",
    ),
    Limit(
        "read_lag_share",
        0.10,
        0.50,
        "without stamps by the kernel, what the client reads late it sees late",
    ),
    Limit(
        "client_coalesced_share",
        0.10,
        0.50,
        "a client that reads late finds several events in one read, and their gaps are only upper bounds; "
        "where it read early against their distance they were sent together",
    ),
    Limit(
        "cpu_fraction",
        0.80,
        0.97,
        "what is busy four fifths of the time makes arrivals wait four service times on average (M/M/1), and "
        "the load generator serves events",
    ),
    Limit(
        "runqueue_share",
        0.08,
        0.40,
        "time in which the load threads wanted a core and had none: nothing is sent or read in it; it counts "
        "where they waited longer than they ran, or for more than a quarter of the time",
    ),
    Limit(
        "stalled_share",
        0.02,
        0.10,
        "a client that stands still, in stretches of at least 100 ms, sends nothing: the load was less than "
        "asked, and what it reads afterwards carries the stamp of the newest packet",
    ),
    Limit(
        "instrument_error_share",
        0.05,
        0.25,
        "the instrument's error on this machine must be small against what it measures, p50 against p50 and "
        "p99 against p99",
    ),
    Limit(
        "token_mismatch_share",
        0.02,
        None,
        "token counts that disagree put the same doubt on every rate and time per token",
    ),
    Limit(
        "over_limit_share",
        0.01,
        None,
        "an answer cannot have more tokens than the request allowed, so the server's usage counts wrongly",
    ),
    Limit(
        "failed_jobs_share",
        0.05,
        None,
        "a job with a failed call gives no time, and long jobs fail more often than short ones: beyond 5 % "
        "the p95 of what users waited lies among them",
    ),
    Limit(
        "length_off_share",
        0.05,
        None,
        "answers of other lengths than asked make another workload of it: E2E and throughput are not those "
        "asked for",
    ),
    Limit(
        "cache_off",
        0.10,
        None,
        "TTFT depends on how much of a prompt is cached: a tenth more or less is another workload",
    ),
    Limit(
        "cached_share",
        0.10,
        None,
        "prompts are made without a common beginning so that no cache helps; the few tokens of a chat "
        "template may be cached, a tenth of the prompt may not",
    ),
)

LIMITS: dict[str, Limit] = {limit.name: limit for limit in _ALL}

LATE_MS = 10.0
"""A request sent so much after its due instant is late."""

SMALLEST_LAG_MS = 1.0
"""A lag below this is never held against a run: it is the grain of the operating system's scheduler."""

BUSY_WAIT_SHARE = 0.25
"""Busy threads wait now and then as all do; from this share on they too were starved."""

FEWEST_FOR_MEDIAN = 6
"""Fewest `ok` requests whose largest and smallest bound the median at 95 %."""

LATE_READ_SHARE = 0.25
"""Typical reads that come later than this share of the distance between events may find several of them."""

FEWEST_READS_FOR_P99 = 1000
"""The p99 of fewer reads is that of under ten."""

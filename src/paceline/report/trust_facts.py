"""What a trust verdict rests on: plain figures, read from a stored run by `facts.trust_facts`."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pair:
    """A median and a 99th percentile, in the unit that the field's name ends in."""

    p50: float
    p99: float


@dataclass(frozen=True)
class CommonError:
    """What the requests of an outcome said most often, and whether all of them did."""

    text: str
    of_all: bool


@dataclass(frozen=True)
class TrustFacts:
    """What the verdict rests on. Shares are fractions; None: not known, or does not apply.

    `compared_with_ms`: the metric that the client's lateness is held against, named by `compared_with`: the
    headline TTFT in an open loop, the duration of a request in a closed one (a slot that stands idle for a
    tenth of a request delivers a tenth less load). `gap_ms`: gaps between tokens. `event_spacing_ms`: mean
    distance of a request's events. `wait_per_read_ms`: how long the load threads waited for a core, a read.
    `unit`: what the load counts, `requests` or `jobs`; rates, `due` and `dropped` are of these, and `begun`
    is how many were. `jobs`: those that came to their end, `failed_jobs` of them with a failed call.
    `lengths`, `cache`: the mean length of answers, and the cached share of first prompts, as asked and as
    they came.
    `errors`: by outcome. `of_a_pair`: one side of an interleaved comparison, which cannot be finished alone.
    `imported`: the tool that measured, where that was another; `lacks`: what its file does not hold.
    `live`: these are a gateway's requests to one offer, and not a load that was made.
    """

    state: str = "complete"
    of_a_pair: bool = False
    planned_requests: int | None = None
    attempted: int = 0
    unit: str = "requests"
    begun: int = 0
    jobs: int = 0
    failed_jobs: int = 0
    by_outcome: dict[str, int] = field(default_factory=dict)
    errors: dict[str, CommonError] = field(default_factory=dict)
    open_loop: bool = False
    capped: bool = False
    offered_requests_s: float | None = None
    achieved_requests_s: float | None = None
    due: int = 0
    dropped: int = 0
    starved: int = 0
    late_share: float | None = None
    schedule_lag_ms: Pair | None = None
    read_lag_ms: Pair | None = None
    reads: int = 0
    cpu_fraction: float | None = None
    runqueue_share: float | None = None
    stalled_s: float = 0.0
    stalled_share: float | None = None
    resent: int = 0
    reused: bool = True
    wait_per_read_ms: float | None = None
    kernel_stamped_share: float | None = None
    coalesced_share: float | None = None
    event_spacing_ms: float | None = None
    compared_with: str = ""
    compared_with_ms: Pair | None = None
    ttft_ms: Pair | None = None
    gap_ms: Pair | None = None
    calibrated: bool = False
    ttft_error_us: Pair | None = None
    itl_error_us: Pair | None = None
    token_mismatch_share: float | None = None
    tokens_approximate: bool = False
    over_limit_share: float | None = None
    cached_share: float | None = None
    prompts_unique: bool = False
    length_off_share: float | None = None
    lengths: tuple[float, float] | None = None
    cache_off: float | None = None
    cache: tuple[float, float] | None = None
    p99_needs_n: int | None = None
    segments: int = 1
    live: bool = False
    imported: str | None = None
    lacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> int:
        """Requests of outcome `ok`."""
        return self.by_outcome.get("ok", 0)

    @property
    def well(self) -> int:
        """Requests that ended as they were meant to: `ok`, or hung up as the workload asks."""
        return self.ok + self.by_outcome.get("hung_up", 0)

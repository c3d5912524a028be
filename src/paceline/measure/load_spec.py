"""What a run sends and when: from the user's options to `paceline.load/1`.

`LoadOptions` is what was asked, in the user's words; `LoadPlan` is what it means, checked, and goes into the
stored run; `LoadPlan.spec` is the load generator's document (docs/design/0001-border-and-row.md).
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from paceline.errors import ConfigError, UsageError
from paceline.units import Count, parse_count_or_duration, parse_duration_ns

DEFAULT_CONCURRENCY = 1
DEFAULT_REQUESTS = 100
DEFAULT_JOBS = 20
DEFAULT_TIMEOUT_NS = 120_000_000_000
# Long enough for an engine to finish a step and look; a server that goes on for longer has not noticed.
DEFAULT_HANGUP_WAIT_NS = 5_000_000_000
# A load thread costs about 10 us a streamed event, so one carries a thousand streams of 50 events a second on
# half a core; a second thread on a small machine only takes a core from the endpoint.
STREAMS_PER_THREAD = 1_000
MAX_AUTO_THREADS = 8

ARRIVALS = ("constant", "poisson", "gamma")


class _Frozen(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Closed(_Frozen):
    """So many requests are always in flight."""

    kind: Literal["closed"] = "closed"
    concurrency: int = Field(ge=1, le=1_000_000)


class Constant(_Frozen):
    """Evenly spaced arrivals."""

    kind: Literal["constant"] = "constant"
    rate_requests_s: float = Field(gt=0, le=1e7)


class Poisson(_Frozen):
    """Exponential gaps: independent users."""

    kind: Literal["poisson"] = "poisson"
    rate_requests_s: float = Field(gt=0, le=1e7)


class Gamma(_Frozen):
    """Gamma gaps of shape `burstiness`: 1 is Poisson, less is burstier, more is more even."""

    kind: Literal["gamma"] = "gamma"
    rate_requests_s: float = Field(gt=0, le=1e7)
    burstiness: float = Field(gt=0, le=1e7)


class Ramp(_Frozen):
    """A rate that changes linearly over `over_ns`; nothing arrives after it."""

    kind: Literal["ramp"] = "ramp"
    from_requests_s: float = Field(ge=0, le=1e7)
    to_requests_s: float = Field(ge=0, le=1e7)
    over_ns: int = Field(gt=0)
    shape: Literal["constant", "poisson"] = "poisson"


class Replay(_Frozen):
    """Each job brings its own instant, as a trace has them."""

    kind: Literal["replay"] = "replay"


AnyArrival = Closed | Constant | Poisson | Gamma | Ramp | Replay
Arrival = Annotated[AnyArrival, Field(discriminator="kind")]


class LoadTarget(_Frozen):
    """Where requests go, with addresses resolved and secrets in place: never stored."""

    scheme: Literal["http", "https"]
    host: str
    port: int
    path: str
    addresses: tuple[str, ...] = Field(min_length=1)
    headers: tuple[tuple[str, str], ...] = ()
    ca_pem: str | None = None
    protocol: str
    streaming: bool = True


class LoadSpec(_Frozen):
    """`paceline.load/1`, one start of the load generator."""

    schema_name: Literal["paceline.load/1"] = Field(default="paceline.load/1", alias="schema")
    target: LoadTarget
    arrival: Arrival
    concurrency_cap: int | None
    seed: int
    segment: int
    first_index: int
    max_requests: int | None
    duration_ns: int | None
    warmup_requests: int
    warmup_ns: int
    timeout_ns: int
    hangup_wait_ns: int
    threads: int
    new_connections: bool
    max_event_bytes: int
    keep_text: bool
    kernel_stamps: bool

    def to_json(self) -> str:
        """The document as text."""
        return self.model_dump_json(by_alias=True)


class LoadPlan(_Frozen):
    """The load of a whole run, as it is stored; durations in ns, warm-up apart from what is measured.

    Where a job is several calls (`jobs`), a job is what `requests`, `warmup_requests`, rates and concurrency
    count; else a request. `requests` and `duration_ns` are the measured part: warm-up comes before and on
    top, except that warm-up given as a number of requests runs inside `duration_ns`.
    """

    arrival: Arrival
    jobs: bool = False
    concurrency_cap: int | None = Field(default=None, ge=1, le=1_000_000)
    seed: int = Field(default=1, ge=0, lt=1 << 64)
    requests: int | None = Field(default=None, ge=1)
    duration_ns: int | None = Field(default=None, ge=1)
    warmup_requests: int = Field(default=0, ge=0)
    warmup_ns: int = Field(default=0, ge=0)
    timeout_ns: int = Field(default=DEFAULT_TIMEOUT_NS, ge=1)
    hangup_wait_ns: int = Field(default=DEFAULT_HANGUP_WAIT_NS, ge=1)
    threads: int = Field(default=1, ge=1, le=256)
    new_connections: bool = False
    max_event_bytes: int = Field(default=16 * 1024 * 1024, ge=1)
    keep_text: bool = True
    kernel_stamps: bool = True

    @property
    def total_requests(self) -> int | None:
        """Requests to send, warm-up included; None when the run ends by time alone."""
        return None if self.requests is None else self.requests + self.warmup_requests

    @property
    def total_ns(self) -> int | None:
        """How long the run sends, warm-up included; None when it ends by requests alone."""
        return None if self.duration_ns is None else self.duration_ns + self.warmup_ns

    @property
    def streams(self) -> int | None:
        """The most jobs that can be going on; None: no limit."""
        return self.arrival.concurrency if isinstance(self.arrival, Closed) else self.concurrency_cap

    @property
    def peak_requests_s(self) -> float | None:
        """The highest offered rate of jobs; None in a closed loop and in a replay."""
        if isinstance(self.arrival, Closed | Replay):
            return None
        if isinstance(self.arrival, Ramp):
            return max(self.arrival.from_requests_s, self.arrival.to_requests_s)
        return self.arrival.rate_requests_s

    def spec(
        self,
        target: LoadTarget,
        *,
        segment: int = 0,
        first_index: int = 0,
        started: int = 0,
        elapsed_ns: int = 0,
        max_requests: int | None = None,
        duration_ns: int | None = None,
    ) -> LoadSpec:
        """The document of one segment, after earlier segments began `started` requests in `elapsed_ns`.

        `max_requests` and `duration_ns` limit this segment further (a block of an interleaved run). The seed
        moves on with the segment, so that no two segments have the same gaps.
        """
        left = _lesser(_left(self.total_requests, started), max_requests)
        left_ns = _lesser(_left(self.total_ns, elapsed_ns), duration_ns)
        return LoadSpec(
            target=target,
            arrival=_rest_of(self.arrival, elapsed_ns),
            concurrency_cap=self.concurrency_cap,
            seed=(self.seed + segment) % (1 << 64),
            segment=segment,
            first_index=first_index,
            max_requests=left,
            duration_ns=left_ns,
            warmup_requests=max(self.warmup_requests - started, 0),
            warmup_ns=max(self.warmup_ns - elapsed_ns, 0),
            timeout_ns=self.timeout_ns,
            hangup_wait_ns=self.hangup_wait_ns,
            threads=self.threads,
            new_connections=self.new_connections,
            max_event_bytes=self.max_event_bytes,
            keep_text=self.keep_text,
            kernel_stamps=self.kernel_stamps,
        )

    def held_to(self, jobs: int | None) -> "LoadPlan":
        """The plan, with no more requests than there are jobs; None: there is no end to them."""
        left = None if jobs is None else jobs - self.warmup_requests
        if self.requests is None or left is None or not 1 <= left < self.requests:
            return self
        return self.model_copy(update={"requests": left})

    def describe(self) -> list[str]:
        """The load in words, one thought a line, for the head of a run."""
        unit = "job" if self.jobs else "request"
        length = self._length_words(unit + "s")
        lines = ["; ".join(part for part in (_arrival_words(self.arrival, unit), length) if part)]
        if self.concurrency_cap is not None:
            lines.append(
                f"at most {self.concurrency_cap} in flight: a {unit} that is due then waits for a slot, "
                "and is recorded as late"
            )
        return lines

    def _length_words(self, units: str) -> str:
        parts = []
        if self.requests is not None:
            parts.append(f"{self.requests} {units}")
        if self.duration_ns is not None:
            parts.append(f"{self.duration_ns / 1e9:g} s")
        text = " or ".join(parts)
        if self.requests is not None and self.duration_ns is not None:
            text += ", whichever comes first"
        if self.warmup_requests:
            text += f", after {self.warmup_requests} warm-up {units}"
        if self.warmup_ns:
            text += f", after {self.warmup_ns / 1e9:g} s of warm-up"
        return text


def _rest_of(arrival: AnyArrival, elapsed_ns: int) -> AnyArrival:
    """A ramp that goes on goes on from the rate it had reached."""
    if not isinstance(arrival, Ramp) or not 0 < elapsed_ns < arrival.over_ns:
        return arrival
    reached = elapsed_ns / arrival.over_ns
    rate = arrival.from_requests_s + (arrival.to_requests_s - arrival.from_requests_s) * reached
    return arrival.model_copy(update={"from_requests_s": rate, "over_ns": arrival.over_ns - elapsed_ns})


def _left(total: int | None, done: int) -> int | None:
    return None if total is None else total - done


def _lesser(first: int | None, second: int | None) -> int | None:
    given = [value for value in (first, second) if value is not None]
    return min(given) if given else None


def _arrival_words(arrival: AnyArrival, unit: str) -> str:
    match arrival:
        case Closed():
            if arrival.concurrency == 1:
                return f"one {unit} at a time"
            return f"closed loop of {arrival.concurrency} {'jobs ' if unit == 'job' else ''}in flight"
        case Constant():
            return f"{arrival.rate_requests_s:g} {unit}s/s, evenly spaced"
        case Poisson():
            return f"{arrival.rate_requests_s:g} {unit}s/s, Poisson"
        case Gamma():
            return f"{arrival.rate_requests_s:g} {unit}s/s, gamma gaps of shape {arrival.burstiness:g}"
        case Ramp():
            return (
                f"ramp from {arrival.from_requests_s:g} to {arrival.to_requests_s:g} {unit}s/s "
                f"over {arrival.over_ns / 1e9:g} s, {arrival.shape}"
            )
        case Replay():
            return f"each {unit} at the trace's own instant"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The load as a user writes it. Text options are those of the command line.

    `jobs`: the number of jobs, where a job has several calls (`has_jobs`). `replay`: the workload brings its
    own instants.
    """

    concurrency: int | None = None
    rate_requests_s: float | None = None
    arrival: str | None = None
    burstiness: float | None = None
    ramp: str | None = None
    requests: int | None = None
    duration: str | None = None
    warmup: str | None = None
    timeout: str | None = None
    seed: int = 1
    threads: int | None = None
    new_connections: bool = False
    keep_text: bool = True
    jobs: int | None = None
    has_jobs: bool = False
    replay: bool = False


def plan_load(options: LoadOptions) -> LoadPlan:
    """Check the options against each other and say what they mean.

    Raises ConfigError for what is impossible, with the way out as hint.
    """
    _check_positive(options)
    requests = _count(options)
    duration_ns = None if options.duration is None else _duration("--duration", options.duration)
    if requests is None and duration_ns is None and not options.replay:
        requests = DEFAULT_JOBS if options.has_jobs else DEFAULT_REQUESTS
    arrival = Replay() if _replays(options) else _arrival(options, duration_ns)
    closed = isinstance(arrival, Closed)
    warmup_requests, warmup_ns = _warmup(options, arrival)
    cap = None if closed else options.concurrency
    streams = arrival.concurrency if isinstance(arrival, Closed) else cap
    return LoadPlan(
        arrival=arrival,
        jobs=options.has_jobs,
        concurrency_cap=cap,
        seed=options.seed,
        requests=requests,
        duration_ns=duration_ns,
        warmup_requests=warmup_requests,
        warmup_ns=warmup_ns,
        timeout_ns=DEFAULT_TIMEOUT_NS if options.timeout is None else _duration("--timeout", options.timeout),
        threads=options.threads if options.threads is not None else auto_threads(streams),
        new_connections=options.new_connections,
        keep_text=options.keep_text,
    )


def _count(options: LoadOptions) -> int | None:
    """How many jobs, by the option that fits the workload. Raises ConfigError for the other."""
    if options.has_jobs and options.requests is not None:
        raise ConfigError(
            "--requests counts requests, and a workload is counted in jobs, also where a job is one call",
            f"say how many jobs: --jobs {options.requests}",
        )
    if not options.has_jobs and options.jobs is not None:
        raise ConfigError(
            "--jobs counts jobs of several calls, and here each request stands alone",
            f"say how many requests: --requests {options.jobs}",
        )
    return options.jobs if options.has_jobs else options.requests


def _replays(options: LoadOptions) -> bool:
    """The workload's own instants hold. Raises ConfigError for another arrival process beside them."""
    if not options.replay:
        return False
    for name, given in (
        ("--rate", options.rate_requests_s),
        ("--arrival", options.arrival),
        ("--burstiness", options.burstiness),
        ("--ramp", options.ramp),
    ):
        if given is not None:
            raise ConfigError(
                f"{name} says when requests are sent, and so does the trace",
                "leave it out, or take the trace's lengths alone: --no-trace-instants",
            )
    return True


def auto_threads(streams: int | None) -> int:
    """Load threads for so many streams; one where the number is not known."""
    if streams is None:
        return 1
    return min(-(-streams // STREAMS_PER_THREAD), MAX_AUTO_THREADS)


def _check_positive(options: LoadOptions) -> None:
    for name, value, most, example in (
        ("--concurrency", options.concurrency, 1_000_000, "16"),
        ("--rate", options.rate_requests_s, 1e7, "5"),
        ("--burstiness", options.burstiness, 1e7, "0.5"),
        ("--requests", options.requests, None, "100"),
        ("--jobs", options.jobs, None, "20"),
        ("--threads", options.threads, 256, "2"),
    ):
        # Written so that a NaN does not pass.
        if value is not None and not value > 0:
            raise ConfigError(
                f"{name} must be greater than 0, not {value:g}",
                f"write a number above 0, as in {name} {example}, or leave it out",
            )
        if value is not None and most is not None and value > most:
            raise ConfigError(
                f"{name} must be at most {most:g}, not {value:g}",
                f"write a smaller one, as in {name} {example}",
            )
    if not 0 <= options.seed < 1 << 64:
        raise ConfigError(
            f"--seed must lie between 0 and 2^64 - 1, not {options.seed}", "any will do: --seed 1"
        )


def _arrival(options: LoadOptions, duration_ns: int | None) -> AnyArrival:
    if options.arrival is not None and options.arrival not in ARRIVALS:
        raise ConfigError(
            f"--arrival {options.arrival} is unknown",
            f"it is one of {', '.join(ARRIVALS)}; for a ramp use --ramp",
        )
    if options.ramp is not None:
        return _ramp(options, duration_ns)
    if options.rate_requests_s is None:
        for name, given in (("--arrival", options.arrival), ("--burstiness", options.burstiness)):
            if given is not None:
                raise ConfigError(f"{name} says how requests arrive, and needs --rate", "add --rate R")
        return Closed(concurrency=options.concurrency or DEFAULT_CONCURRENCY)
    rate = options.rate_requests_s
    kind = options.arrival or ("gamma" if options.burstiness is not None else "poisson")
    if kind != "gamma" and options.burstiness is not None:
        raise ConfigError(
            f"--burstiness has no meaning for --arrival {kind}",
            "use --arrival gamma, or leave --burstiness out",
        )
    if kind == "gamma":
        if options.burstiness is None:
            raise ConfigError(
                "--arrival gamma needs --burstiness", "1 is Poisson, 0.5 is burstier, 2 is more even"
            )
        return Gamma(rate_requests_s=rate, burstiness=options.burstiness)
    return Constant(rate_requests_s=rate) if kind == "constant" else Poisson(rate_requests_s=rate)


def _ramp(options: LoadOptions, duration_ns: int | None) -> Ramp:
    if options.rate_requests_s is not None:
        raise ConfigError(
            "--ramp and --rate exclude each other", "a ramp brings its own rates: --ramp FROM:TO"
        )
    if options.arrival == "gamma" or options.burstiness is not None:
        raise ConfigError("a ramp cannot have gamma gaps", "use --arrival poisson or constant with --ramp")
    if duration_ns is None:
        raise ConfigError(
            "--ramp needs --duration: the time over which the rate changes", "add --duration 60s"
        )
    first, colon, last = (options.ramp or "").partition(":")
    try:
        start, end = float(first), float(last)
    except ValueError:
        start = end = -1.0
    if not colon or not (0 <= start <= 1e7 and 0 <= end <= 1e7 and start + end > 0):
        raise ConfigError(
            f"--ramp {options.ramp} is not FROM:TO in requests a second", "for example --ramp 1:20"
        )
    shape: Literal["constant", "poisson"] = "constant" if options.arrival == "constant" else "poisson"
    return Ramp(from_requests_s=start, to_requests_s=end, over_ns=duration_ns, shape=shape)


def _warmup(options: LoadOptions, arrival: Any) -> tuple[int, int]:
    """Warm-up as (requests, ns), of which one is 0."""
    text = options.warmup
    if text is None or text.strip() == "0":
        return 0, 0
    try:
        warmup = parse_count_or_duration(text, "--warmup")
    except UsageError as error:
        raise ConfigError(error.message, error.hint) from None
    if isinstance(warmup, Count):
        return warmup.n, 0
    if isinstance(arrival, Ramp):
        raise ConfigError(
            f"--warmup {text} is a time, and a ramp has no time before it",
            "give --warmup as a number of requests",
        )
    if options.duration is None or options.requests is not None:
        raise ConfigError(
            f"--warmup {text} is a time, but the run ends after a number of requests",
            "give --warmup as a number of requests, or end the run by --duration",
        )
    return 0, warmup.ns


def _duration(option: str, text: str) -> int:
    try:
        return parse_duration_ns(text, option)
    except UsageError as error:
        raise ConfigError(error.message, error.hint) from None

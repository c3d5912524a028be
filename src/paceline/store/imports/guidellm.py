"""GuideLLM's report, `benchmarks.json`: one run a benchmark.

Read in src/guidellm/benchmark/schemas/report.py and src/guidellm/schemas/base/request_stats.py of 0.8.1, and
in src/guidellm/benchmark/benchmark.py (47ce2924) and objects.py (414febe6) for two older forms.
"""

from typing import Any

from paceline.store.imports.fields import (
    bad,
    count_or_none,
    error_text,
    listing,
    mapping,
    name_if,
    number_or_none,
    plain_url,
    positive_if,
    text_if,
)
from paceline.store.imports.outcomes import outcome_of
from paceline.store.imports.run import (
    CONTENT,
    GAP_METRICS,
    REASONING,
    ImportedRow,
    ImportedRun,
    moment,
)

TOOL = "guidellm"
# The year 2223; in ns it still fits 64 bits.
_LATEST_S = 8e9
_STATUSES = {"successful": "ok", "incomplete": "cancelled", "errored": None}
_FIGURES = {
    "ttft_ms": ("time_to_first_token_ms", 1.0),
    "itl_ms": ("inter_token_latency_ms", 1.0),
    "tpot_ms": ("time_per_output_token_ms", 1.0),
    "e2e_ms": ("request_latency", 1000.0),
    "output_tok_s": ("output_tokens_per_second", 1.0),
    "requests_s": ("requests_per_second", 1.0),
}
_PROTOCOLS = {
    "/v1/chat/completions": "openai-chat",
    "/v1/completions": "openai-completions",
    "/v1/responses": "openai-responses",
    "/v1/embeddings": "openai-embeddings",
}


def is_report(document: Any) -> bool:
    """Whether a document looks like GuideLLM's."""
    if not isinstance(document, dict):
        return False
    found = document.get("benchmarks")
    return isinstance(found, list) and all(isinstance(one, dict) and "requests" in one for one in found)


def read_report(document: dict[str, Any], where: str) -> list[ImportedRun]:
    """The runs of a report. Raises ConfigError."""
    benchmarks = listing(document.get("benchmarks"), f"{where}: benchmarks")
    if not benchmarks:
        raise bad(where, "the report holds no benchmark")
    metadata = mapping(document.get("metadata"), f"{where}: metadata")
    version = name_if(metadata.get("guidellm_version"))
    backend = _backend(document)
    return [
        _run(mapping(one, f"{where}: benchmarks[{k}]"), f"{where}: benchmarks[{k}]", version, backend)
        for k, one in enumerate(benchmarks)
    ]


def _backend(document: dict[str, Any]) -> dict[str, Any]:
    """The endpoint's settings, where the form has them."""
    config = document.get("config")
    spec = config.get("spec") if isinstance(config, dict) else None
    backend = spec.get("backend") if isinstance(spec, dict) else None
    if isinstance(backend, dict):
        return backend
    args = document.get("args")
    return args if isinstance(args, dict) else {}


def _run(benchmark: dict[str, Any], where: str, version: str | None, backend: dict[str, Any]) -> ImportedRun:
    requests = mapping(benchmark.get("requests"), f"{where}.requests")
    told = [
        _Told(mapping(one, f"{where}.requests.{status}[{k}]"), f"{where}.requests.{status}[{k}]", outcome)
        for status, outcome in _STATUSES.items()
        for k, one in enumerate(listing(requests.get(status), f"{where}.requests.{status}"))
    ]
    started = [one.start_s for one in told if one.start_s is not None]
    if not started:
        raise bad(f"{where}.requests", "no request has a start")
    origin_s = min(started)
    told.sort(key=lambda one: one.start_s if one.start_s is not None else origin_s)
    scheduled = _load(benchmark)
    rows = [one.row(origin_s, scheduled=_is_schedule(scheduled)) for one in told]
    worker = mapping(benchmark.get("worker"), f"{where}.worker")
    return ImportedRun(
        tool=TOOL,
        tool_version=version,
        rows=rows,
        endpoint=plain_url(backend.get("target") or worker.get("backend_target")),
        model=name_if(backend.get("model") or worker.get("backend_model")),
        protocol=_PROTOCOLS.get(str(backend.get("request_format"))),
        started_at=moment(origin_s),
        finished_at=moment(origin_s + max(row.end_ns for row in rows) / 1e9),
        load=scheduled,
        lacks=("the instants of all tokens but the first and the last of each answer",),
        assumptions=("one token is taken to have come with the first event, the others until the last",),
        hidden=GAP_METRICS,
        figures=_figures(benchmark, where),
    )


class _Told:
    """One request as the report tells it, in any of its three forms."""

    def __init__(self, entry: dict[str, Any], where: str, outcome: str | None) -> None:
        self.entry, self.where, self.outcome = entry, where, outcome
        info = mapping(entry.get("info"), f"{where}.info")
        scheduler = mapping(entry.get("scheduler_info"), f"{where}.scheduler_info")
        times = mapping(info.get("timings") or scheduler.get("request_timings"), f"{where}: timings")
        self.start_s = self._time(times, "request_start") or self._time(entry, "start_time")
        self.end_s = (
            self._time(times, "request_end")
            or self._time(times, "resolve_end")
            or self._time(entry, "end_time")
        )
        self.first_s = self._first(
            times, entry, "first_token_iteration", "first_iteration", "first_token_time"
        )
        self.last_s = self._first(times, entry, "last_token_iteration", "last_iteration", "last_token_time")
        self.answer_s = self._time(times, "first_output_token_iteration")
        self.due_s = self._time(times, "targeted_start")
        iterations = times.get("token_iterations", entry.get("iterations"))
        self.iterations = count_or_none(iterations, f"{where}: token_iterations")
        self.error = error_text(info.get("error") or scheduler.get("error") or entry.get("error"))

    def _time(self, found: dict[str, Any], name: str) -> float | None:
        value = number_or_none(found.get(name), f"{self.where}: {name}")
        if value is not None and value > _LATEST_S:
            raise bad(f"{self.where}: {name}", f"{value:.40} is no Unix time in seconds")
        return value if value is not None and value > 0.0 else None

    def _first(self, times: dict[str, Any], entry: dict[str, Any], *names: str) -> float | None:
        """The first of several names under which an instant is written."""
        return next(filter(None, (self._time(one, name) for name in names for one in (times, entry))), None)

    def row(self, origin_s: float, *, scheduled: bool) -> ImportedRow:
        """The request's row, its instants counted from `origin_s`."""

        def ns(at_s: float | None) -> int | None:
            return None if at_s is None else round((at_s - origin_s) * 1e9)

        sent, first, last, end = ns(self.start_s), ns(self.first_s), ns(self.last_s), ns(self.end_s)
        if end is None:
            raise bad(self.where, "the request has no end")
        if any(later is not None and later < (sent or 0) for later in (first, last, end)):
            raise bad(self.where, "the request ends before it begins")
        tokens = self._count("output_tokens")
        outcome, status = self.outcome or "", None
        if not outcome:
            outcome, status = outcome_of(self.error or "", had_token=first is not None)
        streaming = first is not None or outcome != "ok"
        events = _events(first, last) if streaming else (end,)
        return ImportedRow(
            sent_ns=sent,
            due_ns=ns(self.due_s) if scheduled else None,
            end_ns=end,
            outcome=outcome,
            streaming=streaming,
            event_ns=events,
            event_kind=self._kinds(len(events)),
            event_tokens=_tokens(tokens, self.iterations, len(events)),
            response_id=text_if(self.entry.get("response_id")),
            status=status,
            error=self.error if outcome != "ok" else None,
            prompt_tokens=self._count("prompt_tokens"),
            completion_tokens=self._usage(tokens),
            cached_tokens=self._count("cached_tokens"),
            text=text_if(self.entry.get("output")) or "",
        )

    def _count(self, name: str) -> int | None:
        return count_or_none(self.entry.get(name), f"{self.where}: {name}")

    def _usage(self, tokens: int | None) -> int | None:
        """The counted tokens; None where the tool only counted chunks."""
        metrics = self.entry.get("output_metrics")
        return None if isinstance(metrics, dict) and metrics.get("total_tokens") is None else tokens

    def _kinds(self, n: int) -> tuple[int, ...]:
        """Reasoning before the first answer token."""
        thought = self.answer_s is not None and self.first_s is not None and self.answer_s > self.first_s
        return (REASONING if thought else CONTENT, CONTENT)[:n]


def _events(first: int | None, last: int | None) -> tuple[int, ...]:
    if first is None:
        return ()
    return (first,) if last is None or last <= first else (first, last)


def _tokens(tokens: int | None, iterations: int | None, n: int) -> tuple[int, ...]:
    """One token in the first event and the others in the last; all in one event."""
    known = tokens if tokens is not None else iterations
    if not n or known is None or known < n:
        return ()
    return (known,) if n == 1 else (1, known - 1)


def _load(benchmark: dict[str, Any]) -> dict[str, Any]:
    """The arrivals, where the report names them."""
    strategy: Any = None
    for path in (("config", "strategy"), ("scheduler", "strategy"), ("args", "strategy")):
        found: Any = benchmark
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        strategy = strategy or found
    if not isinstance(strategy, dict):
        return {}
    kind = str(strategy.get("type_", ""))
    rate = positive_if(strategy.get("rate"))
    streams = positive_if(strategy.get("streams") or strategy.get("max_concurrency"))
    if kind in ("constant", "poisson") and rate is not None:
        return {"arrival": {"kind": kind, "rate_requests_s": rate}}
    if kind == "synchronous":
        return {"arrival": {"kind": "closed", "concurrency": 1}}
    if kind in ("concurrent", "throughput") and streams is not None:
        return {"arrival": {"kind": "closed", "concurrency": int(streams)}}
    return {}


def _is_schedule(load: dict[str, Any]) -> bool:
    return bool(load) and load["arrival"]["kind"] != "closed"


def _figures(benchmark: dict[str, Any], where: str) -> dict[str, dict[str, float | None]]:
    """What the report says of the successful requests."""
    metrics = mapping(benchmark.get("metrics"), f"{where}.metrics")
    figures = {}
    for name, (theirs, factor) in _FIGURES.items():
        summary = mapping(mapping(metrics.get(theirs), where).get("successful"), f"{where}.metrics.{theirs}")
        if not summary:
            continue
        found = {
            "mean": summary.get("mean"),
            "max": summary.get("max"),
            **{q: mapping(summary.get("percentiles"), where).get(q) for q in ("p50", "p90", "p95", "p99")},
        }
        values = {key: number_or_none(value, f"{where}.metrics.{theirs}") for key, value in found.items()}
        figures[name] = {
            "n": number_or_none(summary.get("count"), f"{where}.metrics.{theirs}.count"),
            **{key: None if value is None else value * factor for key, value in values.items()},
        }
    return figures

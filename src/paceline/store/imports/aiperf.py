"""AIPerf's records, `profile_export.jsonl`: one run a file.

Read in src/aiperf/common/models/record_models.py (MetricRecordInfo) and src/aiperf/metrics/types of 0.13.0.
The summary beside it, `profile_export_aiperf.json`, names version, model and endpoint.
"""

from itertools import accumulate
from pathlib import Path
from typing import Any

from paceline.store.imports.fields import (
    bad,
    count_or_none,
    duration,
    error_text,
    listing,
    mapping,
    name_if,
    number,
    number_or_none,
    plain_url,
    positive_if,
    read_document,
    stamp,
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

TOOL = "aiperf"
_NS_PER_MS = 1e6
_GAPS = "inter_chunk_latency"
_FIGURES = {
    "ttft_ms": "time_to_first_token",
    "itl_ms": "inter_token_latency",
    "chunk_gap_ms": "inter_chunk_latency",
    "e2e_ms": "request_latency",
    "output_tok_s": "output_token_throughput",
    "requests_s": "request_throughput",
}
_PROTOCOLS = {
    "chat": "openai-chat",
    "completions": "openai-completions",
    "responses": "openai-responses",
    "embeddings": "openai-embeddings",
}


def is_record(document: Any) -> bool:
    """Whether a line looks like one of AIPerf's records."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("metadata"), dict)
        and "request_start_ns" in document["metadata"]
    )


def read_records(records: list[tuple[str, dict[str, Any]]], path: Path) -> list[ImportedRun]:
    """The run of a file. Raises ConfigError."""
    told = [_Told(document, where) for where, document in records]
    if not told:
        raise bad(str(path), "the file holds no record")
    origin_ns = min(one.start_ns for one in told)
    told.sort(key=lambda one: one.start_ns)
    summary = _summary(path)
    load = _load(summary)
    scheduled = bool(load) and load["arrival"]["kind"] != "closed"
    rows = [one.row(origin_ns, scheduled=scheduled) for one in told]
    endpoint = _endpoint(summary)
    own_tokens = bool(summary) and not endpoint.get("use_server_token_count")
    lacks = ["when the first byte of a request was written: times count from before its connection"]
    no_gaps = any(one.without_gaps for one in told)
    if no_gaps:
        lacks.append("the gaps between chunks")
    if not summary:
        lacks.append("model, endpoint, version and load: there is no profile_export_aiperf.json beside it")
    return [
        ImportedRun(
            tool=TOOL,
            tool_version=name_if(summary.get("aiperf_version")),
            rows=rows,
            endpoint=plain_url(_first(endpoint.get("urls"))),
            model=_model(summary),
            protocol=_PROTOCOLS.get(str(endpoint.get("type"))),
            started_at=moment(origin_ns / 1e9),
            finished_at=moment((origin_ns + max(row.end_ns for row in rows)) / 1e9),
            load=load,
            lacks=tuple(lacks),
            assumptions=(
                "arrivals of events are put together from TTFT and the gaps between chunks",
                *(("tokens were counted by the tool's own tokenizer",) if own_tokens else ()),
            ),
            hidden=GAP_METRICS if no_gaps else (),
            figures=_figures(summary, f"{path.name}'s summary"),
        )
    ]


class _Told:
    """One record."""

    def __init__(self, document: dict[str, Any], where: str) -> None:
        if not is_record(document):
            raise bad(where, "this is no record of AIPerf")
        self.where = where
        self.metadata = mapping(document["metadata"], f"{where}: metadata")
        self.metrics = mapping(document.get("metrics"), f"{where}: metrics")
        self.error = document.get("error")
        self.start_ns = self._stamp("request_start_ns")

    def _stamp(self, name: str) -> int:
        return stamp(self.metadata.get(name), f"{self.where}: metadata.{name}")

    def _since(self, name: str, origin_ns: int) -> int | None:
        """An instant that the record may have, counted from `origin_ns`."""
        return None if self.metadata.get(name) is None else self._stamp(name) - origin_ns

    def _value(self, name: str) -> Any:
        return mapping(self.metrics.get(name), f"{self.where}: metrics.{name}").get("value")

    def _ms(self, name: str) -> float | None:
        value = self._value(name)
        return None if value is None else duration(value, f"{self.where}: metrics.{name}")

    def _count(self, *names: str) -> int | None:
        found = (count_or_none(self._value(name), f"{self.where}: metrics.{name}") for name in names)
        return next((value for value in found if value is not None), None)

    def row(self, origin_ns: int, *, scheduled: bool) -> ImportedRow:
        """The record's row, its instants counted from `origin_ns`."""
        sent = self.start_ns - origin_ns
        offsets = self._offsets_ns()
        first_ms, answer_ms = self._ms("time_to_first_token"), self._ms("time_to_first_output_token")
        thought = answer_ms is not None and first_ms is not None
        answer_ns = round((answer_ms or 0.0) * _NS_PER_MS) if thought else 0
        end = max([self._stamp("request_end_ns") - origin_ns, *(sent + at for at in offsets[-1:])])
        outcome, status, error = self._outcome(bool(offsets))
        return ImportedRow(
            sent_ns=sent,
            due_ns=self._since("credit_issued_ns", origin_ns) if scheduled else None,
            headers_ns=self._since("request_ack_ns", origin_ns),
            end_ns=end,
            phase="warmup" if self.metadata.get("benchmark_phase") == "warmup" else "measure",
            outcome=outcome,
            status=status,
            error=error,
            streaming=first_ms is not None or outcome != "ok",
            event_ns=tuple(sent + at for at in offsets),
            event_kind=tuple(REASONING if at < answer_ns else CONTENT for at in offsets),
            prompt_tokens=self._count("usage_prompt_tokens", "input_sequence_length"),
            completion_tokens=self._count("output_sequence_length", "usage_completion_tokens"),
            reasoning_tokens=self._count("usage_reasoning_tokens", "reasoning_token_count"),
            cached_tokens=self._count("usage_prompt_cache_read_tokens"),
        )

    def _offsets_ns(self) -> list[int]:
        """Events, in ns from the request's start: TTFT and the gaps; of an answer that came whole its end."""
        first, latency = self._ms("time_to_first_token"), self._ms("request_latency")
        if first is None:
            return [] if latency is None else [round(latency * _NS_PER_MS)]
        where = f"{self.where}: metrics.{_GAPS}"
        gaps = [duration(gap, where) for gap in listing(self._value(_GAPS), where)]
        offsets = [round(at * _NS_PER_MS) for at in accumulate([first, *gaps])]
        if self.without_gaps and latency is not None:
            # The last token's instant is all there is beside the first's.
            offsets.append(round(latency * _NS_PER_MS))
        return offsets

    @property
    def without_gaps(self) -> bool:
        """A streamed answer of several chunks whose gaps are not in the record."""
        first, latency = self._ms("time_to_first_token"), self._ms("request_latency")
        return first is not None and latency is not None and latency > first and not self._value(_GAPS)

    def _outcome(self, had_token: bool) -> tuple[str, int | None, str | None]:
        if self.metadata.get("was_cancelled"):
            return "cancelled", None, None
        if self.error is None:
            return ("ok" if had_token else "empty"), None, None
        details = mapping(self.error, f"{self.where}: error")
        text = error_text(f"{details.get('type') or ''}: {details.get('message') or ''}") or ""
        code = details.get("code")
        outcome, status = outcome_of(text, had_token=had_token, code=code if isinstance(code, int) else None)
        return outcome, status, text


def _summary(path: Path) -> dict[str, Any]:
    """The summary that AIPerf writes beside the records; empty where there is none."""
    stem = path.name.removesuffix(".jsonl")
    for name in (f"{stem}_aiperf.json", f"{stem}.json"):
        beside = path.with_name(name)
        if beside.is_file():
            document = read_document(beside)
            if isinstance(document, dict) and "aiperf_version" in document:
                return document
    return {}


def _config(summary: dict[str, Any]) -> dict[str, Any]:
    config = summary.get("input_config")
    return config if isinstance(config, dict) else {}


def _endpoint(summary: dict[str, Any]) -> dict[str, Any]:
    endpoint = _config(summary).get("endpoint")
    return endpoint if isinstance(endpoint, dict) else {}


def _model(summary: dict[str, Any]) -> str | None:
    models = _config(summary).get("models")
    first = _first(models.get("items")) if isinstance(models, dict) else None
    return name_if(first.get("name")) if isinstance(first, dict) else None


def _first(found: Any) -> Any:
    return found[0] if isinstance(found, list) and found else None


def _load(summary: dict[str, Any]) -> dict[str, Any]:
    """The arrivals of the profiled phase, where the summary names them."""
    phases = _config(summary).get("phases")
    for phase in phases if isinstance(phases, list) else []:
        if not isinstance(phase, dict) or phase.get("kind") == "warmup":
            continue
        kind, rate, most = (
            phase.get("type"),
            positive_if(phase.get("rate")),
            positive_if(phase.get("concurrency")),
        )
        if kind == "concurrency" and most is not None:
            return {"arrival": {"kind": "closed", "concurrency": int(most)}}
        if kind in ("poisson", "constant", "gamma") and rate is not None:
            arrival = {"kind": kind, "rate_requests_s": rate}
            if kind == "gamma":
                arrival["burstiness"] = positive_if(phase.get("smoothness")) or 1.0
            cap = {} if most is None else {"concurrency_cap": int(most)}
            return {"arrival": arrival, **cap}
    return {}


def _figures(summary: dict[str, Any], where: str) -> dict[str, dict[str, float | None]]:
    figures = {}
    for name, theirs in _FIGURES.items():
        found = mapping(summary.get(theirs), f"{where}: {theirs}")
        if not found:
            continue
        n = number_or_none(found.get("count"), f"{where}: {theirs}.count")
        values = {q: number_or_none(found.get(q), f"{where}: {theirs}.{q}") for q in _QUANTILES}
        figures[name] = {
            "n": 1.0 if n is None else n,
            "mean": number(found.get("avg"), f"{where}: {theirs}.avg"),
            **values,
        }
    return figures


_QUANTILES = ("p50", "p90", "p95", "p99", "max")

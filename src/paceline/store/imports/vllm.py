"""The result of `vllm bench serve --save-result`, with `--save-detailed` or without: one run a document.

Read in vllm/benchmarks/serve.py (009e6d4a) and vllm/benchmarks/lib/endpoint_request_func.py (02cfb534). With
`--append-result` a file holds several documents, a line each.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from paceline.store.imports.fields import (
    bad,
    count_or_none,
    duration,
    error_text,
    listing,
    name_if,
    number,
    number_or_none,
    positive_if,
    text_if,
)
from paceline.store.imports.outcomes import outcome_of
from paceline.store.imports.run import ImportedRow, ImportedRun

TOOL = "vllm"
RATES = "rates"
_NS_PER_S = 1e9
_FIGURES = {"ttft_ms": "ttft_ms", "itl_ms": "itl_ms", "tpot_ms": "tpot_ms", "e2e_ms": "e2el_ms"}
_RATES = {"output_tok_s": "output_throughput", "requests_s": "request_throughput"}
_PROTOCOLS = {
    "openai-chat": "openai-chat",
    "openai": "openai-completions",
    "vllm": "openai-completions",
    "openai-embeddings": "openai-embeddings",
}


def is_result(document: Any) -> bool:
    """Whether a document looks like a result of `vllm bench serve`."""
    return isinstance(document, dict) and "request_throughput" in document and "completed" in document


def read_result(document: dict[str, Any], where: str) -> ImportedRun:
    """The run of one result. Raises ConfigError."""
    if not is_result(document):
        raise bad(where, "this is no result of vllm bench serve")
    detailed = "ttfts" in document
    told = _Told(document, where) if detailed else None
    rows = told.rows() if told else []
    lacks = (
        [] if detailed else ["requests: the file holds totals alone (it was saved without --save-detailed)"]
    )
    if told and not told.placed:
        lacks.append("when each request began: there are no rates and no timeline")
    began = _date(document)
    return ImportedRun(
        tool=TOOL,
        tool_version=None,
        rows=rows,
        model=name_if(document.get("model_id")),
        protocol=_PROTOCOLS.get(str(document.get("backend") or document.get("endpoint_type"))),
        started_at=began,
        load=_load(document, where),
        lacks=(*lacks, "the endpoint, the tool's version, and when a connection was opened"),
        assumptions=_assumptions(document, detailed=detailed),
        hidden=() if told is None or told.placed else (RATES,),
        figures=_figures(document, where),
    )


def _assumptions(document: dict[str, Any], *, detailed: bool) -> tuple[str, ...]:
    found = []
    if detailed:
        found += [
            "arrivals of events are put together from TTFT and ITLs",
            "the first and the last event of an answer may have had no token: the tool takes a role and a "
            "finish reason for one",
            "tokens are the server's usage or, where it sent none, the tool's own count",
        ]
    if _date(document) is not None:
        found.append("the date has no zone and is taken for UTC")
    return tuple(found)


class _Told:
    """The lists of a detailed result, an item a request. `placed`: they say when each began."""

    def __init__(self, document: dict[str, Any], where: str) -> None:
        self.document, self.where = document, where
        self.ttfts = self._list("ttfts")
        self.itls = self._list("itls")
        self.n = len(self.ttfts)
        for name in ("itls", "output_lens", "input_lens", "errors"):
            found = document.get(name)
            if found is not None and len(self._list(name)) != self.n:
                raise bad(f"{where}: {name}", f"{len(found)} items, where ttfts has {self.n}")
        starts = self._list("start_times")
        self.placed = bool(starts)
        if starts and len(starts) != self.n:
            raise bad(f"{where}: start_times", f"{len(starts)} items, where ttfts has {self.n}")
        self.starts = [number(at, f"{where}: start_times[{k}]") for k, at in enumerate(starts)] or [
            0.0
        ] * self.n

    def _list(self, name: str) -> list[Any]:
        return listing(self.document.get(name), f"{self.where}: {name}")

    def _item(self, name: str, k: int) -> Any:
        found = self.document.get(name)
        return found[k] if isinstance(found, list) and k < len(found) else None

    def rows(self) -> Sequence[ImportedRow]:
        """All requests in order of their begin."""
        if not self.n:
            raise bad(self.where, "the result holds no request")
        origin_s = min(self.starts)
        order = sorted(range(self.n), key=lambda k: self.starts[k])
        return [self._row(k, self.starts[k] - origin_s) for k in order]

    def _row(self, k: int, begun_s: float) -> ImportedRow:
        sent = round(begun_s * _NS_PER_S)
        ttft = duration(self.ttfts[k], f"{self.where}: ttfts[{k}]")
        where = f"{self.where}: itls[{k}]"
        gaps = [duration(gap, where) for gap in listing(self.itls[k] if self.itls else None, where)]
        error = error_text(self._item("errors", k))
        had_token = ttft > 0.0
        events = tuple(sent + round(at * _NS_PER_S) for at in accumulate([ttft, *gaps])) if had_token else ()
        outcome, status = "ok", None
        if error or not had_token:
            outcome, status = outcome_of(error or "", had_token=had_token)
        queued = self._item("queue_times", k)
        waited = 0.0 if queued is None else duration(queued, f"{self.where}: queue_times[{k}]")
        return ImportedRow(
            sent_ns=sent,
            due_ns=sent - round(waited * _NS_PER_S),
            # A failed request has no later instant in the file than its last event, or its begin.
            end_ns=events[-1] if events else sent,
            outcome=outcome,
            status=status,
            error=error if outcome != "ok" else None,
            event_ns=events,
            prompt_tokens=count_or_none(self._item("input_lens", k), f"{self.where}: input_lens[{k}]"),
            completion_tokens=self._tokens(k) if outcome == "ok" else None,
            text=text_if(self._item("generated_texts", k)) or "",
        )

    def _tokens(self, k: int) -> int | None:
        return count_or_none(self._item("output_lens", k), f"{self.where}: output_lens[{k}]")


def _load(document: dict[str, Any], where: str) -> dict[str, Any]:
    """The arrivals: at a rate, or all at once under a cap, which is a closed loop."""
    cap = count_or_none(document.get("max_concurrency"), f"{where}: max_concurrency")
    n = count_or_none(document.get("num_prompts"), f"{where}: num_prompts")
    rate = positive_if(document.get("request_rate"))
    length = {"requests": n} if n else {}
    if rate is None:
        loop = cap or n
        return {"arrival": {"kind": "closed", "concurrency": loop}, **length} if loop else {}
    limits = {"concurrency_cap": cap} if cap else {}
    if document.get("ramp_up_strategy") is not None:
        arrival: dict[str, Any] = {
            "kind": "ramp",
            "from_requests_s": number(document.get("ramp_up_start_rps"), f"{where}: ramp_up_start_rps"),
            "to_requests_s": number(document.get("ramp_up_end_rps"), f"{where}: ramp_up_end_rps"),
        }
        return {"arrival": arrival, **limits, **length}
    burstiness = number_or_none(document.get("burstiness"), f"{where}: burstiness")
    arrival = {"kind": "poisson", "rate_requests_s": rate}
    if burstiness is not None and burstiness > 0.0 and burstiness != 1.0:
        arrival |= {"kind": "gamma", "burstiness": burstiness}
    return {"arrival": arrival, **limits, **length}


def _figures(document: dict[str, Any], where: str) -> dict[str, dict[str, float | None]]:
    figures: dict[str, dict[str, float | None]] = {}
    completed = number_or_none(document.get("completed"), f"{where}: completed")
    for name, theirs in _FIGURES.items():
        found = {
            key: number_or_none(document.get(f"{prefix}_{theirs}"), f"{where}: {prefix}_{theirs}")
            for key, prefix in (
                ("mean", "mean"),
                ("p50", "median"),
                ("p90", "p90"),
                ("p95", "p95"),
                ("p99", "p99"),
            )
        }
        if any(value is not None for value in found.values()):
            figures[name] = {"n": completed, **found}
    for name, theirs in _RATES.items():
        value = number_or_none(document.get(theirs), f"{where}: {theirs}")
        if value is not None:
            figures[name] = {"n": 1.0, "mean": value}
    return figures


def _date(document: dict[str, Any]) -> datetime | None:
    try:
        return datetime.strptime(str(document.get("date")), "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None

"""The server's side of a run, as its own metrics and NVML tell it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from paceline.report.figures import number
from paceline.stats.frame import Frame
from paceline.stats.quantiles import percentile
from paceline.stats.server import (
    Figures,
    Series,
    TokenCheck,
    check_tokens,
    figures,
    is_gpu,
    power_w,
    ratio,
    series_of,
    steady_spans,
)
from paceline.stats.server_hangups import AfterHangUp, after_hangups
from paceline.stats.server_quantities import QUANTITIES
from paceline.stats.steady import Throughput, Window
from paceline.stats.tokens import TokenCounts
from paceline.store.manifest import RunManifest

TOKENS = "generation_tokens_total"


@dataclass(frozen=True)
class ServerFigures:
    """`told`: the manifest's `server`. `series`, `figures`: of the server, then of the GPUs, in pairs.

    `acceptance`, `cache_hits`: shares, over the steady windows. `watts`: all GPUs of this machine together.
    `joules_a_token`: that, over the tokens that the client received a second in the same windows. `hung_up`:
    some callers did.
    """

    told: Mapping[str, Any]
    series: tuple[Series, ...]
    figures: tuple[Figures, ...]
    acceptance: float | None = None
    cache_hits: float | None = None
    tokens: TokenCheck | None = None
    hangups: AfterHangUp | None = None
    watts: float | None = None
    joules_a_token: float | None = None
    hung_up: bool = False

    @property
    def title(self) -> str:
        """The engine; empty where only GPUs were sampled. A run may have been resumed without its metrics."""
        known = str((self.told.get("metrics") or {}).get("title", ""))
        return known or next((series.source for series, _ in self.of_server()), "")

    @property
    def gpu_names(self) -> list[str]:
        """As the driver names them."""
        return [str(name) for name in (self.told.get("gpus") or {}).get("names", [])]

    def of_server(self) -> list[tuple[Series, Figures]]:
        """What the server said."""
        return [pair for pair in self.pairs() if not is_gpu(pair[0])]

    def of_gpus(self) -> list[tuple[Series, Figures]]:
        """What NVML said."""
        return [pair for pair in self.pairs() if is_gpu(pair[0])]

    def pairs(self) -> list[tuple[Series, Figures]]:
        """All that was said at all."""
        return list(zip(self.series, self.figures, strict=True))

    def to_dict(self) -> dict[str, Any]:
        """`server` of `paceline.report/1` (docs/reference/report.md)."""
        metrics = self.told.get("metrics") or {}
        looks = metrics.get("looks") or {}
        check, after = self.tokens, self.hangups
        return {
            "engine": metrics.get("engine"),
            "url": metrics.get("url"),
            "every_ms": number(float(self.told.get("every_ns", 0)) / 1e6),
            "looks": {"n": looks.get("n", 0), "failed": looks.get("failed", 0)},
            "figures": {series.name: _dict(series, found) for series, found in self.of_server()},
            "speculative_acceptance": number(self.acceptance),
            "prefix_cache_hit_share": number(self.cache_hits),
            "generated_tokens": None if check is None else _check_dict(check),
            "after_hangups": None if after is None else _after_dict(after),
            "gpus": [
                {
                    "source": source,
                    "name": name,
                    "figures": {s.name: _dict(s, found) for s, found in self.of_gpus() if s.source == source},
                }
                for source, name in ((f"gpu{i}", name) for i, name in enumerate(self.gpu_names))
            ],
            "gpu_power_w": number(self.watts),
            "joules_per_token": number(self.joules_a_token),
        }


def _dict(series: Series, found: Figures) -> dict[str, Any]:
    said: dict[str, Any] = {"kind": series.kind, "n": found.n}
    if series.kind == "gauge":
        return {**said, "mean": number(found.mean), "max": number(found.max)}
    return {
        **said,
        "total": number(found.total),
        "per_second": number(found.a_second),
        "resets": found.resets,
    }


def _check_dict(check: TokenCheck) -> dict[str, Any]:
    return {
        "server": number(check.server),
        "client": number(check.client),
        "slack": number(check.slack),
        "seconds": number(check.seconds),
        "counted_at_end": check.at_end,
        "agree": check.agree,
    }


def _after_dict(after: AfterHangUp) -> dict[str, Any]:
    ends = {
        name: {"p50": percentile(values, 0.5), "max": float(values.max())} if after.n else None
        for name, values in (("at_least_ms", after.at_least_ms), ("at_most_ms", after.at_most_ms))
    }
    return {"n": after.n, **ends, "every_ms": number(after.every_ms), "why_not": after.why or None}


def server_figures(
    manifest: RunManifest,
    samples: pa.Table,
    rows: pa.Table,
    origins: Mapping[int, int],
    *,
    counts: TokenCounts,
    windows: Sequence[Window],
    pace: Throughput,
) -> ServerFigures | None:
    """Everything that the samples tell; None without any."""
    if not samples.num_rows:
        return None
    told = manifest.server or {}
    metrics = told.get("metrics") or {}
    series = [
        one for one in series_of(samples) if is_gpu(one) or one.source == metrics.get("engine", one.source)
    ]
    order = list(QUANTITIES)
    # Paceline's own names in their order, then a user's, then GPUs one by one.
    series.sort(
        key=lambda one: (is_gpu(one), one.source, order.index(one.name) if one.name in order else len(order))
    )
    spans = steady_spans(windows)
    found = [figures(one, spans) for one in series]
    by_name = {one.name: one for one in series if not is_gpu(one)}
    of = {one.name: figure for one, figure in zip(series, found, strict=True) if not is_gpu(one)}
    at_end = TOKENS in metrics.get("counted_at_end", [])
    running = by_name.get("running_requests")
    watts = power_w(series, spans)
    return ServerFigures(
        told=told,
        series=tuple(series),
        figures=tuple(found),
        acceptance=_share(
            ratio(of.get("speculative_accepted"), of.get("speculative_drafted")),
            of.get("speculative_acceptance"),
        ),
        cache_hits=_share(
            ratio(of.get("prefix_cache_hits"), of.get("prefix_cache_queries")),
            of.get("prefix_cache_hit_share"),
        ),
        tokens=check_tokens(by_name[TOKENS], rows, origins, counts, at_end=at_end)
        if TOKENS in by_name
        else None,
        hangups=after_hangups(running, by_name.get("waiting_requests"), rows, origins) if running else None,
        watts=watts,
        joules_a_token=watts / pace.output_tok_s if watts is not None and pace.output_tok_s else None,
        hung_up=bool(Frame(rows).equals("outcome", "hung_up").any()),
    )


def _share(counted: float | None, said: Figures | None) -> float | None:
    """By the counters; where there are none, the mean of what the server says."""
    return counted if counted is not None or said is None else said.mean

"""A run under several definitions: one model for the text and for `paceline.conformance/1`."""

import math
from dataclasses import dataclass, replace
from typing import Any

from paceline.report.conformance.definition import METRICS, Definition, Difference, View
from paceline.report.conformance.figures import NOTHING, QUANTILES, Figure
from paceline.report.conformance.parts import new_connections
from paceline.report.conformance.recording import Recording, recording_of
from paceline.report.figures import json_text
from paceline.report.imported import RATES, hidden_metrics
from paceline.report.model import Report
from paceline.stats.metrics import METRICS as OWN_METRICS
from paceline.stats.quantiles import Estimate
from paceline.store.manifest import RunManifest

SCHEMA = "paceline.conformance/1"
# Ours of the same name; rates come from the steady part.
_RATES = ("output_tok_s", "requests_s")
_OWN_WORDS = {
    "itl_ms": "gaps between token-bearing events, pooled, each divided among the tokens its event carries",
    "output_tok_s": "tokens of the measured requests a second, over the steady part",
    "requests_s": "measured requests a second that ended `ok`, or hung up as planned, over the steady part",
}
OWN_MEANING = {name: _OWN_WORDS.get(name) or OWN_METRICS[name].definition for name in METRICS}
"""What our figures of the view mean, by metric."""


@dataclass(frozen=True)
class Touch:
    """A difference, and how many requests of this run it concerns (None: not in our events)."""

    difference: Difference
    requests: int | None


@dataclass(frozen=True)
class ToolView:
    """A run under one tool's definition. `printed`: what its own file says, of an imported run."""

    definition: Definition
    view: View
    touches: tuple[Touch, ...]
    printed: dict[str, Figure]

    def own_would_be(self, metric: str) -> list[str]:
        """How the tool's own figure of a metric would differ from the one here."""
        return [
            touch.difference.own
            for touch in self.touches
            if touch.difference.own and metric in touch.difference.metrics and touch.requests != 0
        ]


@dataclass(frozen=True)
class Conformance:
    """A run under our definitions and those of tools. `own`: ours, by metric."""

    report: Report
    recording: Recording
    own: dict[str, Figure]
    tools: tuple[ToolView, ...]

    @property
    def new_connections(self) -> int:
        """Measured requests for which a connection was opened."""
        return new_connections(self.recording)

    def to_dict(self) -> dict[str, Any]:
        """`paceline.conformance/1` (docs/reference/conformance.md)."""
        manifest = self.report.manifest
        return {
            "schema": SCHEMA,
            "run": {
                "id": manifest.id,
                "endpoint": manifest.endpoint,
                "model": manifest.model,
                "measured": len(self.recording),
                "new_connections": self.new_connections,
            },
            "paceline": {
                "version": manifest.version,
                "requests": self.report.ok,
                "metrics": {
                    name: {"name": name, "definition": OWN_MEANING[name], **_clean(figure.to_dict())}
                    for name, figure in self.own.items()
                },
            },
            "tools": [_tool(one) for one in self.tools],
        }

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json_text(self.to_dict())


def conformance(report: Report, tools: list[Definition]) -> Conformance:
    """The run of `report` under the definitions of `tools`; its warm-up is left out of every view."""
    evidence = report.evidence
    recording = recording_of(evidence.rows, evidence.counts, evidence.plan, evidence.origins)
    return Conformance(
        report, recording, _own(report), tuple(_view(tool, recording, report.manifest) for tool in tools)
    )


def _view(tool: Definition, recording: Recording, manifest: RunManifest) -> ToolView:
    touches = tuple(
        Touch(difference, None if difference.touches is None else difference.touches(recording))
        for difference in tool.differences
    )
    view = tool.compute(recording)
    figures = {name: _told(figure, name, tool, manifest) for name, figure in view.figures.items()}
    return ToolView(tool, replace(view, figures=figures), touches, _printed(tool, manifest))


def _told(figure: Figure, name: str, tool: Definition, manifest: RunManifest) -> Figure:
    """The figure, as far as the rows of an imported run tell it."""
    hidden = hidden_metrics(manifest)
    if name in _RATES:
        if RATES in hidden:
            return NOTHING
        # A rate from one instant to the next needs them all.
        return Figure(figure.n, figure.mean) if hidden and name == "output_tok_s" else figure
    return NOTHING if name in tool.by_gaps and "chunk_gap_ms" in hidden else figure


def _printed(tool: Definition, manifest: RunManifest) -> dict[str, Figure]:
    """What the tool's own file says, of a run imported from it."""
    imported = manifest.imported or {}
    if imported.get("tool") != tool.name:
        return {}
    return {
        name: Figure(
            int(1 if told.get("n") is None else told["n"]),
            **{key: told.get(key) for key in ("mean", *QUANTILES, "max")},
        )
        for name, told in imported.get("figures", {}).items()
        if name in tool.metrics
    }


def _own(report: Report) -> dict[str, Figure]:
    pace = report.evidence.throughput
    rates = {"output_tok_s": pace.output_tok_s, "requests_s": pace.requests_s}
    own = {}
    for name in METRICS:
        if name in rates:
            value = rates[name]
            own[name] = NOTHING if value is None else Figure(1, value)
            continue
        metric = report.metrics.get(name)
        if metric is None:
            own[name] = NOTHING
            continue
        summary = metric.summary
        quantiles = {quantile: _value(metric.quantile(quantile)) for quantile in QUANTILES}
        own[name] = Figure(summary.n, summary.mean, **quantiles, max=summary.max)
    return own


def _value(estimate: Estimate) -> float | None:
    return estimate.value if estimate.known and math.isfinite(estimate.value) else None


def _tool(one: ToolView) -> dict[str, Any]:
    definition, view = one.definition, one.view
    return {
        "tool": definition.name,
        "title": definition.title,
        "version": definition.version,
        "sources": [
            {
                "repository": source.repository,
                "file": source.file,
                "at": source.at,
                "read_on": source.read_on,
            }
            for source in definition.sources
        ],
        "requests": {"counted": view.requests, "rule": definition.requests},
        "window": {"seconds": view.seconds, "rule": definition.window},
        "output_tokens": {"counted": view.output_tokens, "rule": definition.tokens},
        "start": definition.start,
        "percentiles": definition.percentiles,
        "metrics": {
            name: {
                "name": meaning.name,
                "definition": meaning.words,
                **_clean(view.figures.get(name, NOTHING).to_dict()),
            }
            for name, meaning in definition.metrics.items()
        },
        "differences": [
            {
                "metrics": list(touch.difference.metrics),
                "why": touch.difference.words,
                "requests": touch.requests,
                "in_these_figures": touch.difference.shown,
                "its_own": touch.difference.own or None,
            }
            for touch in one.touches
        ],
        "printed": {name: _clean(figure.to_dict()) for name, figure in one.printed.items()},
    }


def _clean(figure: dict[str, float | int | None]) -> dict[str, float | int | None]:
    return {
        name: None if value is None or not math.isfinite(value) else value for name, value in figure.items()
    }

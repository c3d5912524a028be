"""A study's report: one model of its points, for every renderer. As JSON it is `paceline.study-report/1`."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from paceline.report.figures import clean, json_text
from paceline.report.study_drift import drifted
from paceline.store.studies import StoredStudy, StudyManifest, StudyStep

SCHEMA = "paceline.study-report/1"
LOAD_AXES = ("concurrency", "rate")
# Three values are the fewest whose spread says something.
_FEWEST_FOR_SPREAD = 3
_MOST_INVALID = 0.2
FIGURES = (
    *("ttft_p50_ms", "ttft_p95_ms", "itl_p50_ms", "e2e_p50_ms", "e2e_mean_ms"),
    *("user_tok_s", "output_tok_s", "requests_s", "goodput_requests_s", "met_share", "power"),
)
Trust = Literal["trusted", "suspect", "invalid"]
_TRUST: tuple[Trust, ...] = ("trusted", "suspect", "invalid")


@dataclass(frozen=True)
class Band:
    """A figure of a point and its 95 % interval; the ends are None where nothing gives one."""

    value: float
    lo: float | None = None
    hi: float | None = None


@dataclass(frozen=True)
class Point:
    """One point of the grid: its steps taken together.

    `figures`: of FIGURES those that there are. `attempted`, `met`: requests of all its steps. `overloaded`:
    steps that were cut short.
    """

    at: dict[str, Any]
    steps: int
    attempted: int
    met: int | None
    overloaded: int
    trust: Trust
    figures: dict[str, Band]

    def value(self, name: str) -> float | None:
        """A figure without its interval; None where there is none."""
        band = self.figures.get(name)
        return None if band is None else band.value


@dataclass(frozen=True)
class Doubt:
    """A kind of reason to doubt steps: in how many it was found, and what it said in the first of them."""

    code: str
    text: str
    steps: int


@dataclass(frozen=True)
class Knee:
    """Where throughput over latency, Kleinrock's power, is greatest, among the points of one series.

    `index`: of the point; None: too few points. `edge`: it is the first or the last one measured, so that the
    knee itself may lie beyond.
    """

    index: int | None
    edge: Literal["lowest", "highest"] | None = None


@dataclass(frozen=True)
class Series:
    """Points that differ only in `x`, by ascending x. `label`: what else they are at, or nothing."""

    label: str
    points: tuple[Point, ...]
    knee: Knee


@dataclass(frozen=True)
class StudyReport:
    """What a study has shown. `x`: the axis that curves are drawn over."""

    manifest: StudyManifest
    state: str
    x: str
    series: tuple[Series, ...]

    @property
    def points(self) -> list[Point]:
        """All points, series by series."""
        return [point for series in self.series for point in series.points]

    @property
    def slo(self) -> dict[str, float]:
        """Metric -> limit."""
        return self.manifest.asked.get("slo") or {}

    @property
    def numeric(self) -> bool:
        """Whether x is a number."""
        return all(_number(point.at.get(self.x)) is not None for point in self.points)

    @property
    def trust(self) -> Trust:
        """Of all steps: `invalid` when more than a fifth are, or there is none; `suspect` when any is not
        trusted, or repeats of a point contradict each other.
        """
        verdicts = [_trust(step.figures) for step in self.manifest.steps]
        if not verdicts or verdicts.count("invalid") > _MOST_INVALID * len(verdicts):
            return "invalid"
        trusted = verdicts.count("trusted") == len(verdicts) and drifted(self.manifest.steps) is None
        return "trusted" if trusted else "suspect"

    @property
    def reasons(self) -> list[Doubt]:
        """Why steps are not trusted, a reason of each kind; the most frequent first."""
        if not self.manifest.steps:
            return [Doubt("no_step", "no step has ended: nothing is measured yet", 0)]
        found: dict[str, Doubt] = {}
        for step in self.manifest.steps:
            for reason in step.figures.get("reasons") or ():
                before = found.get(reason["code"])
                n = 1 if before is None else before.steps + 1
                text = reason["text"] if before is None else before.text
                found[reason["code"]] = Doubt(reason["code"], text, n)
        drift = drifted(self.manifest.steps)
        if drift is not None:
            found["drift"] = Doubt("drift", drift[1], drift[0])
        return sorted(found.values(), key=lambda doubt: -doubt.steps)

    def to_dict(self) -> dict[str, Any]:
        """`paceline.study-report/1` (docs/reference/study.md)."""
        manifest = self.manifest
        asked = {key: value for key, value in manifest.asked.items() if key != "connection"}
        return {
            "schema": SCHEMA,
            "study": {
                "id": manifest.id,
                "name": manifest.name,
                "kind": manifest.kind,
                "state": self.state,
                "started_at": manifest.started_at.isoformat(),
                "endpoint": manifest.endpoint,
                "model": manifest.model,
                "protocol": manifest.protocol,
                "version": manifest.version,
                "asked": clean(asked),
            },
            "trust": {
                "verdict": self.trust,
                "reasons": [asdict(doubt) for doubt in self.reasons],
            },
            "result": clean(manifest.result),
            "x": self.x,
            "series": [_series_dict(series) for series in self.series],
            "steps": [_step_dict(step) for step in manifest.steps],
        }

    def to_json(self) -> str:
        """The document as text, with a line end."""
        return json_text(self.to_dict())


def build_study_report(study: StoredStudy) -> StudyReport:
    """The report of a stored study, whole or cut off. Its runs are not needed."""
    manifest = study.manifest
    axes = list(dict.fromkeys(name for step in manifest.steps for name in step.at))
    x = next((name for name in axes if name in LOAD_AXES), axes[0] if axes else "concurrency")
    groups: dict[str, dict[str, list[StudyStep]]] = {}
    for step in manifest.steps:
        label = ", ".join(f"{name}={given_word(value)}" for name, value in step.at.items() if name != x)
        groups.setdefault(label, {}).setdefault(json.dumps(step.at.get(x)), []).append(step)
    series = []
    for label, by_x in sorted(groups.items()):
        points = [_point(steps) for steps in by_x.values()]
        # Texts keep the order in which they were given.
        points.sort(key=lambda point: _number(point.at.get(x)) or 0.0)
        knee = find_knee([point.value("power") for point in points]) if x in LOAD_AXES else Knee(None)
        series.append(Series(label, tuple(points), knee))
    return StudyReport(manifest, study.state, x, tuple(series))


def find_knee(power: Sequence[float | None]) -> Knee:
    """The place of the greatest power (Kleinrock 1979), of points in order of load.

    Power is throughput over mean response time: to its left more load costs little time, to its right it
    costs more than it brings.
    """
    known = [place for place, value in enumerate(power) if value is not None]
    if len(known) < _FEWEST_FOR_SPREAD:
        return Knee(None)
    best = max(known, key=lambda place: power[place] or 0.0)
    edge: Literal["lowest", "highest"] | None = None
    if best == known[0]:
        edge = "lowest"
    elif best == known[-1]:
        edge = "highest"
    return Knee(best, edge)


def _point(steps: list[StudyStep]) -> Point:
    # A step that was cut short shows that the load was too much, and no figure of it is of a steady endpoint.
    whole = [step.figures for step in steps if step.overload is None]
    figures = {}
    for name in FIGURES:
        bands = [band for band in (_figure(one, name) for one in whole) if band is not None]
        if bands:
            figures[name] = pooled(bands)
    counted = [step.figures for step in steps]
    met = [one["met"] for one in counted if one.get("met") is not None]
    return Point(
        at=steps[0].at,
        steps=len(steps),
        attempted=sum(int(one.get("attempted") or 0) for one in counted),
        met=sum(met) if len(met) == len(counted) else None,
        overloaded=sum(step.overload is not None for step in steps),
        trust=max((_trust(one) for one in counted), key=_TRUST.index),
        figures=figures,
    )


def pooled(bands: Sequence[Band]) -> Band:
    """The mean of steps, with its interval.

    From three steps on Student's t over the steps, whatever went on within them; below that the widest of
    the steps' own intervals.
    """
    values = [band.value for band in bands]
    mean = sum(values) / len(values)
    if len(values) >= _FEWEST_FOR_SPREAD:
        from scipy.special import stdtrit

        variance = sum((value - mean) ** 2 for value in values) / (len(values) - 1)
        half = float(stdtrit(len(values) - 1, 0.975)) * math.sqrt(variance / len(values))
        return Band(mean, max(mean - half, 0.0), mean + half)
    lows = [band.lo for band in bands if band.lo is not None]
    highs = [band.hi for band in bands if band.hi is not None]
    return Band(
        mean,
        min(lows) if len(lows) == len(bands) else None,
        max(highs) if len(highs) == len(bands) else None,
    )


def _figure(figures: dict[str, Any], name: str) -> Band | None:
    """One figure of one step, with the interval that the step itself gives."""
    if name in ("e2e_mean_ms", "output_tok_s", "requests_s", "goodput_requests_s"):
        return _plain(figures.get(name))
    if name == "power":
        rate, mean = figures.get("requests_s"), figures.get("e2e_mean_ms")
        return _plain(rate / (mean / 1e3)) if rate and mean else None
    if name == "met_share":
        return _share(figures.get("met"), int(figures.get("attempted") or 0))
    metric, quantile = {"user_tok_s": ("user_tok_s", "p50")}.get(name) or tuple(name.split("_")[:2])
    found = (figures.get(metric) or {}).get(quantile) or {}
    value = found.get("value")
    return None if value is None else Band(value, found.get("lo"), found.get("hi"))


def _plain(value: float | None) -> Band | None:
    return None if value is None else Band(float(value))


def _share(met: int | None, attempted: int) -> Band | None:
    """A share with Wilson's interval (1927), as if requests were independent."""
    if met is None or attempted == 0:
        return None
    z = 1.959964
    share, spread = met / attempted, z * z / attempted
    middle = (share + spread / 2.0) / (1.0 + spread)
    half = z / (1.0 + spread) * math.sqrt(share * (1.0 - share) / attempted + spread / (4.0 * attempted))
    return Band(share, max(middle - half, 0.0), min(middle + half, 1.0))


def _trust(figures: dict[str, Any]) -> Trust:
    verdict = figures.get("trust")
    return verdict if verdict in _TRUST else "trusted"


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def given_word(value: Any) -> str:
    """As it was given: true, and not Python's True."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _series_dict(series: Series) -> dict[str, Any]:
    return {
        "label": series.label,
        "knee": asdict(series.knee),
        "points": [
            {
                "at": point.at,
                "steps": point.steps,
                "attempted": point.attempted,
                "met": point.met,
                "overloaded": point.overloaded,
                "trust": point.trust,
                "figures": clean({name: asdict(band) for name, band in point.figures.items()}),
            }
            for point in series.points
        ],
    }


def _step_dict(step: StudyStep) -> dict[str, Any]:
    found: dict[str, Any] = clean(
        {
            "number": step.number,
            "at": step.at,
            "repeat": step.repeat,
            "run_id": step.run_id,
            "overload": step.overload,
            "seconds": step.seconds,
            "attempted": step.figures.get("attempted"),
            "met": step.figures.get("met"),
            "trust": step.figures.get("trust"),
            "client_failed": step.figures.get("client_failed"),
        }
    )
    return found

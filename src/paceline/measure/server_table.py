"""The table from engines' metrics to Paceline's names: `server_metrics.toml`, and a user's own over it."""

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from paceline.config import validate
from paceline.errors import ConfigError
from paceline.measure.exposition import Sample, read_page
from paceline.stats.server_quantities import QUANTITIES, Kind

MAX_FILE_BYTES = 1_000_000
_OWN_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_METRIC_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")
# Tokens, bytes, joules: nothing that is counted comes near.
_TOO_MUCH = 1e18
_HINT = "docs/reference/server-metrics.md shows the form"


def _names(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _metric_names(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not _METRIC_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a metric; labels go into `labels`")
    return names


def _paths(paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if not re.fullmatch(r"/[!-~]{0,199}", path):
            raise ValueError(f"{path!r} is no path; it begins with / and has no blanks")
    return paths


class Line(BaseModel):
    """One line of the table.

    `from`: the metric, the first of several that the page has. `plus`: metrics that are added to it, all of
    them. `labels`: only samples with these. `scale`: the value is multiplied by it. `combine`: what becomes
    of several samples; `sum`, if nothing is said, and `mean` for shares. `counted`: whether a counter grows
    along the way, or at a request's end. `kind`: only for a name that Paceline does not have.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: str
    metric: Annotated[tuple[str, ...], AfterValidator(_metric_names)] = Field(alias="from", min_length=1)
    plus: Annotated[tuple[str, ...], AfterValidator(_metric_names)] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    scale: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    combine: Literal["sum", "mean", "max"] | None = None
    counted: Literal["progress", "end"] = "progress"
    kind: Kind | None = None

    @model_validator(mode="before")
    @classmethod
    def _one_or_several(cls, data: Any) -> Any:
        return (
            {**data, "from": _names(data.get("from"))} if isinstance(data, dict) and "from" in data else data
        )

    @model_validator(mode="after")
    def _known_kind(self) -> "Line":
        known = QUANTITIES.get(self.name)
        if known is None and not _OWN_NAME.fullmatch(self.name):
            raise ValueError(f"name {self.name!r} is not of small letters, digits and _")
        if known is None and self.kind is None:
            raise ValueError(f"name {self.name!r} is not one of Paceline's: say its kind, gauge or counter")
        if known is not None and self.kind not in (None, known.kind):
            raise ValueError(f"{self.name} is a {known.kind}, not a {self.kind}")
        return self

    @property
    def its_kind(self) -> Kind:
        """Of Paceline's own name, or as the table says."""
        known = QUANTITIES.get(self.name)
        return known.kind if known is not None else self.kind or "gauge"

    def may_be(self, value: float) -> bool:
        """Whether a server can have so much of it. A gauge of the user's own may be below 0."""
        own_gauge = self.name not in QUANTITIES and self.its_kind == "gauge"
        return math.isfinite(value) if own_gauge else 0.0 <= value < _TOO_MUCH

    def value(self, samples: Sequence[Sample]) -> float | None:
        """What the page says of it; None where it says nothing."""
        found = (self._of_metric(metric, samples) for metric in self.metric)
        first = next((value for value in found if value is not None), None)
        parts = [first, *(self._of_metric(metric, samples) for metric in self.plus)]
        known = [part for part in parts if part is not None]
        return self.scale * sum(known) if len(known) == len(parts) else None

    def _of_metric(self, metric: str, samples: Sequence[Sample]) -> float | None:
        found = [one.value for one in samples if one.name == metric and self._has_labels(one)]
        return self._combined(found) if found else None

    def _has_labels(self, sample: Sample) -> bool:
        return all(sample.labels.get(name) == value for name, value in self.labels.items())

    def _combined(self, values: list[float]) -> float:
        known = QUANTITIES.get(self.name)
        share = known is not None and known.kind == "gauge" and not known.unit
        how = self.combine or ("mean" if share else "sum")
        if how == "max":
            return max(values)
        return sum(values) / (len(values) if how == "mean" else 1)


class EngineTable(BaseModel):
    """What one engine says.

    `paths`: where, from the server's root. `repeated`: labels over which one figure is shown again, as by
    each process of a group; of samples that differ in nothing else, the highest stands for all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = ""
    source: str = ""
    paths: Annotated[tuple[str, ...], AfterValidator(_paths)] = ("/metrics",)
    repeated: tuple[str, ...] = ()
    metrics: tuple[Line, ...] = ()

    @cached_property
    def wanted(self) -> frozenset[str]:
        """All metrics that are looked for."""
        return frozenset(name for one in self.metrics for name in (*one.metric, *one.plus))

    def values(self, text: str) -> dict[str, float]:
        """What a page says, by Paceline's names; nothing of a metric of which a part was left out."""
        page = read_page(text, self.wanted)
        samples = self._once_each([one for one in page.samples if one.name not in page.partial])
        found = ((one, one.value(samples)) for one in self.metrics)
        return {one.name: value for one, value in found if value is not None and one.may_be(value)}

    def _once_each(self, samples: list[Sample]) -> list[Sample]:
        if not self.repeated:
            return samples
        highest: dict[tuple[str, frozenset[tuple[str, str]]], Sample] = {}
        for one in samples:
            others = frozenset(pair for pair in one.labels.items() if pair[0] not in self.repeated)
            known = highest.get((one.name, others))
            if known is None or one.value > known.value:
                highest[one.name, others] = one
        return list(highest.values())


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    schema_name: Literal["paceline.server-metrics/1"] = Field(alias="schema")
    engine: dict[str, EngineTable]


@dataclass(frozen=True)
class ServerTable:
    """All engines by their names; a user's own come first."""

    engines: dict[str, EngineTable] = field(default_factory=dict)

    def paths(self) -> list[str]:
        """Where metrics may be, the most usual first."""
        every = [path for one in self.engines.values() for path in one.paths]
        return sorted(dict.fromkeys(every), key=lambda path: -every.count(path))

    def engine_of(self, text: str) -> str | None:
        """The engine of which a page has the most metrics; None where it has none of any."""
        found = {name: len(one.values(text)) for name, one in self.engines.items()}
        best = max(found, key=found.__getitem__, default=None)
        return best if best is not None and found[best] else None


def built_in_table() -> ServerTable:
    """The table that comes with Paceline."""
    return ServerTable(_parsed(built_in_text(), "the built-in table of metrics").engine)


def built_in_text() -> str:
    """Its file as it was written."""
    return files("paceline.measure").joinpath("server_metrics.toml").read_text(encoding="utf-8")


def load_table(path: Path | None = None) -> ServerTable:
    """The built-in table, with a user's file over it.

    An engine of the file that has the name of a built-in one adds its lines to it, and each takes the place
    of the line of the same `name`. Raises ConfigError that says what is wrong, and under which key.
    """
    table = built_in_table()
    if path is None:
        return table
    own = _parsed(_read(path), str(path)).engine
    merged = {name: _over(table.engines.get(name), one) for name, one in own.items()}
    return ServerTable({**merged, **{n: one for n, one in table.engines.items() if n not in merged}})


def _over(built_in: EngineTable | None, own: EngineTable) -> EngineTable:
    if built_in is None:
        return own
    taken = {one.name for one in own.metrics}
    kept = tuple(one for one in built_in.metrics if one.name not in taken)
    said = {name: getattr(own, name) for name in own.model_fields_set}
    return built_in.model_copy(update={**said, "metrics": (*own.metrics, *kept)})


def _parsed(text: str, where: str) -> _File:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{where} is not TOML: {error}", _HINT) from None
    return validate(_File, data, where)


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"the table of metrics {path} cannot be read: {error.strerror}", _HINT) from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"the table of metrics {path} is larger than 1 MB", _HINT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"the table of metrics {path} is not UTF-8", _HINT) from None

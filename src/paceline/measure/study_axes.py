"""What a study varies: `concurrency=1..64`, `rate=2,4,8`, `call.step.output_tokens=100..500:100`."""

import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from paceline.errors import ConfigError
from paceline.measure.job import Job
from paceline.measure.load_spec import Closed, LoadPlan, Poisson, Ramp, Replay, auto_threads
from paceline.workloads.fields import set_field
from paceline.workloads.spec import WorkloadSpec

CONCURRENCY, RATE = "concurrency", "rate"
LOAD_AXES = (CONCURRENCY, RATE)
MOST_POINTS = 1_000
_FORMS = (
    "NAME=1,2,4 or NAME=1..64 (doubling) or NAME=1..10:3 (in steps of 3); for other values a JSON list: "
    "NAME='[\"uniform:64:256\", 512]'"
)
_NUMBER = r"(?:\d+(?:\.\d+)?|\.\d+)"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?::({_NUMBER}))?")


@dataclass(frozen=True)
class Axis:
    """`name`: `concurrency`, `rate`, or a field of the workload by its dotted name."""

    name: str
    values: tuple[Any, ...]

    @classmethod
    def parse(cls, text: str) -> "Axis":
        """Read `NAME=VALUES`. Raises ConfigError."""
        name, equals, rest = (part.strip() for part in text.partition("="))
        if not equals or not name or not rest:
            raise ConfigError(f"--over {text}: that is not NAME=VALUES", f"write {_FORMS}")
        if rest.startswith("["):
            values = _json_list(name, rest)
        else:
            values = [value for part in rest.split(",") for value in _part(name, part.strip())]
        if name in LOAD_AXES:
            _check_load(name, values)
        # 1 and 1.0 are one load, true is none.
        unique = list(dict.fromkeys(json.dumps(_plain(value)) for value in values))
        return cls(name, tuple(json.loads(value) for value in unique))


def grid(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """All combinations, the first axis slowest. Raises ConfigError for an axis given twice, or too many."""
    names = [axis.name for axis in axes]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--over {name} is given twice", "give all its values in one --over")
    if math.prod(len(axis.values) for axis in axes) > MOST_POINTS:
        raise ConfigError(f"--over asks for more than {MOST_POINTS} points", "give fewer values")
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))
    ]


def job_at(job: Job, at: Mapping[str, Any], *, threads: int | None = None) -> Job:
    """The job at one point. `threads`: of the load generator, where they were named; None: by the load.

    Raises ConfigError for a workload that makes no sense there.
    """
    load = job.load
    for name in (RATE, CONCURRENCY):
        if name in at:
            load = with_load(load, name, at[name])
    if threads is None:
        load = load.model_copy(update={"threads": auto_threads(load.streams)})
    fields = {name: value for name, value in at.items() if name not in LOAD_AXES}
    if not fields:
        return replace(job, load=load)
    data = job.workload.to_dict()
    for name, value in fields.items():
        set_field(data, name, value)
    said = ", ".join(f"{name}={value}" for name, value in fields.items())
    return replace(job, load=load, workload=WorkloadSpec.parse(data, f"the workload with {said}"), jobs=None)


def with_load(load: LoadPlan, name: str, value: float) -> LoadPlan:
    """The load at another concurrency or rate. Under an open loop the concurrency is its cap."""
    arrival = load.arrival
    if isinstance(arrival, Ramp | Replay):
        raise ConfigError(
            f"--over {name} has no meaning for a {arrival.kind}", "a study needs one load in each step"
        )
    if name == CONCURRENCY:
        if isinstance(arrival, Closed):
            return load.model_copy(update={"arrival": Closed(concurrency=int(value))})
        return load.model_copy(update={"concurrency_cap": int(value)})
    if isinstance(arrival, Closed):
        return load.model_copy(update={"arrival": Poisson(rate_requests_s=value)})
    return load.model_copy(update={"arrival": arrival.model_copy(update={"rate_requests_s": value})})


def _json_list(name: str, text: str) -> list[Any]:
    try:
        values = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--over {name}: the list is not JSON: {error}", f"write {_FORMS}") from None
    if not isinstance(values, list) or not values:
        raise ConfigError(f"--over {name}: the list is empty", f"write {_FORMS}")
    return values


def _part(name: str, text: str) -> list[Any]:
    found = _RANGE.fullmatch(text)
    if found is None:
        if not text or ".." in text:
            raise ConfigError(f"--over {name}: {text!r} is no value", f"write {_FORMS}")
        return [_scalar(text)]
    first, last = float(found.group(1)), float(found.group(2))
    step = None if found.group(3) is None else float(found.group(3))
    if first > last or first <= 0.0 or step == 0.0 or math.isinf(last):
        raise ConfigError(f"--over {name}: {text} is no range upward from above 0", f"write {_FORMS}")
    if step is None:
        doublings = math.floor(math.log2(last) - math.log2(first) + 1e-9)
        values = [math.ldexp(first, k) for k in range(doublings + 1)]
        if values[-1] < last * (1.0 - 1e-9):
            values.append(last)
    else:
        steps = (last - first) / step + 1e-9
        if steps >= MOST_POINTS:
            raise ConfigError(
                f"--over {name}: {text} has more than {MOST_POINTS} values", "take a larger step"
            )
        values = [first + k * step for k in range(math.floor(steps) + 1)]
    return [round(value, 9) for value in values]


def _scalar(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _plain(value: Any) -> Any:
    """A float that is whole as an int, as far as floats hold whole numbers exactly."""
    whole = isinstance(value, float) and abs(value) <= 2.0**53 and value == int(value)
    return int(value) if whole else value


def _check_load(name: str, values: Sequence[Any]) -> None:
    for value in values:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value <= 1e6 or (name == CONCURRENCY and value != int(value)):
            whole = "a whole number" if name == CONCURRENCY else "a number"
            raise ConfigError(f"--over {name}: {value!r} is not {whole} above 0", f"write {_FORMS}")

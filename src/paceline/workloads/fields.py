"""Fields of a workload by their dotted names, as `call.step.output_tokens`."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from paceline.errors import ConfigError


def with_fields(data: Mapping[str, Any], settings: Sequence[str]) -> dict[str, Any]:
    """A workload as plain data with `NAME=VALUE` settings over it. Raises ConfigError for what is no setting.

    A value is JSON where it reads as JSON, else text: `100`, `true`, `uniform:1:9`, `[[1, 2]]`. Whether the
    field and its value make sense is for `WorkloadSpec.parse` to say.
    """
    found = deepcopy(dict(data))
    for setting in settings:
        name, mark, text = setting.partition("=")
        if not mark or not name.strip():
            raise ConfigError(
                f"{setting!r} is not NAME=VALUE", "for example --set call.step.output_tokens=200"
            )
        set_field(found, name.strip(), _value(text.strip()))
    return found


def set_field(data: dict[str, Any], name: str, value: Any) -> None:
    """Set one field in place; `call.NAME` leads to the call of that name.

    Raises ConfigError for a place that there is not, and for a field that would change no job.
    """
    check_effect(data, name)
    *path, last = name.split(".")
    place: Any = data
    for depth, part in enumerate(path):
        where = ".".join(path[: depth + 1])
        place = _named(place, part, where) if isinstance(place, list) else _inner(place, part, where)
    if not isinstance(place, dict) or not last:
        raise ConfigError(f"the workload has no field {name!r}", "call.NAME.FIELD is a field of a call")
    place[last] = value


def check_effect(data: Mapping[str, Any], name: str) -> None:
    """ConfigError where the workload's jobs would be the same whatever the field `name` is set to."""
    if name not in ("prompt_tokens", "output_tokens"):
        return
    calls = [call for call in data.get("call") or () if isinstance(call, Mapping)]
    if calls and all(call.get(name) is not None for call in calls):
        raise ConfigError(
            f"`{name}` would change nothing: each call of this workload has its own",
            f"set a call's: --set call.{calls[0].get('name')}.{name}=...",
        )
    origin = next((one for one in ("trace", "probe", "data") if data.get(one)), None)
    if origin in ("trace", "probe") or (origin == "data" and name == "prompt_tokens"):
        hint = "limit answers with max_tokens" if origin == "probe" else "leave it out"
        raise ConfigError(f"`{name}` would change nothing: lengths are those of the {origin}", hint)


def _named(calls: list[Any], name: str, where: str) -> Any:
    for call in calls:
        if isinstance(call, dict) and call.get("name") == name:
            return call
    names = ", ".join(str(call.get("name")) for call in calls if isinstance(call, dict)) or "none"
    raise ConfigError(f"{where}: there is no call {name!r}", f"the workload's calls are: {names}")


def _inner(place: Any, part: str, where: str) -> Any:
    if not isinstance(place, dict):
        raise ConfigError(f"{where}: nothing can be set there", "call.NAME.FIELD is a field of a call")
    if place.get(part) is None:
        place[part] = {}
    elif isinstance(place[part], tuple):
        place[part] = list(place[part])
    return place[part]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""Check data from a file or a caller against a pydantic model, and say plainly what is wrong with it."""

import difflib
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from paceline.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_KEY = "[key]"


def validate(
    model: type[Model], data: Mapping[str, Any], where: str, options: Mapping[str, str] | None = None
) -> Model:
    """The model, or ConfigError that names each wrong key and, for an unknown one, the closest that exists.

    `where` is the file or object that the data is from; `options`, by dotted key, what of it was given
    otherwise: such a key is called as its option. A part of a list is called by its `name`, where it has one.
    Values are not repeated in the message, since one may be a secret in the wrong place.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems: dict[str, list[str]] = {}
        hints = []
        for one in error.errors(include_url=False, include_input=False, include_context=True):
            option, path = _given_by(_path(one["loc"], data), options or {})
            problem, hint = _problem(model, one, path)
            problems.setdefault(option or where, []).append(problem)
            hints.append(hint)
        said = "; ".join(f"{place}: {'; '.join(messages)}" for place, messages in problems.items())
        raise ConfigError(said, "; ".join(dict.fromkeys(hint for hint in hints if hint)) or None) from None


def _problem(model: type[BaseModel], error: ErrorDetails, path: str) -> tuple[str, str]:
    """What is wrong at a dotted key, and what to do."""
    loc, kind, hint = error["loc"], error["type"], ""
    key = f"`{path}`" if path else ""
    if kind == "extra_forbidden":
        return f"unknown key {key}".rstrip(), _closest(str(loc[-1]), known_keys(model, loc[:-1]))
    if kind == "literal_error" and loc[-1] == _KEY:
        # A table that has a few keys of its own.
        names = re.findall(r"'([^']*)'", error["ctx"]["expected"])
        return f"unknown key {key}".rstrip(), _closest(str(loc[-2]), names)
    message = error["msg"].removeprefix("Value error, ")
    if kind == "distribution":
        message, _, hint = message.partition("; ")
    return f"{key}: {message}" if key else message, hint


def _path(loc: tuple[int | str, ...], data: Any) -> str:
    """The dotted key; a place in a list is the name of what is there, where it has one."""
    parts: list[str] = []
    for part in loc:
        if part == _KEY:
            continue
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            data = None
        name = data.get("name") if isinstance(part, int) and isinstance(data, Mapping) else None
        parts.append(name if isinstance(name, str) and _NAME.fullmatch(name) else str(part))
    return ".".join(parts)


def _given_by(path: str, options: Mapping[str, str]) -> tuple[str, str]:
    """The option that gave the key, and the key within what it gave; else "" and the key."""
    for key in sorted(options, key=len, reverse=True):
        if path == key or path.startswith(f"{key}."):
            return options[key], path[len(key) + 1 :]
    return "", path


def known_keys(model: type[BaseModel], path: tuple[int | str, ...]) -> list[str]:
    """Names that a key may have at a place in a nested model; none where the place is not a model.

    A number in the path is a place in a list of models, and leads to its model.
    """
    current: type[BaseModel] | None = model
    for part in path:
        if isinstance(part, str):
            field = _field(current, part) if current else None
            current = _model_in(field.annotation) if field else None
    return [field.alias or name for name, field in current.model_fields.items()] if current else []


def _field(model: type[BaseModel], key: str) -> FieldInfo | None:
    return next((one for name, one in model.model_fields.items() if key in (name, one.alias)), None)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model in `Model`, `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(one) for one in get_args(annotation))
    return next((one for one in inner if one is not None), None)


def closest(name: str, names: list[str]) -> str | None:
    """The name that was probably meant, if one is near."""
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return found[0] if found else None


def choice_hint(name: str, what: str, names: Iterable[str]) -> str:
    """What to write in place of a name that there is not; `what`: what all of them are, as `modes`."""
    there = list(names)
    near = closest(name, there)
    return f"did you mean {shlex.quote(near)}?" if near else f"{what} are: {', '.join(there)}"


def _closest(name: str, names: list[str]) -> str:
    near = closest(name, names)
    if near:
        return f"did you mean `{near}`?"
    return "keys are: " + ", ".join(names) if names else ""

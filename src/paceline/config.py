"""Check data from a file or a caller against a pydantic model, and say plainly what is wrong with it."""

import difflib
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from paceline.errors import ConfigError

Model = TypeVar("Model", bound=BaseModel)


def validate(model: type[Model], data: Mapping[str, Any], where: str) -> Model:
    """The model, or ConfigError that names each wrong key and, for an unknown one, the closest that exists.

    `where` is the file or object that the data is from. Values are not repeated in the message, since one may
    be a secret in the wrong place.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        problems = []
        hints = []
        for one in error.errors(include_url=False, include_input=False, include_context=True):
            path = ".".join(str(part) for part in one["loc"])
            if one["type"] == "extra_forbidden":
                problems.append(f"unknown key `{path}`")
                hints.append(_closest(str(one["loc"][-1]), known_keys(model, one["loc"][:-1])))
            elif one["type"] == "distribution":
                message, _, hint = one["msg"].partition("; ")
                problems.append(f"`{path}`: {message}")
                hints.append(hint)
            else:
                message = one["msg"].removeprefix("Value error, ")
                problems.append(f"`{path}`: {message}" if path else message)
        hint = "; ".join(dict.fromkeys(hint for hint in hints if hint))
        raise ConfigError(f"{where}: " + "; ".join(problems), hint or None) from None


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


def _closest(name: str, names: list[str]) -> str:
    near = closest(name, names)
    if near:
        return f"did you mean `{near}`?"
    return "keys are: " + ", ".join(names) if names else ""

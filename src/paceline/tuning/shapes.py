"""What of a tuning is kept as plain JSON, and is checked as it is read: asked, curves, result.

Others count on these keys; what else stands beside them is left as it is.
"""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter


class _Shape(BaseModel):
    model_config = ConfigDict(strict=True)


class _Median(_Shape):
    value: float | None = None


class _Figure(_Shape):
    p50: _Median | None = None


class _Point(_Shape):
    concurrency: int = Field(ge=1)
    output_tok_s: float | None = None
    user_tok_s: _Figure | None = None
    ttft: _Figure | None = None
    itl: _Figure | None = None


class _Gain(_Shape):
    ratio: float | None


class _Result(_Shape):
    real: bool
    sentence: str
    gain: _Gain | None = None


class _Workload(_Shape):
    name: str | None = None
    temperature: float | None = None


class _Asked(_Shape):
    workload: _Workload
    load: dict[str, Any]
    protocol: str | None = None


_ASKED = TypeAdapter(_Asked)
_RESULT = TypeAdapter(_Result)
_CURVES = TypeAdapter(dict[Literal["default", "tuned"], list[_Point]])


def asked(value: dict[str, Any]) -> dict[str, Any]:
    """As it was, where it says how an engine is asked. Raises ValidationError."""
    _ASKED.validate_python(value)
    return value


def result(value: dict[str, Any] | None) -> dict[str, Any] | None:
    """As it was, where it says what was found. Raises ValidationError."""
    if value is not None:
        _RESULT.validate_python(value)
    return value


def curves(value: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """As they were, where each point has a level and figures. Raises ValidationError."""
    _CURVES.validate_python(value)
    return value

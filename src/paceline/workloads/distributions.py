"""Distributions as people write them: `512`, `uniform:100:200`, `lognormal:512:0.5`, `choice:128,512`."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from paceline.errors import ConfigError
from paceline.units import format_number
from paceline.workloads.seeding import uniforms

_FORMS = {
    "uniform": "uniform:LOW:HIGH, both inclusive (uniform:100:200)",
    "normal": "normal:MEAN:STANDARD_DEVIATION (normal:512:64)",
    "lognormal": "lognormal:MEDIAN:SIGMA, sigma of the logarithm (lognormal:512:0.5)",
    "choice": "choice:A,B,C, each equally likely (choice:128,512,2048)",
}
# Beyond e^10 between the median and one sigma nobody means it.
_MOST_SIGMA = 10.0
# The standard normal's 90th percentile.
_Z90 = 1.2815515655446004
_WHOLE = re.compile(r"-?[\d_]+", re.ASCII)


@dataclass(frozen=True)
class Distribution:
    """`kind` is fixed, uniform, normal, lognormal or choice; `parameters` are as typed.

    A subclass says what is drawn: `noun` and `unit` in words, the limits within which every sample is held,
    and whether samples are whole numbers.
    """

    kind: str
    parameters: tuple[float, ...]

    noun: ClassVar[str]
    unit: ClassVar[str]
    lowest: ClassVar[float]
    highest: ClassVar[float]
    whole: ClassVar[bool]

    @classmethod
    def parse(cls, text: "str | float | Self", what: str | None = None) -> Self:
        """Read what a person types; ConfigError says what is wrong and how it is written."""
        if isinstance(text, cls):
            return text
        what = what or cls.noun
        wanted = str(text).strip()
        if isinstance(text, bool) or not wanted:
            raise ConfigError(f"{what}: {text!r} is not a {cls.noun}", cls._hint())
        name, _, rest = wanted.partition(":")
        if _WHOLE.fullmatch(wanted) or (not cls.whole and _is_number(wanted)):
            return cls("fixed", (cls._value(wanted, what, f"a number of {cls.unit} (512)"),))
        if name not in _FORMS:
            raise ConfigError(f"{what}: {wanted!r} is not a {cls.noun}", cls._hint())
        if name == "choice":
            return cls(name, tuple(cls._value(part, what, _FORMS[name]) for part in rest.split(",")))
        return cls(name, cls._two(name, rest, what))

    def draw(self, seed: int, stream: str, start: int, n: int) -> npt.NDArray[np.float64]:
        """Samples of places start..start+n-1, shape (n,); other streams of a seed are independent."""
        u = uniforms(seed, stream, start, n)
        if self.kind == "fixed":
            drawn = np.full(n, self.parameters[0])
        elif self.kind == "choice":
            drawn = np.asarray(self.parameters)[(u * len(self.parameters)).astype(np.int64)]
        else:
            a, b = self.parameters
            if self.kind == "uniform":
                drawn = a + np.floor(u * (b - a + 1)) if self.whole else a + u * (b - a)
            else:
                # Box and Muller (1958): a standard normal from two independent uniforms.
                z = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * uniforms(seed, stream + "/angle", start, n))
                drawn = a + b * z if self.kind == "normal" else a * np.exp(np.minimum(b * z, 50.0))
        held: npt.NDArray[np.float64] = np.clip(
            np.rint(drawn) if self.whole else drawn, self.lowest, self.highest
        )
        return held

    def mean(self) -> float:
        """The mean, before rounding and limits."""
        if self.kind in ("fixed", "choice"):
            return sum(self.parameters) / len(self.parameters)
        a, b = self.parameters
        return {"uniform": (a + b) / 2, "normal": a}.get(self.kind, a * math.exp(min(b * b / 2, 50.0)))

    def greatest(self) -> float:
        """The largest sample that there can be."""
        return max(self.parameters) if self.kind in ("fixed", "uniform", "choice") else self.highest

    def words(self) -> str:
        """For people: `512`, `100 to 200`, `128, 512 or 2,048`, `886 (median; 90th percentile 2,470)`."""
        if self.kind == "fixed":
            return self._shown(self.parameters[0])
        if self.kind == "choice":
            *others, last = map(self._shown, self.parameters)
            return f"{', '.join(others)} or {last}" if others else last
        a, b = self.parameters
        if self.kind == "uniform":
            return f"{self._shown(a)} to {self._shown(b)}"
        p90 = a + b * _Z90 if self.kind == "normal" else a * math.exp(b * _Z90)
        held = min(max(p90, self.lowest), self.highest)
        said = self._shown(round(held)) if self.whole else format_number(held)
        return f"{self._shown(a)} (median; 90th percentile {said})"

    @staticmethod
    def _shown(value: float) -> str:
        return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.12g}"

    def __str__(self) -> str:
        shown = [f"{value:.12g}" for value in self.parameters]
        if self.kind == "fixed":
            return shown[0]
        return f"{self.kind}:" + (",".join(shown) if self.kind == "choice" else ":".join(shown))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """In a model: read from a string or a number, written as the string."""
        return core_schema.no_info_plain_validator_function(
            _for_pydantic(cls), serialization=core_schema.to_string_ser_schema()
        )

    @classmethod
    def _hint(cls) -> str:
        return f"write a number of {cls.unit} (512), or one of: " + "; ".join(_FORMS.values())

    @classmethod
    def _value(cls, text: str, what: str, form: str) -> float:
        number = _number(text.strip(), whole=cls.whole)
        if number is None:
            kind = "whole number" if cls.whole else "number"
            raise ConfigError(f"{what}: {text!r} is not a {kind} of {cls.unit}", f"write {form}")
        if not cls.lowest <= number <= cls.highest:
            raise ConfigError(
                f"{what}: {text.strip()} is not between {cls.lowest:g} and {cls.highest:,.0f} {cls.unit}",
                f"write {form}",
            )
        return number

    @classmethod
    def _two(cls, name: str, rest: str, what: str) -> tuple[float, float]:
        parts = rest.split(":")
        hint = f"write {_FORMS[name]}"
        if len(parts) != 2:
            raise ConfigError(f"{what}: {name} takes two numbers, not {rest!r}", hint)
        first = cls._value(parts[0], what, _FORMS[name])
        if name == "uniform":
            second = cls._value(parts[1], what, _FORMS[name])
            if second < first:
                raise ConfigError(f"{what}: the lower end {first:g} is above the upper end {second:g}", hint)
            return first, second
        second_ = _number(parts[1].strip(), whole=False)
        if second_ is None:
            raise ConfigError(f"{what}: {parts[1]!r} is not a number", hint)
        limit = _MOST_SIGMA if name == "lognormal" else cls.highest
        if not 0 <= second_ <= limit:
            raise ConfigError(f"{what}: the spread {parts[1]} is not between 0 and {limit:g}", hint)
        return first, second_


def _is_number(text: str) -> bool:
    return _number(text, whole=False) is not None


def _number(text: str, *, whole: bool) -> float | None:
    if whole:
        return float(int(text.replace("_", ""))) if _WHOLE.fullmatch(text) and text.strip("-_") else None
    try:
        return float(text)
    except ValueError:
        return None


def _for_pydantic(kind: type[Distribution]) -> Callable[[Any], Distribution]:
    numbers = str | int if kind.whole else str | int | float

    def validate(value: Any) -> Distribution:
        if not isinstance(value, numbers | kind):
            raise PydanticCustomError(
                "distribution",
                "{value} is not a {noun}; {hint}",
                {"value": repr(value), "noun": kind.noun, "hint": kind._hint()},
            )
        try:
            return kind.parse(value)
        except ConfigError as error:
            raise PydanticCustomError(
                "distribution",
                "{message}; {hint}",
                {
                    "message": error.message.removeprefix(f"{kind.noun}: "),
                    "hint": error.hint or kind._hint(),
                },
            ) from error

    return validate

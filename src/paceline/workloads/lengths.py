"""Distributions of lengths in tokens, as people write them: `512`, `uniform:100:200`, `choice:128,512`."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from paceline.errors import ConfigError
from paceline.workloads.seeding import uniforms

# A prompt of ten million tokens is beyond any model, and a mistyped zero should not eat the memory.
MAX_TOKENS = 10_000_000
_FORMS = {
    "uniform": "uniform:LOW:HIGH, both inclusive (uniform:100:200)",
    "normal": "normal:MEAN:STANDARD_DEVIATION (normal:512:64)",
    "lognormal": "lognormal:MEDIAN:SIGMA, sigma of the logarithm (lognormal:512:0.5)",
    "choice": "choice:A,B,C, each equally likely (choice:128,512,2048)",
}
_HINT = "write a number of tokens (512), or one of: " + "; ".join(_FORMS.values())


@dataclass(frozen=True)
class Lengths:
    """A distribution of lengths in tokens; every sample lies in 1..10,000,000.

    `kind` is fixed, uniform, normal, lognormal or choice; `parameters` are as typed. The unbounded ones are
    rounded to whole tokens and held within those limits.
    """

    kind: str
    parameters: tuple[float, ...]

    @classmethod
    def parse(cls, text: "str | int | Lengths", what: str = "length") -> "Lengths":
        """Read what a person types; ConfigError says what is wrong and how it is written."""
        if isinstance(text, Lengths):
            return text
        wanted = str(text).strip()
        if isinstance(text, bool) or not wanted:
            raise ConfigError(f"{what}: {text!r} is not a length", _HINT)
        name, _, rest = wanted.partition(":")
        if re.fullmatch(r"-?[\d_]+", wanted, re.ASCII):
            return cls("fixed", (_tokens(wanted, what, "a number of tokens (512)"),))
        if name not in _FORMS:
            raise ConfigError(f"{what}: {wanted!r} is not a length", _HINT)
        if name == "choice":
            return cls(name, tuple(_tokens(part, what, _FORMS[name]) for part in rest.split(",")))
        return cls(name, _two(name, rest, what))

    def sample(self, seed: int, stream: str, start: int, n: int) -> npt.NDArray[np.int64]:
        """Lengths of requests start..start+n-1, shape (n,); other streams of a seed are independent."""
        u = uniforms(seed, stream, start, n)
        if self.kind == "fixed":
            drawn = np.full(n, self.parameters[0])
        elif self.kind == "choice":
            drawn = np.asarray(self.parameters)[(u * len(self.parameters)).astype(np.int64)]
        else:
            a, b = self.parameters
            if self.kind == "uniform":
                drawn = a + np.floor(u * (b - a + 1))
            else:
                # Box and Muller (1958): a standard normal from two independent uniforms.
                z = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * uniforms(seed, stream + "/angle", start, n))
                drawn = a + b * z if self.kind == "normal" else a * np.exp(np.minimum(b * z, 50.0))
        whole: npt.NDArray[np.int64] = np.clip(np.rint(drawn), 1, MAX_TOKENS).astype(np.int64)
        return whole

    def mean(self) -> float:
        """The mean in tokens, before rounding and limits."""
        if self.kind in ("fixed", "choice"):
            return sum(self.parameters) / len(self.parameters)
        a, b = self.parameters
        return {"uniform": (a + b) / 2, "normal": a}.get(self.kind, a * math.exp(min(b * b / 2, 50.0)))

    def __str__(self) -> str:
        shown = [f"{value:.12g}" for value in self.parameters]
        if self.kind == "fixed":
            return shown[0]
        return f"{self.kind}:" + (",".join(shown) if self.kind == "choice" else ":".join(shown))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """In a model: read from a string or a number, written as the string."""
        return core_schema.no_info_plain_validator_function(
            _for_pydantic(cls.parse), serialization=core_schema.to_string_ser_schema()
        )


def _for_pydantic(parse: Callable[[Any], Lengths]) -> Callable[[Any], Lengths]:
    def validate(value: Any) -> Lengths:
        if not isinstance(value, str | int | Lengths):
            raise PydanticCustomError(
                "length", "{value} is not a length; {hint}", {"value": repr(value), "hint": _HINT}
            )
        try:
            return parse(value)
        except ConfigError as error:
            raise PydanticCustomError(
                "length",
                "{message}; {hint}",
                {"message": error.message.removeprefix("length: "), "hint": error.hint or _HINT},
            ) from error

    return validate


def _tokens(text: str, what: str, form: str) -> float:
    if not re.fullmatch(r"\s*-?[\d_]+\s*", text, re.ASCII) or not text.strip("-_ \t"):
        raise ConfigError(f"{what}: {text!r} is not a whole number of tokens", f"write {form}")
    value = int(text.replace("_", ""))
    if not 1 <= value <= MAX_TOKENS:
        raise ConfigError(f"{what}: {value} is not between 1 and {MAX_TOKENS:,} tokens", f"write {form}")
    return float(value)


def _two(name: str, rest: str, what: str) -> tuple[float, float]:
    parts = rest.split(":")
    hint = f"write {_FORMS[name]}"
    if len(parts) != 2:
        raise ConfigError(f"{what}: {name} takes two numbers, not {rest!r}", hint)
    first = _tokens(parts[0], what, _FORMS[name])
    if name == "uniform":
        second = _tokens(parts[1], what, _FORMS[name])
        if second < first:
            raise ConfigError(f"{what}: the lower end {first:.0f} is above the upper end {second:.0f}", hint)
        return first, second
    try:
        second = float(parts[1])
    except ValueError:
        raise ConfigError(f"{what}: {parts[1]!r} is not a number", hint) from None
    limit = 10.0 if name == "lognormal" else float(MAX_TOKENS)
    if not 0 <= second <= limit:
        raise ConfigError(f"{what}: the spread {parts[1]} is not between 0 and {limit:g}", hint)
    return first, second

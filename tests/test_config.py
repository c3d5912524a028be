"""Plain words for what a model refuses."""

from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from paceline.config import closest, known_keys, validate
from paceline.errors import ConfigError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    colour: str = "red"
    size_bytes: int = 1


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    inner: Inner = Inner()
    names: dict[str, int] = {}
    parts: tuple[Inner, ...] = ()
    maybe: Inner | None = Field(default=None, alias="may-be")


def test_good_data_becomes_the_model() -> None:
    assert validate(Outer, {"inner": {"colour": "blue"}}, "here").inner.colour == "blue"


def test_every_mistake_is_named_and_no_value_is_repeated() -> None:
    data = {"iner": {}, "inner": {"size_byte": 3, "size_bytes": "secret"}, "names": {"a": "secret"}}
    with pytest.raises(ConfigError) as caught:
        validate(Outer, data, "here")
    for part in ("here: ", "`iner`", "`inner.size_byte`", "`inner.size_bytes`", "`names.a`"):
        assert part in caught.value.message
    assert "secret" not in caught.value.message
    assert caught.value.hint is not None
    assert "did you mean `inner`?" in caught.value.hint
    assert "did you mean `size_bytes`?" in caught.value.hint


def test_a_mistake_within_a_list_has_its_place_and_its_hint() -> None:
    with pytest.raises(ConfigError) as caught:
        validate(Outer, {"parts": [{}, {"colur": "red"}]}, "here")
    assert "unknown key `parts.1.colur`" in caught.value.message
    assert caught.value.hint == "did you mean `colour`?"


class Named(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    size: int = 1


class Whole(BaseModel):
    parts: tuple[Named, ...] = ()
    limits: dict[Literal["job_ms", "job_from_intended_ms"], float] = {}


def test_a_part_of_a_list_is_called_by_its_name_and_a_key_of_a_table_as_it_is() -> None:
    with pytest.raises(ConfigError) as caught:
        validate(
            Whole,
            {"parts": [{"name": "a"}, {"name": "b", "size": "x"}], "limits": {"jobms": 5, "job_ms": "x"}},
            "here",
        )
    assert "`parts.b.size`: " in caught.value.message
    assert "unknown key `limits.jobms`" in caught.value.message
    assert "`limits.job_ms`: " in caught.value.message
    assert "[key]" not in caught.value.message
    assert caught.value.hint == "did you mean `job_ms`?"


def test_what_an_option_gave_is_called_as_the_option() -> None:
    options = {"inner": "--inner", "inner.colour": "--set inner.colour"}
    with pytest.raises(ConfigError) as caught:
        validate(Outer, {"inner": {"colour": 1, "size_bytes": "x"}, "names": {"a": "x"}}, "here", options)
    begins = [part.partition(": ")[0] for part in caught.value.message.split("; ")]
    assert begins == ["--set inner.colour", "--inner", "here"]
    assert "--inner: `size_bytes`: " in caught.value.message


def test_names_that_a_key_may_have() -> None:
    assert known_keys(Outer, ()) == ["inner", "names", "parts", "may-be"]
    assert known_keys(Outer, ("inner",)) == ["colour", "size_bytes"]
    assert known_keys(Outer, ("names", "a")) == []
    assert known_keys(Outer, ("parts", 3)) == ["colour", "size_bytes"]
    assert known_keys(Outer, ("may-be",)) == ["colour", "size_bytes"]
    assert closest("colur", ["colour", "size"]) == "colour"
    assert closest("zzz", ["colour"]) is None

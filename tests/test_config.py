"""Plain words for what a model refuses."""

import pytest
from pydantic import BaseModel, ConfigDict

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


def test_names_that_a_key_may_have() -> None:
    assert known_keys(Outer, ()) == ["inner", "names"]
    assert known_keys(Outer, ("inner",)) == ["colour", "size_bytes"]
    assert known_keys(Outer, ("names", "a")) == []
    assert closest("colur", ["colour", "size"]) == "colour"
    assert closest("zzz", ["colour"]) is None

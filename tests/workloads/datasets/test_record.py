from typing import Any

import pytest

from paceline.workloads.datasets.record import value_at, whole_tokens


def test_columns_and_what_is_nested_in_them() -> None:
    row = {"a": {"b": {"c": 1}, "d": None}, "a.b": 2}
    assert value_at(row, "a.b") == 2
    assert value_at(row, "a.b.c") == 1
    assert value_at(row, "a.d.e") is None
    assert value_at(row, "x") is None
    assert value_at(["a"], "a") is None


@pytest.mark.parametrize(
    ("value", "tokens"),
    [(5, 5), (5.0, 5), ("5", 5), ("5.0", 5), (10**7, 10**7)]
    + [
        (bad, None)
        for bad in (0, -1, 5.5, 10**7 + 1, 10**400, "many", True, None, float("nan"), float("inf"), [5])
    ],
)
def test_numbers_of_tokens(value: Any, tokens: int | None) -> None:
    assert whole_tokens(value) == tokens

import pytest

from paceline.workloads.datasets.limits import ends_of_calls
from paceline.workloads.datasets.record import Role, Said

ROLES: dict[str, Role] = {"s": "system", "u": "user", "a": "assistant"}


@pytest.mark.parametrize(
    ("turns", "ends"),
    [
        ("u", [1]),
        ("ua", [1]),
        ("uau", [1, 3]),
        ("suaua", [2, 4]),
        ("uua", [2]),
        ("uaau", [1, 4]),
        ("usa", [2]),
        ("uas", [1]),
        ("uasu", [1, 4]),
        ("a", []),
        ("", []),
    ],
)
def test_a_call_ends_with_the_last_turn_before_an_answer(turns: str, ends: list[int]) -> None:
    assert ends_of_calls([Said(ROLES[one], "x") for one in turns]) == ends

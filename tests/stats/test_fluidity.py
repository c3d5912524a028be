import numpy as np
import pytest

from paceline.stats.fluidity import fluidity
from paceline.stats.frame import Frame
from tests.support.rows import make_row, rows_table


def of(event_ms: tuple[float, ...], tokens: list[int], pace: float) -> float:
    frame = Frame(rows_table([make_row(event_ms=event_ms)]))
    return float(fluidity(frame, np.array(tokens), pace)[0])


def test_exactly_on_time_is_in_time() -> None:
    assert of((100, 300, 500, 700), [1, 1, 1, 1], 5.0) == 1.0
    assert of((100, 300.01, 500, 700), [1, 1, 1, 1], 5.0) == 0.75


def test_tokens_of_one_event_have_each_their_turn() -> None:
    # Tokens 1 to 5 come after 500 ms; at 5 tok/s they are needed at 200, 400, 600, 800, 1000 ms.
    assert of((100, 600), [1, 5], 5.0) == pytest.approx(4 / 6)


def test_a_buffer_carries_over_a_stall() -> None:
    assert of((100, 1100), [6, 1], 5.0) == 1.0
    assert of((100, 1500), [6, 1], 5.0) == pytest.approx(6 / 7)


def test_rows_are_apart_and_empty_ones_are_zero() -> None:
    rows = [make_row(event_ms=(100, 300.01)), make_row(event_ms=()), make_row(event_ms=(900, 910))]
    found = fluidity(Frame(rows_table(rows)), np.ones(4, np.int64), 5.0)
    assert found.tolist() == [0.5, 0.0, 1.0]

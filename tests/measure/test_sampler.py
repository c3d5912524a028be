import threading
import time

import numpy as np
import pytest

from paceline.measure import sampler
from paceline.measure.sampler import LookError, Reading, Sampler

SECOND_NS = 1_000_000_000


def reading(value: float = 1.0) -> Reading:
    return Reading(time.monotonic_ns(), 10, "vllm", "running_requests", "gauge", value)


def test_it_looks_at_the_beginning_and_at_the_end() -> None:
    seen: list[int] = []

    def look() -> list[Reading]:
        seen.append(1)
        return [reading(float(len(seen)))]

    with Sampler(look, 3_600 * SECOND_NS) as one:
        assert one.take()["value"].to_pylist() == [1.0]
    assert one.take()["value"].to_pylist() == [2.0]
    assert one.take().num_rows == 0
    assert (one.looks.n, one.looks.failed) == (2, 0)


def test_it_looks_again_and_again() -> None:
    enough = threading.Event()
    seen: list[int] = []

    def look() -> list[Reading]:
        seen.append(1)
        if len(seen) >= 5:
            enough.set()
        return [reading()]

    with Sampler(look, 1_000_000) as one:
        assert enough.wait(30)
    table = one.take()
    assert table.num_rows == len(seen) == one.looks.n >= 5
    assert (np.diff(table["t_ns"].to_numpy()) >= 0).all()


@pytest.mark.parametrize(
    ("error", "said"), [(LookError("no page"), "no page"), (ValueError("secret"), "ValueError")]
)
def test_what_goes_wrong_is_counted_and_ends_nothing(error: Exception, said: str) -> None:
    def look() -> list[Reading]:
        raise error

    with Sampler(look, 3_600 * SECOND_NS) as one:
        pass
    assert one.take().num_rows == 0
    # After a failure the end is not looked at: a server that hangs would hold up the end of the run.
    assert (one.looks.n, one.looks.failed, one.looks.last_failure) == (1, 1, said)


def test_what_nobody_takes_is_bounded_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "MOST_KEPT", 10)
    with Sampler(lambda: [reading(float(i)) for i in range(8)], 3_600 * SECOND_NS) as one:
        pass
    assert one.take().num_rows == 10
    assert one.looks.lost == 6


def test_a_look_that_hangs_is_left_behind() -> None:
    let_go = threading.Event()
    seen: list[int] = []

    def look() -> list[Reading]:
        seen.append(1)
        if len(seen) > 1:
            let_go.wait(60)
        return [reading()]

    with Sampler(look, 1_000_000, leave_s=0.05) as one:
        while len(seen) < 2:
            time.sleep(0.001)
    assert one.take().num_rows == 1
    let_go.set()

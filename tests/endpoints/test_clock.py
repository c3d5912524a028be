"""The clock's offset from headers cut to whole seconds."""

import email.utils

import pytest

from paceline.endpoints.client import Reply
from paceline.endpoints.clock import ClockOffset, clock_offset

NOW_S = 1_790_000_000.0


def reply(offset_s: float, sent_s: float, round_trip_s: float = 0.0, written: float = 0.5) -> Reply:
    """An answer whose Date was written at a share of the round trip, by a clock that is off."""
    server_s = sent_s + written * round_trip_s + offset_s
    date = email.utils.formatdate(int(server_s), usegmt=True)
    return Reply(200, {"date": date}, (), 0.0, sent_s, sent_s + round_trip_s)


@pytest.mark.parametrize("offset_s", [0.0, 0.4, -2.25, 3600.0])
@pytest.mark.parametrize("written", [0.0, 0.5, 1.0])
def test_the_truth_is_within_the_uncertainty_and_answers_narrow_it(offset_s: float, written: float) -> None:
    replies = [reply(offset_s, NOW_S + 0.137 * n, 0.05, written) for n in range(30)]
    one, many = clock_offset(replies[:1]), clock_offset(replies)
    assert one is not None
    assert many is not None
    for found in (one, many):
        assert abs(found.value_ms - offset_s * 1000) <= found.uncertainty_ms + 0.1
    assert one.uncertainty_ms == pytest.approx(525, abs=0.2)
    assert many.uncertainty_ms < 120


def test_a_date_that_cannot_be_read_is_none() -> None:
    for value in ("yesterday", "", "Mon, 99 Foo 2026 00:00:00 GMT", "Mon, 30 Nov 99999 10:00:00 GMT"):
        assert clock_offset([Reply(200, {"date": value}, (), 0.0)]) is None
    assert clock_offset([]) is None


def test_a_clock_that_contradicts_itself_is_taken_at_its_last_word() -> None:
    found = clock_offset([reply(0, NOW_S), reply(100, NOW_S)])
    assert found == ClockOffset(100_500.0, 500.0)

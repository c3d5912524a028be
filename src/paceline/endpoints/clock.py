"""How far a server's clock is from this machine's, by the Date headers of its answers."""

import email.utils
from collections.abc import Iterable
from dataclasses import dataclass

from paceline.endpoints.client import Reply


@dataclass(frozen=True)
class ClockOffset:
    """The server's clock minus this machine's, ms; the truth is within `uncertainty_ms` of `value_ms`."""

    value_ms: float
    uncertainty_ms: float


def clock_offset(replies: Iterable[Reply]) -> ClockOffset | None:
    """The offset that agrees with every answer; None where no answer has a Date that can be read.

    A Date is cut to whole seconds, and was written between the sending and the response head. So each
    answer gives an interval one second and one round trip wide, and several answers at different parts of
    a second narrow it. Where they contradict each other (a proxy's clock, a stepped one, a cached answer)
    it is the newest answer's alone.
    """
    low_s, high_s = float("-inf"), float("inf")
    seen = False
    for reply in replies:
        date_s = _date_unix_s(reply)
        if date_s is None:
            continue
        seen = True
        # Servers may write a Date that they have kept for up to a second; few do, and none says so.
        low, high = date_s - reply.headers_unix_s, date_s + 1 - reply.sent_unix_s
        low_s, high_s = max(low_s, low), min(high_s, high)
        if low_s > high_s:
            low_s, high_s = low, high
    if not seen:
        return None
    return ClockOffset(round((low_s + high_s) * 500, 1), round((high_s - low_s) * 500, 1))


def _date_unix_s(reply: Reply) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(reply.headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None

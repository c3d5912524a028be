"""Which part of a job's time was what: waiting for a first token, generating, tools, thinking, queueing.

Calls may run side by side, so times of calls do not add up to the job's. The parts are taken along the
critical path: from the call that ended last back through the one among those it waited for that ended last,
to the job's start. On it something is always going on, so the parts sum to the job's time exactly. (The
critical path of Kelley and Walker 1959, read backwards from what happened.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum


class Part(IntEnum):
    """What a stretch of a job's time was."""

    QUEUEING = 0
    FIRST_TOKEN = 1
    GENERATING = 2
    TOOLS = 3
    THINKING = 4


WAITS = {"tool": Part.TOOLS, "think": Part.THINKING}
"""The part that a `wait_kind` belongs to."""


@dataclass(frozen=True, slots=True)
class PathCall:
    """A call that ended well. Instants in ns on one clock.

    `done_ns`: its last token, or the hang-up. `end_ns`: when what waited for it could go on. `after`: the
    steps that it waited for. `wait`: what it waited for besides, or None.
    """

    intended_ns: int
    sent_ns: int
    first_ns: int
    done_ns: int
    end_ns: int
    after: Sequence[int]
    wait: Part | None


def job_parts(calls: Mapping[int, PathCall], start_ns: int) -> tuple[list[int], list[int]]:
    """The time of each `Part` in ns, and the steps of the critical path from the last to the first.

    `calls`: by step, at least one. `start_ns`: from when the job's time counts; what came before it is cut
    off. The parts sum to the last `done_ns` less `start_ns`.
    """
    parts = [0] * len(Part)
    step = max(calls, key=lambda one: (calls[one].done_ns, -one))
    upto = max(calls[step].done_ns, start_ns)
    path = []

    def back_to(instant_ns: int, part: Part) -> None:
        nonlocal upto
        since = min(max(instant_ns, start_ns), upto)
        parts[part] += upto - since
        upto = since

    while True:
        call = calls[step]
        path.append(step)
        back_to(call.first_ns, Part.GENERATING)
        back_to(call.sent_ns, Part.FIRST_TOKEN)
        back_to(call.intended_ns, Part.QUEUEING)
        waited = [one for one in call.after if one in calls and one < step]
        wait = Part.QUEUEING if call.wait is None else call.wait
        if not waited:
            back_to(start_ns, wait)
            return parts, path
        step = max(waited, key=lambda one: (calls[one].end_ns, -one))
        back_to(calls[step].end_ns, wait)

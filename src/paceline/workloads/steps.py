"""Which call of a job waits for which, and whose conversation it carries on."""

from collections.abc import Sequence
from dataclasses import dataclass

from paceline.workloads.calls import CallSpec


@dataclass(frozen=True, slots=True)
class Step:
    """One call of one job.

    call, repetition: which `[[call]]` of the file, and which of its repetitions. after: the steps that must
    have ended first. base: the step whose conversation, with its answer, is carried on; None: a new one
    begins. joined: the steps whose answers this call's own text is followed by.
    """

    call: int
    repetition: int
    after: tuple[int, ...]
    base: int | None
    joined: tuple[int, ...]


def plan_steps(calls: Sequence[CallSpec], repeats: Sequence[int]) -> list[Step]:
    """The steps of a job in which `calls[i]` is made `repeats[i]` times, in the order of the file.

    A call that waits for several carries on the conversation before they parted: that of the latest step
    that all of them come after.
    """
    steps: list[Step] = []
    # Bit k of before[s]: step k has ended when step s begins.
    before: list[int] = []
    ends: dict[str, tuple[int, ...]] = {}
    for place, (call, repeat) in enumerate(zip(calls, repeats, strict=True)):
        names = call.after if call.after is not None else tuple(one.name for one in calls[:place][-1:])
        awaited = tuple(sorted({step for name in names for step in ends[name]}))
        first = len(steps)
        for repetition in range(repeat):
            after = awaited if call.parallel or not repetition else (len(steps) - 1,)
            base, joined = (None, ()) if call.history == "none" else _carried(after, before)
            steps.append(Step(place, repetition, after, base, joined))
            before.append(_all_of(after, before))
        ends[call.name] = tuple(range(first if call.parallel else len(steps) - 1, len(steps)))
    return steps


def _all_of(steps: Sequence[int], before: Sequence[int]) -> int:
    """The steps and all that ended before them, as bits."""
    found = 0
    for step in steps:
        found |= before[step] | 1 << step
    return found


def _carried(after: tuple[int, ...], before: Sequence[int]) -> tuple[int | None, tuple[int, ...]]:
    """The step whose conversation goes on, and the steps whose answers are joined to it."""
    # One that another of them waited for is in that one's conversation already.
    inner = 0
    for step in after:
        inner |= before[step]
    last = tuple(step for step in after if not inner >> step & 1)
    if len(last) <= 1:
        return (last[0], ()) if last else (None, ())
    common = before[last[0]]
    for step in last[1:]:
        common &= before[step]
    return (common.bit_length() - 1 if common else None), last

"""Whether an endpoint changed while a study went on: repeats of one point that contradict each other."""

import json
from collections.abc import Sequence

from paceline.store.studies import StudyStep

# Repeats of a point whose decode rates differ by more than this are not of one endpoint, where their own
# intervals lie apart as well.
TELLING = 1.2


def drifted(steps: Sequence[StudyStep]) -> tuple[int, str] | None:
    """In how many steps repeats of a point differ beyond chance, and where the most; None where nowhere.

    By the decode rate of the median request: it hardly depends on when requests happened to come.
    """
    points: dict[str, list[StudyStep]] = {}
    for step in steps:
        if step.overload is None and _rate(step) is not None:
            points.setdefault(json.dumps(step.at, sort_keys=True), []).append(step)
    found = []
    for repeats in points.values():
        slow = min(repeats, key=lambda step: _rate(step) or (0.0, 0.0, 0.0))
        fast = max(repeats, key=lambda step: _rate(step) or (0.0, 0.0, 0.0))
        low, high = _rate(slow), _rate(fast)
        if low and high and high[0] > TELLING * low[0] and high[1] > low[2]:
            found.append((high[0] / low[0], len(repeats), slow, fast))
    if not found:
        return None
    ratio, _, slow, fast = max(found, key=lambda one: one[0])
    said = (
        "the endpoint changed while the study went on: at the same load its decode rate was "
        f"{ratio:.2f} times as high in step {fast.number + 1} as in step {slow.number + 1}; figures of such "
        "points are means of both"
    )
    return sum(n for _, n, *_ in found), said


def _rate(step: StudyStep) -> tuple[float, float, float] | None:
    """The decode rate of the median request, and the ends of its interval where both are known."""
    found = (step.figures.get("user_tok_s") or {}).get("p50") or {}
    value, lo, hi = (found.get(key) for key in ("value", "lo", "hi"))
    return None if value is None or lo is None or hi is None else (value, lo, hi)

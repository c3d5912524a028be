"""Which call waits for which, and whose conversation goes on."""

import random
from typing import Any

import pytest

from paceline.workloads.calls import CallSpec
from paceline.workloads.steps import Step, plan_steps


def steps(*calls: dict[str, Any], repeats: list[int] | None = None) -> list[Step]:
    specs = [CallSpec.model_validate({"name": f"c{place}"} | call) for place, call in enumerate(calls)]
    return plan_steps(specs, repeats or [1] * len(specs))


def shape(found: list[Step]) -> list[tuple[tuple[int, ...], int | None, tuple[int, ...]]]:
    return [(step.after, step.base, step.joined) for step in found]


def test_a_conversation_goes_on_call_by_call() -> None:
    found = steps({}, {}, repeats=[1, 3])
    assert shape(found) == [((), None, ()), ((0,), 0, ()), ((1,), 1, ()), ((2,), 2, ())]
    assert [(step.call, step.repetition) for step in found] == [(0, 0), (1, 0), (1, 1), (1, 2)]


def test_without_history_each_call_waits_but_begins_anew() -> None:
    assert shape(steps({}, {"history": "none"}, repeats=[1, 2])) == [
        ((), None, ()),
        ((0,), None, ()),
        ((1,), None, ()),
    ]


def test_branches_are_joined_on_the_conversation_before_them() -> None:
    found = steps({}, {}, {"parallel": True}, {}, repeats=[1, 1, 3, 1])
    assert shape(found)[2:] == [((1,), 1, ()), ((1,), 1, ()), ((1,), 1, ()), ((2, 3, 4), 1, (2, 3, 4))]


def test_workers_with_a_conversation_of_their_own_report_to_the_one_that_sent_them() -> None:
    found = steps(
        {"name": "plan"},
        {"name": "left", "history": "none", "after": ["plan"]},
        {"name": "right", "after": ["plan"]},
        {"name": "end", "after": ["left", "right"]},
        repeats=[1, 2, 1, 1],
    )
    assert shape(found) == [
        ((), None, ()),
        ((0,), None, ()),
        ((1,), None, ()),
        ((0,), 0, ()),
        ((2, 3), 0, (2, 3)),
    ]


def test_calls_that_begin_with_the_job_have_nothing_before_them() -> None:
    found = steps({"name": "a"}, {"name": "b", "after": []}, {"name": "c", "after": ["a", "b"]})
    assert shape(found) == [((), None, ()), ((), None, ()), ((0, 1), None, (0, 1))]


def test_what_another_has_carried_on_is_not_joined_once_more() -> None:
    found = steps({"name": "a"}, {"name": "b"}, {"name": "c", "after": ["a", "b"]})
    assert shape(found)[2] == ((0, 1), 1, ())


def test_a_join_of_one_branch_goes_on_with_it() -> None:
    assert shape(steps({}, {"parallel": True}, {}, repeats=[1, 1, 1]))[2] == ((1,), 1, ())


def test_parallel_after_parallel_joins_in_each() -> None:
    found = steps({}, {"parallel": True}, {"parallel": True}, repeats=[1, 2, 2])
    assert shape(found)[3:] == [((1, 2), 0, (1, 2)), ((1, 2), 0, (1, 2))]


def graph_of(seed: int) -> tuple[list[CallSpec], list[int]]:
    """Calls in any dependence that a file may have."""
    rng = random.Random(seed)
    n = rng.randint(1, 7)
    calls = []
    for place in range(n):
        names = [f"c{one}" for one in range(place)]
        after = None if rng.random() < 0.3 else rng.sample(names, rng.randint(0, len(names)))
        one = {"name": f"c{place}", "after": after, "parallel": rng.random() < 0.5}
        calls.append(CallSpec.model_validate(one | {"history": rng.choice(["all", "all", "none"])}))
    return calls, [rng.randint(1, 4) for _ in range(n)]


@pytest.mark.parametrize("seed", range(200))
def test_what_is_carried_on_has_always_ended(seed: int) -> None:
    found = plan_steps(*graph_of(seed))
    ended: list[set[int]] = []
    for place, step in enumerate(found):
        known = set(step.after).union(*(ended[one] for one in step.after))
        assert all(one < place for one in known)
        assert step.base is None or step.base in known
        assert set(step.joined) <= set(step.after)
        # No answer is carried on twice: neither in the other branches nor in the conversation.
        held = set() if step.base is None else {step.base} | ended[step.base]
        assert not held & set(step.joined)
        ended.append(known)

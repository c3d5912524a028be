import random

from paceline.stats.critical_path import Part, PathCall, job_parts


def call(
    intended: int, sent: int, first: int, done: int, *after: int, end: int = 0, wait: Part | None = None
) -> PathCall:
    return PathCall(intended, sent, first, done, end or done, after, wait)


def test_one_call_after_the_other() -> None:
    calls = {
        0: call(0, 5, 105, 205, end=210),
        1: call(260, 261, 300, 400, 0, wait=Part.TOOLS),
    }
    parts, path = job_parts(calls, 0)
    # Queueing 5 + 1, first token 100 + 39, generating 105 (to the call's end) + 100, tools 50.
    assert parts == [6, 139, 205, 50, 0]
    assert path == [1, 0]
    assert sum(parts) == 400


def test_only_the_branch_that_ended_last_counts() -> None:
    calls = {
        0: call(0, 0, 10, 20),
        1: call(20, 20, 30, 500, 0),
        2: call(20, 20, 200, 300, 0),
        3: call(520, 520, 530, 540, 1, 2, wait=Part.THINKING),
    }
    parts, path = job_parts(calls, 0)
    assert path == [3, 1, 0]
    assert parts == [0, 10 + 10 + 10, 10 + 470 + 10, 0, 20]


def test_a_call_that_waits_for_none_reaches_back_to_the_start() -> None:
    calls = {0: call(0, 0, 10, 20), 1: call(100, 100, 150, 300, wait=Part.TOOLS)}
    assert job_parts(calls, 0) == ([0, 50, 150, 100, 0], [1])


def test_what_came_before_the_start_is_cut_off() -> None:
    calls = {0: call(0, 40, 100, 200)}
    assert job_parts(calls, 0)[0] == [40, 60, 100, 0, 0]
    assert job_parts(calls, 40)[0] == [0, 60, 100, 0, 0]


def test_parts_sum_to_the_job_s_time_whatever_the_graph() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        calls: dict[int, PathCall] = {}
        for step in range(rng.randint(1, 12)):
            after = tuple(rng.sample(range(step), rng.randint(0, min(step, 3))))
            ready = max((calls[one].end_ns for one in after), default=0)
            instants = [ready + rng.randint(0, 50)]
            for _ in range(4):
                instants.append(instants[-1] + rng.randint(0, 90))
            kind = rng.choice([None, Part.TOOLS, Part.THINKING])
            intended, sent, first, done, end = instants
            calls[step] = PathCall(intended, sent, first, done, end, after, kind)
        start = rng.choice([0, min(one.sent_ns for one in calls.values())])
        parts, path = job_parts(calls, start)
        assert sum(parts) == max(one.done_ns for one in calls.values()) - start
        assert min(parts) >= 0
        assert path == sorted(path, reverse=True)

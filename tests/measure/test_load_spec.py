import json
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.measure.load_spec import (
    Closed,
    Constant,
    Gamma,
    LoadOptions,
    LoadPlan,
    LoadTarget,
    Poisson,
    Ramp,
    auto_threads,
    plan_load,
)

TARGET = LoadTarget(
    scheme="http",
    host="127.0.0.1",
    port=9100,
    path="/v1/chat/completions",
    addresses=("127.0.0.1:9100",),
    headers=(("authorization", "Bearer x"),),
    protocol="openai-chat",
)


def test_no_option_means_one_in_flight_for_a_hundred_requests() -> None:
    plan = plan_load(LoadOptions())
    assert plan.arrival == Closed(concurrency=1)
    assert (plan.total_requests, plan.total_ns, plan.threads) == (100, None, 1)


def test_no_more_requests_are_planned_than_there_are() -> None:
    plan = plan_load(LoadOptions(warmup="4"))
    assert plan.held_to(10).requests == 6
    assert "6 requests, after 4 warm-up requests" in plan.held_to(10).describe()[0]
    for jobs in (None, 104, 4):
        assert plan.held_to(jobs) is plan
    timed = plan_load(LoadOptions(duration="5s"))
    assert timed.held_to(10) is timed


@pytest.mark.parametrize(
    ("options", "arrival"),
    [
        ({"concurrency": 8}, Closed(concurrency=8)),
        ({"rate_requests_s": 5.0}, Poisson(rate_requests_s=5)),
        ({"rate_requests_s": 5.0, "arrival": "constant"}, Constant(rate_requests_s=5)),
        ({"rate_requests_s": 5.0, "burstiness": 0.5}, Gamma(rate_requests_s=5, burstiness=0.5)),
        (
            {"ramp": "1:20", "duration": "60s"},
            Ramp(from_requests_s=1, to_requests_s=20, over_ns=60_000_000_000),
        ),
        (
            {"ramp": "0:20", "duration": "1m", "arrival": "constant"},
            Ramp(from_requests_s=0, to_requests_s=20, over_ns=60_000_000_000, shape="constant"),
        ),
    ],
)
def test_each_arrival_process(options: dict[str, Any], arrival: object) -> None:
    assert plan_load(LoadOptions(**options)).arrival == arrival


def test_a_rate_with_concurrency_is_a_cap_and_the_plan_says_what_happens() -> None:
    plan = plan_load(LoadOptions(rate_requests_s=5, concurrency=4))
    assert plan.concurrency_cap == 4
    assert plan.streams == 4
    assert "recorded as late" in " ".join(plan.describe())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"arrival": "poisson"}, "--rate"),
        ({"burstiness": 0.5}, "--burstiness"),
        ({"arrival": "swarm", "rate_requests_s": 1.0}, "swarm"),
        ({"arrival": "gamma", "rate_requests_s": 1.0}, "--burstiness"),
        ({"arrival": "poisson", "rate_requests_s": 1.0, "burstiness": 0.5}, "--burstiness"),
        ({"ramp": "1:20"}, "--duration"),
        ({"ramp": "1-20", "duration": "10s"}, "FROM:TO"),
        ({"ramp": "0:0", "duration": "10s"}, "FROM:TO"),
        ({"ramp": "nan:1", "duration": "10s"}, "FROM:TO"),
        ({"ramp": "1:2", "duration": "10s", "rate_requests_s": 1.0}, "exclude"),
        ({"ramp": "1:2", "duration": "10s", "arrival": "gamma"}, "gamma"),
        ({"ramp": "1:2", "duration": "10s", "warmup": "2s"}, "--warmup"),
        ({"concurrency": 0}, "--concurrency"),
        ({"concurrency": 2_000_000}, "--concurrency"),
        ({"rate_requests_s": -1.0}, "--rate"),
        ({"rate_requests_s": float("nan")}, "--rate"),
        ({"requests": 0}, "--requests"),
        ({"threads": 0}, "--threads"),
        ({"threads": 1000}, "--threads"),
        ({"seed": -1}, "--seed"),
        ({"duration": "30"}, "--duration"),
        ({"timeout": "soon"}, "--timeout"),
        ({"warmup": "2s"}, "--warmup"),
        ({"warmup": "many"}, "--warmup"),
        ({"warmup": "2s", "duration": "10s", "requests": 10}, "--warmup"),
    ],
)
def test_what_is_impossible_is_refused_and_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError) as error:
        plan_load(LoadOptions(**options))
    assert named in error.value.message
    assert error.value.exit_code == 2


def test_warmup_comes_on_top_of_what_is_measured() -> None:
    by_count = plan_load(LoadOptions(requests=100, warmup="20"))
    assert by_count.total_requests == 120
    by_time = plan_load(LoadOptions(duration="30s", warmup="10s"))
    assert by_time.total_ns == 40_000_000_000
    assert plan_load(LoadOptions(warmup="0")).total_requests == 100


def test_the_document_has_the_agreed_keys() -> None:
    spec = plan_load(LoadOptions(concurrency=4, requests=10, warmup="2")).spec(TARGET)
    document = json.loads(spec.to_json())
    assert set(document) == {
        "schema", "target", "arrival", "concurrency_cap", "seed", "segment", "first_index", "max_requests",
        "duration_ns", "warmup_requests", "warmup_ns", "timeout_ns", "hangup_wait_ns", "threads",
            "new_connections",         "max_event_bytes", "keep_text", "kernel_stamps",
    }  # fmt: skip
    assert document["schema"] == "paceline.load/1"
    assert document["arrival"] == {"kind": "closed", "concurrency": 4}
    assert document["max_requests"] == 12
    assert document["target"]["headers"] == [["authorization", "Bearer x"]]


def test_a_later_segment_has_what_is_left() -> None:
    plan = plan_load(LoadOptions(concurrency=4, requests=100, warmup="20"))
    spec = plan.spec(TARGET, segment=1, first_index=50, started=50)
    assert (spec.max_requests, spec.warmup_requests, spec.segment, spec.seed) == (70, 0, 1, 2)
    timed = plan_load(LoadOptions(rate_requests_s=1, duration="30s", warmup="10s"))
    assert timed.spec(TARGET, segment=1, elapsed_ns=4_000_000_000).warmup_ns == 6_000_000_000
    assert timed.spec(TARGET, segment=1, elapsed_ns=15_000_000_000).duration_ns == 25_000_000_000


def test_a_ramp_goes_on_from_the_rate_it_had_reached() -> None:
    plan = plan_load(LoadOptions(ramp="0:20", duration="10s"))
    arrival = plan.spec(TARGET, segment=1, elapsed_ns=5_000_000_000).arrival
    assert isinstance(arrival, Ramp)
    assert (arrival.from_requests_s, arrival.to_requests_s, arrival.over_ns) == (10.0, 20.0, 5_000_000_000)


def test_a_block_is_limited_further() -> None:
    plan = plan_load(LoadOptions(concurrency=4, requests=100))
    assert plan.spec(TARGET, max_requests=8).max_requests == 8
    assert plan.spec(TARGET, started=96, max_requests=8).max_requests == 4


def test_a_stored_plan_comes_back_the_same() -> None:
    plan = plan_load(LoadOptions(rate_requests_s=2, burstiness=0.5, duration="10s", concurrency=3))
    assert LoadPlan.model_validate_json(plan.model_dump_json()) == plan


def test_threads_grow_with_streams() -> None:
    assert [auto_threads(n) for n in (None, 1, 1_000, 1_001, 100_000)] == [1, 1, 1, 2, 8]


def test_jobs_are_counted_by_their_own_option() -> None:
    plan = plan_load(LoadOptions(has_jobs=True, concurrency=2, jobs=7))
    assert (plan.jobs, plan.requests) == (True, 7)
    assert plan.describe() == ["closed loop of 2 jobs in flight; 7 jobs"]
    assert plan_load(LoadOptions(has_jobs=True)).requests == 20
    with pytest.raises(ConfigError, match="--requests counts requests") as info:
        plan_load(LoadOptions(has_jobs=True, requests=7))
    assert "--jobs 7" in str(info.value.hint)
    with pytest.raises(ConfigError, match="--jobs counts jobs"):
        plan_load(LoadOptions(jobs=7))


def test_a_replay_ends_by_itself_and_takes_no_other_arrival() -> None:
    plan = plan_load(LoadOptions(replay=True, concurrency=3))
    assert (plan.arrival.kind, plan.requests, plan.duration_ns, plan.concurrency_cap) == (
        "replay",
        None,
        None,
        3,
    )
    assert "the trace's own instant" in plan.describe()[0]
    with pytest.raises(ConfigError, match="--rate says when"):
        plan_load(LoadOptions(replay=True, rate_requests_s=4))

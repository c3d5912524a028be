from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.measure.job import Job
from paceline.measure.load_spec import Closed, LoadOptions, Poisson, plan_load
from paceline.measure.study_axes import Axis, grid, job_at
from paceline.workloads.spec import WorkloadSpec


def job(**options: Any) -> Job:
    return Job(
        url="http://127.0.0.1:9100",
        workload=WorkloadSpec.parse({"prompt_tokens": "8", "call": [{"name": "step", "output_tokens": "4"}]}),
        load=plan_load(LoadOptions(**options)),
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("concurrency=1,2,5", (1, 2, 5)),
        ("concurrency=1..16", (1, 2, 4, 8, 16)),
        ("concurrency=1..10", (1, 2, 4, 8, 10)),
        ("concurrency=1,2,4,8..64", (1, 2, 4, 8, 16, 32, 64)),
        ("concurrency=1..10:3", (1, 4, 7, 10)),
        ("rate=0.5..4", (0.5, 1, 2, 4)),
        ("rate=0.1..0.3:0.1", (0.1, 0.2, 0.3)),
        ("prompt_tokens=uniform:1:9,512", ("uniform:1:9", 512)),
        ('prompt_tokens=["choice:1,2", 512]', ("choice:1,2", 512)),
        ("streaming=true,false", (True, False)),
        ("concurrency=2,2,1..2", (2, 1)),
        ("concurrency=[1, 1.0, 2.0]", (1, 2)),
        ("rate=1,1.0,1e0,1.5", (1, 1.5)),
        ("kv=[1, 1.0, true, 1e300]", (1, True, 1e300)),
    ],
)
def test_values(text: str, values: tuple[Any, ...]) -> None:
    assert Axis.parse(text) == Axis(text.partition("=")[0], values)


@pytest.mark.parametrize(
    "text",
    [
        "concurrency",
        "concurrency=",
        "=1",
        "concurrency=8..1",
        "concurrency=0..8",
        "concurrency=1.5",
        "concurrency=a",
        "concurrency=1..8:0",
        "rate=-1",
        "rate=1...4",
        "prompt_tokens=[1",
        "prompt_tokens=[]",
        "rate=1..1e9:1",
        "rate=1..9000:1",
        f"rate=1..{'9' * 400}",
        f"rate=1..{'9' * 400}:1",
        f"rate=0.{'0' * 200}1..{'9' * 300}",
        f"rate=1..9:0.{'0' * 320}1",
    ],
)
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Axis.parse(text)
    assert caught.value.hint


def test_a_grid_has_all_combinations() -> None:
    points = grid([Axis.parse("concurrency=1,2"), Axis.parse("output_tokens=8,16")])
    assert points == [
        {"concurrency": 1, "output_tokens": 8},
        {"concurrency": 1, "output_tokens": 16},
        {"concurrency": 2, "output_tokens": 8},
        {"concurrency": 2, "output_tokens": 16},
    ]


def test_an_axis_given_twice_and_a_huge_grid_are_refused() -> None:
    with pytest.raises(ConfigError, match="twice"):
        grid([Axis.parse("rate=1"), Axis.parse("rate=2")])
    with pytest.raises(ConfigError, match="1000 points"):
        grid([Axis.parse("rate=1..40:1"), Axis.parse("output_tokens=1..40:1")])


def test_the_load_at_a_point() -> None:
    closed = job(concurrency=1, duration="5s")
    assert job_at(closed, {"concurrency": 8}).load.arrival == Closed(concurrency=8)
    assert job_at(closed, {"rate": 2.5}).load.arrival == Poisson(rate_requests_s=2.5)
    capped = job_at(
        job(rate_requests_s=4.0, arrival="constant", duration="5s"), {"concurrency": 8, "rate": 2}
    )
    assert capped.load.concurrency_cap == 8
    assert capped.load.arrival.model_dump() == {"kind": "constant", "rate_requests_s": 2}


def test_threads_follow_the_load_unless_they_are_named() -> None:
    assert job_at(job(duration="5s"), {"concurrency": 2500}).load.threads == 3
    fixed = job(duration="5s", threads=2)
    assert job_at(fixed, {"concurrency": 2500}, threads=2).load.threads == 2


def test_a_field_of_the_workload_by_its_dotted_name() -> None:
    found = job_at(job(duration="5s"), {"call.step.output_tokens": 32})
    assert str(found.workload.call[0].output_tokens) == "32"
    assert found.jobs is None


def test_an_unknown_field_or_call_is_said() -> None:
    with pytest.raises(ConfigError, match="prompt_token"):
        job_at(job(duration="5s"), {"prompt_token": 8})
    with pytest.raises(ConfigError, match="no call 'stp'"):
        job_at(job(duration="5s"), {"call.stp.output_tokens": 8})


def test_a_ramp_cannot_be_swept() -> None:
    with pytest.raises(ConfigError, match="ramp"):
        job_at(job(ramp="1:5", duration="5s"), {"rate": 3})

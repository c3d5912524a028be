import json
from typing import Any

import numpy as np

from paceline.protocols import DEFAULT_DIALECT
from paceline.workloads.capability.source import ProbeSource
from paceline.workloads.jobs import JobBatches
from paceline.workloads.sources import has_several_calls, job_source, n_jobs, pinned
from paceline.workloads.spec import WorkloadSpec

PROBE = {"families": ["products", "leg_counting"], "items": 5, "seed": 8}


def spec(**more: Any) -> WorkloadSpec:
    return WorkloadSpec.parse({"probe": PROBE, "output_tokens": None, **more})


def test_each_problem_is_a_job_of_one_request_and_they_end() -> None:
    source = job_source(spec(max_tokens=77, system="Be brief."))
    assert isinstance(source, ProbeSource)
    assert (n_jobs(source), has_several_calls(source)) == (5, False)
    jobs = [source.job(index) for index in range(6)]
    assert jobs[5] is None
    names = [job.calls[0].name for job in jobs if job is not None]
    assert names == ["products", "leg_counting", "products", "leg_counting", "products"]
    first = jobs[0]
    assert first is not None
    system, user = first.calls[0].turns
    assert (system.role, system.text, user.role) == ("system", ("Be brief.",), "user")
    assert first.calls[0].output_tokens == 77


def test_the_limit_on_answers_is_max_tokens_alone() -> None:
    workload = WorkloadSpec.parse({"probe": PROBE})
    source = job_source(workload)
    assert source is not None
    batch, plan = JobBatches(source, "m", "openai-chat", DEFAULT_DIALECT, workload).take(9)
    assert batch.num_rows == plan.num_rows == 5
    assert plan["output_tokens_asked"].to_pylist() == [None] * 5
    assert plan["call"].to_pylist()[:2] == ["products", "leg_counting"]
    body = json.loads(batch["body"][0].as_py())
    assert "max_tokens" not in body
    assert body["messages"][0]["content"].endswith("Answer: <your final answer>")
    assert np.array(batch["request_index"]).tolist() == [0, 1024, 2048, 3072, 4096]


def test_the_stored_workload_makes_the_same_problems() -> None:
    fresh = WorkloadSpec.parse({"probe": {"families": ["products"], "items": 3}})
    source = job_source(fresh)
    stored = pinned(fresh, source)
    assert stored.probe is not None
    assert stored.probe.library is not None
    again = job_source(WorkloadSpec.parse(stored.to_dict()))
    assert source is not None
    assert again is not None
    assert [source.job(k) for k in range(4)] == [again.job(k) for k in range(4)]

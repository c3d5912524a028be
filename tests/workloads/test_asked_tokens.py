from typing import Any

import numpy as np

from paceline.workloads.asked_tokens import asked_tokens
from paceline.workloads.requests import RequestSource
from paceline.workloads.spec import WorkloadSpec


def spec(**fields: Any) -> WorkloadSpec:
    return WorkloadSpec.parse({"prompt_tokens": 100, "output_tokens": 20, **fields})


def test_they_are_those_of_the_requests_that_a_run_sends_first() -> None:
    workload = spec(prompt_tokens="lognormal:300:0.5", output_tokens="uniform:10:99", shared_prefix_tokens=50)
    asked = asked_tokens(workload)
    _, plan = RequestSource(workload, "m").take(40)
    assert asked.prompt[:40].tolist() == plan["prompt_tokens_asked"].to_pylist()
    assert asked.output[:40].tolist() == plan["output_tokens_asked"].to_pylist()
    assert len(np.unique(asked.job)) == len(asked.job)


def test_a_job_of_several_calls() -> None:
    """100; then what was said, its answer and 7 more; the last begins anew."""
    calls = [
        {"name": "a"},
        {"name": "b", "prompt_tokens": 7, "output_tokens": 5},
        {"name": "c", "history": "none"},
    ]
    asked = asked_tokens(spec(call=calls))
    assert asked.prompt[:3].tolist() == [100, 127, 100]
    assert asked.output[:3].tolist() == [20, 5, 20]
    assert asked.job[:6].tolist() == [0, 0, 0, 1, 1, 1]


def test_what_is_not_known_and_what_is_not_counted() -> None:
    endless = asked_tokens(spec(output_tokens=None))
    assert np.isnan(endless.output).all()
    assert not np.isnan(endless.prompt).any()
    assert asked_tokens(spec()).notes == ()
    told = asked_tokens(spec(system="Be brief.", call=[{"name": "a", "images": {"count": 1}}]))
    assert told.notes == ("its system prompt and its images are not counted",)

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paceline.endpoints.target import Target
from paceline.errors import ConfigError, StoreError
from paceline.measure import driver, segment
from paceline.measure.interleave import interleave, pairs_for
from paceline.measure.job import Credentials, Job, Prepared, job_of
from paceline.measure.live_stats import Snapshot
from paceline.measure.load_spec import LoadOptions, LoadTarget, plan_load
from paceline.protocols import Dialect
from paceline.store.runs import open_run
from paceline.workloads.requests import RequestSource
from paceline.workloads.sources import job_source
from paceline.workloads.spec import WorkloadSpec
from tests.measure.fakes import FakeLoad
from tests.support.traces import mooncake_rows, write_mooncake


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(segment, "POLL_S", 0.0)
    monkeypatch.setattr(segment, "SHORTEST_POLL_S", 0.0)
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))


def prepared(load: Callable[[str], FakeLoad] = FakeLoad, **options: Any) -> Prepared:
    """A job against nothing, as if the endpoint had been asked."""
    credentials = Credentials(headers=("x-team: secret-value",), api_key_env=None)
    job = Job(
        url="http://127.0.0.1:9100",
        workload=WorkloadSpec.parse({"prompt_tokens": "8", "output_tokens": "4", "seed": 3}),
        load=plan_load(LoadOptions(**{"concurrency": 2, "requests": 40, "seed": 3, **options})),
        model="m",
        credentials=credentials,
    )
    target = Target.parse(job.url, model="m", headers=credentials.headers)
    return Prepared(
        job=job,
        target=target,
        load_target=LoadTarget.model_validate(target.load_target(["127.0.0.1:9100"], True)),
        requests=RequestSource(job.workload, "m"),
        dialect=Dialect(),
        notes=("the endpoint was not asked",),
        load=load,
    )


def indices(run_id: str) -> list[int]:
    found: list[Any] = open_run(run_id).rows().column("request_index").to_pylist()
    return found


def test_a_run_is_stored_whole() -> None:
    seen: list[Snapshot] = []
    result = driver.measure(prepared(), watch=seen.append)
    assert (result.state, result.store_error) == ("complete", None)
    run = open_run(result.run_id)
    assert indices(run.id) == list(range(40))
    assert run.plan().num_rows == 40
    manifest = run.manifest
    assert manifest.endpoint == "http://127.0.0.1:9100/v1"
    assert manifest.load["arrival"] == {"kind": "closed", "concurrency": 2}
    assert manifest.load["connection"]["header_names"] == ["x-team"]
    assert manifest.notes == ["the endpoint was not asked"]
    assert manifest.host["cores"] >= 1
    assert [entry["state"] for entry in manifest.segments] == ["done"]
    assert seen[-1].finished == 40
    assert "secret-value" not in (run.folder / "run.json").read_text()


def test_what_cannot_be_pushed_at_once_is_pushed_on_the_way() -> None:
    made: list[FakeLoad] = []

    def load(spec_json: str) -> FakeLoad:
        made.append(FakeLoad(spec_json, per_poll=1_000))
        return made[0]

    result = driver.measure(prepared(load, requests=9_000))
    assert indices(result.run_id) == list(range(9_000))
    assert len(set(made[0].bodies)) == 9_000


def interrupted_run() -> str:
    """A run that was cut off after 15 of its 40 requests, by a load generator that broke."""
    with pytest.raises(Exception, match="descriptors"):
        driver.measure(prepared(lambda spec: FakeLoad(spec, fail_at=4)))
    run_id = open_run("latest").id
    assert open_run(run_id).state == "failed"
    assert indices(run_id) == list(range(15))
    return run_id


def test_a_run_that_was_cut_off_is_finished_with_the_same_requests() -> None:
    whole = open_run(driver.measure(prepared()).run_id)
    run_id = interrupted_run()
    job = job_of(open_run(run_id), Credentials(headers=("x-team: again",)))
    assert job.load == prepared().job.load
    assert job.workload == prepared().job.workload
    made: list[FakeLoad] = []

    def load(spec_json: str) -> FakeLoad:
        made.append(FakeLoad(spec_json))
        return made[0]

    result = driver.resume(run_id, replace(prepared(load), job=job))
    assert result.state == "complete"
    assert made[0].spec["segment"] == 1
    assert made[0].spec["max_requests"] == 25
    run = open_run(run_id)
    assert indices(run_id) == list(range(40))
    assert set(run.rows().column("segment").to_pylist()) == {0, 1}
    assert run.plan().column("prompt_sha256").to_pylist() == whole.plan().column("prompt_sha256").to_pylist()
    assert any("resumed at" in note for note in run.manifest.notes)
    with pytest.raises(StoreError, match="complete"):
        driver.check_resumable(run)


def test_a_header_that_was_not_stored_must_come_again() -> None:
    run = open_run(interrupted_run())
    with pytest.raises(ConfigError, match="x-team"):
        job_of(run, Credentials())


def test_a_run_by_time_has_the_time_that_is_left() -> None:
    def cut(spec_json: str) -> FakeLoad:
        return FakeLoad(spec_json, fail_at=5)

    by_time = {"requests": None, "duration": "10s"}
    with pytest.raises(Exception, match="descriptors"):
        driver.measure(prepared(cut, **by_time))
    run = open_run("latest")
    elapsed_ns = run.manifest.segments[0]["elapsed_ns"]
    made: list[FakeLoad] = []

    def load(spec_json: str) -> FakeLoad:
        made.append(FakeLoad(spec_json, per_poll=100_000))
        return made[0]

    # A queue that is fed for ever ends only by its clock, which a script does not have.
    def stop(snapshot: Snapshot) -> None:
        made[0].calls.append("cancel")

    driver.resume(run.id, prepared(load, **by_time), watch=stop)
    assert made[0].spec["duration_ns"] == 10_000_000_000 - elapsed_ns
    assert made[0].spec["max_requests"] is None


def test_two_endpoints_in_turn_have_equal_blocks_in_random_order() -> None:
    order: list[str] = []

    def side(name: str) -> Callable[[str], FakeLoad]:
        def load(spec_json: str) -> FakeLoad:
            order.append(f"{name}{json.loads(spec_json)['segment']}")
            return FakeLoad(spec_json)

        return load

    first, second = interleave(prepared(side("a")), prepared(side("b")), pairs=5)
    assert (first.state, second.state) == ("complete", "complete")
    assert sorted(order) == sorted(f"{name}{pair}" for name in "ab" for pair in range(5))
    assert [entry[1] for entry in order] == [str(pair) for pair in range(5) for _ in "ab"]
    assert {order[2 * pair][0] for pair in range(5)} == {"a", "b"}
    runs = [open_run(result.run_id) for result in (first, second)]
    for run, other in (runs, runs[::-1]):
        assert indices(run.id) == list(range(40))
        blocks = run.rows().column("segment").to_pylist()
        assert [blocks.count(pair) for pair in range(5)] == [8] * 5
        assert run.manifest.load["interleaved"]["with"] == other.id
        with pytest.raises(ConfigError, match="side of"):
            driver.check_resumable(replace(run, manifest=run.manifest.model_copy(update={"state": "failed"})))


def test_warmup_of_an_interleaved_run_is_in_its_first_blocks() -> None:
    result, _ = interleave(prepared(warmup="10"), prepared(warmup="10"), pairs=5)
    phases = open_run(result.run_id).rows().column("phase").to_pylist()
    assert phases == ["warmup"] * 10 + ["measure"] * 40


def test_the_number_of_pairs_fits_the_load() -> None:
    def pairs(**options: Any) -> int:
        return pairs_for(plan_load(LoadOptions(**options)))

    assert pairs(concurrency=4, requests=1_000) == 20
    assert pairs(concurrency=8, requests=160) == 10
    assert pairs(concurrency=64, requests=100) == 5
    assert pairs(rate_requests_s=5, duration="20s") == 10
    with pytest.raises(ConfigError, match="ramp"):
        pairs(ramp="1:5", duration="20s")


def test_what_a_resumed_trace_had_missed_is_not_dropped() -> None:
    segments = [{"segment": 0, "planned": 9, "dropped": 4, "started": 5}]
    assert driver._undropped(segments, plan_load(LoadOptions(replay=True))) == [
        {"segment": 0, "planned": 5, "dropped": 0, "started": 5}
    ]
    assert driver._undropped(segments, plan_load(LoadOptions(rate_requests_s=5))) == segments


def test_a_resumed_trace_goes_on_after_the_last_request_that_was_begun(tmp_path: Path) -> None:
    path = write_mooncake(tmp_path / "t.jsonl", mooncake_rows(4))
    plain = prepared()
    workload = WorkloadSpec.parse({"trace": {"path": str(path)}, "tokenizer": "words"})
    load = plan_load(LoadOptions(replay=True))
    job = replace(plain.job, workload=workload, load=load, jobs=job_source(workload))
    replayed = replace(plain, job=job)
    starts = replayed.starts_ns()
    assert starts is not None
    assert plain.starts_ns() is None
    done = np.array([0, 2], dtype=np.uint64)
    # It was ending for an hour; the last request that it had begun says where the trace stood.
    assert driver._replayed_ns(replayed, done, 3_600_000_000_000) == starts[2] > 0
    assert driver._replayed_ns(replayed, done, 1) == 1
    assert driver._replayed_ns(replayed, done[:0], 1) == 0
    assert driver._replayed_ns(plain, done, 1) == 1
    left = replayed.starts_ns(done, int(starts[2]))
    assert left is not None
    assert left.tolist() == [0, starts[3] - starts[2]]

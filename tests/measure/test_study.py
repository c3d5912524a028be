"""Sweeps and searches on a load generator that plays a script."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError, EndpointError
from paceline.measure import segment
from paceline.measure.job import Credentials, Job, Prepared
from paceline.measure.load_spec import Closed, LoadOptions, plan_load
from paceline.measure.study import Runner, StepPlan, Watch, job_of_study, new_study
from paceline.measure.study_capacity import CapacityPlan, run_capacity
from paceline.measure.study_sweep import run_sweep, sweep_order
from paceline.stats.capacity_search import Asked
from paceline.store.runs import StoredRun, list_runs, open_run
from paceline.store.studies import StudyManifest, StudyStep, StudyWriter, open_study, runs_of
from tests.measure.fakes import FakeLoad
from tests.measure.test_driver import prepared


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(segment, "POLL_S", 0.0)
    monkeypatch.setattr(segment, "SHORTEST_POLL_S", 0.0)
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))


def job() -> Job:
    return replace(prepared().job, load=plan_load(LoadOptions(concurrency=1, requests=6, seed=3)))


def preparing(
    made: list[Job] | None = None, load: Callable[[str], FakeLoad] = FakeLoad
) -> Callable[[Job], Prepared]:
    def prepare(asked: Job) -> Prepared:
        if made is not None:
            made.append(asked)
        return replace(prepared(load), job=asked)

    return prepare


def judge(run: StoredRun, _cut_short: bool) -> dict[str, Any]:
    n = run.rows(["request_index"]).num_rows
    return {"attempted": n, "met": n, "met_by_limit": {"ttft_ms": n}, "e2e_mean_ms": 10.0}


def sweep_of(points: list[dict[str, Any]], **fields: Any) -> StudyManifest:
    asked = {
        "points": points, "repeats": 1, "order": "random", "seed": 3, "settle_ns": 0, "threads": None,
        "keep_salt": False, **fields,
    }  # fmt: skip
    return new_study("sweep", job(), prepared(), asked, name=None)


def sweep(writer: StudyWriter, **fields: Any) -> None:
    with writer:
        run_sweep(
            Runner(writer, judge, Watch(), 0, **{"prepare": preparing(), **fields}),
            job(),
        )


POINTS = [{"concurrency": 1}, {"concurrency": 2}, {"concurrency": 4}]


def test_each_step_of_a_sweep_is_a_run_that_belongs_to_it() -> None:
    made: list[Job] = []
    writer = StudyWriter.create(sweep_of(POINTS, repeats=2))
    sweep(writer, prepare=preparing(made))
    study = open_study(writer.id)
    assert study.state == "complete"
    assert sorted((step.at["concurrency"], step.repeat) for step in study.manifest.steps) == [
        (c, r) for c in (1, 2, 4) for r in (0, 1)
    ]
    for step, asked in zip(study.manifest.steps, made, strict=True):
        assert step.run_id is not None
        manifest = open_run(step.run_id).manifest
        assert (manifest.model_extra or {})["study"] == {"id": study.id, "step": step.number, "at": step.at}
        assert manifest.load["arrival"]["concurrency"] == step.at["concurrency"]
        assert asked.load.arrival == Closed(concurrency=step.at["concurrency"])
    assert sorted(runs_of(study.id)) == sorted(str(step.run_id) for step in study.manifest.steps)
    assert len({asked.workload.prefix_salt for asked in made}) == 6
    assert len({asked.load.seed for asked in made}) == 6


def test_orders() -> None:
    assert sweep_order(3, 2, "up", 1) == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]
    assert sweep_order(3, 1, "down", 1) == [(2, 0), (1, 0), (0, 0)]
    drawn = sweep_order(8, 3, "random", 1)
    assert drawn == sweep_order(8, 3, "random", 1)
    assert drawn != sweep_order(8, 3, "random", 2)
    for repeat in range(3):
        assert sorted(drawn[8 * repeat : 8 * repeat + 8]) == [(point, repeat) for point in range(8)]
    assert [point for point, _ in drawn[:8]] != [point for point, _ in drawn[8:16]]


def test_what_is_finished_is_kept_and_the_rest_is_done_as_it_would_have_been() -> None:
    whole: list[Job] = []
    sweep(StudyWriter.create(sweep_of(POINTS)), prepare=preparing(whole))
    writer = StudyWriter.create(sweep_of(POINTS))

    def dies(asked: Job) -> Prepared:
        if len(writer.manifest.steps) == 1:
            raise EndpointError("gone")
        return preparing()(asked)

    with pytest.raises(EndpointError):
        sweep(writer, prepare=dies)
    assert open_study(writer.id).state == "failed"
    kept = open_study(writer.id).manifest.steps
    again: list[Job] = []
    resumed = StudyWriter.reopen(writer.id)
    resumed.update(state="running")
    sweep(resumed, prepare=preparing(again))
    study = open_study(writer.id)
    assert study.state == "complete"
    assert study.manifest.steps[:1] == kept
    assert [one.load for one in again] == [one.load for one in whole[1:]]


def test_ctrl_c_ends_softly_and_the_step_is_not_kept() -> None:
    writer = StudyWriter.create(sweep_of(POINTS))
    runner = Runner(writer, judge, Watch(), 0, prepare=preparing())

    def interrupt(plan: StepPlan) -> None:
        if plan.number == 1:
            runner.interrupts.note()

    runner.watch = Watch(step=interrupt)
    with writer:
        run_sweep(runner, job())
    study = open_study(writer.id)
    assert study.state == "interrupted"
    assert len(study.manifest.steps) < 3


def test_a_rule_cuts_a_step_short_and_it_counts() -> None:
    writer = StudyWriter.create(sweep_of(POINTS))
    seen: list[StudyStep] = []
    runner = Runner(writer, judge, Watch(ended=seen.append), 0, prepare=preparing())
    with writer, runner.interrupts:
        step = runner.step(StepPlan(0, {"concurrency": 1}, job(), rule=lambda _: "too much"))
        writer.finish("complete", None)
    assert step is not None
    assert step.overload == "too much"
    assert seen == [step]
    assert not runner.stopped


def test_a_study_has_no_secrets_and_its_headers_are_asked_for_again() -> None:
    writer = StudyWriter.create(sweep_of(POINTS))
    writer.release()
    assert "secret-value" not in (writer.folder / "study.json").read_text()
    with pytest.raises(ConfigError, match="x-team"):
        job_of_study(writer.manifest, Credentials())
    again = job_of_study(writer.manifest, Credentials(headers=("X-Team: other",)))
    assert again.load == job().load
    assert again.workload == job().workload
    assert again.credentials.headers == ("X-Team: other",)


def wall(run: StoredRun, _cut_short: bool) -> dict[str, Any]:
    """All requests meet up to twelve in flight, none above."""
    met = 200 if run.manifest.load["arrival"]["concurrency"] <= 12 else 0
    return {"attempted": 200, "met": met, "met_by_limit": {"ttft_ms": met}, "e2e_mean_ms": 10.0}


def capacity_of(**fields: Any) -> StudyManifest:
    search = Asked(share=0.95, lowest=1.0, highest=64.0, whole=True)
    plan = CapacityPlan("concurrency", search, ("all",), budget_s=1e6, seed=1)
    asked = {**plan.to_dict(), "settle_ns": 0, "keep_salt": False, **fields}
    return new_study("capacity", replace(job(), slo={"ttft_ms": 100.0}), prepared(), asked, name=None)


def seek(writer: StudyWriter, judge: Callable[[StoredRun, bool], dict[str, Any]] = wall) -> None:
    with writer:
        run_capacity(Runner(writer, judge, Watch(), 0, prepare=preparing()), job())


def test_a_capacity_is_found_and_stored() -> None:
    writer = StudyWriter.create(capacity_of())
    seek(writer)
    study = open_study(writer.id)
    assert study.state == "complete"
    assert study.manifest.result is not None
    assert study.manifest.result["verdict"] == "found"
    assert study.manifest.result["load"] == 12
    assert [step.at["concurrency"] for step in study.manifest.steps][:5] == [1, 2, 4, 8, 16]
    assert json.loads((study.folder / "study.json").read_text())["schema"] == "paceline.study/1"


def test_a_search_that_was_cut_off_goes_on_where_it_was() -> None:
    whole = StudyWriter.create(capacity_of())
    seek(whole)
    expected = [step.at for step in open_study(whole.id).manifest.steps]
    cut = StudyWriter.create(capacity_of())
    calls = 0

    def dies(run: StoredRun, cut_short: bool) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        if calls == 8:
            raise EndpointError("gone")
        return wall(run, cut_short)

    with pytest.raises(EndpointError):
        seek(cut, dies)
    assert len(open_study(cut.id).manifest.steps) == 7
    seek(StudyWriter.reopen(cut.id))
    found = open_study(cut.id).manifest
    assert [step.at for step in found.steps] == expected
    assert found.result == open_study(whole.id).manifest.result


def test_when_the_time_is_up_it_says_how_much_more_it_takes() -> None:
    writer = StudyWriter.create(capacity_of(budget_s=1e-9))
    seek(writer)
    result = open_study(writer.id).manifest.result
    assert result is not None
    assert result["verdict"] == "not enough data"
    assert result["needs_s"] > 0
    assert len(list_runs()) == 1


def test_steps_in_which_the_client_failed_are_left_out() -> None:
    failed = 0

    def flaky(run: StoredRun, cut_short: bool) -> dict[str, Any]:
        nonlocal failed
        figures = wall(run, cut_short)
        failed += 1
        return {**figures, "met": 0, "client_failed": True} if failed % 4 == 0 else figures

    writer = StudyWriter.create(capacity_of())
    seek(writer, flaky)
    result = open_study(writer.id).manifest.result
    assert result is not None
    assert (result["verdict"], result["load"]) == ("found", 12)
    assert result["left_out"] == failed // 4

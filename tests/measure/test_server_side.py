"""Nothing that a server's metrics or NVML do changes a run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from paceline.endpoints.target import Target
from paceline.measure import driver, scrape, segment, server_side
from paceline.measure.gpu import Gpus, open_gpus
from paceline.measure.interleave import interleave
from paceline.measure.job import Credentials, Prepared, job_of
from paceline.measure.scrape import ServerWatch, find_metrics
from paceline.measure.server_side import NVML_HINT
from paceline.store.runs import StoredRun, open_run
from tests.measure.fakes import FakeLoad
from tests.measure.test_driver import prepared
from tests.measure.test_gpu import FakeNvml
from tests.support.fake_server import Answer, FakeServer, serving

PAGE = Answer(headers={"content-type": "text/plain"}, body=b"vllm:num_requests_running 3\n")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(segment, "POLL_S", 0.0)
    monkeypatch.setattr(segment, "SHORTEST_POLL_S", 0.0)
    monkeypatch.setattr(scrape, "LOOK_S", 0.5)
    monkeypatch.setenv("PACELINE_HOME", str(tmp_path))
    with_gpus(monkeypatch, None)


def with_gpus(monkeypatch: pytest.MonkeyPatch, nvml: Any) -> None:
    def gpus() -> Gpus | None:
        return open_gpus(lambda: nvml) if nvml is not None else None

    monkeypatch.setattr(server_side, "open_gpus", gpus)


def watched(
    url: str, watch: ServerWatch | None = None, load: Callable[[str], FakeLoad] = FakeLoad
) -> Prepared:
    """A run against nothing, with a server whose metrics are at `url`."""
    one, watch = prepared(load), watch or ServerWatch()
    return replace(one, job=replace(one.job, server=watch), server=find_metrics(Target.parse(url), watch))


def run_of(one: Prepared) -> StoredRun:
    result = driver.measure(one)
    assert result.state == "complete"
    assert open_run(result.run_id).rows().num_rows == 40
    return open_run(result.run_id)


def test_what_was_seen_is_stored_with_where_it_is_from() -> None:
    with serving(FakeServer(gets={"/metrics": PAGE})) as server:
        run = run_of(watched(server.url))
    samples = run.server().to_pylist()
    assert [(one["source"], one["name"], one["value"]) for one in samples] == [
        ("vllm", "running_requests", 3.0)
    ] * len(samples)
    assert len(samples) >= 2
    told = run.manifest.server
    assert told is not None
    assert told["metrics"]["url"] == f"{server.url}/metrics"
    assert told["metrics"]["looks"]["n"] == len(samples)
    assert run.manifest.load["connection"]["server_metrics"] == ServerWatch().to_dict()


@pytest.mark.parametrize("later", [Answer(500), Answer(body=b"<html>"), Answer(body=PAGE.body, cut=True)])
def test_metrics_that_go_away_are_a_note(later: Answer) -> None:
    with serving(FakeServer(gets={"/metrics": PAGE})) as server:
        one = watched(server.url)
        server.gets["/metrics"] = later
        run = run_of(one)
    assert run.server().num_rows == 0
    assert [
        note
        for note in run.manifest.notes
        if note.startswith("the server's metrics could not be read 1 of 1")
    ]


def test_a_server_that_is_gone_is_a_note() -> None:
    with serving(FakeServer(gets={"/metrics": PAGE})) as server:
        one = watched(server.url)
    run = run_of(one)
    assert any("could not be read" in note for note in run.manifest.notes)


def test_both_sides_and_all_segments_are_summed() -> None:
    with serving(FakeServer(gets={"/metrics": PAGE})) as server:
        results = interleave(watched(server.url), watched(server.url), pairs=5)
    for result in results:
        run = open_run(result.run_id)
        told = run.manifest.server
        assert told is not None
        # Each block is looked at when it begins and when it ends.
        assert told["metrics"]["looks"]["n"] == run.server().num_rows >= 10


def test_a_run_that_breaks_keeps_what_was_seen_and_resumes_alike() -> None:
    with serving(FakeServer(gets={"/metrics": PAGE})) as server:
        watch = ServerWatch(f"{server.url}/metrics", 500_000_000)
        with pytest.raises(Exception, match="descriptors"):
            driver.measure(watched(server.url, watch, lambda spec: FakeLoad(spec, fail_at=4)))
        run = open_run("latest")
        seen = run.server().num_rows
        assert seen >= 2
        assert job_of(run, Credentials(headers=("x-team: again",))).server == watch
        driver.resume(run.id, watched(server.url, watch))
        again = open_run(run.id)
        assert again.server().num_rows > seen
        told = again.manifest.server
        assert told is not None
        assert told["metrics"]["looks"]["n"] == again.server().num_rows


def test_gpus_are_sampled_where_the_endpoint_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    with_gpus(monkeypatch, FakeNvml())
    run = run_of(prepared())
    assert {one["source"] for one in run.server().to_pylist()} == {"gpu0", "gpu1"}
    told = run.manifest.server
    assert told is not None
    assert told["gpus"]["names"] == ["NVIDIA H200", "NVIDIA H200"]
    assert "metrics" not in told
    far = prepared()
    far = replace(far, load_target=far.load_target.model_copy(update={"addresses": ("192.0.2.7:80",)}))
    assert run_of(far).server().num_rows == 0
    asked = replace(far, job=replace(far.job, server=ServerWatch(gpu=True)))
    assert run_of(asked).server().num_rows > 0
    unasked = prepared()
    unasked = replace(unasked, job=replace(unasked.job, server=ServerWatch(gpu=False)))
    assert run_of(unasked).server().num_rows == 0


def test_gpus_that_were_asked_for_and_are_not_there_are_a_note() -> None:
    one = prepared()
    run = run_of(replace(one, job=replace(one.job, server=ServerWatch(gpu=True))))
    assert NVML_HINT in run.manifest.notes
    assert run.manifest.server is None

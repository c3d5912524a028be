from dataclasses import replace
from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.measure.job import Credentials, Job, job_of, prepare
from paceline.measure.load_spec import Closed, LoadPlan
from paceline.measure.study import job_of_study, new_study
from paceline.protocols import Protocol
from paceline.store.runs import open_run
from paceline.store.writer import RunWriter
from paceline.workloads.calls import CallSpec
from paceline.workloads.lengths import Lengths
from paceline.workloads.spec import WorkloadSpec


def asked(protocol: Protocol, *calls: CallSpec) -> Job:
    """Jobs at an endpoint that is not asked."""
    return Job(
        url="http://127.0.0.1:9/v1",
        model="tiny",
        protocol=protocol,
        workload=WorkloadSpec(call=calls),
        load=LoadPlan(arrival=Closed(concurrency=1), requests=10, jobs=True),
        checked=False,
    )


def test_answers_of_embeddings_cannot_be_carried_on() -> None:
    talk = CallSpec(name="turn", repeat=Lengths("fixed", (3,)))
    with pytest.raises(ConfigError, match="embeddings have no answers"):
        prepare(asked("openai-embeddings", talk))
    assert prepare(asked("openai-chat", talk)).target.protocol == "openai-chat"
    assert prepare(asked("openai-embeddings", CallSpec(name="one"))).job.workload.streaming is False


def test_whose_offer_it_is_is_stored_and_comes_back(tmp_path: Path) -> None:
    job = replace(asked("openai-chat"), offer={"provider": "acme", "tier": "fast"})
    manifest = prepare(job).manifest()
    assert manifest.offer == {"provider": "acme", "tier": "fast"}
    with RunWriter.create(manifest, at=tmp_path) as writer:
        writer.finish("complete")
    assert job_of(open_run(manifest.id, at=tmp_path), Credentials()).offer == job.offer
    study = new_study("sweep", job, prepare(job), {}, name=None)
    assert job_of_study(study, Credentials()).offer == job.offer

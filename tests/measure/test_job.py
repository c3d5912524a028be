import pytest

from paceline.errors import ConfigError
from paceline.measure.job import Job, prepare
from paceline.measure.load_spec import Closed, LoadPlan
from paceline.protocols import Protocol
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

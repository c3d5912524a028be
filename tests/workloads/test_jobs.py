"""Jobs as the load generator takes them: bodies, splices, dependence, plan."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, get_args

import pyarrow as pa
import pytest

from paceline.protocols import DEFAULT_DIALECT, Dialect, Message, Protocol, request_body
from paceline.store.schema import PLAN_SCHEMA as STORED_PLAN_SCHEMA
from paceline.workloads.jobs import JOBS_SCHEMA, AnswerOf, Call, Job, JobBatches, Turn, check_job
from paceline.workloads.plan import PLAN_SCHEMA
from paceline.workloads.spec import WorkloadSpec

PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)
# What breaks a careless splice: quotes, escapes, what looks like an escape, letters beyond ASCII, nothing.
ANSWERS = ['He said "no".\n', "back\\slash \\u0041 \x00\x1f", "Grüße 日本 🎈", "", '{"a": [1, "b"]}']


@dataclass
class Listed:
    jobs: list[Job]
    asked: list[int] = field(default_factory=list)

    def job(self, index: int) -> Job | None:
        self.asked.append(index)
        return self.jobs[index] if index < len(self.jobs) else None


def batches(jobs: list[Job], protocol: Protocol = "openai-chat", start: int = 0, **spec: Any) -> JobBatches:
    return JobBatches(Listed(jobs), "m", protocol, DEFAULT_DIALECT, WorkloadSpec.parse(spec), start=start)


def filled(row: dict[str, Any], answers: list[str]) -> bytes:
    """What the load generator does: at each place the answer, JSON-escaped."""
    body, parts, begin = row["body"], [], 0
    for splice in row["splices"] or []:
        parts += [body[begin : splice["at"]], json.dumps(answers[splice["step"]])[1:-1].encode()]
        begin = splice["at"]
    return b"".join([*parts, body[begin:]])


def chain(n: int) -> Job:
    """A conversation whose every step carries on all answers before it."""
    calls = []
    turns: tuple[Turn, ...] = (Turn("system", ('Be "kind".',)),)
    for step in range(n):
        turns = (*turns, Turn("user", (f"question {step} é \\ \n",)))
        calls.append(Call(turns, output_tokens=7, prompt_tokens=100 * (step + 1), name=f"turn-{step}"))
        turns = (*turns, Turn("assistant", (AnswerOf(step),)))
    return Job(tuple(calls))


def messages(job: Job, step: int, answers: list[str]) -> list[Message]:
    return [
        Message(
            turn.role, "".join(p if isinstance(p, str) else answers[p.step] for p in turn.text), turn.images
        )
        for turn in job.calls[step].turns
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_filled_bodies_are_what_would_have_been_written_with_the_answers_known(protocol: Protocol) -> None:
    job = chain(5)
    batch, _ = batches([job], protocol, temperature=0.5, extra={"top_k": 3}).take(1)
    assert batch.schema == JOBS_SCHEMA
    for step, row in enumerate(batch.to_pylist()):
        body = request_body(
            protocol,
            "m",
            messages(job, step, ANSWERS),
            max_tokens=7,
            streaming=True,
            temperature=0.5,
            extra={"top_k": 3},
        )
        assert filled(row, ANSWERS) == json.dumps(body).encode()


def test_answers_within_a_text_side_by_side_and_twice() -> None:
    pieces = ("A: ", AnswerOf(0), AnswerOf(1), ", again ", AnswerOf(0), ".")
    job = Job(
        (
            Call((Turn("user", ("x",)),), 1, 1, after=()),
            Call((Turn("user", ("y",)),), 1, 1, after=()),
            Call((Turn("user", pieces),), 1, 1, after=(0, 1)),
        )
    )
    row = batches([job]).take(1)[0].to_pylist()[2]
    assert [splice["step"] for splice in row["splices"]] == [0, 1, 0]
    content = json.loads(filled(row, ANSWERS))["messages"][0]["content"]
    assert content == f"A: {ANSWERS[0]}{ANSWERS[1]}, again {ANSWERS[0]}."


def test_images_and_exact_lengths_are_asked_as_the_protocol_and_the_server_have_them() -> None:
    image = "data:image/png;base64,iVBORw0KGgo="
    job = Job((Call((Turn("user", ("Look.",), (image,)),), 9, 5, exact_output=True),))
    source = JobBatches(Listed([job]), "m", "openai-chat", Dialect(exact_output="min_tokens"), WorkloadSpec())
    body = json.loads(source.take(1)[0].column("body")[0].as_py())
    assert body["messages"][0]["content"][1] == {"type": "image_url", "image_url": {"url": image}}
    assert (body["max_tokens"], body["min_tokens"]) == (9, 9)


def test_columns_say_when_each_call_is_due() -> None:
    text = (Turn("user", ("x",)),)
    job = Job(
        (
            Call(text, 5, 2, "begin", wait_ms=3.0),
            Call(text, 5, 2, "tool", wait_ms=0.25, wait_kind="tool"),
            Call(text, None, None, "beside", after=(0,), hang_up_ms=1.5),
            Call(text, 5, 2, "join", after=(1, 2)),
        ),
        start_ns=7_000,
    )
    batch, plan = batches([job, job]).take(2)
    rows = batch.to_pylist()
    assert [row["request_index"] for row in rows] == [0, 1, 2, 3, 1024, 1025, 1026, 1027]
    assert [row["session"] for row in rows] == [0] * 4 + [1] * 4
    assert [row["after"] for row in rows[:4]] == [None, None, [0], [1, 2]]
    assert [row["wait_ns"] for row in rows[:4]] == [3_000_000, 250_000, None, None]
    assert [row["hangup_ns"] for row in rows[:4]] == [None, None, 1_500_000, None]
    assert [row["start_ns"] for row in rows[:4]] == [7_000, None, None, None]
    assert plan.schema == PLAN_SCHEMA
    asked = plan.slice(4).to_pylist()
    assert [row["request_index"] for row in asked] == [1024, 1025, 1026, 1027]
    assert [row["call"] for row in asked] == ["begin", "tool", "beside", "join"]
    assert [row["step"] for row in asked] == [0, 1, 2, 3]
    assert [row["wait_ms"] for row in asked] == [3.0, 0.25, None, None]
    assert [row["wait_kind"] for row in asked] == ["think", "tool", None, None]
    assert [row["after"] for row in asked] == [None, None, [0], [1, 2]]
    assert [row["output_tokens_asked"] for row in asked] == [5, 5, None, 5]
    assert [row["prompt_tokens_asked"] for row in asked] == [2, 2, None, 2]
    assert asked[0]["prompt_sha256"] == hashlib.sha256(b"x").hexdigest()


def test_job_k_is_the_same_however_it_is_reached_and_they_end() -> None:
    jobs = [chain(n) for n in (1, 3, 2, 4)]
    whole, plan = batches(jobs).take(10)
    assert whole.num_rows == 10
    pieces = batches(jobs)
    taken = [pieces.take(n) for n in (1, 0, 2, 1, 5)]
    assert pa.Table.from_batches([batch for batch, _ in taken]).combine_chunks().to_batches()[0].equals(whole)
    assert pa.concat_tables([one for _, one in taken]).equals(plan)
    resumed, _ = batches(jobs, start=2).take(2)
    assert resumed.equals(whole.slice(4))
    assert pieces.next_index == 4
    assert pieces.take(1)[0].num_rows == 0


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ([], "1 to 1024 calls"),
        ([Call((), 1, 1)] * 1025, "1 to 1024 calls"),
        ([Call((), 1, 1, after=(0,))], "does not come before"),
        ([Call((), 1, 1), Call((), 1, 1, after=(-1,))], "does not come before"),
        ([Call((), 1, 1), Call((Turn("user", (AnswerOf(0),)),), 1, 1, after=())], "does not await"),
        ([Call((), 1, 1), Call((Turn("user", (AnswerOf(1),)),), 1, 1)], "does not await"),
    ],
)
def test_a_job_that_could_not_be_run_is_refused(calls: list[Call], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_job(Job(tuple(calls)))


def test_the_longest_job_can_be_run() -> None:
    check_job(Job((Call((), 1, 1),) * 1024))


def test_the_plan_is_the_stores() -> None:
    def columns(schema: pa.Schema) -> list[tuple[str, str]]:
        return [(one.name, str(one.type)) for one in schema]

    assert columns(PLAN_SCHEMA) == columns(STORED_PLAN_SCHEMA)

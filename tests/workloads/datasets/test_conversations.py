"""Conversations: the questions are sent, with the model's own answers or the recorded ones between them."""

from pathlib import Path

from paceline.workloads.datasets.conversations import BEGINS_WITH_ANSWER
from paceline.workloads.datasets.limits import CUT_BY_CALLS, CUT_BY_TOKENS
from paceline.workloads.jobs import AnswerOf, Turn, check_job
from tests.workloads.datasets.support import changed, jobs_of, skipped, source, write_jsonl


def talk(*turns: str) -> dict[str, object]:
    """`h: text` and `g: text` as ShareGPT writes them."""
    names = {"h": "human", "g": "gpt", "s": "system"}
    return {"id": "x", "conversations": [{"from": names[one[0]], "value": one[3:]} for one in turns]}


THREE = talk("h: one two", "g: yes yes yes", "h: three", "g: no", "h: four five six")


def test_the_models_own_answers_are_carried_on(tmp_path: Path) -> None:
    found = source(write_jsonl(tmp_path / "a.jsonl", [THREE]), {"output_tokens": 10})
    (job,) = jobs_of(found)
    check_job(job)
    q = [Turn("user", (text,)) for text in ("one two", "three", "four five six")]
    a = [Turn("assistant", (AnswerOf(step),)) for step in range(2)]
    assert [call.turns for call in job.calls] == [(q[0],), (q[0], a[0], q[1]), (q[0], a[0], q[1], a[1], q[2])]
    assert [call.prompt_tokens for call in job.calls] == [2, 2 + 10 + 1, 2 + 10 + 1 + 10 + 3]
    assert [call.output_tokens for call in job.calls] == [10, 10, 10]
    assert {call.name for call in job.calls} == {"turn"}


def test_the_recorded_answers_are_carried_on(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [THREE])
    (job,) = jobs_of(source(path, answers="recorded", output_lengths="recorded"))
    last = job.calls[-1]
    assert [(turn.role, turn.text) for turn in last.turns] == [
        ("user", ("one two",)),
        ("assistant", ("yes yes yes",)),
        ("user", ("three",)),
        ("assistant", ("no",)),
        ("user", ("four five six",)),
    ]
    assert [call.prompt_tokens for call in job.calls] == [2, 6, 10]
    # The last question has no recorded answer, so the workload says how long it may be.
    assert [call.output_tokens for call in job.calls] == [3, 1, 128]


def test_turns_that_do_not_take_turns(tmp_path: Path) -> None:
    odd = talk("g: hello", "s: be kind", "h: one", "h: two", "g: a", "g: b", "h: three", "g: c", "g: d")
    found = source(write_jsonl(tmp_path / "a.jsonl", [odd]), output_lengths="recorded")
    (job,) = jobs_of(found)
    check_job(job)
    assert [len(call.turns) for call in job.calls] == [3, 5]
    assert [turn.role for turn in job.calls[1].turns] == ["system", "user", "user", "assistant", "user"]
    assert [call.output_tokens for call in job.calls] == [2, 2]
    assert changed(found) == {BEGINS_WITH_ANSWER: 1}
    (job,) = jobs_of(source(tmp_path / "a.jsonl", answers="recorded"))
    assert [turn.text[0] for turn in job.calls[1].turns] == ["be kind", "one", "two", "a", "b", "three"]


def test_system_prompts(tmp_path: Path) -> None:
    rows = [{**talk("h: q"), "system": "of the row"}, talk("s: of the talk", "h: q"), talk("h: q")]
    jobs = jobs_of(source(write_jsonl(tmp_path / "a.jsonl", rows), {"system": "of the workload"}))
    assert [job.calls[0].turns[0].text[0] for job in jobs] == ["of the row", "of the talk", "of the workload"]
    assert {len(job.calls[0].turns) for job in jobs} == {2}


def test_think_time_is_between_turns_and_each_job_has_its_own(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [THREE, THREE])
    first, second = jobs_of(source(path, think_ms="lognormal:2000:0.5"))
    waits = [call.wait_ms for job in (first, second) for call in job.calls]
    assert waits[0] == waits[3] == 0
    assert len(set(waits)) == 5
    assert source(path, think_ms="lognormal:2000:0.5").job(1) == second
    assert all(call.wait_ms == 0 for job in jobs_of(source(path)) for call in job.calls)


def test_a_conversation_is_cut_where_it_grows_too_long(tmp_path: Path) -> None:
    rows = [THREE, talk("h: one two three four five six seven", "g: x", "h: y"), talk("h: x")]
    found = source(
        write_jsonl(tmp_path / "a.jsonl", rows), max_prompt_tokens=6, min_prompt_tokens=2, answers="recorded"
    )
    (job,) = jobs_of(found)
    assert [call.prompt_tokens for call in job.calls] == [2, 6]
    assert changed(found) == {CUT_BY_TOKENS: 1}
    assert skipped(found) == {"longer than max_prompt_tokens": 1, "shorter than min_prompt_tokens": 1}
    long = talk(*["h: q", "g: a"] * 1030)
    found = source(write_jsonl(tmp_path / "b.jsonl", [long]))
    (job,) = jobs_of(found)
    assert len(job.calls) == 1024
    assert changed(found) == {CUT_BY_CALLS: 1}


def test_conversations_without_a_question(tmp_path: Path) -> None:
    rows = [talk("g: hello"), {"conversations": []}, {"conversations": None}, talk("h: q")]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows))
    assert skipped(found) == {
        "no turn of the user": 1,
        "`conversations` has no turn with text": 1,
        "no `conversations`": 1,
    }

"""Jobs of a workload file: conversations, common and own text, lengths, joins."""

import json
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.protocols import DEFAULT_DIALECT
from paceline.workloads.jobs import AnswerOf, Call, Job, JobBatches, check_job
from paceline.workloads.sessions import SessionSource
from paceline.workloads.spec import WorkloadSpec
from tests.support.tokenizers import save, trained


def source(*calls: dict[str, Any], **spec: Any) -> SessionSource:
    named = [{"name": f"c{place}"} | call for place, call in enumerate(calls)]
    words = {"tokenizer": "words", "prompt_tokens": 30, "output_tokens": 10, "seed": 3}
    return SessionSource(WorkloadSpec.parse(words | spec | {"call": named}))


def own_text(call: Call) -> str:
    piece = call.turns[-1].text[0]
    assert isinstance(piece, str)
    return piece


def counted(job: Job, step: int) -> int:
    """Words of a whole prompt, each answer as long as it was asked to be."""
    total = 0
    for piece in (piece for turn in job.calls[step].turns if turn.role != "system" for piece in turn.text):
        total += len(piece.split()) if isinstance(piece, str) else job.calls[piece.step].output_tokens or 0
    return total


def test_a_conversation_carries_on_its_own_turns_and_answers() -> None:
    job = source({}, {"repeat": 2}, system="Be kind.").job(0)
    check_job(job)
    last = job.calls[2].turns
    assert [turn.role for turn in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last[0].text == ("Be kind.",)
    assert [turn.text for turn in last if turn.role == "assistant"] == [(AnswerOf(0),), (AnswerOf(1),)]
    assert last[1] is job.calls[0].turns[1]
    assert [call.name for call in job.calls] == ["c0", "c1", "c1"]
    assert [call.after for call in job.calls] == [(), (0,), (1,)]


def test_prompt_tokens_are_those_of_the_whole_prompt() -> None:
    job = source(
        {"prompt_tokens": "uniform:20:40"},
        {"prompt_tokens": 12, "output_tokens": "uniform:5:9", "repeat": 3, "parallel": True},
        {"prompt_tokens": 8},
        {"history": "none", "prompt_tokens": 25},
        shared_prefix_tokens=50,
    ).job(4)
    check_job(job)
    assert [counted(job, step) for step in range(6)] == [call.prompt_tokens for call in job.calls]
    assert job.calls[0].prompt_tokens == len(own_text(job.calls[0]).split())
    assert job.calls[4].after == (1, 2, 3)
    labels = [piece for piece in job.calls[4].turns[-1].text[1:] if isinstance(piece, str)]
    assert labels == ["\n\nAnswer 1:\n", "\n\nAnswer 2:\n", "\n\nAnswer 3:\n"]
    assert [turn.role for turn in job.calls[4].turns] == ["user", "assistant", "user"]
    assert [turn.role for turn in job.calls[5].turns] == ["user"]


def test_lengths_of_answers_that_end_by_themselves_are_not_known() -> None:
    job = source({}, {}, output_tokens=None).job(0)
    assert [call.output_tokens for call in job.calls] == [None, None]
    assert [call.prompt_tokens for call in job.calls] == [30, None]
    capped = source({}, {"output_tokens": 4}, output_tokens=None, max_tokens=7).job(0)
    assert [call.output_tokens for call in capped.calls] == [7, 4]


def test_job_k_is_the_same_however_it_is_reached_and_no_two_are_alike() -> None:
    calls: list[dict[str, Any]] = [
        {"prompt_tokens": "normal:40:9"},
        {
            "repeat": "uniform:1:6",
            "wait_ms": "lognormal:900:0.7",
            "wait": "tool",
            "hang_up_ms": "uniform:1:2",
        },
    ]
    there, back = source(*calls), source(*calls)
    jobs = [there.job(index) for index in range(40)]
    assert [back.job(index) for index in reversed(range(40))] == jobs[::-1]
    beginnings = {" ".join(own_text(job.calls[0]).split()[:4]) for job in jobs}
    assert len(beginnings) == 40
    assert {len(job.calls) for job in jobs} == {2, 3, 4, 5, 6, 7}
    waits = [call.wait_ms for job in jobs for call in job.calls[1:]]
    assert len(set(waits)) == len(waits)
    assert all(call.wait_kind == "tool" and call.hang_up_ms is not None for j in jobs for call in j.calls[1:])
    assert source(*calls, seed=4).job(0) != jobs[0]


def test_what_is_common_to_all_jobs_comes_first_and_is_not_in_later_turns() -> None:
    shared = source({}, {}, shared_prefix_tokens=20)
    one, other = (shared.job(index) for index in (0, 1))
    assert own_text(one.calls[0]).split()[:20] == own_text(other.calls[0]).split()[:20]
    assert own_text(one.calls[0]).split()[20:24] != own_text(other.calls[0]).split()[20:24]
    assert own_text(one.calls[1]).split()[:3] != own_text(other.calls[1]).split()[:3]
    assert len(own_text(one.calls[1]).split()) == 30


def test_a_cached_share_is_of_the_prompt_and_not_on_top_of_it() -> None:
    half = source({"prompt_tokens": "uniform:100:200"}, {"prompt_tokens": 40}, cached_share=0.5)
    jobs = [half.job(index) for index in range(20)]
    longest = max((own_text(job.calls[0]).split() for job in jobs), key=len)
    for job in jobs:
        words = own_text(job.calls[0]).split()
        common = round(len(words) * 0.5)
        assert job.calls[0].prompt_tokens == len(words)
        # A word or two at the end of the common part may fill it up to its length.
        assert words[: common - 3] == longest[: common - 3] or words is longest
        assert len(own_text(job.calls[1]).split()) == 40
    rest = {" ".join(own_text(job.calls[0]).split()[-5:]) for job in jobs}
    assert len(rest) == 20


def test_a_workload_may_do_without_unique_beginnings() -> None:
    words = [own_text(source({}, unique_prefix=False, prefix_salt=s).job(0).calls[0]) for s in (1, 2)]
    assert words[0] == words[1]
    salted = [own_text(source({}, prefix_salt=s).job(0).calls[0]).split() for s in (1, 2)]
    assert salted[0][:4] != salted[1][:4]
    assert salted[0][4:] == salted[1][4:]


@pytest.mark.parametrize(("share", "said"), [(1, "and nothing else."), (0.8, "the first 80 words")])
def test_an_answer_that_repeats_the_prompt_is_asked_for_in_words(share: float, said: str) -> None:
    job = source({"repeat_prompt": share, "output_tokens": 100, "prompt_tokens": 200}).job(0)
    text = own_text(job.calls[0])
    assert said in text
    assert len(text.split()) == 200 == job.calls[0].prompt_tokens
    short = source({"repeat_prompt": share, "prompt_tokens": 2}).job(0)
    assert len(own_text(short.calls[0]).split()) == short.calls[0].prompt_tokens


def test_images_come_with_the_call_and_differ() -> None:
    made = source({"images": {"count": 2, "width_px": 40, "height_px": 20}, "repeat": 2})
    jobs = [made.job(0), made.job(1)]
    urls = [url for job in jobs for call in job.calls for url in call.turns[-1].images]
    assert len(set(urls)) == len(urls) == 8
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    assert made.job(0) == jobs[0]


def test_exact_lengths_are_asked_where_the_workload_says_so() -> None:
    assert all(call.exact_output for call in source({}, {}, exact_output=True).job(0).calls)
    assert not any(call.exact_output for call in source({}, {}).job(0).calls)


def test_lengths_are_exact_with_a_tokenizer(tmp_path: Path) -> None:
    file = save("byte_bpe", tmp_path / "tokenizer.json")
    made = source({"prompt_tokens": "uniform:30:90"}, {}, tokenizer=str(file), cached_share=0.3)
    assert not made.approximate
    assert not made.encodes_each
    counter = trained("byte_bpe")
    for index in range(5):
        job = made.job(index)
        assert len(counter.encode(own_text(job.calls[0])).ids) == job.calls[0].prompt_tokens
        assert len(counter.encode(own_text(job.calls[1])).ids) == 30
    assert source({}, tokenizer=None).approximate


def test_a_job_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(ConfigError, match="more than 10,000,000 tokens"):
        source({"repeat": 1024, "prompt_tokens": 1000}).job(0)


def test_jobs_are_written_as_bodies() -> None:
    spec = WorkloadSpec.parse({"tokenizer": "words", "call": [{"name": "a", "repeat": 3}]})
    batch, plan = JobBatches(SessionSource(spec), "m", "openai-chat", DEFAULT_DIALECT, spec).take(2)
    assert batch.num_rows == plan.num_rows == 6
    rows = batch.to_pylist()
    assert [splice["step"] for splice in rows[5]["splices"]] == [0, 1]
    assert json.loads(rows[0]["body"])["max_tokens"] == 128
    assert plan.column("call").to_pylist() == ["a"] * 6

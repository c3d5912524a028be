"""A job in words, and its figures against sums made by hand."""

from pathlib import Path
from typing import Any

from paceline.workloads.jobs import Call, Job
from paceline.workloads.sources import job_source
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.summary import JobFigures, figures, job_lines


def lines(**spec: Any) -> list[str]:
    parsed = WorkloadSpec.parse({"tokenizer": "words"} | spec)
    return job_lines(parsed, job_source(parsed))


def test_figures_of_a_job_by_hand() -> None:
    job = Job(
        (
            Call((), 10, 100, wait_ms=5),
            Call((), 20, 130, after=(0,), wait_ms=300),
            Call((), 30, 140, after=(0,), wait_ms=40),
            Call((), 5, 200, after=(1, 2), wait_ms=7),
        )
    )
    assert figures(job) == JobFigures(
        calls=4, prompt_tokens=570, output_tokens=65, longest_tokens=205, least_ms=312, in_flight=2
    )


def test_figures_that_are_not_known() -> None:
    found = figures(Job((Call((), None, 100), Call((), None, None))))
    assert (found.prompt_tokens, found.output_tokens, found.longest_tokens) == (None, None, None)


def test_a_plain_request() -> None:
    assert lines(prompt_tokens=7, output_tokens=3, shared_prefix_tokens=1200) == [
        "a job is one call: a prompt of 7 tokens after 1,200 that all jobs share, an answer of 3 tokens"
    ]
    assert "about 512 tokens, 50% of them the same" in lines(tokenizer=None, cached_share=0.5)[0]
    assert lines(output_tokens=None)[0].endswith("an answer of any length")


def test_calls_in_words() -> None:
    said = lines(
        prompt_tokens=10,
        output_tokens=5,
        call=[
            {"name": "plan"},
            {"name": "work", "repeat": 3, "parallel": True, "wait_ms": 250, "wait": "tool"},
            {"name": "more", "repeat": 2, "history": "none", "hang_up_ms": 9, "images": {"count": 2}},
            {"name": "end", "after": ["plan", "more"], "repeat_prompt": 0.5, "wait_ms": 1000},
        ],
    )
    assert said == [
        "plan: 10 tokens of its own in; 5 tokens out; begins with the job",
        "work, 3 times: 10 tokens of its own in; 5 tokens out; after plan, all at once; "
        "250 ms of tool time before it",
        "more, 2 times: 10 tokens of its own in; 5 tokens out; after work, then one after the other, "
        "without what was said before; 2 images of 512 x 512 pixels; "
        "the client hangs up 9 ms after the first token",
        "end: 10 tokens of its own in; 5 tokens out; after plan and more; 1,000 ms of thinking before it; "
        "50% of the answer repeats the prompt",
        "a job, by the median of 25: 7 calls, up to 3 at once",
        *said[5:],
    ]
    assert "least possible time: 1.25 s of tools and thinking, were every answer instant" in said
    assert "tokens of the answers: 35" in said


def test_lengths_that_are_drawn_are_said_in_words() -> None:
    (said,) = lines(tokenizer=None, prompt_tokens="lognormal:886:0.8", output_tokens="choice:128,2048")
    assert said == (
        "a job is one call: a prompt of about 886 (median; 90th percentile 2,470) tokens, "
        "an answer of 128 or 2,048 tokens"
    )
    call = {"name": "a", "repeat": "uniform:2:4", "wait_ms": "lognormal:250:0.5"}
    assert lines(prompt_tokens=10, output_tokens="normal:64:8", call=[call])[0] == (
        "a, 2 to 4 times: 10 tokens of its own in; 64 (median; 90th percentile 74) tokens out; "
        "begins with the job, then one after the other; "
        "250 (median; 90th percentile 474) ms of thinking before it"
    )


def test_answers_of_any_length_make_later_prompts_unknown() -> None:
    said = lines(output_tokens=None, call=[{"name": "a", "repeat": 2}])
    assert "tokens sent: not known beforehand, since answers of any length are carried on" in said
    assert "least possible time: none but the server's own" in said


def test_jobs_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "p.txt"
    file.write_text("one two\nthree\n")
    said = lines(data={"path": str(file), "on_end": "stop"}, output_tokens=4)
    assert said[0] == "a job, by the median of 2: 1 call"
    assert "tokens of the answers: 4" in said

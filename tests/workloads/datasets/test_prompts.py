from pathlib import Path

from tests.workloads.datasets.support import jobs_of, skipped, source, write_jsonl


def test_lengths_of_answers_from_a_column(tmp_path: Path) -> None:
    rows = [
        {"prompt": "a b c", "out": 7},
        {"prompt": "d", "out": "8"},
        *({"prompt": "x", "out": bad} for bad in (0, -1, 2.5, "many", True, 10**9, 10**400)),
        {"prompt": "x"},
    ]
    found = source(write_jsonl(tmp_path / "a.jsonl", rows), {"max_tokens": 7}, output_column="out")
    calls = [job.calls[0] for job in jobs_of(found)]
    assert [(call.prompt_tokens, call.output_tokens) for call in calls] == [(3, 7), (1, 7)]
    assert skipped(found) == {"`out` is no number of tokens": 7, "no `out`": 1}


def test_without_a_column_answers_are_as_long_as_the_workload_says(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", [{"prompt": f"{i}"} for i in range(50)])
    calls = [job.calls[0] for job in jobs_of(source(path, {"output_tokens": "uniform:10:20"}))]
    lengths = [call.output_tokens for call in calls]
    assert len(set(lengths)) > 3
    assert all(10 <= (length or 0) <= 20 for length in lengths)
    (first, *_) = jobs_of(source(path, {"output_tokens": None, "exact_output": True}))
    assert (first.calls[0].output_tokens, first.calls[0].exact_output) == (None, True)

"""Jobs of a data file: by index, in order or shuffled, again from the beginning, of the same file only."""

from itertools import islice
from pathlib import Path

import pytest

from paceline.errors import ConfigError, RunError
from paceline.protocols import DEFAULT_DIALECT
from paceline.workloads.datasets import index as index_module
from paceline.workloads.datasets.source import DataSource
from paceline.workloads.jobs import JobBatches
from paceline.workloads.spec import WorkloadSpec
from tests.workloads.datasets.support import jobs_of, source, texts, write_jsonl


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    return write_jsonl(tmp_path / "p.jsonl", [{"prompt": f"prompt {i}"} for i in range(100)])


def test_a_job_is_a_function_of_its_index(prompts: Path) -> None:
    found = source(prompts, order="shuffle")
    forwards = jobs_of(found)
    again = source(prompts, order="shuffle")
    assert [again.job(i) for i in reversed(range(100))] == forwards[::-1]
    assert found.job(100) is None


def test_shuffled_by_the_seed_all_rows_once(prompts: Path) -> None:
    one, other = (texts(source(prompts, {"seed": seed}, order="shuffle")) for seed in (1, 2))
    plain = [f"prompt {i}" for i in range(100)]
    assert sorted(one) == sorted(other) == sorted(plain)
    assert len({tuple(one), tuple(other), tuple(plain)}) == 3


def test_at_the_end_it_begins_again_and_says_so(prompts: Path) -> None:
    found = source(prompts, on_end="repeat")
    assert found.n_jobs is None
    assert found.job(103) == found.job(3)
    assert any("begins again" in one for one in found.report.said)
    new = source(prompts, on_end="repeat", unique_prefix=True)
    assert new.job(103) != new.job(3)
    assert not any("begins again" in one for one in new.report.said)


def test_where_it_ends_it_says_after_how_many(prompts: Path) -> None:
    assert "after 100 jobs it ends" in source(prompts).report.said


def test_what_rows_are_is_kept_with_the_run(prompts: Path) -> None:
    found = source(prompts)
    assert found.spec.rows == "prompt"
    assert DataSource(found.spec, WorkloadSpec()).spec == found.spec


def test_unique_prefixes_differ_by_job_and_by_salt(prompts: Path) -> None:
    found = source(prompts, unique_prefix=True)
    told = texts(found)
    assert len({" ".join(one.split()[:4]) for one in told}) == 100
    assert [one.split(". ", 1)[1] for one in told] == [f"prompt {i}" for i in range(100)]
    salted = texts(source(prompts, {"prefix_salt": 1}, unique_prefix=True))
    assert not set(told) & set(salted)
    job = found.job(0)
    assert job is not None
    assert job.calls[0].prompt_tokens == 6


def test_the_limit_counts_rows_that_are_used(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [5, {"prompt": "a"}, {"prompt": "b"}, {"prompt": "c"}])
    found = source(path, limit=2)
    assert texts(found) == ["a", "b"]
    assert (found.report.rows, found.report.used) == (3, 2)
    assert "read up to row 3, by the limit of 2 rows" in found.report.said


def test_there_is_a_bound_of_rows(prompts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MAX_ROWS", 99)
    with pytest.raises(ConfigError, match="more than 99 rows"):
        source(prompts)


def test_prompts_too_short_or_too_long_are_left_out(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [{"prompt": "a " * n} for n in range(1, 7)])
    found = source(path, min_prompt_tokens=2, max_prompt_tokens=4)
    assert [len(one.split()) for one in texts(found)] == [2, 3, 4]
    assert found.report.skipped["longer than max_prompt_tokens"].examples == ["line 5: 5", "line 6: 6"]


def test_a_changed_file_is_refused(prompts: Path) -> None:
    pinned = source(prompts).spec
    assert DataSource(pinned, WorkloadSpec()).n_jobs == 100
    prompts.write_text(prompts.read_text() + "\n")
    with pytest.raises(ConfigError, match="has changed"):
        DataSource(pinned, WorkloadSpec())


def test_a_file_that_changes_under_a_run_is_found_out(prompts: Path) -> None:
    found = source(prompts)
    with prompts.open("r+b") as file:
        file.write(b"x" * 50)
    with pytest.raises(RunError, match="has changed while the run went on: not JSON"):
        found.job(0)
    with prompts.open("r+b") as file:
        file.truncate(10)
    with pytest.raises(RunError, match="has become shorter"):
        found.job(5)


def test_bodies_and_plan_of_a_batch(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "hi 🎈"},
        {"role": "assistant", "content": "yo"},
        {"role": "user", "content": "so"},
    ]
    path = write_jsonl(tmp_path / "p.jsonl", [{"messages": talk}])
    spec = WorkloadSpec.parse({"tokenizer": "words", "output_tokens": 5})
    batches = JobBatches(source(path, {"output_tokens": 5}), "m", "openai-chat", DEFAULT_DIALECT, spec)
    batch, plan = batches.take(10)
    assert batch.column("request_index").to_pylist() == [0, 1]
    assert [len(one or []) for one in batch.column("splices").to_pylist()] == [0, 1]
    assert plan.column("prompt_tokens_asked").to_pylist() == [2, 8]
    assert batches.take(1)[0].num_rows == 0


def test_only_what_is_asked_for_is_read(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "p.jsonl", [{"prompt": f"{i} " * 1000} for i in range(500)])
    found = source(path)
    assert [job.calls[0].prompt_tokens for job in islice(jobs_of(found), 3)] == [1000] * 3

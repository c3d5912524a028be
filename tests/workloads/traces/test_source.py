"""A replay has the trace's instants, lengths and shared prefixes. The files are counted here anew."""

import csv
import json
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from paceline.errors import ConfigError
from paceline.workloads.jobs import Job
from paceline.workloads.spec import WorkloadSpec
from paceline.workloads.traces.source import LIMITED, TraceSource
from paceline.workloads.traces.spec import TraceSpec
from tests.support.tokenizers import save, trained
from tests.support.traces import AZURE, MOONCAKE, mooncake_rows, published, write_azure, write_mooncake


def source(path: Path, workload: dict[str, Any] | None = None, **spec: Any) -> TraceSource:
    return TraceSource(
        TraceSpec(path=str(path), **spec), WorkloadSpec.parse({"tokenizer": "words"} | (workload or {}))
    )


def jobs_of(found: TraceSource, n: int | None = None) -> list[Job]:
    jobs: list[Job] = []
    while (job := found.job(len(jobs))) is not None and len(jobs) != n:
        jobs.append(job)
    return jobs


def text(job: Job) -> str:
    (call,) = job.calls
    (piece,) = call.turns[-1].text
    assert isinstance(piece, str)
    return piece


def common_words(one: str, other: str) -> int:
    """Words that two texts begin with alike."""
    n = 0
    for a, b in zip(one.split(), other.split(), strict=False):
        if a != b:
            break
        n += 1
    return n


def shared_by_ids(rows: Sequence[dict[str, Any]], block: int = 512) -> list[int]:
    """For each request, tokens of the blocks that it begins with as some earlier request did."""
    known: set[tuple[int, ...]] = set()
    shared = []
    for row in rows:
        ids, tokens = row["hash_ids"], 0
        for n in range(1, len(ids) + 1):
            if tuple(ids[:n]) in known:
                tokens = min(n * block, row["input_length"])
            known.add(tuple(ids[:n]))
        shared.append(tokens)
    return shared


def shared_by_text(texts: Sequence[str], block: int = 512) -> list[int]:
    """The same from the texts alone: words in whole blocks that an earlier text begins with."""
    known: set[int] = set()
    shared = []
    for one in texts:
        words, tokens = one.split(), 0
        for end in [*range(block, len(words), block), len(words)]:
            key = hash(" ".join(words[:end]))
            if key in known:
                tokens = end
            known.add(key)
        shared.append(tokens)
    return shared


@pytest.fixture
def small(tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    rows = mooncake_rows(200)
    return write_mooncake(tmp_path / "t.jsonl", rows), rows


def test_instants_lengths_and_order_are_the_files(small: tuple[Path, list[dict[str, Any]]]) -> None:
    path, rows = small
    jobs = jobs_of(source(path, speed=4))
    assert len(jobs) == 200
    for job, row in zip(jobs, rows, strict=True):
        (call,) = job.calls
        assert job.start_ns == (row["timestamp"] - rows[0]["timestamp"]) * 250_000
        assert len(text(job).split()) == row["input_length"] == call.prompt_tokens
        assert call.output_tokens == row["output_length"]
        assert call.exact_output


def test_what_texts_share_is_what_the_ids_share(small: tuple[Path, list[dict[str, Any]]]) -> None:
    path, rows = small
    texts = [text(job) for job in jobs_of(source(path))]
    by_ids = shared_by_ids(rows)
    assert sum(by_ids) > 0.3 * sum(row["input_length"] for row in rows)
    assert shared_by_text(texts) == by_ids


def test_different_blocks_differ_from_their_first_words(small: tuple[Path, list[dict[str, Any]]]) -> None:
    path, rows = small
    texts = [text(job) for job in jobs_of(source(path))]
    for (a, row_a), (b, row_b) in pairwise(zip(texts, rows, strict=True)):
        same = 0
        for one, other in zip(row_a["hash_ids"], row_b["hash_ids"], strict=False):
            if one != other:
                break
            same += 1
        expected = min(same * 512, row_a["input_length"], row_b["input_length"])
        assert expected <= common_words(a, b) < expected + 4


def test_a_job_is_a_function_of_its_index(small: tuple[Path, list[dict[str, Any]]]) -> None:
    path, _ = small
    first, second = source(path), source(path)
    backwards = [second.job(index) for index in reversed(range(200))]
    assert [first.job(index) for index in range(200)] == backwards[::-1]
    assert first.job(200) is None
    other = source(path, {"prefix_salt": 5}).job(3)
    assert other is not None
    assert common_words(text(other), text(backwards[::-1][3] or other)) == 0


def test_a_window_changes_no_text(small: tuple[Path, list[dict[str, Any]]]) -> None:
    path, rows = small
    begin_s = (rows[100]["timestamp"] - rows[0]["timestamp"]) / 1000
    whole = [text(job) for job in jobs_of(source(path))]
    part = source(path, start_s=begin_s)
    jobs = jobs_of(part)
    assert [text(job) for job in jobs] == whole[-len(jobs) :]
    assert jobs[0].start_ns == 0
    assert jobs[-1].start_ns == (rows[-1]["timestamp"] - rows[100]["timestamp"]) * 1_000_000


def test_a_clipped_input_ends_within_a_block(small: tuple[Path, list[dict[str, Any]]]) -> None:
    path, _ = small
    whole = [text(job).split() for job in jobs_of(source(path))]
    cut = [text(job).split() for job in jobs_of(source(path, max_input_tokens=700, over="clip"))]
    for one, other in zip(whole, cut, strict=True):
        assert other == one[:700]


@pytest.mark.parametrize("family", ["byte_bpe", "unigram", "wordpiece"])
def test_lengths_are_exact_with_a_tokenizer(tmp_path: Path, family: str) -> None:
    path = write_mooncake(tmp_path / "t.jsonl", mooncake_rows(12, block=64))
    found = source(path, {"tokenizer": str(save(family, tmp_path / "tokenizer.json"))}, block_tokens=64)
    for job in jobs_of(found):
        ids = trained(family).encode(text(job), add_special_tokens=False).ids
        assert len(ids) == job.calls[0].prompt_tokens


def test_tokens_that_reach_across_words_are_said(tmp_path: Path) -> None:
    path = write_mooncake(tmp_path / "t.jsonl", mooncake_rows(4, block=64))
    tokenizer = str(save("across_spaces", tmp_path / "tokenizer.json"))
    found = source(path, {"tokenizer": tokenizer}, block_tokens=64)
    assert any("a few tokens off" in line for line in found.report.sentences())
    for job in jobs_of(found):
        ids = trained("across_spaces").encode(text(job), add_special_tokens=False).ids
        asked = job.calls[0].prompt_tokens or 0
        assert abs(len(ids) - asked) <= 2 * (asked // 64 + 1)


def test_without_a_tokenizer_lengths_are_estimates(tmp_path: Path) -> None:
    path = write_azure(tmp_path / "a.csv", [("2023-11-16 18:15:46.68", 400, 44)])
    found = TraceSource(TraceSpec(path=str(path)), WorkloadSpec())
    assert "no tokenizer is given, so the lengths of inputs are estimates" in found.report.said
    (job,) = jobs_of(found)
    assert len(text(job).split()) == 300


def test_texts_without_blocks_share_nothing(tmp_path: Path) -> None:
    rows = [(f"2023-11-16 18:15:{second}", 50, 9) for second in range(10, 40)]
    texts = [text(job) for job in jobs_of(source(write_azure(tmp_path / "a.csv", rows)))]
    assert len({" ".join(one.split()[:4]) for one in texts}) == 30


def test_the_workloads_system_prompt_and_limit_hold(tmp_path: Path) -> None:
    path = write_azure(tmp_path / "a.csv", [("2023-11-16 18:15:46.68", 40, 44)])
    found = source(path, {"system": "Be kind.", "max_tokens": 7})
    job = found.job(0)
    assert job is not None
    assert found.report.changed[LIMITED].examples == ["line 2"]
    assert job.calls[0].turns[0].role == "system"
    assert job.calls[0].output_tokens == 7


@pytest.mark.parametrize(("last_ms", "speed"), [(8_999_999_999_999, 1.0), (5_000_000_000, 0.001)])
def test_a_replay_of_centuries_is_refused(tmp_path: Path, last_ms: int, speed: float) -> None:
    path = tmp_path / "a.jsonl"
    row = '{"timestamp": AT, "input_length": 5, "output_length": 5}\n'
    path.write_text("".join(row.replace("AT", str(at)) for at in (0, last_ms)))
    with pytest.raises(ConfigError, match="more than a century"):
        source(path, speed=speed)
    assert len(source(path, speed=speed, limit=1).rows) == 1


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    path = write_azure(tmp_path / "a.csv", [("2023-11-16 18:15:46.68", 40, 44)])
    pinned = source(path).spec
    assert Path(pinned.path).is_absolute()
    assert TraceSource(pinned, WorkloadSpec()).n_jobs == 1
    write_azure(path, [("2023-11-16 18:15:46.68", 41, 44)])
    with pytest.raises(ConfigError, match="has changed: its sha256 is"):
        TraceSource(pinned, WorkloadSpec())


def test_the_published_azure_trace_is_replayed_whole() -> None:
    path = published(AZURE)
    found = source(path)
    assert found.report.used == 19_366
    assert found.report.n_skipped == 0
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    # Microseconds are all that the standard library reads of the file's tenths of them.
    times = np.array([datetime.fromisoformat(row["TIMESTAMP"][:26]).timestamp() for row in rows])
    jobs = jobs_of(found)
    starts = np.array([0 if job.start_ns is None else job.start_ns for job in jobs]) / 1e9
    assert np.abs(starts - (times - times[0])).max() < 2e-6
    assert stats.ks_2samp(np.diff(starts), np.diff(times)).statistic < 1e-3
    inputs = [len(text(job).split()) for job in jobs]
    assert inputs == [int(row["ContextTokens"]) for row in rows]
    assert [job.calls[0].output_tokens for job in jobs] == [int(row["GeneratedTokens"]) for row in rows]


def test_the_published_mooncake_trace_shares_what_its_ids_say() -> None:
    path = published(MOONCAKE)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    found = source(path, limit=150)
    texts = [text(job) for job in jobs_of(found)]
    assert [len(one.split()) for one in texts] == [row["input_length"] for row in rows[:150]]
    by_ids = shared_by_ids(rows[:150])
    assert shared_by_text(texts) == by_ids
    assert sum(by_ids) > 0
    whole = source(path)
    assert whole.report.used == 3000
    # Of all requests: blocks that are the same in the arrays as in the file.
    known: dict[int, int] = {}
    for place, row in enumerate(rows):
        expected = [known.setdefault(one, len(known)) for one in row["hash_ids"]]
        assert whole.rows.blocks_of(place).tolist() == expected

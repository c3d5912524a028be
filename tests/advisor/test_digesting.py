"""Digests of planted runs: figures by hand."""

import json
from pathlib import Path

import numpy as np
import pytest

from paceline.advisor.digest import COLUMNS, CUT, FAILED, WELL, Digest
from paceline.advisor.digesting import MOST_SAMPLED, digest_of
from paceline.report.model import build_report
from tests.report.samples import OPEN, WORKLOAD, failed_row, job_report, report, store
from tests.support.rows import lognormal_rows, make_row, rows_table

# What store.samples.progress says of each segment.
ORIGIN_UNIX_S = 1_800_000_000.0


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def planted(home: Path) -> Digest:
    """Two good answers of 4 tokens after 100 ms, 10 ms apart, one timeout after 50 ms, one failure."""
    rows = [
        make_row(request_index=0, sent_ms=0.0, phase="warmup"),
        make_row(request_index=1, sent_ms=1000.0, event_ms=(1100, 1110, 1120, 1130), cached_tokens=6),
        make_row(request_index=2, sent_ms=2000.0, event_ms=(2200, 2210, 2250, 2260), reasoning_tokens=1),
        failed_row("timeout", 3, sent_ms=3000.0) | {"end_ns": 3_050_000_000},
        failed_row("http_error", 4, sent_ms=4000.0) | {"end_ns": 4_001_000_000},
    ]
    run = store(home, rows_table(rows), offer={"provider": "acme", "tier": "fast"}, name="x")
    return digest_of(build_report(run), stamp=7)


def test_what_a_digest_says_of_its_run(home: Path) -> None:
    one = planted(home)
    assert (one.attempted, one.ok) == (4, 2)
    assert one.by_outcome == {"ok": 2, "timeout": 1, "http_error": 1}
    assert (one.provider, one.tier, one.live_offer) == ("acme", "fast", None)
    assert (one.workload, one.load, one.model) == ("512 in, 32 out", "closed 8", "sim")
    assert one.streaming
    assert one.jobs is None
    assert one.capability is None
    assert one.stamp == 7
    assert one.verdict in ("suspect", "invalid")
    assert one.reasons


def test_the_sample_by_hand(home: Path) -> None:
    sample = planted(home).sample
    assert set(sample) == set(COLUMNS)
    assert sample["outcome"].tolist() == [WELL, WELL, CUT, FAILED]
    assert (sample["at_s"] - ORIGIN_UNIX_S).round(6).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert sample["ttft_ms"][:2].tolist() == [100.0, 200.0]
    assert np.isnan(sample["ttft_ms"][2:]).all()
    assert sample["e2e_ms"][:2].tolist() == [130.0, 260.0]
    assert sample["longest_stall_ms"][:2].tolist() == [10.0, 40.0]
    # (4 - 1) tokens in 30 and in 60 ms.
    assert sample["output_tok_s"][:2].round(9).tolist() == [100.0, 50.0]
    assert sample["elapsed_ms"].tolist() == [131.0, 261.0, 50.0, 1.0]
    assert sample["prompt_tokens"].tolist() == [10.0] * 4
    assert sample["completion_tokens"].tolist() == [4.0, 4.0, 0.0, 0.0]
    assert sample["cached_tokens"][0] == 6.0
    assert np.isnan(sample["cached_tokens"][1])
    assert sample["reasoning_tokens"][1] == 1.0


def test_in_an_open_loop_times_are_from_when_it_was_due(home: Path) -> None:
    rows = [
        make_row(request_index=index, intended_ms=0.0, sent_ms=50.0, event_ms=(150, 160)) for index in (0, 1)
    ]
    sample = digest_of(build_report(store(home, rows_table(rows), load=OPEN)), stamp=1).sample
    assert sample["ttft_ms"].tolist() == [150.0, 150.0]


def test_a_long_run_is_thinned_evenly_and_not_its_counts(home: Path) -> None:
    one = digest_of(report(home, lognormal_rows(3000, 1, events=2)), stamp=1)
    assert (one.attempted, one.ok) == (3000, 3000)
    assert len(one.sample["at_s"]) == MOST_SAMPLED
    assert (np.diff(one.sample["at_s"]) >= 0).all()
    # 3000 requests among 1024: never more than a few apart.
    assert np.diff(one.sample["job"]).max() <= 8


def test_of_jobs_whole_ones_are_kept(home: Path) -> None:
    one = digest_of(job_report(home, jobs=250, turns=6), stamp=1)
    assert one.jobs == one.jobs_ok == 250
    jobs, calls = np.unique(one.sample["job"], return_counts=True)
    assert (calls == 6).all()
    assert len(jobs) == 250 * MOST_SAMPLED // 1500


def test_a_digest_comes_back_from_json(home: Path) -> None:
    one = planted(home)
    again = Digest.of(json.loads(json.dumps(one.head())), one.sample)
    assert again.head() == one.head()
    assert again == one
    with pytest.raises(KeyError):
        Digest.of({"run_id": "x"}, {})


def test_a_gateways_run_says_whose_traffic_it_is(home: Path) -> None:
    workload = {"kind": "live", "live": {"offer": "own-1"}, "provider": "acme", "tier": "fast"}
    run = store(home, lognormal_rows(50, 1), workload=workload, load={"arrival": {"kind": "live"}})
    one = digest_of(build_report(run), stamp=1)
    assert (one.live_offer, one.provider, one.tier) == ("own-1", "acme", "fast")
    assert (one.workload, one.workload_key, one.load) == ("live", "live", "live")


def test_answers_in_one_piece_have_no_ttft(home: Path) -> None:
    rows = lognormal_rows(30, 1, events=1)
    rows = rows.set_column(rows.column_names.index("streaming"), "streaming", [[False] * 30])
    one = digest_of(
        build_report(store(home, rows, streaming=False, workload={**WORKLOAD, "streaming": False})), stamp=1
    )
    assert not one.streaming
    assert np.isnan(one.sample["ttft_ms"]).all()
    assert not np.isnan(one.sample["e2e_ms"]).any()

import json
import re
from pathlib import Path
from typing import Any

import pytest

from paceline.report.model import Report, build_report
from paceline.store.runs import open_run
from paceline.store.writer import RunWriter
from tests.report.samples import OPEN, failed_row, report, store
from tests.store.samples import batch, manifest
from tests.support.rows import lognormal_rows, make_row, rows_table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "report.md"


def keys(document: dict[str, Any]) -> dict[str, set[str]]:
    return {name: set(value) for name, value in document.items() if isinstance(value, dict)}


def test_the_document_is_that_of_the_contract(healthy: Report) -> None:
    document = healthy.to_dict()
    assert list(document) == [
        *("schema", "run", "trust", "outcomes", "metrics", "throughput", "tokens", "cost"),
    ]
    found = keys(document)
    assert found["run"] == {
        *("id", "started_at", "endpoint", "model", "protocol", "workload", "seed", "version", "host"),
    }
    assert found["trust"] == {
        *("verdict", "reasons", "offered_requests_s", "achieved_requests_s", "dropped", "schedule_lag_ms"),
        *("client_cpu_fraction", "instrument_error_us"),
    }
    assert found["outcomes"] == {"attempted", "ok", "by_outcome"}
    assert found["throughput"] == {
        *("output_tok_s", "requests_s", "goodput_requests_s", "goodput_reason", "prompt_tok_s"),
    }
    assert found["tokens"] == {"prompt", "completion", "reasoning", "cached", "source", "mismatch"}
    assert document["cost"]["known"] is False
    for metric in document["metrics"].values():
        assert list(metric) == ["n", "mean", "p50", "p90", "p95", "p99", "max"]
        for quantile in ("p50", "p90", "p95", "p99"):
            assert list(metric[quantile]) == ["value", "lo", "hi", "enough"]


def test_the_page_describes_every_key(healthy: Report) -> None:
    page = PAGE.read_text().split("## What only some runs have")[0]
    described = set(re.findall(r"^\| `([\w.]+)`", page, re.MULTILINE))
    document = healthy.to_dict()
    free = {"metrics", "cost"}
    actual = {name for name in document if not isinstance(document[name], dict) or name in free}
    actual |= {f"{name}.{key}" for name, found in keys(document).items() if name not in free for key in found}
    assert described == actual


def test_the_page_describes_what_only_some_runs_have(chat: Report, voice: Report) -> None:
    page = PAGE.read_text().split("## What only some runs have")[1].split("## A metric")[0]
    described = {name for line in page.splitlines() for name in re.findall(r"`(\w+\.\w+)`", line[:120])}
    # The server's side is test_server's.
    described = {name for name in described if not name.startswith("server.")}
    document = {**voice.to_dict(), **chat.to_dict()}
    actual = {f"{name}.{key}" for name in ("jobs", "turns", "hangups", "asked") for key in document[name]}
    assert described == actual
    for name in [*document["jobs"]["parts"], *document["jobs"]["tokens"], *document["jobs"]["calls"]]:
        assert f"`{name}`" in page
    for names in (document["jobs"]["goodput"], document["jobs"]["day"], document["asked"]["output_tokens"]):
        assert all(f"`{name}`" in page for name in names)


def test_the_page_names_every_metric(healthy: Report, open_loop: Report) -> None:
    page = PAGE.read_text()
    seldom = {"connect_ms", "tls_ms", "stop_ms"}
    assert all(f"`{name}`" in page for name in {*healthy.metrics, *open_loop.metrics, *seldom})


def test_figures(healthy: Report) -> None:
    document = healthy.to_dict()
    assert document["trust"]["verdict"] == "trusted"
    assert document["outcomes"] == {"attempted": 800, "ok": 800, "by_outcome": {"ok": 800}}
    assert document["metrics"]["ttft_ms"]["n"] == 800
    assert document["metrics"]["ttft_ms"]["p50"]["value"] == pytest.approx(200, rel=0.1)
    assert document["throughput"]["goodput_requests_s"] < document["throughput"]["requests_s"] * 1.1
    assert document["tokens"]["completion"] == 800 * 32
    assert document["tokens"]["mismatch"] == 0.0
    assert document["run"]["seed"] == 7
    assert document["run"]["workload"]["load"]["arrival"] == {"kind": "closed", "concurrency": 8}
    assert document["run"]["workload"]["name"] == "nightly"


def test_metrics_that_do_not_apply_are_absent(home: Path, healthy: Report, open_loop: Report) -> None:
    assert not any(name.endswith("_from_intended_ms") for name in healthy.metrics)
    assert "connect_ms" not in healthy.metrics
    assert "ttft_from_intended_ms" in open_loop.metrics
    assert open_loop.headline[:2] == ["ttft_from_intended_ms", "e2e_from_intended_ms"]
    whole = [make_row(request_index=k, streaming=False, event_ms=(50.0,)) for k in range(1, 9)]
    assert list(report(home, whole).to_dict()["metrics"]) == ["e2e_ms"]


def test_the_answers_ttft_shows_only_where_it_differs(home: Path, healthy: Report) -> None:
    assert "ttfat_ms" in healthy.metrics
    assert "ttfat_ms" not in healthy.headline
    thinking = [make_row(request_index=k, event_kind=[2, 2, 1, 1]) for k in range(1, 9)]
    assert "ttfat_ms" in report(home, thinking).headline


def test_no_nan_and_no_infinity(home: Path) -> None:
    rows = [failed_row("timeout", 1), make_row(request_index=2, event_ms=(10.0,))]
    text = report(home, rows, slo={"ttft_ms": 1.0}).to_json()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(text, parse_constant=refuse)["outcomes"]["by_outcome"] == {"ok": 1, "timeout": 1}


def test_a_run_without_a_good_request_is_invalid(home: Path) -> None:
    document = report(home, [failed_row("connect_error", k, sent_ns=None) for k in range(3)]).to_dict()
    assert document["trust"]["verdict"] == "invalid"
    assert document["metrics"] == {}
    assert document["tokens"]["completion"] == 0


def test_a_run_without_rows_is_invalid(home: Path) -> None:
    document = report(home, lognormal_rows(1, 1).slice(0, 0)).to_dict()
    assert document["trust"]["verdict"] == "invalid"
    assert document["outcomes"]["attempted"] == 0
    assert document["throughput"]["output_tok_s"] is None


def test_only_warm_up(home: Path) -> None:
    assert report(home, lognormal_rows(20, 1, warmup=20)).trust.verdict == "invalid"


def test_a_run_that_was_killed_has_a_report(home: Path) -> None:
    writer = RunWriter.create(manifest(load=OPEN), at=home)
    writer.append(batch([1, 2, 3, 4, 5, 6, 7, 8]))
    writer.flush()
    writer._lock.release()
    document = build_report(open_run("latest", at=home)).to_dict()
    assert document["trust"]["verdict"] == "suspect"
    assert "interrupted" in document["trust"]["reasons"][0]
    assert document["run"]["workload"]["state"] == "interrupted"
    assert document["metrics"]["ttft_ms"]["n"] == 8


def test_a_resumed_run_is_one_run(home: Path) -> None:
    rows = [make_row(request_index=k, segment=int(k > 10)) for k in range(1, 21)]
    run = store(home, rows)
    assert sorted(run.origins()) == [0, 1]
    made = build_report(run)
    assert made.ok == 20
    assert made.evidence.throughput.whole_seconds == pytest.approx(2 * 0.131)


def test_approximate_tokens_are_said_so(home: Path) -> None:
    rows = [make_row(request_index=k, completion_tokens=None) for k in range(1, 9)]
    made = report(home, rows)
    assert made.metrics["itl_ms"].approximate
    assert made.to_dict()["tokens"]["source"] == "chunks (approximate)"
    assert any("approximate" in str(reason) for reason in made.trust.reasons)


def test_local_tokens_are_taken(home: Path) -> None:
    run = store(home, rows_table([make_row(request_index=k, completion_tokens=None) for k in range(1, 9)]))
    made = build_report(run, local_tokens=[2] * 32)
    assert made.to_dict()["tokens"] == {
        "prompt": 80,
        "completion": 64,
        "reasoning": None,
        "cached": None,
        "source": "local tokenizer",
        "mismatch": None,
    }


def test_connection_secrets_stay_out_of_the_report(home: Path) -> None:
    load = {**OPEN, "connection": {"api_key_env": "THE_KEY", "header_names": ["x-team"]}}
    assert "THE_KEY" not in report(home, lognormal_rows(20, 1), load=load).to_json()

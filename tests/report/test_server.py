import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pytest

from paceline.report.html import render_html
from paceline.report.markdown import render_markdown
from paceline.report.model import Report, build_report
from paceline.report.server_html import server_chart
from paceline.report.server_words import server_rows, table_rows
from paceline.report.terminal import render_text
from paceline.store.runs import open_run
from paceline.store.schema import SERVER_SCHEMA
from paceline.store.writer import RunWriter
from tests.report.samples import CLOSED, WORKLOAD, healthy_progress
from tests.report.walk import rows_of
from tests.store.samples import manifest
from tests.support.rows import make_row, rows_table

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "report.md"
MS = 1_000_000
ORIGIN = 1_000_000
LOOKS = {"n": 41, "failed": 0, "lost": 0, "longest_ns": 1, "cpu_ns": 1, "last_failure": None}
VLLM = {
    "url": "http://127.0.0.1:9100/metrics",
    "engine": "vllm",
    "title": "vLLM",
    "counted_at_end": [],
    "looks": LOOKS,
}
TOLD = {"every_ns": 250 * MS, "local": True, "metrics": VLLM}
GPUS = {"names": ["NVIDIA H200", "NVIDIA H200"], "looks": LOOKS}


def rows() -> pa.Table:
    """Two callers for 10 s: requests of 1 s, of ten tokens, the first at 100 ms and then one each 100 ms."""
    made = [
        make_row(
            sent_ms=1_000 * k,
            event_ms=tuple(1_000 * k + 100 * e for e in range(1, 11)),
            end_ms=1_000 * (k + 1),
        )
        for k in range(10)
        for _ in range(2)
    ]
    return rows_table(made)


def samples(values: dict[str, Any], *, every_ms: float = 250.0, source: str = "vllm") -> pa.Table:
    """By name: kind and the value at a time in s, from 240 ms before the run to some after it."""
    at_ms = np.arange(-240.0, 10_301.0, every_ms)
    table = [
        {
            "t_ns": ORIGIN + round(t * MS),
            "span_ns": MS,
            "source": source,
            "name": name,
            "kind": kind,
            "value": float(value(min(max(t / 1e3, 0.0), 10.0))),
        }
        for name, (kind, value) in values.items()
        for t in at_ms.tolist()
    ]
    return pa.Table.from_pylist(table, schema=SERVER_SCHEMA)


SERVER = {
    "running_requests": ("gauge", lambda t: 2.0 if 0 < t < 10 else 0.0),
    "waiting_requests": ("gauge", lambda t: 0.0),
    "kv_cache_use": ("gauge", lambda t: 0.25),
    "prefix_cache_queries": ("counter", lambda t: 40.0 * t),
    "prefix_cache_hits": ("counter", lambda t: 30.0 * t),
    "generation_tokens_total": ("counter", lambda t: 7.0 + 2 * int(t * 10 + 1e-9)),
    "speculative_drafted": ("counter", lambda t: 100.0 * t),
    "speculative_accepted": ("counter", lambda t: 61.0 * t),
    "adapters": ("gauge", lambda t: 3.0),
}
GPU = {
    "gpu_power_w": ("gauge", lambda t: 200.0),
    "gpu_energy_j": ("counter", lambda t: 300.0 * t),
    "gpu_memory_bytes": ("gauge", lambda t: 80e9),
    "gpu_use": ("gauge", lambda t: 0.9),
}


def made(home: Path, tables: list[pa.Table], told: dict[str, Any], table: pa.Table | None = None) -> Report:
    table = rows() if table is None else table
    load = {**CLOSED, "arrival": {"kind": "closed", "concurrency": 2}, "requests": 20}
    document = manifest(workload=WORKLOAD, load=load, server=told)
    writer = RunWriter.create(document, at=home)
    for batch in table.to_batches():
        writer.append(batch)
    for one in tables:
        writer.append_server(one)
    writer.append_progress(healthy_progress(table))
    writer.finish("complete")
    return build_report(open_run(writer.id, at=home))


@pytest.fixture
def served(home: Path) -> Report:
    gpus = [samples(GPU, source=f"gpu{number}") for number in range(2)]
    return made(home, [samples(SERVER), *gpus], {**TOLD, "gpus": GPUS})


def test_the_figures_are_over_the_steady_window(served: Report) -> None:
    document = served.to_dict()["server"]
    figures = document["figures"]
    assert list(figures)[:3] == ["running_requests", "waiting_requests", "kv_cache_use"]
    assert figures["kv_cache_use"] == {
        "kind": "gauge",
        "n": figures["kv_cache_use"]["n"],
        "mean": 0.25,
        "max": 0.25,
    }
    assert figures["prefix_cache_queries"]["per_second"] == pytest.approx(40.0)
    assert figures["generation_tokens_total"]["per_second"] == pytest.approx(20.0, rel=0.02)
    assert document["prefix_cache_hit_share"] == pytest.approx(0.75)
    assert document["speculative_acceptance"] == pytest.approx(0.61)
    assert document["generated_tokens"]["server"] == document["generated_tokens"]["client"] == 200
    assert document["generated_tokens"]["agree"] is True
    assert document["after_hangups"] is None
    # 300 J a second by each counter, over 20 tokens a second; the 200 W that were read are coarser.
    assert document["gpu_power_w"] == pytest.approx(600.0)
    assert document["joules_per_token"] == pytest.approx(30.0, rel=0.02)
    assert [gpu["source"] for gpu in document["gpus"]] == ["gpu0", "gpu1"]
    assert json.dumps(document, allow_nan=False)


def test_the_page_names_every_key(served: Report) -> None:
    document = served.to_dict()["server"]
    cells = " ".join(re.findall(r"^\| (`server\.[^|]*) \|", PAGE.read_text(), re.MULTILINE))
    assert re.findall(r"`server\.(\w+)`", cells) == list(document)


def test_it_is_said_in_words_that_fit_the_terminal(served: Report) -> None:
    text = render_text(served)
    assert "vLLM, by its own metrics" in text
    assert "200 generated by its count, 200 by the client's: they agree" in " ".join(text.split())
    assert "75% of the prompt tokens looked up were found" in " ".join(text.split())
    assert (
        "2 GPUs (NVIDIA H200) of this machine, whatever ran on it, 600 W, 30.0 J a generated token"
        in " ".join(text.split())
    )
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "| vLLM, by its own metrics | mean | max | per second |" in render_markdown(served)


def test_a_line_of_the_table_is_one_figure(served: Report) -> None:
    assert served.evidence.server is not None
    cells = {row[0]: row[1:] for row in table_rows(served.evidence.server)}
    assert cells["running"] == ["2.00", "2.00", "-"]
    assert cells["KV cache in use"] == ["25%", "25%", "-"]
    assert cells["accepted, tokens"] == ["-", "-", "61.0"]
    # One of a user's own stands for itself.
    assert cells["adapters"] == ["3.00", "3.00", "-"]
    assert cells["gpu1: GPU memory"][0] == "74.5 GiB"
    assert cells["gpu0: GPU power, W"][:2] == ["200", "200"]


def test_the_chart_lies_on_the_time_of_the_client_s(served: Report) -> None:
    spec = server_chart(served.evidence)
    assert spec is not None
    alt.VConcatChart.from_dict(spec)
    assert len(spec["vconcat"]) == 4
    rows_of_all = [row for panel in spec["vconcat"] for row in rows_of(panel, "what")]
    rows_by = {row["what"] for row in rows_of_all}
    assert {
        "running",
        "waiting",
        "in flight at the client",
        "KV cache",
        "GPU 0",
        "by the server's count",
    } <= rows_by
    running = [(row["t"], row["value"]) for row in rows_of_all if row["what"] == "running"]
    # What was seen before the run is not on its axis.
    assert running[:2] == [(0.01, 2.0), (0.26, 2.0)]
    assert running[-1][0] <= 10.0
    html = render_html(served)
    assert 'data-chart="server"' in html


def test_counts_that_differ_are_said_to(home: Path) -> None:
    twice = {**SERVER, "generation_tokens_total": ("counter", lambda t: 40.0 * t)}
    report = made(home, [samples(twice)], TOLD)
    assert report.evidence.server is not None
    words = dict(server_rows(report.evidence.server))["Its tokens"]
    assert words.startswith(
        "400 generated by its count, 200 by the client's: they do not agree, more by 100%"
    )


def test_what_was_made_after_hang_ups_is_named(home: Path) -> None:
    hung = [
        make_row(
            sent_ms=1_000 * k, event_ms=(1_000 * k + 100,), end_ms=1_000 * k + 380, outcome="hung_up",
            hangup_ns=(1_000 * k + 380) * MS,
        )
        for k in range(10)
    ]  # fmt: skip
    report = made(home, [samples(SERVER)], TOLD, rows_table(hung))
    assert "after hang-ups is in it" in " ".join(render_text(report).split())
    # Also of a server that does not say how many requests are running.
    tokens = {"generation_tokens_total": SERVER["generation_tokens_total"]}
    mute = made(home / "mute", [samples(tokens)], TOLD, rows_table(hung))
    assert mute.evidence.server is not None
    assert "after hang-ups is in it" in dict(server_rows(mute.evidence.server))["Its tokens"]


def test_a_run_resumed_without_its_metrics_still_names_the_server(home: Path) -> None:
    report = made(home, [samples(SERVER), samples(GPU, source="gpu0")], {"every_ns": 250 * MS, "gpus": GPUS})
    text = render_text(report)
    assert f"{samples(SERVER)['source'][0]}, by its own metrics" in text
    assert "GPUs of this machine" not in text


def test_a_server_alone_or_gpus_alone(home: Path) -> None:
    alone = made(home, [samples(SERVER)], TOLD)
    assert "GPU" not in render_text(alone)
    gpus = made(
        home,
        [samples(GPU, source="gpu0")],
        {"every_ns": 250 * MS, "gpus": {**GPUS, "names": ["NVIDIA H200"]}},
    )
    text = render_text(gpus)
    assert "GPUs of this machine" in text
    assert "Its tokens" not in text
    document = gpus.to_dict()["server"]
    assert (document["engine"], document["figures"], document["gpu_power_w"]) == (
        None,
        {},
        pytest.approx(300.0),
    )


def test_samples_too_few_for_a_figure_are_no_figure(home: Path) -> None:
    one = samples(SERVER, every_ms=60_000)
    report = made(home, [one], TOLD)
    document = report.to_dict()["server"]
    assert document["figures"]["generation_tokens_total"]["per_second"] is None
    assert document["generated_tokens"] is None
    assert render_text(report)
    assert render_html(report)


@pytest.mark.filterwarnings("ignore:overflow")
def test_figures_beyond_all_numbers_leave_the_report_whole(home: Path) -> None:
    """As an older Paceline stored them, or a table of one's own gives them."""
    wild = {
        "running_requests": ("gauge", lambda t: 1e308),
        "generation_tokens_total": ("counter", lambda t: 1e308 if int(t * 4) % 2 else 0.0),
        "waiting_requests": ("gauge", lambda t: float("inf")),
        "kv_cache_use": ("gauge", lambda t: float("nan")),
    }
    report = made(home, [samples(wild)], TOLD)
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["server"]
    assert render_text(report)
    assert render_html(report)


def test_without_samples_nothing_is_said(healthy: Report) -> None:
    assert "server" not in healthy.to_dict()
    assert "by its own metrics" not in render_text(healthy)
    assert 'data-chart="server"' not in render_html(healthy)


def test_hang_ups_are_told_with_their_resolution(home: Path) -> None:
    hung = [
        make_row(
            sent_ms=1_000 * k, event_ms=(1_000 * k + 100,), end_ms=1_000 * k + 380, outcome="hung_up",
            hangup_ns=(1_000 * k + 380) * MS, stopped_ns=(1_000 * k + 381) * MS,
        )
        for k in range(10)
    ]  # fmt: skip
    server = {"running_requests": ("gauge", lambda t: 1.0 if t % 1 < 0.6 and t < 10 else 0.0)}
    report = made(home, [samples(server, every_ms=100)], TOLD, rows_table(hung))
    after = report.to_dict()["server"]["after_hangups"]
    # Samples at 60, 160, ... ms of each second: seen at 560, gone at 660; half a ms is the request's.
    assert after["n"] == 10
    assert after["at_least_ms"]["p50"] == pytest.approx(179.5)
    assert after["at_most_ms"]["p50"] == pytest.approx(280.5)
    assert "180 ms to 280 ms at the median of 10" in " ".join(render_text(report).split())

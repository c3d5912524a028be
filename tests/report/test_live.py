"""Reports of a gateway's own traffic: no load was made, so nothing is said of one."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from paceline.control.live_runs import LiveRuns
from paceline.errors import ConfigError
from paceline.measure.driver import check_resumable
from paceline.report.html import render_html
from paceline.report.markdown import render_markdown
from paceline.report.model import Report, build_report
from paceline.report.terminal import render_text
from paceline.store.ledger import Place
from paceline.store.runs import open_run
from tests.support.ledger import NOON, attempt, entry


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """80 good requests, one that failed, one that its client left, and one that the gateway made."""
    tried = [
        *(attempt(event_ms=(101.0 + n, 111.0 + n, 121.0 + n)) for n in range(80)),
        attempt(event_ms=(), end_ms=30.0, served=False, row={"outcome": "http_error", "status": 500}),
        attempt(event_ms=(), end_ms=900.0, served=False, row={"outcome": "cancelled"}),
        attempt(event_ms=(2.0, 3.0), role="probe"),
    ]
    documents = [entry(n, at=NOON + timedelta(seconds=n), attempts=[one]) for n, one in enumerate(tried)]
    runs = LiveRuns(tmp_path)
    runs.append(documents, [Place(1, n) for n in range(len(documents))])
    runs.close()
    return tmp_path


def report(home: Path) -> Report:
    return build_report(open_run("gateway:local-a:chat", at=home))


def test_the_headline_is_the_time_to_the_first_token_from_sending(home: Path) -> None:
    made = report(home)
    assert made.headline[0] == "ttft_ms"
    # From 100 to 179 ms; the one that was left waited for at least 899.
    assert made.summary("ttft_ms").p50.value == pytest.approx(140.0, abs=1.5)
    assert (made.ok, made.attempted) == (80, 82)
    assert made.evidence.by_outcome == {"ok": 80, "http_error": 1, "cancelled": 1}


def test_the_verdict_says_what_applies_and_nothing_of_a_load(home: Path) -> None:
    trust = report(home).trust
    codes = {reason.code for reason in trust.reasons}
    assert "live" in codes
    assert not codes & {
        "no_calibration",
        "late_share",
        "undelivered_share",
        "state",
        "cpu_fraction",
        "dropped_share",
    }
    assert trust.verdict != "invalid"
    assert trust.facts.schedule_lag_ms is None
    assert trust.facts.cpu_fraction is None


def test_every_renderer_takes_it(home: Path) -> None:
    made = report(home)
    text = render_text(made)
    assert "live, as clients sent them" in text
    assert "live traffic" in text
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "live, as clients sent them" in render_markdown(made)
    assert "live, as clients sent them" in render_html(made)
    document = made.to_dict()
    assert document["trust"]["offered_requests_s"] == document["trust"]["achieved_requests_s"]
    assert document["run"]["workload"]["kind"] == "live"


def test_the_title_is_the_offer_and_not_what_its_upstream_calls_the_model(home: Path) -> None:
    made = report(home)
    assert made.manifest.model == "truth"
    html = render_html(made)
    assert re.search(r"<title>local-a: live traffic, \w+</title>", html)
    assert "<h1>local-a</h1>" in html
    assert "provider local, tier standard, truth at http://127.0.0.1:9100/v1" in html
    assert re.search(r"^Offer +local-a, provider local, tier standard$", render_text(made), re.MULTILINE)
    assert render_markdown(made).startswith("# local-a at ")
    assert "local-a, provider local, tier standard" in render_markdown(made)


def test_a_day_that_goes_on_is_no_reason_for_doubt(home: Path) -> None:
    runs = LiveRuns(home)
    runs.append([entry(99)], [Place(2, 0)])
    runs.flush()
    reasons = {reason.code: reason for reason in report(home).trust.reasons}
    assert reasons["state"].severity == "note"
    # As if the writer had been killed.
    for run in runs._runs.values():
        run.writer._lock.release()
    left = open_run("gateway:local-a:chat", at=home)
    with pytest.raises(ConfigError, match="traffic of the gateway"):
        check_resumable(left)

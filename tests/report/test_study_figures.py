from pathlib import Path

import pytest

from paceline.report.study_figures import step_figures
from tests.report.samples import OPEN, failed_row, store
from tests.support.rows import lognormal_rows, make_row

SLO = {"ttft_ms": 200.0}


def test_counts_are_those_of_the_goodput(home: Path) -> None:
    run = store(home, lognormal_rows(420, 1, warmup=20), slo={"ttft_ms": 400.0})
    found = step_figures(run, False)
    assert found["attempted"] == found["ok"] == 400
    assert 0 < found["met"] <= 400
    assert found["met"] == found["met_by_limit"]["ttft_ms"]
    assert found["close"]["all"] == found["close"]["ttft_ms"]
    assert found["close"]["all"][0] == pytest.approx(found["ttft"]["p50"]["value"] / 400.0, rel=0.01)
    assert found["ttft"]["p50"]["lo"] < found["ttft"]["p50"]["value"] < found["ttft"]["p50"]["hi"]
    assert found["e2e_mean_ms"] == pytest.approx(found["e2e"]["mean"])
    assert found["goodput_requests_s"] <= found["requests_s"]
    assert (found["trust"], found["client_failed"]) == ("trusted", False)


def test_without_objectives_nothing_is_met_or_missed(home: Path) -> None:
    found = step_figures(store(home, lognormal_rows(100, 1)), False)
    assert found["close"] == {"all": [0.0] * 5}
    assert (found["met"], found["met_by_limit"], found["goodput_requests_s"]) == (None, {}, None)


def test_an_open_loop_counts_from_the_due_instant(home: Path) -> None:
    found = step_figures(store(home, lognormal_rows(100, 2), load=OPEN), False)
    assert found["from_due"]
    assert found["ttft"] is not None


def test_a_dropped_request_was_attempted_and_met_nothing(home: Path) -> None:
    run = store(home, lognormal_rows(100, 1), slo=SLO, load=OPEN, progress={"dropped": 7})
    assert step_figures(run, False)["attempted"] == 107
    assert step_figures(run, True)["attempted"] == 100


def test_of_a_step_cut_short_only_what_had_missed_counts(home: Path) -> None:
    rows = [make_row(request_index=index) for index in range(20)]
    rows.append(failed_row("cancelled", 20, sent_ms=0.0))
    rows[-1] = {**rows[-1], "end_ns": rows[-1]["sent_ns"] + 50_000_000}
    late = failed_row("cancelled", 21)
    rows.append({**late, "end_ns": late["sent_ns"] + 900_000_000})
    run = store(home, rows, slo=SLO, state="interrupted")
    found = step_figures(run, True)
    assert found["unknown"] == 1
    assert found["attempted"] == 21
    assert found["reasons"] == []


def test_a_client_that_could_not_keep_up_is_said_to_have_failed(home: Path) -> None:
    rows = lognormal_rows(200, 1)
    starved = store(home, rows, load=OPEN, slo=SLO, progress={"starved": 150, "planned": 200})
    found = step_figures(starved, False)
    assert found["client_failed"]
    assert found["trust"] == "invalid"
    assert "starved_share" in [reason["code"] for reason in found["reasons"]]

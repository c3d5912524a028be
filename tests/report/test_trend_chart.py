from dataclasses import replace
from datetime import timedelta

import numpy as np
import vl_convert

from paceline.advisor.evidence import OfferEvidence, pooled
from paceline.advisor.trend import Trend, trend
from paceline.report.trend_chart import changes_drawn, trend_chart, trend_table, trends_drawn
from tests.report.board_samples import START, TRUTHS, digest
from tests.report.walk import rows_of, walk


def hourly(place: int, hours: int, slower_from: int | None = None) -> OfferEvidence:
    """A run of 60 requests each hour; from one hour on it takes 1.4 times as long."""
    truth = replace(TRUTHS[place], spread=0.1)
    runs = []
    for hour in range(hours):
        late = slower_from is not None and hour >= slower_from
        of = replace(truth, ttft_ms=truth.ttft_ms * (1.4 if late else 1.0))
        runs.append(digest(of, 60, seed=100 * place + hour, started_at=START + timedelta(hours=hour)))
    return pooled(runs)[0]


def changed() -> Trend:
    found = trend(hourly(0, 40, 25))
    assert len(found.shifts) == 1
    return found


def test_hours_levels_and_the_change_are_drawn() -> None:
    found = changed()
    spec = trend_chart(found)
    assert spec is not None
    assert len(rows_of(spec, "runs")) == 40
    levels = next(
        rows for key, rows in walk(spec) if key == "values" and rows and {"from", "to", "y"} <= set(rows[0])
    )
    before, after = levels
    assert 1.3 < after["y"] / before["y"] < 1.5
    (change,) = rows_of(spec, "late")
    assert change["to"] == (START + timedelta(hours=25)).isoformat()
    assert 1.3 < float(change["text"].split()[0]) < 1.5


def test_its_figures_as_text() -> None:
    head, rows = trend_table(changed())
    assert head[:2] == ("hour, UTC", "TTFT p50, ms")
    assert len(rows) == 40
    assert rows[0][0] == "2026-11-02 09:00"
    assert all(row[3] == "60" for row in rows)


def test_several_offers_those_that_changed_first() -> None:
    one = changed()
    other = trend(hourly(1, 40))
    found = trends_drawn([other, one], {one.key: 3})
    assert found is not None
    assert found.says.startswith("cerise: Worse by ")
    assert found.rows[0][0] == "gpt-oss-120b @ cerise"
    assert len(found.rows) == 80
    numbers = {row["name"]: row["number"] for row in rows_of(found.spec, "number")}
    assert numbers["cerise"] == "3"


def test_no_change_and_too_little_to_tell() -> None:
    quiet = trends_drawn([trend(hourly(1, 40))], {})
    assert quiet is not None
    assert quiet.says == "No change beyond noise in the 1 offer with enough hours."
    few = trends_drawn([trend(hourly(1, 3))], {})
    assert few is not None
    assert few.says == "Too few hours were measured yet to tell a change from noise."
    assert trends_drawn([trend(hourly(1, 1))], {}) is None
    assert trends_drawn([], {}) is None


def test_nothing_is_drawn_of_no_hours() -> None:
    empty = replace(changed(), hours=(), shifts=())
    assert trend_chart(empty) is None
    assert np.isfinite(changed().detectable)


def test_each_offer_that_changed_has_a_chart_of_its_own() -> None:
    one = changed()
    (found,) = changes_drawn([trend(hourly(1, 40)), one])
    assert found.title == "gpt-oss-120b @ cerise over time"
    assert found.says.startswith("Worse by ")
    assert len(found.rows) == 40
    assert len(changes_drawn([one] * 9)) == 6
    assert vl_convert.vegalite_to_vega(found.spec)["marks"]

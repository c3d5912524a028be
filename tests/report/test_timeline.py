from pathlib import Path

import altair as alt

from paceline.report.model import Report
from paceline.report.timeline import points_words, timeline_chart
from tests.report.samples import failed_row, report
from tests.report.walk import rows_of, walk
from tests.support.rows import lognormal_rows, make_row


def test_four_panels_over_one_time(healthy: Report) -> None:
    spec = timeline_chart(healthy.evidence)
    assert spec is not None
    alt.VConcatChart.from_dict(spec)
    assert len(spec["vconcat"]) == 4
    assert spec["resolve"]["scale"]["x"] == "shared"
    assert len(rows_of(spec, "in_flight")) == len({row["t"] for row in rows_of(spec, "in_flight")})
    assert {row["outcome"] for row in rows_of(spec, "outcome")} == {"ok"}
    assert points_words(healthy.evidence) == ""


def test_due_is_drawn_only_where_there_is_a_schedule(healthy: Report, open_loop: Report) -> None:
    for made, names in ((healthy, ["sent", "ended"]), (open_loop, ["due", "sent", "ended"])):
        spec = timeline_chart(made.evidence)
        assert [value for key, value in walk(spec) if key == "fold"] == [names]


def test_failures_have_a_colour_and_a_shape_of_their_own(home: Path) -> None:
    spec = timeline_chart(report(home, [make_row(request_index=1), failed_row("timeout", 2)]).evidence)
    scales = [value for key, value in walk(spec) if key == "scale" and "range" in value]
    ranges = [scale["range"] for scale in scales if scale["domain"] == ["ok", "timeout"]]
    assert ranges == [["var(--accent)", "var(--bad)"], ["circle", "cross"]]


def test_a_sample_is_said_to_be_one(home: Path) -> None:
    made = report(home, lognormal_rows(4_000, 1, events=1))
    assert points_words(made.evidence).startswith("3,000 of 4,000 requests are drawn")


def test_nothing_sent_has_no_chart(home: Path) -> None:
    assert timeline_chart(report(home, [failed_row("connect_error", sent_ns=None)]).evidence) is None

import json

import pytest

from paceline.report.chart_axes import axis_of
from paceline.report.line_chart import MOST_NAMED, Line, LinePoint, line_chart, names_px, pushed_apart
from tests.report.walk import rows_of, walk


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ([10.0, 50.0, 90.0], [10.0, 50.0, 90.0]),
        ([50.0, 50.0], [43.5, 56.5]),
        ([50.0, 49.0, 51.0], [50.0, 37.0, 63.0]),
        ([0.0, 0.0], [0.0, 13.0]),
        ([100.0, 100.0], [87.0, 100.0]),
        ([], []),
    ],
)
def test_names_are_pushed_apart_as_little_as_need_be(wanted: list[float], expected: list[float]) -> None:
    assert pushed_apart(wanted, 13.0, 100.0) == pytest.approx(expected)


def lines(n: int) -> list[Line]:
    return [
        Line(
            place + 1,
            f"offer {place}",
            f"whole offer {place}",
            tuple(LinePoint(float(x), 10.0 * place + x, 1.0, 90.0, f"{x}", "said") for x in (1, 2)),
        )
        for place in range(n)
    ]


def test_lines_beyond_those_that_can_be_told_apart_are_drawn_too() -> None:
    import altair as alt

    spec = line_chart(lines(MOST_NAMED + 3), alt.X("x:Q"), axis_of("ms", [0.0, 120.0]), titles=("x", "y"))
    drawn = {row["full"]: row["line"] for row in rows_of(spec, "full")}
    assert len(drawn) == MOST_NAMED + 3
    assert list(drawn.values()).count("other") == 3
    assert len({row["name"] for row in rows_of(spec, "number")}) == MOST_NAMED


def test_the_interval_of_a_line_is_one_band_that_has_an_area() -> None:
    """Drawn by the library itself: a path a line, with as many corners as there are ends."""
    import altair as alt
    import vl_convert

    spec = line_chart(lines(3), alt.X("x:Q"), axis_of("ms", [0.0, 120.0]), titles=("x", "y"))
    svg = vl_convert.vegalite_to_svg(spec)
    bands = [path for path in svg.split("<path ") if 'aria-roledescription="area mark"' in path]
    assert len(bands) == 3
    assert all(path.partition(' d="')[2].partition('"')[0].count("L") == 3 for path in bands)


def test_offers_differ_in_colour_and_dash_and_shape() -> None:
    """No two named lines share all: who sees no colours still tells them apart."""
    import altair as alt

    spec = line_chart(lines(MOST_NAMED), alt.X("x:Q"), axis_of("ms", [0.0, 120.0]), titles=("x", "y"))
    scales = {
        channel: encoding[channel]["scale"]["range"]
        for _, encoding in walk(spec)
        if isinstance(encoding, dict)
        for channel in ("strokeDash", "shape")
        if channel in encoding and "scale" in encoding[channel]
    }
    seen = {json.dumps(pair) for pair in zip(scales["strokeDash"], scales["shape"], strict=True)}
    assert len(seen) == MOST_NAMED


def test_room_for_the_longest_name() -> None:
    assert names_px(lines(2)) > 6 * len("offer 1")

import json
import re

from paceline.advisor.trend import trend
from paceline.report.trend_text import bars, trend_words, trends_json, trends_text
from tests.advisor.test_trend import hourly


def test_a_change_in_words() -> None:
    found = trend(hourly([200] * 12 + [240] * 12, noise=0.001))
    text = trend_words(found)
    said = re.match(r"Worse by (\d+)% \((\d+)% to (\d+)%\)", text)
    assert said is not None
    by, lo, hi = map(int, said.groups())
    assert lo <= 20 <= hi
    assert lo < by < hi
    assert "since Mon 2026-11-30 19:00 UTC" in text
    assert "chance alone shows as much in 1 of" in text
    faster = trend_words(trend(hourly([200] * 12 + [100] * 12, noise=0.001)))
    assert faster.startswith(("Better by 50%", "Better by 49%", "Better by 51%"))


def test_no_change_says_what_would_have_been_seen_and_few_hours_what_is_missing() -> None:
    assert "would hardly be missed" in trend_words(trend(hourly([200] * 16)))
    assert "5 more hours" in trend_words(trend(hourly([200] * 3)))


def test_the_page_fits_a_terminal() -> None:
    text = trends_text([trend(hourly([200] * 90, model="evil\x1b[2Jname" * 9, per_hour=6))])
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text


def test_bars_go_from_least_to_greatest() -> None:
    assert bars([1, 2, 3, 4, 5, 6, 7, 8]) == "▁▂▃▄▅▆▇█"
    assert bars([3, 3]) == "▁▁"
    assert len(bars(list(range(200)))) <= 60
    assert bars([]) == ""


def test_as_json() -> None:
    document = json.loads(trends_json([trend(hourly([200] * 12 + [240] * 12)), trend(hourly([200] * 3))]))
    assert document["schema"] == "paceline.trend/1"
    first, second = document["offers"]
    assert (first["verdict"], second["verdict"]) == ("slower", "not enough data")
    assert first["shifts"][0]["ratio"]["lo"] < 1.2 < first["shifts"][0]["ratio"]["hi"]
    assert first["hours"][0]["runs"] == ["run-000"]
    assert second["detectable"] is None

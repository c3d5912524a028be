from datetime import UTC, datetime, timedelta

import pytest

from paceline.cli.moments import parse_moment
from paceline.errors import ConfigError

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("30m", timedelta(minutes=30)),
        ("12h", timedelta(hours=12)),
        ("7d", timedelta(days=7)),
        (" 2w ", timedelta(weeks=2)),
    ],
)
def test_so_long_ago(text: str, ago: timedelta) -> None:
    assert parse_moment(text, "--since", NOW) == NOW - ago


def test_days_and_moments_are_in_utc() -> None:
    assert parse_moment("2026-11-01", "--since", NOW) == datetime(2026, 11, 1, tzinfo=UTC)
    assert parse_moment("2026-11-01T06:30", "--since", NOW) == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)
    east = parse_moment("2026-11-01T06:30+02:00", "--since", NOW)
    assert (east, east.tzinfo) == (datetime(2026, 11, 1, 4, 30, tzinfo=UTC), UTC)


def test_until_a_day_is_until_its_end() -> None:
    assert parse_moment("2026-11-01", "--until", NOW, end_of_day=True) == datetime(2026, 11, 2, tzinfo=UTC)
    moment = parse_moment("2026-11-01T00:00", "--until", NOW, end_of_day=True)
    assert moment == datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "7", "yesterday", "2026-13-01", "7y", "-3d", "999999w", "2026-11-31"])
def test_what_is_no_moment_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(ConfigError, match="--since") as error:
        parse_moment(text, "--since", NOW)
    assert "2026-11-30" in str(error.value.hint)


def test_the_last_day_has_no_end() -> None:
    for text in ("9999-12-31", "0001-01-01T00:00+05:00", "9999-12-31T23:00-05:00"):
        with pytest.raises(ConfigError, match="--until"):
            parse_moment(text, "--until", NOW, end_of_day=True)

"""Moments as people type them: `7d`, `36h`, `2026-11-30`, `2026-11-30T12:00`, `all`. In UTC."""

import re
from datetime import UTC, datetime, timedelta

from paceline.errors import ConfigError

_AGO = re.compile(r"(\d{1,6})(m|min|h|d|w)", re.ASCII)
_MINUTES = {"m": 1, "min": 1, "h": 60, "d": 24 * 60, "w": 7 * 24 * 60}
_HINT = "write how long ago (30m, 12h, 7d, 4w), a day (2026-11-30) or a moment (2026-11-30T12:00), in UTC"


def parse_moment(text: str, option: str, now: datetime, *, end_of_day: bool = False) -> datetime:
    """The moment that `text` means. A day is its beginning; `end_of_day`: its end.

    Raises ConfigError that names the option.
    """
    wanted = text.strip()
    ago = _AGO.fullmatch(wanted)
    try:
        if ago:
            return now - timedelta(minutes=int(ago.group(1)) * _MINUTES[ago.group(2)])
        moment = datetime.fromisoformat(wanted)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        if end_of_day and re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", wanted, re.ASCII):
            moment += timedelta(days=1)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(f"{option}: {text!r} is no moment", _HINT) from None

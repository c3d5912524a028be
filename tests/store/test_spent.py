from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from paceline.store.ledger import Line, Place
from paceline.store.spent import period_starts, spent_usd
from paceline.store.traffic import TrafficWriter, decode
from paceline.store.traffic_parts import UnreadLines
from tests.support.ledger import append, attempt, entry, line

# A Wednesday.
NOW = datetime(2026, 12, 2, 15, 30, tzinfo=UTC)


def at(year: int, month: int, day: int, clock: str = "00:00:00") -> datetime:
    return datetime.fromisoformat(f"{year}-{month:02}-{day:02}T{clock}+00:00")


def request(number: int, when: datetime, cost_usd: float, key: str | None = "key_a") -> dict[str, object]:
    return entry(number, at=when, attempts=[attempt(cost_usd=cost_usd)], key=key)


def test_periods_begin_at_utc_midnights_and_weeks_on_monday() -> None:
    assert period_starts(NOW)["day"] == at(2026, 12, 2)
    assert period_starts(NOW)["week"] == at(2026, 11, 30)
    assert period_starts(NOW)["month"] == at(2026, 12, 1)
    # Still Sunday in UTC.
    elsewhere = datetime.fromisoformat("2026-12-07T01:00+02:00")
    assert period_starts(elsewhere)["week"] == at(2026, 11, 30)


def test_each_key_has_spent_in_each_period_what_its_requests_cost(tmp_path: Path) -> None:
    documents = [
        request(0, at(2026, 10, 1), 1.0),
        request(1, at(2026, 11, 29, "23:59:59"), 2.0),
        request(2, at(2026, 11, 30), 4.0),
        request(3, at(2026, 12, 1), 8.0),
        request(4, at(2026, 12, 1, "23:59:59"), 16.0),
        request(5, at(2026, 12, 2), 32.0),
        request(6, at(2026, 12, 2, "15:29:00"), 64.0, "key_b"),
        request(7, at(2026, 12, 2, "15:29:00"), 128.0, None),
    ]
    append(tmp_path, *documents)
    expected = {
        "key_a": {"day": 32.0, "week": 60.0, "month": 56.0, "total": 63.0},
        "key_b": {"day": 64.0, "week": 64.0, "month": 64.0, "total": 64.0},
    }
    assert spent_usd(tmp_path, NOW) == expected
    # The same when some of it is followed.
    half = b"".join(line(document) for document in documents[:4])
    with TrafficWriter(tmp_path) as writer:
        lines = [Line(Place(1, n), line(document)) for n, document in enumerate(documents[:4])]
        writer.add(decode(lines).table, Place(1, len(half)), UnreadLines())
    assert spent_usd(tmp_path, NOW) == expected


def test_many_small_costs_add_up(tmp_path: Path) -> None:
    costs = [1e-7 * (n % 97) + 0.1 for n in range(3_000)]
    append(tmp_path, *(request(n, NOW - timedelta(seconds=n), cost) for n, cost in enumerate(costs)))
    spent = spent_usd(tmp_path, NOW)["key_a"]["total"]
    assert spent == pytest.approx(3_000 * 0.1 + 1e-7 * sum(n % 97 for n in range(3_000)), abs=1e-9)


def test_without_a_ledger_nothing_was_spent(tmp_path: Path) -> None:
    assert spent_usd(tmp_path, NOW) == {}

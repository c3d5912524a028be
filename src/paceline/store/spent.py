"""What each key has spent, by the ledger: what a gateway goes on from when it starts."""

import math
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from paceline.store.traffic import Traffic, read_traffic
from paceline.store.traffic_parts import read_part

PERIODS = ("day", "week", "month", "total")
_COLUMNS = ["key", "received_at", "cost_usd"]


def period_starts(now: datetime) -> dict[str, datetime]:
    """When the day, the week (from Monday) and the month that go on began, in UTC; `total`: ever."""
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return {
        "day": midnight,
        "week": midnight - timedelta(days=midnight.weekday()),
        "month": midnight.replace(day=1),
        "total": datetime(1970, 1, 1, tzinfo=UTC),
    }


def spent_usd(at: Path | None, now: datetime) -> dict[str, dict[str, float]]:
    """By key's id and period, USD that its requests have cost, to the last whole line of the ledger.

    A request counts to the period in which it came. Sums of float64: off by less than 1e-12 of their size.
    `at`: another home. Raises StoreError.
    """
    return read_traffic(lambda traffic: _spent(traffic, now), at=at)


def _spent(traffic: Traffic, now: datetime) -> dict[str, dict[str, float]]:
    since_us = {period: int(start.timestamp()) * 1_000_000 for period, start in period_starts(now).items()}
    sums: dict[str, dict[str, list[float]]] = defaultdict(lambda: {period: [] for period in PERIODS})
    for table in _tables(traffic):
        with_key = table.filter(pc.is_valid(table["key"]))
        came_us = pc.cast(with_key["received_at"], pa.int64()).to_numpy()
        costs = with_key["cost_usd"].to_numpy()
        coded: Any = with_key["key"].combine_chunks().dictionary_encode()
        keys, mine = coded.dictionary.to_pylist(), coded.indices.to_numpy()
        for period, start_us in since_us.items():
            per_key = np.bincount(mine, np.where(came_us >= start_us, costs, 0.0), minlength=len(keys))
            for key, sum_usd in zip(keys, per_key.tolist(), strict=True):
                sums[key][period].append(sum_usd)
    return {
        key: {period: math.fsum(parts) for period, parts in periods.items()} for key, periods in sums.items()
    }


def _tables(traffic: Traffic) -> Iterable[pa.Table]:
    for part in traffic.parts:
        yield read_part(part, _COLUMNS)
    yield traffic.rest.select(_COLUMNS)

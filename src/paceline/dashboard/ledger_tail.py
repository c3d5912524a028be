"""The last requests that the gateway has written down, from the end of its ledger."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from paceline.errors import StoreError
from paceline.store.ledger import Place, read_stretch, segment_path, segments
from paceline.store.ledger_entry import read_entry
from paceline.store.paths import ledger_folder

MOST = 20
# Lines are about 2 KB, more where events of long answers are in them.
_TAIL_BYTES = 512 * 1024


@dataclass(frozen=True)
class LastRequest:
    """One request. tried: offers asked, in order; the one that served is `offer`. tokens: completion."""

    at: datetime
    model: str
    offer: str | None
    tried: tuple[str, ...]
    outcome: str
    code: str | None
    ttft_ms: float | None
    e2e_ms: float
    tokens: int
    cost_usd: float
    cost_is_partial: bool
    app: str | None


def last_requests(home: Path, most: int = MOST) -> list[LastRequest]:
    """The newest first; none where there is no ledger, or it cannot be read."""
    folder = ledger_folder(home)
    found: list[LastRequest] = []
    try:
        for number in reversed(segments(folder)):
            for raw in reversed(_tail(folder, number)):
                try:
                    found.append(_request(read_entry(raw)))
                except (ValueError, TypeError, KeyError, OverflowError):
                    continue
                if len(found) == most:
                    return found
    except (StoreError, OSError):
        return found
    return found


def _tail(folder: Path, number: int) -> list[bytes]:
    """The last lines of a segment, the first of which may have begun before."""
    size = segment_path(folder, number).stat().st_size
    start = Place(number, max(size - _TAIL_BYTES, 0))
    stretch = read_stretch(folder, start, _TAIL_BYTES)
    return [line.raw for line in stretch.lines if line.place.segment == number and not line.torn]


def _request(entry: Mapping[str, Any]) -> LastRequest:
    attempts = entry["attempts"]
    served = next((one["offer"] for one in attempts if one["served"]), None)
    return LastRequest(
        at=datetime.fromtimestamp(entry["received_unix_ns"] / 1e9, UTC),
        model=entry["asked_model"],
        offer=served,
        tried=tuple(one["offer"] for one in attempts),
        outcome=entry["outcome"],
        code=entry["code"],
        ttft_ms=None if entry["ttft_ns"] is None else entry["ttft_ns"] / 1e6,
        e2e_ms=(entry["ended_ns"] - entry["received_ns"]) / 1e6,
        tokens=sum(one["usage"]["completion_tokens"] for one in attempts),
        cost_usd=float(entry["cost_usd"]),
        cost_is_partial=entry["cost_is_partial"],
        app=entry["app_title"] or entry["app_referer"],
    )

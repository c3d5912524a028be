"""One line of the ledger, `paceline.ledger/1` (docs/reference/ledger.md), read and checked.

`crates/paceline-gateway/src/ledger/entry.rs` owns the shape: a test compares them. Fields that are not known
here are let be: a later data plane may write them.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from operator import contains
from typing import Any

from paceline.store.schema import ROW_SCHEMA

_OPTIONAL_TEXT = (str, type(None))
_OPTIONAL_INT = (int, type(None))
_NUMBER = (int, float)

SCHEMA = "paceline.ledger/1"
_YEAR_10000_NS = 253_402_300_800 * 10**9

ENTRY_FIELDS: Mapping[str, tuple[type, ...]] = {
    "schema": (str,),
    "id": (str,),
    "received_unix_ns": (int,),
    "received_ns": (int,),
    "ended_ns": (int,),
    "key": _OPTIONAL_TEXT,
    "app_title": _OPTIONAL_TEXT,
    "app_referer": _OPTIONAL_TEXT,
    "protocol": (str,),
    "streaming": (bool,),
    "asked_model": (str,),
    "outcome": (str,),
    "status": _OPTIONAL_INT,
    "code": _OPTIONAL_TEXT,
    "ttft_ns": _OPTIONAL_INT,
    "queued_ns": (int,),
    "deadline_ns": _OPTIONAL_INT,
    "finish_by_ns": _OPTIONAL_INT,
    "deadline_met": (bool, type(None)),
    "cost_usd": _NUMBER,
    "cost_is_partial": (bool,),
    "attempts": (list,),
}
ATTEMPT_FIELDS: Mapping[str, tuple[type, ...]] = {
    "offer": (str,),
    "provider": (str,),
    "model": (str,),
    "upstream_model": (str,),
    "tier": (str,),
    "endpoint": (str,),
    "protocol": (str,),
    "role": (str,),
    "served": (bool,),
    "downgrade": _OPTIONAL_TEXT,
    "usage": (dict,),
    "cost_usd": (*_NUMBER, type(None)),
    "row": (dict,),
}
USAGE_FIELDS: Mapping[str, tuple[type, ...]] = {
    "prompt_tokens": (int,),
    "completion_tokens": (int,),
    "reasoning_tokens": (int,),
    "cached_tokens": (int,),
    "cache_write_tokens": (int,),
    "source": (str,),
}
ROW_FIELDS = frozenset(name for name in ROW_SCHEMA.names if name != "phase") | {"warmup"}
"""A row on a line has `warmup` where a stored one has `phase`; its instants are CLOCK_MONOTONIC."""

_ROW_NEEDED = (frozenset(field.name for field in ROW_SCHEMA if not field.nullable) & ROW_FIELDS) | {"warmup"}


@dataclass(frozen=True)
class Unread:
    """A line that could not be read: where it begins, and why."""

    segment: int
    offset: int
    why: str


def read_entry(raw: bytes) -> dict[str, Any]:
    """The entry on a line. Raises ValueError that says what is wrong with it."""
    try:
        entry = json.loads(raw)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        # What the parser says of bytes that are no text would quote them.
        why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else "it is not JSON"
        raise ValueError(why) from None
    _check(entry, ENTRY_FIELDS, "")
    if entry["schema"] != SCHEMA:
        raise ValueError(f"its schema is not {SCHEMA}")
    if not 0 <= entry["received_unix_ns"] < _YEAR_10000_NS:
        raise ValueError("received_unix_ns is in no year of the calendar")
    if not abs(entry["cost_usd"]) <= sys.float_info.max:
        raise ValueError("cost_usd is no number")
    for place, attempt in enumerate(entry["attempts"]):
        where = f"attempts[{place}]."
        _check(attempt, ATTEMPT_FIELDS, where)
        _check(attempt["usage"], USAGE_FIELDS, f"{where}usage.")
        row = attempt["row"]
        if None in map(row.get, _ROW_NEEDED):
            missing = [name for name in _ROW_NEEDED if row.get(name) is None]
            raise ValueError(f"{where}row.{min(missing)} is missing")
        if not isinstance(row["event_ns"], list):
            raise ValueError(f"{where}row.event_ns is no list")
    return entry  # type: ignore[no-any-return]


def _check(found: Any, fields: Mapping[str, tuple[type, ...]], where: str) -> None:
    if type(found) is not dict:
        raise ValueError(f"{where.removesuffix('.') or 'the line'} is no object")
    # `type`, as `isinstance` takes a bool for an int.
    try:
        fit = all(map(contains, fields.values(), map(type, map(found.__getitem__, fields))))
    except KeyError:
        fit = False
    if fit:
        return
    for name, kinds in fields.items():
        if type(found.get(name)) not in kinds or name not in found:
            raise ValueError(f"{where}{name} is {'missing' if name not in found else 'of another type'}")

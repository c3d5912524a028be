"""Five requests whose figures can be worked out by hand, in ms.

connect 5-10, sent 10: 1 token at 110, 1 at 130, 2 at 170; body ends 180; usage 4
sent 20: reasoning at 220, content at 260 and 300; body ends 305; usage 3; two events without a token
sent 30: status 500 at 40
sent 40: tool-call arguments at 140 and 160; body ends 161; usage 2
sent 50: content at 150; body ends 155 in order, with no end marker; no usage
"""

from typing import Any

import pytest

from paceline.report.conformance.definition import Definition, View
from paceline.report.conformance.figures import Figure
from paceline.report.conformance.recording import Recording, recording_of
from paceline.stats.tokens import count_tokens
from paceline.store.schema import PLAN_SCHEMA
from tests.support.rows import make_row, rows_table

MS = 1_000_000
CUT_IN_ORDER = "the response ended without a finish reason and without an end marker"


def rows() -> list[dict[str, Any]]:
    return [
        make_row(
            sent_ms=10,
            event_ms=(110, 130, 170),
            end_ms=180,
            completion_tokens=4,
            event_tokens=[1, 1, 2],
            connect_ns=5 * MS,
            connection_reused=False,
            events=3,
        ),
        make_row(
            sent_ms=20,
            event_ms=(220, 260, 300),
            end_ms=305,
            completion_tokens=3,
            event_kind=[2, 1, 1],
            events=5,
        ),
        make_row(
            sent_ms=30,
            event_ms=(),
            end_ms=40,
            outcome="http_error",
            status=500,
            completion_tokens=None,
            events=0,
        ),
        make_row(
            sent_ms=40, event_ms=(140, 160), end_ms=161, completion_tokens=2, event_kind=[4, 4], events=2
        ),
        make_row(
            sent_ms=50,
            event_ms=(150,),
            end_ms=155,
            completion_tokens=None,
            outcome="truncated",
            error=CUT_IN_ORDER,
            events=1,
        ),
    ]


def recorded(given: list[dict[str, Any]] | None = None, plan: Any = None) -> Recording:
    table = rows_table(rows() if given is None else given)
    return recording_of(
        table, count_tokens(table), PLAN_SCHEMA.empty_table() if plan is None else plan, {0: 0}
    )


def view(definition: Definition, given: list[dict[str, Any]] | None = None) -> View:
    return definition.compute(recorded(given))


def figure(n: int, mean: float, **more: float) -> dict[str, Any]:
    return {
        "n": n,
        "mean": pytest.approx(mean),
        **{name: pytest.approx(value) for name, value in more.items()},
    }


def held(found: Figure, wanted: dict[str, Any]) -> bool:
    return {name: getattr(found, name) for name in wanted} == wanted

import numpy as np

from paceline.measure.truth import error_summary, truth_errors
from tests.support.rows import MS, make_row, rows_table


def truth(name: str, received_ms: float, events_ms: list[float]) -> dict[str, object]:
    head = [[round(received_ms * MS) + 1, 0, 0]]
    events = [[round(at * MS), 1, 1] for at in events_ms]
    return {"id": name, "received_ns": round(received_ms * MS), "events": head + events, "end": "complete"}


def test_errors_are_what_was_seen_less_what_was_done() -> None:
    rows = rows_table(
        [
            make_row(request_index=0, response_id="a", sent_ms=0, event_ms=(50.1, 60.1, 70.4)),
            make_row(request_index=1, response_id="b", phase="warmup"),
            make_row(request_index=2, response_id="c", outcome="truncated"),
            make_row(request_index=3, response_id="unknown"),
            make_row(request_index=4, response_id="d", event_ms=(1, 2)),
        ]
    )
    # The engine's clock is the same, from another origin.
    log = [truth("a", 1000.02, [1050, 1060, 1070]), truth("b", 0, [1]), truth("d", 0, [1, 2, 3])]
    errors = truth_errors(rows, log)
    assert (errors.requests, errors.unmatched) == (1, 2)
    assert np.allclose(errors.ttft_us, [120])
    assert np.allclose(errors.e2e_us, [420])
    assert np.allclose(errors.itl_us, [0, 300])


def test_a_summary_has_signed_and_absolute_errors() -> None:
    summary = error_summary(np.array([-100.0, -50.0, 0.0, 50.0, 300.0]))
    assert summary is not None
    assert summary["n"] == 5
    assert summary["p50"] == 0
    assert summary["abs_p50"] == 50
    assert summary["abs_max"] == 300
    assert summary["p1"] < 0
    assert error_summary(np.zeros(0)) is None

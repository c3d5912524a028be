from typing import Any

from paceline.measure.live_stats import Snapshot
from paceline.measure.study_overload import OverloadRule


def snapshot(**fields: Any) -> Snapshot:
    base: dict[str, Any] = {
        "state": "running", "elapsed_s": 1.0, "left_s": None, "total_s": None, "total_requests": None,
        "started": 50, "finished": 40, "in_flight": 10, "planned": 50, "offered_requests_s": 5.0,
        "achieved_requests_s": 5.0, "output_tok_s": 100.0, "ttft_ms": (100.0, 200.0, 300.0),
        "itl_ms": (10.0, 20.0, 30.0), "outcomes": {"ok": 40},
    }  # fmt: skip
    return Snapshot(**{**base, **fields})


RULE = OverloadRule({"ttft_ms": 150.0, "itl_ms": 15.0}, 0.95, rate_requests_s=20.0, usual_s=2.0)


def test_a_load_that_is_served_goes_on() -> None:
    assert RULE(snapshot()) is None


def test_a_median_over_its_limit_ends_the_step() -> None:
    assert "median ttft_ms" in (RULE(snapshot(ttft_ms=(151.0, 200.0, 300.0))) or "")
    assert "median itl_ms" in (RULE(snapshot(itl_ms=(16.0, 20.0, 30.0))) or "")


def test_few_requests_prove_nothing() -> None:
    assert RULE(snapshot(ttft_ms=(900.0, 900.0, 900.0), outcomes={"ok": 19})) is None
    assert RULE(snapshot(outcomes={"ok": 0, "timeout": 9})) is None


def test_failures_end_the_step() -> None:
    assert "failed" in (RULE(snapshot(outcomes={"ok": 30, "http_error": 10})) or "")
    assert RULE(snapshot(outcomes={"ok": 100, "http_error": 10})) is None
    assert RULE(snapshot(outcomes={"ok": 100, "hung_up": 100})) is None


def test_what_piles_up_ends_the_step_of_an_open_loop() -> None:
    assert RULE(snapshot(in_flight=160)) is None
    assert "piled up" in (RULE(snapshot(in_flight=161)) or "")
    closed = OverloadRule({"ttft_ms": 150.0}, 0.95)
    assert closed(snapshot(in_flight=100_000)) is None
    slow = OverloadRule({"ttft_ms": 150.0}, 0.95, rate_requests_s=1.0, usual_s=0.1)
    assert slow(snapshot(in_flight=64)) is None

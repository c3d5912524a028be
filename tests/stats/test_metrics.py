"""Golden values, computed by hand from the definitions in docs/concepts/metrics.md."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from paceline.stats.metrics import (
    JOB_METRICS,
    METRICS,
    MetricSamples,
    coalesced_share,
    derive,
    metric_info,
)
from tests.support.rows import lognormal_rows, make_row, rows_table

ORIGINS = {0: 1_000_000_000, 1: 9_000_000_000}


def derived(*rows: dict[str, Any], **options: Any) -> dict[str, MetricSamples]:
    return derive(rows_table(rows), ORIGINS, **options)


def values(metrics: dict[str, MetricSamples]) -> dict[str, list[float]]:
    return {name: samples.values.tolist() for name, samples in metrics.items() if len(samples.values)}


def test_a_plain_stream() -> None:
    assert values(derived(make_row())) == {
        "ttft_ms": [100.0],
        "ttfat_ms": [100.0],
        "e2e_ms": [130.0],
        "ttft_from_intended_ms": [100.0],
        "ttfat_from_intended_ms": [100.0],
        "e2e_from_intended_ms": [130.0],
        "tpot_ms": [10.0],
        "output_tok_s": [100.0],
        "chunk_gap_ms": [10.0, 10.0, 10.0],
        "itl_ms": [10.0, 10.0, 10.0],
        "longest_stall_ms": [10.0],
        "fluidity": [1.0],
    }


def test_four_tokens_an_event() -> None:
    row = make_row(event_ms=(100, 140, 180), event_tokens=[4, 4, 4], completion_tokens=12)
    found = values(derived(row))
    assert found["tpot_ms"] == [10.0]
    assert found["chunk_gap_ms"] == [40.0, 40.0]
    assert found["itl_ms"] == [10.0] * 8
    assert found["longest_stall_ms"] == [40.0]


def test_uneven_events_weigh_by_their_tokens() -> None:
    row = make_row(event_ms=(100, 130, 140), event_tokens=[2, 3, 1], completion_tokens=6)
    found = values(derived(row))
    assert found["itl_ms"] == [10.0, 10.0, 10.0, 10.0]
    assert found["tpot_ms"] == [10.0]  # 40 ms over 6 - 2 tokens


def test_an_event_without_a_whole_token_lends_its_gap_to_the_next() -> None:
    row = make_row(event_tokens=[1, 0, 2, 1])
    found = values(derived(row))
    assert found["chunk_gap_ms"] == [10.0, 10.0, 10.0]
    assert found["itl_ms"] == [10.0, 10.0, 10.0]  # 20 ms / 2 tokens, twice; then 10 ms
    assert found["tpot_ms"] == [10.0]


def test_reasoning_counts_as_token_and_not_as_answer() -> None:
    found = values(derived(make_row(event_kind=[2, 2, 1, 1])))
    assert found["ttft_ms"] == [100.0]
    assert found["ttfat_ms"] == [120.0]
    only_reasoning = derived(make_row(event_kind=[2, 2, 2, 2]))
    assert values(only_reasoning)["ttft_ms"] == [100.0]
    assert len(only_reasoning["ttfat_ms"].values) == 0
    assert values(derived(make_row(event_kind=[2, 4, 1, 1])))["ttfat_ms"] == [110.0]


def test_hidden_reasoning_does_not_speed_up_tpot() -> None:
    found = values(derived(make_row(completion_tokens=104, reasoning_tokens=100)))
    assert found["tpot_ms"] == [10.0]
    assert found["itl_ms"] == [10.0, 10.0, 10.0]


def test_from_intended_counts_the_wait_to_be_sent() -> None:
    found = values(derived(make_row(sent_ms=30, intended_ms=5)))
    assert found["ttft_ms"] == [70.0]
    assert found["ttft_from_intended_ms"] == [95.0]
    assert found["ttfat_from_intended_ms"] == [95.0]
    assert found["e2e_ms"] == [100.0]
    assert found["e2e_from_intended_ms"] == [125.0]


def test_fluidity_at_a_pace() -> None:
    # At 100 tok/s tokens are needed at 0, 10, 20, 30 ms after the first: the last two are late.
    row = make_row(event_ms=(100, 110, 135, 140))
    assert values(derived(row, reading_tok_s=100.0))["fluidity"] == [0.5]
    # Four tokens 60 ms after the first are needed at 40, 50, 60 and 70 ms: two of them come in time.
    row = make_row(event_ms=(100, 160), event_tokens=[4, 4])
    assert values(derived(row, reading_tok_s=100.0))["fluidity"] == [0.75]


@pytest.mark.parametrize(
    "row",
    [
        make_row(phase="warmup"),
        *(
            make_row(outcome=outcome)
            for outcome in (
                "http_error",
                "rate_limited",
                "connect_error",
                "error_in_stream",
                "truncated",
                "empty",
                "malformed",
            )
        ),
    ],
)
def test_only_measured_ok_rows_give_samples(row: dict[str, Any]) -> None:
    found = derived(row)
    assert values(found) == {}
    assert all(len(samples.censored) == 0 for samples in found.values())


def test_with_one_token_an_event_the_gaps_are_not_held_twice() -> None:
    found = derive(lognormal_rows(20, 4, events=6), {0: 0})
    for name in ("values", "at_ns", "row"):
        assert getattr(found["itl_ms"], name) is getattr(found["chunk_gap_ms"], name)


def censored(metrics: dict[str, MetricSamples]) -> dict[str, list[float]]:
    return {name: samples.censored.tolist() for name, samples in metrics.items() if len(samples.censored)}


@pytest.mark.parametrize("outcome", ["timeout", "cancelled"])
def test_a_request_cut_before_its_first_token_bounds_every_latency(outcome: str) -> None:
    found = derived(make_row(event_ms=(), end_ms=5000, sent_ms=10, intended_ms=0, outcome=outcome))
    assert values(found) == {}
    assert censored(found) == {
        "ttft_ms": [4990.0],
        "ttfat_ms": [4990.0],
        "e2e_ms": [4990.0],
        "ttft_from_intended_ms": [5000.0],
        "ttfat_from_intended_ms": [5000.0],
        "e2e_from_intended_ms": [5000.0],
    }


def test_a_request_cut_in_its_stream_bounds_what_was_still_open() -> None:
    found = derived(make_row(end_ms=5000, outcome="timeout", event_kind=[2, 2, 2, 2]))
    assert values(found) == {}
    assert censored(found) == {
        "ttfat_ms": [5000.0],
        "e2e_ms": [5000.0],
        "ttfat_from_intended_ms": [5000.0],
        "e2e_from_intended_ms": [5000.0],
        "chunk_gap_ms": [4870.0],
        "longest_stall_ms": [4870.0],
    }


def test_a_request_that_was_never_written_bounds_from_the_intended_instant_only() -> None:
    found = derived(make_row(sent_ms=None, intended_ms=7, event_ms=(), end_ms=57, outcome="timeout"))
    assert censored(found) == {
        "ttft_from_intended_ms": [50.0],
        "ttfat_from_intended_ms": [50.0],
        "e2e_from_intended_ms": [50.0],
    }


def test_non_streaming_rows_have_only_an_end() -> None:
    found = derived(
        make_row(streaming=False, event_ms=(250,), completion_tokens=40),
        make_row(streaming=False, event_ms=(), end_ms=900, outcome="timeout"),
    )
    assert values(found) == {"e2e_ms": [250.0], "e2e_from_intended_ms": [250.0]}
    assert censored(found) == {"e2e_ms": [900.0], "e2e_from_intended_ms": [900.0]}


def test_one_event_has_no_rate_and_no_gaps() -> None:
    found = values(derived(make_row(event_ms=(250,), completion_tokens=40)))
    assert set(found) == {
        "ttft_ms",
        "ttfat_ms",
        "e2e_ms",
        "ttft_from_intended_ms",
        "ttfat_from_intended_ms",
        "e2e_from_intended_ms",
        "fluidity",
    }


def test_connection_times_come_from_new_connections_only() -> None:
    found = values(derived(make_row(), make_row(connect_ns=1_500_000, tls_ns=4_000_000)))
    assert found["connect_ms"] == [1.5]
    assert found["tls_ms"] == [4.0]


def test_samples_come_in_order_of_absolute_time_across_segments() -> None:
    later = make_row(segment=0, sent_ms=50, event_ms=(90, 100))
    first = make_row(segment=0, sent_ms=0, event_ms=(95, 115))
    other = make_row(segment=1, sent_ms=0, event_ms=(10, 30))
    found = derived(other, later, first)
    assert found["ttft_ms"].values.tolist() == [95.0, 40.0, 10.0]
    assert found["ttft_ms"].row.tolist() == [2, 1, 0]
    assert found["ttft_ms"].at_ns.tolist() == [1_000_000_000, 1_050_000_000, 9_000_000_000]
    assert found["chunk_gap_ms"].values.tolist() == [10.0, 20.0, 20.0]
    assert found["chunk_gap_ms"].row.tolist() == [1, 2, 0]


def test_coalesced_gaps_are_kept_and_their_share_is_told() -> None:
    row = make_row(event_ms=(100, 120, 120, 140), event_coalesced=[False, True, True, False])
    assert values(derived(row))["chunk_gap_ms"] == [20.0, 0.0, 20.0]
    assert coalesced_share(rows_table([row])) == pytest.approx(2 / 3)
    assert coalesced_share(rows_table([])) is None


def test_approximate_counts_mark_what_rests_on_them() -> None:
    found = derived(make_row(completion_tokens=None))
    assert {name for name, samples in found.items() if samples.approximate} == {
        "tpot_ms",
        "output_tok_s",
        "itl_ms",
        "fluidity",
    }
    assert not any(samples.approximate for samples in derived(make_row()).values())


def test_every_metric_is_there_even_without_rows() -> None:
    found = derived()
    assert list(found) == list(METRICS)
    assert values(found) == {}


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="no origin for segments \\[3\\]"):
        derived(make_row(segment=3))
    with pytest.raises(ValueError, match="reading_tok_s"):
        derived(make_row(), reading_tok_s=0.0)


def test_chunked_and_sliced_tables_give_the_same() -> None:
    table = lognormal_rows(60, 3, events=5)
    parts = pa.concat_tables([table.slice(0, 17), table.slice(17, 1), table.slice(18)])
    whole, split = derive(table, {0: 5}), derive(parts, {0: 5})
    for name in METRICS:
        np.testing.assert_array_equal(whole[name].values, split[name].values)
        np.testing.assert_array_equal(whole[name].row, split[name].row)
    tail = derive(table.slice(30), {0: 5})
    np.testing.assert_array_equal(tail["e2e_ms"].values, whole["e2e_ms"].values[30:])


def test_a_large_table_agrees_with_a_loop_over_its_rows() -> None:
    table = lognormal_rows(200, 4, events=6, tokens_per_event=3, warmup=20)
    found = derive(table, {0: 0}, reading_tok_s=100.0)
    stalls, tpots, fluid = [], [], []
    for row in table.to_pylist()[20:]:
        at = np.array(row["event_ns"]) / 1e6
        stalls.append(np.diff(at).max())
        tpots.append((at[-1] - at[0]) / 15)
        needed = at[0] + 10.0 * np.arange(18)
        fluid.append(np.mean(np.repeat(at, 3) <= needed + 1e-9))
    np.testing.assert_allclose(found["longest_stall_ms"].values, stalls)
    np.testing.assert_allclose(found["tpot_ms"].values, tpots)
    np.testing.assert_allclose(found["output_tok_s"].values, 1000.0 / np.array(tpots))
    np.testing.assert_allclose(found["fluidity"].values, fluid)


def hung_up(**columns: Any) -> dict[str, Any]:
    """The caller leaves 45 ms after the last of three tokens; the server stops 30 ms later."""
    given = {"event_ms": (100, 110, 135), "end_ms": 180.0, "completion_tokens": None, "end_marker": False}
    return make_row(
        outcome="hung_up", **{**given, "hangup_ns": 180_000_000, "stopped_ns": 210_000_000, **columns}
    )


def test_until_the_hang_up_all_counts_and_nothing_after_it() -> None:
    found = derived(hung_up())
    assert values(found) == {
        "ttft_ms": [100.0],
        "ttfat_ms": [100.0],
        "ttft_from_intended_ms": [100.0],
        "ttfat_from_intended_ms": [100.0],
        "chunk_gap_ms": [10.0, 25.0],
        "itl_ms": [10.0, 25.0],
        # The caller waited 45 ms for a token that never came.
        "longest_stall_ms": [45.0],
        "stop_ms": [30.0],
    }
    assert all(not len(samples.censored) for samples in found.values())


def test_a_server_that_does_not_stop_took_at_least_as_long_as_it_was_watched() -> None:
    found = derived(hung_up(), hung_up(stopped_ns=None), make_row(), hangup_wait_ns=2_000_000_000)
    assert found["stop_ms"].values.tolist() == [30.0]
    assert found["stop_ms"].censored.tolist() == [2000.0]


def test_who_hangs_up_on_a_thinking_model_waited_at_least_so_long_for_an_answer() -> None:
    found = derived(hung_up(event_kind=[2, 2, 2]))
    assert found["ttft_ms"].values.tolist() == [100.0]
    assert found["ttfat_ms"].censored.tolist() == [180.0]


def test_only_what_a_hang_up_touches_is_approximate_by_it() -> None:
    found = derived(hung_up(), make_row())
    assert found["itl_ms"].approximate
    assert not found["tpot_ms"].approximate


def test_embeddings_have_an_end_and_no_tokens() -> None:
    row = make_row(event_ms=(40,), event_kind=[8], completion_tokens=None, finish_reason="completed")
    for streaming in (False, True):
        found = derived({**row, "streaming": streaming})
        assert values(found) == {"e2e_ms": [40.0], "e2e_from_intended_ms": [40.0]}


def test_job_metrics_are_described_beside_those_of_requests() -> None:
    assert metric_info("job_ms").unit == "ms"
    assert metric_info("ttft_ms") is METRICS["ttft_ms"]
    assert not JOB_METRICS.keys() & METRICS.keys()

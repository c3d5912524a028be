from typing import Any

import pytest

from paceline.stats.tokens import TokenCounts, TokenSource, count_tokens, token_totals
from tests.support.rows import make_row, rows_table


def counted(row: dict[str, Any], local: list[int] | None = None) -> TokenCounts:
    return count_tokens(rows_table([row]), local)


def test_the_server_s_word_on_each_event_comes_first() -> None:
    counts = counted(make_row(event_tokens=[2, 1, 1, 1], completion_tokens=5), [9, 9, 9, 9])
    assert counts.per_event.tolist() == [2, 1, 1, 1]
    assert counts.source.tolist() == [TokenSource.SERVER_EVENTS]
    assert not counts.approximate[0]
    assert not counts.mismatch[0]


def test_a_local_tokenizer_comes_before_the_usage_total() -> None:
    counts = counted(make_row(completion_tokens=8), [3, 1, 2, 1])
    assert counts.per_event.tolist() == [3, 1, 2, 1]
    assert counts.source.tolist() == [TokenSource.LOCAL_TOKENIZER]
    assert not counts.approximate[0]
    assert counts.mismatch[0]
    assert counts.usage.tolist() == [8]


def test_a_usage_total_equal_to_the_events_is_exact() -> None:
    counts = counted(make_row(completion_tokens=4))
    assert counts.per_event.tolist() == [1, 1, 1, 1]
    assert counts.source.tolist() == [TokenSource.USAGE]
    assert not counts.approximate[0]


def test_a_larger_usage_total_is_spread_by_bytes_and_approximate() -> None:
    even = counted(make_row(event_ms=(1, 2, 3), completion_tokens=7))
    assert even.per_event.tolist() == [2, 3, 2]
    assert even.approximate[0]
    assert not even.mismatch[0]
    uneven = counted(make_row(event_ms=(1, 2, 3), completion_tokens=9, event_bytes=[2, 8, 2]))
    assert uneven.per_event.tolist() == [2, 5, 2]
    no_bytes = counted(make_row(event_ms=(1, 2), completion_tokens=6, event_bytes=[0, 0]))
    assert no_bytes.per_event.tolist() == [3, 3]


def test_one_event_carries_the_whole_usage_exactly() -> None:
    counts = counted(make_row(streaming=False, event_ms=(250,), completion_tokens=40))
    assert counts.per_event.tolist() == [40]
    assert not counts.approximate[0]


@pytest.mark.parametrize("completion", [None, 3])
def test_without_a_possible_total_chunks_are_approximate(completion: int | None) -> None:
    counts = counted(make_row(completion_tokens=completion))
    assert counts.per_event.tolist() == [1, 1, 1, 1]
    assert counts.source.tolist() == [TokenSource.CHUNKS]
    assert counts.approximate[0]
    assert bool(counts.mismatch[0]) == (completion is not None)


def test_partly_known_events_fall_back() -> None:
    counts = counted(make_row(event_tokens=[1, -1, 1, 1], completion_tokens=4))
    assert counts.source.tolist() == [TokenSource.USAGE]


def test_hidden_reasoning_is_taken_off_the_usage() -> None:
    counts = counted(make_row(completion_tokens=104, reasoning_tokens=100))
    assert counts.streamed.tolist() == [4]
    assert counts.hidden.tolist() == [100]
    assert not counts.mismatch[0]


def test_shown_reasoning_is_not_taken_off() -> None:
    counts = counted(make_row(completion_tokens=4, reasoning_tokens=2, event_kind=[2, 2, 1, 1]))
    assert counts.streamed.tolist() == [4]
    assert counts.hidden.tolist() == [0]


def test_reasoning_that_completion_does_not_contain_is_not_taken_off() -> None:
    counts = counted(make_row(completion_tokens=4, reasoning_tokens=100))
    assert counts.usage.tolist() == [4]
    assert counts.hidden.tolist() == [100]


def test_rows_do_not_leak_into_each_other() -> None:
    table = rows_table(
        [
            make_row(event_ms=(1, 2, 3), completion_tokens=7),
            make_row(event_ms=(), outcome="timeout", completion_tokens=None),
            make_row(event_ms=(1, 2), event_tokens=[5, 6], completion_tokens=11),
            make_row(event_ms=(1, 2, 3), completion_tokens=7),
        ]
    )
    counts = count_tokens(table)
    assert counts.per_event.tolist() == [2, 3, 2, 5, 6, 2, 3, 2]
    assert counts.streamed.tolist() == [7, 0, 11, 7]


def test_local_counts_must_fit_the_events() -> None:
    with pytest.raises(ValueError, match="2 counts for 4 events"):
        counted(make_row(), [1, 1])


def test_totals_of_ok_rows_show_the_mismatch() -> None:
    table = rows_table(
        [
            make_row(event_tokens=[1, 1, 1, 1], completion_tokens=6, cached_tokens=3),
            make_row(event_tokens=[1, 1, 1, 1], completion_tokens=4),
            make_row(outcome="truncated", completion_tokens=400),
            make_row(phase="warmup", completion_tokens=400),
        ]
    )
    totals = token_totals(table, count_tokens(table))
    assert (totals.prompt, totals.completion, totals.reasoning, totals.cached) == (20, 10, None, 3)
    assert totals.counted == 8
    assert totals.source == "server events"
    assert not totals.approximate
    assert totals.mismatched_requests == 1
    assert totals.mismatch_share == pytest.approx(0.2)


def test_an_answer_in_one_piece_is_counted_by_usage() -> None:
    rows = [make_row(event_ms=(50,), event_tokens=[9], completion_tokens=9, streaming=False)]
    table = rows_table(rows)
    totals = token_totals(table, count_tokens(table))
    assert (totals.counted, totals.source) == (9, "server usage")


def test_totals_of_nothing() -> None:
    table = rows_table([])
    totals = token_totals(table, count_tokens(table))
    assert totals.completion is None
    assert totals.counted == 0
    assert totals.mismatch_share is None


def test_an_embedding_is_no_token() -> None:
    rows = rows_table([make_row(event_ms=(40,), event_kind=[8], completion_tokens=None, streaming=False)])
    counts = count_tokens(rows)
    assert (counts.per_event.tolist(), counts.streamed.tolist()) == ([0], [0])
    assert not counts.approximate.any()
    assert not counts.mismatch.any()
    assert token_totals(rows, counts).prompt == 10


def test_usage_before_a_hang_up_is_not_the_answer_s() -> None:
    # Anthropic's first event says one token, whatever follows.
    rows = rows_table([make_row(outcome="hung_up", completion_tokens=1, prompt_tokens=7)])
    counts = count_tokens(rows)
    totals = token_totals(rows, counts)
    assert (counts.streamed.tolist(), counts.mismatch.tolist()) == ([4], [False])
    assert (totals.prompt, totals.counted, totals.mismatch_share) == (7, 4, None)

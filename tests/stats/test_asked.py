from paceline.stats.asked import AskedLengths, asked_lengths, asked_tokens, cached_first
from paceline.stats.frame import MISSING, Frame
from tests.support.jobs import call_row, plan_row, plan_table
from tests.support.rows import make_row, rows_table


def test_answers_as_long_as_asked() -> None:
    rows = rows_table(
        [
            call_row(0, 0, completion_tokens=8),
            call_row(0, 1, completion_tokens=4),
            call_row(0, 2, completion_tokens=None),
            call_row(0, 3, completion_tokens=1, outcome="hung_up"),
            call_row(0, 4, completion_tokens=8, phase="warmup"),
        ]
    )
    plan = plan_table([plan_row(0, step, output_tokens_asked=8) for step in range(5)])
    assert asked_lengths(rows, plan) == AskedLengths(n=2, exact_share=0.5, asked=8.0, came=6.0)
    assert asked_lengths(rows, plan_table([])) is None


def test_what_was_asked_of_each_row_whatever_the_order() -> None:
    plan = plan_table([plan_row(0, 1, output_tokens_asked=5), plan_row(0, 0, output_tokens_asked=3)])
    frame = Frame(rows_table([call_row(0, 0), call_row(1, 0), call_row(0, 1)]))
    assert asked_tokens(frame, plan).tolist() == [3, MISSING, 5]


def test_only_the_first_prompt_of_a_job_tells_of_what_jobs_have_in_common() -> None:
    rows = [
        call_row(0, 0, prompt_tokens=100, cached_tokens=None),
        call_row(0, 1, prompt_tokens=200, cached_tokens=190),
        call_row(1, 0, prompt_tokens=100, cached_tokens=60),
        make_row(request_index=9000, prompt_tokens=100, cached_tokens=60),
    ]
    assert cached_first(rows_table(rows)) == 0.4
    assert cached_first(rows_table([make_row()])) is None

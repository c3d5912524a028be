from pathlib import Path

from paceline.report.html import render_html
from paceline.report.job_text import _cells
from paceline.report.job_words import few, hangup_rows, job_rows, whole_percent
from paceline.report.markdown import render_markdown
from paceline.report.model import Report
from paceline.report.terminal import render_text
from paceline.stats.quantiles import Estimate
from paceline.stats.turns import TtftGroup
from tests.report.samples import JOB_WORKLOAD, job_report, report
from tests.report.test_html import Page
from tests.support.jobs import call_row
from tests.support.rows import make_row


def test_eighty_columns(chat: Report, voice: Report) -> None:
    for made in (chat, voice):
        for line in render_text(made).splitlines():
            assert len(line) <= 80, line
            assert line == line.rstrip()


def test_the_job_comes_first_and_its_parts_as_one_bar(chat: Report) -> None:
    lines = render_text(chat).splitlines()
    table = [line for line in lines if line.startswith(("Job time", "TTFT ", "E2E"))]
    assert table[0].startswith("Job time")
    title = next(place for place, line in enumerate(lines) if line.startswith("Where a job's time goes"))
    bar, legend = lines[title + 1], lines[title + 2]
    assert len(bar) == 76
    assert chat.evidence.jobs is not None
    parts = chat.evidence.jobs.parts_ms() or {}
    # One glyph a part, in order, as long as its share says.
    for glyph, ms in zip("\u2588\u2593\u2592\u2591\u00b7", parts.values(), strict=True):
        assert abs(bar.count(glyph) - 76 * ms / sum(parts.values())) <= 2
        assert (glyph in legend) == (ms > 0)


def test_words_of_jobs(chat: Report) -> None:
    assert chat.evidence.jobs is not None
    rows = dict(job_rows(chat.evidence.jobs))
    assert rows["Jobs"] == "99 ok of 100, 1 failed; 1 call failed, 4 calls never sent"
    assert rows["A job has"] == "6 calls, 2,100 tokens in (71% cached), 48.0 tokens out"
    assert rows["Job goodput"].endswith("99.0% of attempted jobs met job_ms=3000")
    assert rows["A day"].startswith("200 jobs: ")
    text = " ".join(render_text(chat).split())
    assert "closed loop, 8 jobs at a time, 100 jobs" in text
    assert "talk, jobs of first and 5 x turn, no common beginning" in text
    assert "100% of answers as long as asked; 8 tokens asked and 8 came on average" in text
    assert "jobs/s, over the steady" in text


def test_words_of_hang_ups(voice: Report) -> None:
    ((name, text),) = hangup_rows(voice)
    assert name == "Hang-ups"
    assert text == (
        "in 540 of 600 the server stopped, after 30.0 ms at the median (30.0 to 30.0); "
        "in 60 not within 5.00 s; 400 B came after a hang-up on average"
    )
    assert "0 ok of 600, 600 hung_up" in render_text(voice)


def test_long_jobs_show_some_of_their_turns(home: Path) -> None:
    text = render_text(job_report(home, 20, 30))
    turns = text.split("TTFT by turn")[1].split("\n\n")[0].splitlines()[1:]
    assert [int(line.split()[0]) for line in turns] == [1, 5, 9, 13, 18, 22, 26, 30]


def test_few_keeps_the_ends() -> None:
    nothing = Estimate(1.0, None, None, False, 1, None)
    groups = [TtftGroup(str(place), 1, nothing, 1.0, None, None) for place in range(50)]
    assert [group.name for group in few(groups, 3)] == ["0", "24", "49"]
    assert few(groups[:3], 8) == groups[:3]


def test_cells_make_up_the_bar_and_nothing_is_lost() -> None:
    for shares in ([0.001, 0.999], [1.0], [0.2] * 5, [0.0001, 0.0001, 0.9998]):
        cells = _cells(shares)
        assert sum(cells) == 76
        assert min(cells) >= 1


def test_little_is_not_nothing() -> None:
    assert [whole_percent(share) for share in (0.0, 0.001, 0.39, 1.0)] == ["0%", "<1%", "39%", "100%"]


def test_markdown_has_the_parts_and_the_turns(chat: Report, voice: Report) -> None:
    text = render_markdown(chat)
    assert "| Job time, ms | 99 |" in text
    assert "| thinking | 1,000 | " in text
    assert "| TTFT by turn | n |" in text
    assert "- Jobs: 99 ok of 100" in text
    assert "- Hang-ups: in 540 of 600" in render_markdown(voice)


def test_which_calls_failed_can_be_read(chat: Report, voice: Report) -> None:
    lines = render_text(chat).splitlines()
    head = next(place for place, line in enumerate(lines) if line.startswith("calls "))
    assert lines[head].split() == [
        "calls",
        "sent",
        "ok",
        "failed",
        "not",
        "sent",
        "most",
        "frequent",
        "error",
    ]
    assert lines[head + 1].split() == ["first", "100", "100", "0", "0"]
    assert lines[head + 2].split() == ["turn", "496", "495", "1", "4", "http_error:", "overloaded"]
    assert "| turn | 496 | 495 | 1 | 4 | http\\_error: overloaded |" in render_markdown(chat)
    assert "most frequent error" not in render_text(voice)
    assert "http_error: overloaded" in Page(render_html(chat)).text


def test_answers_in_one_piece_have_no_first_token(home: Path) -> None:
    rows = [
        call_row(
            job, step, sent_ms=t, event_ms=(t + 90.0,), end_ms=t + 90.0, streaming=False, prompt_tokens=None
        )
        for job in range(10)
        for step, t in enumerate((400.0 * job, 400.0 * job + 100.0))
    ]
    text = render_text(report(home, rows, workload={**JOB_WORKLOAD, "streaming": False}))
    assert "answer 9" in text
    assert "first token" not in text
    assert "TTFT by" not in text
    assert "tokens in not known (not every call told its usage)" in " ".join(text.split())


def test_prompts_of_calls_that_were_hung_up_are_not_known(home: Path) -> None:
    rows = [
        call_row(job, 0, sent_ms=100.0 * job, end_ms=100.0 * job + 90, outcome="hung_up", prompt_tokens=None)
        for job in range(8)
    ]
    made = report(home, rows, workload=JOB_WORKLOAD)
    assert made.evidence.jobs is not None
    words = dict(job_rows(made.evidence.jobs))["A job has"]
    assert "tokens in not known (calls that were hung up tell no usage)" in words


def test_embeddings_are_spoken_of_by_their_prompts(home: Path) -> None:
    rows = [
        make_row(
            request_index=place,
            sent_ms=50.0 * place,
            event_ms=(50.0 * place + 49.0,),
            end_ms=50.0 * place + 49.0,
            event_kind=[8],
            completion_tokens=None,
            streaming=False,
        )
        for place in range(40)
    ]
    made = report(home, rows, protocol="openai-embeddings")
    text = " ".join(render_text(made).split())
    assert "prompt tok/s" in text
    assert "generated" not in text
    assert "answers of" not in text
    assert list(made.metrics) == ["e2e_ms"]
    assert made.to_dict()["throughput"]["prompt_tok_s"] > 0

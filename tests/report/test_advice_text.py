from dataclasses import replace

import pytest

from paceline.advisor.advise import Advice, AdviceQuery, advise
from paceline.advisor.constraints import Constraint, parse_budget, parse_capability, parse_slos
from paceline.advisor.explain import FORMULAS, origins
from paceline.report.advice_html import advice_view, render_advice_html
from paceline.report.advice_text import advice_markdown, advice_text
from paceline.report.advice_words import constraint_words
from tests.advisor.planted import WORKS, Market, board_of
from tests.report.board_samples import TRUTHS, board, empty_board

ASKED: tuple[Constraint, ...] = (
    *parse_slos("ttft_ms=700,tpot_ms=20", 0.9),
    parse_capability(">= 0.6"),
    parse_budget("0.01/job"),
)


def of(worth: float | None = None) -> Advice:
    return advise(board(), AdviceQuery(ASKED, worth, replicates=200))


@pytest.mark.parametrize("worth", [None, 20.0])
def test_it_fits_80_columns_with_its_origins(worth: float | None) -> None:
    advice = of(worth)
    text = advice_text(advice, origins=origins(advice), formulas=FORMULAS)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert not any(line != line.rstrip() for line in text.splitlines())
    assert text.startswith("Not enough data to name the best. Until there is more, ")


def test_the_answer_comes_first_and_then_why() -> None:
    work = WORKS[0]
    advice = advise(Market(work, 3, 1000).board(1000), work.query)
    text = " ".join(advice_text(advice).split())
    assert text.startswith("Take swift-8b @ north: it meets what is asked, at the lowest bill, 0.0000")
    assert "TTFT <= 1,000 ms in 95% of requests rules out swift-8b @ south (" in text
    assert "Without TTFT <= 1,000 ms in 95% of requests the answer would be swift-8b @ south" in text
    assert "Next would be middle-70b @ north" in text
    assert "A name is wrong in at most 5%" in text


def test_every_offer_has_a_line_and_none_is_left_out() -> None:
    advice = of()
    text, markdown = advice_text(advice), advice_markdown(advice)
    for one in advice.offers:
        assert one.key.model in text
        assert str(one.key) in markdown
    assert "kimi-k3 @ moon" in text
    assert "2 runs give no figures" in text


def test_none_meets_and_nothing_measured() -> None:
    work = WORKS[0]
    query = AdviceQuery((*parse_slos("ttft_ms=200"), parse_capability(">= 0.95")), replicates=0)
    text = " ".join(advice_text(advise(Market(work, 3, 1000).board(1000), query)).split())
    assert text.startswith("No offer meets all that is asked. - grand-400b @ north (fast) comes nearest")
    nothing = advice_text(advise(empty_board(), AdviceQuery()))
    assert nothing.startswith("Nothing was measured")
    assert "paceline measure" in nothing


def test_names_that_a_server_chose_steer_nothing() -> None:
    bad = replace(TRUTHS[0], model="m\x1b[31m<script>alert(1)</script>", provider="p|q\nr")
    advice = advise(board([bad, TRUTHS[1]]), AdviceQuery(replicates=100))
    text, page = advice_text(advice), render_advice_html(advice, origins(advice), FORMULAS)
    assert "\x1b" not in text
    assert "<script>alert" not in page
    assert "p|q" not in advice_markdown(advice).replace("p\\|q", "")


def test_limits_are_said_with_their_units_once() -> None:
    asked = [*parse_slos("ttft_ms=1000,tpot_ms=18.9,fluidity=0.99,p50:e2e_ms=4000,job_ms=9000", 0.9)]
    assert [constraint_words(one) for one in asked] == [
        "TTFT <= 1,000 ms, TPOT <= 18.9 ms and fluidity >= 0.99 in 90% of requests",
        "p50 of E2E <= 4,000 ms",
        "time of a job <= 9,000 ms in 90% of jobs",
    ]


def test_a_page_that_knows_its_command_shows_what_settles_the_answer() -> None:
    advice = of()
    view = advice_view(advice, [], [], {})
    assert view["more"]
    assert any("<code>paceline board</code>" in note for note in view["notes"])
    assert "the same command with --measure-more" in render_advice_html(advice)


def test_the_page_has_the_answer_the_table_and_charts() -> None:
    advice = of(20.0)
    page = render_advice_html(advice, origins(advice), FORMULAS)
    assert page.count("<tr>") > len(advice.offers)
    assert 'class="trust suspect"' in page
    assert "speed_bill" in page
    assert "Where each number comes from" in page
    assert "http://" not in page.split("</style>")[0]
    assert render_advice_html(advise(empty_board(), AdviceQuery())).count("Nothing was measured") >= 1


def test_a_worth_of_time_has_a_column_of_its_own() -> None:
    work = WORKS[2]
    advice = advise(Market(work, 3, 1000).board(1000), work.query)
    text = advice_text(advice)
    assert "with time" in text
    assert "the lowest bill and time at 60.00 USD an hour" in " ".join(text.split())


def test_rows_of_one_offer() -> None:
    market = Market(WORKS[0], 3, 200)
    rows = market.board(200).rows[:1]
    text = advice_text(advise(board_of(WORKS[0], rows), AdviceQuery(replicates=100)))
    assert text.startswith("Take swift-8b @ north: it has the lowest bill")

"""A tuning as one HTML file."""

import json
import re

from paceline.report.tuning_html import render_tuning_html, tuning_page
from paceline.tuning.goal import parse_goal
from paceline.tuning.leaders import leaders
from tests.report.test_tuning_text import ITL, block, found
from tests.tuning.samples import new_tuning

GOODPUT = parse_goal("max goodput @ ttft_ms<=500")
CURVE = [
    {
        "concurrency": level,
        "output_tok_s": 50.0 * level,
        "user_tok_s": {"p50": {"value": 50.0}},
        "ttft": {"p50": {"value": 8.0}},
        "itl": {"p50": {"value": 20.0}},
    }
    for level in (1, 2)
]


def test_a_dot_a_request_and_a_line_a_side() -> None:
    tuning = found(curves={"default": CURVE, "tuned": CURVE})
    page = tuning_page(tuning, ITL, leaders(tuning, ITL))
    values = page.charts["rounds"]["data"]["values"]
    assert sorted((one["round"], one["side"], one["value"]) for one in values) == [
        (number, side, value) for number in (1, 2, 3) for side, value in (("defaults", 22.0), ("tuned", 11.0))
    ]
    assert page.context["curve_rows"][0] == ["1", "defaults", "50.0", "50.0", "8.00", "20.0"]
    assert page.context["tone"] == "trusted"


def test_it_says_what_the_terminal_says() -> None:
    tuning = found(notes=["no answers <b>were</b> held"])
    html = render_tuning_html(tuning, ITL, leaders(tuning, ITL))
    assert "The gain is real" in html
    assert "Greedy answers: the same as standard in 16 of 16." in html
    assert "no answers &lt;b&gt;were&lt;/b&gt; held" in html
    assert "<b>were</b>" not in re.sub(r"<script.*?</script>", "", html, flags=re.DOTALL)


def test_what_has_no_figure_has_no_chart() -> None:
    # Answers of one token have no rate; no request of any round met the limits.
    tuning = found(
        curves={"default": [{"concurrency": 1, "output_tok_s": 9.0}], "tuned": []}, goal=GOODPUT.text
    )
    rounds = [
        one.model_copy(update={side: block(0.0) for side in ("default", "tuned")}) for one in tuning.rounds
    ]
    tuning = tuning.model_copy(update={"rounds": rounds})
    page = tuning_page(tuning, GOODPUT, leaders(tuning, GOODPUT))
    assert page.charts == {}
    assert page.context["curve_rows"] == [["1", "defaults", "9.00", "-", "-", "-"]]
    assert 'data-chart="' not in page.as_file()


def test_one_that_has_no_verdict_yet() -> None:
    tuning = new_tuning(GOODPUT.text)
    page = tuning_page(tuning, GOODPUT, leaders(tuning, GOODPUT))
    assert page.charts == {}
    assert page.context["verdict"] == "No verdict yet"
    assert json.loads(page.document)["id"] == tuning.id

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
    assert {one["pair"]: one["joined"] for one in values} == dict.fromkeys(
        ("1/0", "2/0", "3/0"), "tuned is better"
    )
    # Both charts have the same colour and shape for a side.
    named = page.charts["curve"]["layer"][-1]["data"]["values"]
    assert [(one["line"], one["name"], one["number"]) for one in named] == [
        ("0", "tuned", "tuned"),
        ("1", "defaults", "defaults"),
    ]
    fill, shape = (page.charts["rounds"]["layer"][1]["encoding"][name]["scale"] for name in ("fill", "shape"))
    assert (fill["domain"], fill["range"]) == (["defaults", "tuned"], ["var(--hue-b)", "var(--hue-a)"])
    assert shape["range"] == ["square", "circle"]
    assert sorted((one["round"], one["side"], one["value"]) for one in values) == [
        (number, side, value) for number in (1, 2, 3) for side, value in (("defaults", 22.0), ("tuned", 11.0))
    ]
    assert page.context["curve_rows"][0] == ["1 stream, defaults", "50.0", "50.0", "8.00", "20.0"]
    assert page.context["tone"] == "trusted"


def test_a_caption_counts_the_pairs_in_which_tuned_is_better() -> None:
    worse, alone = found().rounds[1].model_copy(), found().rounds[2].model_copy()
    tuning = found()
    tuning.rounds[1] = worse.model_copy(update={"tuned": block(23.0)})
    tuning.rounds[2] = alone.model_copy(update={"default": block(failure="gone")})
    page = tuning_page(tuning, ITL, leaders(tuning, ITL))
    said = page.context["rounds_sentence"]
    assert "one prompt, defaults on the left and tuned on the right: down is better" in said
    assert "Tuned is better in 1 of 2. 1 without the other side's figure stands alone." in said
    assert [one["joined"] for one in page.charts["rounds"]["data"]["values"]] == [
        *["tuned is better"] * 2,
        *["tuned is no better"] * 2,
        "",
    ]


def test_settings_did_not_win_where_no_gain_was_shown() -> None:
    tuning = found().model_copy(update={"result": {"real": False, "sentence": "no gain shown; 3 rounds"}})
    page = tuning_page(tuning, ITL, leaders(tuning, ITL))
    assert "settings that won" not in page.as_file()
    assert (page.context["verdict"], page.context["below"][0]) == ("No gain shown", "3 rounds.")


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
    assert page.context["curve_rows"] == [["1 stream, defaults", "9.00", "-", "-", "-"]]
    assert 'data-chart="' not in page.as_file()


def test_one_that_has_no_verdict_yet() -> None:
    tuning = new_tuning(GOODPUT.text)
    page = tuning_page(tuning, GOODPUT, leaders(tuning, GOODPUT))
    assert page.charts == {}
    assert page.context["verdict"] == "No verdict yet"
    assert json.loads(page.document)["id"] == tuning.id

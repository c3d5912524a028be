from paceline.engines.engine import Settings
from paceline.engines.space import Choice
from paceline.tuning.coding import Coding

CHOICES = (
    Choice("spec", (None, "simple", "mod"), ""),
    Choice("n-match", (8, 16), "", ("spec", ("mod",))),
    Choice("n-more", (1, True), "", ("n-match", (16,))),
    Choice("flag", (None, True), ""),
)


def test_settings_go_there_and_back() -> None:
    asked: list[Settings] = [{"spec": "mod", "n-match": 16, "n-more": 1, "ctx": 4096}, {"flag": True}, {}]
    coding = Coding(CHOICES, asked)
    assert [coding.settings(row) for row in coding.rows(asked)] == asked


def test_what_means_nothing_is_left_out() -> None:
    coding = Coding(CHOICES, [{"n-match": 16}])
    rows = coding.rows([{"spec": "simple", "n-match": 16, "n-more": 1}, {"spec": "simple"}])
    assert (rows[0] == rows[1]).all()


def test_true_is_not_one_and_left_out_is_left_out() -> None:
    coding = Coding(CHOICES, [])
    base: Settings = {"spec": "mod", "n-match": 16}
    one, true = coding.rows([{**base, "n-more": 1}, {**base, "n-more": True}])
    assert (one != true).any()
    rows = coding.rows([{}, {"flag": False}, {"flag": None}])
    assert (rows == rows[0]).all()


def test_a_condition_on_an_option_that_is_no_choice() -> None:
    choices = (Choice("draft-max", (8, 16), "", ("model-draft", ("small.gguf",))),)
    with_it: Settings = {"model-draft": "small.gguf", "draft-max": 8}
    without: Settings = {"draft-max": 8}
    coding = Coding(choices, [with_it, without])
    assert coding.settings(coding.rows([with_it])[0]) == with_it
    assert coding.settings(coding.rows([without])[0]) == {}

import pytest

from paceline.workloads.capability.answer import final_answer, tidied
from paceline.workloads.capability.families import Form


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: 5", "5"),
        ("So it is 5.\n\n**Answer:** 5", "5"),
        ("Answer: 4\nNo, wait.\nFinal answer: 5", "5"),
        ("Answer: 4\nAnswer: 5", "5"),
        ("Answer:\n5", "5"),
        ("Answer:\n\n5\n", "5"),
        ("> answer = 5", "5"),
        ("The final answer is: 5", "5"),
        ("Thus the answer is 5.", "5."),
        (r"Therefore $\boxed{5}$.", "5"),
        (r"\boxed{4} then Answer: 5", "4"),
        ("<answer>5</answer>", "5"),
        ("<answer>4</answer> hm <ANSWER>\n5\n</ANSWER> done", "5"),
        ("### Answer: days, lieu", "days, lieu"),
        ("<think>Answer: 4</think>Answer: 5", "5"),
        ("Answer: 4</think>Answer: 5", "5"),
        ("Answer: 5<think>or 4? Answer: 4</think>", "5"),
        ("<think>Answer: 4", None),
        ("Answer: 4 </think> I do not know", None),
        ("The total is 5", None),
        ("", None),
        ("Answer:", None),
        ("Answer: **", None),
    ],
)
def test_the_last_marked_answer_counts_and_nothing_of_what_was_thought(text: str, answer: str | None) -> None:
    assert final_answer(text) == answer


@pytest.mark.parametrize(
    ("answer", "form", "clean"),
    [
        ("5", "integer", "5"),
        ("**5**.", "integer", "5"),
        ("$5$", "integer", "5"),
        ("x = 5", "integer", "5"),
        ("5 legs", "integer", "5"),
        ("1,234,567", "integer", "1234567"),
        ("\u22125", "integer", "-5"),
        ("+5", "integer", "5"),
        ("5.0", "integer", "5"),
        ("007", "integer", "7"),
        ("5.5", "integer", "5.5"),
        ("5 or 6", "integer", "5 or 6"),
        ("5 = 2 + 3", "integer", "5"),
        ("2 + 3 = 5", "integer", "5"),
        ("2 + 3 = 5 = 6 - 1", "integer", "2 + 3 = 5 = 6 - 1"),
        (r"\(5\)", "integer", "5"),
        ("9" * 2_000, "integer", "9" * 2_000),
        ("alice (house 1)", "word", "alice"),
        ("Ann: devil;\nBob: angel", "sentence", "Ann devil Bob angel"),
        ("about five", "integer", "about five"),
        (r"\boxed{5}", "integer", "5"),
        ("'Retnil'.", "word", "retnil"),
        ("0x1f", "word", "1f"),
        ("1f (base-16)", "word", "1f"),
        (r"1f_{16}", "word", "1f"),
        ("wednesday", "phrase", "Wednesday"),
        ("Yes, it is", "phrase", "Yes"),
        ("13 days", "phrase", "13"),
        ("[a, 'b', c]", "list", "a, b, c"),
        ("_cordons, yet", "list", "_cordons, yet"),
        ("Ann is a devil, and Bob is an angel.", "sentence", "Ann is a devil, and Bob is an angel."),
    ],
)
def test_what_is_not_of_the_answer_is_taken_off(answer: str, form: Form, clean: str) -> None:
    assert tidied(answer, form) == clean


def test_a_text_that_is_made_to_be_slow_is_not() -> None:
    texts = (
        "<answer>" * 200_000,
        r"\boxed{" * 200_000,
        "<think>" * 200_000,
        "\n" * 1_000_000,
        "answer " * 200_000,
        "*" * 1_000_000,
        "Answer: " + "9" * 1_000_000,
        "\\boxed{{}" * 100_000,
    )
    # Work that grows as the square of their length would take hours, which the suite's time limit ends.
    for text in texts:
        found = final_answer(text)
        assert found is None or tidied(found, "integer")

import pytest

from paceline.stats.answer_text import answer_text
from paceline.stats.frame import CONTENT, TOOL_CALL


@pytest.mark.parametrize(
    ("text", "kinds", "sizes", "answer"),
    [
        ("", [], [], ""),
        ("ab", [1, 1], [1, 1], "ab"),
        ("thinkyes", [2, 1], [5, 3], "yes"),
        ("hmé1é", [2, 1, 2, 1], [2, 2, 1, 2], "éé"),
        ("call", [4], [4], "call"),
        ("think", [2], [5], ""),
        # One event with both cannot be taken apart.
        ("thinkyes", [3], [8], "thinkyes"),
    ],
)
def test_only_what_is_no_reasoning(text: str, kinds: list[int], sizes: list[int], answer: str) -> None:
    assert answer_text(text, kinds, sizes, CONTENT | TOOL_CALL) == answer


def test_a_call_of_a_tool_is_no_answer_where_only_content_is_wanted() -> None:
    assert answer_text("call5", [4, 1], [4, 1]) == "5"

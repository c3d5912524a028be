from paceline.advisor.answer_sides import side_facts
from tests.support.twins import answer, answers


def test_what_one_side_is_like() -> None:
    given = answers(
        [
            [answer("one two", 0, reasoning_tokens=10), answer("a b c d", 1, finish_reason="length")],
            [answer("", 2, kind="empty"), answer("", 3, kind="failed", outcome="timeout")],
            ["not asked of the other"],
        ],
        name="mine",
    )
    facts = side_facts(given, list(given.by_prompt)[:2])
    assert facts.name == "mine"
    assert facts.attempted == 4
    assert facts.by_kind == {"answered": 2, "empty": 1, "refused": 0, "failed": 1}
    assert facts.by_failure == {"timeout": 1}
    assert facts.by_finish == {"stop": 1, "length": 1}
    assert facts.words == facts.completion_tokens == 3.0
    assert facts.reasoning_tokens == 10.0
    assert facts.server_models == ("twin",)
    assert side_facts(given, []).words is None

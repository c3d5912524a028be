from paceline.cli.render import request_words
from paceline.workloads.spec import WorkloadSpec


def words(**fields: object) -> str:
    return request_words(WorkloadSpec.parse(fields, "requests"))


def test_what_is_about_to_be_asked() -> None:
    assert words() == "prompts of 512 tokens, answers of up to 128"
    assert words(prompt_tokens="uniform:64:256", output_tokens=None, max_tokens=9) == (
        "prompts of uniform:64:256 tokens, answers of up to 9"
    )
    assert words(output_tokens=None) == "prompts of 512 tokens"

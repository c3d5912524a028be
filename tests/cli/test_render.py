from paceline.cli.render import request_words
from paceline.report.words import workload_words
from paceline.workloads.spec import WorkloadSpec


def test_what_is_about_to_be_asked_is_in_the_words_of_the_report() -> None:
    spec = WorkloadSpec.parse({"prompt_tokens": "512", "output_tokens": "16"}, "requests")
    assert request_words(spec) == workload_words(spec.to_dict())
    assert request_words(spec).startswith("prompts of about 512 tokens, answers of 16 tokens")
    counted = WorkloadSpec.parse({"prompt_tokens": "512", "tokenizer": "words"}, "requests")
    assert request_words(counted).startswith("prompts of 512 tokens")

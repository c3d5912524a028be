from dataclasses import replace

import pytest

from paceline.errors import ConfigError
from paceline.measure.equivalence import blocks, equivalence_job
from paceline.measure.job import Job, Prepared
from paceline.measure.load_spec import LoadOptions, plan_load
from paceline.workloads.spec import WorkloadSpec


def job(texts: int, concurrency: int = 1, passes: int = 2) -> Job:
    return Job(
        url="http://127.0.0.1:1",
        workload=WorkloadSpec.parse({"equivalence": {"texts": texts, "passes": passes}}),
        load=plan_load(LoadOptions(concurrency=concurrency, warmup="3", keep_text=False)),
    )


def test_as_many_requests_as_there_are_prompts_twice_and_all_texts_are_kept() -> None:
    made = equivalence_job(job(30))
    assert made.load.requests == made.load.total_requests == 60
    assert made.load.keep_text
    with pytest.raises(ConfigError, match="no prompt twice"):
        equivalence_job(replace(job(3), workload=WorkloadSpec()))


@pytest.mark.parametrize(
    ("texts", "concurrency", "passes", "n"),
    [(60, 1, 2, 20), (60, 4, 2, 14), (60, 8, 2, 10), (3, 1, 2, 6), (60, 1, 1, 10), (1, 4, 2, 2)],
)
def test_no_block_is_of_two_passes(texts: int, concurrency: int, passes: int, n: int) -> None:
    made = equivalence_job(job(texts, concurrency, passes))
    count = blocks(Prepared(made, None, None, None, None))  # type: ignore[arg-type]
    assert count == n
    total = texts * passes
    # As `interleave` cuts a whole into parts.
    ends = {total * (part + 1) // count for part in range(count)}
    assert {texts * (number + 1) for number in range(passes)} <= ends

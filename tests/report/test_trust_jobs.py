from dataclasses import replace
from pathlib import Path

from paceline.report.trust import assess
from paceline.report.trust_facts import TrustFacts
from tests.report.samples import JOB_LOAD, job_report

GOOD = TrustFacts(
    attempted=600,
    by_outcome={"ok": 500, "hung_up": 100},
    unit="jobs",
    begun=100,
    jobs=100,
    calibrated=True,
    kernel_stamped_share=1.0,
)


def texts(facts: TrustFacts) -> list[str]:
    return [str(reason) for reason in assess(facts).reasons]


def test_hang_ups_are_no_failures() -> None:
    assert assess(GOOD).verdict == "trusted"
    assert texts(GOOD) == []
    all_left = replace(GOOD, by_outcome={"hung_up": 600})
    assert assess(all_left).verdict == "trusted"


def test_failed_jobs() -> None:
    facts = replace(GOOD, failed_jobs=8)
    assert assess(facts).verdict == "suspect"
    assert texts(facts) == [
        "8% of jobs had a call that failed, more than 5%: a job's time is that of the others",
    ]


def test_too_few_jobs() -> None:
    (text,) = texts(replace(GOOD, jobs=5))
    assert text == "only 5 jobs ended well, and the median of a job's time needs 6: run longer"


def test_lengths_and_cache_other_than_asked() -> None:
    facts = replace(GOOD, lengths=(128.0, 64.0), length_off_share=0.5, cache=(0.5, 0.1), cache_off=0.4)
    assert assess(facts).verdict == "suspect"
    assert texts(facts) == [
        "50% of answers were not as long as asked (limit 5%): 128 tokens were asked and 64 came on average; "
        "the server ends answers by itself",
        "50% of first prompts was to come from the cache and 10% did, more than 10% apart: warm up longer, "
        "or the server keeps no prefix cache",
    ]


def test_the_words_are_of_jobs() -> None:
    dropped = replace(GOOD, open_loop=True, due=100, dropped=3)
    assert texts(dropped)[0].startswith("3 jobs (3%) were due and never sent")
    behind = replace(GOOD, open_loop=True, offered_requests_s=2.0, achieved_requests_s=1.5)
    assert texts(behind)[0].startswith("1.50 of the offered 2.00 jobs/s were sent")


def test_an_interrupted_run_counts_its_jobs(home: Path) -> None:
    made = job_report(home, 30, 3, state="interrupted", load={**JOB_LOAD, "requests": 50})
    assert str(made.trust.reasons[0]).startswith("the run was interrupted: these are 30 of 50 jobs;")

"""Reasons to doubt a run of jobs, or one that was asked for exact lengths and shares."""

from collections.abc import Iterator

from paceline.report.limits import FEWEST_FOR_MEDIAN
from paceline.report.reasons import Reason, over
from paceline.report.trust_facts import TrustFacts
from paceline.units import format_percentage


def jobs_ended(facts: TrustFacts) -> Iterator[Reason]:
    """Whether enough jobs ended well for a job's time to be that of jobs."""
    if not facts.jobs:
        return
    ended_well = facts.jobs - facts.failed_jobs
    if ended_well < FEWEST_FOR_MEDIAN:
        yield Reason(
            "too_few_jobs",
            "suspect",
            f"only {ended_well} jobs ended well, and the median of a job's time needs {FEWEST_FOR_MEDIAN}: "
            "run longer",
        )
    yield from over(
        "failed_jobs_share",
        facts.failed_jobs / facts.jobs,
        lambda value, limit: (
            f"{value} of jobs had a call that failed, more than {limit}: a job's time is that of the others"
        ),
    )


def as_asked(facts: TrustFacts) -> Iterator[Reason]:
    """Whether answers were as long, and prompts as much cached, as the workload asks."""
    if facts.lengths is not None:
        asked, came = facts.lengths
        yield from over(
            "length_off_share",
            facts.length_off_share,
            lambda value, limit: (
                f"{value} of answers were not as long as asked (limit {limit}): {asked:.4g} tokens were "
                f"asked and {came:.4g} came on average; the server ends answers by itself"
            ),
        )
    if facts.cache is not None:
        wanted, seen = facts.cache
        yield from over(
            "cache_off",
            facts.cache_off,
            lambda _, limit: (
                f"{format_percentage(wanted)} of first prompts was to come from the cache and "
                f"{format_percentage(seen)} did, more than {limit} apart: warm up longer, or the server "
                "keeps no prefix cache"
            ),
        )

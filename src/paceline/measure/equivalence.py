"""Two endpoints asked the same prompts, each prompt more than once, in random short blocks."""

from dataclasses import replace
from pathlib import Path

from paceline.errors import ConfigError
from paceline.measure.driver import RunResult, Watcher
from paceline.measure.interleave import FEWEST_PAIRS, interleave
from paceline.measure.job import Job, Prepared
from paceline.workloads.equivalence import EquivalenceSource
from paceline.workloads.sources import job_source

# A pass of so many blocks shows what differs from block to block; more would be mostly beginnings and ends.
MOST_BLOCKS = 10


def equivalence_job(job: Job) -> Job:
    """The job with the prompts of its workload's `equivalence`, as many requests as these make.

    Raises ConfigError for a workload that asks nothing twice, or that keeps no texts.
    """
    jobs = job.jobs if job.jobs is not None else job_source(job.workload)
    if not isinstance(jobs, EquivalenceSource):
        raise ConfigError("this workload asks no prompt twice", "give it [equivalence]")
    load = job.load.model_copy(update={"requests": jobs.n_jobs, "warmup_requests": 0, "keep_text": True})
    return replace(job, jobs=jobs, load=load)


def measure_equivalence(
    a: Prepared, b: Prepared, *, watch: Watcher = lambda _: None, home: Path | None = None
) -> tuple[RunResult, RunResult]:
    """Measure both and return both runs; the first pass of both ends before the second begins.

    Interrupts and errors are as in `driver.measure`.
    """
    return interleave(a, b, pairs=blocks(a), watch=watch, home=home)


def blocks(prepared: Prepared) -> int:
    """Pairs of blocks: equally many in each pass, so that no block is of two."""
    jobs = prepared.job.jobs
    assert isinstance(jobs, EquivalenceSource)
    streams = prepared.job.load.streams or 4
    in_a_pass = min(MOST_BLOCKS, max(jobs.n_prompts // (2 * streams), FEWEST_PAIRS))
    return min(in_a_pass, jobs.n_prompts) * jobs.n_passes

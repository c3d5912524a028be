"""The requests that would settle what an advice leaves open: a batch an offer, planned before it is sent."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import typer

from paceline.cli.output import talk
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.advise import Advice
    from paceline.advisor.missing import Batch
    from paceline.cli.commands.advise import MoreFlags
    from paceline.measure.job import Credentials, Job, Prepared
    from paceline.store.runs import StoredRun


def measure_more(advice: "Advice", flags: "MoreFlags") -> bool:
    """Plan, ask, and send. Whether anything was measured.

    How many are sent is fixed before the first, and they are judged once, when all are there: nothing is
    looked at in between. Raises ConfigError where nobody can be asked, EndpointError where an endpoint does
    not answer.
    """
    from paceline.advisor.missing import missing_batches

    batches = [one for one in missing_batches(advice, flags.max_requests) if one.kind == "jobs"]
    probes = [one for one in missing_batches(advice, flags.max_requests) if one.kind == "items"]
    jobs = [_more_jobs(one, flags) for one in batches]
    for one in probes:
        job = _more_items(advice, one, flags)
        if job is None:
            talk(f"{one.key}: its score is imported: {one.count:,} more items are asked elsewhere")
        else:
            batches, jobs = [*batches, one], [*jobs, job]
    if not batches:
        talk("there is nothing that more requests would settle")
        return False
    for one in batches:
        talk(plan_words(one))
    _agree(flags)
    from paceline.measure.job import prepare

    prepared = [prepare(job) for job in jobs]
    if len(prepared) == 2 and _alike(prepared[0], prepared[1]):
        from paceline.cli.comparing import measure_both

        return not measure_both(prepared[0], prepared[1]).interrupted
    return all(_measured(one) for one in prepared)


def plan_words(batch: "Batch") -> str:
    """One line of the plan."""
    unit = "items of the probe" if batch.kind == "items" else "jobs" if batch.calls > 1.0 else "requests"
    requests = f", about {batch.count * batch.calls:,.0f} requests" if batch.calls > 1.0 else ""
    if batch.wanted is None:
        rest = "; it is too close to call, and these may not settle it"
    elif batch.wanted > batch.count:
        rest = f" of {batch.wanted:,} that it takes (--max-requests)"
    else:
        rest = ""
    return f"{batch.key}: {batch.count:,} more {unit}{requests}{rest}"


def _agree(flags: "MoreFlags") -> None:
    """Raises ConfigError where nobody is there to agree, typer.Abort where they do not."""
    if flags.yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            "--measure-more sends requests that cost money, and nobody is there to agree", "add --yes"
        )
    typer.confirm("send them?", abort=True, err=True)


def _credentials(flags: "MoreFlags") -> "Credentials":
    from paceline.measure.job import Credentials

    return Credentials(
        headers=tuple(flags.header or ()), api_key_env=flags.api_key_env, ca_file=flags.ca_file
    )


def _more_jobs(batch: "Batch", flags: "MoreFlags") -> "Job":
    """The same endpoint, load and workload, other jobs."""
    from paceline.measure.job import job_of
    from paceline.store.runs import open_run

    run = open_run(batch.like)
    _check_repeatable(run)
    job = job_of(run, _credentials(flags))
    workload = job.workload.model_copy(update={"seed": _fresh_seed(job.workload.seed)}).fresh()
    load = job.load.model_copy(
        update={"requests": batch.count, "duration_ns": None, "seed": _fresh_seed(job.load.seed)}
    )
    return replace(job, workload=workload, load=load, name=None)


def _more_items(advice: "Advice", batch: "Batch", flags: "MoreFlags") -> "Job | None":
    """Fresh problems of the offer's latest probe; None where it was not probed here."""
    from paceline.advisor.digests import all_digests
    from paceline.advisor.identity import offer_of
    from paceline.measure.job import job_of
    from paceline.store.runs import open_run
    from paceline.workloads.sources import job_source

    known = advice.board.query.known
    probed = [
        one
        for one in all_digests().digests
        if one.capability is not None and offer_of(one, known) == batch.key
    ]
    if not probed:
        return None
    job = job_of(open_run(probed[-1].run_id), _credentials(flags))
    probe = job.workload.probe
    assert probe is not None
    fresh = probe.model_copy(update={"items": batch.count, "seed": None})
    workload = job.workload.model_copy(update={"probe": fresh})
    load = job.load.model_copy(update={"requests": batch.count, "duration_ns": None})
    return replace(job, workload=workload, load=load, name=None, jobs=job_source(workload))


def _check_repeatable(run: "StoredRun") -> None:
    kind = (run.manifest.load.get("arrival") or {}).get("kind")
    if kind in ("live", "replay", "ramp") or run.manifest.imported is not None:
        raise ConfigError(
            f"run {run.id} cannot be repeated: {'it was measured by another tool' if kind is None else kind}",
            "measure the offers with a workload of your own: paceline measure URL --workload W",
        )


def _fresh_seed(seed: int) -> int:
    """Other jobs than before; each batch has its own, and the run keeps it."""
    import secrets

    return (seed + 1 + secrets.randbits(31)) % (1 << 63)


def _alike(a: "Prepared", b: "Prepared") -> bool:
    """Two that can be measured in turn, block by block: the same load, and jobs of one workload."""
    from paceline.measure.interleave import FEWEST_PAIRS

    loads = [one.job.load.model_copy(update={"seed": 0}) for one in (a, b)]
    return loads[0] == loads[1] and (a.total_jobs or 0) >= 2 * FEWEST_PAIRS


def _measured(prepared: "Prepared") -> bool:
    """Measure one offer's batch; whether all of it was."""
    from paceline.cli.live import make_view
    from paceline.cli.render import say_head
    from paceline.cli.scoring import scores_after
    from paceline.measure import driver
    from paceline.store.runs import open_run

    say_head(prepared)
    with make_view(f"{prepared.target.display} {prepared.target.model}") as view:
        result = driver.measure(prepared, watch=view.update)
    if result.store_error is not None:
        talk(f"error: the run ended early: {result.store_error.message}")
    scores_after(open_run(result.run_id))
    return result.state == "complete"

"""What a stored run asked, made again from its workload: runs keep hashes of prompts, not prompts."""

import hashlib

from paceline.errors import PacelineError
from paceline.store.runs import StoredRun
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.sources import job_source
from paceline.workloads.spec import WorkloadSpec


def prompts_of(run: StoredRun, wanted: dict[int, str]) -> dict[int, str]:
    """The texts of a run's single requests, by request index.

    `wanted`: the hash of each, by request index. What cannot be made again, because a file or a library is
    not here or has changed, is left out; of plain requests nothing is made again.
    """
    try:
        spec = WorkloadSpec.parse(run.manifest.workload, f"the workload of run {run.id}")
        source = job_source(spec)
        jobs = {} if source is None else {one: source.job(one // MAX_CALLS) for one in wanted}
    except PacelineError:
        return {}
    found = {}
    for index, job in jobs.items():
        if job is None or index % MAX_CALLS:
            continue
        turns = [piece for turn in job.calls[0].turns for piece in turn.text if isinstance(piece, str)]
        if hashlib.sha256("".join(turns).encode()).hexdigest() == wanted[index]:
            found[index] = "\n\n".join(turns)
    return found

"""From the options of a command that measures to the job that they ask for."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from paceline.cli.options import EndpointFlags, LoadFlags
    from paceline.cli.request_options import RequestFlags
    from paceline.cli.server_options import ServerFlags
    from paceline.measure.job import Job


def asked_job(
    url: str,
    *,
    model: str | None,
    load: "LoadFlags",
    requests: "RequestFlags",
    endpoint: "EndpointFlags",
    server: "ServerFlags",
    slo: str | None,
    name: str | None = None,
) -> "Job":
    """The job of one endpoint, over the user's own settings. Reads the workload's files. Raises ConfigError.

    SLOs are those of the option, else the workload's, else the user's own.
    """
    from paceline.cli.defaults import settings
    from paceline.cli.options import parse_slo
    from paceline.measure.job import Job
    from paceline.store.manifest import check_name
    from paceline.workloads.sources import has_several_calls, job_source, n_jobs, timed

    own = settings().measure
    workload = requests.workload(load.seed, own)
    jobs = job_source(workload)
    plan = load.plan(own, has_jobs=has_several_calls(jobs), replay=requests.instants and timed(jobs))
    plan = plan.held_to(n_jobs(jobs))
    return Job(
        url=url,
        workload=workload,
        load=plan,
        model=model,
        protocol=endpoint.wire_protocol(),
        credentials=endpoint.credentials(own),
        slo=parse_slo(slo, own) if slo is not None or not workload.slo else dict(workload.slo),
        name=None if name is None else check_name(name),
        checked=endpoint.check,
        jobs=jobs,
        offer=endpoint.offer(),
        server=server.watch(own, hangs_up=any(call.hang_up_ms is not None for call in workload.call)),
    )

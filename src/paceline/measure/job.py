"""What is to be measured, and everything that is found out about it before the clock starts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline import __version__
from paceline.config import validate
from paceline.endpoints.preflight import Facts, check
from paceline.endpoints.target import Target
from paceline.errors import ConfigError
from paceline.measure.border import LoadFactory, core_load_run
from paceline.measure.calibrate import current_error
from paceline.measure.feeder import FIRST_JOBS
from paceline.measure.host import describe_host
from paceline.measure.load_spec import LoadPlan, LoadTarget
from paceline.measure.sources import IndexedSource
from paceline.protocols import Dialect, Protocol
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun
from paceline.workloads.requests import RequestSource
from paceline.workloads.spec import WorkloadSpec


@dataclass(frozen=True)
class Credentials:
    """How secrets are to be had: never the secrets themselves, except in `headers`, which are not stored."""

    headers: tuple[str, ...] = ()
    api_key_env: str | None = None
    ca_file: Path | None = None


@dataclass(frozen=True)
class Job:
    """One run as it was asked for. `slo`: metric -> limit. `checked`: ask the endpoint before load begins."""

    url: str
    workload: WorkloadSpec
    load: LoadPlan
    model: str | None = None
    protocol: Protocol | None = None
    credentials: Credentials = field(default_factory=Credentials)
    slo: dict[str, float] | None = None
    name: str | None = None
    checked: bool = True


@dataclass(frozen=True)
class Prepared:
    """A job whose endpoint was found to answer; nothing is left that could fail but the run."""

    job: Job
    target: Target
    load_target: LoadTarget
    requests: RequestSource
    dialect: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    load: LoadFactory = core_load_run

    def source(self, done: npt.NDArray[np.uint64] | None = None, elapsed_ns: int = 0) -> IndexedSource:
        """The jobs, without those that are done; a trace goes on where it was after `elapsed_ns`."""
        return IndexedSource(self.requests, done, elapsed_ns=elapsed_ns)

    @property
    def first_jobs(self) -> int:
        """Jobs to make before the clock starts: all that the run can need, where making one is slow."""
        plan = self.job.load
        if not self.requests.encodes_each:
            return FIRST_JOBS
        if plan.total_requests is not None:
            return plan.total_requests
        expected = (plan.peak_requests_s or 0.0) * (plan.total_ns or 0) / 1e9
        return max(FIRST_JOBS, int(1.1 * expected))

    def manifest(self) -> RunManifest:
        """The stored run's beginning."""
        job = self.job
        connection = {
            "api_key_env": job.credentials.api_key_env,
            "header_names": [name for name, _ in self.target.headers],
            "ca_file": None if job.credentials.ca_file is None else str(job.credentials.ca_file.absolute()),
            "dialect": self.dialect,
        }
        return RunManifest(
            version=__version__,
            name=job.name,
            endpoint=self.target.display,
            model=self.target.model or "",
            protocol=self.target.protocol,
            streaming=job.workload.streaming,
            workload=job.workload.to_dict(),
            load={**job.load.model_dump(mode="json"), "connection": connection},
            slo=dict(job.slo) if job.slo else None,
            host=describe_host(),
            calibration=current_error(job.load.streams),
            notes=list(self.notes),
        )


def prepare(job: Job, *, load: LoadFactory = core_load_run) -> Prepared:
    """Resolve the endpoint, ask it for one token, and set up its requests.

    Raises EndpointError or ConfigError for whatever would make the run fail, before anything is stored.
    """
    target = Target.parse(
        job.url,
        model=job.model,
        protocol=job.protocol,
        headers=job.credentials.headers,
        api_key_env=job.credentials.api_key_env,
        ca_file=job.credentials.ca_file,
    )
    workload = job.workload
    if job.checked:
        facts = check(
            target,
            streaming=workload.streaming,
            stream_usage=workload.stream_usage,
            extra=workload.extra,
            system=workload.system,
            timeout_s=job.load.timeout_ns / 1e9,
        )
    elif target.model is None:
        raise ConfigError("without the check of the endpoint its model is not known", "give it with --model")
    else:
        facts = Facts(model=target.model)
    target = target.with_model(facts.model)
    dialect: dict[str, Any] = {
        "stream_options": facts.stream_options,
        "max_tokens_field": facts.max_tokens_field,
    }
    return Prepared(
        job=job,
        target=target,
        load_target=LoadTarget.model_validate(target.load_target(target.resolve(), workload.streaming)),
        requests=RequestSource(
            workload,
            facts.model,
            target.protocol,
            Dialect(stream_options=facts.stream_options, max_tokens_field=facts.max_tokens_field),
        ),
        dialect=dialect,
        notes=facts.notes,
        load=load,
    )


def job_of(run: StoredRun, credentials: Credentials) -> Job:
    """The job of a stored run, to be resumed; what was not stored of the credentials comes anew.

    Raises ConfigError when a header that the run was made with is not given again.
    """
    stored = dict(run.manifest.load)
    connection = stored.pop("connection", {})
    stored.pop("interleaved", None)
    given = {header.partition(":")[0].strip().lower() for header in credentials.headers}
    missing = [name for name in connection.get("header_names", []) if name.lower() not in given]
    if missing:
        raise ConfigError(
            f"run {run.id} was made with the headers {', '.join(missing)}, whose values are not stored",
            "give them again: --header 'Name: value'",
        )
    ca_file = credentials.ca_file or connection.get("ca_file")
    return Job(
        url=run.manifest.endpoint,
        workload=WorkloadSpec.parse(run.manifest.workload, f"the workload of run {run.id}"),
        load=validate(LoadPlan, stored, f"the load of run {run.id}"),
        model=run.manifest.model,
        protocol=run.manifest.protocol,  # type: ignore[arg-type]
        credentials=Credentials(
            headers=credentials.headers,
            api_key_env=credentials.api_key_env or connection.get("api_key_env"),
            ca_file=None if ca_file is None else Path(ca_file),
        ),
        slo=run.manifest.slo,
        name=run.manifest.name,
    )

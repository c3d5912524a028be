"""What is to be measured, and everything that is found out about it before the clock starts."""

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from paceline import __version__
from paceline.config import validate
from paceline.endpoints.preflight import Facts, check
from paceline.endpoints.target import Target
from paceline.errors import ConfigError
from paceline.measure.border import LoadFactory, core_load_run, core_observe
from paceline.measure.calibrate import current_error
from paceline.measure.feeder import FIRST_JOBS
from paceline.measure.host import describe_host
from paceline.measure.load_spec import LoadPlan, LoadTarget, Replay
from paceline.measure.probing import known_dialect, known_protocol
from paceline.measure.scrape import MetricsSource, ServerWatch, find_metrics
from paceline.measure.sources import IndexedSource
from paceline.protocols import PROTOCOLS, Dialect, Protocol, parse_protocol
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun
from paceline.workloads.jobs import AnswerOf, JobBatches, JobSource
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.requests import RequestSource
from paceline.workloads.sources import encodes_each, job_source, n_jobs, pinned, read_report, starts_ns
from paceline.workloads.spec import WorkloadSpec

# Lengths of jobs are drawn: of so many one has more than a single call where any has.
_LOOKED_AT = 16


@dataclass(frozen=True)
class Credentials:
    """How secrets are to be had: never the secrets themselves, except in `headers`, which are not stored."""

    headers: tuple[str, ...] = ()
    api_key_env: str | None = None
    ca_file: Path | None = None


@dataclass(frozen=True)
class Job:
    """One run as it was asked for.

    slo: metric -> limit. checked: ask the endpoint before load begins. jobs: the workload's jobs, where they
    have been read; None: they are read when they are needed. offer: whose offer the endpoint is: `provider`,
    `tier`; None: not said.
    """

    url: str
    workload: WorkloadSpec
    load: LoadPlan
    model: str | None = None
    protocol: Protocol | None = None
    credentials: Credentials = field(default_factory=Credentials)
    slo: dict[str, float] | None = None
    name: str | None = None
    checked: bool = True
    jobs: JobSource | None = None
    server: ServerWatch = field(default_factory=ServerWatch)
    offer: dict[str, str | None] | None = None


@dataclass(frozen=True)
class Prepared:
    """A job whose endpoint was found to answer; nothing is left that could fail but the run."""

    job: Job
    target: Target
    load_target: LoadTarget
    requests: RequestSource | JobBatches
    dialect: Dialect
    notes: tuple[str, ...] = ()
    load: LoadFactory = core_load_run
    server: MetricsSource | None = None

    def source(self, done: npt.NDArray[np.uint64] | None = None, elapsed_ns: int = 0) -> IndexedSource:
        """The jobs, without those that are done; a trace goes on where it was after `elapsed_ns`."""
        return IndexedSource(self.requests, done, elapsed_ns=elapsed_ns)

    def starts_ns(
        self, done: npt.NDArray[np.uint64] | None = None, elapsed_ns: int = 0
    ) -> npt.NDArray[np.int64] | None:
        """When each job of `source` is to start, int64[jobs], ascending; None unless a trace is replayed."""
        starts = starts_ns(self.job.jobs) if isinstance(self.job.load.arrival, Replay) else None
        if starts is None:
            return None
        left = starts if done is None else np.delete(starts, done[done < len(starts)].astype(np.int64))
        return np.maximum(left - elapsed_ns, 0)

    def jobs_of(self, requests: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        """The jobs of requests by their index, where a job is one request: uint64[n], in their order."""
        return requests // np.uint64(MAX_CALLS) if isinstance(self.requests, JobBatches) else requests

    @property
    def encodes_each(self) -> bool:
        """Each prompt has to be encoded by itself, which takes time."""
        if isinstance(self.requests, RequestSource):
            return self.requests.encodes_each
        return encodes_each(self.job.jobs)

    @property
    def total_jobs(self) -> int | None:
        """Jobs to send, warm-up included: those asked for, or all there are; None: time ends them."""
        asked, there = self.job.load.total_requests, n_jobs(self.job.jobs)
        return min((n for n in (asked, there) if n is not None), default=None)

    @property
    def first_jobs(self) -> int:
        """Jobs to make before the clock starts: all that the run can need, where making one is slow."""
        plan = self.job.load
        if not self.encodes_each:
            return FIRST_JOBS
        if self.total_jobs is not None:
            return self.total_jobs
        expected = (plan.peak_requests_s or 0.0) * (plan.total_ns or 0) / 1e9
        return max(FIRST_JOBS, int(1.1 * expected))

    def manifest(self) -> RunManifest:
        """The stored run's beginning."""
        job = self.job
        connection = {
            "api_key_env": job.credentials.api_key_env,
            "header_names": [name for name, _ in self.target.headers],
            "ca_file": None if job.credentials.ca_file is None else str(job.credentials.ca_file.absolute()),
            "dialect": asdict(self.dialect),
            "server_metrics": job.server.to_dict(),
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
            offer=job.offer,
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
    target = target.with_protocol(known_protocol(target) or target.protocol)
    jobs = job.jobs if job.jobs is not None else job_source(job.workload)
    workload = pinned(job.workload, jobs)
    facts = _facts(job, workload, target)
    target = target.with_protocol(facts.protocol).with_model(facts.model)
    if not PROTOCOLS[target.protocol].streams:
        workload = workload.model_copy(update={"streaming": False, "output_tokens": None})
    if target.protocol == "openai-embeddings" and jobs is not None and _carries_answers(jobs):
        raise ConfigError(
            "calls of this workload carry on the answers of earlier ones, and embeddings have no answers",
            "measure the chat protocol (--protocol chat), or a workload of single calls",
        )
    if target.protocol == "openai-embeddings" and workload.probe is not None:
        raise ConfigError(
            "a capability probe reads answers, and embeddings have none",
            "probe the chat protocol (--protocol chat)",
        )
    requests: RequestSource | JobBatches
    if jobs is None:
        requests = RequestSource(workload, facts.model, target.protocol, facts.dialect)
    else:
        requests = JobBatches(jobs, facts.model, target.protocol, facts.dialect, workload)
    report = read_report(jobs)
    return Prepared(
        job=replace(job, workload=workload, jobs=jobs),
        target=target,
        load_target=LoadTarget.model_validate(target.load_target(target.resolve(), workload.streaming)),
        requests=requests,
        dialect=facts.dialect,
        notes=(*facts.notes, *(report.sentences() if report is not None else ())),
        load=load,
        server=find_metrics(target, job.server),
    )


def _carries_answers(jobs: JobSource) -> bool:
    """Whether a call of the first jobs has the answer of another in it."""
    for index in range(_LOOKED_AT):
        job = jobs.job(index)
        if job is None:
            break
        pieces = [piece for call in job.calls for turn in call.turns for piece in turn.text]
        if any(isinstance(piece, AnswerOf) for piece in pieces):
            return True
    return False


def _facts(job: Job, workload: WorkloadSpec, target: Target) -> Facts:
    """What the endpoint says of itself; unasked, what is usual."""
    exact = workload.exact_output or workload.trace is not None
    if job.checked:
        return check(
            target,
            core_observe,
            streaming=workload.streaming,
            stream_usage=workload.stream_usage,
            exact_output=exact,
            extra=workload.extra,
            system=workload.system,
            temperature=workload.temperature,
            dialect=known_dialect(target, target.model),
            timeout_s=job.load.timeout_ns / 1e9,
        )
    if target.model is None:
        raise ConfigError("without the check of the endpoint its model is not known", "give it with --model")
    return Facts(model=target.model, protocol=target.protocol, exact_output="ignore_eos" if exact else None)


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
        protocol=parse_protocol(run.manifest.protocol),
        credentials=Credentials(
            headers=credentials.headers,
            api_key_env=credentials.api_key_env or connection.get("api_key_env"),
            ca_file=None if ca_file is None else Path(ca_file),
        ),
        slo=run.manifest.slo,
        name=run.manifest.name,
        offer=run.manifest.offer,
        server=ServerWatch.from_dict(connection.get("server_metrics") or {}),
    )

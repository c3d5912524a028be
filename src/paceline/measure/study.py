"""The steps of a study: each is a stored run of its own, on an endpoint that has settled."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from paceline import __version__
from paceline.config import validate
from paceline.endpoints.target import Target
from paceline.errors import ConfigError
from paceline.measure import driver
from paceline.measure.interrupts import Interrupts
from paceline.measure.job import Credentials, Job, Prepared, prepare
from paceline.measure.live_stats import Snapshot
from paceline.measure.load_spec import LoadPlan
from paceline.measure.scrape import ServerWatch
from paceline.protocols import parse_protocol
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun, open_run
from paceline.store.studies import StudyKind, StudyManifest, StudyState, StudyStep, StudyWriter
from paceline.workloads.sources import pinned
from paceline.workloads.spec import WorkloadSpec

Judge = Callable[[StoredRun, bool], dict[str, Any]]
Rule = Callable[[Snapshot], str | None]
# An endpoint is left alone in slices, so that Ctrl-C is heard.
_SLICE_S = 0.1
_OVERLOAD = "overload"


@dataclass(frozen=True)
class StepPlan:
    """One step to measure: its place in the study, the job, and the rule that may end it early."""

    number: int
    at: dict[str, Any]
    job: Job
    repeat: int = 0
    rule: Rule | None = None


@dataclass(frozen=True)
class Watch:
    """Who looks on. `step`: a step begins. `snapshot`: how it stands. `ended`: it has ended."""

    step: Callable[[StepPlan], None] = lambda _: None
    snapshot: Callable[[Snapshot], None] = lambda _: None
    ended: Callable[[StudyStep], None] = lambda _: None


@dataclass(frozen=True)
class _StepPrepared(Prepared):
    """A step, whose run says to which study it belongs."""

    study: dict[str, Any] = field(default_factory=dict)

    def manifest(self) -> RunManifest:
        return super().manifest().model_copy(update={"study": self.study})


@dataclass
class Runner:
    """Measures the steps of one study.

    `judge`: what a stored run shows, from the run and whether it was cut short. `settle_ns`: for so long the
    endpoint is left alone before each step but the first. `keep_salt`: prompts begin alike in all steps.
    """

    writer: StudyWriter
    judge: Judge
    watch: Watch
    settle_ns: int
    keep_salt: bool = False
    home: Path | None = None
    prepare: Callable[[Job], Prepared] = prepare
    interrupts: Interrupts = field(default_factory=Interrupts)
    _begun: bool = False

    @property
    def stopped(self) -> bool:
        """Whether the user has asked to end."""
        return self.interrupts.count > 0

    def step(self, plan: StepPlan) -> StudyStep | None:
        """Measure one step and store it; None when it was broken off by the user.

        Raises EndpointError where the endpoint does not answer, StoreError where nothing can be stored.
        """
        started = time.monotonic()
        if self._begun and not self._settled():
            return None
        self._begun = True
        self.watch.step(plan)
        prepared = self.prepare(self._fresh(plan))
        study = {"id": self.writer.id, "step": plan.number, "at": plan.at}
        fields = {name: getattr(prepared, name) for name in Prepared.__dataclass_fields__}
        inner, reasons = Interrupts(), list[str]()

        def watch(now: Snapshot) -> None:
            reason = plan.rule(now) if plan.rule is not None and not reasons else None
            if reason and not now.stopping:
                reasons.append(reason)
                inner.note(_OVERLOAD)
            self.watch.snapshot(now)

        result = driver.measure(
            _StepPrepared(**fields, study=study), watch=watch, home=self.home, interrupts=inner
        )
        if result.store_error is not None:
            raise result.store_error
        for _ in range(inner.count - len(reasons)):
            self.interrupts.note(inner.name or "SIGINT")
        if inner.count > len(reasons):
            return None
        done = StudyStep(
            number=plan.number,
            at=plan.at,
            repeat=plan.repeat,
            run_id=result.run_id,
            overload=reasons[0] if reasons else None,
            seconds=time.monotonic() - started,
            figures=self.judge(open_run(result.run_id, at=self.home), bool(reasons)),
        )
        self.writer.add(done)
        self.watch.ended(done)
        return done

    def _settled(self) -> bool:
        """Leave the endpoint alone for a while; False when the user has had enough meanwhile."""
        until = time.monotonic() + self.settle_ns / 1e9
        while not self.stopped and (left := until - time.monotonic()) > 0.0:
            time.sleep(min(left, _SLICE_S))
        return not self.stopped

    def _fresh(self, plan: StepPlan) -> Job:
        """The step's own arrivals and prompts, so that no step finds its own in a cache from an earlier one.

        They depend on the study and the step's number alone: a step that is done again is the same.
        """
        job = plan.job
        load = job.load.model_copy(update={"seed": (job.load.seed + plan.number) % (1 << 64)})
        name = f"{self.writer.manifest.name or self.writer.id}/{plan.number}"
        job = replace(job, load=load, name=name[-100:], slo=job.slo or None)
        workload = job.workload
        if self.keep_salt or workload.data is not None or workload.trace is not None:
            return job
        salt = (workload.prefix_salt + 1 + plan.number) % (1 << 62)
        return replace(job, workload=workload.model_copy(update={"prefix_salt": salt}), jobs=None)


def new_study(
    kind: StudyKind, job: Job, prepared: Prepared, asked: Mapping[str, Any], *, name: str | None
) -> StudyManifest:
    """The beginning of a study of a job, whose endpoint was found to answer."""
    connection = {
        "api_key_env": job.credentials.api_key_env,
        "header_names": [header.partition(":")[0].strip() for header in job.credentials.headers],
        "ca_file": None if job.credentials.ca_file is None else str(job.credentials.ca_file.absolute()),
        "server_metrics": job.server.to_dict(),
    }
    return StudyManifest(
        kind=kind,
        version=__version__,
        name=name,
        endpoint=prepared.target.display,
        model=prepared.target.model or "",
        protocol=prepared.target.protocol,
        asked={
            "workload": pinned(job.workload, job.jobs).to_dict(),
            "load": job.load.model_dump(mode="json"),
            "slo": dict(job.slo) if job.slo else None,
            "connection": connection,
            "checked": job.checked,
            "offer": job.offer,
            **asked,
        },
    )


def job_of_study(study: StudyManifest, credentials: Credentials) -> Job:
    """The job of a stored study, to go on with; what was not stored of the credentials comes anew.

    Raises ConfigError when a header that the study was made with is not given again.
    """
    asked = study.asked
    connection = asked.get("connection") or {}
    given = {header.partition(":")[0].strip().lower() for header in credentials.headers}
    missing = [name for name in connection.get("header_names", []) if name.lower() not in given]
    if missing:
        raise ConfigError(
            f"study {study.id} was made with the headers {', '.join(missing)}, whose values are not stored",
            "give them again: --header 'Name: value'",
        )
    ca_file = credentials.ca_file or connection.get("ca_file")
    return Job(
        url=Target.parse(study.endpoint).display,
        workload=WorkloadSpec.parse(asked["workload"], f"the workload of study {study.id}"),
        load=validate(LoadPlan, asked["load"], f"the load of study {study.id}"),
        model=study.model,
        protocol=parse_protocol(study.protocol),
        credentials=Credentials(
            headers=credentials.headers,
            api_key_env=credentials.api_key_env or connection.get("api_key_env"),
            ca_file=None if ca_file is None else Path(ca_file),
        ),
        slo=asked.get("slo"),
        checked=bool(asked.get("checked", True)),
        offer=asked.get("offer"),
        server=ServerWatch.from_dict(connection.get("server_metrics") or {}),
    )


def end_state(runner: Runner, *, done: bool) -> StudyState:
    """How a study ended."""
    return "complete" if done and not runner.stopped else "interrupted"

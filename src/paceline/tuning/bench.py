"""One block: start the engine with settings, put the workload's requests to it, stop it, say what was seen.

Runs are kept beside the tuning, in a home of its own: they are of settings that nobody serves, and would
stand on boards as offers.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from paceline.engines.engine import Settings
from paceline.engines.failure import EngineError
from paceline.engines.plan import LaunchPlan
from paceline.engines.planning import with_port, with_settings
from paceline.engines.run import running
from paceline.errors import StoreError, UsageError
from paceline.measure import driver
from paceline.measure.interrupts import AtOnce
from paceline.measure.job import Job, Prepared, prepare
from paceline.measure.load_spec import Closed, auto_threads
from paceline.measure.sources import IndexedSource
from paceline.report.model import Report, build_report
from paceline.report.study_figures import report_figures
from paceline.stats.frame import Frame
from paceline.store.runs import open_run
from paceline.tuning.goal import Goal
from paceline.tuning.trial import Measured
from paceline.workloads.sources import n_jobs

# A request's inter-token latency is the mean of its gaps, which is its TPOT: single gaps say little where an
# engine hands out several tokens at once.
_OF_REQUEST = {"itl_ms": "tpot_ms"}
# Of a whole load: a step's figure.
_FIGURES = {"goodput": "goodput_requests_s", "throughput": "output_tok_s"}
_WHOLE = 0


class Interrupted(KeyboardInterrupt):
    """The user has ended the tuning during a block, which counts for nothing."""


@dataclass(frozen=True)
class Bench:
    """What all blocks have in common.

    plan: the engine at its own defaults. job: the workload and how it is asked, at any URL. requests: of a
    block (where there are several levels: at each level so many times its concurrency). levels: requests in
    flight, one after another. home: where runs and logs are kept.
    """

    plan: LaunchPlan
    job: Job
    goal: Goal
    requests: int
    levels: tuple[int, ...]
    home: Path

    def block(self, settings: Settings, prompts: int, name: str) -> Measured:
        """Measure settings on set `prompts` of the workload's prompts: the same for all settings.

        Where memory cannot hold it, the engine does not come up or does not answer, or the run is invalid,
        the failure is in what is returned. Raises Interrupted, and StoreError.
        """
        began = time.monotonic()
        try:
            plan = with_port(with_settings(self.plan, settings))
            with running(plan, log=self.home / "logs" / f"{name}.log") as engine:
                ready_s = time.monotonic() - began
                return replace(self._measured(engine.endpoint, prompts, name), ready_s=ready_s)
        except StoreError:
            # Where a run cannot be kept the next one cannot either.
            raise
        except (EngineError, UsageError) as error:
            return Measured({}, failure=error.message)

    def _measured(self, endpoint: str, prompts: int, name: str) -> Measured:
        values: dict[int, float] = {}
        run_ids: list[str] = []
        curve: list[Mapping[str, Any]] = []
        for place, level in enumerate(self.levels):
            report = self._run(endpoint, place, prompts, f"{name}-c{level}")
            run_ids.append(report.manifest.id)
            failure = _failure(report, whole=not self.goal.one_stream)
            if failure is not None:
                return Measured({}, tuple(run_ids), tuple(curve), failure)
            curve.append({"concurrency": level, **report_figures(report, False)})
            if self.goal.one_stream:
                values |= per_request(report, self.goal.metric)
        if not self.goal.one_stream:
            values = {_WHOLE: max(float(point[_FIGURES[self.goal.metric]] or 0.0) for point in curve)}
        return Measured(values, tuple(run_ids), tuple(curve))

    def _run(self, endpoint: str, place: int, prompts: int, name: str) -> Report:
        """One level: a stored run."""
        level = self.levels[place]
        first, count = self.stretch(place, prompts)
        job = replace(
            self.job,
            url=endpoint,
            model=self.plan.served_name,
            name=name,
            slo=dict(self.goal.slo) or None,
            load=self.job.load.model_copy(
                update={
                    "arrival": Closed(concurrency=level),
                    "requests": count,
                    "threads": auto_threads(level),
                }
            ),
        )
        result = driver.measure(_From.at(first, prepare(job)), home=self.home, interrupts=AtOnce())
        if result.store_error is not None:
            raise result.store_error
        if result.state == "interrupted":
            raise Interrupted
        return build_report(open_run(result.run_id, at=self.home))

    def stretch(self, place: int, prompts: int) -> tuple[int, int]:
        """The first job of a set of prompts at a level (by its place), and how many it has.

        Sets and levels follow each other in the workload, so that no prompt is found in a cache of an earlier
        level; a workload that has an end begins again, set by set.
        """
        counts = self._counts()
        before, whole = sum(counts[:place]), sum(counts)
        there = n_jobs(self.job.jobs)
        if there is None:
            return prompts * whole + before, counts[place]
        first = min((prompts % max(there // whole, 1)) * whole + before, there - 1)
        return first, min(counts[place], there - first)

    @property
    def sets(self) -> int | None:
        """How many sets of prompts there are that share none; None: no end to them."""
        there = n_jobs(self.job.jobs)
        return None if there is None else max(there // sum(self._counts()), 1)

    def _counts(self) -> list[int]:
        """Jobs of a set a level; of a workload that has an end no more than there are."""
        streams = self.levels if len(self.levels) > 1 else (1,)
        there = n_jobs(self.job.jobs)
        most = self.requests if there is None else max(there // sum(streams), 1)
        return [min(self.requests, most) * level for level in streams]


@dataclass(frozen=True)
class _From(Prepared):
    """A job that begins at a later one of its workload's jobs."""

    first: int = 0

    @classmethod
    def at(cls, first: int, prepared: Prepared) -> "_From":
        fields = {name: getattr(prepared, name) for name in Prepared.__dataclass_fields__}
        return cls(**fields, first=first)

    def source(self, done: npt.NDArray[np.uint64] | None = None, elapsed_ns: int = 0) -> IndexedSource:
        assert done is None
        return super().source(np.arange(self.first, dtype=np.uint64), elapsed_ns)

    @property
    def total_jobs(self) -> int | None:
        return self.job.load.total_requests


def per_request(report: Report, metric: str) -> dict[int, float]:
    """A metric's value of each request that has one, by the request's place in the workload."""
    samples = report.samples(_OF_REQUEST.get(metric, metric))
    places = Frame(report.evidence.rows).ints("request_index")[samples.row]
    return dict(zip(places.tolist(), samples.values.tolist(), strict=True))


def _failure(report: Report, *, whole: bool) -> str | None:
    """Why a block says nothing of its settings; None: it does. A whole load may have failed requests."""
    if report.trust.verdict == "invalid":
        reasons = [str(reason) for reason in report.trust.reasons if reason.severity == "invalid"]
        return f"the run is invalid: {'; '.join(reasons[:2])}"
    if not whole and report.well < report.attempted:
        failed = ", ".join(
            f"{name} {n}"
            for name, n in report.evidence.by_outcome.items()
            if name not in ("ok", "hung_up") and n
        )
        return f"{report.attempted - report.well} of {report.attempted} requests failed ({failed})"
    return None

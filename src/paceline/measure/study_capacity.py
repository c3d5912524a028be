"""The search for a capacity: rounds of short steps until the interval is narrow or the time is up."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from paceline.measure.job import Job
from paceline.measure.study import Runner, StepPlan, end_state
from paceline.measure.study_axes import CONCURRENCY, RATE, job_at
from paceline.measure.study_overload import OverloadRule
from paceline.stats.capacity_margin import Closeness
from paceline.stats.capacity_search import Asked, Finding, Observation, finding, next_loads
from paceline.store.studies import StudyStep

ALL = "all"
# The walk upward asks only on which side of the capacity a load lies.
_BRACKET_SHARE = 0.5
# Steps near the capacity hold this many independent requests, as far as four times the length allows it.
_INDEPENDENT = 8.0
_LONGEST = 4.0


@dataclass(frozen=True)
class CapacityPlan:
    """What is sought. `criteria`: `all`, or the metrics that have to meet their limit each by itself."""

    axis: str
    search: Asked
    criteria: tuple[str, ...]
    budget_s: float
    seed: int
    threads: int | None = None

    @classmethod
    def of(cls, asked: dict[str, Any]) -> "CapacityPlan":
        """From a stored study."""
        return cls(
            axis=asked["axis"],
            search=Asked(**asked["search"]),
            criteria=tuple(asked["criteria"]),
            budget_s=float(asked["budget_s"]),
            seed=int(asked["seed"]),
            threads=asked.get("threads"),
        )

    def to_dict(self) -> dict[str, Any]:
        """For the stored study; `of` reads it back."""
        return asdict(self)

    def observation(self, step: StudyStep) -> Observation:
        """What one step says of each criterion."""
        counts = step.figures
        met = tuple(
            int(counts["met"] if name == ALL else counts["met_by_limit"][name]) for name in self.criteria
        )
        kept = counts.get("close") or {}
        close = tuple(Closeness.of(kept.get(name), self.search.share) for name in self.criteria)
        return Observation(float(step.at[self.axis]), int(counts["attempted"]), met, close)

    def observations(self, steps: Sequence[StudyStep]) -> list[Observation]:
        """What the steps say, without those in which the client failed: they say nothing of the endpoint."""
        return [self.observation(step) for step in steps if not step.figures.get("client_failed")]


def run_capacity(runner: Runner, job: Job) -> None:
    """Search on, and end the study with what was found. Errors are those of `Runner.step`."""
    plan = CapacityPlan.of(runner.writer.manifest.asked)
    done = False
    with runner.interrupts:
        while not runner.stopped:
            steps = runner.writer.manifest.steps
            loads = _round(plan, steps)
            if not loads:
                done = True
                break
            if _measure_round(runner, plan, job, loads) == 0:
                done = not runner.stopped
                break
    runner.writer.finish(end_state(runner, done=done), result_of(plan, runner.writer.manifest.steps))


def result_of(plan: CapacityPlan, steps: list[StudyStep]) -> dict[str, Any] | None:
    """What the steps show; None without any. `needs_s`: how much longer, about, to find it."""
    seen = plan.observations(steps)
    if not seen:
        return None
    found = finding(seen, plan.search)
    return {**asdict(found), "needs_s": _needs_s(plan, steps, found), "left_out": len(steps) - len(seen)}


def _needs_s(plan: CapacityPlan, steps: list[StudyStep], found: Finding) -> float | None:
    if found.needs_share is None:
        return None
    near = [step for step in steps if found.lo / 2.0 <= float(step.at[plan.axis]) <= found.hi * 2.0]
    spent = sum(step.seconds for step in near or steps)
    return found.needs_share * max(spent, *(step.seconds for step in steps))


def _round(plan: CapacityPlan, steps: Sequence[StudyStep]) -> list[float]:
    """The loads of the round that is going on that are missing, else those of the next.

    A round is a function of the steps before it, so that a search that was cut off goes on where it was.
    """
    seen = plan.observations(steps)
    begun = 0
    while begun <= len(seen):
        loads = next_loads(seen[:begun], plan.search, plan.seed)
        if not loads or begun + len(loads) > len(seen):
            return loads[len(seen) - begun :]
        begun += len(loads)
    return []


def _measure_round(runner: Runner, plan: CapacityPlan, job: Job, loads: list[float]) -> int:
    """How many of the loads were measured before the time or the user's patience was up."""
    measured = 0
    for load in loads:
        steps = runner.writer.manifest.steps
        step = _step(plan, job, load, steps)
        expected_s = (step.job.load.total_ns or 0) / 1e9 + runner.settle_ns / 1e9
        spent_s = sum(done.seconds for done in steps)
        if runner.stopped or (steps and spent_s + expected_s > plan.budget_s):
            break
        if runner.step(step) is None:
            break
        measured += 1
    return measured


def _step(plan: CapacityPlan, job: Job, load: float, steps: list[StudyStep]) -> StepPlan:
    value: float | int = int(load) if plan.axis == CONCURRENCY else load
    at = {plan.axis: value}
    own = job_at(job, at, threads=plan.threads)
    if own.load.duration_ns is not None:
        length = round(own.load.duration_ns * _stretch(plan, steps, load))
        own = replace(own, load=own.load.model_copy(update={"duration_ns": length}))
    number = len(steps)
    served = [step for step in steps if plan.observation(step).passes(plan.search.share)]
    usual_ms = [step.figures["e2e_mean_ms"] for step in served if step.figures.get("e2e_mean_ms")]
    rule = OverloadRule(
        slo=job.slo or {},
        share=plan.search.share,
        rate_requests_s=load if plan.axis == RATE else None,
        usual_s=max(usual_ms) / 1e3 if usual_ms else None,
    )
    repeat = sum(step.at == at for step in steps)
    return StepPlan(number, at, own, repeat, rule)


def _stretch(plan: CapacityPlan, steps: list[StudyStep], load: float) -> float:
    """How long the step lasts against the usual: half on the way up, more where requests cluster."""
    seen = plan.observations(steps)
    if not any(one.fails(plan.search.share) for one in seen):
        return _BRACKET_SHARE
    near = [one for one in seen if load / 1.5 <= one.load <= load * 1.5 and one.attempted]
    if not near:
        return 1.0
    usual = sum(one.attempted for one in near) / len(near)
    inflation = finding(seen, plan.search).inflation
    return min(max(_INDEPENDENT * inflation / usual, 1.0), _LONGEST)

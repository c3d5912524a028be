"""From what is asked to a tuner that can begin, or go on: engine, space and workload, all checked."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paceline.config import validate
from paceline.engines.engine import Settings, Tier, Value, in_command
from paceline.engines.machine import Machine, look
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.planning import plan_launch
from paceline.engines.space import Choice
from paceline.errors import ConfigError
from paceline.measure.host import fingerprint
from paceline.measure.job import Job
from paceline.measure.load_spec import Closed, LoadPlan
from paceline.protocols import Protocol, parse_protocol
from paceline.tuning.bench import Bench
from paceline.tuning.goal import Goal, parse_goal
from paceline.tuning.journal import Journal, Tuning
from paceline.tuning.tune import LADDER, Tuner, Watch
from paceline.workloads.sources import has_several_calls, job_source
from paceline.workloads.spec import WorkloadSpec

# Nothing is asked there: each block has its engine's own address.
_NOWHERE = "http://127.0.0.1:1/v1"


@dataclass(frozen=True)
class TuneAsked:
    """What a user asks of a tuning.

    tier: None takes the goal's: `fast` for one stream, `standard` for a whole load. levels: requests in
    flight; empty takes the goal's. fixed: options that all settings have. varied: options and the values to
    try, in place of the engine's own list or beyond it.
    """

    model: str
    goal: Goal
    budget_s: float
    workload: WorkloadSpec
    engine: str = "auto"
    binary: Path | None = None
    tier: Tier | None = None
    levels: tuple[int, ...] = ()
    protocol: Protocol | None = None
    timeout_ns: int | None = None
    fixed: Settings | None = None
    varied: dict[str, list[Value]] | None = None
    seed: int = 1


def new_tuning(asked: TuneAsked, home: Path | None = None) -> Tuning:
    """The tuning that is asked for, nothing measured yet. Raises UsageError for what would make it fail."""
    tier: Tier = asked.tier or ("fast" if asked.goal.one_stream else "standard")
    bare = Asked(
        asked.model, asked.engine, tier, binary=asked.binary, settings=dict(asked.fixed or {}), bare=True
    )
    here = look()
    plan = plan_launch(bare, home=home, machine=here)
    if plan.facts is None:
        raise ConfigError(
            f"{asked.model} is a name, and a tuning is kept for files: there are none of it here",
            "give the path of the model's file or folder",
        )
    # What the binary calls an option is what is kept: the user may have written another of its names.
    fixed = dict(plan.settings)
    varied = _spelt(plan, asked.varied or {})
    choices = space(plan, tier, fixed, varied, here)
    if not choices:
        raise ConfigError(
            "there is nothing to vary", "name an option and its values: --vary ubatch-size=128,512"
        )
    load = LoadPlan(arrival=Closed(concurrency=1), requests=1, keep_text=False, seed=asked.seed)
    if asked.timeout_ns is not None:
        load = load.model_copy(update={"timeout_ns": asked.timeout_ns})
    return Tuning(
        engine=plan.installed.engine,
        engine_version=plan.installed.version,
        binary=None if asked.binary is None else str(asked.binary.absolute()),
        model=str(Path(asked.model).expanduser().absolute()),
        model_name=plan.facts.name or plan.served_name,
        model_fingerprint=plan.facts.fingerprint,
        machine=fingerprint(),
        tier=tier,
        goal=asked.goal.text,
        budget_s=asked.budget_s,
        seed=asked.seed,
        levels=list(asked.levels or ((1,) if asked.goal.one_stream else LADDER)),
        asked={
            "workload": asked.workload.to_dict(),
            "load": load.model_dump(mode="json"),
            "protocol": asked.protocol,
        },
        fixed=fixed,
        varied=varied,
    )


def tuner(journal: Journal, watch: Watch, home: Path | None = None) -> Tuner:
    """Who does the tuning of a journal, from the beginning or from where it was cut off.

    Raises UsageError where the engine, the model or the machine is no longer what it was.
    """
    tuning = journal.tuning
    goal = parse_goal(tuning.goal)
    binary = None if tuning.binary is None else Path(tuning.binary)
    bare = Asked(
        tuning.model, tuning.engine, tuning.tier, binary=binary, settings=dict(tuning.fixed), bare=True
    )
    here = look()
    plan = plan_launch(bare, home=home, machine=here)
    _check_same(tuning, plan)
    standard: Tier = "standard"
    beside = (
        plan
        if tuning.tier == standard
        else plan_launch(
            Asked(tuning.model, tuning.engine, standard, binary=binary, use_profile=False),
            home=home,
            machine=here,
        )
    )
    preset = plan.adapter.tier(tuning.tier, plan.facts, here, plan.installed).values
    preset = {name: value for name, value in preset.items() if name not in tuning.fixed}
    workload = WorkloadSpec.parse(tuning.asked["workload"], f"the workload of tuning {tuning.id}")
    jobs = job_source(workload)
    load = validate(LoadPlan, tuning.asked["load"], f"the load of tuning {tuning.id}")
    protocol = tuning.asked.get("protocol")
    bench = Bench(
        plan=plan,
        job=Job(
            url=_NOWHERE,
            workload=workload,
            load=load.model_copy(update={"jobs": has_several_calls(jobs)}),
            protocol=None if protocol is None else parse_protocol(protocol),
            jobs=jobs,
        ),
        goal=goal,
        requests=tuning.requests or 1,
        levels=tuple(tuning.levels),
        home=journal.folder,
    )
    return Tuner(
        journal=journal,
        bench=bench,
        goal=goal,
        choices=space(plan, tuning.tier, tuning.fixed, tuning.varied, here),
        first=({}, preset),
        standard=beside,
        watch=watch,
        home=home,
    )


def space(
    plan: LaunchPlan, tier: Tier, fixed: Settings, varied: dict[str, list[Value]], machine: Machine
) -> tuple[Choice, ...]:
    """What is turned: the engine's choices for a tier, without what is fixed, and with what the user varies.

    varied: as the engine spells them. Raises ConfigError for an option that is both fixed and varied.
    """
    for name in varied:
        if name in fixed:
            raise ConfigError(f"{name} is both fixed and varied", f"leave out --fix {name} or --vary {name}")
    own = plan.adapter.space(tier, plan.facts, machine, plan.installed)
    # A choice that only means something with another that is fixed elsewhere is out of play.
    known = {choice.option for choice in own} | set(fixed) | set(varied)
    there = [choice for choice in own if choice.only_with is None or _in_play(choice, fixed, known)]
    kept = [choice for choice in there if choice.option not in fixed and choice.option not in varied]
    # What the user varies means as little beside the others as it did in the engine's own list.
    beside = {choice.option: choice.only_with for choice in there}
    return (
        *kept,
        *(Choice(name, tuple(values), "you vary it", beside.get(name)) for name, values in varied.items()),
    )


def _spelt(plan: LaunchPlan, varied: Mapping[str, Sequence[Value]]) -> dict[str, list[Value]]:
    """What the user varies, by the engine's own names of options. Raises ConfigError for what it has not."""
    found: dict[str, list[Value]] = {}
    for given, values in varied.items():
        set_by = [in_command(plan.adapter.checked(plan.installed, {given: value})) for value in values]
        names = sorted({name for one in set_by for name in one})
        if len(names) != 1:
            raise ConfigError(
                f"--vary {given}: its values are not of one option ({', '.join(names) or 'none is set'})",
                "vary an option that takes a value, or a bare one as in no-repack=true,default",
            )
        if names[0] in found:
            raise ConfigError(f"--vary names {names[0]} twice", "write all its values in one")
        found[names[0]] = [one.get(names[0]) for one in set_by]
    return found


def _in_play(choice: Choice, fixed: Settings, known: set[str]) -> bool:
    assert choice.only_with is not None
    name, values = choice.only_with
    return fixed[name] in values if name in fixed else name in known


def _check_same(tuning: Tuning, plan: LaunchPlan) -> None:
    now = plan.facts.fingerprint if plan.facts is not None else None
    changed = [
        what
        for what, before, after in (
            ("the model", tuning.model_fingerprint, now),
            ("the engine's version", tuning.engine_version, plan.installed.version),
            ("the machine", tuning.machine, fingerprint()),
        )
        if before != after
    ]
    if changed:
        raise ConfigError(
            f"tuning {tuning.id} cannot go on: {' and '.join(changed)} changed since",
            f"begin anew: paceline tune {shlex.quote(tuning.model)} --goal {shlex.quote(tuning.goal)}",
        )

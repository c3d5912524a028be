"""What `paceline limit` takes in: a model's files, a machine's rates, runs, an engine to measure."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.errors import ConfigError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paceline.cli.commands.limit import MachineFlags, MeasuredFlags
    from paceline.engines.plan import LaunchPlan
    from paceline.measure.job import Job
    from paceline.report.model import Report
    from paceline.roofline.rates import Rates
    from paceline.roofline.reached import Observed
    from paceline.weights.model import ModelFacts

# One stream, greedy, and enough of it for a median with an interval: six answers bound one.
_PROMPT_TOKENS, _OUTPUT_TOKENS, _REQUESTS, _WARMUP = 128, 128, 8, 1
# A large model on a small machine gives a token a second: fewer answers then, but each to its end.
_LONGEST, _TIMEOUT = "2m", "10m"
_SIZES = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BANDWIDTH = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP])B(?:/s)?", re.IGNORECASE | re.ASCII)
_ARITHMETIC = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP])(?:FL)?OPS?(?:/s)?", re.IGNORECASE | re.ASCII)


def model_facts(model: str) -> "ModelFacts":
    """A model on this machine by its headers. Raises ModelFileError."""
    from paceline.weights.read import read_model

    return read_model(Path(model).expanduser())


def rates_of(flags: "MachineFlags", kind: str) -> "Rates":
    """The machine's: as stated, else measured. Raises ConfigError."""
    from paceline.cli.output import talk
    from paceline.roofline.rates import Rates

    if flags.bandwidth is None:
        from paceline.roofline.machine import machine_rates

        return machine_rates(again=flags.again, device=flags.device, watch=talk)
    arithmetic = {}
    if flags.arithmetic is not None:
        arithmetic[kind] = _rate(_ARITHMETIC, flags.arithmetic, "--arithmetic", "990TFLOP/s or 800GOP/s")
    return Rates(
        device=flags.device,
        bandwidth_bytes_s=_rate(_BANDWIDTH, flags.bandwidth, "--bandwidth", "3.35TB/s or 40GB/s"),
        by_kernel={},
        arithmetic_s=arithmetic,
        threads=0,
        memory_bytes=0,
        measured_at=datetime.now(UTC),
        source="stated",
    )


def _rate(form: "re.Pattern[str]", text: str, option: str, example: str) -> float:
    match = form.fullmatch(text.strip())
    value = 0.0 if match is None else float(match.group(1)) * _SIZES[match.group(2).upper()]
    if not value > 0.0:
        raise ConfigError(f"{option}: {text!r} is no rate", f"write a number with its unit: {example}")
    return value


def observed_runs(refs: "Sequence[str] | None") -> "list[Observed]":
    """Stored runs, as a limit takes them.

    Raises StoreError, ConfigError for one without a decode rate, and RunError for one that is invalid.
    """
    from paceline.cli.render import report_of
    from paceline.store.runs import open_run

    return [_observed(report_of(open_run(ref))) for ref in refs or ()]


def engine_plan(model: str, draft: Path | None, flags: "MeasuredFlags") -> "LaunchPlan | None":
    """The start of the engine that was asked for; None where none was.

    draft: a model that drafts for it. Raises ConfigError for whatever is wrong with it.
    """
    from paceline.cli.engine_options import parse_settings, parse_tier
    from paceline.engines.draft import draft_settings
    from paceline.engines.plan import Asked
    from paceline.engines.planning import plan_launch, with_settings
    from paceline.store.paths import home

    if flags.engine is None:
        return None
    own = parse_settings(flags.set_ or ())
    plan = plan_launch(
        Asked(
            model=model,
            engine=flags.engine,
            tier="standard" if flags.tier is None else parse_tier(flags.tier),
            binary=flags.binary,
            settings=own,
            bare=flags.tier is None,
        ),
        home=home(),
    )
    if draft is not None:
        drafting = {name: value for name, value in draft_settings(plan, draft).items() if name not in own}
        plan = with_settings(plan, {**plan.settings, **drafting})
    return plan


def measured_engine(plan: "LaunchPlan") -> "list[Observed]":
    """One stream of an engine, measured now.

    The run lies in a home of its own: it is of settings that nobody serves, and would stand on boards as an
    offer. Raises EngineError, and RunError for a run that is invalid.
    """
    from paceline.cli.live import make_view
    from paceline.cli.output import talk
    from paceline.engines.run import running
    from paceline.measure import driver
    from paceline.measure.job import prepare
    from paceline.report.model import build_report
    from paceline.store.paths import home
    from paceline.store.runs import open_run

    kept = home() / "limits"
    talk(f"starting {plan.command.shown()}")
    with running(plan, log=kept / "logs" / f"{plan.adapter.name}.log", watch=talk) as engine:
        prepared = prepare(_job(engine.endpoint, plan.served_name))
        with make_view(f"{plan.adapter.name} {plan.served_name}") as view:
            result = driver.measure(prepared, watch=view.update, home=kept)
    if result.store_error is not None:
        raise result.store_error
    if result.state == "interrupted":
        raise KeyboardInterrupt
    return [_observed(build_report(open_run(result.run_id, at=kept)))]


def _job(url: str, model: str) -> "Job":
    """One stream of greedy answers of known length."""
    from paceline.measure.job import Job
    from paceline.measure.load_spec import LoadOptions, plan_load
    from paceline.measure.scrape import OFF, ServerWatch
    from paceline.workloads.spec import WorkloadSpec

    fields = {
        "name": "limit",
        "prompt_tokens": str(_PROMPT_TOKENS),
        "output_tokens": str(_OUTPUT_TOKENS),
        "exact_output": True,
        "temperature": 0.0,
        "seed": 1,
    }
    return Job(
        url=url,
        workload=WorkloadSpec.parse(fields, "the workload of limit"),
        load=plan_load(
            LoadOptions(
                concurrency=1,
                requests=_REQUESTS,
                duration=_LONGEST,
                warmup=str(_WARMUP),
                timeout=_TIMEOUT,
            )
        ),
        model=model,
        name="limit",
        server=ServerWatch(metrics=OFF),
    )


def _observed(report: "Report") -> "Observed":
    from paceline.report.limit_observed import observed

    run_id = report.manifest.id
    if report.trust.verdict == "invalid":
        reasons = "; ".join(str(reason) for reason in report.trust.reasons if reason.severity == "invalid")
        raise RunError(f"run {run_id} is invalid: {reasons}", "measure again")
    found = observed(report)
    if isinstance(found, str):
        raise ConfigError(f"run {run_id} cannot be held against a limit: {found}", "name another run")
    return found

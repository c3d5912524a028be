"""`paceline demo`: two tiers of the reference engine, measured and compared."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from paceline.measure.job import Job

MODEL = "demo-8b"
REPORT = Path("paceline-demo.html")
# One model in two offers: the fast tier has the quicker steps, more prefill, and drafts tokens ahead.
STANDARD = ("--prefill-tok-s", "6000", "--decode-step-base", "18ms", "--slots", "16")
FAST = ("--prefill-tok-s", "24000", "--decode-step-base", "7ms", "--slots", "16", "--spec-burst", "3:0.6")


def demo(
    html: Annotated[Path, typer.Option("--html", help="Where the report goes.")] = REPORT,
) -> int:
    """Measure two tiers of the embedded reference engine, compare them, and write an HTML report.

    Takes under a minute, needs no network, and leaves no process behind.
    """
    from paceline.cli.commands.calibrate import HEADER, cell_line
    from paceline.cli.comparing import (
        comparison_of,
        failed,
        measure_both,
        nothing_to_compare,
        print_comparison,
        rendered_comparison,
    )
    from paceline.cli.defaults import settings
    from paceline.cli.output import check_outputs, talk, write_outputs
    from paceline.cli.render import print_report
    from paceline.measure.calibrate import calibrate, load_calibration, save_calibration, stale_reasons
    from paceline.measure.job import prepare
    from paceline.measure.sim import SimProcess

    settings()
    check_outputs({"--html": html})
    known = load_calibration()
    if known is None or stale_reasons(known):
        talk(
            "first the instrument measures its own error on this machine (paceline calibrate does it in full)"
        )
        talk(HEADER)
        save_calibration(calibrate(quick=True, on_cell=lambda cell: talk(cell_line(cell))))
    common = ("--mode", "engine", "--model", MODEL)
    with SimProcess((*common, *STANDARD)) as standard, SimProcess((*common, *FAST, "--seed", "2")) as fast:
        talk(f"then two offers of the model {MODEL}: A, a standard tier, and B, a fast tier, in turn")
        sides = [prepare(_job(engine.url, name)) for engine, name in ((standard, "standard"), (fast, "fast"))]
        pair = measure_both(sides[0], sides[1])
    comparison = comparison_of(pair, smallest_difference=0.05)
    if nothing_to_compare(pair, comparison):
        return 1
    for title, report in (("A, the standard tier", comparison.a), ("B, the fast tier", comparison.b)):
        typer.echo(f"\n== {title}\n")
        print_report(report)
    typer.echo("\n== B against A\n")
    print_comparison(comparison)
    write_outputs({"--html": html}, lambda option: rendered_comparison(comparison, option))
    talk("both are stored: `paceline board` shows them side by side, `paceline dashboard` in the browser")
    return 1 if failed(pair, comparison) else 0


def _job(url: str, tier: str) -> "Job":
    from paceline.measure.job import Job
    from paceline.measure.load_spec import LoadOptions, plan_load
    from paceline.workloads.spec import WorkloadSpec

    workload = {"prompt_tokens": "lognormal:220:0.4", "output_tokens": "48", "tokenizer": "words", "seed": 1}
    return Job(
        url=url,
        workload=WorkloadSpec.parse(workload, "demo"),
        load=plan_load(LoadOptions(rate_requests_s=7, duration="11s", warmup="4")),
        model=MODEL,
        slo={"ttft_ms": 250, "itl_ms": 40},
        name=f"demo-{tier}",
        offer={"provider": "demo", "tier": tier},
    )

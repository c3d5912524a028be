"""`paceline calibrate`: the instrument measures itself."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from paceline.cli.defaults import settings
from paceline.cli.output import check_outputs, talk, wrapped, write_output
from paceline.units import format_duration_ns, format_number


def calibrate(
    quick: Annotated[
        bool, typer.Option("--quick", help="A few seconds: the usual loads only, no search for the limit.")
    ] = False,
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write paceline.calibration/1 here; - is stdout.")
    ] = None,
) -> int:
    """Measure the instrument's own error on this machine, and keep it for later reports.

    Runs the reference engine beside the load generator over a grid of streams
    and rates, and compares what was seen with what was sent. Takes under a
    minute; the machine should have nothing else to do.
    """
    from paceline.measure.calibrate import calibrate as run_calibration
    from paceline.measure.calibrate import save_calibration

    settings()
    check_outputs({"--json": json_path})
    talk(wrapped("the load generator against the reference engine, errors as p50 / p99 of their size"))
    talk(HEADER)
    document = run_calibration(quick=quick, on_cell=lambda cell: talk(cell_line(cell)))
    path = save_calibration(document)
    if json_path is not None:
        write_output(json_path, json.dumps(document, indent=2) + "\n")
    text = wrapped("\n".join(summary_lines(document)))
    if json_path == Path("-"):
        talk(text)
    else:
        typer.echo(text)
    talk(wrapped(f"kept in {path}; later reports carry it"))
    return 0


HEADER = f"{'streams':>7} {'tok/s':>6} {'events/s':>9}  {'TTFT':>17} {'ITL':>17} {'E2E':>17}"


def cell_line(cell: dict[str, Any]) -> str:
    """One cell, as a line under `HEADER`; 80 columns."""
    errors = " ".join(f"{_pair(cell[name]):>17}" for name in ("ttft_us", "itl_us", "e2e_us"))
    return f"{cell['streams']:>7} {cell['rate_tok_s']:>6g} {cell['events_s']:>9,}  {errors}"


def summary_lines(document: dict[str, Any]) -> list[str]:
    """What the calibration has shown, in words."""
    lines = []
    most, limit_us = document["max_events_s"], document["grown_us"]
    if most is None:
        lines.append(f"the error was above {limit_us:g} us (p99) in every cell: this machine was too busy")
    else:
        words = {
            "error": "beyond that it grew",
            "engine": "beyond that the reference engine itself could not keep up",
        }.get(document["max_events_limited_by"])
        shown = format_number(most)
        words = words or f"no limit was looked for beyond {shown} events/s"
        lines += [f"up to {shown} events/s with an error under {limit_us:g} us (p99);", words]
    if not all(cell["kernel_stamps"] for cell in document["cells"]):
        lines.append("kernel receive stamps were not to be had: times are those of the read")
    return lines


def _pair(summary: dict[str, float] | None) -> str:
    if summary is None:
        return "-"
    return " / ".join(format_duration_ns(summary[name] * 1e3) for name in ("abs_p50", "abs_p99"))

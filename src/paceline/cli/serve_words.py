"""What `paceline serve` says before it starts anything: engine, settings with reasons, memory, profile."""

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from paceline.cli.output import COLUMNS
from paceline.units import format_bytes

if TYPE_CHECKING:
    from paceline.engines.engine import Settings
    from paceline.engines.machine import Machine
    from paceline.engines.plan import LaunchPlan
    from paceline.engines.profile import Gain, Profile

_WIDEST_OPTION = 34


def plan_lines(plan: "LaunchPlan", machine: "Machine") -> list[str]:
    """All of it, in lines of at most 80 columns but for what cannot be broken."""
    version = f" {plan.installed.version}" if plan.installed.version else ""
    return [
        *_filled(f"{plan.adapter.name}{version}, {plan.installed.found}", "  "),
        *_filled(f"model {_model(plan)}", "  "),
        f"tier {plan.tier}:",
        *_settings(plan),
        _memory(plan, machine),
        *([] if plan.profile is None else _profile(plan.profile)),
    ]


def _model(plan: "LaunchPlan") -> str:
    facts = plan.facts
    if facts is None:
        return f"{plan.model}, which the engine finds itself"
    size = f"{_counted(facts.parameters)} parameters in {format_bytes(facts.file_bytes)}"
    return f"{facts.name}, {size}, as {plan.served_name}"


def _counted(number: int) -> str:
    for size, word in ((1e9, " billion"), (1e6, " million")):
        if number >= size:
            return f"{number / size:.3g}{word}"
    return f"{number:,}"


def _settings(plan: "LaunchPlan") -> Iterator[str]:
    if not plan.settings:
        yield "  the engine's own defaults"
        return
    shown = {name: _option(name, value) for name, value in plan.settings.items()}
    width = min(max(map(len, shown.values())), _WIDEST_OPTION)
    for name, option in shown.items():
        why = plan.why.get(name)
        first = f"  {option.ljust(width)}  "
        if len(option) > width or not why:
            yield f"  {option}"
            first = " " * (width + 4)
        if why:
            yield from textwrap.wrap(why, COLUMNS, initial_indent=first, subsequent_indent=" " * (width + 4))


def _option(name: str, value: object) -> str:
    return f"--{name}" if value is True else f"--{name} {value}"


def _memory(plan: "LaunchPlan", machine: "Machine") -> str:
    free = f"{format_bytes(machine.free_bytes)} free"
    for gpu in machine.gpus:
        free += f", {format_bytes(gpu.free_bytes)} free on {gpu.name}"
    if plan.needs_bytes is None:
        return f"memory: what it needs is not known before the start; {free}"
    return f"memory: needs about {format_bytes(plan.needs_bytes)}; {free}"


def gain_words(gain: "Gain") -> str:
    """`2.10 times as good as the engine's defaults (1.95 to 2.26)`."""
    if math.isinf(gain.ratio):
        return f"{gain.tuned:.3g}, where the engine's defaults never met the limits"
    most = f"{gain.hi:.2f}" if math.isfinite(gain.hi) else "no bound"
    return f"{gain.ratio:.2f} times as good as the engine's defaults ({gain.lo:.2f} to {most})"


def _profile(profile: "Profile") -> list[str]:
    from paceline.report.sameness_words import sameness_words

    gain = profile.gain
    lines = [
        f"profile of {profile.made_at:%Y-%m-%d}, tuned on {profile.workload} for {profile.goal}: "
        f"{gain.metric} {gain_words(gain)}"
    ]
    if profile.sameness is not None:
        lines.append(f"its greedy answers: {sameness_words(profile.sameness)}")
    return [part for line in lines for part in _filled(line, "  ")]


def _filled(text: str, indent: str) -> list[str]:
    return textwrap.wrap(
        text, COLUMNS, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def same_settings(a: "Settings", b: "Settings") -> bool:
    """Whether two settings are one, what is left out not counted."""
    from paceline.engines.engine import in_command

    return in_command(a) == in_command(b)

"""A tuning for the terminal: what won, by how much, what it costs elsewhere, and what was tried."""

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from paceline.engines.engine import in_command
from paceline.report.lines import aligned, folded
from paceline.report.sameness_words import sameness_words
from paceline.report.words import printable, shorten
from paceline.units import format_duration_ns, format_number

if TYPE_CHECKING:
    from paceline.tuning.goal import Goal
    from paceline.tuning.journal import Block, TrialEntry, Tuning
    from paceline.tuning.leaders import Leader

_GAP = "  "
_SHOWN = 6
_WIDEST = 40
SIDES = {"default": "defaults", "tuned": "tuned"}


def tuning_text(tuning: "Tuning", goal: "Goal", leaders: Sequence["Leader"]) -> str:
    """All that a tuning has found, in 80 columns."""
    head = [
        line
        for name, value in head_rows(tuning, leaders)
        for line in folded(value, 80, f"{name:<10}", " " * 10)
    ]
    parts = [
        _verdict(tuning),
        _settings(tuning),
        _curves(tuning),
        _leading(goal, leaders),
        head,
        _end(tuning),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def tunings_text(tunings: Sequence["Tuning"], unreadable: Sequence[str]) -> str:
    """One line a tuning."""
    if not tunings and not unreadable:
        return "no tunings; make one: paceline tune MODEL"
    cells = [["ID", "STATE", "MODEL", "ENGINE", "TIER", "GOAL", "GAIN"]]
    for one in tunings:
        gain = (one.result or {}).get("gain") if (one.result or {}).get("real") else None
        cells.append(
            [
                one.id,
                one.state,
                shorten(printable(one.model_name), 20),
                one.engine,
                one.tier,
                shorten(one.goal, 24),
                _times(gain["ratio"]) if gain else "-",
            ]
        )
    cells += [[name, "unreadable", *[""] * 5] for name in unreadable]
    return "\n".join(aligned(cells, range(6)))


def _times(ratio: float | None) -> str:
    return "from none" if ratio is None else f"{ratio:.3g}x"


def block_lines(goal: "Goal", entry: "TrialEntry", block: "Block", leaders: Sequence["Leader"]) -> str:
    """What is said when a block has ended, below what was said as it began: its own figure, how its trial
    compares by all blocks, and once what its settings are.

    leaders: all settings so far; none after the search. What is as in trial 1 is left out.
    """
    return "\n".join(
        line
        for text in _block_sentences(goal, entry, block, leaders)
        for line in folded(text, 80, "  ", "    ")
    )


def _block_sentences(
    goal: "Goal", entry: "TrialEntry", block: "Block", leaders: Sequence["Leader"]
) -> list[str]:
    leader = next((one for one in leaders if one.number == entry.number), None)
    if block.failure is not None:
        said = shorten(f"failed: {printable(block.failure)}", 300)
    else:
        values = [value for value in block.values.values() if goal.counts(value)]
        unit = "" if goal.one_stream else f" {goal.unit}"
        said = f"{goal.metric} {format_number(goal.middle(values))}{unit}" if values else "no figure"
        if entry.number and leader is not None and leader.ratio is not None:
            blocks = "" if leader.blocks == 1 else f" by its {leader.blocks} blocks"
            said += f"; {leader.ratio:.2f} times as good as the defaults{blocks}"
    if entry.number and leader is not None and leader.blocks == 1:
        first = next((one for one in leaders if one.number == 1), leader)
        return [said, _tried_words(entry.settings, {} if first is leader else first.settings)]
    return [said]


def _tried_words(settings: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    own = in_command({name: value for name, value in settings.items() if first.get(name) != value})
    gone = [name for name in in_command(first) if name not in in_command(settings)]
    parts = ["as trial 1" if first else "", f"with {settings_words(own)}" if own else ""]
    return ", ".join(filter(None, [*parts, f"without {' '.join(gone)}" if gone else ""]))


def settings_words(settings: Mapping[str, Any]) -> str:
    """`spec-type=ngram-mod parallel=1`."""
    return " ".join(_setting(name, value) for name, value in in_command(settings).items()) or "none"


def common_settings(leaders: Sequence["Leader"]) -> dict[str, Any]:
    """What all settings but the defaults have alike, where there are several."""
    tried = [one.settings for one in leaders if one.number]
    if len(tried) < 2:
        return {}
    return {name: value for name, value in tried[0].items() if all(one.get(name) == value for one in tried)}


def _without(settings: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in common}


def _setting(name: str, value: Any) -> str:
    return name if value is True else f"{name}={value}"


def head_rows(tuning: "Tuning", leaders: Sequence["Leader"]) -> list[tuple[str, str]]:
    """What was tuned, for what, and how much of it, as names and values."""
    workload = tuning.asked["workload"]
    warmth = workload.get("temperature")
    named = workload.get("name") or "of its own"
    stopped = sum(1 for one in leaders if one.stopped)
    failed = len(tuning.failures)
    asides = [
        f"{stopped} given up" if stopped else "",
        f"{_plural(failed, 'block')} failed" if failed else "",
        f"then {_plural(len(tuning.rounds), 'round')} against the defaults" if tuning.rounds else "",
    ]
    blocks = sum(one.blocks for one in leaders)
    tried = [f"{_plural(len(leaders), 'setting')} in {_plural(blocks, 'block')}", *filter(None, asides)]
    spent, budget = (format_duration_ns(seconds * 1e9) for seconds in (tuning.spent_s, tuning.budget_s))
    return [
        ("tuning", f"{tuning.id}, {tuning.state}"),
        ("model", printable(tuning.model_name)),
        ("engine", printable(f"{tuning.engine} {tuning.engine_version or ''}".strip())),
        ("goal", f"{tuning.goal}, for the tier {tuning.tier}"),
        (
            "workload",
            f"{printable(str(named))}, temperature {'not sent' if warmth is None else f'{warmth:g}'}",
        ),
        ("block", f"{_plural(tuning.requests, 'request')}{_levels(tuning)}, after a start of its own"),
        ("tried", ", ".join(tried)),
        ("time", f"{spent} of {budget}"),
        *(("note", printable(note)) for note in tuning.notes),
    ]


def _plural(count: int | None, word: str) -> str:
    return f"? {word}s" if count is None else f"{count} {word}{'' if count == 1 else 's'}"


def _levels(tuning: "Tuning") -> str:
    if len(tuning.levels) == 1:
        return ", one at a time" if tuning.levels == [1] else f", {tuning.levels[0]} at a time"
    return f" and stream, at {', '.join(map(str, tuning.levels))} streams"


def _settings(tuning: "Tuning") -> list[str]:
    cells = setting_cells(tuning)
    return aligned([("SETTING", "DEFAULTS", "TUNED"), *cells], range(3)) if cells else []


def setting_cells(tuning: "Tuning") -> list[tuple[str, str, str]]:
    """Option, value at the defaults, value of what was picked; none where the defaults were."""
    if not tuning.pick:
        return []
    return [
        (name, _said(tuning.fixed[name]) if name in tuning.fixed else "the engine's", _said(value))
        for name, value in in_command(tuning.settings_of(tuning.pick)).items()
    ]


def _said(value: Any) -> str:
    return "set" if value is True else shorten(printable(str(value)), _WIDEST)


def _verdict(tuning: "Tuning") -> list[str]:
    if tuning.result is None:
        return ["No verdict yet."] if tuning.trials else []
    sentence = str(tuning.result["sentence"])
    lines = folded(printable(sentence[:1].upper() + sentence[1:] + "."))
    if tuning.sameness is not None:
        lines += folded(f"Greedy answers: {sameness_words(tuning.sameness)}.")
    return lines


def _curves(tuning: "Tuning") -> list[str]:
    cells = curve_cells(tuning)
    if not cells:
        return []
    head = ["STREAMS", "SETTINGS", "TOK/S", "TOK/S A STREAM", "TTFT P50 MS", "ITL P50 MS"]
    return ["Throughput against interactivity", *aligned([head, *cells], range(2))]


def curve_cells(tuning: "Tuning") -> list[list[str]]:
    """A row a level and side."""
    points = [
        (int(point["concurrency"]), side, point) for side, curve in tuning.curves.items() for point in curve
    ]
    return [
        [str(level), SIDES[side], *_point(point)]
        for level, side, point in sorted(points, key=lambda one: one[:2])
    ]


def _point(point: Mapping[str, Any]) -> list[str]:
    return [
        _number(point.get("output_tok_s")),
        *(_number(_median(point, name)) for name in ("user_tok_s", "ttft", "itl")),
    ]


def _median(point: Mapping[str, Any], name: str) -> float | None:
    return ((point.get(name) or {}).get("p50") or {}).get("value")


def _number(value: float | None) -> str:
    return "-" if value is None else format_number(value)


def _leading(goal: "Goal", leaders: Sequence["Leader"]) -> list[str]:
    if len(leaders) < 2:
        return []
    cells = [["TRIAL", "BLOCKS", metric_words(goal).upper(), "TIMES DEFAULTS", "SETTINGS"]]
    shown = leaders[:_SHOWN]
    common = common_settings(leaders)
    if all(one.number for one in shown):
        shown = [*shown, *(one for one in leaders if one.number == 0)]
    for one in shown:
        cells.append(
            [
                str(one.number),
                str(one.blocks),
                _number(one.value),
                "-" if one.ratio is None else f"{one.ratio:.2f}",
                settings_words(_without(one.settings, common)) if one.number else "defaults",
            ]
        )
    head = "What the search saw (of its best too good: only the rounds decide)"
    beside = folded(f"All but the defaults also have: {settings_words(common)}") if common else []
    return [head, *_with_last_folded(cells), *beside]


def _end(tuning: "Tuning") -> list[str]:
    if tuning.profile is not None:
        model = shlex.quote(printable(tuning.model))
        return [
            *folded(f"Profile written: {printable(tuning.profile)}"),
            *folded(f"Serve it: paceline serve {model} --tier {tuning.tier}"),
        ]
    if tuning.state == "complete":
        return ["No profile was written: `paceline serve` goes on as before."]
    if tuning.state in ("interrupted", "failed"):
        return [f"Go on with it: paceline tune resume {tuning.id}"]
    return []


def metric_words(goal: "Goal") -> str:
    """With its unit, where the metric's name does not end in it."""
    return goal.metric if goal.one_stream else f"{goal.metric}, {goal.unit}"


def _with_last_folded(cells: Sequence[Sequence[str]]) -> list[str]:
    """A table whose last column is long: its text goes on below itself."""
    front = aligned([row[:-1] for row in cells], ())
    width = max(len(line) for line in front) + len(_GAP)
    lines = []
    for line, row in zip(front, cells, strict=True):
        texts = folded(printable(row[-1]), max(80 - width, 30)) or [""]
        lines.append(f"{line.ljust(width)}{texts[0]}".rstrip())
        lines += [f"{' ' * width}{text}" for text in texts[1:]]
    return lines

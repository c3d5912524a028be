"""How a run is shown while it goes on: a live view on a terminal, a plain line now and then elsewhere."""

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from paceline.units import format_ms, format_number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from paceline.measure.live_stats import Snapshot

PLAIN_LINE_S = 5.0
_FEWEST_ENDED = 2


class View(Protocol):
    """Shows snapshots between entering and leaving."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and leave the screen in order."""

    def update(self, snapshot: "Snapshot") -> None:
        """Show how the run stands now."""


def make_view(title: str, stream: TextIO | None = None) -> View:
    """The view that fits the stream, stderr by default: live on a terminal, plain lines elsewhere."""
    stream = stream or sys.stderr
    if stream.isatty():
        return RichView(title, stream)
    return PlainView(stream)


class PlainView:
    """One line every few seconds, and one at each change of state."""

    def __init__(self, stream: TextIO, every_s: float = PLAIN_LINE_S) -> None:
        self._stream = stream
        self._every_s = every_s
        self._said_at = 0.0
        self._said_stopping = False

    def __enter__(self) -> Self:
        self._said_at = monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def update(self, snapshot: "Snapshot") -> None:
        """Say a line when it is time, or when the run is being stopped."""
        now = monotonic()
        stopping_is_new = snapshot.stopping and not self._said_stopping
        if not stopping_is_new and now - self._said_at < self._every_s:
            return
        self._said_at = now
        self._said_stopping = snapshot.stopping
        self._say(plain_line(snapshot))

    def _say(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


class RichView:
    """A table that is drawn anew four times a second."""

    def __init__(self, title: str, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._title = title
        self._live = Live(
            console=Console(file=stream), auto_refresh=False, transient=True, redirect_stdout=False
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def update(self, snapshot: "Snapshot") -> None:
        """Draw it."""
        self._live.update(render(self._title, snapshot), refresh=True)


def plain_line(snapshot: "Snapshot") -> str:
    """The run so far on one line."""
    parts = [
        f"{_clock(snapshot.elapsed_s)}{_left(snapshot)}",
        f"{snapshot.in_flight} in flight",
        _done(snapshot),
        *_rate(snapshot),
        f"{format_number(snapshot.output_tok_s)} tok/s",
    ]
    for name, three in (("TTFT", snapshot.ttft_ms), ("ITL", snapshot.itl_ms)):
        if three is not None:
            parts.append(f"{name} {format_ms(three[0])} (p99 {format_ms(three[2])})")
    failed = {name: count for name, count in snapshot.outcomes.items() if name not in ("ok", "hung_up")}
    if failed:
        parts.append("failed: " + outcome_words(failed))
    if snapshot.stopping:
        parts.append("stopping")
    label = f"[{snapshot.label}] " if snapshot.label else ""
    return label + "  ".join(parts)


def outcome_words(outcomes: dict[str, int]) -> str:
    """`ok 12, timeout 3`, the most frequent first, `ok` before all."""
    order = sorted(outcomes.items(), key=lambda item: (item[0] != "ok", -item[1], item[0]))
    return ", ".join(f"{name} {count}" for name, count in order) or "none yet"


def render(title: str, snapshot: "Snapshot") -> "RenderableType":
    """The live view's table; fits 80 columns."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    head = Table.grid(expand=True)
    head.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    head.add_column(justify="right", no_wrap=True)
    label = f"{snapshot.label}  " if snapshot.label else ""
    head.add_row(Text(f"{label}{title}", style="bold"), f"{_clock(snapshot.elapsed_s)}{_left(snapshot)}")
    share = _share(snapshot)
    # In a grid of its own, since a bar by itself does not end its line.
    bar = Table.grid(expand=True)
    bar.add_row(ProgressBar(total=1.0, completed=share or 0.0, pulse=share is None))

    rates = Table.grid(padding=(0, 3, 0, 0))
    rates.add_row(
        f"in flight {snapshot.in_flight}",
        f"offered {format_number(snapshot.offered_requests_s)} {_unit(snapshot)}/s",
        *(f"achieved {rate}" for rate in _rate(snapshot)),
        f"{format_number(snapshot.output_tok_s)} tok/s",
    )
    figures = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    figures.add_column("so far")
    for name in ("p50", "p95", "p99"):
        figures.add_column(name, justify="right", min_width=8)
    for name, three in (("TTFT", snapshot.ttft_ms), ("ITL", snapshot.itl_ms)):
        figures.add_row(name, *([format_ms(value) for value in three] if three else ["-"] * 3))
    lines: list[Any] = [head, bar, rates, figures]
    lines.append(Text(f"{_done(snapshot)}: {outcome_words(snapshot.outcomes)}"))
    note = _note(snapshot)
    if note:
        lines.append(Text(note, style="yellow"))
    return Group(*lines)


def _note(snapshot: "Snapshot") -> str:
    if snapshot.stopping:
        return "stopping: waiting for what is in flight; Ctrl-C again ends it at once"
    if snapshot.state == "draining":
        return "all sent: waiting for what is in flight"
    if snapshot.starved:
        return "requests could not be prepared fast enough"
    return ""


def _share(snapshot: "Snapshot") -> float | None:
    shares = []
    if snapshot.total_s is not None and snapshot.total_s > 0:
        shares.append(snapshot.elapsed_s / snapshot.total_s)
    if snapshot.total_requests:
        done = snapshot.jobs_done if snapshot.jobs else snapshot.finished
        shares.append(done / snapshot.total_requests)
    return min(max(shares), 1.0) if shares else None


def _done(snapshot: "Snapshot") -> str:
    of = f" of {snapshot.total_requests}" if snapshot.total_requests else ""
    if snapshot.jobs:
        return f"{snapshot.jobs_done}{of} jobs, {snapshot.finished} calls done"
    return f"{snapshot.finished}{of} done"


def _rate(snapshot: "Snapshot") -> list[str]:
    """None of too few: of one that ended in a few seconds a rate says nothing."""
    if snapshot.ended < _FEWEST_ENDED:
        return []
    return [f"{format_number(snapshot.achieved_requests_s)} {_unit(snapshot)}/s"]


def _unit(snapshot: "Snapshot") -> str:
    return "jobs" if snapshot.jobs else "req"


def _left(snapshot: "Snapshot") -> str:
    return "" if snapshot.left_s is None else f", {_clock(snapshot.left_s)} left"


def _clock(seconds: float) -> str:
    whole = int(seconds)
    if whole >= 3_600:
        return f"{whole // 3600}:{whole % 3600 // 60:02}:{whole % 60:02}"
    return f"{whole // 60}:{whole % 60:02}"

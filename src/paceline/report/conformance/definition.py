"""What a tool's figures mean: where that is written, and the function that computes them from our events."""

from collections.abc import Callable
from dataclasses import dataclass

from paceline.report.conformance.figures import Figure
from paceline.report.conformance.recording import Recording

METRICS = {
    "ttft_ms": "time to first token, ms",
    "itl_ms": "what it calls inter-token latency, ms",
    "tpot_ms": "what it calls time per output token, ms",
    "chunk_gap_ms": "gaps between chunks, ms",
    "e2e_ms": "end to end, ms",
    "output_tok_s": "output tokens a second",
    "requests_s": "requests a second",
}
"""The metrics of the view, in its order: those that people compare by name."""


@dataclass(frozen=True)
class Source:
    """Where a definition was read. `at`: a commit, or the version of the installed package."""

    repository: str
    file: str
    at: str
    read_on: str


@dataclass(frozen=True)
class Meaning:
    """One metric: what the tool calls it, and from where to where it goes."""

    name: str
    words: str


@dataclass(frozen=True)
class Difference:
    """Where a tool parts from us, and why.

    `metrics`: the ones it moves. `touches`: how many requests of a recording it concerns; None where that is
    not in our events. `own`: how the tool's own figures would differ from those here, which cannot have it;
    "" where they have.
    """

    metrics: tuple[str, ...]
    words: str
    touches: Callable[[Recording], int] | None = None
    own: str = ""

    @property
    def shown(self) -> bool:
        """The tool's figures here have it."""
        return not self.own


@dataclass(frozen=True)
class View:
    """A tool's figures of a recording: `requests` counted, `output_tokens` of them, over `seconds`."""

    requests: int
    output_tokens: int
    seconds: float
    figures: dict[str, Figure]


@dataclass(frozen=True)
class Definition:
    """One tool. `name`: as `--as` takes it. The words say which requests, window, tokens, start of a request
    and percentiles are its own. `by_gaps`: metrics that only the arrivals of all events tell.
    """

    name: str
    title: str
    version: str
    sources: tuple[Source, ...]
    requests: str
    window: str
    tokens: str
    start: str
    percentiles: str
    metrics: dict[str, Meaning]
    differences: tuple[Difference, ...]
    compute: Callable[[Recording], View]
    by_gaps: tuple[str, ...] = ()

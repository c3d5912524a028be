"""The wait for the first token by turn, by what the server had in its cache, and by call.

TTFT counts from the sending, whatever the loop: what the cache saves is saved after that.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from paceline.stats.frame import MISSING, Bools, Frame, Ints
from paceline.stats.jobs import Jobs
from paceline.stats.metrics import MetricSamples
from paceline.stats.quantiles import Estimate, quantile_estimate

Floats = npt.NDArray[np.float64]

# Upper ends of the buckets of the cached share of a prompt, the last one included.
SHARE_EDGES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)


@dataclass(frozen=True)
class TtftGroup:
    """Calls of one kind that gave a TTFT. `ttft_ms`: the median. Means are None where no call says."""

    name: str
    n: int
    ttft_ms: Estimate
    ttft_mean_ms: float
    prompt_tokens: float | None
    cached_share: float | None


@dataclass(frozen=True)
class Turns:
    """`by_turn`: in order of the step, whose number from 0 is the name; empty where calls of a job run side
    by side, as the number of one says nothing then. `by_cached_share`: ascending; empty where the server did
    not say what was cached. `by_call`: by the name in the workload, in order of steps.
    """

    by_turn: list[TtftGroup]
    by_cached_share: list[TtftGroup]
    by_call: list[TtftGroup]


def cached_share(frame: Frame) -> Floats:
    """The share of each row's prompt that came from a cache, by the server's usage, float64[r]; nan: unknown.

    A server that names cached tokens in any row and not in this one had none (several leave out a 0).
    """
    prompt, cached = frame.ints("prompt_tokens"), frame.ints("cached_tokens")
    if not (cached != MISSING).any():
        return np.full(frame.rows, np.nan)
    share = np.where(cached == MISSING, 0, cached) / np.maximum(prompt, 1)
    return np.where(prompt > 0, np.clip(share, 0.0, 1.0), np.nan)


def turns_of(rows: pa.Table, plan: pa.Table, jobs: Jobs, ttft: MetricSamples) -> Turns:
    """`ttft`: the samples of `ttft_ms` of the same rows; `jobs`: their jobs; `plan`: has the calls' names."""
    frame = Frame(rows)
    share, step = cached_share(frame), frame.ints("step")[ttft.row]
    groups = _Groups(frame, ttft, jobs.row_job[ttft.row], share)
    mine = share[ttft.row]
    buckets = np.searchsorted(np.array(SHARE_EDGES), mine, "left")
    by_share = [
        groups.of(_share_name(place), ~np.isnan(mine) & (buckets == place))
        for place in range(len(SHARE_EDGES))
    ]
    names = call_names(frame, plan)[ttft.row]
    first_step = {str(name): int(step[names == name].min()) for name in np.unique(names) if name}
    turns = [] if side_by_side(plan) else np.unique(step[step != MISSING]).tolist()
    return Turns(
        by_turn=[groups.of(str(one), step == one) for one in turns],
        by_cached_share=[group for group in by_share if group.n],
        by_call=[groups.of(name, names == name) for name in sorted(first_step, key=first_step.__getitem__)],
    )


def side_by_side(plan: pa.Table) -> bool:
    """Whether a call of a job does not wait for the one before it."""
    if "after" not in plan.column_names:
        return False
    waits = zip(Frame(plan).ints("step").tolist(), plan["after"].to_pylist(), strict=True)
    return any(step > 0 and after is not None and step - 1 not in after for step, after in waits)


def call_names(frame: Frame, plan: pa.Table) -> npt.NDArray[np.str_]:
    """The name of each row's call in the workload, str[r]; empty where the plan has none."""
    if "call" not in plan.column_names or not plan.num_rows:
        return np.full(frame.rows, "", np.str_)
    planned = Frame(plan).ints("request_index")
    order = np.argsort(planned, kind="stable")
    names = np.array([str(name or "") for name in plan["call"].to_pylist()])[order]
    index = frame.ints("request_index")
    place = np.minimum(np.searchsorted(planned[order], index), len(names) - 1)
    return np.where(planned[order][place] == index, names[place], "")


@dataclass(frozen=True)
class _Groups:
    """`job`, of the samples: int64[n]; `share`: float64[r]."""

    frame: Frame
    ttft: MetricSamples
    job: Ints
    share: Floats

    def of(self, name: str, where: Bools) -> TtftGroup:
        """The samples where bool[n]."""
        values, rows = self.ttft.values[where], self.ttft.row[where]
        prompt = self.frame.ints("prompt_tokens")[rows]
        prompt = prompt[prompt != MISSING]
        share = self.share[rows]
        known = share[~np.isnan(share)]
        return TtftGroup(
            name=name,
            n=len(values),
            ttft_ms=quantile_estimate(values, 0.5, jobs=self.job[where]),
            ttft_mean_ms=float(values.mean()) if len(values) else float("nan"),
            prompt_tokens=float(prompt.mean()) if len(prompt) else None,
            cached_share=float(known.mean()) if len(known) else None,
        )


def _share_name(place: int) -> str:
    upper = SHARE_EDGES[place]
    return "none" if place == 0 else f"{100 * SHARE_EDGES[place - 1]:g}-{100 * upper:g}%"

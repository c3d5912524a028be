"""What is known of one offer under one workload and load: the requests of all its runs together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
import numpy.typing as npt

from paceline.advisor.digest import COLUMNS, CUT, WELL, Digest
from paceline.advisor.identity import KnownOffer, OfferKey, known_offer, offer_of
from paceline.advisor.thinning import evenly
from paceline.stats.frame import Ints
from paceline.stats.occasions import Occasions, dense_runs
from paceline.stats.quantiles import Estimate, quantile_estimates

Floats = npt.NDArray[np.float64]

MOST_POOLED = 4096
"""Requests that figures of one offer are made from, an equal number of each run; more only take time."""

_FEWEST_OF_RUN = 16

BLOCK = 20
"""Requests of a block: what is drawn together, since requests near each other share queues and caches."""


@dataclass(frozen=True)
class OfferEvidence:
    """One offer under one workload and load.

    digests: of its runs, the oldest first; those that are `invalid` are not among them. columns: the pooled
    sample (`digest.COLUMNS`), float64[n], in order of run and time. run: int64[n], the place in `digests`.
    known: the user's own offer, where there is one.
    """

    key: OfferKey
    workload: str
    workload_key: str
    load: str
    digests: tuple[Digest, ...]
    columns: Mapping[str, Floats]
    run: Ints
    known: KnownOffer | None = None

    @property
    def attempted(self) -> int:
        """Measured requests of every outcome, over all runs."""
        return sum(one.attempted for one in self.digests)

    @property
    def ok(self) -> int:
        """Those that ended well."""
        return sum(one.ok for one in self.digests)

    @property
    def suspect(self) -> tuple[str, ...]:
        """Ids of its runs that are not to be believed blindly."""
        return tuple(one.run_id for one in self.digests if one.verdict == "suspect")

    @property
    def last_at(self) -> datetime:
        """When its latest run began."""
        return max(one.started_at for one in self.digests)

    @property
    def until(self) -> datetime:
        """When the last request of the sample was sent."""
        last_s = float(self.columns["at_s"].max()) if len(self.run) else 0.0
        return max(self.last_at, datetime.fromtimestamp(last_s, UTC))

    @property
    def endpoint(self) -> str:
        """URL of its latest run."""
        return self.digests[-1].endpoint

    @cached_property
    def well(self) -> npt.NDArray[np.bool_]:
        """Requests of the sample that ended well, bool[n]."""
        found: npt.NDArray[np.bool_] = self.columns["outcome"] == WELL
        return found

    @cached_property
    def units(self) -> Ints:
        """The job of each request of the sample, int64[n], from 0 over all runs in their order."""
        return np.cumsum(self._run_begins | (np.diff(self.columns["job"], prepend=np.nan) != 0)) - 1

    @cached_property
    def several_calls(self) -> bool:
        """Some job of the sample is of several requests."""
        return len(self.units) > 0 and int(self.units[-1]) + 1 < len(self.units)

    @cached_property
    def blocks(self) -> Ints:
        """The block of each request of the sample, int64[n], from 0 over all runs: what a bootstrap draws.

        Calls of one job lie in one block.
        """
        first_unit = np.maximum.accumulate(np.where(self._run_begins, self.units, 0))
        # Whole jobs are long: each is a block of its own.
        size = 1 if self.several_calls else BLOCK
        of_run = (self.units - first_unit) // size
        begins = self._run_begins | (np.diff(of_run, prepend=-1) != 0)
        found: Ints = np.cumsum(begins) - 1
        return found

    @property
    def _run_begins(self) -> npt.NDArray[np.bool_]:
        begins: npt.NDArray[np.bool_] = np.diff(self.run, prepend=-1) != 0
        return begins

    def values(self, column: str) -> Floats:
        """Known values of a column, of requests that ended well, in order."""
        values = self.columns[column]
        found: Floats = values[self.well & ~np.isnan(values)]
        return found

    def censored(self, column: str) -> Floats:
        """Lower bounds of a latency's values that were not seen, ms: of requests that were cut before it."""
        if not column.endswith("_ms"):
            return np.empty(0)
        cut = (self.columns["outcome"] == CUT) & np.isnan(self.columns[column])
        found: Floats = self.columns["elapsed_ms"][cut]
        return found

    def jobs_of(self, which: npt.NDArray[np.bool_]) -> Ints | None:
        """The job of each request of `which` (bool[n]); None where each request is a job."""
        return self.units[which] if self.several_calls else None

    def drawn(self, column: str) -> Ints:
        """What a bootstrap of a column draws, a number for each request of the sample, int64[n], from 0.

        Blocks; or runs, where they differ by more than chance.
        """
        if column not in self._by_run:
            known = self.well & ~np.isnan(self.columns[column])
            runs = dense_runs(self.runs_of(known))
            found = None if runs is None else Occasions.of(self.values(column), runs, self.jobs_of(known))
            self._by_run[column] = found is not None and found.differ
        return self.run if self._by_run[column] else self.blocks

    @property
    def jobs_per_day(self) -> float | None:
        """As the workload of its latest run that says it."""
        return next((one.jobs_per_day for one in reversed(self.digests) if one.jobs_per_day), None)

    @cached_property
    def runs_differ(self) -> bool:
        """Its runs differ by more than chance and by more than 5 %, in TTFT or decode rate."""
        return len(self.digests) > 1 and any(
            self.drawn(column) is self.run for column in ("ttft_ms", "output_tok_s")
        )

    def runs_of(self, which: npt.NDArray[np.bool_]) -> Ints | None:
        """The run of each request of `which` (bool[n]); None of one run."""
        return self.run[which] if len(self.digests) > 1 else None

    def quantile(self, column: str, q: float) -> Estimate:
        """A quantile of a column; latencies of requests that were cut count as longer than what was seen."""
        return self.quantiles(column, [q])[0]

    def quantiles(self, column: str, qs: Sequence[float]) -> list[Estimate]:
        """Several quantiles of a column, each as `quantile`; none is reckoned twice."""
        missing = [q for q in qs if (column, q) not in self._estimates]
        if missing:
            known = self.well & ~np.isnan(self.columns[column])
            found = quantile_estimates(
                self.values(column),
                missing,
                censored=self.censored(column),
                jobs=self.jobs_of(known),
                runs=self.runs_of(known),
            )
            self._estimates.update({(column, q): one for q, one in zip(missing, found, strict=True)})
        return [self._estimates[column, q] for q in qs]

    @cached_property
    def _by_run(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _estimates(self) -> dict[tuple[str, float], Estimate]:
        return {}


def why_left_out(one: Digest) -> str | None:
    """Why no figure is made of a run, and what to do; None where it has a part in them."""
    if one.attempted == 0:
        rest = "it still goes on" if one.state == "running" else "measure it again"
        return f"no request was measured, warm-up apart: {rest}"
    if one.verdict == "invalid":
        return f"invalid: {'; '.join(one.reasons[:1]) or 'see its report'} (paceline runs show {one.run_id})"
    return None


def pooled(digests: Iterable[Digest], known: Sequence[KnownOffer] = ()) -> list[OfferEvidence]:
    """The evidence of each offer, workload and load with runs, in order of workload, load and offer.

    Runs that `why_left_out` has a reason for are not in it.
    """
    groups: dict[tuple[str, str, OfferKey], list[Digest]] = {}
    for one in digests:
        if why_left_out(one) is None:
            groups.setdefault((one.workload_key, one.load, offer_of(one, known)), []).append(one)
    found = []
    for (workload_key, load, key), mine in groups.items():
        mine.sort(key=lambda one: (one.started_at, one.run_id))
        columns, run = _pool(mine)
        found.append(
            OfferEvidence(
                key=key,
                workload=mine[-1].workload,
                workload_key=workload_key,
                load=load,
                digests=tuple(mine),
                columns=columns,
                run=run,
                known=next((own for one in reversed(mine) if (own := known_offer(one, known))), None),
            )
        )
    return sorted(found, key=lambda one: (one.workload, one.workload_key, one.load, one.key))


def pool_share(runs: int) -> int:
    """Requests that each of so many runs gives to the figures of their offer, at most."""
    return max(MOST_POOLED // runs, _FEWEST_OF_RUN)


def _pool(digests: Sequence[Digest]) -> tuple[dict[str, Floats], Ints]:
    """The samples of runs in one, thinned evenly so that no run has more than its share.

    A run is thinned by whole jobs.
    """
    share = pool_share(len(digests))
    kept = [evenly(one.sample["job"], share) for one in digests]
    columns = {
        name: np.concatenate([one.sample[name][mine] for one, mine in zip(digests, kept, strict=True)])
        for name in COLUMNS
    }
    run = np.repeat(np.arange(len(digests)), [len(mine) for mine in kept]).astype(np.int64)
    return columns, run

"""Digests of all stored runs: those that are kept, and the others made from their runs."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from paceline.advisor.digest import COLUMNS, VERSION, Digest, Floats
from paceline.advisor.evidence import MOST_POOLED, pool_share
from paceline.advisor.thinning import evenly, spread
from paceline.errors import StoreError
from paceline.store.digests import KeptDigest, KeptHead, keep_digests, kept_digests, kept_samples
from paceline.store.index import UNREADABLE, Index
from paceline.store.lock import living_state
from paceline.store.paths import MANIFEST_NAME, home, runs_folder
from paceline.store.scores import SCORES_NAME, run_scores

if TYPE_CHECKING:
    from paceline.report.model import Report

Watch = Callable[[int, int], None]
# A run that still grows is read again after this many times what reading it took, and not within a minute.
_REST, _SHORTEST_REST_S = 20.0, 60.0
# What a report stumbles over in a run that says what none of ours does: it must not take the others along.
_DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_DAMAGE_HINT = "restore its files from a backup, or delete the run"


@dataclass(frozen=True)
class Problem:
    """A run that no figure is made from, and why."""

    run_id: str
    text: str


@dataclass(frozen=True)
class AllDigests:
    """digests: the oldest first. problems: runs that cannot be read."""

    digests: tuple[Digest, ...]
    problems: tuple[Problem, ...]


def all_digests(*, watch: Watch = lambda *_: None, at: Path | None = None) -> AllDigests:
    """The digest of every stored run that can be read; `watch` gets how many were made, of how many to make.

    A run that still grows (live traffic) has the digest of a moment ago. Samples are as large as figures of
    an offer take of each of its runs.
    """
    where = at or home()
    entries = Index(where).entries()
    kept = kept_digests(where)
    good: dict[str, Digest] = {}
    missing: dict[str, int] = {}
    problems = []
    for entry in entries:
        if entry.state == UNREADABLE:
            hint = "put its run.json right, or delete the run"
            problems.append(Problem(entry.id, f"its run.json cannot be read: {hint}"))
            continue
        running = living_state(entry.state, runs_folder(where) / entry.id) == "running"
        stamp = _stamp(where, entry.id, running=running)
        digest = _still_good(kept.get(entry.id), stamp, running=running)
        if digest is None:
            missing[entry.id] = stamp
        else:
            good[entry.id] = digest
    made, unreadable = _made(missing, where, watch)
    shares = _shares([*good.values(), *made])
    samples = _samples(
        {run_id: (kept[run_id].made_at_s, digest) for run_id, digest in good.items()}, shares, where
    )
    # Replaced by another process in between, or damaged.
    more, also = _made(
        {run_id: one.stamp for run_id, one in good.items() if run_id not in samples}, where, watch
    )
    found = [replace(good[run_id], sample=sample) for run_id, sample in samples.items()]
    found += [
        replace(one, sample=_thinned(one, shares.get(_group(one), MOST_POOLED))) for one in (*made, *more)
    ]
    keep_digests([], kept.keys() - {entry.id for entry in entries}, at=where)
    digests = sorted(found, key=lambda one: (one.started_at, one.run_id))
    return AllDigests(tuple(digests), (*problems, *unreadable, *also))


def keep(
    report: "Report", *, at: Path | None = None, since_s: float | None = None, stamp: int | None = None
) -> Digest:
    """Make and keep the digest of a report's run. Raises StoreError when its scores cannot be read.

    since_s: when reading the run began (`time.perf_counter`). stamp: of the run before it was read, where it
    may have grown since.
    """
    where = at or home()
    begun_s = time.perf_counter() if since_s is None else since_s
    if stamp is None:
        stamp = _stamp(where, report.manifest.id, running=report.evidence.state == "running")
    digest, kept = _digested(report, where, begun_s, stamp)
    keep_digests([kept], at=where)
    return digest


def _digested(report: "Report", where: Path, begun_s: float, stamp: int) -> tuple[Digest, KeptDigest]:
    from paceline.advisor.digesting import digest_of

    run_id = report.manifest.id
    digest = digest_of(report, stamp=stamp, capability=run_scores(runs_folder(where) / run_id))
    took_s = time.perf_counter() - begun_s
    kept = KeptDigest(run_id, stamp, time.time(), took_s, digest.head(), _bytes_of(digest.sample))
    return digest, kept


def _made(stamps: Mapping[str, int], where: Path, watch: Watch) -> tuple[list[Digest], list[Problem]]:
    """The digests of runs, made from their rows, and those of which none could be made.

    stamps: by run id, of before they are read: what grows meanwhile is then seen to have grown.
    """
    if not stamps:
        return [], []
    from paceline.report.model import build_report
    from paceline.store.runs import open_run

    made, problems = [], []
    # Each at once, so that what was read is not lost; a cache that is locked is not waited for again.
    can_keep = True
    for number, (run_id, stamp) in enumerate(stamps.items()):
        watch(number, len(stamps))
        begun_s = time.perf_counter()
        try:
            report = build_report(open_run(run_id, at=where))
            digest, kept = _digested(report, where, begun_s, stamp)
            made.append(digest)
            can_keep = can_keep and keep_digests([kept], at=where)
        except StoreError as error:
            problems.append(Problem(run_id, f"{error.message}{f': {error.hint}' if error.hint else ''}"))
        except _DAMAGE as error:
            why = f"{type(error).__name__}: {error}"
            problems.append(Problem(run_id, f"no report can be made of it ({why}): {_DAMAGE_HINT}"))
    watch(len(stamps), len(stamps))
    return made, problems


_Group = tuple[str, ...]


def _group(one: Digest) -> _Group:
    """Equal for runs that are surely of one offer, workload and load: figures are made of them together."""
    extra = json.dumps(one.extra, sort_keys=True) if one.extra else ""
    said = (one.provider or "", one.tier or "", one.live_offer or "")
    return (one.workload_key, one.load, one.endpoint, one.model, *said, extra)


def _shares(digests: Iterable[Digest]) -> dict[_Group, int]:
    """How many requests of each run figures are made from, at most, by group."""
    return {group: pool_share(runs) for group, runs in Counter(map(_group, digests)).items()}


def _samples(
    good: Mapping[str, tuple[float, Digest]], shares: Mapping[_Group, int], where: Path
) -> dict[str, dict[str, Floats]]:
    """The samples of kept digests; `good`: with the instant at which each was made."""
    wanted = {
        run_id: (made_at_s, _ROW_BYTES * shares[_group(one)] if one.jobs is None else -1)
        for run_id, (made_at_s, one) in good.items()
    }
    found = {}
    for run_id, raw in kept_samples(wanted, where).items():
        with suppress(ValueError):
            sample = _sample_of(raw)
            if bool(len(sample["at_s"])) == bool(good[run_id][1].attempted):
                found[run_id] = sample
    return found


# The end of the year 9999: what is later is no instant, but damage.
_LATEST_S = 253_402_300_800.0
_ROW_BYTES = 8 * len(COLUMNS)


def _bytes_of(sample: Mapping[str, Floats]) -> bytes:
    """Row by row, in an order of which every beginning is spread evenly over the run."""
    rows = np.stack([sample[name] for name in COLUMNS], axis=1)
    return rows[spread(sample["job"])].tobytes()


def _sample_of(raw: bytes) -> dict[str, Floats]:
    """From bytes, or their beginning, in order of time. Raises ValueError for what are none."""
    rows = np.frombuffer(raw).reshape(-1, len(COLUMNS))
    if not (np.abs(rows[:, COLUMNS.index("at_s")]) < _LATEST_S).all():
        raise ValueError("instants that are none")
    order = np.lexsort((rows[:, COLUMNS.index("job")], rows[:, COLUMNS.index("at_s")]))
    return dict(zip(COLUMNS, rows[order].T.copy(), strict=True))


def _thinned(one: Digest, most: int) -> Mapping[str, Floats]:
    """The sample as it will be read when it is kept."""
    if one.jobs is not None:
        return one.sample
    places = evenly(one.sample["job"], most)
    return {name: values[places] for name, values in one.sample.items()}


def _still_good(kept: KeptHead | None, stamp: int, *, running: bool) -> Digest | None:
    if kept is None or kept.head.get("version") != VERSION:
        return None
    rest_s = max(_REST * kept.took_s, _SHORTEST_REST_S)
    if kept.stamp != stamp and not (running and 0.0 <= time.time() - kept.made_at_s < rest_s):
        return None
    try:
        return Digest.of(kept.head, {})
    except (KeyError, TypeError, ValueError):
        return None


def _stamp(where: Path, run_id: str, *, running: bool) -> int:
    """When the run's manifest and scores were last written, ns; 0 without either.

    Of one that grows also when its folder has changed: live traffic adds rows without a word in the manifest.
    """
    folder = runs_folder(where) / run_id
    latest = 0
    for name in (MANIFEST_NAME, SCORES_NAME, *([""] if running else [])):
        try:
            latest = max(latest, (folder / name).stat().st_mtime_ns)
        except OSError:
            continue
    return latest

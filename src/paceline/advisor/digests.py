"""Digests of all stored runs: those that are kept, and the others made from their runs."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paceline.advisor.digest import COLUMNS, VERSION, Digest, digest_of
from paceline.errors import StoreError
from paceline.report.model import Report, build_report
from paceline.store.digests import KeptDigest, keep_digests, kept_digests
from paceline.store.index import UNREADABLE
from paceline.store.manifest import MANIFEST_NAME
from paceline.store.paths import home, runs_folder
from paceline.store.runs import list_runs, open_run
from paceline.store.scores import SCORES_NAME, run_scores

Watch = Callable[[int, int], None]
# A run that still grows is read again after this many times what reading it took, and not within a minute.
_REST, _SHORTEST_REST_S = 20.0, 60.0


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

    A run that still grows (live traffic) has the digest of a moment ago.
    """
    where = at or home()
    entries = list_runs(at=where)
    kept = kept_digests(where)
    found: dict[str, Digest] = {}
    missing, problems = [], []
    for entry in entries:
        if entry.state == UNREADABLE:
            problems.append(Problem(entry.id, "its run.json cannot be read"))
            continue
        digest = _still_good(kept.get(entry.id), _stamp(where, entry.id), running=entry.state == "running")
        if digest is None:
            missing.append(entry.id)
        else:
            found[entry.id] = digest
    for number, run_id in enumerate(missing):
        watch(number, len(missing))
        try:
            found[run_id] = keep(build_report(open_run(run_id, at=where)), at=where)
        except StoreError as error:
            problems.append(Problem(run_id, error.message))
    if missing:
        watch(len(missing), len(missing))
    keep_digests([], kept.keys() - {entry.id for entry in entries}, at=where)
    digests = sorted(found.values(), key=lambda one: (one.started_at, one.run_id))
    return AllDigests(tuple(digests), tuple(problems))


def keep(report: Report, *, at: Path | None = None, since_s: float | None = None) -> Digest:
    """Make and keep the digest of a report's run. Raises StoreError when its scores cannot be read."""
    where = at or home()
    begun_s = time.perf_counter() if since_s is None else since_s
    run_id = report.manifest.id
    stamp = _stamp(where, run_id)
    digest = digest_of(report, stamp=stamp, capability=run_scores(runs_folder(where) / run_id))
    sample = np.stack([digest.sample[name] for name in COLUMNS])
    took_s = time.perf_counter() - begun_s
    keep_digests([KeptDigest(run_id, stamp, time.time(), took_s, digest.head(), sample.tobytes())], at=where)
    return digest


def _still_good(kept: KeptDigest | None, stamp: int, *, running: bool) -> Digest | None:
    if kept is None or kept.head.get("version") != VERSION:
        return None
    rest_s = max(_REST * kept.took_s, _SHORTEST_REST_S)
    if kept.stamp != stamp and not (running and 0.0 <= time.time() - kept.made_at_s < rest_s):
        return None
    try:
        sample = np.frombuffer(kept.sample).reshape(len(COLUMNS), -1)
        return Digest.of(kept.head, dict(zip(COLUMNS, sample, strict=True)))
    except (KeyError, TypeError, ValueError):
        return None


def _stamp(where: Path, run_id: str) -> int:
    """When the run's manifest and scores were last written, ns; 0 without either."""
    folder = runs_folder(where) / run_id
    latest = 0
    for name in (MANIFEST_NAME, SCORES_NAME):
        try:
            latest = max(latest, (folder / name).stat().st_mtime_ns)
        except OSError:
            continue
    return latest

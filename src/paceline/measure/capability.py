"""Scoring of a stored probe: what its answers are worth, as `paceline.capability/1`."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.compute as pc

from paceline.errors import ConfigError
from paceline.stats.answer_text import answer_text
from paceline.stats.binomial import exact_share, stratified_share
from paceline.store.runs import StoredRun
from paceline.store.scores import PROBE, SCHEMA, save_run_scores
from paceline.workloads.capability.answer import final_answer
from paceline.workloads.capability.items import Items
from paceline.workloads.plan import MAX_CALLS
from paceline.workloads.spec import WorkloadSpec

# How protocols say that an answer was ended by its limit.
_AT_LIMIT = frozenset({"length", "max_tokens", "max_output_tokens"})
_COLUMNS = ("request_index", "outcome", "finish_reason", "text", "event_kind", "event_bytes")


@dataclass
class Tally:
    """Items of one family.

    n: those that were answered in whatever way; solved: of them, fully right. unanswered: without a marked
    answer, truncated: ended by the limit of tokens; both count as not solved unless the answer was there.
    failed: the request failed, so that nothing is known of the item; they are not in n.
    """

    solved: int = 0
    n: int = 0
    unanswered: int = 0
    truncated: int = 0
    failed: int = 0


def is_probe(run: StoredRun) -> bool:
    """Whether the run's jobs are problems of the capability probe, and nothing else."""
    workload = run.manifest.workload
    return bool(workload.get("probe")) and not workload.get("equivalence")


def score_run(run: StoredRun) -> dict[str, Any]:
    """Score a run and keep the scores beside it; the document.

    Raises ConfigError for a run that is no probe, whose text was not kept, or whose problems cannot be made
    again; StoreError where the run cannot be read or the scores not be written.
    """
    if not is_probe(run):
        raise ConfigError(
            f"run {run.id} is no capability probe", "make one: paceline capability run URL --model M"
        )
    if not run.manifest.load.get("keep_text", True):
        raise ConfigError(f"run {run.id} has no text: it was made with --no-text", "make a new one")
    spec = WorkloadSpec.parse(run.manifest.workload, f"the workload of run {run.id}")
    assert spec.probe is not None
    items = Items(spec.probe)
    _check_prompts(run, items, spec)
    tallies = {name: Tally() for name in items.spec.families}
    seen = 0
    for index, row in _rows(run):
        if index >= len(items):
            continue
        seen += 1
        item = items.item(index)
        _count(tallies[item.family], row, lambda answer, item=item: items.score(item, answer))
    document = _document(run, spec, items, tallies, missing=len(items) - seen)
    save_run_scores(run.folder, document)
    return document


def _count(tally: Tally, row: Mapping[str, Any], score: Any) -> None:
    ended = row["finish_reason"] is not None
    if row["outcome"] != "ok" and not (row["outcome"] == "empty" and ended):
        tally.failed += 1
        return
    tally.n += 1
    tally.truncated += row["finish_reason"] in _AT_LIMIT
    answer = final_answer(_answer_of(row))
    if answer is None:
        tally.unanswered += 1
    # Partial credit is no share of solved items, and no binomial interval would hold for it.
    elif score(answer) >= 1.0:
        tally.solved += 1


def _answer_of(row: Mapping[str, Any]) -> str:
    return answer_text(row["text"] or "", row["event_kind"] or [], row["event_bytes"] or [])


def _rows(run: StoredRun) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each problem's row, by its number, from 0."""
    for batch in run.rows(_COLUMNS).to_batches(max_chunksize=256):
        for row in batch.to_pylist():
            yield int(row["request_index"]) // MAX_CALLS, row


def _check_prompts(run: StoredRun, items: Items, spec: WorkloadSpec) -> None:
    """ConfigError where the problems made now are not those that were asked."""
    asked = run.plan().select(["request_index", "prompt_sha256"])
    asked = asked.filter(pc.is_valid(asked["prompt_sha256"]))
    for row in asked.slice(0, 3 * len(items.spec.families)).to_pylist():
        index = int(row["request_index"]) // MAX_CALLS
        if index >= len(items):
            continue
        text = f"{spec.system or ''}{items.item(index).prompt}"
        if hashlib.sha256(text.encode()).hexdigest() != row["prompt_sha256"]:
            raise ConfigError(
                f"problem {index} of run {run.id} is not the one that its seed makes now",
                f"score it with {items.spec.library} and the Paceline {run.manifest.version} that asked it",
            )


def _document(
    run: StoredRun, spec: WorkloadSpec, items: Items, tallies: Mapping[str, Tally], *, missing: int
) -> dict[str, Any]:
    counted = list(tallies.values())
    counts = [(one.solved, one.n) for one in counted]
    with_failed = [(one.solved, one.n + one.failed) for one in counted]
    return {
        "schema": SCHEMA,
        "benchmark": PROBE,
        "version": f"{items.library} {items.config_sha256[:12]}",
        "library": items.library,
        "config_sha256": items.config_sha256,
        "run": run.id,
        "model": run.manifest.model,
        "seed": items.spec.seed,
        "items": len(items),
        "missing": missing,
        "asked": {
            "max_tokens": spec.max_tokens,
            "temperature": spec.temperature,
            "system": spec.system is not None,
            "extra": spec.extra,
        },
        "families": {name: {**asdict(one), **_exact(one.solved, one.n)} for name, one in tallies.items()},
        "total": {"solved": sum(one.solved for one in counted), **_stratified(counts)},
        "failed_as_wrong": _stratified(with_failed),
        "unanswered": sum(one.unanswered for one in counted),
        "truncated": sum(one.truncated for one in counted),
        "failed": sum(one.failed for one in counted),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _exact(solved: int, n: int) -> dict[str, float | None]:
    if not n:
        return {"share": None, "lo": None, "hi": None}
    found = exact_share(solved, n)
    return {"share": found.value, "lo": found.lo, "hi": found.hi}


def _stratified(counts: list[tuple[int, int]]) -> dict[str, float | None]:
    n = sum(one for _, one in counts)
    if not n:
        return {"n": 0, "share": None, "lo": None, "hi": None}
    found = stratified_share(counts)
    return {"n": n, "share": found.value, "lo": found.lo, "hi": found.hi}

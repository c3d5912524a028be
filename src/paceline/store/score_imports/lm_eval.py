"""Results of EleutherAI's lm-evaluation-harness: `results_*.json`."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paceline.store.score_imports.model import (
    FoundScores,
    bad,
    count,
    day,
    mapping,
    name,
    solved_of,
    source_of,
)
from paceline.store.scores import ImportedScore

# Each item is right or wrong by these; of others (f1, bleu ...) a share of whole items would be chance.
_BY_ITEM = frozenset(
    {"acc", "acc_norm", "acc_mutual_info", "exact_match", "em", "pass@1", "pass_at_1", "mcc1"}
)


def is_results(document: Any) -> bool:
    """Whether a JSON document holds results of the harness."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("results"), dict)
        and isinstance(document.get("config"), dict | None)
        and ("versions" in document or "lm_eval_version" in document)
    )


def read_results(document: Mapping[str, Any], path: Path, model: str | None) -> FoundScores:
    """The scores of a file of results. Raises ConfigError."""
    made_by = f"lm-eval {document['lm_eval_version']}" if document.get("lm_eval_version") else "lm-eval"
    notes: list[str] = []
    scores = list(_scores(document, path, made_by, model, notes))
    facts = {"tool": made_by, "git_hash": document.get("git_hash")}
    return FoundScores(scores, source_of(path, "lm-eval", facts), notes)


def _scores(
    document: Mapping[str, Any], path: Path, made_by: str, model: str | None, notes: list[str]
) -> Iterator[ImportedScore]:
    called = model or _model(document, path)
    date = day(document.get("date"), f"{path}: date")
    tables = {
        key: mapping(document.get(key), f"{path}: {key}")
        for key in ("versions", "n-shot", "n-samples", "higher_is_better", "results")
    }
    for task, one in tables["results"].items():
        where = f"{path}: results.{task:.100}"
        metrics = dict(_metrics(mapping(one, where), where))
        better = mapping(tables["higher_is_better"].get(task), f"{path}: higher_is_better")
        shares = {
            metric: value
            for metric, value in metrics.items()
            if 0.0 <= value <= 1.0 and better.get(metric.partition(",")[0]) is not False
        }
        if left := [metric for metric in metrics if metric not in shares]:
            notes.append(f"{task} {', '.join(left)}: left out, no share of which more is better"[:300])
        samples = mapping(tables["n-samples"].get(task), f"{path}: n-samples")
        n = samples.get("effective") or samples.get("original")
        n = None if n is None else count(n, f"{path}: n-samples.{task:.100}")
        if shares and n is None:
            notes.append(f"{task}: the number of its items is not in the file: no exact interval"[:300])
        for metric, value in shares.items():
            solved = solved_of(value, n) if n and metric.partition(",")[0] in _BY_ITEM else None
            yield ImportedScore(
                model=called,
                benchmark=_benchmark(name(task, where), metric, several=len(shares) > 1),
                version=_version(tables, task, made_by, where),
                date=date,
                score=value,
                solved=solved,
                n=n,
                stderr=_stderr(mapping(one, where), metric),
                source=made_by,
            )


def _metrics(one: Mapping[str, Any], where: str) -> Iterator[tuple[str, float]]:
    """Metrics by `name,filter`, as in `acc,none`; `acc` in older files."""
    for key, value in one.items():
        if "_stderr" in key or isinstance(value, str | bool | list | dict) or value is None:
            continue
        try:
            yield name(key, where), float(value)
        except OverflowError:
            yield name(key, where), math.inf


def _stderr(one: Mapping[str, Any], metric: str) -> float | None:
    base, comma, filter_ = metric.partition(",")
    value = one.get(f"{base}_stderr{comma}{filter_}")
    # "N/A" where the harness has made none.
    return abs(value) if isinstance(value, float) and math.isfinite(value) else None


def _benchmark(task: str, metric: str, *, several: bool) -> str:
    if not several:
        return task
    base, _, filter_ = metric.partition(",")
    return f"{task} {base}" if filter_ in ("", "none") else f"{task} {base} {filter_}"


def _version(tables: Mapping[str, Mapping[str, Any]], task: str, made_by: str, where: str) -> str:
    parts = [str(tables["versions"].get(task, "unversioned"))]
    shots = tables["n-shot"].get(task)
    if isinstance(shots, int):
        parts.append(f"{shots}-shot")
    return name(", ".join([*parts, made_by]), where)


def _model(document: Mapping[str, Any], path: Path) -> str:
    if document.get("model_name"):
        return name(document["model_name"], f"{path}: model_name")
    arguments = mapping(document.get("config"), f"{path}: config").get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    found = arguments if isinstance(arguments, dict) else {}
    called = found.get("model") or found.get("pretrained")
    if not called:
        raise bad(str(path), "it does not say which model was scored", "say it: --model NAME")
    return name(called, f"{path}: config.model_args")

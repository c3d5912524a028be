"""Logs of Inspect (UK AI Security Institute), `.json` and `.eval`.

A `.eval` is a zip whose `header.json` is the log without its samples, and `summaries.json` has these, short.
"""

import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from paceline.store.score_imports.model import (
    HINT,
    FoundScores,
    bad,
    count,
    day,
    mapping,
    name,
    number,
    parsed,
    solved_of,
    source_of,
)
from paceline.store.scores import ImportedScore

HEADER, SUMMARIES = "header.json", "summaries.json"
MOST_HEADER_BYTES = 64 << 20
# Of a score: correct, incorrect, partial, no answer; the metric accuracy counts them as 1, 0, 0.5 and 0.
_RIGHT, _WRONG = ("C", 1, 1.0, True), ("I", "N", 0, 0.0, False)
_SHARES = ("accuracy", "mean")


def is_log(document: Any) -> bool:
    """Whether a JSON document is a log of Inspect."""
    return isinstance(document, dict) and isinstance(document.get("eval"), dict) and "status" in document


def read_archive(data: bytes, path: Path) -> tuple[dict[str, Any], list[Any] | None]:
    """Header and summaries of a `.eval`. Raises ConfigError."""
    convert = f"turn it into JSON: inspect log convert {path.name} --to json --output-dir DIR"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            header = _member(archive, HEADER, path)
            if header is None:
                raise bad(str(path), f"there is no {HEADER} in it: the eval did not end, or this is no .eval")
            document = mapping(parsed(header, f"{path}, {HEADER}"), str(path))
            summaries = _member(archive, SUMMARIES, path)
    except NotImplementedError as error:
        raise bad(str(path), f"it is packed in a way that is not read here: {error}", convert) from None
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError) as error:
        raise bad(str(path), f"this .eval cannot be read: {error}", convert) from None
    listed = None if summaries is None else parsed(summaries, f"{path}, {SUMMARIES}")
    return document, listed if isinstance(listed, list) else None


def _member(archive: zipfile.ZipFile, name_: str, path: Path) -> bytes | None:
    try:
        info = archive.getinfo(name_)
    except KeyError:
        return None
    # Its size may be a lie, so that no more than this is ever unpacked.
    with archive.open(info) as file:
        data = file.read(MOST_HEADER_BYTES + 1)
    if len(data) > MOST_HEADER_BYTES:
        raise bad(str(path), f"{name_} has more than {MOST_HEADER_BYTES:,} bytes")
    return data


def read_log(document: Mapping[str, Any], path: Path, summaries: list[Any] | None = None) -> FoundScores:
    """The scores of a log; `summaries`: its samples, where they are not in it. Raises ConfigError."""
    spec = mapping(document.get("eval"), f"{path}: eval")
    results = mapping(document.get("results"), f"{path}: results")
    if not results.get("scores"):
        status = str(document.get("status"))
        raise bad(
            str(path), f"it has no results: the eval's status is {status!r:.40}", "let the eval end well"
        )
    listed = document.get("samples")
    samples = summaries if summaries is not None else listed if isinstance(listed, list) else None
    made_by = _made_by(spec, path)
    notes = _notes(document, spec)
    scores = list(_scores(spec, results, samples, path=path, notes=notes))
    facts = {"tool": made_by, "eval_id": str(spec.get("eval_id") or ""), "status": document.get("status")}
    return FoundScores(scores, source_of(path, "inspect", facts), notes)


def _scores(
    spec: Mapping[str, Any],
    results: Mapping[str, Any],
    samples: list[Any] | None,
    *,
    path: Path,
    notes: list[str],
) -> Iterator[ImportedScore]:
    made_by = _made_by(spec, path)
    task = name(spec.get("task"), f"{path}: eval.task")
    version = f"{name(spec.get('task_version', 0), f'{path}: eval.task_version')}, {made_by}"
    epochs = mapping(spec.get("config"), f"{path}: eval.config").get("epochs") or 1
    if not isinstance(results["scores"], list):
        raise bad(f"{path}: results.scores", "this is no list")
    several = len(results["scores"]) > 1
    for place, one in enumerate(results["scores"]):
        where = f"{path}: results.scores[{place}]"
        score = mapping(one, where)
        metrics = mapping(score.get("metrics"), f"{where}.metrics")
        metric = next((one for one in _SHARES if one in metrics), "")
        found = metrics.get(metric)
        scorer = name(score.get("name"), f"{where}.name")
        value = None if found is None else mapping(found, where).get("value")
        if found is None or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
            notes.append(f"{scorer} is left out: it has no share from 0 to 1 ({', '.join(_SHARES)})")
            continue
        n = score.get("scored_samples") or results.get("completed_samples") or None
        n = None if n is None else count(n, f"{where}.scored_samples")
        solved = _solved(float(value), n, scorer, samples, by_item=metric == "accuracy" and epochs == 1)
        if n is not None and solved is None:
            why = f"over {epochs} epochs" if epochs != 1 else "of credits"
            notes.append(f"{scorer} is a mean {why}, so that no exact interval holds for it")
        stderr = mapping(metrics.get("stderr"), f"{where}.metrics.stderr").get("value")
        yield ImportedScore(
            model=name(spec.get("model"), f"{path}: eval.model"),
            benchmark=f"{task} {scorer}" if several else task,
            version=version,
            date=day(spec.get("created"), f"{path}: eval.created"),
            score=float(value),
            solved=solved,
            n=n,
            stderr=None if stderr is None else abs(number(stderr, f"{where}.metrics.stderr")),
            source=made_by,
        )


def _made_by(spec: Mapping[str, Any], path: Path) -> str:
    packages = mapping(spec.get("packages"), f"{path}: eval.packages")
    return f"inspect {packages['inspect_ai']}"[:100] if packages.get("inspect_ai") else "inspect"


def _solved(
    value: float, n: int | None, scorer: str, samples: list[Any] | None, *, by_item: bool
) -> int | None:
    """How many were fully right; None where a share of whole items is not what the score is."""
    if not n or not by_item:
        return None
    if samples is not None:
        values = [found for one in samples if (found := _value(one, scorer)) is not None]
        if len(values) == n:
            right = sum(one in _RIGHT for one in values)
            return right if all(one in _RIGHT or one in _WRONG for one in values) else None
    return solved_of(value, n)


def _value(sample: Any, scorer: str) -> Any:
    scores = sample.get("scores") if isinstance(sample, dict) else None
    score = scores.get(scorer) if isinstance(scores, dict) else None
    value = score.get("value") if isinstance(score, dict) else None
    return value if isinstance(value, str | int | float) else None


def _notes(document: Mapping[str, Any], spec: Mapping[str, Any]) -> list[str]:
    notes = []
    if document.get("status") != "success":
        notes.append(f"the eval did not end well: its status is {document.get('status')!r:.40}")
    model = str(spec.get("model"))
    if "/" in model:
        notes.append(f"the model is called {model:.100} there; --model says what your runs call it ({HINT})")
    return notes

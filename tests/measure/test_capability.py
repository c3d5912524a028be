import json
import re
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.measure.capability import score_run
from paceline.protocols import DEFAULT_DIALECT
from paceline.stats.binomial import exact_share, stratified_share
from paceline.store.runs import StoredRun, open_run
from paceline.store.scores import run_scores
from paceline.store.writer import RunWriter
from paceline.workloads.capability.items import Items
from paceline.workloads.capability.source import ProbeSource
from paceline.workloads.jobs import JobBatches
from paceline.workloads.sources import job_source, pinned
from paceline.workloads.spec import WorkloadSpec
from tests.store.samples import manifest
from tests.support.rows import make_row, rows_table

FAMILIES = ["products", "spell_backward"]


def workload(items: int = 8, **more: Any) -> WorkloadSpec:
    probe = {"families": FAMILIES, "items": items, "seed": 5}
    return WorkloadSpec.parse({"probe": probe, "output_tokens": None, "max_tokens": 50, **more})


def answer(text: str, **columns: Any) -> dict[str, Any]:
    return {"text": text, "event_kind": [1], "event_bytes": [len(text.encode())], **columns}


def stored(home: Path, spec: WorkloadSpec, rows: dict[int, dict[str, Any]], **fields: Any) -> StoredRun:
    """A run of a probe in which each problem was answered as `rows` says."""
    source = job_source(spec)
    assert isinstance(source, ProbeSource)
    batches = JobBatches(source, "m", "openai-chat", DEFAULT_DIALECT, spec)
    told = manifest(workload=pinned(spec, source).to_dict(), **fields)
    with RunWriter.create(told, at=home) as writer:
        writer.append_plan(batches.take(len(source.items))[1])
        made = [
            make_row(
                **{
                    "request_index": index * 1024,
                    "session": index,
                    "step": 0,
                    "finish_reason": "stop",
                    "event_ms": (100.0,),
                    **row,
                }
            )
            for index, row in rows.items()
        ]
        writer.append(rows_table(made).to_batches()[0])
        writer.finish("complete")
        run_id = writer.id
    return open_run(run_id, at=home)


def right(spec: WorkloadSpec, index: int) -> str:
    assert spec.probe is not None
    return f"So it is.\nAnswer: {Items(spec.probe).item(index).entry['answer']}"


def test_each_item_is_counted_as_what_became_of_it(tmp_path: Path) -> None:
    spec = workload(10)
    hidden = "Answer: 0\n"
    rows = {
        0: answer(right(spec, 0)),
        1: answer(right(spec, 1)),
        2: answer("Answer: 0"),
        3: answer("I do not know."),
        4: answer(right(spec, 4), outcome="timeout", finish_reason=None),
        5: answer("", outcome="http_error", finish_reason=None, status=500),
        6: answer("It goes on and", finish_reason="length"),
        # All tokens went into hidden reasoning: the model's own doing.
        7: answer("", outcome="empty", finish_reason="length"),
        8: {
            "text": right(spec, 8) + hidden,
            "event_kind": [1, 2],
            "event_ms": (100.0, 110.0),
            "event_bytes": [len(right(spec, 8)), len(hidden)],
        },
    }
    found = score_run(stored(tmp_path, spec, rows))
    products, spelling = found["families"]["products"], found["families"]["spell_backward"]
    counts = ("solved", "n", "unanswered", "truncated", "failed")
    assert [products[key] for key in counts] == [2, 4, 1, 1, 1]
    assert [spelling[key] for key in counts] == [1, 3, 2, 1, 1]
    assert [found[key] for key in ("items", "missing", "unanswered", "truncated", "failed")] == [
        10,
        1,
        3,
        2,
        2,
    ]
    exact = exact_share(2, 4)
    assert (products["share"], products["lo"], products["hi"]) == (0.5, exact.lo, exact.hi)
    total = stratified_share([(2, 4), (1, 3)])
    assert found["total"] == {"solved": 3, "n": 7, "share": total.value, "lo": total.lo, "hi": total.hi}
    wrong = stratified_share([(2, 5), (1, 4)])
    assert found["failed_as_wrong"] == {"n": 9, "share": wrong.value, "lo": wrong.lo, "hi": wrong.hi}


def test_the_document_pins_what_was_asked_and_is_kept(tmp_path: Path) -> None:
    spec = workload(4, temperature=0.5, extra={"reasoning_effort": "low"})
    run = stored(tmp_path, spec, {index: answer(right(spec, index)) for index in range(4)})
    found = score_run(run)
    assert run_scores(run.folder) == found == json.loads(json.dumps(found))
    assert spec.probe is not None
    items = Items(spec.probe)
    assert found["version"] == f"{items.library} {items.config_sha256[:12]}"
    assert (found["benchmark"], found["seed"], found["model"], found["run"]) == ("probe", 5, "sim", run.id)
    assert found["asked"] == {
        "max_tokens": 50,
        "temperature": 0.5,
        "system": False,
        "extra": {"reasoning_effort": "low"},
    }
    assert found["total"]["share"] == 1.0


def test_a_run_of_which_every_request_failed_has_no_share(tmp_path: Path) -> None:
    rows = {index: answer("", outcome="connect_error", finish_reason=None) for index in range(8)}
    found = score_run(stored(tmp_path, workload(), rows))
    assert found["total"] == {"solved": 0, "n": 0, "share": None, "lo": None, "hi": None}
    assert found["failed_as_wrong"]["share"] == 0.0
    assert found["failed"] == 8


def test_a_run_that_is_no_probe_or_has_no_text_is_refused(tmp_path: Path) -> None:
    with RunWriter.create(manifest(), at=tmp_path) as writer:
        writer.finish("complete")
        run_id = writer.id
    with pytest.raises(ConfigError, match="no capability probe"):
        score_run(open_run(run_id, at=tmp_path))
    run = stored(tmp_path, workload(2), {0: answer("Answer: 1")}, load={"keep_text": False})
    with pytest.raises(ConfigError, match="has no text"):
        score_run(run)


def test_problems_that_are_not_the_ones_that_were_asked_are_refused(tmp_path: Path) -> None:
    run = stored(tmp_path, workload(4), {0: answer("Answer: 1")})
    run.manifest.workload["probe"]["seed"] = 6
    with pytest.raises(ConfigError, match="problem 0 of run"):
        score_run(run)


def test_the_page_has_every_key_of_the_document(tmp_path: Path) -> None:
    found = score_run(stored(tmp_path, workload(2), {0: answer("Answer: 1")}))
    page = (Path(__file__).parents[2] / "docs" / "reference" / "capability.md").read_text()
    section = page.split("## `capability.json`: `paceline.capability/1`\n")[1].split("\n## ")[0]
    whole, family = section.split("Of each family:")
    told = [re.findall(r"^\| (.+?) \|", part, re.MULTILINE) for part in (whole, family)]
    keys = [re.findall(r"`(\w+)`", " ".join(cells)) for cells in told]
    assert sorted(keys[0]) == sorted(found)
    assert sorted(keys[1]) == sorted(found["families"]["products"])

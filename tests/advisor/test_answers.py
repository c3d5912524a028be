"""The answers of a stored run."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paceline.advisor.answers import answers_of
from paceline.errors import ConfigError
from paceline.store.runs import StoredRun, open_run
from paceline.store.schema import PLAN_SCHEMA
from paceline.store.writer import RunWriter
from tests.store.samples import manifest, progress
from tests.support.rows import make_row, rows_table


def stored(home: Path, rows: list[dict[str, Any]], hashes: list[str | None], **fields: Any) -> StoredRun:
    plan = [
        {"request_index": place, "prompt_sha256": one, "output_tokens_asked": 40}
        for place, one in enumerate(hashes)
    ]
    with RunWriter.create(manifest(**fields), at=home) as writer:
        writer.append_plan(pa.Table.from_pylist(plan, schema=PLAN_SCHEMA))
        writer.append(rows_table(rows).to_batches()[0])
        writer.append_progress(progress())
        writer.finish("complete")
        return open_run(writer.id, at=home)


def test_by_prompt_and_by_kind(tmp_path: Path) -> None:
    rows = [
        make_row(request_index=0, text="first", event_ms=(1.0,), event_bytes=[5]),
        make_row(request_index=1, outcome="empty", event_ms=(), text=""),
        make_row(request_index=2, outcome="timeout", event_ms=(), text=""),
        make_row(request_index=3, text="again", event_ms=(1.0,), event_bytes=[5]),
        make_row(
            request_index=4, text="No.", event_ms=(1.0,), event_bytes=[3], finish_reason="content_filter"
        ),
        make_row(request_index=5, text="warm", event_ms=(1.0,), event_bytes=[4], phase="warmup"),
        make_row(
            request_index=6,
            text="hm hm",
            event_ms=(1.0,),
            event_bytes=[5],
            event_kind=[2],
            reasoning_tokens=2,
        ),
    ]
    found = answers_of(stored(tmp_path, rows, ["x", "y", "z", "x", "u", "x", "v"]))
    assert {prompt: [one.kind for one in given] for prompt, given in found.by_prompt.items()} == {
        "x": ["answered", "answered"],
        "y": ["empty"],
        "z": ["failed"],
        "u": ["refused"],
        "v": ["empty"],
    }
    assert [one.text for one in found.by_prompt["x"]] == ["first", "again"]
    assert found.passes == 2
    assert found.limits["x"] == 40


def test_runs_without_texts_and_without_prompts_are_refused(tmp_path: Path) -> None:
    row = [make_row()]
    with pytest.raises(ConfigError, match="--no-text"):
        answers_of(stored(tmp_path, row, ["x"], load={"keep_text": False}))
    with pytest.raises(ConfigError, match="not known what was asked"):
        answers_of(stored(tmp_path, row, [None]))

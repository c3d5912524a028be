"""Files with something wrong anywhere in them: refused in words, or stored and shown; never anything else."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from paceline.errors import ConfigError
from paceline.report.conformance.model import conformance
from paceline.report.conformance.text import render_text
from paceline.report.conformance.tools import definitions
from paceline.report.model import build_report
from paceline.store.imports.files import read_file
from paceline.store.imports.run import ImportedRun, store_run
from paceline.store.runs import open_run
from paceline.store.schema import ROW_SCHEMA
from tests.store.imports.recorded import AIPERF, GUIDELLM, vllm_result

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 0, 3.5, 1e300, 10**400, float("nan"), float("inf"), 10**17),
    *("", "x", "\ud800", "\x1b[2J\x00", [], [[]], {}, {"a": 1}, [None]),
)
ROUNDS = 60
STORED = 10


def places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every container and key in a document."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in list(items):
        yield document, key
        if isinstance(value, dict | list) and value:
            yield from places(value)


def damaged(document: Any, rng: random.Random) -> Any:
    made = copy.deepcopy(document)
    for _ in range(rng.choice((1, 1, 3))):
        container, key = rng.choice(list(places(made)))
        if rng.random() < 0.2:
            del container[key]
        else:
            container[key] = copy.deepcopy(rng.choice(WRONG))
        if not made:
            break
    return made


def documents() -> dict[str, list[Any]]:
    return {
        "guidellm": [json.loads(GUIDELLM.read_text())],
        "aiperf": [json.loads(line) for line in AIPERF.read_text().splitlines()],
        "vllm": [vllm_result()],
    }


@pytest.mark.parametrize("form", ["guidellm", "aiperf", "vllm"])
def test_a_damaged_file(form: str, tmp_path: Path) -> None:
    rng = random.Random(f"damage {form}")
    whole = documents()[form]
    if form == "guidellm":
        # Fewer places that nothing is read from.
        for benchmark in whole[0]["benchmarks"]:
            benchmark["requests"]["successful"] = benchmark["requests"]["successful"][:3]
    path = tmp_path / "file.json"
    read = 0
    for number in range(ROUNDS):
        made = damaged(whole, rng)
        path.write_text("\n".join(json.dumps(one) for one in made))
        runs, said = read_or_refused(path, form)
        assert "file.json" in said or runs
        read += bool(runs)
        for run in runs:
            rows = [row.to_row(0) for row in run.rows]
            assert pa.Table.from_pylist(rows, schema=ROW_SCHEMA).num_rows == len(rows)
            assert run.manifest(path, None).to_json()
        # What takes long is done now and then.
        if runs and number % STORED == 0:
            report = build_report(open_run(store_run(runs[0], path, at=tmp_path), at=tmp_path))
            render_text(conformance(report, definitions(["all"])))
    assert 0 < read < ROUNDS


@pytest.mark.parametrize("form", ["guidellm", "aiperf", "vllm"])
def test_names_and_errors_steer_no_terminal(form: str, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    made = documents()[form]
    for container, key in list(places(made)):
        if isinstance(container[key], str) and not container[key][:4].isdigit():
            container[key] += "\x1b[2J\u202e\x9b"
    path.write_text("\n".join(json.dumps(one) for one in made))
    if form == "aiperf":
        summary = {
            "aiperf_version": "1\x1b[2J",
            "input_config": {"endpoint": {"urls": ["http://a\x1b[2J/b"]}},
        }
        (tmp_path / "profile_export_aiperf.json").write_text(json.dumps(summary))
        path = path.rename(tmp_path / "profile_export.jsonl")
    for run in read_file(path, form):
        said = [run.manifest(path, None).model, run.manifest(path, None).endpoint, run.tool_version or ""]
        said += [row.error or "" for row in run.rows]
        assert [one for one in said if not one.isprintable()] == []


def read_or_refused(path: Path, form: str) -> tuple[list[ImportedRun], str]:
    try:
        return read_file(path, form), ""
    except ConfigError as error:
        return [], error.message

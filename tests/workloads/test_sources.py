from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.workloads.sessions import SessionSource
from paceline.workloads.sources import has_several_calls, job_source, pinned, read_report, timed
from paceline.workloads.spec import WorkloadSpec
from tests.support.traces import mooncake_rows, write_mooncake


def test_plain_requests_have_no_source_of_jobs() -> None:
    spec = WorkloadSpec()
    assert job_source(spec) is None
    assert pinned(spec, None) == spec
    assert read_report(None) is None
    assert not timed(None)
    assert not has_several_calls(None)


def test_calls() -> None:
    spec = WorkloadSpec.parse({"call": [{"name": "a"}, {"name": "b"}]})
    found = job_source(spec)
    assert isinstance(found, SessionSource)
    assert pinned(spec, found) == spec
    assert has_several_calls(found)


def test_data(tmp_path: Path) -> None:
    path = tmp_path / "p.txt"
    path.write_text("one\ntwo\n")
    spec = WorkloadSpec.parse({"data": {"path": str(path)}})
    found = job_source(spec)
    report = read_report(found)
    assert report is not None
    assert report.sentences()[0] == "data p.txt: 2 of 2 rows used"
    assert not timed(found)
    assert not has_several_calls(found)
    stored = WorkloadSpec.parse(pinned(spec, found).to_dict())
    assert stored.data is not None
    assert stored.data.sha256 == report.sha256
    path.write_text("one\n")
    with pytest.raises(ConfigError, match="has changed"):
        job_source(stored)


def test_trace(tmp_path: Path) -> None:
    path = write_mooncake(tmp_path / "t.jsonl", mooncake_rows(3))
    spec = WorkloadSpec.parse({"trace": {"path": str(path)}})
    found = job_source(spec)
    assert timed(found)
    assert not has_several_calls(found)
    stored = pinned(spec, found)
    assert stored.trace is not None
    assert stored.trace.sha256

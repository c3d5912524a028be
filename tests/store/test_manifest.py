import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError, StoreError
from paceline.store.manifest import RunManifest, check_name, new_run_id, read_manifest
from tests.store.samples import manifest, progress


def test_ids_sort_by_time() -> None:
    earlier = new_run_id(datetime(2026, 11, 30, 7, 15, 2, tzinfo=UTC))
    later = new_run_id(datetime(2026, 11, 30, 7, 15, 3, tzinfo=UTC))
    assert re.fullmatch(r"20261130-071502-[2-9a-z]{4}", earlier)
    assert earlier < later


def test_round_trip(tmp_path: Path) -> None:
    made = manifest(
        id=tmp_path.name,
        name="nightly",
        segments=[progress(0), progress(1)],
        slo={"ttft_ms": 500.0},
        calibration={"a": 1},
    )
    made.write(tmp_path)
    assert read_manifest(tmp_path) == made
    assert json.loads((tmp_path / "run.json").read_text())["schema"] == "paceline.run/1"
    assert made.origins == {0: 1_000_000, 1: 2_000_000}


def test_credentials_in_the_endpoint_do_not_reach_the_disk() -> None:
    made = manifest(endpoint="https://user:secret@example.test:8443/v1")
    assert made.endpoint == "https://example.test:8443/v1"


def test_a_newer_schema_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": "paceline.run/2", "id": "x"}')
    with pytest.raises(StoreError, match=r"paceline\.run/2") as caught:
        read_manifest(tmp_path)
    assert caught.value.hint is not None
    assert "upgrade Paceline" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "damaged"), ("[]", "schema None"), ('{"schema": "other/1"}', "schema"), (b"\xff\xfe", "damaged")],
)
def test_what_is_no_manifest(tmp_path: Path, text: str | bytes, message: str) -> None:
    (tmp_path / "run.json").write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(StoreError, match=message):
        read_manifest(tmp_path)


def test_a_wrong_field_is_named(tmp_path: Path) -> None:
    document = json.loads(manifest().to_json())
    document["state"] = "sleeping"
    (tmp_path / "run.json").write_text(json.dumps(document))
    with pytest.raises(StoreError, match="damaged: state"):
        read_manifest(tmp_path)


def test_keys_of_a_later_version_survive(tmp_path: Path) -> None:
    document = json.loads(manifest(id=tmp_path.name).to_json())
    document["added_later"] = [1, 2]
    (tmp_path / "run.json").write_text(json.dumps(document))
    read_manifest(tmp_path).write(tmp_path)
    assert json.loads((tmp_path / "run.json").read_text())["added_later"] == [1, 2]


@pytest.mark.parametrize(
    "imported",
    [
        {},
        {"tool": 3},
        {"tool": "x", "lacks": "all"},
        {"tool": "x", "hidden": [1]},
        {"tool": "x", "figures": []},
        {"tool": "x", "figures": {"ttft_ms": 3}},
        {"tool": "x", "figures": {"ttft_ms": {"p50": "fast"}}},
    ],
)
def test_what_an_import_says_must_be_usable(imported: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="imported"):
        manifest(imported=imported)
    assert manifest(imported={"tool": "x", "figures": {"ttft_ms": {"p50": None}}}).imported is not None


def test_names() -> None:
    assert check_name(" nightly ") == "nightly"
    for bad in ("", " ", "latest", "a\nb", "x" * 101):
        with pytest.raises(ConfigError):
            check_name(bad)


def test_the_manifest_has_the_fields_of_the_contract() -> None:
    assert set(json.loads(manifest().to_json())) == {
        *("schema", "id", "name", "version", "started_at", "finished_at", "state", "endpoint", "model"),
        *("protocol", "streaming", "workload", "load", "slo", "host", "segments", "calibration", "notes"),
        *("imported", "server", "offer"),
    }
    assert RunManifest.model_fields["schema_name"].alias == "schema"


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"segments": [{}]}, r"segments: segments\[0\]\.segment is missing"),
        ({"segments": [{"segment": "x"}]}, r"segments\[0\]\.segment is 'x', not a whole number"),
        ({"segments": [progress(origin_ns=10**30)]}, r"segments\[0\]\.origin_ns is 1000"),
        ({"segments": [progress(dropped="many")]}, r"segments\[0\]\.dropped is 'many'"),
        ({"segments": [progress(read_lag_ns={"p50": 1})]}, r"read_lag_ns\.p99 is missing"),
        ({"segments": 3}, "segments: "),
        ({"slo": {"bogus": 1}}, "slo: 'bogus' is no metric"),
        ({"slo": {"ttft_ms": None}}, "slo: ttft_ms is missing, not a number"),
        ({"slo": {"ttft_ms": -1}}, "slo: ttft_ms is -1, not more than 0"),
        ({"calibration": {"instrument_error_us": {"p50": "x"}}}, "instrument_error_us.p50 is 'x'"),
        ({"calibration": {"itl_error_us": 3}}, "itl_error_us holds no p50 and p99"),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, "started_at: it is out of range"),
        ({"finished_at": "9999-12-31T23:59:59-14:00"}, "finished_at: it is out of range"),
        ({"load": {"arrival": "closed"}}, "load: arrival is 'closed', not an object"),
        ({"load": {"arrival": {"kind": ["closed"]}}}, "load: arrival.kind is .*, not a text"),
        ({"load": {"arrival": {"kind": "ramp", "from_requests_s": "x"}}}, "from_requests_s is 'x', not a"),
        ({"load": {"requests": "many"}}, "load: requests is 'many', not a whole number"),
        ({"workload": {"extra": "x"}}, "workload: extra is 'x', not an object"),
        ({"workload": {"probe": 3}}, "workload: probe is 3, not an object"),
        ({"id": "../../x"}, r"id: it is '\.\./\.\./x'"),
    ],
)
def test_what_reports_calculate_with_is_checked(tmp_path: Path, fields: dict[str, Any], named: str) -> None:
    document = json.loads(manifest(id=tmp_path.name).to_json()) | fields
    (tmp_path / "run.json").write_text(json.dumps(document))
    with pytest.raises(StoreError, match=f"run.json of run .* is damaged: .*{named}") as caught:
        read_manifest(tmp_path)
    assert "paceline runs delete" in (caught.value.hint or "")


def test_a_manifest_nested_without_end_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("[" * 100_000)
    with pytest.raises(StoreError, match="damaged: it is nested too deeply"):
        read_manifest(tmp_path)

"""Probes on disk: one file an endpoint, whole or not there."""

import json
from pathlib import Path

from paceline.store.probes import load_probe, probe_file, probes_folder, save_probe


def test_a_probe_is_found_by_its_endpoint_alone(tmp_path: Path) -> None:
    first = {"schema": "paceline.probe/1", "endpoint": "http://h:8000/v1", "model": "a"}
    other = first | {"endpoint": "http://h:8000/v1/x"}
    assert load_probe("http://h:8000/v1", tmp_path) is None
    path = save_probe(first, tmp_path)
    save_probe(other, tmp_path)
    assert load_probe("http://h:8000/v1", tmp_path) == first
    assert load_probe("https://h:8000/v1", tmp_path) is None
    save_probe(first | {"model": "b"}, tmp_path)
    assert json.loads(path.read_text())["model"] == "b"
    assert len(list(probes_folder(tmp_path).iterdir())) == 2


def test_names_of_files_say_which_endpoint_and_stay_short(tmp_path: Path) -> None:
    assert probe_file("https://api.example.com/v1", tmp_path).name.startswith("api.example.com-v1-")
    long = probe_file("http://[::1]:8000/" + "a/../" * 200, tmp_path)
    assert long.parent == probes_folder(tmp_path)
    assert len(long.name) < 100


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    endpoint = "http://h/v1"
    path = save_probe({"endpoint": endpoint}, tmp_path)
    for text in ("", "{", "[]", "[" * 100_000, '{"endpoint": "http://other/v1"}'):
        path.write_text(text)
        assert load_probe(endpoint, tmp_path) is None

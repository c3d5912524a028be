import sqlite3
from pathlib import Path

import pytest

from paceline.store.digests import (
    KeptDigest,
    digests_file,
    keep_digests,
    kept_digests,
    kept_heads,
    kept_samples,
)


def kept(run_id: str, **fields: object) -> KeptDigest:
    given = {"stamp": 5, "made_at_s": 100.5, "took_s": 0.25, "head": {"n": 1}, "sample": bytes(range(64))}
    return KeptDigest(run_id, **{**given, **fields})  # type: ignore[arg-type]


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    assert kept_digests(tmp_path) == {}
    assert not digests_file(tmp_path).exists()
    keep_digests([kept("a"), kept("b", stamp=6)], at=tmp_path)
    found = kept_digests(tmp_path)
    assert {run_id: one.stamp for run_id, one in found.items()} == {"a": 5, "b": 6}
    assert found["a"].head == {"n": 1}
    assert (found["a"].made_at_s, found["a"].took_s) == (100.5, 0.25)
    assert kept_heads(["b", "c"], tmp_path) == {"b": {"n": 1}}
    assert kept_heads([], tmp_path) == {}


def test_a_digest_replaces_the_one_before_and_goes_with_its_run(tmp_path: Path) -> None:
    keep_digests([kept("a"), kept("b")], at=tmp_path)
    keep_digests([kept("a", stamp=9)], ["b"], at=tmp_path)
    assert {run_id: one.stamp for run_id, one in kept_digests(tmp_path).items()} == {"a": 9}


def test_of_samples_the_beginning_is_read_of_what_was_asked_for(tmp_path: Path) -> None:
    long = bytes(range(256)) * 500
    keep_digests([kept("a", sample=long), kept("b"), kept("c", made_at_s=7.0)], at=tmp_path)
    wanted = {"a": (100.5, 1000), "b": (100.5, -1), "c": (100.5, 8)}
    # `c` was made anew since its head was read.
    assert kept_samples(wanted, tmp_path) == {"a": long[:1000], "b": bytes(range(64))}
    assert kept_samples({"b": (100.5, 1000)}, tmp_path) == {"b": bytes(range(64))}
    assert kept_samples({}, tmp_path) == {}


def test_a_damaged_cache_is_made_anew(tmp_path: Path) -> None:
    keep_digests([kept("a")], at=tmp_path)
    digests_file(tmp_path).write_bytes(b"no database" * 500)
    assert kept_digests(tmp_path) == {}
    keep_digests([kept("b")], at=tmp_path)
    assert set(kept_digests(tmp_path)) == {"b"}


def test_a_damaged_head_is_left_out(tmp_path: Path) -> None:
    keep_digests([kept("a"), kept("b")], at=tmp_path)
    with sqlite3.connect(digests_file(tmp_path)) as connection:
        connection.execute("UPDATE digests SET head = '{' WHERE run_id = 'a'")
    assert set(kept_digests(tmp_path)) == {"b"}
    assert kept_heads(["a", "b"], tmp_path) == {"b": {"n": 1}}


def test_without_a_place_to_write_it_is_done_without(tmp_path: Path) -> None:
    nowhere = tmp_path / "no" / "such"
    assert not keep_digests([kept("a")], at=nowhere)
    assert kept_digests(nowhere) == {}


def test_a_locked_cache_is_done_without_and_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paceline.store.digests._WAIT_S", 0.01)
    keep_digests([kept("a")], at=tmp_path)
    other = sqlite3.connect(digests_file(tmp_path))
    other.execute("BEGIN EXCLUSIVE")
    assert kept_digests(tmp_path) == {}
    assert kept_samples({"a": (100.5, 8)}, tmp_path) == {}
    assert not keep_digests([kept("b")], at=tmp_path)
    other.close()
    assert set(kept_digests(tmp_path)) == {"a"}

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from paceline.errors import ConfigError
from paceline.store.score_imports.files import read_scores
from paceline.store.score_imports.inspect_log import MOST_HEADER_BYTES
from paceline.store.scores import ImportedScore
from tests.store.score_imports.samples import DATA

SCORE = ImportedScore(
    "vllm/tiny",
    "arithmetic",
    "3, inspect 0.3.160",
    "2026-11-20",
    0.75,
    solved=6,
    n=8,
    stderr=0.16366341767699427,
    source="inspect 0.3.160",
)


def log() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((DATA / "inspect.json").read_text())
    return document


def written(folder: Path, document: Any) -> Path:
    path = folder / "log.json"
    path.write_text(json.dumps(document))
    return path


def archive(folder: Path, *, compression: int = zipfile.ZIP_DEFLATED, **members: Any) -> Path:
    path = folder / "log.eval"
    with zipfile.ZipFile(path, "w", compression) as packed:
        for name, content in members.items():
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            packed.writestr(f"{name}.json", text)
    return path


def header() -> dict[str, Any]:
    return {key: value for key, value in log().items() if key != "samples"}


def test_a_log_as_json_has_name_version_date_and_counts() -> None:
    found = read_scores(DATA / "inspect.json")
    assert found.scores == [SCORE]
    assert found.source == {
        "file": "inspect.json",
        "format": "inspect",
        "tool": "inspect 0.3.160",
        "eval_id": "mYbV3sWzZ4wCqUqJ2n7QkT",
        "status": "success",
    }
    assert len(found.notes) == 1
    assert "vllm/tiny" in found.notes[0]
    assert "--model" in found.notes[0]


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_log_as_eval_gives_the_same(tmp_path: Path, compression: int) -> None:
    summaries = log()["samples"]
    path = archive(tmp_path, compression=compression, header=header(), summaries=summaries)
    assert read_scores(path).scores == [SCORE]
    bare = archive(tmp_path, compression=compression, header=header())
    assert read_scores(bare, model="tiny").scores[0].solved == 6


def test_partial_credit_and_several_epochs_have_no_exact_count(tmp_path: Path) -> None:
    document = log()
    # One half and one half are a whole, which must not pass for an item solved.
    document["samples"][2]["scores"]["match"]["value"] = "P"
    document["samples"][0]["scores"]["match"]["value"] = "P"
    found = read_scores(written(tmp_path, document))
    assert (found.scores[0].solved, found.scores[0].n) == (None, 8)
    assert any("of credits" in note for note in found.notes)
    document = header()
    document["eval"]["config"]["epochs"] = 4
    found = read_scores(written(tmp_path, document))
    assert found.scores[0].solved is None
    assert any("over 4 epochs" in note for note in found.notes)


def test_several_scorers_have_names_of_their_own_and_one_without_a_share_is_left_out(tmp_path: Path) -> None:
    document = header()
    other = json.loads(json.dumps(document["results"]["scores"][0]))
    other["name"] = "model_graded"
    words = {"name": "words", "scorer": "words", "metrics": {"mean": {"name": "mean", "value": 212.5}}}
    document["results"]["scores"] += [other, words]
    found = read_scores(written(tmp_path, document))
    assert [one.benchmark for one in found.scores] == ["arithmetic match", "arithmetic model_graded"]
    assert any("words is left out" in note for note in found.notes)


def test_an_eval_that_failed_half_way_is_marked(tmp_path: Path) -> None:
    document = {**header(), "status": "error"}
    assert any("did not end well" in note for note in read_scores(written(tmp_path, document)).notes)


def changed(path: str, value: Any) -> dict[str, Any]:
    document = header()
    place: Any = document
    *way, last = path.split(".")
    for part in way:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = value
    return document


@pytest.mark.parametrize(
    ("document", "says"),
    [
        (changed("results", None), "no results"),
        (changed("results.scores", 7), "no list"),
        (changed("results.scores", [7]), "no object"),
        (changed("results.scores.0.metrics", 7), "no object"),
        (changed("results.scores.0.metrics", {"accuracy": {"value": 3}}), "no score in it"),
        (changed("results.scores.0.scored_samples", -1), "no count"),
        (changed("results.scores.0.scored_samples", "many"), "no number"),
        (changed("eval.created", "soon"), "no date"),
        (changed("eval.task", ""), "no name"),
        (changed("eval.model", {"a": 1}), "no name"),
        (changed("eval.packages", 7), "no object"),
        (changed("eval.task", "probe"), "Paceline's own"),
        (changed("eval.task", "a\x1b[2Jb"), "printable"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, document: Any, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read_scores(written(tmp_path, document))


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"PK\x03\x04" + b"\0" * 500])
def test_a_broken_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"this \.eval cannot be read"):
        read_scores(path)


def test_an_archive_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no header\.json"):
        read_scores(archive(tmp_path, other={}))
    with pytest.raises(ConfigError, match="not JSON"):
        read_scores(archive(tmp_path, header="{"))
    with pytest.raises(ConfigError, match="no results"):
        read_scores(archive(tmp_path, header={}))


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, compression=zipfile.ZIP_STORED, header=header())
    data = bytearray(path.read_bytes())
    data[60] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_scores(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path, header=b" " * (MOST_HEADER_BYTES + 1))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(ConfigError, match="more than 67,108,864 bytes"):
        read_scores(path)


def test_a_packing_that_is_not_known_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = archive(tmp_path, compression=zipfile.ZIP_STORED, header=header())
    data = path.read_bytes()
    # Method 93, Zstandard, which this Python may not know, in both heads of the member.
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer) as packed:
        start = packed.start_dir
    patched = bytearray(data)
    patched[8:10] = (99).to_bytes(2, "little")
    patched[start + 10 : start + 12] = (99).to_bytes(2, "little")
    path.write_bytes(patched)
    with pytest.raises(ConfigError, match="packed in a way") as refused:
        read_scores(path)
    assert refused.value.hint is not None
    assert "inspect log convert log.eval --to json" in refused.value.hint

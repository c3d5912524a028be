from pathlib import Path

import pytest

from paceline.toml_file import Problem, TomlFileError, dotted, key_hint, read_toml


def test_what_a_file_says_and_where(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('# first\n[part]\nname = "x"\n')
    data, lines = read_toml(path, "look for it")
    assert data == {"part": {"name": "x"}}
    assert lines["part", "name"] == 3


@pytest.mark.parametrize(
    ("raw", "message", "line"),
    [
        (b"a = 1\nb = [\n", "not TOML", 2),
        (b"a = \xff", "it is not UTF-8", None),
        (b"a = " + b"[" * 100_000, "nested too deeply", None),
    ],
)
def test_what_is_no_toml(tmp_path: Path, raw: bytes, message: str, line: int | None) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(raw)
    with pytest.raises(TomlFileError, match=message) as caught:
        read_toml(path, "look for it")
    assert str(path) in caught.value.message
    assert line is None or (caught.value.problem.line or 0) >= line


def test_no_file_and_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(TomlFileError, match="there is no such file") as caught:
        read_toml(tmp_path / "none.toml", "look for it")
    assert caught.value.hint == "look for it"
    with pytest.raises(TomlFileError, match="it is no file"):
        read_toml(tmp_path, "look for it")


def test_how_a_problem_is_said() -> None:
    assert Problem("a.b", "it is wrong", None, 7).said(Path("f.toml")) == "f.toml:7: a.b: it is wrong"
    assert Problem("", "it is wrong").said(Path("f.toml")) == "f.toml: it is wrong"
    assert dotted(("price", "ref", 1, "x")) == "price.ref[1].x"
    assert key_hint("lisen", ["listen", "seed"]) == "did you mean `listen`?"
    assert key_hint("zzz", ["listen", "seed"]) == "keys are: listen, seed"
    assert key_hint("zzz", []) is None

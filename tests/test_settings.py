"""`paceline.toml`."""

from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.settings import Settings, load_settings, settings_file


@pytest.fixture(autouse=True)
def _nobodys_own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACELINE_CONFIG", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "paceline.toml"
    file.write_text(text)
    return file


FULL = """
[measure]
threads = 2
timeout = "90s"
slo = { ttft_ms = 500, itl_ms = 50.5 }
tokenizer = "words"
api_key_env = "MY_KEY"
headers_env = { X-Team = "TEAM_TOKEN" }
ca_file = "~/ca.pem"

[store]
home = "~/measurements"
"""


def test_a_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("TEAM_TOKEN", "team-secret")
    settings = load_settings(written(tmp_path, FULL))
    measure = settings.measure
    assert (measure.threads, measure.timeout, measure.tokenizer, measure.api_key_env) == (
        2,
        "90s",
        "words",
        "MY_KEY",
    )
    assert measure.slo == {"ttft_ms": 500, "itl_ms": 50.5}
    assert measure.ca_file == Path("/home/someone/ca.pem")
    assert settings.store.home == Path("/home/someone/measurements")
    assert measure.headers() == ("X-Team: team-secret",)
    assert "team-secret" not in repr(settings)
    monkeypatch.delenv("TEAM_TOKEN")
    with pytest.raises(ConfigError, match="TEAM_TOKEN is not set"):
        measure.headers()


def test_where_the_file_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "config" / "paceline" / "paceline.toml"
    assert settings_file() == (own, False)
    assert load_settings() == Settings()
    own.parent.mkdir(parents=True)
    own.write_text("measure.threads = 3")
    assert load_settings().measure.threads == 3
    monkeypatch.setenv("PACELINE_CONFIG", str(written(tmp_path, "measure.threads = 4")))
    assert load_settings().measure.threads == 4
    other = tmp_path / "other.toml"
    other.write_text("")
    assert load_settings(other) == Settings()


def test_a_named_file_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "missing.toml"
    with pytest.raises(ConfigError, match="does not exist") as caught:
        load_settings(missing)
    assert str(missing) in caught.value.message
    monkeypatch.setenv("PACELINE_CONFIG", str(missing))
    with pytest.raises(ConfigError, match="does not exist"):
        load_settings()
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="not UTF-8"):
        load_settings(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("[measure]\nthread = 2", "unknown key `measure.thread`", "did you mean `threads`?"),
        ("[mesure]\nthreads = 2", "unknown key `mesure`", "did you mean `measure`?"),
        ("[store]\ncolour = 2", "unknown key `store.colour`", "keys are: home"),
        ("[measure]\nthreads = 0", "`measure.threads`", ""),
        ('[measure]\nthreads = "two"', "`measure.threads`", ""),
        ('[measure]\ntimeout = "90"', "`measure.timeout`: duration: '90' is not a duration", ""),
        ("[measure]\nslo = { ttft_ms = -1 }", "`measure.slo.ttft_ms`", ""),
        ("measure = 3", "`measure`", ""),
        ("[measure]\nthreads = = 2", ".toml:2: not TOML", "line"),
        ('a = "x', ".toml: not TOML: Unterminated", "line"),
        ("a = " + "[" * 100_000, ".toml: nested too deeply", "three levels"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, message: str, hint: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_settings(file)
    assert caught.value.message.startswith(str(file))
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


def test_a_file_without_end_is_not_read() -> None:
    with pytest.raises(ConfigError, match="more than 1,000,000 bytes"):
        load_settings(Path("/dev/zero"))


def test_a_secret_in_the_wrong_place_is_not_repeated(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(
            written(tmp_path, '[measure]\napi_key = "sk-very-secret-42"\nheaders_env = "sk-very-secret-42"')
        )
    assert "sk-very-secret-42" not in caught.value.message + (caught.value.hint or "")
    assert "did you mean `api_key_env`?" in (caught.value.hint or "")

"""Counting tokens: words, an estimate, a file, the hub cache."""

import sys
from pathlib import Path

import pytest

from paceline.errors import ConfigError
from paceline.workloads.tokenizer import LocalTokenizer, load_tokenizer
from tests.support.tokenizers import save, trained

TEXT = "It is a truth universally acknowledged, that a single man must be in want of a wife."


def test_words_and_the_estimate() -> None:
    words, estimate = load_tokenizer("words"), load_tokenizer(None)
    assert (words.count(TEXT), words.approximate, words.name) == (17, False, "words")
    assert words.count_many([TEXT, "", " a\nb "]).tolist() == [17, 0, 2]
    assert (estimate.count(TEXT), estimate.approximate, estimate.name) == (23, True, "approximate")
    assert estimate.count_many([TEXT, ""]).tolist() == [23, 0]


def test_a_file_or_its_folder_is_read_and_counts_are_not_cut_or_filled(tmp_path: Path) -> None:
    file = save("byte_bpe", tmp_path / "tokenizer.json")
    true_count = len(trained("byte_bpe").encode(TEXT).ids)
    assert 8 < true_count < 64
    for name in (str(file), str(tmp_path)):
        tokenizer = load_tokenizer(name)
        assert tokenizer.name == name
        assert not tokenizer.approximate
        assert tokenizer.count(TEXT) == true_count
        assert tokenizer.count_many([TEXT, ""]).tolist() == [true_count, 0]
        assert isinstance(tokenizer, LocalTokenizer)
        assert tokenizer.offsets(TEXT)[-1, 1] == len(TEXT)


def test_the_hub_cache_is_searched_by_name_and_its_main_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    model = tmp_path / "models--org--name"
    for commit, family in (("aaa", "bytes_only"), ("bbb", "byte_bpe")):
        (model / "snapshots" / commit).mkdir(parents=True)
        save(family, model / "snapshots" / commit / "tokenizer.json")
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("bbb\n")
    assert load_tokenizer("org/name").count(TEXT) == len(trained("byte_bpe").encode(TEXT).ids)
    (model / "refs" / "main").unlink()
    assert load_tokenizer("org/name").count(TEXT) == len(TEXT)


@pytest.mark.parametrize("variable", ["HF_HOME", "XDG_CACHE_HOME"])
def test_the_cache_lies_where_the_hubs_variables_say(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    hub = tmp_path / ("hub" if variable == "HF_HOME" else "huggingface/hub")
    with pytest.raises(ConfigError, match="neither a file") as caught:
        load_tokenizer("org/none")
    assert str(hub) in caught.value.message
    assert "approximate" in (caught.value.hint or "")


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_tokenizer(str(tmp_path / "bad.json"))
    with pytest.raises(ConfigError, match="in that folder"):
        load_tokenizer(str(tmp_path))


def test_a_missing_library_is_said_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = save("byte_bpe", tmp_path / "tokenizer.json")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError) as caught:
        load_tokenizer(str(file))
    assert caught.value.hint == "pip install paceline[tokens]"
    assert load_tokenizer("words").count("a b") == 2

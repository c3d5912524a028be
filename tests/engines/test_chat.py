"""Whether a model has a chat template of its own, by its files."""

import json
from pathlib import Path

from paceline.engines.chat import has_chat_template
from paceline.weights.read import read_model
from tests.support.models import llama_config, llama_keys, llama_weights, write_gguf, write_safetensors


def test_a_gguf_file_says_so_in_its_header(tmp_path: Path) -> None:
    base = write_gguf(tmp_path / "base.gguf")
    tuned = write_gguf(tmp_path / "it.gguf", {**llama_keys(), "tokenizer.chat_template": "{{ messages }}"})
    assert not has_chat_template(read_model(base))
    assert has_chat_template(read_model(tuned))


def test_weights_that_happen_to_spell_it_do_not_count(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "base.gguf")
    data = bytearray(path.read_bytes())
    word = b"tokenizer.chat_template"
    data[-200 : -200 + len(word)] = word
    path.write_bytes(data)
    assert not has_chat_template(read_model(path))


def test_a_folder_says_so_beside_its_weights(tmp_path: Path) -> None:
    folder = write_safetensors(tmp_path / "model", llama_config(), llama_weights())
    facts = read_model(folder)
    config = folder / "tokenizer_config.json"
    for text, has in (
        (None, False),
        (json.dumps({"model_max_length": 8}), False),
        (json.dumps({"chat_template": None}), False),
        (json.dumps({"chat_template": "{{ messages }}"}), True),
        ("{", False),
        ("[" * 100_000, False),
    ):
        if text is not None:
            config.write_text(text)
        assert has_chat_template(facts) is has, text
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    assert has_chat_template(facts)

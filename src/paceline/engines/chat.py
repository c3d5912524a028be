"""Whether a model has a chat template of its own: without one, chat is what an engine makes up.

llama.cpp gives such a model ChatML, vLLM refuses chat. What either then answers says little of the model.
"""

import json
import mmap
from pathlib import Path

from paceline.weights.model import ModelFacts
from paceline.whole_file import read_whole

# Metadata keys of GGUF and of Hugging Face's folders.
_GGUF_KEY = b"tokenizer.chat_template"
_TEMPLATE_FILES = ("chat_template.jinja", "chat_template.json")
_MOST_BYTES = 50_000_000


def has_chat_template(facts: ModelFacts) -> bool:
    """By the model's own files, without their weights. One that cannot be read has none."""
    try:
        if facts.format == "gguf":
            return _in_header(facts.files[0], facts.file_bytes - facts.weight_bytes)
        return _in_folder(facts.path if facts.path.is_dir() else facts.path.parent)
    except OSError:
        return False


def _in_header(path: Path, header_bytes: int) -> bool:
    """A key of the header, which lies before the weights."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return view.find(_GGUF_KEY, 0, max(header_bytes, 0)) >= 0


def _in_folder(folder: Path) -> bool:
    if any((folder / name).is_file() for name in _TEMPLATE_FILES):
        return True
    config = folder / "tokenizer_config.json"
    if not config.is_file():
        return False
    try:
        data = json.loads(read_whole(config, _MOST_BYTES))
    except (ValueError, RecursionError):
        return False
    return isinstance(data, dict) and bool(data.get("chat_template"))

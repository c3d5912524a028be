"""Counting tokens on this machine: a tokenizer's file, whitespace-separated words, or an estimate."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# English prose has about three words for four tokens in today's vocabularies; unknown models differ.
WORDS_PER_TOKEN = 0.75


class TokenCounter(Protocol):
    """Counts tokens; special tokens and chat templates are not included."""

    @property
    def name(self) -> str:
        """What the user asked for: `words`, `approximate`, or a path or name."""

    @property
    def approximate(self) -> bool:
        """The counts are estimates, and every length made from them must be marked so."""

    def count(self, text: str) -> int:
        """Tokens of a text."""

    def count_many(self, texts: list[str]) -> npt.NDArray[np.int64]:
        """Tokens of each text, shape (len(texts),)."""


class WordCounter:
    """One whitespace-separated word is one token, as the reference engine counts."""

    name = "words"
    approximate = False

    def count(self, text: str) -> int:
        """Words of a text."""
        return len(text.split())

    def count_many(self, texts: list[str]) -> npt.NDArray[np.int64]:
        """Words of each text, shape (len(texts),)."""
        return np.array([len(text.split()) for text in texts], dtype=np.int64)


class ApproximateCounter:
    """An estimate for models whose tokenizer is not at hand: 0.75 words a token."""

    name = "approximate"
    approximate = True

    def count(self, text: str) -> int:
        """Estimated tokens of a text."""
        return round(len(text.split()) / WORDS_PER_TOKEN)

    def count_many(self, texts: list[str]) -> npt.NDArray[np.int64]:
        """Estimated tokens of each text, shape (len(texts),)."""
        return np.array([self.count(text) for text in texts], dtype=np.int64)


class LocalTokenizer:
    """A `tokenizer.json` of this machine, read with the `tokenizers` library."""

    approximate = False

    def __init__(self, name: str, tokenizer: "Tokenizer") -> None:
        # A file may carry settings that cut or fill its input, and then no count would be true.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.name = name
        self._tokenizer = tokenizer

    def count(self, text: str) -> int:
        """Tokens of a text, without special tokens."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def count_many(self, texts: list[str]) -> npt.NDArray[np.int64]:
        """Tokens of each text, shape (len(texts),)."""
        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return np.array([len(one.ids) for one in encoded], dtype=np.int64)

    def offsets(self, text: str) -> npt.NDArray[np.int64]:
        """Where each token lies in the text: characters [start, end), shape (tokens, 2)."""
        found = self._tokenizer.encode(text, add_special_tokens=False).offsets
        return np.array(found, dtype=np.int64).reshape(-1, 2)


def load_tokenizer(name: str | None) -> TokenCounter:
    """None -> the estimate; `words`; a `tokenizer.json` or its folder; a model's name in the local hub cache.

    Nothing is downloaded. Raises ConfigError when there is no such file, it cannot be read, or the
    `tokenizers` library is missing.
    """
    if name is None or name == "approximate":
        return ApproximateCounter()
    if name == "words":
        return WordCounter()
    path = _find(name)
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ConfigError(
            f"tokenizer {name!r}: the `tokenizers` library is not installed", "pip install paceline[tokens]"
        ) from None
    try:
        return LocalTokenizer(name, Tokenizer.from_file(str(path)))
    except Exception as error:  # The library raises bare Exception for any file it cannot read.
        raise ConfigError(
            f"tokenizer {name!r}: {path} cannot be read: {error}",
            "give a tokenizer.json of the `tokenizers` library",
        ) from error


def _find(name: str) -> Path:
    given = Path(name).expanduser()
    if given.is_file():
        return given
    if (given / "tokenizer.json").is_file():
        return given / "tokenizer.json"
    if given.is_dir():
        raise ConfigError(
            f"tokenizer {name!r}: there is no tokenizer.json in that folder",
            "give the folder of a model with a tokenizer.json, or the file itself",
        )
    cache = _hub_cache()
    model = cache / ("models--" + name.strip("/").replace("/", "--"))
    for snapshot in _snapshots(model):
        if (snapshot / "tokenizer.json").is_file():
            return snapshot / "tokenizer.json"
    raise ConfigError(
        f"tokenizer {name!r} is neither a file, nor a folder, nor in the hub cache {cache}",
        "give a path to a tokenizer.json, download the model's tokenizer into the hub cache, use `words`, "
        "or leave it out for approximate lengths",
    )


def _hub_cache() -> Path:
    explicit = os.environ.get("HF_HUB_CACHE")
    if explicit:
        return Path(explicit).expanduser()
    home = os.environ.get("HF_HOME")
    base = Path(home) if home else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "huggingface"
    return base.expanduser() / "hub"


def _snapshots(model: Path) -> list[Path]:
    """The snapshot that `main` names first, then the others by name, so that the choice is stable."""
    folder = model / "snapshots"
    if not folder.is_dir():
        return []
    found = sorted(path for path in folder.iterdir() if path.is_dir())
    main = model / "refs" / "main"
    if main.is_file():
        current = folder / main.read_text().strip()
        found.sort(key=lambda path: path != current)
    return found

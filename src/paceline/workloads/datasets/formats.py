"""Which format a file is in, and its reader."""

from collections.abc import Callable
from pathlib import Path

from paceline.errors import ConfigError
from paceline.workloads.data_file import PARQUET_MAGIC, UTF8_BOM, head_of
from paceline.workloads.datasets.container import Container
from paceline.workloads.datasets.csv_rows import CsvRows
from paceline.workloads.datasets.json_rows import JsonArray, JsonLines
from paceline.workloads.datasets.parquet_rows import ParquetRows
from paceline.workloads.datasets.spec import Format
from paceline.workloads.datasets.text import TextBlocks, TextLines

_BY_ENDING: dict[str, Format] = {
    ".txt": "text",
    ".text": "text",
    ".md": "blocks",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
}
FORMAT_WORDS: dict[Format, str] = {
    "text": "text, a prompt a line",
    "blocks": "text, prompts parted by blank lines",
    "jsonl": "JSONL",
    "json": "a JSON array",
    "csv": "CSV",
    "parquet": "Parquet",
}
_READERS: dict[Format, Callable[[Path], Container]] = {
    "text": TextLines,
    "blocks": TextBlocks,
    "jsonl": JsonLines,
    "json": JsonArray,
    "csv": CsvRows,
    "parquet": ParquetRows,
}


def format_of(path: Path) -> Format:
    """By the first bytes, then by the name's ending. Raises ConfigError where neither tells."""
    head = head_of(path, "data")
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    first = head.removeprefix(UTF8_BOM).lstrip()[:1]
    known = _BY_ENDING.get(path.suffix.lower())
    if known is not None:
        return known
    if first in (b"{", b"["):
        return "jsonl" if first == b"{" else "json"
    raise ConfigError(
        f"data {path}: neither its name nor its beginning tells what format it has",
        "say it with format = " + ", ".join(f'"{one}"' for one in _READERS),
    )


def open_container(path: Path, given: Format | None) -> Container:
    """The reader of a file, by the format that was given or found. Raises ConfigError."""
    return _READERS[given or format_of(path)](path)

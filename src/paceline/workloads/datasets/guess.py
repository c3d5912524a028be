"""What the rows of a file are, and in which column, where the user has not said it."""

from itertools import islice
from pathlib import Path
from typing import Any

from paceline.errors import ConfigError
from paceline.workloads.datasets.chat_log import LogReader, looks_like_a_log
from paceline.workloads.datasets.container import Container
from paceline.workloads.datasets.conversations import ConversationReader
from paceline.workloads.datasets.formats import FORMAT_WORDS
from paceline.workloads.datasets.prompts import PromptReader
from paceline.workloads.datasets.record import value_at
from paceline.workloads.datasets.spec import DataSpec, Rows
from paceline.workloads.read_report import shown

PROMPT_COLUMNS = ("prompt", "question", "instruction", "text", "input", "query", "problem", "content")
CONVERSATION_COLUMNS = ("conversations", "conversation", "messages", "dialogue", "dialog", "turns")
_LOOKED_AT = 100

Reader = PromptReader | ConversationReader | LogReader


def reader_for(container: Container, spec: DataSpec, path: Path) -> tuple[Reader, Rows, list[str]]:
    """How rows are read, what they are, and what has been decided here, in words.

    Raises ConfigError where no row tells, and where a column that was named is in none of the first rows.
    """
    said = [f"read as {FORMAT_WORDS[container.format]}"]
    if container.format in ("text", "blocks"):
        return PromptReader(None, None, None, path.parent), "prompt", said
    sample = [one.value for one in islice(container.scan(), _LOOKED_AT)]
    rows = [row for row in sample if isinstance(row, dict)]
    for column in (spec.column, spec.output_column, spec.image_column):
        if column is not None and rows and all(value_at(row, column) is None for row in rows):
            raise ConfigError(f"data {path}: there is no column `{column}`", f"columns are: {_columns(rows)}")
    kind = spec.rows or _kind(rows, spec.column)
    if kind == "log":
        said.append("rows are logged requests")
        return LogReader(spec.column, spec.output_column), kind, said
    column = spec.column or _column(rows, CONVERSATION_COLUMNS if kind == "conversation" else PROMPT_COLUMNS)
    if column is None and rows:
        names = CONVERSATION_COLUMNS if kind == "conversation" else PROMPT_COLUMNS
        raise ConfigError(
            f"data {path}: no column is named as one of a {kind}: {', '.join(names)}",
            f"name it with --data-column, or column = ...; columns are: {_columns(rows)}",
        )
    if kind == "conversation":
        said.append(f"rows are conversations, in column `{shown(column or '')}`")
        return ConversationReader(column or CONVERSATION_COLUMNS[0], spec.output_column), kind, said
    if column is not None:
        said.append(f"rows are prompts, in column `{shown(column)}`")
    return PromptReader(column, spec.output_column, spec.image_column, path.parent), kind, said


def _kind(rows: list[dict[str, Any]], column: str | None) -> Rows:
    """By the first row that tells."""
    for row in rows:
        if column is not None:
            if _is_turns(value_at(row, column)):
                return "conversation"
            continue
        if looks_like_a_log(row):
            return "log"
        if any(_is_turns(row.get(name)) for name in CONVERSATION_COLUMNS):
            return "conversation"
    return "prompt"


def _is_turns(value: Any) -> bool:
    if isinstance(value, str):
        return value.lstrip().startswith("[{")
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _column(rows: list[dict[str, Any]], names: tuple[str, ...]) -> str | None:
    """The first of the names that a row has a value for, in whatever case it is written."""
    for name in names:
        for row in rows:
            for key, value in row.items():
                if isinstance(key, str) and key.lower() == name and value is not None:
                    return key
    return None


def _columns(rows: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(str(key) for row in rows for key in row))
    return ", ".join(map(shown, names[:20])) + (", ..." if len(names) > 20 else "")

"""Rows that are prompts: a text, and perhaps pictures and the length of the answer."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.workloads.datasets.images import image_urls
from paceline.workloads.datasets.lines import checked_text
from paceline.workloads.datasets.record import Record, Said, text_at, tokens_at, value_at
from paceline.workloads.read_report import RowError


@dataclass(frozen=True)
class PromptReader:
    """`column` is None for files without columns. `folder` is where the names of pictures begin."""

    column: str | None
    output_column: str | None
    image_column: str | None
    folder: Path

    def read(self, row: Any) -> Record:
        """The record of a row. Raises RowError."""
        if isinstance(row, str):
            # A line of a text file, or a JSON line that is a string.
            if not row.strip():
                raise RowError("no text")
            return Record((Said("user", checked_text(row)),))
        if not isinstance(row, dict):
            raise RowError("neither an object nor a text")
        if self.column is None:
            raise RowError("an object, where a text is wanted")
        text = text_at(row, self.column)
        images: tuple[str, ...] = ()
        if self.image_column is not None:
            images = image_urls(value_at(row, self.image_column), self.folder, self.image_column)
        tokens = None if self.output_column is None else tokens_at(row, self.output_column)
        return Record((Said("user", text, images),), output_tokens=tokens)

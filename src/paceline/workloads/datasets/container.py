"""What all file formats have in common: a pass over all rows, and any row again by its place."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from paceline.errors import ConfigError
from paceline.workloads.datasets.spec import Format
from paceline.workloads.read_report import RowError


@dataclass(frozen=True, slots=True)
class Scanned:
    """A row as the pass over the file meets it. `at` and `size` are what `fetch` finds it by again."""

    where: str
    at: int
    size: int
    value: Any | RowError


class Container(Protocol):
    """A file of rows: a str, or a dictionary of columns.

    Both methods raise ConfigError where the file itself is broken; a broken row is a RowError.
    """

    format: Format

    def scan(self) -> Iterator[Scanned]:
        """All rows in order; nothing but the row at hand is held."""

    def fetch(self, at: int, size: int, /) -> Any:
        """The row at a place that `scan` has told."""


class Bytes:
    """Reads spans of a file that stays open. Raises ConfigError where it cannot be opened or has shrunk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self.file = path.open("rb")
        except OSError as error:
            raise ConfigError(f"data {path}: {(error.strerror or str(error)).lower()}") from None

    def span(self, at: int, size: int) -> bytes:
        """`size` bytes from `at`."""
        data = os.pread(self.file.fileno(), size, at)
        if len(data) < size:
            raise ConfigError(f"data {self.path}: has become shorter while it was being read")
        return data

"""Rows of a Parquet file, read a row group at a time."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from paceline.errors import ConfigError
from paceline.workloads.datasets.container import Scanned
from paceline.workloads.datasets.spec import Format

# A row is had by reading its group, so groups are kept: as much of them as this.
KEPT_BYTES = 1024 * 1024 * 1024
# Few, since a row may have pictures in it.
_ROWS_AT_ONCE = 64


class ParquetRows:
    """Rows as dictionaries of the columns that were asked for by `use`; all columns before that.

    Raises ConfigError for a file that is damaged, and for one with a row group too large to be held.
    """

    format: Format = "parquet"

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = pq.ParquetFile(path, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error) from None
        metadata = self._file.metadata
        groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        self._first = np.cumsum([0, *(group.num_rows for group in groups)])
        self.columns: list[str] = list(self._file.schema_arrow.names)
        self._used = self.columns
        self._kept: OrderedDict[int, pa.Table] = OrderedDict()
        self._kept_bytes = 0

    def use(self, columns: Sequence[str], *, shuffled: bool) -> None:
        """Read these columns only. Raises ConfigError where they cannot be held as the order needs it."""
        self._used = [name for name in self.columns if name in columns]
        sizes = [self._group_bytes(i) for i in range(self._file.metadata.num_row_groups)]
        limit = KEPT_BYTES >> 20
        if max(sizes, default=0) > KEPT_BYTES:
            raise ConfigError(
                f"data {self._path}: a row group has {max(sizes) >> 20:,} MiB, at most {limit:,} are held",
                "write the file with smaller row groups",
            )
        if shuffled and sum(sizes) > KEPT_BYTES:
            raise ConfigError(
                f"data {self._path}: to be shuffled, its columns must fit into {limit:,} MiB, and have "
                f"{sum(sizes) >> 20:,}",
                'use order = "file", or write the rows as JSONL, which is shuffled at any size',
            )

    def scan(self) -> Iterator[Scanned]:
        """All rows in order; the columns in use."""
        number = 0
        try:
            for batch in self._file.iter_batches(batch_size=_ROWS_AT_ONCE, columns=self._used):
                for row in batch.to_pylist():
                    yield Scanned(f"row {number + 1}", number, 0, row)
                    number += 1
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error, f" after row {number}") from None

    def fetch(self, at: int, _size: int) -> dict[str, Any]:
        """Row number `at`, from 0."""
        group = int(np.searchsorted(self._first, at, side="right")) - 1
        table = self._kept.get(group)
        if table is None:
            table = self._read(group)
        self._kept.move_to_end(group)
        row: dict[str, Any] = table.slice(at - int(self._first[group]), 1).to_pylist()[0]
        return row

    def _read(self, group: int) -> pa.Table:
        try:
            table = self._file.read_row_group(group, columns=self._used)
        except (pa.ArrowException, OSError) as error:
            raise self._damaged(error, f" in row group {group}") from None
        self._kept[group] = table
        self._kept_bytes += table.nbytes
        while self._kept_bytes > KEPT_BYTES and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self._kept_bytes -= dropped.nbytes
        return table

    def _group_bytes(self, group: int) -> int:
        """Uncompressed, of the columns in use."""
        metadata = self._file.metadata.row_group(group)
        columns = [metadata.column(i) for i in range(metadata.num_columns)]
        return sum(
            one.total_uncompressed_size for one in columns if one.path_in_schema.split(".")[0] in self._used
        )

    def _damaged(self, error: Exception, where: str = "") -> ConfigError:
        told = str(error).partition("\n")[0]
        return ConfigError(f"data {self._path}: is no Parquet file, or a damaged one{where}: {told}")

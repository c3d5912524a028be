"""Reading of trace files: what each line says, and what becomes of lines that say it wrongly."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from paceline.errors import ConfigError
from paceline.workloads.data_file import UTF8_BOM, head_of
from paceline.workloads.datasets.lines import decoded, lines_of, too_long
from paceline.workloads.lengths import MAX_TOKENS
from paceline.workloads.read_report import ReadReport, RowError
from paceline.workloads.traces.rows import RowsRead
from paceline.workloads.traces.spec import TraceFormat

# A request takes some 40 bytes, and 8 more for each of its blocks.
MAX_ROWS = 10_000_000
MAX_LINE_BYTES = 1024 * 1024
_AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_MOONCAKE = ("timestamp", "input_length", "output_length")
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
# A month of milliseconds is 3e9, and since 1970 there were 2e12; nanoseconds of more are not of 64 bits.
_MAX_MS = 9e12
_TRACE_HINT = "a trace has lines of Azure's CSV (TIMESTAMP,ContextTokens,GeneratedTokens) or Mooncake's JSONL"

# time_ns, input tokens, output tokens, ids of blocks.
_Fields = tuple[int, int, int, list[int]]


def trace_format(path: Path) -> TraceFormat:
    """By the first line. Raises ConfigError where it is neither."""
    head = head_of(path, "trace").removeprefix(UTF8_BOM).lstrip()
    if head.startswith(b"{"):
        return "mooncake"
    if all(name.lower().encode() in head.partition(b"\n")[0].lower() for name in _AZURE):
        return "azure"
    raise ConfigError(f"trace {path}: its first line is neither of Azure's nor of Mooncake's", _TRACE_HINT)


def read_trace(path: Path, kind: TraceFormat, report: ReadReport) -> RowsRead:
    """All requests of a trace that can be replayed; the others are counted in the report.

    Raises ConfigError where the file cannot be read, has not the columns, or has too many requests.
    """
    read = RowsRead()
    parse: Callable[[str], _Fields] | None = _mooncake if kind == "mooncake" else None
    try:
        with path.open("rb") as file:
            for line in lines_of(file, MAX_LINE_BYTES):
                if line.data is not None and not line.data.strip():
                    continue
                if parse is None:
                    parse = _azure(line.data or b"", path)
                    continue
                report.rows += 1
                try:
                    if line.data is None:
                        raise too_long(line.size, MAX_LINE_BYTES)
                    read.add(line.number, *parse(decoded(line.data)))
                except RowError as fault:
                    report.skip(f"line {line.number}", fault)
                if len(read.line) > MAX_ROWS:
                    raise ConfigError(
                        f"trace {path}: has more than {MAX_ROWS:,} requests",
                        f"take a part of the file: head -n {MAX_ROWS} {path.name} > part{path.suffix}",
                    )
    except OSError as error:
        raise ConfigError(f"trace {path}: {(error.strerror or str(error)).lower()}") from None
    return read


def _azure(header: bytes, path: Path) -> Callable[[str], _Fields]:
    names = [name.strip().strip('"').lower() for name in header.decode("utf-8", "replace").split(",")]
    missing = [name for name in _AZURE if name.lower() not in names]
    if missing:
        raise ConfigError(f"trace {path}: its header has no {', '.join(missing)}", _TRACE_HINT)
    time, context, generated = (names.index(name.lower()) for name in _AZURE)

    def parse(line: str) -> _Fields:
        values = line.split(",")
        if len(values) != len(names):
            detail = f"{len(values)} instead of {len(names)}"
            raise RowError("another number of values than the header has", detail)
        return (
            instant_ns(values[time].strip().strip('"')),
            _tokens(_number(values[context], _AZURE[1]), _AZURE[1]),
            _tokens(_number(values[generated], _AZURE[2]), _AZURE[2]),
            [],
        )

    return parse


def _mooncake(line: str) -> _Fields:
    try:
        row = json.loads(line)
    except RecursionError:
        raise RowError("not JSON", "nested too deeply") from None
    except ValueError as error:
        raise RowError("not JSON", getattr(error, "msg", "a number is too long")) from None
    if not isinstance(row, dict):
        raise RowError("not an object")
    missing = [name for name in _MOONCAKE if row.get(name) is None]
    if missing:
        raise RowError(f"no {missing[0]}")
    time_ms = row["timestamp"]
    if isinstance(time_ms, bool) or not isinstance(time_ms, int | float) or not 0 <= time_ms <= _MAX_MS:
        raise RowError("timestamp is no number of milliseconds")
    ids = row.get("hash_ids") or []
    if not isinstance(ids, list) or not all(type(one) is int for one in ids):
        raise RowError("hash_ids is no list of whole numbers")
    return (
        round(time_ms * 1_000_000),
        _tokens(row["input_length"], "input_length"),
        _tokens(row["output_length"], "output_length"),
        ids,
    )


def instant_ns(text: str) -> int:
    """Unix nanoseconds of `2023-11-16 18:15:46.6805900`, with an offset or as UTC. Raises RowError."""
    if not text:
        raise RowError("no TIMESTAMP")
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise RowError("TIMESTAMP is no instant")
    whole, fraction, offset = found.groups()
    try:
        seconds = _seconds(whole, offset or "")
    except ValueError:
        raise RowError("TIMESTAMP is no instant") from None
    time_ns = seconds * 10**9 + int((fraction or "0").ljust(9, "0"))
    if not 0 <= time_ns < 2**63:
        raise RowError("TIMESTAMP is not of the years 1970 to 2262")
    return time_ns


@lru_cache(maxsize=1024)
def _seconds(whole: str, offset: str) -> int:
    when = datetime.fromisoformat(whole + offset)
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    since = when - datetime(1970, 1, 1, tzinfo=UTC)
    return since.days * 86_400 + since.seconds


def _number(text: str, name: str) -> Any:
    bare = text.strip().strip('"')
    if not bare:
        raise RowError(f"no {name}")
    if len(bare) > 20:
        raise RowError(f"{name} is no number of tokens")
    try:
        return int(bare)
    except ValueError:
        raise RowError(f"{name} is no number of tokens") from None


def _tokens(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise RowError(f"{name} is no number of tokens")
    if value < 1:
        raise RowError(f"{name} is below 1")
    if value > MAX_TOKENS:
        raise RowError(f"{name} is above {MAX_TOKENS:,}")
    return value

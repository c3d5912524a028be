"""Which tool wrote a file, and the runs in it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from paceline.errors import ConfigError
from paceline.store.imports import aiperf, guidellm, vllm
from paceline.store.imports.fields import HINT, read_document, read_lines
from paceline.store.imports.run import ImportedRun

FORMATS = ("guidellm", "aiperf", "vllm")


def read_file(path: Path, form: str | None = None) -> list[ImportedRun]:
    """The runs in a file; `form`: one of FORMATS, found out where None. Raises ConfigError."""
    if form is not None and form not in FORMATS:
        raise ConfigError(f"--format {form} is unknown", f"it is one of {', '.join(FORMATS)}")
    if path.is_dir():
        raise ConfigError(f"{path} is a folder", "name the file in it, as in benchmarks.json")
    runs = _READERS[form or _found_out(path)](path)
    for run in runs:
        if not all(row.fits for row in run.rows):
            raise ConfigError(f"{path}: the requests lie further apart than any run is long", HINT)
    return runs


def _found_out(path: Path) -> str:
    first = _first_line(path)
    if first is not None and aiperf.is_record(first):
        return "aiperf"
    if first is not None and vllm.is_result(first):
        return "vllm"
    document = read_document(path)
    if guidellm.is_report(document):
        return "guidellm"
    if vllm.is_result(document):
        return "vllm"
    if isinstance(document, dict) and "aiperf_version" in document:
        raise ConfigError(
            f"{path}: this is AIPerf's summary, which holds no requests",
            "import the profile_export.jsonl that lies beside it",
        )
    raise ConfigError(f"{path}: this is no result of {', '.join(FORMATS)}", f"give --format; {HINT}")


def _first_line(path: Path) -> Any:
    """The document on the first line, where the file has a document a line."""
    try:
        return next((document for _, document in read_lines(path)), None)
    except ConfigError as error:
        # Not there at all is no matter of the form.
        if not path.is_file():
            raise error from None
        return None


def _guidellm(path: Path) -> list[ImportedRun]:
    document = read_document(path)
    if not guidellm.is_report(document):
        raise ConfigError(f"{path}: this is no report of GuideLLM with requests", HINT)
    return guidellm.read_report(document, str(path))


def _aiperf(path: Path) -> list[ImportedRun]:
    return aiperf.read_records(list(read_lines(path)), path)


def _vllm(path: Path) -> list[ImportedRun]:
    """One document, however it is laid out, or one a line."""
    try:
        documents = list(read_lines(path))
    except ConfigError:
        documents = [(str(path), read_document(path))]
    if not documents:
        raise ConfigError(f"{path}: the file holds no result", HINT)
    return [vllm.read_result(document, where) for where, document in documents]


_READERS: dict[str, Callable[[Path], list[ImportedRun]]] = {
    "guidellm": _guidellm,
    "aiperf": _aiperf,
    "vllm": _vllm,
}

"""Whether the store has changed: the times of what pages are made from, without reading it."""

import os
from collections.abc import Hashable
from pathlib import Path

from paceline.store.paths import MANIFEST_NAME, ledger_folder, runs_folder, traffic_folder
from paceline.store.scores import SCORES_NAME
from paceline.store.studies import MANIFEST_NAME as STUDY_NAME
from paceline.store.studies import studies_folder


def store_stamp(home: Path, *more: Path) -> Hashable:
    """Of runs with their scores, studies, imported scores, and the files `more`."""
    return (
        _of_folders(runs_folder(home), (MANIFEST_NAME, SCORES_NAME)),
        _of_folders(studies_folder(home), (STUDY_NAME,)),
        _of_files(home / "scores"),
        tuple(_of_file(path) for path in more),
    )


def traffic_stamp(home: Path) -> Hashable:
    """Of the gateway's traffic and ledger."""
    return _of_files(traffic_folder(home)), _of_files(ledger_folder(home))


def _of_folders(folder: Path, names: tuple[str, ...]) -> Hashable:
    try:
        with os.scandir(folder) as found:
            inner = sorted(entry.name for entry in found)
    except OSError:
        return ()
    return tuple((name, *(_of_file(folder / name / one) for one in names)) for name in inner)


def _of_files(folder: Path) -> Hashable:
    try:
        with os.scandir(folder) as found:
            names = sorted(entry.name for entry in found)
    except OSError:
        return ()
    return tuple((name, _of_file(folder / name)) for name in names)


def _of_file(path: Path) -> tuple[int, int]:
    """When it was written, ns, and its bytes; -1 where it is not there."""
    try:
        found = path.stat()
    except OSError:
        return -1, -1
    return found.st_mtime_ns, found.st_size

"""The folder of a new run: it appears whole, with its manifest in it, or not at all."""

import errno
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from paceline.store.atomic import make_folder, reserve, store_error, sync_folder
from paceline.store.lock import WriterLock, is_locked
from paceline.store.manifest import RunManifest, new_run_id

# Both begin with a dot, so that no list of runs shows them.
NEW_PREFIX = ".new-"
DELETED_PREFIX = ".deleted-"
# Nobody takes so long between making the folder and naming it.
_OLD_S = 3600.0


def place(manifest: RunManifest, runs: Path) -> tuple[RunManifest, WriterLock]:
    """Make the folder of a new run in `runs`; the manifest gets another id where its own is taken.

    Raises StoreError when nothing can be written there.
    """
    unnamed = runs / f"{NEW_PREFIX}{secrets.token_hex(8)}"
    make_folder(unnamed)
    sweep_runs(runs)
    lock = None
    try:
        lock = WriterLock(unnamed)
        reserve(unnamed)
        manifest.write(unnamed)
        while not _named(unnamed, runs / manifest.id):
            manifest = manifest.model_copy(update={"id": new_run_id()})
            manifest.write(unnamed)
    except BaseException:
        if lock is not None:
            lock.release()
        shutil.rmtree(unnamed, ignore_errors=True)
        raise
    return manifest, lock


def _named(unnamed: Path, folder: Path) -> bool:
    """Give the folder its name; False when there is one of that name."""
    if folder.exists():
        return False
    try:
        unnamed.rename(folder)
        sync_folder(folder.parent)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            return False
        raise store_error(f"cannot create {folder}", error) from error
    return True


def sweep_runs(runs: Path) -> None:
    """Remove what killed processes left of runs that never had a name, or were being deleted."""
    before = time.time() - _OLD_S
    for left in [*runs.glob(f"{NEW_PREFIX}*"), *runs.glob(f"{DELETED_PREFIX}*")]:
        with suppress(OSError):
            if left.stat().st_mtime < before and not is_locked(left):
                shutil.rmtree(left, ignore_errors=True)

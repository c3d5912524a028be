"""Take a run out of the store."""

import tarfile
from pathlib import Path

from paceline.store.atomic import replaced
from paceline.store.lock import LOCK_NAME
from paceline.store.parts import write_table
from paceline.store.runs import StoredRun


def export_parquet(run: StoredRun, target: Path) -> None:
    """All rows as one Parquet file, one row a request (docs/reference/store.md). Raises StoreError."""
    write_table(target, run.rows())


def export_archive(run: StoredRun, target: Path) -> None:
    """The whole run as a tar archive; unpacked into the `runs` folder of any home, it is a run there.

    Raises StoreError.
    """
    with replaced(target) as temporary, tarfile.open(temporary, "w") as archive:
        for path in sorted(run.folder.iterdir()):
            if path.is_file() and path.name != LOCK_NAME and not path.name.startswith("."):
                archive.add(path, arcname=f"{run.id}/{path.name}")

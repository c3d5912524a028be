"""Notice that files have changed, by their stamps."""

import time
from collections.abc import Iterable
from pathlib import Path

# A file that was changed so shortly before it was read may change again within the same stamp.
_SETTLED_NS = 2_000_000_000

_Stamp = tuple[int, int, int, int] | None


class Watch:
    """The stamps of some files, as they were when last looked at."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._stamps = _stamps(paths)

    def changed(self, paths: Iterable[Path]) -> bool:
        """Whether another file is meant, or one is not as it was at the last look (or may not be)."""
        before, self._stamps = self._stamps, _stamps(paths)
        return before != self._stamps


def _stamps(paths: Iterable[Path]) -> dict[Path, _Stamp]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> _Stamp:
    """Inode, size, when it was written, and when its mode or place changed; None where there is no file."""
    try:
        found = path.stat()
    except OSError:
        return None
    # While it is young the stamp goes on with the clock, so that each look finds it changed.
    age_ns = time.time_ns() - found.st_mtime_ns
    written_ns = found.st_mtime_ns + (age_ns if 0 <= age_ns < _SETTLED_NS else 0)
    return found.st_ino, found.st_size, written_ns, found.st_ctime_ns

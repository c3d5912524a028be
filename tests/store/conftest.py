from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from paceline.store.manifest import RunManifest
from paceline.store.writer import RunWriter
from tests.store.samples import manifest


class Clock:
    """A clock that moves when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    at = tmp_path / "home"
    monkeypatch.setenv("PACELINE_HOME", str(at))
    return at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def write(home: Path) -> Iterator[Callable[..., RunWriter]]:
    """Start a run in the test's home; what the test leaves open is let go of."""
    writers: list[RunWriter] = []

    def start(clock: Any = None, **fields: Any) -> RunWriter:
        kind: dict[str, Any] = {} if clock is None else {"clock": clock}
        made: RunManifest = manifest(**fields)
        writers.append(RunWriter.create(made, **kind))
        return writers[-1]

    yield start
    for writer in writers:
        writer._lock.release()

"""A home with runs, a client, and what a page must never hold."""

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from paceline.dashboard.app import create_app
from paceline.dashboard.state import State
from tests.dashboard.served import state_of
from tests.report.samples import failed_row, store
from tests.support.rows import lognormal_rows

Client = Callable[[State], TestClient]
NASTY = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def client_of(state: State) -> TestClient:
    """A browser on this machine."""
    port = state.place.port
    return TestClient(create_app(state), base_url=f"http://127.0.0.1:{port}", raise_server_exceptions=False)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    at = tmp_path / "home"
    monkeypatch.setenv("PACELINE_HOME", str(at))
    monkeypatch.setenv("PACELINE_CONFIG", str(tmp_path / "paceline.toml"))
    (tmp_path / "paceline.toml").write_text("")
    return at


@pytest.fixture(scope="module")
def full_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two offers with a run each, and a run that is invalid, whose server and name are hostile."""
    home = tmp_path_factory.mktemp("full") / "home"
    for name, seed in (("slow", 1), ("quick", 2)):
        offer = {"provider": name, "tier": "standard"}
        store(home, lognormal_rows(120, seed), name=name, model="m", offer=offer)
    bad = [failed_row("http_error", place, error=NASTY) for place in range(5)]
    store(home, bad, name=NASTY, model=NASTY, endpoint="http://127.0.0.1:1/v1")
    return home


@pytest.fixture
def full(full_home: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A client of a dashboard over `full_home`."""
    monkeypatch.setenv("PACELINE_HOME", str(full_home))
    return client_of(state_of(full_home))


@pytest.fixture
def empty(home: Path) -> TestClient:
    """A client of a dashboard over a home that is not there yet."""
    return client_of(state_of(home))

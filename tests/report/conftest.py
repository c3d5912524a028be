from pathlib import Path

import pytest

from paceline.report.model import Report
from tests.report.samples import OPEN, report
from tests.support.rows import lognormal_rows


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="session")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """800 good requests of a closed loop, with limits stated."""
    rows = lognormal_rows(820, 1, warmup=20)
    slo = {"ttft_ms": 400.0, "itl_ms": 50.0}
    return report(tmp_path_factory.mktemp("healthy"), rows, slo=slo, name="nightly")


@pytest.fixture(scope="session")
def open_loop(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """300 good requests that came by a schedule."""
    return report(tmp_path_factory.mktemp("open"), lognormal_rows(300, 2), load=OPEN)

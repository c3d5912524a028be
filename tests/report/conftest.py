from pathlib import Path

import pytest

from paceline.report.model import Report
from tests.report.samples import OPEN, job_report, report
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


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """100 conversations of 6 turns, of which one fails at its second; TTFT grows by 20 ms a turn."""
    return job_report(tmp_path_factory.mktemp("chat"), ttft_ms_per_turn=20.0, failed=(7,))


@pytest.fixture(scope="session")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """100 conversations whose caller always hangs up; a tenth of the servers do not stop."""
    return job_report(tmp_path_factory.mktemp("voice"), hung_up=True)

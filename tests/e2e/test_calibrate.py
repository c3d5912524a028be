import json

import pytest

from paceline.measure.calibrate import Cell, calibrate, calibration_path, current_error, save_calibration
from tests.e2e.conftest import SMALL, Cli, Sims

TINY = (Cell(4, 100.0, 500_000_000), Cell(32, 100.0, 500_000_000))


def test_the_instrument_measures_itself_and_later_reports_carry_it(
    cli: Cli, sims: Sims, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = calibrate(grid=TINY, rising=())
    assert document["schema"] == "paceline.calibration/1"
    for cell, asked in zip(document["cells"], TINY, strict=True):
        assert cell["streams"] == asked.streams
        assert cell["unmatched"] == 0
        assert cell["requests"] > 0
        assert cell["kernel_stamps"]
        for name in ("ttft_us", "itl_us", "e2e_us"):
            # Loopback and two system calls: tens of us on a quiet machine, and this one may be busy.
            assert 0 <= cell[name]["abs_p50"] < 5_000
    save_calibration(document)
    assert calibration_path().is_file()
    few, many = current_error(2), current_error(1_000)
    assert few is not None
    assert many is not None
    assert (few["streams"], many["streams"]) == (4, 32)

    engine = sims("--ttft", "20ms", "--itl", "2ms")
    done = cli("measure", engine.url, *SMALL, "-c", "2", "-n", "4", "--json", "-")
    assert done.report["trust"]["instrument_error_us"] == few["instrument_error_us"]

    # An open loop has no number of streams beforehand: its peak in flight, here a few, tells the cell.
    done = cli("measure", engine.url, *SMALL, "-r", "10", "-n", "4", "--json", "-")
    assert done.report["trust"]["instrument_error_us"] == few["instrument_error_us"]

    stale = json.loads(calibration_path().read_text())
    stale["instrument"]["kernel"] = "another"
    save_calibration(stale)
    assert current_error(2) is None
    done = cli("measure", engine.url, *SMALL, "-c", "2", "-n", "4", "--json", "-")
    assert done.report["trust"]["instrument_error_us"] is None

import re
from pathlib import Path

from paceline.report.limits import (
    BUSY_WAIT_SHARE,
    FEWEST_FOR_MEDIAN,
    FEWEST_READS_FOR_P99,
    LATE_MS,
    LATE_READ_SHARE,
    LIMITS,
    SMALLEST_LAG_MS,
)
from paceline.stats.quantiles import quantile_estimate

PAGE = Path(__file__).parents[2] / "docs" / "concepts" / "trust.md"


def test_the_page_has_every_limit_as_it_is() -> None:
    lines = re.findall(
        r"^\| `(\w+)` \| ([\d.]+) \| ([\d.]+|never) \| (.+) \|$", PAGE.read_text(), re.MULTILINE
    )
    told = {
        name: (float(suspect), None if invalid == "never" else float(invalid))
        for name, suspect, invalid, _ in lines
    }
    assert told == {name: (limit.suspect, limit.invalid) for name, limit in LIMITS.items()}
    assert all(len(why) > 20 for *_, why in lines)


def test_the_page_has_the_other_constants() -> None:
    page = PAGE.read_text()
    assert f"more than {LATE_MS:g} ms after" in page
    assert f"Lags under {SMALLEST_LAG_MS:g} ms" in page
    assert f"Fewer than {FEWEST_FOR_MEDIAN} requests" in page
    assert "more than a quarter of the time" in page
    assert BUSY_WAIT_SHARE == 0.25


def test_six_is_the_fewest_that_bound_a_median() -> None:
    enough = [quantile_estimate(list(range(n)), 0.5, dependent=False).enough for n in range(3, 9)]
    assert 3 + enough.index(True) == FEWEST_FOR_MEDIAN


def test_a_value_at_the_limit_is_within_it() -> None:
    limit = LIMITS["failed_share"]
    assert limit.severity(0.01) is None
    assert limit.severity(0.0101) == "suspect"
    assert limit.severity(0.10) == "suspect"
    assert limit.severity(0.1001) == "invalid"
    assert limit.passed(0.05) == 0.01
    assert limit.passed(0.5) == 0.10


def test_the_page_says_when_the_client_read_late() -> None:
    page = PAGE.read_text()
    assert f"at least {FEWEST_READS_FOR_P99:,} reads" in page
    assert "later than a quarter of that distance" in page
    assert LATE_READ_SHARE == 0.25

"""What people type and what they read."""

import pytest

from paceline import units
from paceline.errors import UsageError
from paceline.units import Count, Duration


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("500ms", 500_000_000),
        ("30s", 30_000_000_000),
        ("2m", 120_000_000_000),
        ("2min", 120_000_000_000),
        ("1h", 3_600_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1.5 s", 1_500_000_000),
        (".5s", 500_000_000),
        ("250us", 250_000),
        ("1ns", 1),
    ],
)
def test_durations(text: str, ns: int) -> None:
    assert units.parse_duration_ns(text) == ns


@pytest.mark.parametrize(
    "text", ["", "30", "s", "-1s", "0s", "1d", "1s2", "1 s foo", "1e3s", "999999999h", "٣s"]
)
def test_what_is_no_duration_is_refused_with_the_options_name(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        units.parse_duration_ns(text, "--timeout")
    assert "--timeout" in caught.value.message
    assert caught.value.hint is not None
    assert "30s" in caught.value.hint


@pytest.mark.parametrize(("text", "fraction"), [("5%", 0.05), ("0%", 0.0), ("100 %", 1.0), ("2.5%", 0.025)])
def test_percentages(text: str, fraction: float) -> None:
    assert units.parse_percentage(text) == pytest.approx(fraction)


@pytest.mark.parametrize("text", ["5", "0.05", "101%", "-1%", "%", ""])
def test_what_is_no_percentage_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        units.parse_percentage(text, "--fail-if-slower")
    assert "--fail-if-slower" in caught.value.message


def test_counts_and_durations_are_told_apart() -> None:
    assert units.parse_count_or_duration("20") == Count(20)
    assert units.parse_count_or_duration("1_000") == Count(1000)
    assert units.parse_count_or_duration("10s") == Duration(10_000_000_000)
    assert units.parse_count_or_duration("2m") == Duration(120_000_000_000)
    assert units.parse_count("2k") == 2000
    for text in ("0", "ten", "", "-3", "1.5"):
        with pytest.raises(UsageError) as caught:
            units.parse_count_or_duration(text, "--warmup")
        assert "--warmup" in caught.value.message


def test_durations_for_people() -> None:
    shown = [units.format_duration_ns(ns) for ns in (0, 850, 12_345, 999_600, 1_250_000, 3_400_000_000)]
    assert shown == ["0 ns", "850 ns", "12.3 us", "1.00 ms", "1.25 ms", "3.40 s"]
    assert units.format_duration_ns(125e9) == "2 min 5 s"
    assert units.format_duration_ns(3720e9) == "1 h 2 min"
    assert units.format_duration_ns(-1_250_000) == "-1.25 ms"
    assert units.format_duration_ns(float("nan")) == "-"
    assert units.format_ms(53.0) == "53.0 ms"


@pytest.mark.parametrize("text", ["5", "30", "2.5"])
def test_a_bare_number_is_answered_with_its_seconds(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        units.parse_duration_ns(text, "--duration")
    hint = caught.value.hint or ""
    assert f"write {text}s " in hint
    # As they are printed, in 80 columns.
    assert max(len(f"error: {caught.value.message}"), len(f"hint: {hint}")) <= 80


def test_rates_bytes_and_shares_for_people() -> None:
    assert units.format_rate(64.123) == "64.1 tok/s"
    assert units.format_rate(12345.6) == "12,346 tok/s"
    assert units.format_rate(0.5, "req/s") == "0.50 req/s"
    assert [units.format_bytes(n) for n in (512, 1536, 3.4 * 2**30, 1023.9 * 2**10)] == [
        "512 B",
        "1.50 KiB",
        "3.40 GiB",
        "1.00 MiB",
    ]
    assert [units.format_percentage(x) for x in (0, 0.0512, 0.5, 1)] == ["0%", "5.1%", "50%", "100%"]

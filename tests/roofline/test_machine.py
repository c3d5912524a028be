import json
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from paceline.engines.machine import Gpu
from paceline.errors import RunError, StoreError, UsageError
from paceline.measure.host import fingerprint
from paceline.roofline import cpu, gpu
from paceline.roofline.cpu import Cpu
from paceline.roofline.machine import SCHEMA, machine_rates, rates_path
from paceline.roofline.rates import Rates

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rates.md"
RATES = Rates(
    device="cpu",
    bandwidth_bytes_s=40e9,
    by_kernel={"read": 40e9, "copy": 36e9},
    arithmetic_s={"f32": 1e12},
    threads=4,
    memory_bytes=16 * 1024**3,
    measured_at=datetime(2026, 11, 30, tzinfo=UTC),
    cache_bytes=32 * 1024**2,
    name="A processor",
    array_bytes=512 * 1024**2,
    spread={"read": (39e9, 40e9)},
    at_least=("int8",),
    notes=("a note",),
)
BUSY = replace(RATES, bandwidth_bytes_s=10e9, disturbed=True)


class World:
    """A machine that is measured in no time: what comes next, and how often it was asked."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.said = home, list[str]()
        self.measured = 0
        self.next: Rates | Exception = RATES
        self.cpu = Cpu(4, 16 * 1024**3, 8 * 1024**3, 32 * 1024**2)
        monkeypatch.setattr(cpu, "this_cpu", lambda: self.cpu)
        monkeypatch.setattr(cpu, "cpu_rates", lambda *_: self._measure())
        monkeypatch.setattr(gpu, "this_gpu", lambda number: Gpu(f"GPU {number}", 1, 1))
        monkeypatch.setattr(
            gpu, "gpu_rates", lambda number, *_: replace(self._measure(), device=f"gpu{number}")
        )

    def _measure(self) -> Rates:
        self.measured += 1
        if isinstance(self.next, Exception):
            raise self.next
        return self.next

    def rates(self, **options: Any) -> Rates:
        return machine_rates(self.home, watch=self.said.append, **options)

    @property
    def file(self) -> Path:
        return rates_path(self.home)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_it_is_measured_once_and_kept_whole(world: World) -> None:
    assert world.rates() == RATES
    world.next = RunError("not again")
    assert world.rates() == RATES
    assert (world.measured, world.said) == (1, [])
    assert world.file == world.home / "rates" / f"{fingerprint()}-cpu.json"


def test_again_is_again(world: World) -> None:
    world.rates()
    world.next = replace(RATES, bandwidth_bytes_s=39e9)
    assert world.rates(again=True).bandwidth_bytes_s == 39e9
    assert world.rates().bandwidth_bytes_s == 39e9


def test_another_machine_is_measured_again_and_said(world: World) -> None:
    world.rates()
    world.cpu = replace(world.cpu, threads=2)
    world.rates()
    assert world.measured == 2
    assert world.said == ["threads changed since: the machine is measured again"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is no JSON"),
        ("\xff", "it is no JSON"),
        ("[]", f"it has no schema {SCHEMA}"),
        ('{"schema": "paceline.report/1"}', f"it has no schema {SCHEMA}"),
        (f'{{"schema": "{SCHEMA}"}}', "a field is missing or wrong"),
        ("[" * 100_000, "recursion"),
    ],
    ids=["cut", "no UTF-8", "no object", "another", "empty", "deep"],
)
def test_a_damaged_file_is_measured_again_and_said(world: World, text: str, reason: str) -> None:
    world.file.parent.mkdir()
    world.file.write_text(text, encoding="latin-1")
    assert world.rates() == RATES
    assert len(world.said) == 1
    assert str(world.file) in world.said[0]
    assert reason in world.said[0]
    assert world.rates() == RATES
    assert world.measured == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("bandwidth_bytes_s", 0),
        ("bandwidth_bytes_s", "fast"),
        ("by_kernel", {"read": -1}),
        ("arithmetic_s", {"f32": "NaN"}),
        ("spread", {"read": [1]}),
        ("threads", 0),
        ("measured_at", "2026-11-30T00:00:00"),
    ],
)
def test_figures_that_cannot_be_are_damage(world: World, field: str, value: object) -> None:
    world.rates()
    document = json.loads(world.file.read_text())
    world.file.write_text(json.dumps({**document, field: value}))
    assert world.rates() == RATES
    assert world.measured == 2
    assert "damaged" in world.said[0]


def test_a_disturbed_measurement_is_no_last_word(world: World) -> None:
    world.next = BUSY
    assert world.rates() == BUSY
    # Still busy, and busier: the higher figure stands.
    world.next = replace(BUSY, bandwidth_bytes_s=8e9)
    assert world.rates() == BUSY
    world.next = RATES
    assert world.rates() == RATES
    assert world.rates() == RATES
    assert world.measured == 3
    assert all("other work disturbed" in one for one in world.said)


def test_a_busy_machine_does_not_lower_what_was_measured_in_quiet(world: World) -> None:
    world.rates()
    world.next = BUSY
    assert world.rates(again=True) == RATES
    assert world.said == ["other work disturbed the measurement: the one before, which is higher, stands"]


def test_each_device_has_its_own(world: World) -> None:
    assert world.rates(device="gpu").device == "gpu0"
    assert world.rates(device="gpu0").device == "gpu0"
    assert world.measured == 1
    assert world.rates(device="gpu1").device == "gpu1"
    assert world.rates().device == "cpu"
    assert world.measured == 3


@pytest.mark.parametrize("device", ["tpu", "gpu-1", "", "cpu0", "gpu1x", "gpu\u0661"])
def test_a_device_that_nobody_knows_is_wrong_usage(world: World, device: str) -> None:
    with pytest.raises(UsageError, match="there is no device"):
        world.rates(device=device)


def test_what_ends_the_measurement_keeps_nothing(world: World) -> None:
    world.next = RunError("no threads")
    with pytest.raises(RunError):
        world.rates()
    assert not world.file.exists()


def test_a_home_that_takes_nothing_is_said(world: World) -> None:
    world.home = world.home / "file"
    world.home.write_text("")
    with pytest.raises(StoreError):
        world.rates()


def test_the_reference_names_every_field(world: World) -> None:
    world.rates()
    page = REFERENCE.read_text()
    named = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `")]
    assert named == list(json.loads(world.file.read_text()))
    assert {field.name for field in fields(Rates)} <= set(named)
    assert f"`{SCHEMA}`" in page

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from paceline.measure.machine_speed import CoreKind, Kernel, Stretch
from paceline.roofline import cpu as cpu_module
from paceline.roofline.cpu import Cpu, cpu_flags, cpu_rates, this_cpu

MIB = 1024**2
GIB = 1024**3
CPU = Cpu(threads=4, memory_bytes=16 * GIB, free_bytes=8 * GIB, cache_bytes=32 * MIB, name="A processor")


@dataclass
class Planted:
    """A machine of 40 GB/s. shares: of the cores' time, one a reading; the last goes on."""

    shares: list[float] = field(default_factory=lambda: [1.0])
    by: dict[str, str] = field(default_factory=lambda: {"f32": "wide", "int8": "wide", "bf16": "wide"})
    memory: list[tuple[str, int, int]] = field(default_factory=list)
    products: float = 0.9e12

    def memory_stretches(
        self, kernel: Kernel, threads: int, bytes_a_thread: int, seconds: float
    ) -> list[Stretch]:
        assert seconds > 0
        self.memory.append((kernel, threads, bytes_a_thread))
        share = self.shares.pop(0) if len(self.shares) > 1 else self.shares[0]
        rate = {"read": 40e9, "copy": 36e9, "triad": 38e9}[kernel]
        return [Stretch(0.99 * rate * share, share), Stretch(rate * share, share)]

    def arithmetic_stretches(self, kind: CoreKind, threads: int, seconds: float) -> list[Stretch] | None:
        assert (threads, seconds) == (CPU.threads, cpu_module.ARITHMETIC_S)
        if kind not in self.by:
            return None
        return [Stretch({"f32": 1e12, "bf16": 2e12, "int8": 4e12}[kind] / 2, 0.5)]

    def product_rates(self, seconds: float) -> list[float]:
        assert seconds > 0
        return [0.8 * self.products, self.products]

    def instructions(self, kind: CoreKind) -> str | None:
        return self.by.get(kind)


def test_reading_is_the_roof_and_each_kind_stands_by_itself() -> None:
    said: list[str] = []
    planted = Planted()
    rates = cpu_rates(CPU, said.append, planted)
    assert (rates.device, rates.name, rates.threads, rates.source) == ("cpu", "A processor", 4, "measured")
    assert rates.bandwidth_bytes_s == 40e9
    assert rates.by_kernel == {"read": 40e9, "copy": 36e9, "triad": 38e9}
    # Half of the cores' time was others': that does not count.
    assert rates.arithmetic_s == {"f32": 1e12, "bf16": 2e12, "int8": 4e12, "f16": 1e12}
    assert rates.spread["read"] == pytest.approx((39.64e9, 40e9))
    assert (rates.memory_bytes, rates.cache_bytes, rates.at_least) == (16 * GIB, 32 * MIB, ())
    assert not rates.disturbed
    assert rates.notes == ("f32 by wide", "bf16 by wide", "int8 by wide")
    assert said == ["memory: 4 threads, arrays of 512 MiB", "arithmetic: 4 threads"]
    assert [one[0] for one in planted.memory] == ["read", "copy", "triad"]


def test_products_of_matrices_that_are_faster_stand_for_single_precision() -> None:
    rates = cpu_rates(CPU, lambda _: None, Planted(products=1.6e12))
    assert rates.arithmetic_s == {"f32": 1.6e12, "bf16": 2e12, "int8": 4e12, "f16": 1.6e12}
    assert "f32 by products of matrices (BLAS)" in rates.notes
    assert "f32 by wide" not in rates.notes


def test_arrays_are_sixteen_caches_of_all_threads_together() -> None:
    planted = Planted()
    rates = cpu_rates(CPU, lambda _: None, planted)
    assert rates.array_bytes == 16 * 32 * MIB
    assert {one[1:] for one in planted.memory} == {(4, 4 * 32 * MIB)}


@pytest.mark.parametrize(
    ("cpu", "array_bytes", "note"),
    [
        (Cpu(4, GIB, 256 * MIB, 32 * MIB), 64 * MIB, "only 64.0 MiB were free for arrays, beside 32.0 MiB"),
        (Cpu(4, GIB, 0, 32 * MIB), 24 * MIB, "only 24.0 MiB were free"),
        (Cpu(4, GIB, GIB, 0), 256 * MIB, "the size of the cache is not known; arrays had 256 MiB"),
    ],
    ids=["little", "none", "no cache told"],
)
def test_arrays_too_small_to_be_memory_are_said(cpu: Cpu, array_bytes: int, note: str) -> None:
    rates = cpu_rates(cpu, lambda _: None, Planted())
    assert rates.array_bytes == array_bytes
    assert rates.notes[0].startswith(note)


def test_a_disturbed_reading_is_tried_again() -> None:
    planted = Planted(shares=[0.5, 1.0])
    rates = cpu_rates(CPU, lambda _: None, planted)
    assert (rates.bandwidth_bytes_s, rates.disturbed) == (40e9, False)
    assert [one[0] for one in planted.memory] == ["read", "read", "copy", "triad"]
    # What the disturbed turn showed stays in the spread.
    assert "read: repeats fall up to 50% below the best" in rates.notes


def test_a_machine_that_stays_busy_says_that_it_is_a_lower_bound() -> None:
    planted = Planted(shares=[0.4])
    rates = cpu_rates(CPU, lambda _: None, planted)
    assert (rates.bandwidth_bytes_s, rates.disturbed) == (16e9, True)
    assert [one[0] for one in planted.memory].count("read") == cpu_module.READ_TURNS
    assert any(note.startswith("read: other work had 60% of the cores") for note in rates.notes)


def test_without_instructions_for_brain_floats_they_are_computed_as_single_precision() -> None:
    rates = cpu_rates(CPU, lambda _: None, Planted(by={"f32": "wide", "int8": "wide"}))
    assert rates.arithmetic_s["bf16"] == rates.arithmetic_s["f32"] == 1e12


@pytest.mark.parametrize(
    ("by", "flags", "at_least"),
    [
        ({"f32": "vfmadd, 256 bits", "int8": "plain"}, "avx2", {"int8"}),
        ({"f32": "vfmadd, 256 bits", "int8": "vpmaddubsw, 256 bits"}, "avx2 avx512f", {"f32", "f16", "int8"}),
        ({"f32": "vfmadd, 512 bits", "int8": "vpdpbusd, 512 bits"}, "avx512f amx_int8", {"int8"}),
        ({"f32": "plain", "int8": "plain"}, "asimddp", {"f32", "f16", "int8"}),
    ],
    ids=["plain", "narrow", "matrix units", "unknown"],
)
def test_what_a_processor_can_beyond_what_is_measured_makes_a_lower_bound(
    by: dict[str, str], flags: str, at_least: set[str]
) -> None:
    cpu = Cpu(4, GIB, GIB, 32 * MIB, frozenset(flags.split()))
    rates = cpu_rates(cpu, lambda _: None, Planted(by=by))
    assert set(rates.at_least) - {"bf16"} == at_least


def test_flags_are_the_first_processors(tmp_path: Path) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\nflags\t\t: fpu\n")
    assert cpu_flags(info) == {"fpu", "avx2"}
    info.write_text("processor\t: 0\nFeatures\t: asimd asimddp\n")
    assert cpu_flags(info) == {"asimd", "asimddp"}
    assert cpu_flags(tmp_path / "none") == frozenset()


def test_this_machine_is_known() -> None:
    cpu = this_cpu()
    assert cpu.threads >= 1
    assert 0 < cpu.free_bytes <= cpu.memory_bytes
    assert cpu.name

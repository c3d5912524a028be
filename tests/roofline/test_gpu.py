from typing import Any

import pytest

from paceline.engines.machine import Gpu
from paceline.errors import RunError, UsageError
from paceline.roofline.gpu import THEORETICAL, gpu_rates, this_gpu
from paceline.roofline.rates import Rates
from tests.roofline.fake_torch import GIB, FakeNvml, FakeTorch

GPU = Gpu("NVIDIA H100", 80 * GIB, 70 * GIB, "9.0", "GPU-1234")


def missing() -> Any:
    raise ImportError


def measured(torch: FakeTorch) -> Rates:
    return gpu_rates(0, GPU, lambda _: None, load_torch=lambda: torch, load_nvml=missing)


def on_paper(nvml: FakeNvml, gpu: Gpu = GPU) -> Rates:
    return gpu_rates(1, gpu, lambda _: None, load_torch=missing, load_nvml=lambda: nvml)


def test_torch_finds_the_rates_that_were_planted() -> None:
    torch = FakeTorch()
    rates = measured(torch)
    assert (rates.device, rates.name, rates.source) == ("gpu0", "NVIDIA H100", "measured")
    assert rates.bandwidth_bytes_s == pytest.approx(3.0e12)
    assert rates.by_kernel == pytest.approx({"read": 3.0e12, "copy": 2.8e12})
    assert rates.arithmetic_s == pytest.approx(
        {"f32": 50e12, "f16": 900e12, "bf16": 950e12, "int8": 1_800e12}
    )
    # A library's products are no ceiling.
    assert set(rates.at_least) == set(rates.arithmetic_s)
    assert (rates.memory_bytes, rates.cache_bytes) == (80 * GIB, 50 * 1024**2)
    assert rates.notes == ()
    assert torch.largest_bytes == rates.array_bytes // 2 == 2 * GIB


def test_kinds_that_it_cannot_multiply_are_left_out() -> None:
    rates = measured(FakeTorch(cannot={"int8", "bfloat16"}))
    assert set(rates.arithmetic_s) == {"f32", "f16"}


def test_the_first_turn_does_not_count_and_later_slow_ones_show() -> None:
    assert measured(FakeTorch(slow_turns=1)).notes == ()
    rates = measured(FakeTorch(slow_turns=6))
    assert rates.bandwidth_bytes_s == pytest.approx(3.0e12)
    assert rates.notes == ("read: repeats fall up to 50% below the best",)


def test_no_more_than_a_quarter_of_what_is_free_is_taken() -> None:
    torch = FakeTorch(free_bytes=2 * GIB)
    rates = measured(torch)
    assert rates.array_bytes == GIB // 2
    assert torch.largest_bytes <= GIB // 2


def test_a_torch_that_fails_is_said() -> None:
    with pytest.raises(RunError, match="torch cannot measure gpu0: CUDA error: an illegal") as raised:
        measured(FakeTorch(fails=True))
    assert "\n" not in raised.value.message


@pytest.mark.parametrize(
    ("clock_mhz", "bus_bits", "published_bytes_s"),
    # Clocks as NVML gives them, buses and bandwidths as the vendor's data sheets do.
    [(2_619, 5_120, 3.35e12), (1_215, 5_120, 1_555e9), (10_501, 384, 1_008e9), (6_251, 192, 300e9)],
    ids=["H100 SXM", "A100 40 GB", "RTX 4090", "L4"],
)
def test_on_paper_it_is_what_the_vendor_says(clock_mhz: int, bus_bits: int, published_bytes_s: float) -> None:
    nvml = FakeNvml(clock_mhz, bus_bits)
    rates = on_paper(nvml)
    assert rates.bandwidth_bytes_s == pytest.approx(published_bytes_s, rel=0.002)
    assert (rates.source, rates.arithmetic_s, rates.by_kernel) == (THEORETICAL, {}, {})
    assert rates.notes == ("torch with CUDA is not installed: arithmetic is not known",)
    assert nvml.asked == ["init", b"GPU-1234", "shutdown"]


def test_without_an_identifier_the_number_has_to_do() -> None:
    nvml = FakeNvml(1_215, 5_120)
    on_paper(nvml, Gpu("a GPU", GIB, GIB))
    assert nvml.asked == ["init", 1, "shutdown"]


def test_a_gpu_that_is_full_is_taken_on_paper() -> None:
    torch, nvml = FakeTorch(free_bytes=GIB // 2), FakeNvml(2_619, 5_120)
    rates = gpu_rates(0, GPU, lambda _: None, load_torch=lambda: torch, load_nvml=lambda: nvml)
    assert rates.source == THEORETICAL
    assert rates.notes == ("too little of its memory is free to measure it",)


@pytest.mark.parametrize("torch", [FakeTorch(devices=0), object()], ids=["no GPU", "no torch"])
def test_a_torch_that_sees_no_gpu_is_as_good_as_none(torch: Any) -> None:
    rates = gpu_rates(
        0, GPU, lambda _: None, load_torch=lambda: torch, load_nvml=lambda: FakeNvml(1_215, 5_120)
    )
    assert rates.source == THEORETICAL


def test_with_neither_it_says_what_to_install() -> None:
    with pytest.raises(UsageError, match="neither torch with CUDA nor NVML") as raised:
        gpu_rates(0, GPU, lambda _: None, load_torch=missing, load_nvml=missing)
    assert "paceline[gpu]" in str(raised.value.hint)


@pytest.mark.parametrize("nvml", [FakeNvml(0, 384), FakeNvml(10_501, 0), FakeNvml(1, 1, cannot=True)])
def test_a_driver_that_does_not_know_is_no_source(nvml: FakeNvml) -> None:
    with pytest.raises(RunError, match="the bandwidth of gpu1 cannot be told: NVML"):
        on_paper(nvml)
    assert nvml.asked[-1] == "shutdown"


def test_a_gpu_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="there is no gpu0: this machine shows no GPU"):
        this_gpu(0, lambda *_: ())
    with pytest.raises(UsageError, match="there is no gpu2: this machine shows 1 GPU"):
        this_gpu(2, lambda *_: (GPU,))
    assert this_gpu(0, lambda *_: (GPU,)) == GPU

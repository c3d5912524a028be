"""Where a model lies on GPUs, against figures by hand."""

import pytest

from paceline.engines.gpu_fit import alike, fit, free_share, kv_factor
from paceline.engines.machine import Gpu
from paceline.errors import ConfigError
from tests.support.big_models import GIB, machine, model


def test_room_for_kv_by_hand() -> None:
    # 24 GiB: 0.9 of it, less 6 % for what is neither, less 16 GB of weights.
    one = fit(model(16_000_000_000), machine(1, 24).gpus, 0.9, widest=False)
    room = int(24 * GIB * 0.9 - 24 * GIB * 0.06) - 16_000_000_000
    assert (one.gpus, one.copies) == (1, 1)
    assert one.room_bytes == pytest.approx(room, abs=2)
    assert one.context_tokens == room // 131_072
    assert one.slots(4096 * 131_072) == room // (4096 * 131_072)


def test_a_whole_context_is_the_most() -> None:
    assert fit(model(16_000_000_000), machine(1, 80).gpus, 0.9, widest=False).context_tokens == 131_072


@pytest.mark.parametrize(
    ("weight_gb", "gpus", "widest", "expected"),
    [
        (16, 4, False, (1, 4)),  # one holds it: four copies
        (70, 4, False, (2, 2)),  # two hold it with room
        (140, 8, False, (4, 2)),
        (16, 8, True, (8, 1)),  # all, for one request
        (16, 3, True, (2, 1)),  # 8 KV heads are not split over three
        (16, 1, True, (1, 1)),
    ],
)
def test_over_how_many(weight_gb: int, gpus: int, widest: bool, expected: tuple[int, int]) -> None:
    one = fit(model(weight_gb * 10**9), machine(gpus, 80).gpus, 0.92, widest=widest)
    assert (one.gpus, one.copies) == expected


def test_a_model_of_experts_is_not_copied() -> None:
    assert fit(model(16 * 10**9, experts=64, experts_used=4), machine(4).gpus, 0.9, widest=False).copies == 1


def test_too_large_is_said_before_the_start() -> None:
    with pytest.raises(
        ConfigError, match=r"big does not fit: its weights take 130 GiB, and NVIDIA H100 has 80"
    ):
        fit(model(140 * 10**9), machine(1, 80).gpus, 0.92, widest=False)


def test_what_others_use_is_said() -> None:
    with pytest.raises(ConfigError, match="of which 25% can be had now"):
        fit(model(40 * 10**9), machine(1, 80, free_gib=22).gpus, 0.25, widest=False)


def test_share_by_what_is_free() -> None:
    assert free_share(machine(1, 80, free_gib=79.5).gpus, 0.92) == 0.92
    assert free_share(machine(2, 80, free_gib=40).gpus, 0.92) == 0.48


def test_kv_is_held_again_where_heads_run_out() -> None:
    assert kv_factor(model(1, kv_heads=(8,) * 32), 8) == 1.0
    assert kv_factor(model(1, kv_heads=(2,) * 32), 8) == 4.0
    assert kv_factor(model(1, latent_dim=512), 8) == 8.0


def test_gpus_of_one_kind() -> None:
    small, large = Gpu("A", 1, 1), Gpu("B", 2, 2)
    assert alike((small, large, large)) == (large, large)
    assert alike(()) == ()

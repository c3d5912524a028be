"""Random numbers by place."""

import numpy as np

from paceline.workloads.seeding import mix48, mix64, stream_key, uniforms


def test_the_same_place_gives_the_same_number_in_any_batch() -> None:
    whole = uniforms(7, "x", 0, 100)
    parts = [uniforms(7, "x", start, n) for start, n in ((0, 1), (1, 49), (50, 0), (50, 50))]
    assert np.array_equal(whole, np.concatenate(parts))


def test_numbers_are_uniform_and_streams_and_seeds_are_independent() -> None:
    a, b, c = uniforms(1, "x", 0, 100_000), uniforms(1, "y", 0, 100_000), uniforms(2, "x", 0, 100_000)
    counts, _ = np.histogram(a, bins=20, range=(0, 1))
    # Chi-square of 19 degrees of freedom: above 43.8 in one of a thousand.
    assert ((counts - 5000) ** 2 / 5000).sum() < 43.8
    assert a.min() > 0
    assert a.max() < 1
    for other in (b, c, np.roll(a, 1)):
        assert abs(np.corrcoef(a, other)[0, 1]) < 0.015


def test_the_mixers_lose_nothing() -> None:
    assert len({mix48(i, stream_key(3, "prefix")) for i in range(50_000)}) == 50_000
    assert len({mix64(i) for i in range(50_000)}) == 50_000
    assert all(0 <= mix48(i, 2**64 - 1) < 2**48 for i in (0, 1, 2**48 - 1))
    assert mix64(0) == 0
    assert stream_key(1, "a") != stream_key(1, "b")

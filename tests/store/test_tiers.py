import random

from paceline.store.tiers import FAN, mergeable


def test_few_files_are_let_be() -> None:
    assert mergeable([10] * (FAN - 1), 1_000_000) == []
    assert mergeable([], 10) == []


def test_many_of_like_size_become_one() -> None:
    assert mergeable([50_000, *[10] * FAN], 1_000_000) == [range(1, FAN + 1)]


def test_a_merged_file_grows_no_larger_than_it_may() -> None:
    assert mergeable([100] * FAN, 499) == [range(place, place + 4) for place in range(0, FAN, 4)]


def test_files_stay_few_and_rows_are_rewritten_seldom() -> None:
    draw = random.Random(1)
    sizes: list[int] = []
    written = total = 0
    for _ in range(5_000):
        sizes.append(draw.randint(1, 200))
        total += sizes[-1]
        while found := mergeable(sizes, 250_000):
            for places in reversed(found):
                merged = sum(sizes[places.start : places.stop])
                sizes[places.start : places.stop] = [merged]
                written += merged
    assert sum(sizes) == total
    assert len(sizes) < 5 * FAN
    assert written < 6 * total

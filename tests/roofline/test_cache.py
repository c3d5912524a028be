from pathlib import Path

from paceline.roofline.cache import last_level_bytes

MIB = 1024**2


def caches(folder: Path, cpu: int, *told: tuple[int, str, str, str]) -> None:
    """Level, type, size, and the cores that share it."""
    for index, values in enumerate(told):
        one = folder / f"cpu{cpu}" / "cache" / f"index{index}"
        one.mkdir(parents=True)
        for name, value in zip(("level", "type", "size", "shared_cpu_list"), values, strict=True):
            (one / name).write_text(f"{value}\n")


def test_a_cache_that_cores_share_counts_once(tmp_path: Path) -> None:
    for cpu in range(4):
        caches(
            tmp_path,
            cpu,
            (1, "Data", "32K", str(cpu)),
            (1, "Instruction", "64K", str(cpu)),
            (2, "Unified", "1024K", str(cpu)),
            (3, "Unified", "32768K", "0-1" if cpu < 2 else "2-3"),
        )
    assert last_level_bytes(tmp_path, frozenset(range(4))) == 64 * MIB
    assert last_level_bytes(tmp_path, frozenset({0, 1})) == 32 * MIB
    assert last_level_bytes(tmp_path, frozenset({2})) == 32 * MIB


def test_without_a_third_level_it_is_the_second_of_each_core(tmp_path: Path) -> None:
    for cpu in range(2):
        caches(tmp_path, cpu, (1, "Data", "64K", str(cpu)), (2, "Unified", "2M", str(cpu)))
    assert last_level_bytes(tmp_path, frozenset({0, 1})) == 4 * MIB


def test_what_is_not_told_is_not_known(tmp_path: Path) -> None:
    assert last_level_bytes(tmp_path, frozenset({0})) == 0
    caches(tmp_path, 0, (3, "Unified", "large", "0"))
    assert last_level_bytes(tmp_path, frozenset({0})) == 0


def test_this_machine_says_something_or_nothing() -> None:
    assert last_level_bytes() >= 0

from pathlib import Path

from paceline.engines.limits import cores, memory

GIB = 1024**3
NO_LIMIT = "9223372036854771712"


class Files:
    """A machine of 16 GiB, 12 of them free; what is written says more."""

    def __init__(self, folder: Path) -> None:
        self.proc, self.groups = folder / "proc", folder / "groups"
        self.write("proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 1048576 kB\nMemAvailable: 12582912 kB\n")

    def write(self, name: str, text: object) -> None:
        path = self.proc.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def memory_gib(self) -> tuple[float, float]:
        total, free = memory(self.proc, self.groups)
        return total / GIB, free / GIB

    def cores(self, allowed: int) -> int:
        return cores(self.proc, self.groups, allowed)


def test_without_groups_it_is_the_machine(tmp_path: Path) -> None:
    files = Files(tmp_path)
    assert files.memory_gib() == (16, 12)
    assert files.cores(8) == 8


def test_a_machine_that_tells_nothing_is_asked_otherwise(tmp_path: Path) -> None:
    total, free = memory(tmp_path / "none", tmp_path / "none")
    assert 0 < free <= total
    assert cores(tmp_path / "none", tmp_path / "none") >= 1


def test_version_2_its_own_group_and_those_above_bound_it(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write("proc/self/cgroup", "0::/pod/one")
    files.write("groups/pod/one/memory.max", "max")
    files.write("groups/pod/one/memory.high", "max")
    files.write("groups/pod/one/cpu.max", "350000 100000")
    files.write("groups/pod/memory.max", 8 * GIB)
    files.write("groups/pod/memory.high", "max")
    files.write("groups/pod/memory.current", 5 * GIB)
    files.write("groups/pod/memory.stat", f"anon 1\nfile 2\ninactive_file {2 * GIB}")
    files.write("groups/pod/cpu.max", "max 100000")
    # 8 in all; 5 are used, 2 of those by files that can go.
    assert files.memory_gib() == (8, 5)
    assert files.cores(8) == 3
    assert files.cores(2) == 2


def test_version_2_the_lower_of_both_limits_counts(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write("proc/self/cgroup", "0::/")
    files.write("groups/memory.max", 8 * GIB)
    files.write("groups/memory.high", 4 * GIB)
    files.write("groups/memory.current", 5 * GIB)
    assert files.memory_gib() == (4, 0)


def test_version_1_a_container_sees_its_own_group_as_the_root(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/docker/abc\n1:cpu,cpuacct:/docker/abc\n0::/")
    files.write("groups/memory/memory.limit_in_bytes", 2 * GIB)
    files.write("groups/memory/memory.usage_in_bytes", GIB)
    files.write("groups/memory/memory.stat", f"inactive_file 7\ntotal_inactive_file {GIB // 2}")
    files.write("groups/cpu/cpu.cfs_quota_us", 50_000)
    files.write("groups/cpu/cpu.cfs_period_us", 100_000)
    assert files.memory_gib() == (2, 1.5)
    # Half a core is still one thread.
    assert files.cores(4) == 1


def test_version_1_without_limits(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write("proc/self/cgroup", "4:memory:/a\n1:cpu:/a")
    files.write("groups/memory/a/memory.limit_in_bytes", NO_LIMIT)
    files.write("groups/memory/a/memory.usage_in_bytes", GIB)
    files.write("groups/cpu/a/cpu.cfs_quota_us", -1)
    files.write("groups/cpu/a/cpu.cfs_period_us", 100_000)
    assert files.memory_gib() == (16, 12)
    assert files.cores(4) == 4


def test_nonsense_sets_no_limit(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.write("proc/self/cgroup", "::::\nx\n0::/../..")
    files.write("groups/memory.max", "lots")
    files.write("groups/cpu.max", "100000 0")
    assert files.memory_gib() == (16, 12)
    assert files.cores(4) == 4

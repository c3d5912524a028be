import os
from pathlib import Path

from paceline.dashboard.stamp import store_stamp, traffic_stamp
from paceline.store.paths import ledger_folder, runs_folder
from tests.report.samples import store
from tests.support.rows import lognormal_rows


def test_it_changes_with_what_pages_are_made_from(home: Path) -> None:
    prices = home / "prices.toml"
    seen = [store_stamp(home, prices)]

    def changed() -> bool:
        seen.append(store_stamp(home, prices))
        return seen[-1] != seen[-2]

    assert not changed()
    run = store(home, lognormal_rows(30, 1))
    assert changed()
    assert not changed()
    (runs_folder(home) / run.id / "capability.json").write_text("{}")
    assert changed()
    prices.write_text("x = 1")
    assert changed()
    os.utime(runs_folder(home) / run.id / "run.json", ns=(1, 1))
    assert changed()
    (home / "scores").mkdir()
    (home / "scores" / "a.json").write_text("{}")
    assert changed()


def test_it_changes_with_the_ledger(home: Path) -> None:
    before = traffic_stamp(home)
    folder = ledger_folder(home)
    folder.mkdir(parents=True)
    (folder / "00000001.jsonl").write_bytes(b"a")
    first = traffic_stamp(home)
    assert first != before
    (folder / "00000001.jsonl").write_bytes(b"ab")
    assert traffic_stamp(home) != first

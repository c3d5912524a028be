"""A tuning on the disk: whole after each block, resumable, and refused with a reason where it is damaged."""

import json
from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.tuning.journal import (
    FILE_NAME,
    Block,
    Journal,
    Round,
    TrialEntry,
    delete_tuning,
    list_tunings,
    open_tuning,
    tunings_folder,
)
from paceline.tuning.trial import Measured
from tests.tuning.samples import new_tuning


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    measured = Measured(
        {7: 12.5, 8: 13.0}, ("run",), ({"concurrency": 1, "output_tok_s": 70.0},), place=4, ready_s=0.5
    )
    block = Block.of(measured, prompts=2, seconds=9.0)
    with Journal.create(new_tuning(), at=tmp_path) as journal:
        journal.update(
            trials=[TrialEntry(number=0, settings={"parallel": 1, "metrics": True}, blocks=[block])],
            rounds=[Round(order=["tuned", "default"], tuned=block)],
        )
        found = open_tuning(journal.tuning.id, at=tmp_path)
        assert found == journal.tuning
        assert found.trials[0].blocks[0].measured() == measured
        assert found.state == "running"
        journal.finish("complete")
    assert open_tuning("latest", at=tmp_path).state == "complete"


def test_one_that_was_killed_was_interrupted(tmp_path: Path) -> None:
    journal = Journal.create(new_tuning(), at=tmp_path)
    journal._lock.release()
    assert open_tuning("latest", at=tmp_path).state == "interrupted"
    assert [one.state for one in list_tunings(at=tmp_path)[0]] == ["interrupted"]


def test_two_do_not_write_one(tmp_path: Path) -> None:
    with Journal.create(new_tuning(), at=tmp_path) as journal:
        with pytest.raises(StoreError, match="is being written"):
            Journal.reopen(journal.tuning.id, at=tmp_path)
        with pytest.raises(StoreError, match="is going on"):
            delete_tuning(journal.tuning.id, at=tmp_path)
    assert delete_tuning("latest", at=tmp_path) == journal.tuning.id
    assert list_tunings(at=tmp_path) == ([], [])


def test_one_that_is_whole_is_not_gone_on_with(tmp_path: Path) -> None:
    with Journal.create(new_tuning(), at=tmp_path) as journal:
        journal.finish("complete")
    with pytest.raises(StoreError, match="is complete"):
        Journal.reopen("latest", at=tmp_path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "damaged"),
        ("[]", "has schema None"),
        ('{"schema": "paceline.tuning/9"}', "has schema 'paceline.tuning/9'"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_damaged_is_named(tmp_path: Path, text: str, said: str) -> None:
    with Journal.create(new_tuning(), at=tmp_path) as journal:
        journal.finish("complete")
    (journal.folder / FILE_NAME).write_text(text)
    with pytest.raises(StoreError, match=said):
        open_tuning("latest", at=tmp_path)
    assert list_tunings(at=tmp_path) == ([], [journal.tuning.id])


CURVE = {"concurrency": 1, "output_tok_s": 5.0, "itl": {"p50": {"value": 3.0}}}
WORKLOAD = {"name": "chat", "temperature": 0.0}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("budget_s", -1),
        ("levels", "x"),
        ("levels", []),
        ("levels", [0]),
        ("trials", [{}]),
        ("extra", 1),
        ("asked", {}),
        ("asked", {"workload": 2.5, "load": {}}),
        ("asked", {"workload": WORKLOAD | {"temperature": [1]}, "load": {}}),
        ("asked", {"workload": WORKLOAD, "load": None}),
        ("asked", {"workload": WORKLOAD, "load": {}, "protocol": 1}),
        ("curves", {"other": []}),
        ("curves", {"tuned": [{}]}),
        ("curves", {"tuned": [CURVE | {"concurrency": [[]]}]}),
        ("curves", {"tuned": [CURVE | {"itl": "3"}]}),
        ("curves", {"tuned": [CURVE | {"itl": {"p50": True}}]}),
        ("curves", {"tuned": [CURVE | {"itl": {"p50": {"value": "3"}}}]}),
        ("curves", {"default": [CURVE | {"output_tok_s": {}}]}),
        ("result", {"real": True, "gain": None}),
        ("result", {"real": "yes", "sentence": "x", "gain": None}),
        ("result", {"real": True, "sentence": "x", "gain": {"ratio": "1"}}),
        ("result", {"real": True, "sentence": "x", "gain": 3}),
    ],
)
def test_a_value_that_cannot_be_is_named(tmp_path: Path, key: str, value: object) -> None:
    with Journal.create(new_tuning(), at=tmp_path) as journal:
        journal.finish("complete")
    path = journal.folder / FILE_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(StoreError, match=rf"damaged: {key}"):
        open_tuning("latest", at=tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trials": [{"number": 1, "settings": {}}]}, "trials are not numbered"),
        ({"pick": 0}, "pick is no trial"),
        ({"trials": [{"number": 0, "settings": {}}], "pick": -1}, "pick is no trial"),
        ({"rounds": [{"order": ["default", "default"]}]}, "each side once"),
        ({"rounds": [{"order": ["tuned"]}]}, "each side once"),
    ],
)
def test_what_does_not_fit_together_is_named(tmp_path: Path, changes: dict[str, object], said: str) -> None:
    with Journal.create(new_tuning(), at=tmp_path) as journal:
        journal.finish("complete")
    path = journal.folder / FILE_NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(StoreError, match=said):
        open_tuning("latest", at=tmp_path)


def test_a_tuning_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there are no tunings"):
        open_tuning("latest", at=tmp_path)
    with Journal.create(new_tuning(), at=tmp_path) as first, Journal.create(new_tuning(), at=tmp_path):
        assert open_tuning(first.tuning.id, at=tmp_path).id == first.tuning.id
        with pytest.raises(StoreError, match="begins 2 ids"):
            open_tuning(first.tuning.id[:4], at=tmp_path)
        with pytest.raises(StoreError, match="no tuning has the id"):
            open_tuning("nothing", at=tmp_path)
    assert len(list(tunings_folder(tmp_path).iterdir())) == 2

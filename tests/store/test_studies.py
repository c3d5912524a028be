import json
from pathlib import Path

import pytest

from paceline.errors import StoreError
from paceline.store.studies import (
    StudyManifest,
    StudyStep,
    StudyWriter,
    delete_study,
    list_studies,
    open_study,
    studies_folder,
)


def manifest(**fields: object) -> StudyManifest:
    return StudyManifest.model_validate(
        {
            "kind": "sweep",
            "version": "0.1.0",
            "endpoint": "http://127.0.0.1:9100/v1",
            "model": "m",
            "protocol": "openai-chat",
            "asked": {
                "workload": {},
                "load": {},
                "seed": 1,
                "settle_ns": 0,
                "keep_salt": False,
                "points": [{"concurrency": 1}],
                "repeats": 1,
                "order": "random",
            },
            **fields,
        }
    )


def step(number: int) -> StudyStep:
    return StudyStep(number=number, at={"concurrency": 1}, run_id=f"run-{number}", seconds=1.5)


def test_steps_are_on_the_disk_as_soon_as_they_are_added(home: Path) -> None:
    with StudyWriter.create(manifest(name="night")) as writer:
        writer.add(step(0))
        found = open_study("night")
        assert found.state == "running"
        assert found.manifest.steps == [step(0)]
        writer.finish("complete", {"steps": 1})
    assert open_study(writer.id).state == "complete"
    assert open_study("latest").manifest.result == {"steps": 1}


def test_a_study_whose_writer_is_gone_was_interrupted(home: Path) -> None:
    writer = StudyWriter.create(manifest())
    writer.add(step(0))
    writer.release()
    assert open_study(writer.id).state == "interrupted"
    with StudyWriter.reopen(writer.id) as again:
        assert again.manifest.steps == [step(0)]
        again.add(step(1))
        again.finish("complete", None)
    assert len(open_study(writer.id).manifest.steps) == 2


def test_only_one_process_writes_a_study(home: Path) -> None:
    with StudyWriter.create(manifest()) as writer:
        with pytest.raises(StoreError, match=f"study {writer.id} is being written"):
            StudyWriter.reopen(writer.id)
        with pytest.raises(StoreError, match="is being written"):
            delete_study(writer.id)


def test_an_error_leaves_a_failed_study(home: Path) -> None:
    def fail() -> None:
        with StudyWriter.create(manifest()):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    assert open_study("latest").state == "failed"


def test_studies_are_listed_the_newest_first_and_found_in_many_ways(home: Path) -> None:
    first = StudyWriter.create(manifest(id="20261130-100000-aaaa", name="a"))
    second = StudyWriter.create(manifest(id="20261130-110000-bbbb"))
    for writer in (first, second):
        writer.finish("complete", None)
        writer.release()
    assert [entry.id for entry in list_studies()] == [second.id, first.id]
    for ref in ("a", first.id, "20261130-10"):
        assert open_study(ref).id == first.id
    with pytest.raises(StoreError, match="begins 2 ids"):
        open_study("2026")
    with pytest.raises(StoreError, match="no study has"):
        open_study("zzz")


def test_a_deleted_study_is_gone(home: Path) -> None:
    with StudyWriter.create(manifest()) as writer:
        writer.finish("complete", None)
    delete_study(writer.id)
    assert list_studies() == []
    assert list(studies_folder().iterdir()) == []


def test_a_taken_id_is_not_written_over(home: Path) -> None:
    with (
        StudyWriter.create(manifest(id="20261130-100000-aaaa")),
        StudyWriter.create(manifest(id="20261130-100000-aaaa")) as second,
    ):
        assert second.id != "20261130-100000-aaaa"
    assert len(list_studies()) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "has schema None"),
        ('{"schema": "paceline.study/2"}', "paceline.study/2"),
        ('{"schema": "paceline.study/1"}', "kind"),
    ],
)
def test_what_is_wrong_with_a_study_is_said(home: Path, text: str, message: str) -> None:
    folder = studies_folder() / "20261130-100000-aaaa"
    folder.mkdir(parents=True)
    (folder / "study.json").write_text(text)
    with pytest.raises(StoreError, match=message):
        open_study("latest")
    assert [entry.state for entry in list_studies()] == ["unreadable"]


def test_keys_of_a_later_version_survive(home: Path) -> None:
    with StudyWriter.create(manifest()) as writer:
        writer.finish("interrupted", None)
    path = writer.folder / "study.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "later": 1}))
    with StudyWriter.reopen(writer.id) as again:
        again.add(step(0))
    assert json.loads(path.read_text())["later"] == 1

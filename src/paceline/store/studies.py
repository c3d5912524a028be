"""Studies: several stored runs that answer one question. `$PACELINE_HOME/studies/ID/study.json`."""

import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from paceline.errors import StoreError
from paceline.store.atomic import make_folder, store_error, sweep, sync_folder, write_text
from paceline.store.document import read_document
from paceline.store.lock import WriterLock, is_locked
from paceline.store.manifest import LATEST, new_run_id, read_manifest
from paceline.store.paths import home, runs_folder
from paceline.store.runs import list_runs
from paceline.store.study_checks import CheckedFigures, check_asked

MANIFEST_NAME = "study.json"
SCHEMA: Literal["paceline.study/1"] = "paceline.study/1"
StudyKind = Literal["sweep", "capacity"]
StudyState = Literal["running", "complete", "interrupted", "failed"]
UNREADABLE = "unreadable"
_NEW_PREFIX, _DELETED_PREFIX = ".new-", ".deleted-"


class StudyStep(BaseModel):
    """One step that has ended: a stored run. Steps that were cut off are not here, and are done again.

    number: its place in the study, from 0. at: axis -> value. repeat: from 0. run_id: None where there was
    no run. overload: why it was cut short, for the endpoint's sake. seconds: what it took, settling included.
    figures: what it has shown.
    """

    model_config = ConfigDict(extra="allow")

    number: int = Field(ge=0)
    at: dict[str, Any]
    repeat: int = Field(default=0, ge=0)
    run_id: str | None = None
    overload: str | None = None
    seconds: float = Field(default=0.0, ge=0)
    figures: dict[str, Any] = Field(default_factory=dict)


class StudyManifest(BaseModel):
    """`paceline.study/1` (docs/reference/study.md).

    endpoint: URL without credentials. asked: workload, load, connection, objectives and what is to be varied.
    result: what was found, None until there is something.
    """

    model_config = ConfigDict(extra="allow", populate_by_name=True)

    schema_name: Literal["paceline.study/1"] = Field(default=SCHEMA, alias="schema")
    id: str = Field(default_factory=new_run_id)
    name: str | None = None
    kind: StudyKind
    version: str
    started_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    finished_at: datetime | None = None
    state: StudyState = "running"
    endpoint: str
    model: str
    protocol: str
    asked: dict[str, Any]
    steps: list[StudyStep] = Field(default_factory=list)
    result: dict[str, Any] | None = None
    notes: list[str] = Field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write it into the study's folder, whole or not at all. Raises StoreError."""
        write_text(folder / MANIFEST_NAME, self.model_dump_json(by_alias=True, indent=2) + "\n")


@dataclass(frozen=True)
class StoredStudy:
    """One study on the disk, whole or cut off."""

    folder: Path
    manifest: StudyManifest

    @property
    def id(self) -> str:
        """The study's id."""
        return self.manifest.id

    @property
    def state(self) -> str:
        """As the manifest says; a study whose writer is gone was interrupted."""
        return _living(self.manifest.state, self.folder)


@dataclass(frozen=True)
class StudyEntry:
    """One line of the list of studies; all but `id` empty where it is `unreadable`."""

    id: str
    name: str | None
    kind: str
    started_at: datetime | None
    endpoint: str
    model: str
    state: str
    steps: int

    def to_dict(self) -> dict[str, object]:
        """As in `paceline.studies/1`."""
        return {
            "id": self.id,
            "name": self.name,
            "kind": self.kind,
            "started_at": self.started_at.isoformat() if self.started_at else None,
            "endpoint": self.endpoint,
            "model": self.model,
            "state": self.state,
            "steps": self.steps,
        }


class StudyWriter:
    """Writes a study while it goes on: what it holds is on the disk after each step."""

    def __init__(self, folder: Path, manifest: StudyManifest, lock: WriterLock) -> None:
        self.folder = folder
        self.manifest = manifest
        self._lock = lock

    @classmethod
    def create(cls, manifest: StudyManifest, *, at: Path | None = None) -> "StudyWriter":
        """A new study. Its folder appears with the manifest in it, or not at all. Raises StoreError."""
        studies = studies_folder(at)
        unnamed = studies / f"{_NEW_PREFIX}{new_run_id()}"
        make_folder(unnamed)
        lock = None
        try:
            lock = WriterLock(unnamed)
            while (studies / manifest.id).exists():
                manifest = manifest.model_copy(update={"id": new_run_id()})
            manifest.write(unnamed)
            unnamed.rename(studies / manifest.id)
            sync_folder(studies)
        except BaseException as error:
            if lock is not None:
                lock.release()
            shutil.rmtree(unnamed, ignore_errors=True)
            if isinstance(error, OSError):
                raise store_error(f"cannot create a study in {studies}", error) from error
            raise
        return cls(studies / manifest.id, manifest, lock)

    @classmethod
    def reopen(cls, ref: str, *, at: Path | None = None) -> "StudyWriter":
        """Go on with a study that was cut off. Raises StoreError when there is none, or another writes it."""
        found = open_study(ref, at=at)
        lock = _locked(found.folder)
        try:
            sweep(found.folder)
            # Another process may have gone on with it since it was looked up.
            manifest = read_study(found.folder)
        except BaseException:
            lock.release()
            raise
        return cls(found.folder, manifest, lock)

    @property
    def id(self) -> str:
        """The study's id."""
        return self.manifest.id

    def add(self, step: StudyStep) -> None:
        """Store a step that has ended. Raises StoreError."""
        self.update(steps=[*self.manifest.steps, step])

    def update(self, **changes: Any) -> None:
        """Change fields of the manifest on the disk. Raises StoreError."""
        manifest = self.manifest.model_copy(update=changes)
        manifest.write(self.folder)
        self.manifest = manifest

    def finish(self, state: StudyState, result: dict[str, Any] | None) -> None:
        """End it. Raises StoreError."""
        self.update(state=state, result=result, finished_at=datetime.now(UTC))

    def release(self) -> None:
        """Let go of the study; harmless when called again."""
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.manifest.state == "running":
            with suppress(StoreError):
                self.update(state="interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
        self.release()


def studies_folder(at: Path | None = None) -> Path:
    """The folder that holds one folder a study; `at`: another home."""
    return (at or home()) / "studies"


def open_study(ref: str, *, at: Path | None = None) -> StoredStudy:
    """The study that `ref` means: an id, the unique beginning of one, a name (its latest), or `latest`.

    Raises StoreError when there is none, more than one, or it cannot be read.
    """
    folder = studies_folder(at) / find_study(ref, at=at)
    return StoredStudy(folder, read_study(folder))


def list_studies(*, at: Path | None = None) -> list[StudyEntry]:
    """All studies, newest first; an unreadable one is listed as such."""
    return [_entry(folder) for folder in reversed(_folders(at))]


def delete_study(ref: str, *, at: Path | None = None) -> str:
    """Delete a study, not its runs, and return its id. Raises StoreError."""
    study_id = find_study(ref, at=at)
    folder = studies_folder(at) / study_id
    lock = _locked(folder)
    try:
        # Renamed first: a study is there whole or not at all, whatever stops the deletion.
        doomed = folder.with_name(f"{_DELETED_PREFIX}{study_id}")
        folder.rename(doomed)
        shutil.rmtree(doomed)
    except OSError as error:
        raise store_error(f"cannot delete {folder}", error) from error
    finally:
        lock.release()
    return study_id


def runs_of(study_id: str, *, at: Path | None = None) -> list[str]:
    """The ids of all runs of a study's steps, those of steps that were cut off among them."""
    found = []
    for entry in list_runs(at=at):
        with suppress(StoreError):
            manifest = read_manifest(runs_folder(at) / entry.id)
            study = (manifest.model_extra or {}).get("study")
            if isinstance(study, dict) and study.get("id") == study_id:
                found.append(entry.id)
    return found


def find_study(ref: str, *, at: Path | None = None) -> str:
    """The id that `ref` means; see `open_study`. Raises StoreError."""
    folders = _folders(at)
    if not folders:
        raise StoreError(
            f"there are no studies in {studies_folder(at)}",
            "make one: paceline sweep URL --over concurrency=1..8",
        )
    ids = [folder.name for folder in folders]
    if ref == LATEST:
        return ids[-1]
    if ref in ids:
        return ref
    begun = [name for name in ids if ref and name.startswith(ref)]
    if len(begun) == 1:
        return begun[0]
    named = [entry.id for entry in map(_entry, folders) if entry.name == ref]
    if named:
        return named[-1]
    if begun:
        raise StoreError(f"{ref!r} begins {len(begun)} ids of studies", "give more of the id")
    raise StoreError(f"no study has the id or name {ref!r}", "list them: paceline study list")


def read_study(folder: Path) -> StudyManifest:
    """The study in `folder`. Raises StoreError when it is missing, damaged or too new."""
    path = folder / MANIFEST_NAME
    try:
        document = read_document(path, f"delete it: paceline study delete {folder.name}")
    except ValueError as error:
        raise _damaged(folder, str(error)) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        newer = str(schema).startswith("paceline.study/")
        raise StoreError(
            f"{path} has schema {schema!r}, this Paceline reads {SCHEMA!r}",
            "a newer Paceline wrote this study: upgrade Paceline"
            if newer
            else "this is no study of Paceline",
        )
    try:
        manifest = StudyManifest.model_validate(document)
        for step in manifest.steps:
            CheckedFigures.model_validate(step.figures)
        check_asked(manifest.kind, manifest.asked, manifest.result)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise _damaged(folder, f"{where}: {first['msg']}") from error
    if manifest.id != folder.name:
        raise _damaged(folder, f"id: it is {manifest.id!r}, and the folder's name is {folder.name!r}")
    return manifest


def _damaged(folder: Path, why: str) -> StoreError:
    return StoreError(
        f"{MANIFEST_NAME} of study {folder.name} is damaged: {why}",
        f"restore it from a backup, or delete the study: paceline study delete {folder.name}",
    )


def _folders(at: Path | None) -> list[Path]:
    """The folders of all studies, by the time of their start."""
    try:
        found = [child for child in studies_folder(at).iterdir() if child.is_dir()]
    except OSError:
        return []
    return sorted(child for child in found if not child.name.startswith("."))


def _entry(folder: Path) -> StudyEntry:
    try:
        found = read_study(folder)
    except StoreError:
        return StudyEntry(folder.name, None, "", None, "", "", UNREADABLE, 0)
    return StudyEntry(
        id=found.id,
        name=found.name,
        kind=found.kind,
        started_at=found.started_at,
        endpoint=found.endpoint,
        model=found.model,
        state=_living(found.state, folder),
        steps=len(found.steps),
    )


def _living(state: str, folder: Path) -> str:
    return "interrupted" if state == "running" and not is_locked(folder) else state


def _locked(folder: Path) -> WriterLock:
    try:
        return WriterLock(folder)
    except StoreError as error:
        message = error.message.replace(f"run {folder.name}", f"study {folder.name}")
        raise StoreError(message, error.hint) from None

"""A tuning on the disk: `$PACELINE_HOME/tunings/ID/tuning.json`, whole after each block; runs beside it."""

import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from paceline import __version__
from paceline.engines.engine import EngineName, Tier, Value
from paceline.engines.profile import Sameness
from paceline.errors import StoreError
from paceline.store.atomic import make_folder, store_error, sweep, write_text
from paceline.store.document import read_document
from paceline.store.lock import WriterLock, is_locked, living_state
from paceline.store.manifest import LATEST, new_run_id
from paceline.store.paths import home
from paceline.tuning import shapes
from paceline.tuning.trial import Measured, Trial

SCHEMA: Literal["paceline.tuning/1"] = "paceline.tuning/1"
FILE_NAME = "tuning.json"
State = Literal["running", "complete", "interrupted", "failed"]


class Block(BaseModel):
    """One block, as `tuning.trial.Measured`. prompts: which set of them. seconds: with the start."""

    model_config = ConfigDict(extra="forbid")

    prompts: int = Field(ge=0)
    values: dict[int, float] = Field(default_factory=dict)
    run_ids: list[str] = Field(default_factory=list)
    curve: list[dict[str, Any]] = Field(default_factory=list)
    failure: str | None = None
    place: int = Field(default=0, ge=0)
    ready_s: float = Field(default=0.0, ge=0)
    seconds: float = Field(ge=0)

    @classmethod
    def of(cls, measured: Measured, prompts: int, seconds: float) -> "Block":
        """What is kept of a block."""
        return cls(
            prompts=prompts,
            values=dict(measured.values),
            run_ids=list(measured.run_ids),
            curve=[dict(point) for point in measured.curve],
            failure=measured.failure,
            place=measured.place,
            ready_s=measured.ready_s,
            seconds=seconds,
        )

    def measured(self) -> Measured:
        """As it was measured."""
        return Measured(
            self.values, tuple(self.run_ids), tuple(self.curve), self.failure, self.place, self.ready_s
        )


class TrialEntry(BaseModel):
    """A setting of the search and its blocks. stopped: why it was given up."""

    model_config = ConfigDict(extra="forbid")

    number: int = Field(ge=0)
    settings: dict[str, Value]
    blocks: list[Block] = Field(default_factory=list)
    stopped: str | None = None

    def trial(self) -> Trial:
        """As the search knows it."""
        return Trial(self.number, self.settings, [block.measured() for block in self.blocks], self.stopped)


class Round(BaseModel):
    """One round of the second half: each side once, after a start of its own."""

    model_config = ConfigDict(extra="forbid")

    order: list[Literal["default", "tuned"]]
    default: Block | None = None
    tuned: Block | None = None


class Tuning(BaseModel):
    """`paceline.tuning/1` (docs/reference/tuning.md).

    asked: the workload, its load and how it is asked. fixed: settings that all trials have. pick: the trial
    that the search chose. curves: figures a load level, of `default` and `tuned`. result: what was found.
    notes: what was left out or is not as it should be, in sentences.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    schema_name: Literal["paceline.tuning/1"] = Field(default=SCHEMA, alias="schema")
    id: str = Field(default_factory=new_run_id)
    version: str = __version__
    started_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    finished_at: datetime | None = None
    state: State = "running"
    engine: EngineName
    engine_version: str | None
    binary: str | None
    model: str
    model_name: str
    model_fingerprint: str | None
    machine: str
    tier: Tier
    goal: str
    budget_s: float = Field(gt=0)
    seed: int
    requests: int | None = Field(default=None, ge=1)
    levels: list[Annotated[int, Field(ge=1)]] = Field(min_length=1)
    asked: Annotated[dict[str, Any], AfterValidator(shapes.asked)]
    fixed: dict[str, Value] = Field(default_factory=dict)
    varied: dict[str, list[Value]] = Field(default_factory=dict)
    spent_s: float = Field(default=0.0, ge=0)
    trials: list[TrialEntry] = Field(default_factory=list)
    pick: int | None = None
    rounds: list[Round] = Field(default_factory=list)
    curves: Annotated[dict[str, list[dict[str, Any]]], AfterValidator(shapes.curves)] = Field(
        default_factory=dict
    )
    sameness: Sameness | None = None
    result: Annotated[dict[str, Any] | None, AfterValidator(shapes.result)] = None
    profile: str | None = None
    notes: list[str] = Field(default_factory=list)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if [one.number for one in self.trials] != list(range(len(self.trials))):
            raise ValueError("trials are not numbered from 0 on")
        if self.pick is not None and not 0 <= self.pick < len(self.trials):
            raise ValueError(f"pick is no trial: {self.pick}")
        if any(sorted(one.order) != ["default", "tuned"] for one in self.rounds):
            raise ValueError("a round has not each side once")
        return self

    def settings_of(self, number: int) -> dict[str, Value]:
        """A trial's settings, with those that all have. Raises KeyError."""
        return {**self.fixed, **next(one.settings for one in self.trials if one.number == number)}

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Trial and why, of each block that failed."""
        return [(one.number, b.failure) for one in self.trials for b in one.blocks if b.failure is not None]


class Journal:
    """Writes a tuning while it goes on: what it holds is on the disk after each block."""

    def __init__(self, folder: Path, tuning: Tuning, lock: WriterLock) -> None:
        self.folder = folder
        self.tuning = tuning
        self._lock = lock

    @classmethod
    def create(cls, tuning: Tuning, *, at: Path | None = None) -> "Journal":
        """A new tuning. Raises StoreError."""
        folder = tunings_folder(at) / tuning.id
        make_folder(folder)
        lock = WriterLock(folder, f"tuning {tuning.id}")
        try:
            write_text(folder / FILE_NAME, _text(tuning))
        except BaseException:
            lock.release()
            raise
        return cls(folder, tuning, lock)

    @classmethod
    def reopen(cls, ref: str, *, at: Path | None = None) -> "Journal":
        """Go on with one that was cut off. Raises StoreError where it is whole, or is being written."""
        folder = tunings_folder(at) / find_tuning(ref, at=at)
        lock = WriterLock(folder, f"tuning {folder.name}")
        try:
            sweep(folder)
            tuning = read_tuning(folder)
            if tuning.state == "complete":
                raise StoreError(f"tuning {tuning.id} is complete", f"see it: paceline tune show {tuning.id}")
        except BaseException:
            lock.release()
            raise
        return cls(folder, tuning.model_copy(update={"state": "running", "finished_at": None}), lock)

    def update(self, **changes: Any) -> None:
        """Change the tuning, also on the disk. Raises StoreError."""
        changed = self.tuning.model_copy(update=changes)
        write_text(self.folder / FILE_NAME, _text(changed))
        self.tuning = changed

    def finish(self, state: State) -> None:
        """End it. Raises StoreError."""
        self.update(state=state, finished_at=datetime.now(UTC))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.tuning.state == "running":
            with suppress(StoreError):
                self.finish("interrupted" if isinstance(error, KeyboardInterrupt) else "failed")
        self._lock.release()


def tunings_folder(at: Path | None = None) -> Path:
    """The folder that holds one folder a tuning; `at`: another home."""
    return (at or home()) / "tunings"


def state_of(folder: Path, tuning: Tuning) -> str:
    """As it says; a tuning whose writer is gone was interrupted."""
    return living_state(tuning.state, folder)


def read_tuning(folder: Path) -> Tuning:
    """The tuning in a folder. Raises StoreError where it is missing, damaged or of another version."""
    path = folder / FILE_NAME
    hint = f"delete the folder {folder}"
    try:
        document = read_document(path, hint)
    except ValueError as error:
        raise StoreError(f"{path} is damaged: {error}", hint) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise StoreError(f"{path} has schema {schema!r}, this Paceline reads {SCHEMA!r}", hint)
    try:
        tuning = Tuning.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "in itself"
        raise StoreError(f"{path} is damaged: {where}: {first['msg']}", hint) from error
    if tuning.id != folder.name:
        raise StoreError(f"{path} is damaged: its id is {tuning.id!r}", hint)
    return tuning


def open_tuning(ref: str, *, at: Path | None = None) -> Tuning:
    """The tuning that an id, the unique beginning of one, or `latest` means. Raises StoreError."""
    folder = tunings_folder(at) / find_tuning(ref, at=at)
    tuning = read_tuning(folder)
    return tuning.model_copy(update={"state": state_of(folder, tuning)})


def list_tunings(*, at: Path | None = None) -> tuple[list[Tuning], list[str]]:
    """All tunings, newest first, and the ids of those that cannot be read."""
    found, unreadable = [], []
    for folder in reversed(_folders(at)):
        try:
            tuning = read_tuning(folder)
        except StoreError:
            unreadable.append(folder.name)
        else:
            found.append(tuning.model_copy(update={"state": state_of(folder, tuning)}))
    return found, unreadable


def delete_tuning(ref: str, *, at: Path | None = None) -> str:
    """Delete a tuning with its runs and logs, and return its id. Raises StoreError."""
    folder = tunings_folder(at) / find_tuning(ref, at=at)
    if is_locked(folder):
        raise StoreError(f"tuning {folder.name} is going on", "end it first, with Ctrl-C where it runs")
    # Renamed first: a tuning is there whole or not at all, whatever stops the deletion.
    doomed = folder.with_name(f".deleted-{folder.name}")
    try:
        folder.rename(doomed)
        shutil.rmtree(doomed)
        for left in folder.parent.glob(".deleted-*"):
            shutil.rmtree(left, ignore_errors=True)
    except OSError as error:
        raise store_error(f"cannot delete {folder}", error) from error
    return folder.name


def find_tuning(ref: str, *, at: Path | None = None) -> str:
    """The id that `ref` means; see `open_tuning`. Raises StoreError."""
    ids = [folder.name for folder in _folders(at)]
    if not ids:
        raise StoreError(f"there are no tunings in {tunings_folder(at)}", "make one: paceline tune MODEL")
    if ref == LATEST:
        return ids[-1]
    begun: Sequence[str] = [name for name in ids if name == ref] or [
        n for n in ids if ref and n.startswith(ref)
    ]
    if len(begun) == 1:
        return begun[0]
    if begun:
        raise StoreError(f"{ref!r} begins {len(begun)} ids of tunings", "give more of the id")
    raise StoreError(f"no tuning has the id {ref!r}", "list them: paceline tune list")


def _folders(at: Path | None) -> list[Path]:
    try:
        found = [child for child in tunings_folder(at).iterdir() if child.is_dir()]
    except OSError:
        return []
    return sorted(child for child in found if not child.name.startswith("."))


def _text(tuning: Tuning) -> str:
    return tuning.model_dump_json(by_alias=True, indent=2) + "\n"

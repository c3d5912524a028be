"""`run.json`: what a stored run is."""

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from paceline.errors import ConfigError, StoreError
from paceline.store.atomic import write_text
from paceline.store.checks import (
    check_calibration,
    check_imported,
    check_load,
    check_segments,
    check_slo,
    check_workload,
)
from paceline.store.document import read_document
from paceline.store.paths import MANIFEST_NAME

SCHEMA: Literal["paceline.run/1"] = "paceline.run/1"
LATEST = "latest"
TIERS = ("standard", "fast", "ultra", "flex")
RunState = Literal["running", "complete", "interrupted", "failed"]

# No vowels and no look-alikes: ids are read aloud and typed.
_ALPHABET = "23456789bcdfghjkmnpqrstvwxz"


def new_run_id(now: datetime | None = None) -> str:
    """An id that sorts by time: `20261130-071502-k3f9` (UTC)."""
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    tail = "".join(secrets.choice(_ALPHABET) for _ in range(4))
    return f"{moment:%Y%m%d-%H%M%S}-{tail}"


def check_name(name: str) -> str:
    """A name that a run can be found by. Raises ConfigError."""
    hint = "use 1 to 100 printable characters, and not the word `latest`, which means the newest run"
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise ConfigError(f"{name!r} cannot be the name of a run", hint)
    if name.strip() == LATEST:
        raise ConfigError("a run cannot be named `latest`", hint)
    return name.strip()


class RunManifest(BaseModel):
    """`paceline.run/1` (docs/reference/store.md).

    `endpoint`: URL without credentials. `workload`: the whole workload spec. `load`: arrival, caps, seed,
    timeout. `slo`: metric -> limit. `segments`: the last progress object of each start of the load generator.
    `calibration`: the instrument's error that was current when the run was made. `notes`: what a reader must
    know. `imported`: of a run that another tool measured, which, and what its file lacks.
    `server`: where the server's own metrics came from, and how sampling them went. `offer`: whose offer the
    endpoint is, where the user says it: `provider`, `tier`.
    """

    # A later version may add keys to this schema: they survive a resume by this one.
    model_config = ConfigDict(extra="allow", populate_by_name=True)

    schema_name: Literal["paceline.run/1"] = Field(default=SCHEMA, alias="schema")
    id: str = Field(default_factory=new_run_id)
    name: str | None = None
    version: str
    started_at: datetime = Field(default_factory=lambda: datetime.now(UTC))
    finished_at: datetime | None = None
    state: RunState = "running"
    endpoint: str
    model: str
    protocol: str
    streaming: bool = True
    workload: dict[str, Any] = Field(default_factory=dict)
    load: dict[str, Any] = Field(default_factory=dict)
    slo: dict[str, Any] | None = None
    host: dict[str, Any] = Field(default_factory=dict)
    segments: list[dict[str, Any]] = Field(default_factory=list)
    calibration: dict[str, Any] | None = None
    notes: list[str] = Field(default_factory=list)
    imported: dict[str, Any] | None = None
    server: dict[str, Any] | None = None
    offer: dict[str, str | None] | None = None

    @field_validator("endpoint")
    @classmethod
    def _without_credentials(cls, url: str) -> str:
        """A password must not reach the disk, whoever wrote the URL."""
        parts = urlsplit(url)
        if "@" not in parts.netloc:
            return url
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @field_validator("started_at", "finished_at")
    @classmethod
    def _in_utc(cls, moment: datetime | None) -> datetime | None:
        """At either end of the calendar there are moments that UTC has no date for."""
        if moment is not None:
            try:
                moment.astimezone(UTC)
            except (OverflowError, ValueError):
                raise ValueError("it is out of range") from None
        return moment

    @field_validator("workload")
    @classmethod
    def _workload(cls, workload: dict[str, Any]) -> dict[str, Any]:
        check_workload(workload)
        return workload

    @field_validator("load")
    @classmethod
    def _load(cls, load: dict[str, Any]) -> dict[str, Any]:
        check_load(load)
        return load

    @field_validator("segments")
    @classmethod
    def _segments(cls, segments: list[dict[str, Any]]) -> list[dict[str, Any]]:
        check_segments(segments)
        return segments

    @field_validator("slo")
    @classmethod
    def _slo(cls, slo: dict[str, Any] | None) -> dict[str, Any] | None:
        check_slo(slo or {})
        return slo

    @field_validator("calibration")
    @classmethod
    def _calibration(cls, calibration: dict[str, Any] | None) -> dict[str, Any] | None:
        check_calibration(calibration or {})
        return calibration

    @field_validator("imported")
    @classmethod
    def _imported(cls, imported: dict[str, Any] | None) -> dict[str, Any] | None:
        if imported is not None:
            check_imported(imported)
        return imported

    @property
    def origins(self) -> dict[int, int]:
        """`origin_ns` of each segment."""
        return {int(segment["segment"]): int(segment["origin_ns"]) for segment in self.segments}

    def to_json(self) -> str:
        """The document as text."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"

    def write(self, folder: Path) -> None:
        """Write it into the run's folder, whole or not at all. Raises StoreError."""
        write_text(folder / MANIFEST_NAME, self.to_json())


def read_manifest(folder: Path) -> RunManifest:
    """The manifest of the run in `folder`. Raises StoreError when it is missing, damaged or too new."""
    path = folder / MANIFEST_NAME
    try:
        document = read_document(path, f"{folder.name} is no complete run: delete it")
    except ValueError as error:
        raise _damaged(folder, str(error)) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise StoreError(
            f"{path} has schema {schema!r}, this Paceline reads {SCHEMA!r}", _schema_hint(schema)
        )
    try:
        manifest = RunManifest.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        why = first["msg"].removeprefix("Value error, ")
        raise _damaged(folder, f"{where}: {why}") from error
    if manifest.id != folder.name:
        # Paths are made from the id.
        raise _damaged(folder, f"id: it is {manifest.id!r}, and the folder's name is {folder.name!r}")
    return manifest


def _schema_hint(schema: object) -> str:
    family, _, number = str(schema).rpartition("/")
    if family == "paceline.run" and number.isdigit() and int(number) > int(SCHEMA.rpartition("/")[2]):
        return "a newer Paceline wrote this run: upgrade Paceline to read it"
    return "this is no run of Paceline"


def _damaged(folder: Path, why: str) -> StoreError:
    return StoreError(
        f"{MANIFEST_NAME} of run {folder.name} is damaged: {why}",
        f"restore {folder / MANIFEST_NAME} from a backup, or delete the run: "
        f"paceline runs delete {folder.name}",
    )

"""What the tuner found for a model on a machine: settings that `serve` takes, and the evidence for them."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from paceline.engines.engine import EngineName, Settings, Tier
from paceline.errors import ConfigError
from paceline.store.atomic import make_folder, write_text
from paceline.store.paths import home as usual_home
from paceline.toml_file import dotted
from paceline.whole_file import read_whole

SCHEMA = "paceline.profile/1"
_MOST_BYTES = 20_000_000
_TUNE_HINT = "paceline tune writes one; paceline serve --no-profile does without"


@dataclass(frozen=True, slots=True)
class Gain:
    """The winner against the engine's defaults, by fresh prompts in turn: a ratio above 1 is better.

    ratio, hi: inf where the defaults' figure is not clear of 0 (no request of theirs met the limits); null in
    files.

    default, tuned: the metric's values. rounds: of both, each after a start of its own.
    """

    metric: str
    default: float
    tuned: float
    ratio: float
    lo: float
    hi: float
    rounds: int
    requests: int


@dataclass(frozen=True, slots=True)
class Sameness:
    """Greedy answers of the tier beside those at `standard` settings.

    verdict: of `advisor.equivalence`. differing: of `prompts`; first_difference: tokens (or words) in common
    before the first difference, median over the differing ones; None where none differ. unit: `tokens` or
    `words`. run_ids: of both sides. against: settings of the other side. unrepeated: prompts that one side
    itself answered in two ways, so that a difference says nothing; they do not count as differing.
    unrepeated_by_tier: those of them where it was the tier.
    """

    verdict: str
    prompts: int
    differing: int
    first_difference: float | None
    unit: str
    run_ids: tuple[str, str]
    against: Settings = field(default_factory=dict)
    unrepeated: int = 0
    unrepeated_by_tier: int = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """One tuned tier. model_fingerprint: of the headers; machine: fingerprint of `measure.host`.

    workload, goal: what it was tuned for. evidence: runs and the trade-off curve, for reports.
    """

    engine: EngineName
    engine_version: str | None
    model_name: str
    model_fingerprint: str
    machine: str
    tier: Tier
    goal: str
    workload: str
    settings: Settings
    made_at: datetime
    gain: Gain
    sameness: Sameness | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """What a profile is looked for: fields as those of `Profile`. engine_version None: not known."""

    engine: EngineName
    engine_version: str | None
    model_fingerprint: str
    machine: str
    tier: Tier


_READER = TypeAdapter(Profile)


def profiles_folder(home: Path | None = None) -> Path:
    """Where `write_profile` puts profiles; `home`: another than the usual."""
    return (home or usual_home()) / "profiles"


def profile_path(profile: Profile, home: Path | None = None) -> Path:
    """Where a profile lies by default: one file a start, goal and workload, so that a new one replaces it."""
    key = (
        *(profile.engine, profile.engine_version, profile.model_fingerprint, profile.machine),
        *(profile.tier, profile.goal, profile.workload),
    )
    digest = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:12]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", profile.model_name).strip("-.")[:60] or "model"
    return profiles_folder(home) / f"{name}-{profile.engine}-{profile.tier}-{digest}.json"


def write_profile(profile: Profile, path: Path | None = None, *, home: Path | None = None) -> Path:
    """Write a profile whole, to `path` or to its place in `home`, and say where it lies.

    Raises StoreError where that cannot be written, ValueError for a NaN in it.
    """
    made_at = profile.made_at.astimezone(UTC).isoformat()
    document = {"schema": SCHEMA, **asdict(profile), "made_at": made_at, "gain": gain_dict(profile.gain)}
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False) + "\n"
    target = path if path is not None else profile_path(profile, home)
    make_folder(target.parent)
    write_text(target.resolve(), text)
    return target


def gain_dict(gain: Gain) -> dict[str, Any]:
    """As in `paceline.profile/1`, which has no infinity."""
    return {name: None if value == math.inf else value for name, value in asdict(gain).items()}


def read_profile(path: Path) -> Profile:
    """A profile from its file. Raises ConfigError for one that is missing, cut, or not what it must be."""
    if path.exists() and not path.is_file():
        # To open a pipe would wait for whoever writes to it.
        raise ConfigError(f"{path} is no profile: it is no file", _TUNE_HINT)
    try:
        data = json.loads(read_whole(path, _MOST_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"there is no profile {path}", _TUNE_HINT) from None
    except OSError as error:
        raise ConfigError(f"the profile {path} cannot be read: {error.strerror}", _TUNE_HINT) from None
    except (ValueError, RecursionError):
        raise ConfigError(f"the profile {path} is damaged: it is no JSON", _TUNE_HINT) from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise ConfigError(f"{path} is no profile: it has no schema {SCHEMA}", _TUNE_HINT)
    gain = data.get("gain")
    if isinstance(gain, dict):
        unbounded = {name: math.inf for name in ("ratio", "hi") if name in gain and gain[name] is None}
        data = {**data, "gain": {**gain, **unbounded}}
    try:
        profile = _READER.validate_python(data)
    except ValidationError as error:
        wrong = "; ".join(
            f"{dotted(one['loc'])}: {one['msg'][:1].lower()}{one['msg'][1:]}"
            for one in error.errors(include_url=False, include_input=False)
        )
        raise ConfigError(f"the profile {path} is damaged: {wrong}", _TUNE_HINT) from None
    problem = _impossible(profile)
    if problem:
        raise ConfigError(f"the profile {path} is damaged: {problem}", _TUNE_HINT)
    return profile


def unfit(profile: Profile, start: Start) -> str | None:
    """Why a profile is not for a start, in words; None where it is.

    Another version of the engine is another engine to it; one that is not known is let pass.
    """
    if profile.engine != start.engine:
        return f"it is for {profile.engine}, and {start.engine} is to be started"
    if profile.tier != start.tier:
        return f"it is for the tier {profile.tier}, not {start.tier}"
    if profile.model_fingerprint != start.model_fingerprint:
        return f"it is for another model ({profile.model_name})"
    if profile.machine != start.machine:
        return "it was made on another machine"
    versions = profile.engine_version, start.engine_version
    if None not in versions and versions[0] != versions[1]:
        return f"it was made with version {versions[0]}, and {versions[1]} is installed"
    return None


def check_profile(profile: Profile, start: Start, path: Path) -> None:
    """Whether a profile that the user named is for a start. Raises ConfigError where it is not."""
    problem = unfit(profile, start)
    if problem:
        raise ConfigError(
            f"the profile {path} does not fit: {problem}",
            "tune again (paceline tune), or take its settings by hand: --no-profile --set option=value",
        )


def find_profile(start: Start, *, home: Path | None = None) -> Profile | None:
    """The newest profile in `home` for a start; None where there is none. Never fails: see `passed_over`."""
    fitting = [one for _, one in profiles(home) if isinstance(one, Profile) and unfit(one, start) is None]
    return max(fitting, key=lambda one: one.made_at, default=None)


def passed_over(start: Start, *, home: Path | None = None) -> list[str]:
    """What lies in `home` for this model, engine and tier and is not taken, with the reason, in words."""
    said = []
    for path, one in profiles(home):
        if isinstance(one, str):
            said.append(one)
        elif (one.engine, one.tier, one.model_fingerprint) == (
            start.engine,
            start.tier,
            start.model_fingerprint,
        ):
            problem = unfit(one, start)
            if problem:
                said.append(f"the profile {path} is not taken: {problem}")
    return said


def profiles(home: Path | None = None) -> Iterator[tuple[Path, Profile | str]]:
    """All profiles in `home` by name of file; in place of one that cannot be read what is wrong with it."""
    for path in sorted(profiles_folder(home).glob("[!.]*.json")):
        try:
            yield path, read_profile(path)
        except ConfigError as error:
            yield path, error.message


def _impossible(profile: Profile) -> str | None:
    """What no tuner writes, where types alone do not show it."""
    gain = profile.gain
    figures = (gain.default, gain.tuned, gain.lo)
    if not all(math.isfinite(one) and one >= 0 for one in figures) or not gain.lo <= gain.ratio <= gain.hi:
        return "gain: its figures are no ratio within an interval"
    same = profile.sameness
    if same is not None and not 0 <= same.differing + same.unrepeated <= same.prompts:
        return "sameness: more answers differ than there are prompts"
    if profile.made_at.tzinfo is None:
        return "made_at: it has no time zone"
    return None

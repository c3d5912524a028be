"""An offer of a server in the gateway's config, and out of it again.

The user's text stays as it is: the offer is a marked block of its own. What the config would become is
checked before it is written, and it is written whole or not at all, by one process at a time.
"""

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from paceline.engines.engine import EngineName, Tier
from paceline.engines.plan import LaunchPlan
from paceline.errors import ConfigError, StoreError
from paceline.protocols import Protocol
from paceline.store.atomic import make_folder, replaced
from paceline.store.lock import take_within
from paceline.toml_file import Problem
from paceline.whole_file import read_whole

Check = Callable[[Path], Sequence[Problem]]
"""All that the gateway would refuse of a config."""

BEGINNING = """\
# The gateway's config, begun by `paceline serve --register`; `paceline gateway init` shows all there is.
[gateway]
require_key = false               # true: clients need a key of `paceline keys create NAME`
"""
_MOST_BYTES = 10_000_000
_LOCK_WAIT_S = 10.0
# How many requests an engine works on at once, by its own option.
_SLOTS: dict[EngineName, str] = {
    "llama.cpp": "parallel",
    "vllm": "max-num-seqs",
    "sglang": "max-running-requests",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """`limits` of an offer (docs/reference/gateway.md); None: not written, so that the gateway's own hold."""

    concurrency: int | None = None
    queue: int | None = None
    queue_timeout: str | None = None
    sessions: int | None = None
    session: str | None = None
    idle: str | None = None

    def over(self, other: "Limits") -> "Limits":
        """These, and where there are none those of `other`."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return Limits(**{**asdict(other), **given})


@dataclass(frozen=True, slots=True)
class Offer:
    """An `[[offer]]`. price: USD per million tokens, in and out; None: not known."""

    id: str
    model: str
    base_url: str
    protocol: tuple[Protocol, ...]
    tier: Tier
    upstream_model: str | None = None
    price: tuple[float, float] | None = None
    limits: Limits = field(default_factory=Limits)


def offer_of(plan: LaunchPlan, name: str, price: tuple[float, float] | None, limits: Limits) -> Offer:
    """The offer of a server called `name`. limits: the user's own, over those of the tier."""
    return Offer(
        id=name,
        model=plan.served_name,
        base_url=plan.endpoint,
        protocol=("openai-chat", "openai-completions"),
        tier=plan.tier,
        price=price,
        limits=limits.over(tier_limits(plan.tier, slots(plan))),
    )


def slots(plan: LaunchPlan) -> int | None:
    """How many requests the engine works on at once, by its settings; None: they do not say."""
    value = plan.settings.get(_SLOTS.get(plan.adapter.name, ""))
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def tier_limits(tier: Tier, slots: int | None) -> Limits:
    """What a tier admits. `slots`: requests that the engine works on at once.

    `standard` waits as long as the gateway lets it. A faster tier is worth nothing in a long queue: who does
    not get in soon goes elsewhere. `ultra` belongs to as many keys at a time as there are slots, while they
    use it: two minutes of silence, or half an hour, and the next may have it.
    """
    if tier == "standard":
        return Limits(concurrency=slots)
    if tier == "fast":
        return Limits(concurrency=slots, queue=4 * (slots or 1), queue_timeout="10s")
    most = slots or 1
    return Limits(
        concurrency=most, queue=2 * most, queue_timeout="2s", sessions=most, session="30m", idle="2m"
    )


def try_registration(file: Path, offer: Offer, check: Check) -> None:
    """Whether `register` would do it; nothing is changed. Raises ConfigError as it does."""
    file = _target(file)
    _checked(file, with_block(_text(file), offer), check)
    place = file if file.exists() else _folder_there(file)
    if not os.access(place, os.W_OK):
        raise ConfigError(f"cannot write {place}: permission denied", "give another with --config")


def register(file: Path, offer: Offer, check: Check) -> bool:
    """Write the offer into a config, in place of what an earlier server of the name left; True: a new file.

    Symbolic links are followed; mode and owner stay. Raises ConfigError where the gateway would refuse what
    it becomes, with all the reasons, and where it cannot be read or written.
    """
    file = _target(file)
    try:
        make_folder(file.parent)
    except StoreError as error:
        raise ConfigError(error.message, "give another config with --config") from None
    with _locked(file.parent):
        text = _text(file)
        while True:
            new = with_block(text, offer)
            _checked(file, new, check)
            # The user knows nothing of the lock, and may have saved it in an editor meanwhile.
            checked, text = text, _text(file)
            if text == checked:
                break
        _write(file, new)
    return text is None


def unregister(file: Path, offer_id: str, base_url: str, check: Check) -> list[Problem] | None:
    """Take an offer out of a config again; None: it is not in it.

    Only where the block is that of `base_url`: another server may have the name by now. Gives what the
    gateway finds wrong with the rest, as when no offer is left: it is written all the same, since the server
    is gone.
    Raises ConfigError where the config cannot be read or written.
    """
    file = _target(file)
    if not file.parent.is_dir():
        return None
    with _locked(file.parent):
        text = _text(file)
        block = None if text is None else _block(offer_id).search(text)
        if text is None or block is None or f"base_url = {_quoted(base_url)}" not in block.group(0):
            return None
        rest = without_block(text, offer_id)
        _write(file, rest)
        return _problems(file, rest, check)


def with_block(text: str | None, offer: Offer) -> str:
    """A config's text with the offer: in its old place, else at the end. None: there is no config yet."""
    block = block_of(offer)
    if text is None:
        return f"{BEGINNING}\n{block}"
    if "\r\n" in text:
        block = block.replace("\n", "\r\n")
    found = _block(offer.id).search(text)
    if found is not None:
        return text[: found.start("block")] + block + text[found.end("block") :]
    line_end = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += line_end
    return f"{text}{line_end if text else ''}{block}"


def without_block(text: str, offer_id: str) -> str:
    """A config's text without the offer's block, and the empty line that was put before it."""
    found = _block(offer_id).search(text)
    return text if found is None else text[: found.start()] + text[found.end() :]


def block_of(offer: Offer) -> str:
    """The marked block, which is TOML wherever it stands at the end of tables."""
    pairs = [
        ("id", _quoted(offer.id)),
        ("model", _quoted(offer.model)),
        ("base_url", _quoted(offer.base_url)),
        ("protocol", f"[{', '.join(map(_quoted, offer.protocol))}]"),
    ]
    if offer.upstream_model not in (None, offer.model):
        pairs.append(("upstream_model", _quoted(str(offer.upstream_model))))
    if offer.tier != "standard":
        pairs.append(("tier", _quoted(offer.tier)))
    if offer.price is not None:
        into, out = offer.price
        pairs.append(("price", f"{{ input_usd_per_mtok = {into!r}, output_usd_per_mtok = {out!r} }}"))
    limits = {name: value for name, value in asdict(offer.limits).items() if value is not None}
    if limits:
        said = ", ".join(
            f"{name} = {_quoted(value) if isinstance(value, str) else value}"
            for name, value in limits.items()
        )
        pairs.append(("limits", f"{{ {said} }}"))
    lines = [f"# >>> paceline serve {offer.id}: written by --register, taken out when the server ends"]
    lines += ["[[offer]]", *(f"{name} = {value}" for name, value in pairs)]
    return "\n".join([*lines, f"# <<< paceline serve {offer.id}", ""])


def _block(offer_id: str) -> re.Pattern[str]:
    """The empty line before a block, and the `block` to its last line's end; one without an end is none."""
    name = re.escape(offer_id)
    return re.compile(
        rf"(?:(?<=\n)\r?\n)?(?P<block>^# >>> paceline serve {name}:.*\n(?:(?!# >>> paceline serve ).*\n)*?"
        rf"# <<< paceline serve {name}[ \t]*(?:\r?\n|\Z))",
        re.MULTILINE,
    )


def _quoted(text: str) -> str:
    """A TOML string: as in JSON, but for a character that JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _target(file: Path) -> Path:
    try:
        return file.expanduser().resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"{file} leads nowhere: {error}", "give another config with --config") from None


def _folder_there(file: Path) -> Path:
    return next(folder for folder in file.parents if folder.is_dir())


def _text(file: Path) -> str | None:
    """What the config says; None where there is none."""
    if file.exists() and not file.is_file():
        raise ConfigError(f"{file} is no file", "give another config with --config")
    try:
        return read_whole(file, _MOST_BYTES).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}", "check its permissions") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8", "save it as UTF-8") from None


def _checked(file: Path, text: str, check: Check) -> None:
    problems = _problems(file, text, check)
    if problems:
        said = "; ".join(one.said(file) for one in problems)
        hints = "; ".join(dict.fromkeys(one.hint for one in problems if one.hint))
        raise ConfigError(f"the gateway would refuse its config with this offer: {said}", hints or None)


def _problems(file: Path, text: str, check: Check) -> list[Problem]:
    """What the gateway would say of a config, tried on a copy that only this user can read."""
    try:
        with tempfile.TemporaryDirectory(prefix="paceline-config-") as folder:
            copy = Path(folder) / file.name
            copy.write_bytes(text.encode("utf-8", "replace"))
            return list(check(copy))
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be checked, since no copy of it can be written: {error.strerror or error}",
            "make room in the folder for temporary files, or set TMPDIR to another",
        ) from None


def _write(file: Path, text: str) -> None:
    """In place of the config, with its mode and, where that is allowed, its owner."""
    there = file.stat() if file.exists() else None
    try:
        with replaced(file) as temporary:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(text.encode("utf-8", "replace"))
                if there is None:
                    os.fchmod(handle, 0o644)
                else:
                    with suppress(PermissionError):
                        os.fchown(handle, there.st_uid, there.st_gid)
                    os.fchmod(handle, there.st_mode & 0o7777)
    except StoreError as error:
        raise ConfigError(error.message, "make room there, or give another config with --config") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time writes a config in a folder. The folder itself is what is locked."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise ConfigError(f"{folder} cannot be opened: {error.strerror}", "check its permissions") from None
    try:
        if not take_within(handle, _LOCK_WAIT_S):
            raise ConfigError(
                f"another process writes a config in {folder} and does not end",
                f"see which one holds it: fuser {folder}",
            )
        yield
    finally:
        os.close(handle)

"""`prices.toml` (`paceline.prices/1`): prices as the user knows them, which go before all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from paceline.catalogue.genai import by_reference
from paceline.catalogue.price import ContextTier, Price, Rates
from paceline.errors import ConfigError
from paceline.toml_file import Problem, dotted, problems_of, read_toml
from paceline.toml_lines import Path as KeyPath
from paceline.toml_lines import line_of

FILE_NAME = "prices.toml"
SCHEMA = "paceline.prices/1"

_Model = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
_MISSING_HINT = "check the path of --prices, or leave it out"
_WAYS = (
    "write input_usd_per_mtok and output_usd_per_mtok, "
    'or ref = "openai:gpt-5-mini", or usd_per_gpu_hour for own hardware'
)


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("it is true or false, and must be a number")
    return value


_Usd = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1e9, allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1, max_length=256)]


class PricedKey(Protocol):
    """An offer: `advisor.identity.OfferKey` is one."""

    @property
    def model(self) -> str:
        """As it is called here."""

    @property
    def provider(self) -> str:
        """Who serves it."""

    @property
    def tier(self) -> str:
        """`standard`, or another."""


class _Rates(BaseModel):
    """Figures of a price."""

    model_config = _Model

    input_usd_per_mtok: _Usd | None = None
    output_usd_per_mtok: _Usd | None = None
    cache_read_usd_per_mtok: _Usd | None = None
    cache_write_usd_per_mtok: _Usd | None = None
    reasoning_usd_per_mtok: _Usd | None = None
    request_usd: _Usd | None = None

    def figures(self) -> dict[str, float]:
        """Those that are given, by their names in `Rates`."""
        found = {name: getattr(self, name) for name in _Rates.model_fields}
        return {name: float(value) for name, value in found.items() if value is not None}


class ContextTierEntry(_Rates):
    """`[[price.context_tier]]`: other figures for requests with more prompt tokens; the rest stay."""

    over_prompt_tokens: Annotated[int, BeforeValidator(_number), Field(ge=1, le=10_000_000)]


class PriceEntry(_Rates):
    """`[[price]]`: whom it is of, and what it is.

    model: as the endpoint calls it, or as paceline.toml does. provider, tier, endpoint: of these alone.
    from, until: first and last day on which it holds (UTC). variant: what genai-prices tells variants by.
    multiplier: of every figure. source: where the figures are from; as_of: the day they were looked up.
    """

    model: _Name
    provider: _Name | None = None
    tier: Literal["standard", "fast", "ultra", "flex", "batch"] | None = None
    endpoint: _Name | None = None
    from_: date | None = Field(default=None, alias="from")
    until: date | None = None
    multiplier: _Usd = 1.0
    ref: str | None = None
    variant: dict[str, str] | None = None
    usd_per_hour: _Usd | None = None
    usd_per_gpu_hour: _Usd | None = None
    gpus: Annotated[int, BeforeValidator(_number), Field(ge=1, le=1_000_000)] | None = None
    context_tier: tuple[ContextTierEntry, ...] = ()
    source: Annotated[str, Field(max_length=500)] | None = None
    as_of: date | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "PriceEntry":
        hours = [name for name in ("usd_per_hour", "usd_per_gpu_hour") if getattr(self, name) is not None]
        kinds = [*(["own figures"] if self.figures() else []), *(["ref"] if self.ref else []), *hours]
        if len(kinds) != 1:
            said = f"{' and '.join(kinds)} are both given" if kinds else "it has no figure"
            raise ValueError(f"{said}; {_WAYS}")
        if self.figures() and (self.input_usd_per_mtok is None or self.output_usd_per_mtok is None):
            raise ValueError(f"input_usd_per_mtok or output_usd_per_mtok is missing; {_WAYS}; 0 is free")
        if self.ref is not None and not all(self.ref.partition(":")):
            raise ValueError('ref has no provider; write provider and model: "openai:gpt-5-mini"')
        if self.variant is not None and self.ref is None:
            raise ValueError("variant is of a ref; leave it out")
        if self.context_tier and not self.figures():
            raise ValueError("context_tier is of own figures; leave it out")
        if self.gpus is not None and self.usd_per_gpu_hour is None:
            raise ValueError("gpus is given without usd_per_gpu_hour; give both, or usd_per_hour for all")
        starts = [one.over_prompt_tokens for one in self.context_tier]
        if starts != sorted(set(starts)):
            raise ValueError("context_tier is not in order; let over_prompt_tokens ascend, each once")
        if self.ref is None and self.as_of is None:
            raise ValueError(
                "as_of is missing; write the day that you looked it up, as in as_of = 2026-11-30"
            )
        if self.from_ and self.until and self.from_ > self.until:
            raise ValueError("from is after until; turn them round")
        return self

    def conditions(self) -> tuple[str | None, ...]:
        """What it is of beyond the model."""
        return self.provider, self.tier, None if self.endpoint is None else self.endpoint.rstrip("/")

    def fits(self, key: PricedKey, model: str, endpoint: str, day: date) -> bool:
        """Whether it is of that offer, on that day."""
        offer = (key.provider, key.tier, endpoint.rstrip("/"))
        return (
            self.model in (key.model, model)
            and all(mine in (None, theirs) for mine, theirs in zip(self.conditions(), offer, strict=True))
            and self.holds(day)
        )

    def holds(self, day: date) -> bool:
        """Whether it holds on that day."""
        return (self.from_ is None or self.from_ <= day) and (self.until is None or day <= self.until)

    def overlaps(self, other: "PriceEntry") -> bool:
        """Whether there is a day on which both hold."""
        begins = [one.from_ or date.min for one in (self, other)]
        ends = [one.until or date.max for one in (self, other)]
        return max(begins) <= min(ends)


class _File(BaseModel):
    """The whole file."""

    model_config = _Model

    schema_: Literal["paceline.prices/1"] = Field(default="paceline.prices/1", alias="schema")
    price: tuple[PriceEntry, ...] = ()


@dataclass(frozen=True)
class PriceFile:
    """The entries of a file. lines: of each entry."""

    path: Path
    entries: tuple[PriceEntry, ...]
    lines: tuple[int, ...]

    def price(self, key: PricedKey, model: str, endpoint: str, at: datetime) -> Price | None:
        """The price of the most specific entry that fits; None without one.

        Raises ConfigError where two that fit are equally specific, or a `ref` leads nowhere.
        """
        day = at.astimezone(UTC).date()
        fitting = [place for place, one in enumerate(self.entries) if one.fits(key, model, endpoint, day)]
        if not fitting:
            return None
        most = max(self._specific(place) for place in fitting)
        best = [place for place in fitting if self._specific(place) == most]
        if len(best) > 1:
            raise self._refused(
                best[-1],
                f"it fits {key.model} of {key.provider} as well as the entry on line {self.lines[best[0]]}",
                "give one of them more of provider, tier and endpoint, so that it goes before the other",
            )
        return self._price(best[0], key, at)

    def _specific(self, place: int) -> int:
        return sum(one is not None for one in self.entries[place].conditions())

    def _price(self, place: int, key: PricedKey, at: datetime) -> Price:
        entry = self.entries[place]
        where = f"{self.path.name}:{self.lines[place]}"
        # Own figures have the day that they were looked up; see `PriceEntry`.
        day = entry.as_of or at.astimezone(UTC).date()
        if entry.ref is not None:
            price = self._referred(place, entry.ref, at)
            source, as_of = f"{where}, {price.source}", price.as_of
        else:
            price = _own(entry, day)
            said = f" ({entry.source})" if entry.source else ""
            source, as_of = f"{where}{said}, as of {day}", day
        warnings = price.warnings
        if entry.tier is None and key.tier != "standard" and price.kind == "tokens":
            warnings += (
                f"{where} does not say whether it is the price of the tier {key.tier}: "
                f'give it tier = "{key.tier}", or add an entry that has it',
            )
        found = Price(
            kind=price.kind,
            rates=price.rates,
            source=source,
            as_of=as_of,
            tiers=price.tiers,
            usd_per_hour=price.usd_per_hour,
            warnings=warnings,
        )
        return found.times(entry.multiplier)

    def _referred(self, place: int, ref: str, at: datetime) -> Price:
        provider, _, model = ref.partition(":")
        entry = self.entries[place]
        try:
            found = by_reference(provider, model, at, entry.variant)
        except ConfigError as error:
            raise self._refused(place, f"ref: {error.message}", error.hint) from None
        if found.price is None:
            raise self._refused(
                place, f"ref: genai-prices has no price a token of {found.name}", "write the figures yourself"
            )
        if entry.variant and found.as_standard:
            raise self._refused(
                place,
                f"variant: genai-prices has no such price of {found.name}",
                'variants are as { service_tier = "priority" }, { speed = "fast" }, { processing = "batch" }',
            )
        return found.price

    def _refused(self, place: int, message: str, hint: str | None) -> ConfigError:
        return ConfigError(f"{self.path}:{self.lines[place]}: {_name(self.entries[place])}: {message}", hint)


def load_price_file(path: Path) -> PriceFile:
    """The entries of a file. Raises ConfigError that names file, line and key of all that is wrong."""
    data, lines = read_toml(path, _MISSING_HINT)
    problems = []
    try:
        file = _File.model_validate(data)
    except ValidationError as error:
        for inner, message, hint in problems_of(_File, error):
            problems.append(_problem(data, lines, inner, message, hint))
        raise _all(path, problems) from None
    places = tuple(line_of(lines, ("price", place)) or 1 for place in range(len(file.price)))
    for later, entry in enumerate(file.price):
        for earlier, other in enumerate(file.price[:later]):
            same = (entry.model, entry.conditions()) == (other.model, other.conditions())
            if same and entry.overlaps(other):
                message = f"the entry on line {places[earlier]} is of the same"
                hint = "leave one out, or give them days that do not meet: from and until"
                problems.append(Problem(_name(entry), message, hint, places[later]))
    if problems:
        raise _all(path, problems)
    return PriceFile(path, file.price, places)


def _own(entry: PriceEntry, day: date) -> Price:
    if not entry.figures():
        usd = entry.usd_per_hour
        if usd is None:
            usd = (entry.usd_per_gpu_hour or 0.0) * (entry.gpus or 1)
        return Price("hours", Rates(0.0, 0.0), "", day, usd_per_hour=usd)
    tiers = []
    figures = entry.figures()
    for one in entry.context_tier:
        figures = figures | one.figures()
        tiers.append(ContextTier(one.over_prompt_tokens, Rates(**figures)))
    return Price("tokens", Rates(**entry.figures()), "", day, tuple(tiers))


def _problem(
    data: dict[str, Any], lines: dict[KeyPath, int], path: KeyPath, message: str, hint: str | None
) -> Problem:
    where = dotted(path)
    if len(path) > 1 and path[0] == "price" and isinstance(path[1], int):
        entry = data["price"][path[1]]
        model = entry.get("model") if isinstance(entry, dict) else None
        where = f'price "{model[:80]}"' if isinstance(model, str) else f"price number {path[1] + 1}"
        where += f": {dotted(path[2:])}" if path[2:] else ""
    return Problem(where, message, hint, line_of(lines, path))


def _name(entry: PriceEntry) -> str:
    return f'price "{entry.model[:80]}"'


def _all(path: Path, problems: Sequence[Problem]) -> ConfigError:
    hints = dict.fromkeys(one.hint for one in problems if one.hint)
    return ConfigError("; ".join(one.said(path) for one in problems), "; ".join(hints) or None)

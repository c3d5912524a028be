"""What every page of a dashboard has in common."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.catalogue.price_book import PriceBook
from paceline.dashboard.place import Place
from paceline.dashboard.secret import Token
from paceline.dashboard.work import Work

if TYPE_CHECKING:
    from paceline.advisor.identity import KnownOffer

Known = Callable[[], "Sequence[KnownOffer]"]


@dataclass
class State:
    """One running dashboard.

    home: of stored things. config: the user's paceline.toml, which need not be there. known: the user's
    offers, read anew for each page; raises ConfigError. price_file: in place of the home's prices.toml.
    gateway_url: where a gateway has its metrics, where the user has said so. reading: how many runs were read
    of those that were not read before, while they are. say: a line for the person at the terminal. closing:
    set when the dashboard ends; whatever streams ends then. tracebacks: those that were kept, and where.
    """

    home: Path
    place: Place
    token: Token
    config: Path
    known: Known
    price_file: Path | None = None
    gateway_url: str | None = None
    reading: tuple[int, int] | None = None
    say: Callable[[str], None] = lambda _: None
    work: Work = field(default_factory=Work)
    closing: asyncio.Event = field(default_factory=asyncio.Event)
    tracebacks: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def is_private(self) -> bool:
        """Whether only this machine reaches it, so that reading needs no token."""
        return self.place.is_loopback

    def watch(self, done: int, of: int) -> None:
        """Runs are read for the first time."""
        self.reading = (done, of) if done < of else None

    def prices(self, known: "Sequence[KnownOffer] | None" = None) -> PriceBook:
        """The prices as they are now; `known`: the user's offers where they were read. Raises ConfigError."""
        return PriceBook.load(self.home, self.price_file, self.known() if known is None else known)

"""What a config needs besides its own words: keys, certificates, prices. All problems at once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from paceline.control.config import OfferConfig
from paceline.control.credentials import ca_pem, credentials, tls_pems, watched_files
from paceline.control.prices import priced
from paceline.control.problems import GatewayConfigError
from paceline.control.read import ConfigFile
from paceline.endpoints.target import Target
from paceline.errors import UsageError
from paceline.toml_file import Problem


@dataclass(frozen=True)
class PreparedOffer:
    """An offer with all but its addresses. Headers are secret.

    price: `price` of the route table; None: unknown.
    """

    config: OfferConfig
    target: Target
    headers: list[tuple[str, str]] = field(repr=False)
    ca_pem: str | None = field(repr=False)
    price: dict[str, float] | None
    price_source: str | None


@dataclass(frozen=True)
class Prepared:
    """A config that can be compiled. tls: of `paceline.gateway/1`, secret."""

    file: ConfigFile
    offers: list[PreparedOffer]
    tls: dict[str, str] | None = field(repr=False)
    warnings: list[Problem]

    def targets(self) -> list[Target]:
        """Where all offers are."""
        return [offer.target for offer in self.offers]

    def watched(self) -> list[Path]:
        """Files whose change is a change of the config."""
        config = self.file.config
        tls = config.gateway.tls
        files = [self.file.path, *([tls.cert_file, tls.key_file] if tls else [])]
        return [*files, *(path for offer in config.offers for path in watched_files(offer))]


def prepare(file: ConfigFile, now: datetime | None = None) -> Prepared:
    """Take in keys, certificates and prices.

    Raises GatewayConfigError with each problem, those that the file alone shows among them.
    """
    return _Preparation(file, now or datetime.now(UTC)).all()


class _Preparation:
    def __init__(self, file: ConfigFile, now: datetime) -> None:
        self._file = file
        self._now = now
        self._problems = list(file.problems)
        self._warnings: list[Problem] = []

    def all(self) -> Prepared:
        gateway = self._file.config.gateway
        if gateway.listen == gateway.admin_listen and not gateway.listen.endswith(":0"):
            self._wrong(
                ("gateway", "admin_listen"), UsageError("it is the address of listen", "give another port")
            )
        tls = None
        if gateway.tls is not None:
            try:
                tls, warnings = tls_pems(gateway.tls)
                self._warn(("gateway", "tls"), warnings)
            except UsageError as error:
                self._wrong(("gateway", "tls"), error)
        elif not gateway.listen.startswith(("127.", "[::1]", "localhost:")) and gateway.require_key:
            self._warn(("gateway", "listen"), ["keys cross the network unencrypted: set [gateway.tls]"])
        if not gateway.require_key and not gateway.listen.startswith(("127.", "[::1]", "localhost:")):
            self._warn(
                ("gateway", "require_key"), ["anyone who reaches this address can spend: require_key = true"]
            )
        found = [self._offer(place, offer) for place, offer in self._offers()]
        self._models()
        if self._problems:
            raise GatewayConfigError(self._file.path, self._problems)
        return Prepared(self._file, [one for one in found if one is not None], tls, self._warnings)

    def _offers(self) -> list[tuple[int, OfferConfig]]:
        return list(zip(self._file.offer_places, self._file.config.offers, strict=True))

    def _models(self) -> None:
        offered = {offer.model for offer in self._file.config.offers}
        named = {alias: model.id for model in self._file.config.models for alias in model.aliases}
        for place, model in zip(self._file.model_places, self._file.config.models, strict=True):
            if model.id not in offered:
                self._warn(("model", place), ["no offer serves it"])
        for place, offer in self._offers():
            if offer.model in named:
                self._wrong(
                    ("offer", place, "model"),
                    UsageError("it is an alias", f'write the model\'s id, "{named[offer.model]}"'),
                )

    def _offer(self, place: int, offer: OfferConfig) -> PreparedOffer | None:
        path = ("offer", place)
        before = len(self._problems)
        target = self._target(path, offer)
        headers: list[tuple[str, str]] = []
        try:
            found = credentials(offer)
            headers = found.headers
            self._warn(path, found.warnings)
        except UsageError as error:
            self._wrong((*path, _key_of(offer)), error)
        ca = None
        if offer.ca_file is not None:
            try:
                ca = ca_pem(offer.ca_file)
            except UsageError as error:
                self._wrong((*path, "ca_file"), error)
        price = source = None
        try:
            cost = priced(offer, self._now)
            price, source = cost.price, cost.source
            self._warn((*path, "price"), cost.warnings)
        except UsageError as error:
            self._wrong((*path, "price"), error)
        if target is None or len(self._problems) > before:
            return None
        return PreparedOffer(offer, target, headers, ca, price, source)

    def _target(self, path: tuple[str, int], offer: OfferConfig) -> Target | None:
        try:
            target = Target.parse(offer.base_url, protocol=offer.protocol[0])
        except UsageError as error:
            self._wrong((*path, "base_url"), error)
            return None
        if target.query:
            query = UsageError(
                "it has a query, which requests of the gateway do not have", "leave out what follows ?"
            )
            self._wrong((*path, "base_url"), query)
        if offer.ca_file is not None and target.scheme == "http":
            self._wrong(
                (*path, "ca_file"), UsageError("the URL is http", "use https://, or leave ca_file out")
            )
        pairs = [f"{name}: {value}" for name, value in offer.headers.items()]
        pairs += [f"{name}: x" for name in offer.headers_env]
        try:
            Target.parse(offer.base_url, protocol=offer.protocol[0], headers=pairs)
        except UsageError as error:
            self._wrong((*path, "headers"), UsageError(error.message, "check names and values"))
        return target

    def _warn(self, path: tuple[str | int, ...], messages: Sequence[str]) -> None:
        self._warnings += [self._file.problem(path, message) for message in messages]

    def _wrong(self, path: tuple[str | int, ...], error: UsageError) -> None:
        self._problems.append(self._file.problem(path, error.message, error.hint))


def _key_of(offer: OfferConfig) -> str:
    return "api_key_file" if offer.api_key_file is not None else "api_key_env"

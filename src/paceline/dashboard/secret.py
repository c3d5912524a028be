"""The token that lets a browser change things, or read them where the dashboard is open to others."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field

from paceline.errors import ConfigError

FEWEST_CHARACTERS = 20
_BYTES = 32


@dataclass(frozen=True)
class Token:
    """A secret of one start of the dashboard. Never printed by `repr`."""

    text: str = field(repr=False)

    @classmethod
    def make(cls) -> "Token":
        """A new one: 43 letters."""
        return cls(secrets.token_urlsafe(_BYTES))

    @classmethod
    def given(cls, text: str, where: str) -> "Token":
        """One that the user has chosen. Raises ConfigError for one that could be guessed."""
        if len(text) < FEWEST_CHARACTERS or not text.isascii() or not text.isprintable() or " " in text:
            raise ConfigError(
                f"{where}: a token has at least {FEWEST_CHARACTERS} characters, all ASCII, none a blank",
                "make one with: python3 -c 'import secrets; print(secrets.token_urlsafe())'",
            )
        return cls(text)

    def is_(self, text: str) -> bool:
        """Whether `text` is the token; takes as long whatever it is."""
        return hmac.compare_digest(text.encode(), self.text.encode())

    @property
    def reading(self) -> str:
        """What a cookie holds: it lets read, not change, and the token cannot be told from it."""
        return hmac.new(self.text.encode(), b"reading", hashlib.sha256).hexdigest()

    def reads(self, cookie: str) -> bool:
        """Whether a cookie lets read."""
        return hmac.compare_digest(cookie.encode(), self.reading.encode())

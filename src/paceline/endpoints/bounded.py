"""A client that spends no more than it may, whatever the server does."""

import time
from dataclasses import dataclass, replace
from typing import Any

from paceline.endpoints.client import Client, Reply
from paceline.endpoints.target import Target
from paceline.errors import EndpointError


@dataclass(frozen=True)
class Budget:
    """Bounds on all that is asked together; each answer is bounded by the client besides."""

    requests: int = 48
    answer_tokens: int = 2000
    seconds: float = 180.0
    timeout_s: float = 20.0


@dataclass
class Spent:
    """What was spent. Tokens are those that the server said."""

    requests: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    bytes_received: int = 0


class NothingLeftError(EndpointError):
    """The budget is spent; nothing more is asked."""


class BoundedClient(Client):
    """A client with a budget. `heard` keeps all replies in order, without their bodies, `spent` the sums."""

    def __init__(self, target: Target, budget: Budget) -> None:
        super().__init__(target, budget.timeout_s)
        self.budget = budget
        self.spent = Spent()
        self.heard: list[Reply] = []
        self._started = time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Since the client was made."""
        return time.monotonic() - self._started

    def count_tokens(self, prompt: int | None, answer: int | None) -> None:
        """Note what an answer said that it took; nonsense is not counted."""
        self.spent.prompt_tokens += prompt if prompt is not None and prompt > 0 else 0
        self.spent.answer_tokens += answer if answer is not None and answer > 0 else 0

    def _send(
        self, target: Target, method: str, path: str, body: dict[str, Any] | None, accept: str
    ) -> Reply:
        """Raises NothingLeftError when the budget is spent."""
        budget, left_s = self.budget, self.budget.seconds - self.elapsed_s
        for spent, most, what in (
            (self.spent.requests, budget.requests, "requests"),
            (self.spent.answer_tokens, budget.answer_tokens, "answer tokens"),
        ):
            if spent >= most:
                raise NothingLeftError(f"not asked: the limit of {most} {what} was reached")
        if left_s <= 0:
            raise NothingLeftError(f"not asked: the limit of {budget.seconds:g} s was reached")
        self.spent.requests += 1
        self._deadline.timeout_s = min(budget.timeout_s, left_s)
        reply = super()._send(target, method, path, body, accept)
        self.spent.bytes_received += sum(len(chunk) for chunk in reply.chunks)
        # Without the body, of which there may be much.
        self.heard.append(replace(reply, chunks=()))
        return reply

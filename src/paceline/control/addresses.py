"""Names of upstreams to addresses: looked up here, so that no request of the data plane waits for DNS."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LookupTimeoutError
from dataclasses import dataclass, field

from paceline.endpoints.target import Target
from paceline.errors import EndpointError

LOOKUP_S = 10.0
_AT_ONCE = 16

Place = tuple[str, int]
Resolve = Callable[[Target], list[str]]


@dataclass(frozen=True)
class Addresses:
    """What was found for each host and port, and why nothing was found for others."""

    known: dict[Place, list[str]] = field(default_factory=dict)
    problems: dict[Place, str] = field(default_factory=dict)

    def of(self, target: Target) -> list[str]:
        """Socket addresses; none where the name never resolved."""
        return self.known.get((target.host, target.port), [])

    def problem(self, target: Target) -> str | None:
        """Why the last look-up failed."""
        return self.problems.get((target.host, target.port))


def look_up(
    targets: Iterable[Target],
    before: Addresses,
    *,
    again: bool = False,
    resolve: Resolve = Target.resolve,
) -> Addresses:
    """The addresses of all targets; `again` also of those that are known from before.

    A name that no longer resolves keeps its last addresses. Takes ten seconds at most: what has no answer by
    then counts as not to be had.
    """
    places = {(one.host, one.port): one for one in targets}
    known = {place: found for place, found in before.known.items() if place in places}
    problems: dict[Place, str] = {}
    # Not as a context, whose end would wait for a resolver that hangs.
    pool = ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="paceline-dns")
    asked = {place: one for place, one in places.items() if again or place not in known}
    waiting = {place: pool.submit(resolve, one) for place, one in asked.items()}
    until = time.monotonic() + LOOKUP_S
    for place, answer in waiting.items():
        found = _found(place, answer, until)
        if isinstance(found, str):
            problems[place] = found
        elif sorted(found) != sorted(known.get(place, [])):
            # The same addresses in another order are no change: resolvers turn them round.
            known[place] = found
    pool.shutdown(wait=False, cancel_futures=True)
    return Addresses(known, problems)


def _found(place: Place, answer: "Future[list[str]]", until: float) -> list[str] | str:
    """Addresses, or why there are none."""
    try:
        return answer.result(max(until - time.monotonic(), 0.0))
    except EndpointError as error:
        return error.message
    except LookupTimeoutError:
        return f"the host name {place[0]!r} was not resolved in {LOOKUP_S:.0f} s"

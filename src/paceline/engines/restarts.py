"""When an engine that has died is started again: a bounded number of times, with a growing pause."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Restarts:
    """Deaths of one engine. most: starts after a death within `window_s`; another death then is the last.

    The pause is `first_pause_s` after the first death in the window, and doubles with each up to
    `longest_pause_s`. Times are seconds of one clock that never goes back.
    """

    most: int = 5
    window_s: float = 600.0
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    _deaths: list[float] = field(default_factory=list)

    @property
    def deaths(self) -> int:
        """Within the window, as of the last death."""
        return len(self._deaths)

    def died(self, at_s: float) -> float | None:
        """Note a death; seconds until the next start, None where there is none."""
        self._deaths = [one for one in self._deaths if at_s - one < self.window_s] + [at_s]
        if self.deaths > self.most:
            return None
        # No more doublings than matter: a float has an end.
        return min(self.first_pause_s * 2.0 ** min(self.deaths - 1, 60), self.longest_pause_s)

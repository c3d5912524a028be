"""What can be turned on an engine: the search space of the tuner."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """One option and the values it may take; None among them leaves the engine's own default.

    only_with: another choice's option and the values under which this one means anything.
    may_change_output: whether greedy answers may come out otherwise (a smaller KV type); others are only ever
    faster or slower, up to the order of floating-point sums. why: what it does, in a few words.
    """

    option: str
    values: tuple[str | int | float | bool | None, ...]
    why: str
    only_with: tuple[str, tuple[str | int | float | bool | None, ...]] | None = None
    may_change_output: bool = False

"""Settings as rows of numbers: what a search computes with."""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from paceline.engines.engine import Settings, Value
from paceline.engines.space import Choice

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# The place of every option's first value: left to the engine, or without meaning beside the others.
LEFT = 0


class Coding:
    """One column an option, in it the place of its value among those that are known.

    seen: settings that may hold options which are no choice, and values that no choice has.
    """

    def __init__(self, choices: Sequence[Choice], seen: Iterable[Settings]) -> None:
        self.choices = choices
        self.values: dict[str, list[Value]] = {choice.option: [None] for choice in choices}
        for choice in choices:
            if choice.only_with is not None:
                self.values.setdefault(choice.only_with[0], [None])
            for value in choice.values:
                self._learn(choice.option, value)
        for settings in seen:
            for option, value in settings.items():
                self.values.setdefault(option, [None])
                self._learn(option, value)
        self.options = list(self.values)

    def rows(self, many: Sequence[Settings]) -> Ints:
        """int64[settings, options], with what is idle left out. Only for settings that were seen."""
        places = [[self._place(option, one.get(option)) for option in self.options] for one in many]
        return self.meant(np.array(places, np.int64).reshape(len(many), len(self.options)))

    def settings(self, row: Ints) -> Settings:
        """A row as settings, without what is left to the engine."""
        return {o: self.values[o][place] for o, place in zip(self.options, row, strict=True) if place != LEFT}

    def meant(self, rows: Ints) -> Ints:
        """Rows without options that mean nothing beside the others."""
        rows = rows.copy()
        for _ in self.choices:
            before = rows.copy()
            for choice in self.choices:
                if choice.only_with is not None:
                    option, values = choice.only_with
                    idle = ~self._among(option, values)[rows[:, self.options.index(option)]]
                    rows[idle, self.options.index(choice.option)] = LEFT
            if (rows == before).all():
                break
        return rows

    def allowed(self, choice: Choice) -> Ints:
        """Places of the values that a choice may take, in its order."""
        return np.array([self._place(choice.option, value) for value in choice.values], np.int64)

    def column(self, option: str) -> int:
        """Of an option."""
        return self.options.index(option)

    def _among(self, option: str, values: Sequence[Value]) -> Bools:
        kinds = {_kind(value) for value in values}
        return np.array([_kind(value) in kinds for value in self.values[option]])

    def _learn(self, option: str, value: Value) -> None:
        if _kind(value) not in map(_kind, self.values[option]):
            self.values[option].append(value)

    def _place(self, option: str, value: Value) -> int:
        return [_kind(one) for one in self.values[option]].index(_kind(value))


def _kind(value: Value) -> tuple[str, Value]:
    """True is not 1; and what is left out is left out, None and False alike."""
    return ("", None) if value is None or value is False else (type(value).__name__, value)

"""What became of the rows of a file: which were used, left out or changed, and why."""

from dataclasses import dataclass, field

EXAMPLES = 3


class RowError(Exception):
    """A row that cannot be used. `reason` is one of a few, so that rows can be counted by it."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


def shown(text: object, most: int = 40) -> str:
    """What a file says, for a person: short, and with nothing in it that would steer a terminal."""
    whole = str(text)
    cut = whole if len(whole) <= most else whole[: most - 3] + "..."
    return "".join(one if one.isprintable() else "?" for one in cut)


@dataclass
class Tally:
    """How many rows, and where the first of them are."""

    count: int = 0
    examples: list[str] = field(default_factory=list)

    def add(self, example: str) -> None:
        """One more row; its place is kept while there are few."""
        self.count += 1
        if len(self.examples) < EXAMPLES:
            self.examples.append(example)


@dataclass
class ReadReport:
    """The account of one reading of a file.

    rows: those that were read. used: those that jobs are made of; rows = used + all of `skipped`. changed:
    used rows that are not sent as they are, by reason; a row may be there twice. said: what the reader has
    decided by itself, or what a reader of the run must know. `what` is `data` or `trace`.
    """

    what: str
    path: str
    sha256: str
    rows: int = 0
    used: int = 0
    skipped: dict[str, Tally] = field(default_factory=dict)
    changed: dict[str, Tally] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)

    def skip(self, where: str, fault: RowError) -> None:
        """A row is left out."""
        example = f"{where}: {fault.detail}" if fault.detail else where
        self.skipped.setdefault(fault.reason, Tally()).add(example)

    def change(self, where: str, reason: str) -> None:
        """A row is used, but not as it stands."""
        self.changed.setdefault(reason, Tally()).add(where)

    @property
    def n_skipped(self) -> int:
        """Rows left out, whatever the reason."""
        return sum(tally.count for tally in self.skipped.values())

    def first_faults(self) -> str:
        """The most frequent reasons with their first places, for an error; "" where there are none."""
        return "; ".join(told(reason, tally) for reason, tally in _most_frequent(self.skipped))

    def sentences(self) -> list[str]:
        """The account in words, one note of the run a line."""
        name = f"{self.what} {self.path}"
        lines = [f"{name}: {self.used:,} of {self.rows:,} rows used"]
        lines += [f"{name}: {one}" for one in self.said]
        lines += [f"{name}: skipped {told(*item)}" for item in _most_frequent(self.skipped)]
        lines += [f"{name}: changed {told(*item)}" for item in _most_frequent(self.changed)]
        return lines


def _most_frequent(tallies: dict[str, Tally]) -> list[tuple[str, Tally]]:
    return sorted(tallies.items(), key=lambda item: (-item[1].count, item[0]))


def told(reason: str, tally: Tally) -> str:
    """`2 (the reason): line 3, line 9`."""
    more = ", ..." if tally.count > len(tally.examples) else ""
    return f"{tally.count:,} ({reason}): {', '.join(tally.examples)}{more}"

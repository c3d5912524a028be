"""What servers did after their callers had hung up."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from paceline.report.figures import metric_dict, number
from paceline.stats.frame import MISSING, Frame
from paceline.stats.summary import Summary


@dataclass(frozen=True)
class HangUps:
    """`n`: measured requests hung up. `stopped`: servers that stopped, after `stop` ms. `watched_ms`: how
    long the others were watched. `tail_bytes`: body bytes after a hang-up, the mean and the most.
    """

    n: int
    stopped: int
    watched_ms: float
    stop: Summary
    tail_bytes: tuple[float, int] | None

    @property
    def going_on(self) -> int:
        """Servers that were still sending, or had not closed, when they were given up."""
        return self.n - self.stopped

    def to_dict(self) -> dict[str, Any]:
        """`hangups` of `paceline.report/1`."""
        tail = self.tail_bytes
        return {
            "n": self.n,
            "stopped": self.stopped,
            "going_on": self.going_on,
            "watched_ms": number(self.watched_ms),
            "stop_ms": metric_dict(self.stop) if self.stop.n else None,
            "tail_bytes": {"mean": tail[0], "max": tail[1]} if tail else None,
        }


def hangups_of(rows: pa.Table, stop: Summary, watched_ns: int) -> HangUps | None:
    """None where no caller hung up. `stop`: the summary of `stop_ms` of the same rows."""
    frame = Frame(rows)
    n = int(frame.hung_up.sum())
    if not n:
        return None
    tail = frame.ints("tail_bytes")[frame.hung_up]
    tail = tail[tail != MISSING]
    stopped = int((frame.ints("stopped_ns") != MISSING)[frame.hung_up].sum())
    bytes_ = (float(np.mean(tail)), int(tail.max())) if len(tail) else None
    return HangUps(n, stopped, watched_ns / 1e6, stop, bytes_)

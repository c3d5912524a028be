"""Whether a reader ever waits.

The reader starts at a request's first token and reads at a steady pace: token j (from 0) is needed at
first token + j / pace. Deadlines do not move when a token is late, so that a stall counts against all tokens
that it delays beyond their turn. Deadlines by token, rather than gaps, as in the fluidity index of Etalon
(Agrawal et al. 2024), whose deadlines are set anew after a miss.
"""

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import Frame, Ints


def fluidity(frame: Frame, tokens: Ints, reading_tok_s: float) -> npt.NDArray[np.float64]:
    """The share of each row's tokens that arrive in time, float64[r]; 0 for a row without tokens.

    `tokens`: int64[e], those of each event; they arrive together with it. `reading_tok_s`: the pace.
    """
    row = frame.event_row
    running = np.concatenate([np.zeros(1, np.int64), np.cumsum(tokens)])
    before = running[:-1] - running[frame.starts[:-1]][row]
    since_first_s = (frame.event_ns - frame.first_ns[row]) / 1e9
    # The first token that is still in time; a hair is taken off so that "exactly on time" is in time.
    in_time_from = np.ceil(since_first_s * reading_tok_s - 1e-9)
    in_time = np.clip(before + tokens - in_time_from, 0, tokens)
    total = running[frame.starts[1:]] - running[frame.starts[:-1]]
    share: npt.NDArray[np.float64] = frame.sum_by_row(in_time) / np.maximum(total, 1)
    return share

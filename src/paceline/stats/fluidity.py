"""Whether a reader ever waits.

The reader starts at a request's first token and reads at a steady pace: token j (from 0) is needed at
first token + j / pace. Deadlines do not move when a token is late, so that a stall counts against all tokens
that it delays beyond their turn. Deadlines by token, rather than gaps, as in the fluidity index of Etalon
(Agrawal et al. 2024), whose deadlines are set anew after a miss.
"""

import numpy as np
import numpy.typing as npt

from paceline.stats.frame import Frame


def fluidity(frame: Frame, tokens: npt.NDArray[np.int32], reading_tok_s: float) -> npt.NDArray[np.float64]:
    """The share of each row's tokens that arrive in time, float64[r]; 0 for a row without tokens.

    `tokens`: int32[e], those of each event; they arrive together with it. `reading_tok_s`: the pace.
    """
    total = frame.sum_by_row(tokens)
    # In place: with millions of events each array is many MB.
    in_time = (frame.event_ns - frame.spread(frame.first_ns)) / 1e9
    in_time *= reading_tok_s
    # The first token that is still in time; a hair is taken off so that "exactly on time" is in time.
    in_time -= 1e-9
    in_time_from = np.ceil(in_time, out=in_time)
    arrived = np.cumsum(tokens)
    arrived -= frame.spread(np.cumsum(total) - total)
    np.subtract(arrived, in_time_from, out=in_time)
    np.clip(in_time, 0, tokens, out=in_time)
    share: npt.NDArray[np.float64] = frame.sum_by_row(in_time) / np.maximum(total, 1)
    return share

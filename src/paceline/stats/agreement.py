"""Do two sides answer alike, as far as each answers alike itself?

Each of two sides is asked each of n prompts twice. A server may answer one prompt in several ways, even at
temperature 0, so that how often A and B agree means nothing beside how often A agrees with A, and B with B.

With p and q the chances of each answer on the two sides, a side agrees with itself in a share sum p^2 (or
sum q^2) of tries, and the two with each other in sum p q. What is lost, (sum p^2 + sum q^2) / 2 - sum p q, is
half the squared distance of p and q: 0 where the two sides are one, above 0 wherever they are not. It is half
the squared maximum mean discrepancy (Gretton et al. 2012, JMLR 13) of the kernel `texts are equal`, and so of
every other positive definite kernel, such as the share of a text that two have in common from its beginning.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paceline.stats.binomial import exact_share
from paceline.stats.bootstrap import Blocks
from paceline.stats.compare import Interval

Floats = npt.NDArray[np.float64]

REPLICATES = 4000
SHUFFLES = 9999
_AT_ONCE = 500
_MOST_DRAWN = 2000
_POWER = 0.8
# Each is one pairing of a prompt's four answers (a1, a2, b1, b2): its two pairs, then the four across them,
# as columns of a1a2, b1b2, a1b1, a1b2, a2b1, a2b2. The first is the true one.
_PAIRINGS = ((0, 1, (2, 3, 4, 5)), (2, 5, (0, 1, 3, 4)), (3, 4, (0, 1, 2, 5)))
_MOST_NEEDED = 1_000_000


@dataclass(frozen=True)
class Agreement:
    """How two sides agree, each being asked twice.

    n: prompts with all four answers. a, b, ab: mean agreement of A with itself, of B with itself, and of one
    with the other. lost: 1 - ab / ((a + b) / 2), the share of what a side repeats that the other does not
    say; no ends where nothing is ever repeated. p_value: of the two being one, against agreeing less with
    each other than with themselves. seen: the smallest `lost` that so many prompts would show four times in
    five; None where none would.
    """

    n: int
    a: Interval
    b: Interval
    ab: Interval
    lost: Interval
    p_value: float
    seen: float | None

    @property
    def repeats(self) -> float:
        """How often a side gives one answer twice, 0 to 1: nan without prompts."""
        return (self.a.value + self.b.value) / 2.0

    def more_for_same(self, margin: float) -> int | None:
        """About how many more prompts would show that no more than `margin` is lost; None: none would."""
        lost, hi = self.lost.value, self.lost.hi
        if hi is None or not lost < margin:
            return None
        kept = self.n * (1.0 if math.isnan(self.repeats) else self.repeats)
        # The exact end comes nearer as 1 / n where all agree; a bootstrapped one as 1 / sqrt(n).
        counted = exact(lost * kept, kept).hi
        grown = 1.0 if counted is None or hi <= counted else max(((hi - lost) / (margin - lost)) ** 2, 1.0)
        while grown * self.n < _MOST_NEEDED:
            if exact_share(max(lost, 0.0) * kept * grown, kept * grown).hi <= margin:
                return max(math.ceil(self.n * (grown - 1.0)), 1)
            grown *= 1.02
        return None

    def more_for_different(self) -> int | None:
        """About how many more prompts would show that something is lost; None: none would."""
        lost, lo = self.lost.value, self.lost.lo
        if lo is None or not lost > 0.0:
            return None
        more = self.n * (((lost - lo) / lost) ** 2 - 1.0)
        return max(math.ceil(more), 1) if more < _MOST_NEEDED else None


def agreement(pairs: npt.ArrayLike, *, confidence: float = 0.95, seed: int = 1) -> Agreement:
    """How two sides agree over n prompts.

    `pairs`: float64[n, 6], agreement from 0 to 1 of each two of a prompt's four answers, in the order a1a2,
    b1b2, a1b1, a1b2, a2b1, a2b2.

    The interval of `lost` is the wider, at either end, of a bootstrap by prompt and of the exact binomial one
    for as many prompts as are repeated: a bootstrap of prompts that all agree knows of no others. `p_value`
    is exact, whatever the answers: if the two sides are one, a prompt's four answers may as well be paired
    otherwise, and what is lost is as likely in each of the three pairings.
    """
    given = np.asarray(pairs, np.float64).reshape(-1, 6)
    n = len(given)
    own, across = given[:, :2].mean(axis=1), given[:, 2:].mean(axis=1)
    rng = np.random.default_rng(seed)
    return Agreement(
        n=n,
        a=exact(float(given[:, 0].sum()), n, confidence),
        b=exact(float(given[:, 1].sum()), n, confidence),
        ab=exact(float(across.sum()), n, confidence),
        lost=_lost(own, across, confidence, rng),
        p_value=_p_value(given, rng),
        seen=_seen(own, across, confidence),
    )


def agreement_once(ab: npt.ArrayLike, *, confidence: float = 0.95) -> Agreement:
    """How two sides agree over n prompts, where what each repeats is not known.

    `ab`: float64[n], of A's answer with B's. Whatever a side repeats, no more is lost than 1 - ab: `lost` has
    that upper end and no lower one.
    """
    given = np.asarray(ab, np.float64)
    n = len(given)
    found = exact(float(given.sum()), n, confidence)
    unknown = Interval(math.nan, None, None)
    hi = None if found.lo is None else 1.0 - found.lo
    return Agreement(n, unknown, unknown, found, Interval(1.0 - found.value, None, hi), 1.0, None)


def exact(k: float, n: float, confidence: float = 0.95) -> Interval:
    """A share and its exact binomial interval; no ends without an n.

    `k` and `n` may lie between whole numbers, as sums of shares do: those vary no more than counts of the
    same mean, so that the interval is rather too wide.
    """
    if not n > 0.0:
        return Interval(math.nan, None, None)
    share = exact_share(min(max(k, 0.0), n), n, confidence)
    return Interval(share.value, share.lo, share.hi)


def _lost(own: Floats, across: Floats, confidence: float, rng: np.random.Generator) -> Interval:
    kept = float(own.sum())
    if not kept > 0.0:
        return Interval(math.nan, None, None)
    lost = 1.0 - float(across.sum()) / kept
    counted = exact(lost * kept, kept, confidence)
    lo, hi = float(counted.lo or 0.0), 1.0 if counted.hi is None else counted.hi
    n = len(own)
    if n > 1:
        # Of very many prompts some are drawn together, which takes nothing from the interval.
        count = min(n, _MOST_DRAWN)
        block = np.arange(n) * count // n
        times = Blocks(own, block, count, np.empty(0)).draws(REPLICATES, rng)
        kept_drawn = times @ np.bincount(block, own)
        found = np.zeros(REPLICATES)
        np.divide(times @ np.bincount(block, across), kept_drawn, out=found, where=kept_drawn > 0.0)
        drawn = 1.0 - found
        tail = _tail(count, confidence)
        low, high = (float(end) for end in np.quantile(drawn, [tail, 1.0 - tail]))
        lo, hi = min(lo, low), max(hi, high)
    return Interval(lost, min(lo, lost), min(max(hi, lost), 1.0))


def _tail(n: int, confidence: float) -> float:
    """The share to cut off at each end, for so few prompts (Hesterberg 2015, "expanded" percentiles)."""
    from scipy.special import ndtr, stdtrit

    return float(ndtr(-stdtrit(n - 1, 0.5 + confidence / 2.0) * math.sqrt(n / (n - 1))))


def _p_value(given: Floats, rng: np.random.Generator) -> float:
    if not len(given):
        return 1.0
    lost = np.stack(
        [
            (given[:, first] + given[:, second]) / 2.0 - given[:, list(rest)].mean(axis=1)
            for first, second, rest in _PAIRINGS
        ],
        axis=1,
    )
    # A prompt whose answers can be paired in any way alike says nothing.
    lost = lost[np.ptp(lost, axis=1) > 1e-12]
    second, third = lost[:, 1] - lost[:, 0], lost[:, 2] - lost[:, 0]
    as_large = 0
    for begin in range(0, SHUFFLES, _AT_ONCE):
        drawn = rng.integers(3, size=(min(_AT_ONCE, SHUFFLES - begin), len(lost)), dtype=np.uint8)
        change = (drawn == 1) @ second + (drawn == 2) @ third
        as_large += int((change >= -1e-9).sum())
    return (as_large + 1) / (SHUFFLES + 1)


def _seen(own: Floats, across: Floats, confidence: float) -> float | None:
    """The smallest `lost` that is shown with a chance of 0.8: as many prompts as that takes to differ, and no
    less than what the noise hides."""
    from scipy.special import bdtrc, ndtri

    kept = float(own.sum())
    whole = int(kept)
    # If all others agree, one prompt fits the true pairing by chance in one of three cases.
    needed = math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(1.0 / 3.0))
    if whole < needed:
        return None
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (low, middle) if bdtrc(needed - 1, whole, middle) >= _POWER else (middle, high)
    kept_share = kept / len(own)
    residual = across - (float(across.sum()) / kept) * own
    noise = float(residual.std(ddof=1)) / (math.sqrt(len(own)) * kept_share) if len(own) > 1 else 0.0
    hidden = float(ndtri(0.5 + confidence / 2.0) + ndtri(_POWER)) * noise
    least = max(high, hidden)
    return least if least < 1.0 else None

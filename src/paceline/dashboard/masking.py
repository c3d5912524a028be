"""What must not be shown, taken out of a text that comes piece by piece."""

from collections.abc import Iterable

MASK = "[redacted]"
# Fewer bytes at the end of a text are no sign that a secret has begun, and give nothing of it away.
_BEGUN_BYTES = 4
# Where nothing follows any more, an end that is also a word (`Bear`) is taken for one.
_CUT_BYTES = 8

Span = tuple[int, int]


def secret_spans(raw: bytes, secrets: Iterable[str], *, ended: bool) -> tuple[list[Span], int]:
    """Where secrets stand in a text, in order and apart; and from where on it is not yet known.

    A secret may come in several pieces, so that what could be the start of one has to wait; where the text
    has `ended` with one, its start is a span too.
    """
    found: list[Span] = []
    known = len(raw)
    for secret in (text.encode() for text in secrets):
        at = raw.find(secret)
        while at >= 0:
            found.append((at, at + len(secret)))
            at = raw.find(secret, at + len(secret))
        begun = _begun_at_end(raw, secret, _CUT_BYTES if ended else _BEGUN_BYTES)
        if begun is not None and ended:
            found.append((begun, len(raw)))
        elif begun is not None:
            known = min(known, begun)
    return _apart(found), known


def masked(raw: bytes, start: int, end: int, spans: Iterable[Span]) -> str:
    """The piece of a text from `start` to `end`, spans taken out.

    What stands for a span is in the piece that shows that it is one: the first few bytes may have been told.
    """
    parts: list[str] = []
    at = start
    for first, last in spans:
        if last <= start or first >= end:
            continue
        parts.append(raw[at : max(at, first)].decode("utf-8", "replace"))
        if start <= min(first + _BEGUN_BYTES, last) - 1 < end:
            parts.append(MASK)
        at = max(at, last)
    return "".join((*parts, raw[at:end].decode("utf-8", "replace")))


def _begun_at_end(raw: bytes, secret: bytes, fewest: int) -> int | None:
    """Where the longest start of the secret begins that the text ends with."""
    for size in range(min(len(secret) - 1, len(raw)), fewest - 1, -1):
        if raw.endswith(secret[:size]):
            return len(raw) - size
    return None


def _apart(spans: list[Span]) -> list[Span]:
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined

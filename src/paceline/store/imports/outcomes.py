"""The outcome that another tool's words of an error mean."""

import re
from http import HTTPStatus

_STATUS = re.compile(r"\b([45]\d\d)\b")
_WORDS = (
    (r"timeout|timed out", "timeout"),
    (r"connect\w*error|connection refused|cannot connect|name or service", "connect_error"),
    (r"payload is not completed|incomplete|closed connection|disconnected|connection reset", "truncated"),
    (r"jsondecode|not json", "malformed"),
    (r"returned an error|sseresponseerror|error in sse|streaming error", "error_in_stream"),
    (r"empty response|no responses with|never received a valid chunk|without content", "empty"),
)
_REASONS = {status.value: status.phrase.lower() for status in HTTPStatus if status.value >= 400}
_PHRASES = {phrase: code for code, phrase in _REASONS.items()}


def outcome_of(error: str, *, had_token: bool, code: int | None = None) -> tuple[str, int | None]:
    """Outcome and HTTP status that an error text means.

    Where the words tell nothing, it is what is sure: tokens came and the answer did not end (`truncated`), or
    none came (`empty`).
    """
    status = code if code is not None and 400 <= code <= 599 else _status(error)
    if status is not None:
        return ("rate_limited" if status == HTTPStatus.TOO_MANY_REQUESTS else "http_error"), status
    for pattern, outcome in _WORDS:
        if re.search(pattern, error, re.IGNORECASE):
            return outcome, None
    return ("truncated" if had_token else "empty"), None


def _status(error: str) -> int | None:
    """A status that an HTTP library names, as in `Client error '429 Too Many Requests'`; or a bare reason."""
    if error.strip().lower() in _PHRASES:
        return _PHRASES[error.strip().lower()]
    if not re.search(r"http|status|client error|server error", error, re.IGNORECASE):
        return None
    for found in _STATUS.finditer(error):
        phrase = error[found.end() : found.end() + 40].strip().lower()
        code = int(found.group(1))
        if phrase[:8] == _REASONS.get(code, "")[:8]:
            return code
    return None

import pytest

from paceline.store.imports.outcomes import outcome_of


@pytest.mark.parametrize(
    ("error", "outcome", "status"),
    [
        (
            "HTTPStatusError(\"Client error '429 Too Many Requests' for url 'http://h:4500/v1'\")",
            "rate_limited",
            429,
        ),
        ("HTTPStatusError(\"Server error '503 Service Unavailable' for url\")", "http_error", 503),
        # vllm bench serve keeps the reason alone.
        ("Too Many Requests", "rate_limited", 429),
        ("Internal Server Error", "http_error", 500),
        ("ConnectError('All connection attempts failed')", "connect_error", None),
        ("ReadTimeout('')", "timeout", None),
        (
            "RemoteProtocolError('peer closed connection without sending complete message body')",
            "truncated",
            None,
        ),
        ("ClientPayloadError: Response payload is not completed", "truncated", None),
        ("JSONDecodeError('Unterminated string starting at: line 1')", "malformed", None),
        ("ValueError('Streaming response returned an error: overloaded')", "error_in_stream", None),
        (
            "ValueError('[UNUSABLE_BACKEND_RESPONSE] backend resolved with empty response payload')",
            "empty",
            None,
        ),
    ],
)
def test_words_of_the_tools(error: str, outcome: str, status: int | None) -> None:
    assert outcome_of(error, had_token=False) == (outcome, status)


def test_a_status_that_is_named_counts_first() -> None:
    assert outcome_of("anything", had_token=False, code=500) == ("http_error", 500)
    assert outcome_of("anything", had_token=True, code=200) == ("truncated", None)


def test_a_number_in_a_text_is_no_status() -> None:
    assert outcome_of("http://host:500/v1 went away", had_token=False)[1] is None
    assert outcome_of("status 404 apples", had_token=False)[1] is None


def test_without_words_only_what_is_sure() -> None:
    assert outcome_of("", had_token=True) == ("truncated", None)
    assert outcome_of("?", had_token=False) == ("empty", None)

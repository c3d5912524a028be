"""`paceline compare`."""


def compare() -> int:
    """Not yet."""
    return 0

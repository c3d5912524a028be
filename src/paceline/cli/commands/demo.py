"""`paceline demo`."""


def demo() -> int:
    """Not yet."""
    return 0

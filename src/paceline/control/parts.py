"""What a gateway is put together from, outside of tests."""

from paceline.control.follow import Follower
from paceline.control.run import Parts


def usual_parts() -> Parts:
    """The follower that brings the ledger into the store, and what the store says was spent."""
    return Parts(follower=Follower, spent=lambda _home: {})

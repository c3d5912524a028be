"""What a gateway is put together from, outside of tests."""

from paceline.control.follow import Follower
from paceline.control.run import Parts
from paceline.store.spent import spent_usd


def usual_parts() -> Parts:
    """The follower that brings the ledger into the store, and what ledger and store say was spent."""
    return Parts(follower=Follower, spent=spent_usd)

"""A follower in a process of its own, to be killed: python -m tests.support.followed HOME."""

import sys
from pathlib import Path

from paceline.control.follow import Follower


def main() -> None:
    """Follow without a pause, with as many parts as can be, until killed."""
    with Follower(Path(sys.argv[1]), part_every_s=0.0, part_rows=1) as follower:
        while True:
            found = follower.step()
            sys.stdout.write(f"{found.lines}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Fixtures for tests in every folder."""

import signal

from tests.support.browser import browser, page

__all__ = ["browser", "page"]

# A shell that starts the tests in the background has them ignore Ctrl-C, and so all that they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

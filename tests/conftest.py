"""Fixtures for tests in every folder."""

from tests.support.browser import browser, page

__all__ = ["browser", "page"]

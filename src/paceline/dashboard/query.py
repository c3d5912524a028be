"""What a page is asked by its address."""

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode

from starlette.requests import Request

LONGEST = 4_000
_Line = TypeVar("_Line")


def asked(request: Request, names: tuple[str, ...]) -> dict[str, str]:
    """Of `names` those that the address gives, without blanks around them; empty ones are left out."""
    found = {name: request.query_params.get(name, "").strip()[:LONGEST] for name in names}
    return {name: text for name, text in found.items() if text}


def address(path: str, given: Mapping[str, str | int]) -> str:
    """An address of this dashboard."""
    return f"{path}?{urlencode(given)}" if given else path


A_PAGE = 50
"""Lines of a page of a list."""


def page_number(text: str | None) -> int:
    """From 1; what is no number is 1."""
    return max(int(text), 1) if text and text.isascii() and text.isdigit() and len(text) < 9 else 1


def paged(lines: Sequence[_Line], asked_page: str | None) -> tuple[Sequence[_Line], int, int]:
    """The lines of the page that is asked for (or the last), its number, and how many pages there are."""
    pages = max(-(-len(lines) // A_PAGE), 1)
    number = min(page_number(asked_page), pages)
    return lines[(number - 1) * A_PAGE : number * A_PAGE], number, pages

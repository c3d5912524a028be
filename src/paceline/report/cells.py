"""What cells of tables have in common: money, and names that others chose."""

import math

from paceline.report.words import printable

_FORMULA = ("=", "+", "-", "@")


def usd_words(usd: float) -> str:
    """To the cent from a dollar on, below to three digits that say something."""
    if usd >= 1.0 or usd == 0.0:
        return f"{usd:,.2f}"
    # Never as 1.2e-05: it is money.
    return f"{usd:.{2 - math.floor(math.log10(usd))}f}"


def name_cell(name: str | None) -> str:
    """For CSV: what others choose, as `X-Title`, must not become a formula of a spreadsheet, nor steer a
    terminal.
    """
    text = printable(name or "")
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA) else text

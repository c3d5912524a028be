"""JSON from a server that need not mean well."""

import json
from typing import Any, NoReturn


def read_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for what is not JSON or is nested beyond any reason."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    # Python reads NaN and Infinity, which JSON has not.
    raise ValueError(f"{constant} is not JSON")

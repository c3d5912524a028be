"""Look into Vega-Lite specifications."""

from collections.abc import Iterator
from typing import Any


def walk(node: Any) -> Iterator[tuple[str, Any]]:
    """All keys and values, at any depth."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield key, value
            yield from walk(value)
    elif isinstance(node, list):
        for item in node:
            yield from walk(item)


def rows_of(spec: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """The rows of the first data set whose rows have `field`."""
    sets = [*spec.get("datasets", {}).values(), *(value for key, value in walk(spec) if key == "values")]
    for rows in sets:
        if isinstance(rows, list) and rows and isinstance(rows[0], dict) and field in rows[0]:
            return rows
    return []

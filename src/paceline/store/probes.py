"""What probes have found, one file an endpoint: `$PACELINE_HOME/probes/`. No secrets are in them."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from paceline.store.atomic import make_folder, write_text
from paceline.store.paths import home


def probes_folder(at: Path | None = None) -> Path:
    """The folder; `at`: another home."""
    return (at or home()) / "probes"


def probe_file(endpoint: str, at: Path | None = None) -> Path:
    """The file of an endpoint, which is its origin and base path (`https://h:8000/v1`)."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", endpoint.partition("://")[2])[:60].strip("-.")
    digest = hashlib.sha256(endpoint.encode()).hexdigest()[:12]
    return probes_folder(at) / f"{readable}-{digest}.json"


def save_probe(document: dict[str, Any], at: Path | None = None) -> Path:
    """Keep a `paceline.probe/1` document in place of the endpoint's earlier one. Raises StoreError."""
    path = probe_file(document["endpoint"], at)
    make_folder(path.parent)
    write_text(path, json.dumps(document, indent=2) + "\n")
    return path


def load_probe(endpoint: str, at: Path | None = None) -> dict[str, Any] | None:
    """The endpoint's document; None where there is none, or none that can be read."""
    try:
        document = json.loads(probe_file(endpoint, at).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("endpoint") == endpoint else None

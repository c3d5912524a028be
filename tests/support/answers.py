"""What the reference engine needs to answer a probe with a quality that is known."""

import hashlib
import json
from pathlib import Path

from paceline.workloads.capability.items import Items


def write_answers(items: Items, path: Path) -> Path:
    """The right answers of a probe's problems, as `paceline sim --answers` reads them."""
    lines = []
    for index in range(len(items)):
        item = items.item(index)
        digest = hashlib.sha256(item.prompt.encode()).hexdigest()
        lines.append(json.dumps({"prompt_sha256": digest, "answer": f"Answer: {item.entry['answer']}"}))
    path.write_text("\n".join(lines) + "\n")
    return path

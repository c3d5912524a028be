"""The JSON document of a stored run or study, read from its file."""

import json
from pathlib import Path
from typing import Any

from paceline.errors import StoreError


def read_document(path: Path, missing_hint: str) -> Any:
    """The document in `path`.

    Raises StoreError when it is missing or cannot be read, ValueError when it is damaged: what is wrong, in
    words.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StoreError(f"{path} is missing", missing_hint) from None
    except OSError as error:
        raise StoreError(
            f"cannot read {path}: {error.strerror}", "check the permissions of the file"
        ) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None

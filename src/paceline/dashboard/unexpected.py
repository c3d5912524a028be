"""What nobody has thought of: one line for the person at the terminal, and the traceback in a file."""

import os
import tempfile
import traceback

from paceline.dashboard.state import State

# A page that fails each time it loads itself again must not fill the disk.
MOST_FILES = 20


def tell_unexpected(state: State, path: str, error: Exception) -> None:
    """Say that it happened on the page `path`, and where its traceback is."""
    text = "".join(traceback.format_exception(error))
    if text not in state.tracebacks:
        if len(state.tracebacks) >= MOST_FILES:
            state.say(
                f"unexpected: {type(error).__name__} on {path}; {MOST_FILES} tracebacks are kept already"
            )
            return
        state.tracebacks[text] = _keep(text)
    state.say(f"unexpected: {type(error).__name__} on {path}; the traceback is in {state.tracebacks[text]}")


def _keep(text: str) -> str:
    try:
        descriptor, name = tempfile.mkstemp(prefix="paceline-", suffix=".traceback.txt")
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError:
        return "no file, as none could be written"
    return name

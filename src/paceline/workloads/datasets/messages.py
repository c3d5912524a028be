"""Turns as files write them: role and content, from and value, with text, pictures and tool calls."""

import json
from typing import Any

from paceline.workloads.datasets.images import is_image_url
from paceline.workloads.datasets.lines import checked_text
from paceline.workloads.datasets.record import Role, Said
from paceline.workloads.read_report import RowError, shown

_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "model": "assistant",
    "bot": "assistant",
    # What a tool has answered has no turn of its own here; to the model's work it is text that comes in.
    "tool": "user",
    "function": "user",
    "observation": "user",
}
_TOOLS = ("tool", "function", "observation")
_TEXT_PARTS = ("text", "input_text", "output_text")

TOOL_RESULT = "a tool's result is sent as a turn of the user"
TOOL_CALLS = "tool calls are sent as text of the assistant"
PART_LEFT_OUT = "a part that is neither text nor picture is left out"


def read_turns(turns: Any, what: str) -> tuple[list[Said], set[str]]:
    """The turns of a list, and what is changed in them. Raises RowError; `what` names the list."""
    if isinstance(turns, str):
        # Tables without nested columns have the list as JSON.
        try:
            turns = json.loads(turns)
        except (ValueError, RecursionError):
            raise RowError(f"`{what}` is no list of turns") from None
    if not isinstance(turns, list):
        raise RowError(f"`{what}` is no list of turns")
    said: list[Said] = []
    changes: set[str] = set()
    for turn in turns:
        one = _turn(turn, changes)
        if one is not None:
            said.append(one)
    if not said:
        raise RowError(f"`{what}` has no turn with text")
    return said, changes


def _turn(turn: Any, changes: set[str]) -> Said | None:
    """A turn; None for one that says nothing."""
    if not isinstance(turn, dict):
        raise RowError("a turn is no object")
    name = turn.get("role", turn.get("from"))
    role = _ROLES.get(name.lower()) if isinstance(name, str) else None
    if role is None:
        raise RowError("a turn has no known role", shown(name, 20))
    content = next((turn[key] for key in ("content", "value", "text") if turn.get(key) is not None), "")
    text, images = read_content(content, changes)
    calls = turn.get("tool_calls") or turn.get("function_call")
    if calls and role == "assistant":
        changes.add(TOOL_CALLS)
        text = "\n".join(part for part in (text, json.dumps(calls)) if part)
    if isinstance(name, str) and name.lower() in _TOOLS:
        changes.add(TOOL_RESULT)
    return Said(role, text, images) if text.strip() or images else None


def read_content(content: Any, changes: set[str]) -> tuple[str, tuple[str, ...]]:
    """Text and picture URLs of a turn's content: a string, or a list of parts. Raises RowError."""
    if isinstance(content, str):
        return checked_text(content), ()
    if not isinstance(content, list):
        raise RowError("a turn's content is neither text nor a list of parts")
    texts: list[str] = []
    images: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(checked_text(part))
        elif not isinstance(part, dict):
            raise RowError("a part of a turn is no object")
        elif part.get("type") in _TEXT_PARTS and isinstance(part.get("text"), str):
            texts.append(checked_text(part["text"]))
        elif part.get("type") == "tool_result":
            changes.add(TOOL_RESULT)
            text, found = read_content(part.get("content") or "", changes)
            texts.append(text)
            images.extend(found)
        elif part.get("type") == "tool_use":
            changes.add(TOOL_CALLS)
            texts.append(json.dumps({"name": part.get("name"), "input": part.get("input")}))
        else:
            url = _image_url(part)
            if url is None:
                changes.add(PART_LEFT_OUT)
            else:
                images.append(url)
    return "\n".join(text for text in texts if text), tuple(images)


def _image_url(part: dict[str, Any]) -> str | None:
    """Chat: {"image_url": {"url"}}; responses: {"image_url": url}; messages: {"source": {...}}."""
    url: Any = part.get("image_url")
    if isinstance(url, dict):
        url = url.get("url")
    source = part.get("source")
    if part.get("type") == "image" and isinstance(source, dict):
        if source.get("type") == "base64":
            url = f"data:{source.get('media_type')};base64,{source.get('data')}"
        else:
            url = source.get("url")
    return url if isinstance(url, str) and is_image_url(url) else None

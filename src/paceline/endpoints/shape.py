"""What one JSON document of an answer must look like for the load generator to read it.

The same rules as in `paceline_wire::protocol`: an answer that they refuse would make every request of a run
`malformed`, so it must not pass the preflight.
"""

import json
from typing import Any, NoReturn

_TEXTS = ("reasoning_content", "reasoning", "refusal")
# A choice that ends so was not finished; the load generator takes it for an error as well.
_ENDED_BY_ERROR = ("error", "abort", "aborted", "cancelled", "canceled", "failed")


def read_json(text: str) -> Any:
    """The value of a JSON text. Raises ValueError for what is not JSON or is nested beyond any reason."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    # Python reads NaN and Infinity, which JSON has not.
    raise ValueError(f"{constant} is not JSON")


def malformed(document: Any, *, streaming: bool) -> str | None:
    """What is wrong with a document, in words that name the field; None for one that can be read."""
    try:
        _document(document, "delta" if streaming else "message")
    except ValueError as error:
        return str(error)
    return None


def error_in(document: dict[str, Any]) -> Any:
    """The error that a document carries in any of the forms that servers use; None without one."""
    if document.get("error"):
        return document["error"]
    if document.get("object") == "error":
        return document.get("message") or document
    for choice in document.get("choices") or ():
        if choice.get("error"):
            return choice["error"]
        if choice.get("finish_reason") in _ENDED_BY_ERROR:
            return f"a choice ended with finish_reason {choice['finish_reason']!r}"
    if not document.get("choices") and document.get("usage") is None and _is_foreign_error(document):
        return document
    return None


def _is_foreign_error(document: dict[str, Any]) -> bool:
    """An error without `error`, as gateways send them."""
    named = any(document.get(key) == "error" for key in ("status", "type", "event"))
    described = document.get("message") is not None and any(
        document.get(key) is not None for key in ("code", "type", "status", "status_code")
    )
    return named or described or any(document.get(key) is not None for key in ("detail", "errors"))


def _document(document: Any, part: str) -> None:
    _object(document, "it")
    for name in ("id", "model", "object"):
        _text(document, name, name)
    for number, choice in enumerate(_list(document, "choices", "choices")):
        where = f"choices[{number}]"
        _object(choice, where)
        for name in ("finish_reason", "text"):
            _text(choice, name, f"{where}.{name}")
        # Beside an error nothing of what was generated is read.
        if choice.get(part) is not None and not document.get("error"):
            _message(choice[part], f"{where}.{part}")


def _message(message: Any, where: str) -> None:
    _object(message, where)
    _content(message.get("content"), f"{where}.content")
    for name in _TEXTS:
        _text(message, name, f"{where}.{name}")
    for number, call in enumerate(_list(message, "tool_calls", f"{where}.tool_calls")):
        place = f"{where}.tool_calls[{number}]"
        _object(call, place)
        _function(call.get("function"), f"{place}.function")
    _function(message.get("function_call"), f"{where}.function_call")


def _content(content: Any, where: str) -> None:
    """A string, or parts of which a thinking one holds parts of its own."""
    if not isinstance(content, list):
        _string(content, where)
        return
    for number, one in enumerate(content):
        place = f"{where}[{number}]"
        _object(one, place)
        _text(one, "text", f"{place}.text")
        _content(one.get("thinking"), f"{place}.thinking")


def _function(function: Any, where: str) -> None:
    if function is not None:
        _object(function, where)
        _text(function, "arguments", f"{where}.arguments")


def _object(value: Any, where: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {_kind(value)}, not an object")


def _list(holder: dict[str, Any], name: str, where: str) -> list[Any]:
    value = holder.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise ValueError(f"{where} is {_kind(value)}, not a list")
    return value


def _text(holder: dict[str, Any], name: str, where: str) -> None:
    _string(holder.get(name), where)


def _string(value: Any, where: str) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise ValueError(f"{where} is {_kind(value)}, not a string")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{where} holds half of a surrogate pair, which is no Unicode text")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", str: "a string"}
    return "null" if value is None else names.get(type(value), "a number")

"""Turn a refusal (a status that is not 200) into an error that says what to do."""

import json
import re
from collections.abc import Sequence
from typing import Any

from paceline.config import closest
from paceline.endpoints.answer import error_text
from paceline.endpoints.client import Client, Reply
from paceline.endpoints.json_text import read_json
from paceline.endpoints.target import Target
from paceline.errors import EndpointError
from paceline.protocols import PROTOCOLS

_MOST_MODELS_SHOWN = 20
_MOST_PATHS_SHOWN = 20
_LONGEST_PATH = 200
_ENDINGS = tuple(info.path for info in PROTOCOLS.values())
_REFUSED_HINT = "change what the server names, or leave further body fields and the system prompt out"
_WAIT_S = r"[0-9]{1,6}"
_NO_SUCH = re.compile(
    r"not (exist|found|available|loaded|supported)|unknown|invalid|no such|unsupported|no access"
)


def refusal(reply: Reply, client: Client, model: str, models: Sequence[str] | None) -> EndpointError:
    """The error for an answer of a status that is not 200. May ask the server which paths exist."""
    target = client.target
    said = error_text(reply.body, target)
    status = reply.status
    if status in (401, 403):
        return _bad_key(target, status, said)
    if status == 429:
        after = reply.headers.get("retry-after", "")
        hint = f"wait {after} s (the server's retry-after)" if re.fullmatch(_WAIT_S, after) else "wait"
        return EndpointError(
            f"{target.display}: rate-limited (429): {said}",
            f"{hint} and run again, or ask for a higher limit",
        )
    if 300 <= status < 400:
        to = target.redact(reply.headers.get("location", "another place").partition("?")[0])[:_LONGEST_PATH]
        return EndpointError(
            f"{target.display}: the server redirects ({status}) to {to}", "give the URL that it redirects to"
        )
    if _speaks_of_model(reply, model, models):
        return wrong_model(target, model, models, said)
    if status in (404, 405):
        return wrong_path(client, target.path, status, said)
    if status >= 500:
        hint = "look at the server's log"
        if status in (502, 503, 504):
            hint = (
                "the server may still be starting or loading the model: wait until it answers, and run again"
            )
        return EndpointError(f"{target.display}: the server failed ({status}): {said}", hint)
    return EndpointError(
        f"{target.display}: the server refused the request ({status}): {said}", _REFUSED_HINT
    )


def wrong_model(target: Target, model: str, models: Sequence[str] | None, said: str) -> EndpointError:
    """The server has no such model: says which it has, the closest name first."""
    message = f"{target.display}: there is no model {model!r}" + (f": {said}" if said else "")
    if not models:
        return EndpointError(message, "the server lists no models; ask who runs it for the model's name")
    if model in models:
        return EndpointError(message, "the server lists it, so it may not be ready, or not open to this key")
    return EndpointError(message, models_hint(models, model))


def models_hint(models: Sequence[str], model: str | None = None) -> str:
    """The server's models in one line, the closest name first where one was asked for."""
    lower = {name.lower(): name for name in models}
    near = closest(model.lower(), list(lower)) if model else None
    names = list(models)
    if near is not None:
        names.sort(key=lambda name: name != lower[near])
    shown = ", ".join(names[:_MOST_MODELS_SHOWN])
    more = f" and {len(names) - _MOST_MODELS_SHOWN} more" if len(names) > _MOST_MODELS_SHOWN else ""
    start = f"did you mean {names[0]!r}? " if near is not None else ""
    return f"{start}the server has: {shown}{more}"


def _bad_key(target: Target, status: int, said: str) -> EndpointError:
    has_key = target.api_key is not None or any(
        name.lower() in ("authorization", "api-key", "x-api-key") for name, _ in target.headers
    )
    if has_key:
        problem, hint = "the key is refused", "check that the key is valid for this server and this model"
    else:
        problem, hint = (
            "a key is needed",
            "put the key into an environment variable and give its name: --api-key-env",
        )
    return EndpointError(f"{target.display}: {problem} ({status}): {said}", hint)


def _speaks_of_model(reply: Reply, model: str, models: Sequence[str] | None) -> bool:
    if reply.status not in (400, 404, 422):
        return False
    try:
        data = read_json(reply.body)
    except ValueError:
        return False
    error: Any = data.get("error", data) if isinstance(data, dict) else None
    if isinstance(error, dict) and (error.get("code") == "model_not_found" or error.get("param") == "model"):
        return True
    if models is not None and model in models:
        return False
    try:
        said = json.dumps(data, ensure_ascii=False).lower()
    except RecursionError:
        return False
    return model.lower() in said and _NO_SUCH.search(said) is not None


def wrong_path(client: Client, path: str, status: int, said: str) -> EndpointError:
    """The server has no such path: says which of the usual ones it has. Asks it."""
    target = client.target
    message = f"{target.display}: there is no {path.partition('?')[0]} ({status})" + (
        f": {said}" if said else ""
    )
    return EndpointError(message, _paths_hint(client, "use"))


def no_model(client: Client, path: str, status: int) -> EndpointError:
    """No model is given, and the server has no list of models at this base URL. Asks it for its paths."""
    message = (
        f"{client.target.display}: no model is given, and there is no {path.partition('?')[0]} ({status})"
    )
    return EndpointError(message, f"give --model, or the right base URL: {_paths_hint(client, 'perhaps')}")


def _paths_hint(client: Client, verb: str) -> str:
    """Which URL would probably work, and the paths that the server has."""
    answers, suggestion = _paths_that_exist(client)
    if not answers:
        return "is this the API's base URL? it often ends with /v1"
    known = f"the server answers at: {', '.join(answers)}"
    return f"{verb} {suggestion}; {known}" if suggestion else known


def _paths_that_exist(client: Client) -> tuple[list[str], str | None]:
    """Paths that answer, and a URL that would probably work."""
    target = client.target
    ending = target.path.partition("?")[0].removeprefix(target.base_path)
    answers: list[str] = []
    suggestion: str | None = None
    for path in ("/v1/models", "/models", "/openapi.json"):
        data = _json_at(client, path)
        if data is None:
            continue
        answers.append(path)
        if path == "/openapi.json":
            paths = data.get("paths")
            named = [one for one in paths if _fit(one, target)] if isinstance(paths, dict) else []
            offered = [one for one in named if one.endswith(_ENDINGS)][:_MOST_PATHS_SHOWN]
            answers += [one for one in offered if one not in answers]
            fitting = [one for one in offered if one.endswith(ending)]
            suggestion = suggestion or (target.origin + fitting[0] if fitting else None)
        elif path.removesuffix("/models") != target.base_path:
            base = path.removesuffix("/models")
            suggestion = suggestion or target.origin + (base or ending)
    return answers, suggestion


def _fit(path: str, target: Target) -> bool:
    return len(path) <= _LONGEST_PATH and target.redact(path) == path


def _json_at(client: Client, path: str) -> dict[str, Any] | None:
    try:
        reply = client.get(path)
        data = read_json(reply.body) if reply.status == 200 else None
    except (EndpointError, ValueError):
        return None
    return data if isinstance(data, dict) else None

"""Which models a server lists."""

from paceline.endpoints.client import Client, Reply
from paceline.endpoints.json_text import read_json
from paceline.endpoints.refusal import models_hint, no_model, refusal
from paceline.endpoints.target import Target
from paceline.errors import EndpointError

_LONGEST_NAME = 256


def model_list(client: Client, target: Target | None = None) -> tuple[tuple[str, ...] | None, Reply]:
    """Names that the server lists; None when it lists nothing that can be read, which is no error."""
    target = target or client.target
    reply = client.get(target.models_path, target)
    if reply.status != 200:
        return None, reply
    try:
        data = read_json(reply.body)
    except ValueError:
        return None, reply
    listed = data.get("data") or data.get("models") if isinstance(data, dict) else data
    if not isinstance(listed, list):
        return None, reply
    names = [one.get("id") or one.get("name") if isinstance(one, dict) else one for one in listed]
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and _fit(name, target))), reply


def _fit(name: str, target: Target) -> bool:
    """Whether it is a name that can be asked for, shown and stored.

    What holds a control character would steer the terminal of whoever reads it; one with a secret in it is an
    echo of what was sent.
    """
    return 0 < len(name) <= _LONGEST_NAME and target.redact(name) == name


def only_model(client: Client, models: tuple[str, ...] | None, reply: Reply) -> str:
    """The server's only model, where none was asked for; EndpointError when that cannot be told."""
    target = client.target
    if models and len(models) == 1:
        return models[0]
    if models:
        raise EndpointError(
            f"{target.display}: no model is given, and the server has {len(models)}",
            f"give one with --model; {models_hint(models)}",
        )
    if reply.status in (401, 403, 429) or reply.status >= 500:
        raise refusal(reply, client, "", None)
    if reply.status in (404, 405):
        raise no_model(client, target.models_path, reply.status)
    raise EndpointError(
        f"{target.display}: no model is given, and the server lists none", "give it with --model"
    )

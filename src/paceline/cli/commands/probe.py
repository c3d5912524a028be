"""`paceline probe`: what an endpoint speaks and can do."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.output import STDOUT, check_outputs, harmless, talk, wrapped, write_output

if TYPE_CHECKING:
    from paceline.endpoints.probe_record import Finding, Probe, ProtocolFindings
    from paceline.protocols import ProtocolInfo

_NAME_WIDTH = 20


def probe(  # noqa: PLR0917
    url: Annotated[str, typer.Argument(help="Base URL, as in http://localhost:8000/v1.")],
    model: Annotated[
        str | None, typer.Option("--model", "-m", help="Model; may be left out where the server has one.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", "-H", help="A header 'Name: value'; may be repeated.")
    ] = None,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable that holds the API key.")
    ] = None,
    ca_file: Annotated[
        Path | None, typer.Option(help="Trust this CA (PEM) in place of the system's.")
    ] = None,
    timeout: Annotated[
        str, typer.Option(help="A request that is not answered by then tells nothing.")
    ] = "20s",
    json_path: Annotated[
        Path | None, typer.Option("--json", help="Write paceline.probe/1 here; - is stdout.")
    ] = None,
) -> int:
    """Find out what an endpoint speaks and can do, and keep it for `measure`.

    Asks with tiny requests which protocols answer, and what the server tells:
    usage, tokens of each event, cached tokens, limits, its kind and clock. What
    it may cost is said before. Exit code: 0 a protocol answers, 1 none does, 2
    the endpoint cannot be reached, or wrong usage.
    """
    from paceline.cli.defaults import settings
    from paceline.cli.options import EndpointFlags
    from paceline.endpoints.bounded import Budget
    from paceline.endpoints.probe import ANSWER_TOKENS, PROMPT_TOKENS
    from paceline.endpoints.target import Target
    from paceline.measure.probing import probe_endpoint
    from paceline.units import parse_duration_ns

    flags = EndpointFlags(header=header, api_key_env=api_key_env, ca_file=ca_file)
    credentials = flags.credentials(settings().measure)
    target = Target.parse(
        url,
        model=model,
        headers=credentials.headers,
        api_key_env=credentials.api_key_env,
        ca_file=credentials.ca_file,
    )
    check_outputs({"--json": json_path})
    budget = Budget(timeout_s=parse_duration_ns(timeout, "--timeout") / 1e9)
    talk(
        wrapped(
            f"probing {target.display}: at most {budget.requests} requests and {budget.seconds:g} s, about "
            f"{PROMPT_TOKENS:,} prompt and {ANSWER_TOKENS:,} answer tokens"
        )
    )
    found, path = probe_endpoint(
        target, budget=budget, watch=_watch, show=lambda found: _show(found, json_path)
    )
    talk(wrapped("nothing is kept" if path is None else f"kept in {path}; `paceline measure` uses it"))
    return 0 if found.preferred is not None else 1


def _show(found: "Probe", json_path: Path | None) -> None:
    text = "\n".join(probe_lines(found))
    if json_path == STDOUT:
        talk(text)
    else:
        typer.echo(harmless(text))
    if json_path is not None:
        document = json.dumps(found.to_dict(), indent=2) + "\n"
        write_output(json_path, document, hint="make room there, or write elsewhere")


def _watch(what: str) -> None:
    talk(f"  {what} ...")


def probe_lines(found: "Probe") -> list[str]:
    """The whole probe for people, in lines of at most 80 columns."""
    from paceline.protocols import PROTOCOLS

    lines = [f"{found.endpoint}, model {found.model}", "", PROTOCOL_HEADER]
    for name, one in found.protocols.items():
        lines += _protocol_lines(PROTOCOLS[name], one)
    if found.preferred is not None:
        lines += wrapped(f"  measured by default: {PROTOCOLS[found.preferred].short}").splitlines()
    lines += ["", "features"]
    for feature in type(found.features).model_fields:
        lines += _row(feature.replace("_", " "), getattr(found.features, feature))
    return [*lines, "", "server", *_server_lines(found), "", *_cost_lines(found)]


PROTOCOL_HEADER = f"{'protocols':<{_NAME_WIDTH + 2}}{'streaming':<11}{'usage':<9}{'whole':<9}usage"


def _protocol_lines(info: "ProtocolInfo", one: "ProtocolFindings") -> list[str]:
    """A row under `PROTOCOL_HEADER`, and what is to be said besides."""
    if one.answers.answer != "yes":
        return _row(info.short, one.answers)
    row = f"  {info.short:<{_NAME_WIDTH}}{one.streaming.answer:<11}{one.usage_in_stream.answer:<9}"
    row += f"{one.whole.answer:<9}{one.usage_whole.answer}"
    parts = (one.streaming, one.whole) if info.streams else (one.whole,)
    said = [part.reason for part in parts if part.reason is not None]
    return [row, *(line for reason in said for line in _wrapped_row("", reason))]


def _server_lines(found: "Probe") -> list[str]:
    server = found.server
    kind = server.kind or "unknown"
    told = f", by {', '.join(server.evidence)}" if server.evidence else ""
    lines = _wrapped_row("kind", f"{kind}{told}")
    if server.version is not None:
        lines += _wrapped_row("version", server.version)
    if found.models is not None:
        shown = ", ".join(found.models[:10])
        more = f" and {len(found.models) - 10} more" if len(found.models) > 10 else ""
        lines += _wrapped_row("models", f"{shown}{more}" or "none")
    field = next((one.max_tokens_field for name, one in found.protocols.items() if name == "openai-chat"), "")
    lines += _wrapped_row("limit of answers", field)
    offset = found.clock_offset
    clock = (
        "no answer has a Date"
        if offset is None
        else (f"{offset.value_ms:+.0f} ms from this machine's, within {offset.uncertainty_ms:.0f} ms")
    )
    return lines + _wrapped_row("clock", clock)


def _cost_lines(found: "Probe") -> list[str]:
    cost = found.cost
    spent = (
        f"spent: {cost.requests} requests, {cost.prompt_tokens:,} prompt and {cost.completion_tokens:,} "
        f"answer tokens, {cost.duration_s:.1f} s"
    )
    return [
        *wrapped(spent).splitlines(),
        *(line for note in found.notes for line in wrapped(note).splitlines()),
    ]


def _row(name: str, finding: "Finding") -> list[str]:
    value = "" if finding.value is None or finding.reason is not None else f": {_shown(finding.value)}"
    reason = "" if finding.reason is None else f": {finding.reason}"
    return _wrapped_row(name, f"{finding.answer}{value}{reason}")


def _shown(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _wrapped_row(name: str, text: str) -> list[str]:
    first, *rest = wrapped(text, 80 - _NAME_WIDTH - 2).splitlines() or [""]
    return [f"  {name:<{_NAME_WIDTH}}{first}", *(f"  {'':<{_NAME_WIDTH}}{line}" for line in rest)]

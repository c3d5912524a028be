"""The options of what requests look like, and the workload that they mean.

Imports nothing heavy before it is asked to.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.settings import MeasureSettings
    from paceline.workloads.spec import WorkloadSpec

REQUESTS = "Requests"


DataColumn = Annotated[
    str | None,
    typer.Option(help="Where in a row the prompt is (else guessed, and said).", rich_help_panel=REQUESTS),
]
SystemPrompt = Annotated[str | None, typer.Option(help="System prompt.", rich_help_panel=REQUESTS)]
Temperature = Annotated[float | None, typer.Option(help="Sampling temperature.", rich_help_panel=REQUESTS)]
Stream = Annotated[
    bool | None, typer.Option("--stream/--no-stream", help="Ask for a stream.", rich_help_panel=REQUESTS)
]
StreamUsage = Annotated[
    bool | None,
    typer.Option("--usage/--no-usage", help="Ask for token counts in the stream.", rich_help_panel=REQUESTS),
]


@dataclass(frozen=True)
class RequestFlags:
    """What requests look like: a workload, and what is otherwise in it."""

    workload_name: Annotated[
        str | None,
        typer.Option(
            "--workload",
            "-w",
            help="A workload: built in (`paceline workload list`) or a file. The options below go over it.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    data: Annotated[
        Path | None,
        typer.Option(
            help="Prompts, conversations or logged requests from this file: text, JSONL, CSV, Parquet.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    data_column: DataColumn = None
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Replay this trace (Azure, Mooncake): its instants, lengths and shared prefixes.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    trace_speed: Annotated[
        float | None, typer.Option(help="2 replays it in half the time.", rich_help_panel=REQUESTS)
    ] = None
    trace_window: Annotated[
        str | None,
        typer.Option(help="A part of it, FROM:TO in seconds, as in 0:600.", rich_help_panel=REQUESTS),
    ] = None
    instants: Annotated[
        bool,
        typer.Option(
            "--trace-instants/--no-trace-instants",
            help="Send when the trace or log says; else its requests come by --concurrency or --rate.",
            rich_help_panel=REQUESTS,
        ),
    ] = True
    set_fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="A field of the workload, as in call.step.output_tokens=200; may be repeated.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    prompt_tokens: Annotated[
        str | None,
        typer.Option(
            help="Length of prompts (512): 512, uniform:64:256, normal:512:64, lognormal:512:0.5, "
            "choice:128,512.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    output_tokens: Annotated[
        str | None,
        typer.Option(
            help="Length that answers are limited to, written likewise (128).", rich_help_panel=REQUESTS
        ),
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(help="Upper limit on every answer.", rich_help_panel=REQUESTS)
    ] = None
    shared_prefix: Annotated[
        int | None,
        typer.Option(
            help="Tokens that all prompts begin with, for a prefix cache to find.", rich_help_panel=REQUESTS
        ),
    ] = None
    unique_prefix: Annotated[
        bool | None,
        typer.Option(
            "--unique-prefix/--no-unique-prefix",
            help="Each prompt's own text begins as no other does, so that no cache helps.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    salt: Annotated[
        int | None,
        typer.Option(
            help="Repeats the beginnings of an earlier run's prompts (its prefix_salt); else they are new.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="Path or name of a tokenizer, for exact lengths; `words` for words.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    exact_output: Annotated[
        bool | None,
        typer.Option(
            "--exact-output/--no-exact-output",
            help="Ask for answers of exactly their length (ignore_eos), where the server can be told.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    system: SystemPrompt = None
    temperature: Temperature = None
    extra_body: Annotated[
        str | None,
        typer.Option(
            help="Further fields of the body as JSON, as in '{\"ignore_eos\": true}'.",
            rich_help_panel=REQUESTS,
        ),
    ] = None
    stream: Stream = None
    usage: StreamUsage = None

    def workload(self, seed: int, own: "MeasureSettings") -> "WorkloadSpec":
        """What they mean, over the workload that is named and the user's own settings. Raises ConfigError."""
        from paceline.workloads.fields import check_effect, with_fields
        from paceline.workloads.spec import WorkloadSpec

        named = None if self.workload_name is None else _load(self.workload_name)
        data = {} if named is None else named.to_dict()
        given = {name: value for name, value in self._fields(own).items() if value is not None}
        data |= given
        for name in given:
            check_effect(data, name)
        if named is None and self.output_tokens is None and self.max_tokens is not None:
            data["output_tokens"] = None
        data |= {"seed": seed, "prefix_salt": self.salt or 0}
        where = f"workload {self.workload_name}" if self.workload_name else "the options"
        given_by = (*given, "seed", "prefix_salt")
        options = {name: _OPTIONS.get(name, f"--{name.replace('_', '-')}") for name in given_by}
        options |= {name: option for name, option in _OPTIONS.items() if name.partition(".")[0] in given}
        for setting in self.set_fields or []:
            name = setting.partition("=")[0].strip()
            options[name] = f"--set {name}"
        spec = WorkloadSpec.parse(with_fields(data, self.set_fields or []), where, options)
        # A server remembers earlier runs of a seed, and would answer the same prompts from its cache.
        return spec.fresh() if self.salt is None else spec

    def _fields(self, own: "MeasureSettings") -> "dict[str, Any]":
        return {
            "prompt_tokens": self.prompt_tokens,
            "output_tokens": self.output_tokens,
            "max_tokens": self.max_tokens,
            "shared_prefix_tokens": self.shared_prefix,
            "unique_prefix": self.unique_prefix,
            "exact_output": self.exact_output,
            "system": self.system,
            "tokenizer": self.tokenizer or own.tokenizer,
            "temperature": self.temperature,
            "streaming": self.stream,
            "stream_usage": self.usage,
            "extra": None if self.extra_body is None else parse_extra(self.extra_body),
            "data": self._data(),
            "trace": self._trace(),
        }

    def _data(self) -> "dict[str, Any] | None":
        if self.data is None:
            if self.data_column is not None:
                raise ConfigError("--data-column says where in --data, which is not given", "add --data FILE")
            return None
        if self.trace is not None:
            raise ConfigError("--data and --trace exclude each other", "give one of them")
        return {"path": str(self.data), "column": self.data_column}

    def _trace(self) -> "dict[str, Any] | None":
        given: dict[str, Any] = {}
        if self.trace_speed is not None:
            given["speed"] = self.trace_speed
        if self.trace_window is not None:
            given["start_s"], given["end_s"] = _window(self.trace_window)
        if self.trace is None:
            if given:
                raise ConfigError(
                    "--trace-speed and --trace-window are of --trace, which is not given", "add --trace FILE"
                )
            return None
        return {"path": str(self.trace), **given}


# Fields of a workload whose options have other names.
_OPTIONS = {
    "prefix_salt": "--salt",
    "shared_prefix_tokens": "--shared-prefix",
    "streaming": "--stream",
    "stream_usage": "--usage",
    "extra": "--extra-body",
    "data.column": "--data-column",
    "trace.speed": "--trace-speed",
    "trace.start_s": "--trace-window",
    "trace.end_s": "--trace-window",
}


def _load(name: str) -> "WorkloadSpec":
    from paceline.workloads.files import load_workload

    return load_workload(name)


def _window(text: str) -> tuple[float, float | None]:
    """`0:600` or `600:` in seconds."""
    first, colon, last = text.partition(":")
    try:
        if not colon:
            raise ValueError
        return float(first or 0), float(last) if last else None
    except ValueError:
        raise ConfigError(
            f"--trace-window {text} is not FROM:TO in seconds", "for example --trace-window 0:600"
        ) from None


# Shells take double quotes away.
_EXTRA_HINT = "write one object, in single quotes: --extra-body '{\"ignore_eos\": true}'"


def parse_extra(text: str) -> dict[str, Any]:
    """The object that --extra-body is. Raises ConfigError."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"--extra-body is not JSON: {error}", _EXTRA_HINT) from None
    if not isinstance(document, dict):
        raise ConfigError("--extra-body is not a JSON object", _EXTRA_HINT)
    return document

"""`paceline sim`: the reference engine."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from paceline.errors import ConfigError

EXACT = "Exact mode: a schedule to the microsecond"
ENGINE = "Engine mode: requests contend"


def sim(  # noqa: PLR0917
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 9100,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="A model that it answers for; may be repeated.")
    ] = None,
    mode: Annotated[str, typer.Option(help="exact or engine.")] = "exact",
    fault: Annotated[
        str | None,
        typer.Option(help="What goes wrong: KIND[:NAME=NUMBER,...], as in cut:after_events=3,share=0.5."),
    ] = None,
    timeline: Annotated[
        Path | None, typer.Option(help="JSON file with what changes while the engine runs.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of texts, faults and bursts.")] = 1,
    api_key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the key that requests must carry.")
    ] = None,
    truth_log: Annotated[
        Path | None, typer.Option(help="Log what is really sent, and when, to this file (paceline.truth/1).")
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate chain in PEM: serve https.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key in PEM.")] = None,
    max_connections: Annotated[
        int | None, typer.Option(help="Connections open at once; more are turned away.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Whose names /metrics has: vllm, sglang, tgi, llama.cpp, trtllm.")
    ] = None,
    rate_limit: Annotated[
        str | None, typer.Option(help="A minute's limit: requests=60,tokens=10000; more gets 429.")
    ] = None,
    cancel_delay: Annotated[
        str | None, typer.Option(help="How long an answer goes on after its client has gone.")
    ] = None,
    ignore_half_close: Annotated[
        bool | None,
        typer.Option(
            "--ignore-half-close/--heed-half-close",
            help="A client that closes its sending half has not gone.",
        ),
    ] = None,
    image_tokens: Annotated[int | None, typer.Option(help="Prompt tokens of one image.")] = None,
    embedding_dimensions: Annotated[
        int | None, typer.Option(help="Numbers of an embedding whose request does not say.")
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(help="JSON lines of prompts and their answers: known prompts are answered."),
    ] = None,
    quality: Annotated[
        float | None, typer.Option(help="The share of known prompts that is answered rightly (1).")
    ] = None,
    prefix_cache: Annotated[
        bool | None,
        typer.Option(
            "--prefix-cache/--no-prefix-cache",
            help="Prompts that begin alike are known (default in engine mode).",
        ),
    ] = None,
    prefix_cache_blocks: Annotated[
        int | None, typer.Option(help="Blocks of 16 tokens that it keeps.")
    ] = None,
    output_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens of an answer where the request sets no limit; in exact mode also the most."
        ),
    ] = None,
    reasoning_tokens: Annotated[
        int | None, typer.Option(help="How many of them, from the first on, are reasoning.")
    ] = None,
    ttft: Annotated[
        str | None, typer.Option(help="From request to first token, as in 50ms.", rich_help_panel=EXACT)
    ] = None,
    itl: Annotated[
        str | None, typer.Option(help="From token to token, as in 10ms.", rich_help_panel=EXACT)
    ] = None,
    tokens_per_event: Annotated[
        int | None, typer.Option(help="Tokens that one event carries.", rich_help_panel=EXACT)
    ] = None,
    tool_tokens: Annotated[
        int | None, typer.Option(help="Last tokens that are tool-call arguments.", rich_help_panel=EXACT)
    ] = None,
    role_first: Annotated[
        bool | None,
        typer.Option(
            "--role-first/--no-role-first", help="An event with the role alone.", rich_help_panel=EXACT
        ),
    ] = None,
    empty_first_events: Annotated[
        int | None, typer.Option(help="Empty events before the first token.", rich_help_panel=EXACT)
    ] = None,
    stall: Annotated[
        list[str] | None,
        typer.Option(help="A pause, TOKENS:DURATION, as in 10:500ms; may repeat.", rich_help_panel=EXACT),
    ] = None,
    usage: Annotated[
        str | None, typer.Option(help="final, none, each or wrong.", rich_help_panel=EXACT)
    ] = None,
    token_ids: Annotated[
        bool | None,
        typer.Option("--token-ids/--no-token-ids", help="Events say token ids.", rich_help_panel=EXACT),
    ] = None,
    cached_tokens: Annotated[
        int | None,
        typer.Option(help="Prompt tokens that are said to be cached.", rich_help_panel=EXACT),
    ] = None,
    ttft_per_uncached_token: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="What each uncached prompt token adds, as 125us.", rich_help_panel=EXACT
        ),
    ] = None,
    server_model: Annotated[
        str | None, typer.Option(help="The model that answers name.", rich_help_panel=EXACT)
    ] = None,
    service_tier: Annotated[
        str | None, typer.Option(help="The tier that answers name; echo: as asked.", rich_help_panel=EXACT)
    ] = None,
    speed: Annotated[
        str | None, typer.Option(help="The speed that Anthropic's answers name.", rich_help_panel=EXACT)
    ] = None,
    slots: Annotated[
        int | None, typer.Option(help="Requests worked on at once.", rich_help_panel=ENGINE)
    ] = None,
    prefill_tok_s: Annotated[
        float | None, typer.Option(metavar="N", help="Prompt tokens a second.", rich_help_panel=ENGINE)
    ] = None,
    prefill_base: Annotated[
        str | None, typer.Option(help="What a prefill takes besides its tokens.", rich_help_panel=ENGINE)
    ] = None,
    decode_step_base: Annotated[
        str | None, typer.Option(help="What a step takes besides its sequences.", rich_help_panel=ENGINE)
    ] = None,
    decode_step_per_seq: Annotated[
        str | None, typer.Option(help="What a step takes for each sequence.", rich_help_panel=ENGINE)
    ] = None,
    cached_prefill_share: Annotated[
        float | None, typer.Option(metavar="0..1", help="Cost of a cached token.", rich_help_panel=ENGINE)
    ] = None,
    spec_burst: Annotated[
        str | None, typer.Option(help="Speculation, TOKENS:ACCEPTANCE: 4:0.6.", rich_help_panel=ENGINE)
    ] = None,
    queue_limit: Annotated[
        int | None, typer.Option(help="Requests that may wait; more get 429.", rich_help_panel=ENGINE)
    ] = None,
    json_line: Annotated[
        bool, typer.Option("--json", help="Print the address as one line of JSON on stdout.")
    ] = False,
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="Also end when stdin ends, as when its parent dies.")
    ] = False,
) -> int:
    """Run the reference engine: OpenAI's and Anthropic's APIs, exact in time, with faults.

    Serves until Ctrl-C. One request can be timed otherwise by its header
    x-paceline-sim, a JSON object with the exact mode's keys and `fault`.
    """
    from paceline.cli.output import talk
    from paceline.measure.sim import serve
    from paceline.measure.sim_config import SimOptions, sim_config

    options = SimOptions(
        host=host,
        port=port,
        models=tuple(model or ()),
        api_key=_key(api_key_env),
        truth_log=truth_log,
        tls_cert=tls_cert,
        tls_key=tls_key,
        seed=seed,
        max_connections=max_connections,
        mode=mode,
        output_tokens=output_tokens,
        reasoning_tokens=reasoning_tokens,
        ttft=ttft,
        itl=itl,
        tokens_per_event=tokens_per_event,
        tool_tokens=tool_tokens,
        role_first=role_first,
        empty_first_events=empty_first_events,
        stalls=tuple(stall or ()),
        usage=usage,
        token_ids=token_ids,
        slots=slots,
        prefill_tok_s=prefill_tok_s,
        prefill_base=prefill_base,
        decode_step_base=decode_step_base,
        decode_step_per_seq=decode_step_per_seq,
        prefix_cache=prefix_cache,
        prefix_cache_blocks=prefix_cache_blocks,
        cached_prefill_share=cached_prefill_share,
        spec_burst=spec_burst,
        queue_limit=queue_limit,
        fault=fault,
        timeline=timeline,
        cached_tokens=cached_tokens,
        ttft_per_uncached_token=ttft_per_uncached_token,
        server_model=server_model,
        service_tier=service_tier,
        speed=speed,
        metrics=metrics,
        rate_limit=rate_limit,
        cancel_delay=cancel_delay,
        ignore_half_close=ignore_half_close,
        image_tokens=image_tokens,
        embedding_dimensions=embedding_dimensions,
        answers=answers,
        quality=quality,
    )
    config = sim_config(options)
    scheme = "https" if tls_cert else "http"

    def announce(address: str) -> None:
        if json_line:
            document = {"schema": "paceline.sim/1", "address": address, "url": f"{scheme}://{address}/v1"}
            typer.echo(json.dumps(document))
        names = ", ".join(model or ["truth"])
        talk(f"reference engine at {scheme}://{address}/v1, model {names}; Ctrl-C ends it")

    serve(config, announce, with_parent=with_parent)
    return 0


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable)
    if not key:
        raise ConfigError(
            f"--api-key-env: the environment variable {variable} is not set or empty",
            "set it, or leave it out",
        )
    return key

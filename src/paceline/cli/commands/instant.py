"""`paceline instant`: does it feel instant?"""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.cli.evidence_options import EVIDENCE, Refs, chosen_digests, say_left_out
from paceline.cli.options import RESULT
from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.instant import ModeName


def instant(
    refs: Refs = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(help="read, listen, type or wait; may be repeated. Default: all."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="Only this workload, by its name. Default: all that were measured.",
            rich_help_panel=EVIDENCE,
        ),
    ] = None,
    json: Annotated[
        Path | None, typer.Option(help="Write paceline.instant/1 here; - is stdout.", rich_help_panel=RESULT)
    ] = None,
) -> int:
    """Say how an offer feels: to read, to listen to, to type along with, to wait for.

    By limits from the literature, of 95 of 100 requests, with what is
    missing where the requests are too few to say.
    """
    from paceline.advisor import instant as verdicts
    from paceline.advisor.evidence import pooled
    from paceline.cli.choosing import known_offers
    from paceline.cli.output import ASK_AGAIN, STDOUT, check_outputs, harmless, write_outputs
    from paceline.report.instant_text import instant_json, instant_text

    modes = _modes(mode)
    known = known_offers()
    check_outputs({"--json": json})
    stored = chosen_digests(refs)
    fitting = [one for one in stored.digests if workload in (None, one.workload, one.workload_key)]
    say_left_out(replace(stored, digests=tuple(fitting)))
    mine = pooled(fitting, known)
    if not fitting:
        which = f" of workload {workload!r}" if workload else ""
        raise ConfigError(
            f"there are no runs{which} to judge", "measure first: paceline measure URL --model M"
        )
    found = [(one, verdicts.instant(one, modes)) for one in mine]
    if json != STDOUT:
        typer.echo(harmless(instant_text(found)), nl=False)
    write_outputs({"--json": json}, lambda _: instant_json(found), hint=ASK_AGAIN)
    return 0 if found else 1


def _modes(names: list[str] | None) -> "list[ModeName]":
    """Raises ConfigError for one that there is not."""
    from paceline.advisor.instant import MODES
    from paceline.config import choice_hint

    if names is None:
        return list(MODES)
    found: list[ModeName] = []
    for name in names:
        mode = next((one for one in MODES if one == name), None)
        if mode is None:
            raise ConfigError(f"--mode: there is no mode {name!r}", choice_hint(name, "modes", MODES))
        found.append(mode)
    return found

"""`paceline instant`: does it feel instant?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from paceline.errors import ConfigError

if TYPE_CHECKING:
    from paceline.advisor.instant import ModeName


def instant(
    refs: Annotated[
        list[str] | None, typer.Argument(help="Stored runs: ids, names or latest. None: all offers' runs.")
    ] = None,
    mode: Annotated[
        list[str] | None,
        typer.Option(help="read, listen, type or wait; may be repeated. Default: all."),
    ] = None,
    workload: Annotated[str | None, typer.Option(help="Only runs of this workload.")] = None,
    json: Annotated[
        Path | None, typer.Option(help="Write paceline.instant/1 to a file; - for stdout.")
    ] = None,
) -> int:
    """Say how an offer feels: to read, to listen to, to type along with, to wait for.

    By limits from the literature, of 95 of 100 requests, with what is
    missing where the requests are too few to say.
    """
    from paceline.advisor import instant as verdicts
    from paceline.advisor.digests import all_digests, keep
    from paceline.advisor.evidence import pooled
    from paceline.cli.choosing import known_offers
    from paceline.cli.output import ASK_AGAIN, STDOUT, check_outputs, harmless, talk, write_outputs
    from paceline.report.instant_text import instant_json, instant_text
    from paceline.report.model import build_report
    from paceline.store.runs import open_run

    modes = _modes(mode)
    known = known_offers()
    check_outputs({"--json": json})
    digests = tuple(keep(build_report(open_run(ref))) for ref in refs) if refs else all_digests().digests
    invalid = [one for one in digests if one.verdict == "invalid"]
    mine = [one for one in pooled(digests, known) if workload in (None, one.workload, one.workload_key)]
    if not mine and not invalid:
        which = f" of workload {workload!r}" if workload else ""
        raise ConfigError(
            f"there are no runs{which} to judge", "measure first: paceline measure URL --model M"
        )
    found = [(one, verdicts.instant(one, modes)) for one in mine]
    if json != STDOUT:
        typer.echo(harmless(instant_text(found)), nl=False)
    write_outputs({"--json": json}, lambda _: instant_json(found), hint=ASK_AGAIN)
    for one in invalid:
        talk(f"run {one.run_id} is invalid, and is not judged: {one.reasons[0] if one.reasons else 'see it'}")
    return 0 if found else 1


def _modes(names: list[str] | None) -> "list[ModeName]":
    """Raises ConfigError for one that there is not."""
    from paceline.advisor.instant import MODES
    from paceline.config import closest

    if names is None:
        return list(MODES)
    found: list[ModeName] = []
    for name in names:
        mode = next((one for one in MODES if one == name), None)
        if mode is None:
            near = closest(name, list(MODES))
            ways = f"did you mean {near}?" if near else f"modes are: {', '.join(MODES)}"
            raise ConfigError(f"--mode: there is no mode {name!r}", ways)
        found.append(mode)
    return found

"""What is served: as a table, stopped, cleaned up."""

from collections.abc import Sequence
from pathlib import Path

from paceline.cli.output import clipped, talk
from paceline.engines.register import unregister
from paceline.engines.served import Entry, Served, find_server, forget, servers, stop_server
from paceline.errors import UsageError
from paceline.toml_file import Problem

# An engine has ten seconds to end softly, and its guardian some more to end it by force.
STOP_S = 60.0
_LEAST = 12


def gateway_check(file: Path) -> Sequence[Problem]:
    """All that the gateway would refuse of a config."""
    from paceline.control.prepare import prepare
    from paceline.control.problems import GatewayConfigError
    from paceline.control.read import read_config

    try:
        prepare(read_config(file))
    except GatewayConfigError as error:
        return error.problems
    return ()


def table(entries: Sequence[Entry], width: int | None) -> list[str]:
    """One line a server; within `width` columns the model is cut, or has to go."""
    rows = [("NAME", "STATE", "TIER", "ENGINE", "ENDPOINT", "MODEL")]
    for entry in entries:
        one = entry.served
        state = entry.state if not one.restarts else f"{entry.state} ({one.restarts} restarts)"
        # A line stays one, whatever a file is called.
        model = " ".join(one.model.splitlines())
        rows.append((one.name, state, one.tier, one.engine, one.endpoint, model))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    room = None if width is None else width - sum(widths) - 2 * len(widths)
    lines = []
    for row in rows:
        cells = [cell.ljust(size) for cell, size in zip(row[:5], widths, strict=True)]
        model = row[5]
        if room is None or (room >= _LEAST and len(model) <= room):
            cells.append(model)
        elif room >= _LEAST:
            cells.append(f"...{model[3 - room :]}")
        lines.append("  ".join(cells).rstrip())
    return lines


def clean_up(entries: Sequence[Entry]) -> None:
    """Forget servers whose processes are gone, and take their offers out of the gateway's config."""
    for entry in entries:
        # The file last: as long as it is there the offer can be found.
        if not entry.alive and take_out(entry.served):
            forget(entry.served.name)


def take_out(served: Served) -> bool:
    """A server's offer out of the gateway's config, and what that lacks then; False: it stays there."""
    if served.registered is None:
        return True
    file = Path(served.registered)
    try:
        problems = unregister(file, served.name, served.endpoint, gateway_check)
    except UsageError as error:
        talk(f"the offer {served.name} stays in {file}: {error.message}")
        return False
    if problems is None:
        return True
    talk(f"offer {served.name} is out of {file}")
    for one in problems:
        talk(f"  {clipped(one.said(file), 400)}: a running gateway keeps what it has until that is mended")
    return True


def stop_all(names: Sequence[str]) -> int:
    """Stop servers by name, or all; the exit code."""
    if "all" in names:
        wanted = servers()
        if not wanted:
            talk("nothing is served")
    else:
        # All are looked up before the first is stopped, so that a mistyped one stops nothing.
        wanted = [find_server(name) for name in dict.fromkeys(names)]
    failed = False
    for entry in wanted:
        name = entry.served.name
        if not entry.alive:
            talk(f"{name} had ended already")
        elif stop_server(entry.served, wait_s=STOP_S):
            talk(f"stopped {name}")
        else:
            failed = True
            talk(f"{name} has not ended within {STOP_S:g} s (process {entry.served.pid})")
    clean_up([one for one in servers() if any(one.served.name == each.served.name for each in wanted)])
    return 1 if failed else 0

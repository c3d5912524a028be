"""Serve a model: from what is asked for to an engine that answers, until it is told to stop."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from paceline.cli.output import talk, wrapped
from paceline.cli.serve_words import plan_lines, same_settings
from paceline.cli.served_list import clean_up, gateway_check, take_out
from paceline.engines.draft import draft_settings
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.register import Limits, Offer, offer_of, register, try_registration
from paceline.engines.served import Served, Serving, server_name, servers
from paceline.errors import ConfigError, PacelineError, UsageError

if TYPE_CHECKING:
    from paceline.engines.profile import Start
    from paceline.engines.supervise import Event
    from paceline.protocols import Protocol


@dataclass(frozen=True)
class Registration:
    """An offer that is to stand in the gateway's config. keep: after the server's end, too."""

    file: Path
    price: tuple[float, float] | None
    limits: Limits
    keep: bool = False


@dataclass(frozen=True)
class Wanted:
    """What `paceline serve` was asked for. log: None: in the home."""

    asked: Asked
    draft: Path | None
    restarts: int
    log: Path | None
    check: bool
    dry_run: bool
    registration: Registration | None


def said_to_draft(drafting: LaunchPlan, without: LaunchPlan) -> LaunchPlan:
    """The plan with a draft model, which does not say that the user set what came with it."""
    from paceline.engines.planning import YOU_SET_IT

    own = {name for name, why in without.why.items() if why == YOU_SET_IT}
    came = {name for name, why in drafting.why.items() if why == YOU_SET_IT} - own
    return replace(drafting, why={**drafting.why, **dict.fromkeys(came, "by --draft-model")})


def serve_model(wanted: Wanted) -> int:
    """Serve until told to stop; the exit code. Raises before anything is started for whatever is wrong."""
    from paceline.engines.machine import look
    from paceline.engines.planning import plan_launch
    from paceline.engines.profile import passed_over
    from paceline.store.paths import home

    plan = plan_launch(wanted.asked, home=home())
    if wanted.draft is not None:
        own = {**draft_settings(plan, wanted.draft), **(wanted.asked.settings or {})}
        drafting = plan_launch(replace(wanted.asked, engine=plan.adapter.name, settings=own), home=home())
        plan = said_to_draft(drafting, plan)
    for line in plan_lines(plan, look()):
        talk(line)
    if plan.profile is None and wanted.asked.use_profile and (start := _start(plan)) is not None:
        for text in passed_over(start, home=home()):
            talk(text)
    name = server_name(plan.served_name if plan.tier == "standard" else f"{plan.served_name}-{plan.tier}")
    if wanted.registration is not None:
        _try(wanted.registration, plan, name)
    if wanted.dry_run:
        _print(plan.command.shown())
        return 0
    clean_up(servers())
    try:
        with _ended_by_sigterm(), Serving.claim(_served(plan, name), home=home()) as serving:
            return _serve(wanted, plan, serving)
    except KeyboardInterrupt:
        talk("stopped before it was ready")
        return 0


def parse_price(text: str) -> tuple[float, float]:
    """`IN,OUT` of `--price`, USD per million tokens. Raises ConfigError."""
    try:
        into, out = (float(part) for part in text.split(","))
    except ValueError:
        into = out = -1.0
    if not (0 <= into <= 1e9 and 0 <= out <= 1e9):
        raise ConfigError(
            f"--price: {text!r} is no price",
            "write USD per million tokens in and out, as in --price 0.1,0.4; 0,0 is free",
        )
    return into, out


def _served(plan: LaunchPlan, name: str) -> Served:
    return Served(
        name=name,
        endpoint=plan.endpoint,
        engine=plan.adapter.name,
        engine_version=plan.installed.version,
        model=plan.model,
        served_name=plan.served_name,
        tier=plan.tier,
        command=plan.command.shown(),
        log="",
        pid=os.getpid(),
        pid_started=None,
        started_at=datetime.now(UTC),
    )


def _serve(wanted: Wanted, plan: LaunchPlan, serving: Serving) -> int:
    from paceline.engines.run import check_start
    from paceline.engines.supervise import Supervisor

    log = (wanted.log or serving.log).absolute()
    serving.update(log=str(log))
    check_start(plan, log)
    if wanted.registration is not None:
        _try(wanted.registration, plan, serving.served.name)
    if wanted.check and plan.tier != "standard":
        _hold_against_standard(wanted, plan)
    talk(f"the engine's words go to {log}")
    events = _Events(wanted, plan, serving)
    try:
        return Supervisor(plan, log, restarts=wanted.restarts, events=events).run()
    finally:
        # What it says of it may have no reader any more.
        with suppress(OSError):
            take_out(serving.served)


class _Events:
    """What happens to the engine, said and kept."""

    def __init__(self, wanted: Wanted, plan: LaunchPlan, serving: Serving) -> None:
        self._wanted = wanted
        self._plan = plan
        self._serving = serving
        self._announced = False

    def __call__(self, event: "Event") -> None:
        _say(f"{datetime.now().astimezone():%H:%M:%S} {event.text}")
        if event.kind == "gave up" and event.failure is not None and event.failure.hint:
            _say(f"  {event.failure.hint}")
        if event.kind == "ready":
            self._serving.update(state="ready")
            if not self._announced:
                self._announced = True
                _print(f"{self._plan.endpoint}\n{self._plan.command.shown()}")
                self._register()
        elif event.kind == "restarting":
            self._serving.update(state="restarting", restarts=self._serving.served.restarts + 1)
        elif event.kind == "gave up":
            self._serving.update(state="gave up")

    def _register(self) -> None:
        wanted = self._wanted.registration
        if wanted is None:
            return
        name = self._serving.served.name
        _say("asking which protocols it speaks, to register it")
        offer = replace(_offer(wanted, self._plan, name), protocol=_protocols(self._plan))
        if not wanted.keep:
            # Before it is so: whenever this process is killed, whoever cleans up knows where to look.
            self._serving.update(registered=str(wanted.file.expanduser().absolute()))
        try:
            made = register(wanted.file, offer, gateway_check)
        except UsageError as error:
            # It was fine before the start, so somebody is at work on it: the model is served all the same.
            _say(f"not registered: {error.message}")
            self._serving.update(registered=None)
            return
        if made:
            _say(f"there was no config, so this is one: paceline gateway --config {wanted.file}")
        _say(f"offer {name} of model {offer.model} is in {wanted.file}")


def _hold_against_standard(wanted: Wanted, plan: LaunchPlan) -> None:
    """Say how the tier's greedy answers differ from standard's. It is served whatever comes of it."""
    from paceline.cli.live import make_view
    from paceline.engines.planning import plan_launch
    from paceline.engines.sameness import kept_sameness, sameness
    from paceline.report.sameness_words import sameness_words
    from paceline.store.paths import home

    profile = plan.profile
    if profile is not None and profile.sameness and same_settings(profile.settings, plan.settings):
        return
    try:
        asked = replace(
            wanted.asked,
            engine=plan.adapter.name,
            tier="standard",
            settings=None,
            port=0,
            profile=None,
            use_profile=False,
        )
        standard = plan_launch(asked, home=home())
        if same_settings(standard.settings, plan.settings):
            talk("greedy answers: these are the settings of standard")
            return
        found = kept_sameness(standard, plan, home=home())
        if found is None:
            talk(
                wrapped(
                    "the first start of these settings: greedy answers are held against standard's, which "
                    "takes a few minutes (--no-check leaves it out)"
                )
            )
            with make_view(f"{plan.served_name}, {plan.tier} against standard") as view:
                found = sameness(standard, plan, home=home(), watch=talk, progress=view.update)
        talk(wrapped(f"greedy answers: {sameness_words(found)}"))
    except PacelineError as error:
        talk(wrapped(f"greedy answers could not be held against standard's: {error.message}"))


def _try(wanted: Registration, plan: LaunchPlan, name: str) -> None:
    try_registration(wanted.file, _offer(wanted, plan, name), gateway_check)


def _offer(wanted: Registration, plan: LaunchPlan, name: str) -> Offer:
    return offer_of(plan, name, wanted.price or known_price(plan, name), wanted.limits)


def known_price(plan: LaunchPlan, name: str) -> tuple[float, float] | None:
    """Of `prices.toml`; None without one, and where it is by the hour, which is no price of a token."""
    from paceline.advisor.identity import OfferKey
    from paceline.catalogue.price_file import FILE_NAME, load_price_file
    from paceline.store.paths import home

    file = home() / FILE_NAME
    if not file.exists():
        return None
    key = OfferKey(model=plan.served_name, provider=name, tier=plan.tier)
    found = load_price_file(file).price(key, plan.served_name, plan.endpoint, datetime.now(UTC))
    if found is None or found.kind != "tokens":
        return None
    return found.rates.input_usd_per_mtok, found.rates.output_usd_per_mtok


def _protocols(plan: LaunchPlan) -> tuple["Protocol", ...]:
    """What the engine speaks, by its answers to one small question each; if it has none, what all do."""
    from paceline.endpoints.bounded import BoundedClient, Budget
    from paceline.endpoints.questions import Questions
    from paceline.endpoints.target import Target
    from paceline.measure.border import core_observe
    from paceline.protocols import PROTOCOLS

    spoken: list[Protocol] = []
    # An end that is asked for meanwhile waits for the answers.
    budget = Budget(seconds=12.0, timeout_s=4.0)
    with suppress(PacelineError), BoundedClient(Target.parse(plan.endpoint), budget) as client:
        for name, info in PROTOCOLS.items():
            asked = Questions(client, core_observe, name, plan.served_name)
            if info.streams and asked.ask(streaming=True).answered:
                spoken.append(name)
    return tuple(spoken) or ("openai-chat", "openai-completions")


def _start(plan: LaunchPlan) -> "Start | None":
    from paceline.engines.profile import Start
    from paceline.measure.host import fingerprint

    if plan.facts is None:
        return None
    return Start(plan.adapter.name, plan.installed.version, plan.facts.fingerprint, fingerprint(), plan.tier)


def _say(text: str) -> None:
    """A reader of the talk that has gone must not end what serves."""
    with suppress(OSError):
        talk(text)


def _print(text: str) -> None:
    """Data for whoever reads stdout, who may have gone, as may the disk's room: what serves must not end."""
    try:
        print(text, flush=True)  # noqa: T201
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends what is being prepared as Ctrl-C does; the supervisor has its own way with both."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)

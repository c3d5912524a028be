"""From what the user asks for to what is started: all that can be wrong is found before anything runs."""

import errno
import re
import shlex
import socket
from dataclasses import replace
from pathlib import Path

from paceline.engines.adapters import adapter, find_engine
from paceline.engines.engine import (
    TIERS,
    Adapter,
    Address,
    Installed,
    Settings,
    TierSettings,
    in_command,
)
from paceline.engines.llama_cpp import LlamaCpp
from paceline.engines.llama_cpp_memory import check as check_memory
from paceline.engines.machine import Machine, look
from paceline.engines.plan import Asked, LaunchPlan
from paceline.engines.profile import Profile, Start, check_profile, find_profile, read_profile
from paceline.errors import ConfigError
from paceline.measure.host import fingerprint
from paceline.weights.model import ModelFacts, ModelFileError

YOU_SET_IT = "you set it"

_SPLIT_PART = re.compile(r"-\d{5}-of-\d{5}$")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ADDRESS_HINT = "give an address of this machine, as 127.0.0.1 or 0.0.0.0"
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+(:[\w.-]+)?")


def plan_launch(asked: Asked, *, home: Path | None = None, machine: Machine | None = None) -> LaunchPlan:
    """All that a start needs: the engine, the settings, a port, the command.

    The settings are those of the profile that was found or named for this engine, model, machine and tier,
    else the tier's own; the user's lie over them. `home`: Paceline's; `machine`: another than this one.

    Raises ConfigError for what is wrong in what was asked, for an engine that is not installed, for a port
    that is taken, and for `ultra` without a profile; UsageError where the memory cannot hold it;
    ModelFileError for a model whose files are missing, cut or not a model.
    """
    if asked.engine != "auto":
        adapter(asked.engine)
    if asked.tier not in TIERS:
        raise ConfigError(f"there is no tier {asked.tier!r}", f"tiers are: {', '.join(TIERS)}")
    here = machine or look()
    facts, model = _read(asked.model)
    one, installed = find_engine(asked.engine, asked.binary, asked.model, facts, machine=here, home=home)
    own = one.checked(installed, asked.settings or {})
    profile = None if asked.bare else _profile(asked, one, installed, facts, home)
    made = _made(asked, profile) or one.tier(asked.tier, facts, here, installed)
    settings = in_command({**made.values, **own})
    why = {**made.why, **dict.fromkeys(own, YOU_SET_IT)}
    needs = _needs(one, facts, settings, here)
    address = Address(asked.host, asked.port or _free_port(asked.host))
    if asked.port:
        _check_port(address)
    served_name = asked.served_name or _name(asked.model)
    return LaunchPlan(
        adapter=one,
        installed=installed,
        model=model,
        served_name=served_name,
        tier=asked.tier,
        address=address,
        settings=settings,
        why={name: text for name, text in why.items() if name in settings},
        command=one.command(installed, model, served_name, address, settings),
        facts=facts,
        needs_bytes=made.needs_bytes if needs is None else needs,
        profile=profile,
    )


def with_settings(plan: LaunchPlan, settings: Settings) -> LaunchPlan:
    """The same start with other settings in place of all that it had.

    Raises ConfigError and UsageError as `plan_launch` does for settings, and for what memory cannot hold.
    """
    standing = in_command(settings)
    needs = _needs(plan.adapter, plan.facts, standing, look())
    command = plan.adapter.command(plan.installed, plan.model, plan.served_name, plan.address, standing)
    why = {name: plan.why[name] for name in standing if standing[name] == plan.settings.get(name)}
    return replace(plan, settings=standing, why=why, command=command, needs_bytes=needs, profile=None)


def with_port(plan: LaunchPlan) -> LaunchPlan:
    """The same start on a port that is free now."""
    address = Address(plan.address.host, _free_port(plan.address.host))
    command = plan.adapter.command(plan.installed, plan.model, plan.served_name, address, plan.settings)
    return replace(plan, address=address, command=command)


def _needs(one: Adapter, facts: ModelFacts | None, settings: Settings, here: Machine) -> int | None:
    """Memory that a start takes by all its settings; None where that is not told. Raises UsageError.

    Of llama.cpp: others measure the GPUs' memory when they start, and take a share.
    """
    return check_memory(facts, settings, here) if facts is not None and isinstance(one, LlamaCpp) else None


def _read(model: str) -> tuple[ModelFacts | None, str]:
    """What the headers say, and what the engine is given: an absolute path, or the name as it is."""
    if _URL.match(model):
        # Not shown: it may hold a token.
        raise ConfigError(
            "the model is given by a URL, which no engine is started with",
            "download it, and give the path of its files; or give its name on a hub, as in org/model",
        )
    path = Path(model).expanduser()
    if not path.exists() and _HUB_NAME.fullmatch(model) and path.suffix.lower() != ".gguf":
        return None, model
    if not path.exists() and path.name == model and not path.suffix:
        raise ModelFileError(
            f"{model}: there is no such file or folder",
            "give the path of a GGUF file or of a folder of safetensors; or a name on a hub, as in org/model",
        )
    from paceline.weights.read import read_model

    facts = read_model(path)
    return facts, str((facts.files[0] if facts.format == "gguf" else path).absolute())


def _name(model: str) -> str:
    """What clients call the model: the name of its file or folder, or its name on a hub."""
    path = Path(model).expanduser()
    if not path.exists():
        return model
    return path.absolute().name if path.is_dir() else _SPLIT_PART.sub("", path.stem)


def _profile(
    asked: Asked, one: Adapter, installed: Installed, facts: ModelFacts | None, home: Path | None
) -> Profile | None:
    if facts is None:
        if asked.profile is not None:
            raise ConfigError(
                f"a profile is for a model whose files are here, and {asked.model} is a name",
                "give the path of the model's files",
            )
        return None
    start = Start(one.name, installed.version, facts.fingerprint, fingerprint(), asked.tier)
    profile = find_profile(start, home=home) if asked.use_profile else None
    if asked.profile is not None:
        profile = read_profile(asked.profile)
        check_profile(profile, start, asked.profile)
    if profile is not None:
        _check_options(profile, one, installed)
    return profile


def _check_options(profile: Profile, one: Adapter, installed: Installed) -> None:
    """A profile of a build whose version is not told may have options that this one lacks."""
    try:
        one.checked(installed, profile.settings)
    except ConfigError as error:
        raise ConfigError(
            f"the profile of {profile.made_at:%Y-%m-%d}, tuned for {profile.goal}: {error.message}",
            "tune again, or serve without it: --no-profile",
        ) from error


def _made(asked: Asked, profile: Profile | None) -> TierSettings | None:
    """Settings before the user's own, where they are not the tier's: none at all, or a profile's."""
    if asked.bare:
        return TierSettings({}, {})
    if profile is not None:
        return TierSettings(profile.settings, dict.fromkeys(profile.settings, f"tuned for {profile.goal}"))
    if asked.tier == "ultra":
        raise ConfigError(
            "the tier ultra is what the tuner found for this model on this machine, and there is no profile",
            f"run `paceline tune {shlex.quote(asked.model)} --tier ultra` first, or take --tier fast",
        )
    return None


def _free_port(host: str) -> int:
    return _bound(host, 0)


def _check_port(address: Address) -> None:
    if not 0 < address.port < 65536:
        raise ConfigError(f"there is no port {address.port}", "ports are 1 to 65535; 0 takes a free one")
    _bound(address.host, address.port)


def _bound(host: str, port: int) -> int:
    """Whether an engine could listen there, tried; the port, or the one that the system gave for 0."""
    try:
        found = socket.getaddrinfo(
            host.strip("[]") or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(found[0], found[1], found[2]) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(found[4])
            probe.listen(1)
            return int(probe.getsockname()[1])
    except UnicodeError:
        # Of a name that cannot be asked for: empty between dots, or longer than names may be.
        raise ConfigError(f"cannot listen on {host}: it is no name of a machine", _ADDRESS_HINT) from None
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}{f':{port}' if port else ''}: {error.strerror or error}",
            _port_hint(error),
        ) from None


def _port_hint(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "another server has that port (ss -ltnp shows which): stop it, or give another, or 0"
    if error.errno == errno.EACCES:
        return "ports below 1024 are root's: give a higher one, or 0 for a free one"
    return _ADDRESS_HINT

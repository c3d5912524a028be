"""What is to be started: an engine, a model, a tier's settings, an address."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from paceline.engines.engine import Adapter, Address, Command, Installed, Settings, Tier

if TYPE_CHECKING:
    from paceline.engines.profile import Profile
    from paceline.weights.model import ModelFacts


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """All that a start needs. model: a file, a folder, or a name that the engine resolves itself.

    facts: None where the model is not on this machine as files. why: of each setting, in a few words.
    profile: that the settings came from, if any.
    """

    adapter: Adapter
    installed: Installed
    model: str
    served_name: str
    tier: Tier
    address: Address
    settings: Settings
    why: dict[str, str]
    command: Command
    facts: "ModelFacts | None"
    needs_bytes: int | None
    profile: "Profile | None" = None

    @property
    def endpoint(self) -> str:
        """The base URL for clients."""
        return self.address.url + self.adapter.base_path

    @property
    def health_url(self) -> str:
        """Answers 200 when the engine is ready."""
        return self.address.url + self.adapter.health_path


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for. settings: options that override the tier's, native long names.

    bare: without a tier, at the engine's own defaults (but for `settings`): what the tuner compares with.
    use_profile: where none is named, take the one that was tuned for this start, if there is one.
    """

    model: str
    engine: str = "auto"
    tier: Tier = "standard"
    host: str = "127.0.0.1"
    port: int = 0
    served_name: str | None = None
    binary: Path | None = None
    settings: Settings | None = None
    profile: Path | None = None
    bare: bool = False
    use_profile: bool = True

import hashlib
import os
import subprocess
import sys
from importlib import metadata

import pytest

from paceline.errors import ConfigError
from paceline.workloads.capability.families import FAMILIES
from paceline.workloads.capability.items import PROMPT_END, Items, library_version
from paceline.workloads.capability.spec import ProbeSpec

# Without the puzzles whose making takes a tenth of a second each.
QUICK = tuple(name for name in FAMILIES if name != "zebra_puzzles")


def said(items: Items) -> list[tuple[str, str, str]]:
    made = [items.item(index) for index in range(len(items))]
    return [(item.family, item.prompt, str(item.entry["answer"])) for item in made]


def test_a_seed_makes_the_same_problems_again() -> None:
    spec = ProbeSpec(families=QUICK, items=44, seed=5)
    assert said(Items(spec)) == said(Items(spec))
    assert said(Items(spec)) != said(Items(spec.model_copy(update={"seed": 6})))


def test_another_process_makes_the_same_problems() -> None:
    code = (
        "import hashlib\n"
        "from paceline.workloads.capability.items import Items\n"
        "from paceline.workloads.capability.spec import ProbeSpec\n"
        "items = Items(ProbeSpec(items=12, seed=5))\n"
        "text = ''.join(items.item(k).prompt + str(items.item(k).entry['answer']) for k in range(12))\n"
        "print(items.config_sha256, hashlib.sha256(text.encode()).hexdigest())\n"
    )
    items = Items(ProbeSpec(items=12, seed=5))
    text = "".join(items.item(k).prompt + str(items.item(k).entry["answer"]) for k in range(12))
    mine = [items.config_sha256, hashlib.sha256(text.encode()).hexdigest()]
    # Sets in another order, as Python has them by chance in each process.
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert ran.stdout.decode().split() == mine


def test_seeds_that_lie_near_each_other_share_no_problems() -> None:
    prompts = [
        {prompt for _, prompt, _ in said(Items(ProbeSpec(families=("simple_equations",), items=50, seed=s)))}
        for s in (1, 2, 3)
    ]
    assert len(prompts[0] | prompts[1] | prompts[2]) == sum(map(len, prompts))


def test_a_longer_probe_begins_as_a_shorter_one_and_families_take_turns() -> None:
    short = said(Items(ProbeSpec(families=QUICK, items=13, seed=9)))
    long = said(Items(ProbeSpec(families=QUICK, items=30, seed=9)))
    assert long[:13] == short
    assert tuple(family for family, _, _ in long[: len(QUICK)]) == QUICK


def test_without_a_seed_a_fresh_one_is_drawn_and_kept() -> None:
    one, two = Items(ProbeSpec(families=("products",))), Items(ProbeSpec(families=("products",)))
    assert one.pinned.seed is not None
    assert one.pinned.seed != two.pinned.seed
    assert said(Items(one.pinned)) == said(one)


def test_a_prompt_ends_with_the_form_of_the_answer() -> None:
    item = Items(ProbeSpec(families=("products",), seed=1)).item(0)
    assert item.prompt.endswith(PROMPT_END)
    assert item.prompt.startswith(str(item.entry["question"]).strip())


def test_the_record_pins_the_library_and_the_settings() -> None:
    pinned = Items(ProbeSpec(families=("products",), seed=1)).pinned
    assert pinned.library == f"reasoning-gym {metadata.version('reasoning-gym')}"
    assert pinned.config_sha256 is not None
    assert Items(ProbeSpec(families=("leg_counting",), seed=1)).config_sha256 != pinned.config_sha256
    assert Items(ProbeSpec(families=("products",), seed=2)).config_sha256 == pinned.config_sha256


def test_another_library_or_other_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"begun with reasoning-gym 0\.0\.1") as refused:
        Items(ProbeSpec(seed=1, library="reasoning-gym 0.0.1"))
    assert refused.value.hint == "install it again: pip install 'reasoning-gym==0.0.1'"
    with pytest.raises(ConfigError, match="asks its problems otherwise"):
        Items(ProbeSpec(seed=1, config_sha256="0" * 64))


def test_without_the_library_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(ConfigError, match="not installed") as refused:
        library_version()
    assert refused.value.hint == "install it: pip install 'paceline[capability]'"

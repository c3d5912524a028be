"""Greedy answers of a tier beside those of `standard`: once a pair of settings, and kept.

One engine runs at a time, since a GPU holds only one; both are asked the same prompts, each twice, at
temperature 0. What a side does not repeat of itself is no difference between the two.
"""

import hashlib
import json
import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from paceline.advisor.answers import Answer, answers_of
from paceline.advisor.equivalence_runs import equivalence_of
from paceline.engines.chat import has_chat_template
from paceline.engines.engine import EngineName
from paceline.engines.plan import LaunchPlan
from paceline.engines.profile import Sameness
from paceline.engines.run import running
from paceline.errors import EndpointError, RunError, StoreError
from paceline.measure import driver
from paceline.measure.equivalence import equivalence_job
from paceline.measure.interrupts import AtOnce
from paceline.measure.job import Job, Prepared, prepare
from paceline.measure.live_stats import Snapshot
from paceline.measure.load_spec import Closed, LoadPlan
from paceline.protocols import Protocol
from paceline.stats.divergence import Words, common_pieces
from paceline.store.atomic import make_folder, write_text
from paceline.store.runs import StoredRun, open_run
from paceline.whole_file import read_whole
from paceline.workloads.spec import WorkloadSpec

SCHEMA = "paceline.sameness/1"
PROMPTS = 16
OUTPUT_TOKENS = 128
_PROMPT_TOKENS = 120
_PASSES = 2
_SEED = 1
# An engine on a few cores takes its time, and nobody waits for these answers.
_TIMEOUT_NS = 240_000_000_000
_MOST_BYTES = 1_000_000
_READER = TypeAdapter(Sameness)
# A prompt that is found in a cache is computed otherwise than one that is read, and near-ties then fall
# otherwise: that would look like a side that does not repeat itself.
_WITHOUT_CACHE: Mapping[EngineName, Mapping[str, Any]] = {"llama.cpp": {"cache_prompt": False}}
# How much room there is, which follows what happens to be free at a start, and changes no answer that fits.
_ROOM = frozenset(
    {
        *("ctx-size", "cache-ram"),
        *("max-model-len", "gpu-memory-utilization", "kv-cache-memory-bytes"),
        *("context-length", "mem-fraction-static"),
    }
)


@dataclass(frozen=True, slots=True)
class Counted:
    """Answers of two sides, prompt by prompt.

    compared: with two answers from each side. differing: where each side repeats itself, and they differ.
    unrepeated: where a side does not repeat itself, so that a difference says nothing; unrepeated_by_b: those
    of them where it is (also) the second. at: words in common before the first difference, of each that
    differs, ascending.
    """

    compared: int
    differing: int
    unrepeated: int
    unrepeated_by_b: int
    at: tuple[int, ...]


def sameness(
    standard: LaunchPlan,
    tier: LaunchPlan,
    *,
    home: Path,
    prompts: int = PROMPTS,
    output_tokens: int = OUTPUT_TOKENS,
    watch: Callable[[str], None] = lambda _: None,
    progress: driver.Watcher = lambda _: None,
) -> Sameness:
    """Ask both sides the same, one engine after the other, and count the answers that differ.

    Kept in `home` by engine, version, model and both settings, so that the same pair is asked once. watch: is
    told what goes on, in sentences; progress: of the requests. The runs lie in a home of their own, `home`
    / `sameness`: no board shows them.

    Raises EngineError where an engine does not come up, RunError where answers cannot be compared,
    StoreError, KeyboardInterrupt when it is told to end.
    """
    own = home / "sameness"
    key = _key(standard, tier, prompts, output_tokens)
    found = _kept(own, key)
    if found is not None:
        return found
    sides: list[StoredRun] = []
    protocol: Protocol | None = None
    for label, plan in (("standard", standard), (tier.tier, tier)):
        watch(f"greedy answers of {label}: starting {plan.adapter.name}")
        log = own / "logs" / f"{plan.served_name.replace('/', '-')}-{label}.log"
        make_folder(log.parent)
        with running(plan, log=log, watch=watch) as engine:
            prepared = _prepared(plan, engine.endpoint, protocol, prompts, output_tokens)
            protocol = prepared.target.protocol
            watch(f"greedy answers of {label}: {prompts} prompts, each twice")
            sides.append(_asked(prepared, own, progress))
    result = _judged(sides[0], sides[1], standard)
    _keep(own, key, result)
    return result


def kept_sameness(
    standard: LaunchPlan,
    tier: LaunchPlan,
    *,
    home: Path,
    prompts: int = PROMPTS,
    output_tokens: int = OUTPUT_TOKENS,
) -> Sameness | None:
    """What `sameness` found of this pair before; None: it would ask. Never fails."""
    return _kept(home / "sameness", _key(standard, tier, prompts, output_tokens))


def count(a: Mapping[str, list[Answer]], b: Mapping[str, list[Answer]]) -> Counted:
    """Of answers by prompt, two from each side."""
    compared = unrepeated = by_b = 0
    at = []
    for prompt in a:
        sides = [[one for one in side.get(prompt, []) if one.kind != "failed"][:_PASSES] for side in (a, b)]
        if min(map(len, sides)) < _PASSES:
            continue
        compared += 1
        texts = [[one.text for one in side] for side in sides]
        if any(len(set(side)) > 1 for side in texts):
            unrepeated += 1
            by_b += len(set(texts[1])) > 1
        elif texts[0][0] != texts[1][0]:
            at.append(common_pieces(texts[0][0], texts[1][0], Words()))
    return Counted(compared, len(at), unrepeated, by_b, tuple(sorted(at)))


def _judged(a: StoredRun, b: StoredRun, standard: LaunchPlan) -> Sameness:
    counted = count(answers_of(a).by_prompt, answers_of(b).by_prompt)
    if not counted.compared:
        raise RunError(
            "no prompt was answered twice by both sides, so that nothing can be compared",
            "ask it yourself what it answers; --no-check serves it all the same",
        )
    return Sameness(
        verdict=equivalence_of(a, b).verdict,
        prompts=counted.compared,
        differing=counted.differing,
        first_difference=float(statistics.median(counted.at)) if counted.at else None,
        unit="words",
        run_ids=(a.id, b.id),
        against=dict(standard.settings),
        unrepeated=counted.unrepeated,
        unrepeated_by_tier=counted.unrepeated_by_b,
    )


def _prepared(
    plan: LaunchPlan, endpoint: str, protocol: Protocol | None, prompts: int, output_tokens: int
) -> Prepared:
    """The prompts for an engine that answers. protocol: the other side's, so that both are asked alike."""
    if protocol is None and plan.facts is not None:
        protocol = "openai-chat" if has_chat_template(plan.facts) else "openai-completions"
    job = equivalence_job(_job(plan, endpoint, protocol or "openai-chat", prompts, output_tokens))
    try:
        return prepare(job)
    except EndpointError:
        if protocol is not None:
            raise
        # A model by its name alone: the server knows whether it has a chat template.
        return prepare(replace(job, protocol="openai-completions"))


def _job(plan: LaunchPlan, endpoint: str, protocol: Protocol, prompts: int, output_tokens: int) -> Job:
    workload = WorkloadSpec.parse(
        {
            "name": "sameness",
            "prompt_tokens": str(_PROMPT_TOKENS),
            "output_tokens": str(output_tokens),
            "max_tokens": output_tokens,
            "temperature": 0,
            "unique_prefix": False,
            "seed": _SEED,
            "extra": _WITHOUT_CACHE.get(plan.adapter.name, {}),
            "equivalence": {"texts": prompts, "passes": _PASSES},
        },
        "sameness",
    )
    load = LoadPlan(arrival=Closed(concurrency=1), timeout_ns=_TIMEOUT_NS)
    return Job(url=endpoint, workload=workload, load=load, model=plan.served_name, protocol=protocol)


def _asked(prepared: Prepared, own: Path, progress: Callable[[Snapshot], None]) -> StoredRun:
    result = driver.measure(prepared, watch=progress, home=own, interrupts=AtOnce())
    if result.store_error is not None:
        raise result.store_error
    if result.state == "interrupted":
        raise KeyboardInterrupt
    return open_run(result.run_id, at=own)


def _key(standard: LaunchPlan, tier: LaunchPlan, prompts: int, output_tokens: int) -> dict[str, Any]:
    """What must be the same for an earlier finding to hold."""
    return {
        "engine": tier.adapter.name,
        "engine_version": tier.installed.version,
        "model": tier.model if tier.facts is None else tier.facts.fingerprint,
        **{
            side: {name: value for name, value in sorted(plan.settings.items()) if name not in _ROOM}
            for side, plan in (("standard", standard), ("tier", tier))
        },
        "prompts": prompts,
        "output_tokens": output_tokens,
    }


def _file(own: Path, key: Mapping[str, Any]) -> Path:
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return own / f"{digest[:16]}.json"


def _kept(own: Path, key: Mapping[str, Any]) -> Sameness | None:
    try:
        data = json.loads(read_whole(_file(own, key), _MOST_BYTES))
        if data["schema"] != SCHEMA or data["key"] != key:
            return None
        return _READER.validate_python(data["found"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
        return None


def _keep(own: Path, key: Mapping[str, Any], found: Sameness) -> None:
    document = {"schema": SCHEMA, "key": key, "found": asdict(found)}
    try:
        make_folder(own)
        write_text(_file(own, key), json.dumps(document, indent=2) + "\n")
    except StoreError:
        # It is asked again at the next start: nothing is lost but time.
        return

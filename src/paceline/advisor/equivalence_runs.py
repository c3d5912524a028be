"""From two stored runs to whether they come from one model."""

from paceline.advisor.answers import answers_of
from paceline.advisor.equivalence import EXAMPLES, Equivalence, Limits, judge
from paceline.advisor.equivalence_scores import solved_of
from paceline.advisor.equivalence_speed import first_pass_speed
from paceline.advisor.prompts import prompts_of
from paceline.errors import ConfigError
from paceline.report.differences import interleaved
from paceline.report.model import Report, build_report
from paceline.stats.divergence import Pieces, Words
from paceline.store.manifest import RunManifest
from paceline.store.runs import StoredRun
from paceline.workloads.tokenizer import LocalTokenizer, load_tokenizer


def equivalence_of(
    a: StoredRun,
    b: StoredRun,
    *,
    limits: Limits | None = None,
    tokenizer: str | None = None,
    examples: int = EXAMPLES,
    reports: tuple[Report, Report] | None = None,
) -> Equivalence:
    """Hold the answers of two runs to the same prompts against each other; speed comes with it.

    `tokenizer`: counts tokens before the first difference, else words are counted; None: the runs' own.
    `reports`: of the two, where they have been made. Raises ConfigError where a run kept no texts, where no
    prompt was asked of both, or a tokenizer that was named is not here; StoreError for a damaged run.
    """
    sides = answers_of(a), answers_of(b)
    if not set(sides[0].by_prompt) & set(sides[1].by_prompt):
        raise ConfigError(
            f"runs {a.id} and {b.id} have no prompt in common",
            "ask both the same: paceline equivalent URL URL; `measure` asks again what --seed and --salt say",
        )
    pieces, unit = _pieces(tokenizer or a.manifest.workload.get("tokenizer"), named=tokenizer is not None)
    solved = tuple(map(solved_of, sides))
    made = reports or (build_report(a), build_report(b))
    found = judge(
        *sides,
        limits=limits,
        pieces=pieces,
        unit=unit,
        solved=None if solved[0] is None or solved[1] is None else (solved[0], solved[1]),
        examples=examples,
        notes=_notes(*made),
    )
    asked = {one.index: one.prompt_sha256 for one in found.examples}
    found = found.with_prompts(prompts_of(a, asked) if asked else {})
    return found.with_speed(first_pass_speed((made[0], sides[0]), (made[1], sides[1])))


def _pieces(tokenizer: str | None, *, named: bool) -> tuple[Pieces, str]:
    """A run's own tokenizer may not be on this machine: words then do."""
    try:
        counter = load_tokenizer(tokenizer)
    except ConfigError:
        if named:
            raise
        return Words(), "words"
    return (counter, "tokens") if isinstance(counter, LocalTokenizer) else (Words(), "words")


def _notes(a: Report, b: Report) -> list[str]:
    found = []
    for letter, report in (("A", a), ("B", b)):
        if report.trust.verdict == "invalid":
            found.append(f"run {letter} is invalid: {'; '.join(map(str, report.trust.reasons[:2]))}")
    for letter, manifest in (("A", a.manifest), ("B", b.manifest)):
        warmth = manifest.workload.get("temperature")
        if warmth != 0:
            sampled = "no temperature was sent" if warmth is None else f"the temperature was {warmth:g}"
            found.append(f"{letter}: {sampled}, so that answers may be sampled, and not repeat themselves")
    for key in ("system", "temperature", "max_tokens"):
        if a.manifest.workload.get(key) != b.manifest.workload.get(key):
            found.append(f"A and B were not asked alike: {key.replace('_', ' ')} differs")
    if not interleaved(a, b):
        found.append("not measured in turn: what changed between the two runs counts as a difference")
    elif _one_server(a.manifest, b.manifest):
        found.append(
            "A and B are one host: a cache that both use helps whichever is asked second, now A and now B"
        )
    return found


def _one_server(a: RunManifest, b: RunManifest) -> bool:
    from urllib.parse import urlsplit

    return urlsplit(a.endpoint).netloc == urlsplit(b.endpoint).netloc

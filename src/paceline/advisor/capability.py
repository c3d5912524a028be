"""What is known of a model's capability: own probes of an offer, and scores that were imported."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paceline.advisor.digest import Digest
from paceline.advisor.figures import Figure
from paceline.advisor.identity import KnownOffer, OfferKey, offer_of
from paceline.stats.binomial import exact_share, stratified_share
from paceline.store.scores import PROBE, ImportedScore, imported_scores

_Z = 1.959963984540054


@dataclass(frozen=True)
class ProbeScore:
    """The scores of one probe of an offer: `paceline.capability/1` of a run."""

    key: OfferKey
    run_id: str
    document: Mapping[str, Any]


@dataclass(frozen=True)
class AllScores:
    """probes: the oldest first. imported: in the order in which they were imported. problems: in words."""

    probes: tuple[ProbeScore, ...]
    imported: tuple[ImportedScore, ...]
    problems: tuple[str, ...] = ()

    @property
    def benchmarks(self) -> tuple[str, ...]:
        """Names of all benchmarks that there are scores of; the probe first."""
        own = (PROBE,) if self.probes else ()
        return own + tuple(sorted({one.benchmark for one in self.imported} - {PROBE}))


def all_scores(
    digests: Iterable[Digest], known: Sequence[KnownOffer] = (), *, at: Path | None = None
) -> AllScores:
    """Scores of the runs whose digests these are, and those imported into the home `at`."""
    probes = tuple(
        ProbeScore(offer_of(one, known), one.run_id, one.capability)
        for one in digests
        if one.capability is not None
    )
    imported, damaged = imported_scores(at)
    return AllScores(probes, tuple(imported), tuple(f"{one.path}: {one.why}" for one in damaged))


def capability_of(scores: AllScores, key: OfferKey, benchmark: str = PROBE) -> Figure:
    """The share of the benchmark's items that an offer solves, with its 95 % interval.

    The offer's own probes of one version, asked in one way, are added up: those like the latest, and of each
    seed one. Else an imported score: of the offer, else of the model, whoever serves it, and the note says
    so. Without either there is no value, and the note says what to do.
    """
    if benchmark == PROBE:
        mine = [one for one in scores.probes if one.key == key]
        if mine:
            return _of_probes(mine)
    return _of_imports(scores.imported, key, benchmark)


def _of_probes(probes: Sequence[ProbeScore]) -> Figure:
    latest = _asked(probes[-1].document)
    alike = [one.document for one in probes if _asked(one.document) == latest]
    # The same problems asked twice are not twice as many: of a seed the run that got most of them answered.
    by_seed: dict[Any, Mapping[str, Any]] = {}
    for document in alike:
        before = by_seed.get(document["seed"])
        if before is None or document["total"]["n"] >= before["total"]["n"]:
            by_seed[document["seed"]] = document
    added = list(by_seed.values())
    counts: dict[str, list[int]] = {}
    for document in added:
        for name, one in document["families"].items():
            family = counts.setdefault(name, [0, 0])
            family[0] += one["solved"]
            family[1] += one["n"]
    n = sum(one[1] for one in counts.values())
    if not n:
        return Figure(None, note="every request of its probe failed: run it again")
    found = stratified_share([(solved, answered) for solved, answered in counts.values()])
    return Figure(
        found.value,
        found.lo,
        found.hi,
        n,
        note=_probe_note(added, counts, n, repeats=len(alike) - len(added), others=len(probes) - len(alike)),
    )


def _probe_note(
    added: Sequence[Mapping[str, Any]],
    counts: Mapping[str, Sequence[int]],
    n: int,
    *,
    repeats: int,
    others: int,
) -> str:
    runs = f", {len(added)} runs" if len(added) > 1 else ""
    parts = [f"probe {added[-1]['version']}, {n} items{runs}"]
    failed, missing = (sum(int(one.get(name) or 0) for one in added) for name in ("failed", "missing"))
    if failed:
        parts.append(f"{failed} items whose request failed are not in it")
    if missing:
        parts.append(f"{missing} items were not asked")
    if empty := [name for name, one in counts.items() if not one[1]]:
        parts.append(f"nothing is known of {', '.join(empty)}")
    if repeats:
        parts.append(f"{repeats} runs that asked the same problems again are left out")
    if others:
        parts.append(f"{others} probes of other families or settings are left out")
    return "; ".join(parts)


def _asked(document: Mapping[str, Any]) -> tuple[str, str]:
    """What has to be equal for scores to be of one thing."""
    return str(document["version"]), repr(sorted((document.get("asked") or {}).items()))


def _of_imports(imported: Sequence[ImportedScore], key: OfferKey, benchmark: str) -> Figure:
    fitting = [one for one in imported if one.benchmark == benchmark and _is_of(one, key)]
    if not fitting:
        return Figure(None, note=_unknown(benchmark))
    return _of_import(max(enumerate(fitting), key=lambda one: (_closeness(one[1]), one[1].date, one[0]))[1])


def _of_import(own: ImportedScore) -> Figure:
    notes = [f"{own.benchmark} {own.version} of {own.date}"]
    if own.source:
        notes.append(f"by {own.source}")
    if own.provider is None or own.tier is None:
        notes.append("of the model, whoever serves it" if own.provider is None else "of all its tiers")
    if own.solved is not None and own.n is not None:
        found = exact_share(own.solved, own.n)
        return Figure(found.value, found.lo, found.hi, own.n, note="; ".join(notes))
    if own.stderr is not None:
        notes.append("interval by its stated standard error")
        lo, hi = (min(max(own.score + sign * _Z * own.stderr, 0.0), 1.0) for sign in (-1, 1))
        return Figure(own.score, lo, hi, own.n or 0, note="; ".join(notes))
    notes.append("without an interval: the number of items is not known")
    return Figure(own.score, n=0, note="; ".join(notes))


def _is_of(score: ImportedScore, key: OfferKey) -> bool:
    return (
        score.model == key.model and score.provider in (None, key.provider) and score.tier in (None, key.tier)
    )


def _closeness(score: ImportedScore) -> int:
    return (score.provider is not None) + (score.tier is not None)


def _unknown(benchmark: str) -> str:
    if benchmark == PROBE:
        return "not probed: paceline capability run URL --model M"
    return f"no score of {benchmark}: paceline capability import FILE"


def listed(scores: AllScores) -> list[dict[str, Any]]:
    """All that is known, as plain data: a row an offer that was probed, then one an imported score.

    Keys: benchmark, version, date, model, provider, tier, share, lo, hi, n, note.
    """
    rows = []
    for key in sorted({one.key for one in scores.probes}):
        latest = [one.document for one in scores.probes if one.key == key][-1]
        rows.append(_listed(capability_of(scores, key), PROBE, latest["version"], latest["at"][:10], key))
    for one in scores.imported:
        key = OfferKey(one.model, one.provider or "", one.tier or "")
        rows.append(_listed(_of_import(one), one.benchmark, one.version, one.date, key))
    return rows


def _listed(figure: Figure, benchmark: str, version: str, date: str, key: OfferKey) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "version": version,
        "date": date,
        "model": key.model,
        "provider": key.provider or None,
        "tier": key.tier or None,
        "share": figure.value,
        "lo": figure.lo,
        "hi": figure.hi,
        "n": figure.n or None,
        "note": figure.note,
    }

import json
from pathlib import Path
from typing import Any

import pytest

from paceline.advisor.capability import AllScores, all_scores, capability_of, listed
from paceline.advisor.digest import Digest
from paceline.advisor.identity import KnownOffer, OfferKey, workload_key
from paceline.stats.binomial import exact_share
from paceline.store.scores import ImportedScore, save_scores, scores_folder
from tests.advisor.samples import digest

KEY = OfferKey("tiny", "acme")


def probe(counts: dict[str, tuple[int, int]], seed: int = 1, **fields: Any) -> dict[str, Any]:
    n = sum(one for _, one in counts.values())
    return {
        "schema": "paceline.capability/1",
        "version": "reasoning-gym 0.1.25 abc",
        "seed": seed,
        "at": "2026-11-30T07:00:00+00:00",
        "items": n,
        "missing": 0,
        "failed": 0,
        "asked": {"max_tokens": 4096},
        "families": {name: {"solved": solved, "n": n} for name, (solved, n) in counts.items()},
        "total": {"n": n},
        **fields,
    }


def runs(*documents: dict[str, Any], **fields: Any) -> list[Digest]:
    return [digest(5, run_id=f"r{place}", capability=one, **fields) for place, one in enumerate(documents)]


def scores(*documents: dict[str, Any], at: Path, **fields: Any) -> AllScores:
    return all_scores(runs(*documents, **fields), at=at)


def test_the_share_and_the_exact_interval_of_one_probe(tmp_path: Path) -> None:
    found = capability_of(scores(probe({"a": (6, 10), "b": (9, 10)}), at=tmp_path), KEY)
    exact = exact_share(15, 20)
    assert (found.value, found.n) == (0.75, 20)
    assert (found.lo, found.hi) == pytest.approx((exact.lo, exact.hi))
    assert found.note == "probe reasoning-gym 0.1.25 abc, 20 items"


def test_probes_of_other_problems_are_added_up(tmp_path: Path) -> None:
    documents = probe({"a": (6, 10), "b": (9, 10)}, seed=1), probe({"a": (4, 10), "b": (7, 10)}, seed=2)
    found = capability_of(scores(*documents, at=tmp_path), KEY)
    assert (found.value, found.n) == (0.65, 40)
    assert (found.lo, found.hi) == pytest.approx((exact_share(26, 40).lo, exact_share(26, 40).hi))
    assert found.note == "probe reasoning-gym 0.1.25 abc, 40 items, 2 runs"


def test_the_same_problems_asked_again_are_no_further_evidence(tmp_path: Path) -> None:
    documents = probe({"a": (6, 10)}), probe({"a": (7, 10)}), probe({"a": (1, 2)})
    found = capability_of(scores(*documents, at=tmp_path), KEY)
    assert (found.value, found.n) == (0.7, 10)
    assert found.note is not None
    assert "2 runs that asked the same problems again are left out" in found.note


def test_only_what_was_asked_as_the_latest_was_counts(tmp_path: Path) -> None:
    documents = (
        probe({"a": (0, 10)}, version="reasoning-gym 0.1.24 abc"),
        probe({"a": (1, 10)}, seed=3, asked={"max_tokens": 64}),
        probe({"a": (9, 10)}, seed=2),
    )
    found = capability_of(scores(*documents, at=tmp_path), KEY)
    assert (found.value, found.n) == (0.9, 10)
    assert found.note is not None
    assert "2 probes of other families or settings are left out" in found.note


def test_what_a_probe_does_not_cover_is_said(tmp_path: Path) -> None:
    document = probe({"a": (6, 10), "b": (0, 0)}, failed=5, missing=3)
    found = capability_of(scores(document, at=tmp_path), KEY)
    assert found.value == 0.6
    assert found.note == (
        "probe reasoning-gym 0.1.25 abc, 10 items; 5 items whose request failed are not in it; "
        "3 items were not asked; nothing is known of b"
    )
    nothing = capability_of(scores(probe({"a": (0, 0)}, failed=5), at=tmp_path), KEY)
    assert nothing.value is None
    assert nothing.note == "every request of its probe failed: run it again"


def test_a_probe_is_of_its_offer_alone(tmp_path: Path) -> None:
    found = scores(probe({"a": (6, 10)}), at=tmp_path, tier="fast")
    assert capability_of(found, KEY).value is None
    assert capability_of(found, OfferKey("tiny", "acme", "fast")).value == 0.6
    assert capability_of(found, KEY).note == "not probed: paceline capability run URL --model M"
    known = KnownOffer("x", OfferKey("big", "host"), "http://127.0.0.1:9000/v1", "tiny", {})
    mine = all_scores(runs(probe({"a": (6, 10)}), provider=None, tier=None), [known], at=tmp_path)
    assert capability_of(mine, OfferKey("big", "host")).value == 0.6


def kept(home: Path, *imported: ImportedScore) -> AllScores:
    save_scores(imported, {"file": "f.csv", "format": "csv"}, home)
    return all_scores([], at=home)


GSM = ImportedScore("tiny", "gsm8k", "3", "2026-10-01", 0.75, solved=75, n=100, source="lm-eval 0.4.9")


def test_an_imported_score_of_known_items_has_the_exact_interval(tmp_path: Path) -> None:
    found = capability_of(kept(tmp_path, GSM), KEY, "gsm8k")
    assert (found.value, found.lo, found.hi, found.n) == (
        0.75,
        exact_share(75, 100).lo,
        exact_share(75, 100).hi,
        100,
    )
    assert found.note == "gsm8k 3 of 2026-10-01; by lm-eval 0.4.9; of the model, whoever serves it"


def test_without_counts_the_stated_error_gives_the_interval_or_there_is_none(tmp_path: Path) -> None:
    stated = ImportedScore("tiny", "f1", "1", "2026-10-01", 0.6, stderr=0.1)
    bare = ImportedScore("tiny", "arena", "1", "2026-10-01", 0.6)
    found = kept(tmp_path, stated, bare)
    one = capability_of(found, KEY, "f1")
    assert (one.lo, one.hi) == pytest.approx((0.6 - 0.196, 0.6 + 0.196), abs=1e-4)
    assert one.note is not None
    assert "interval by its stated standard error" in one.note
    two = capability_of(found, KEY, "arena")
    assert (two.value, two.lo, two.hi, two.known) == (0.6, None, None, False)
    assert two.note is not None
    assert "without an interval: the number of items is not known" in two.note


def test_the_offers_own_score_goes_before_the_models_and_a_later_one_before_an_earlier(
    tmp_path: Path,
) -> None:
    own = ImportedScore(
        "tiny", "gsm8k", "3", "2026-01-01", 0.5, solved=1, n=2, provider="acme", tier="standard"
    )
    later = ImportedScore("tiny", "gsm8k", "3", "2026-11-01", 0.25, solved=1, n=4)
    other = ImportedScore("tiny", "gsm8k", "3", "2026-11-20", 0.0, solved=0, n=4, provider="else")
    found = kept(tmp_path, GSM, own, later, other)
    assert capability_of(found, KEY, "gsm8k").value == 0.5
    assert capability_of(found, OfferKey("tiny", "third"), "gsm8k").value == 0.25
    assert capability_of(found, OfferKey("tiny", "else", "fast"), "gsm8k").value == 0.0
    missing = capability_of(found, OfferKey("big", "acme"), "gsm8k")
    assert (missing.value, missing.note) == (None, "no score of gsm8k: paceline capability import FILE")


def test_all_scores_are_listed_and_a_damaged_file_is_said(tmp_path: Path) -> None:
    save_scores([GSM], {"file": "f.csv", "format": "csv"}, tmp_path)
    (scores_folder(tmp_path) / "bad.json").write_text("{")
    found = scores(probe({"a": (6, 10)}), at=tmp_path)
    assert found.benchmarks == ("probe", "gsm8k")
    assert len(found.problems) == 1
    assert "bad.json" in found.problems[0]
    rows = listed(found)
    assert [(row["benchmark"], row["model"], row["provider"], row["n"]) for row in rows] == [
        ("probe", "tiny", "acme", 10),
        ("gsm8k", "tiny", None, 100),
    ]
    json.dumps(rows, allow_nan=False)


def test_fresh_problems_of_the_same_kinds_are_the_same_work() -> None:
    def of(**probe: Any) -> str:
        return workload_key({"name": "probe", "max_tokens": 9, "probe": {"families": ["a"], **probe}})

    assert of(seed=1, items=10) == of(seed=2, items=99)
    assert of(seed=1, library="x") != of(seed=1, library="y")

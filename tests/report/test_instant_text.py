import json

import numpy as np

from paceline.advisor.instant import instant
from paceline.report.instant_text import instant_json, instant_text, seconds, verdict_words
from tests.advisor.samples import evidence


def test_a_verdict_in_words() -> None:
    read, _, _, wait = instant(evidence(400))
    assert verdict_words(read) == (
        "Fluent. The answer begins within 200 ms (200 ms to 200 ms) in 95 of 100. "
        "400 of 400 came within 1 s: up to here the train of thought is kept. "
        "Text comes at 9.45 times the pace of reading. The longest gap is up to 25 ms in 95 of 100."
    )
    assert "Slow. The answer is whole within 2.18 s" in verdict_words(wait)


def test_what_is_missing_is_said() -> None:
    few = instant(evidence(12), ["read"])[0]
    assert "more requests may settle it" in verdict_words(few)
    slow = instant(evidence(400, sample={"output_tok_s": np.where(np.arange(400) % 4, 50.0, 3.0)}), ["read"])
    assert "25 of 100 fall behind" in verdict_words(slow[0])
    none = instant(evidence(5, sample={"outcome": 2.0}), ["listen"])[0]
    assert verdict_words(none) == "No request ended well, so there is nothing to feel."


def test_the_page_fits_a_terminal_and_names_its_sources() -> None:
    one = evidence(400, model="evil\x1b[2Jname" * 9)
    text = instant_text([(one, instant(one))])
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    assert "Brysbaert" in text
    assert "Doherty" in text


def test_as_json() -> None:
    one = evidence(400)
    document = json.loads(instant_json([(one, instant(one))]))
    assert document["schema"] == "paceline.instant/1"
    offer = document["offers"][0]
    assert (offer["model"], offer["provider"], offer["tier"]) == ("tiny", "acme", "standard")
    modes = {verdict["mode"]: verdict for verdict in offer["verdicts"]}
    assert modes["read"]["usable_p95_ms"]["value"] == 200
    assert modes["read"]["limit"]["ms"] == 1000
    assert modes["wait"]["pace_share"] is None


def test_times_in_words() -> None:
    assert [seconds(ms) for ms in (85, 999.4, 999.6, 1234, 65_000)] == [
        "85 ms",
        "999 ms",
        "1 s",
        "1.23 s",
        "65 s",
    ]

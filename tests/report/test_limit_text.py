"""What the terminal says of a limit."""

from dataclasses import replace

import numpy as np
import pytest

from paceline.report.limit_text import limit_text
from paceline.report.limit_words import bytes_rate, operations_rate
from paceline.roofline.limit import Asked, Limit, find_limit
from paceline.roofline.reached import Drafts
from tests.roofline.samples import facts, rates
from tests.roofline.test_reached import observed

ASKED = Asked(context_tokens=1024, streams=(1, 4, 16))


def text_of(limit: Limit) -> str:
    text = limit_text(limit)
    assert max(len(line) for line in text.splitlines()) <= 80
    return text


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_model_the_machine_and_the_limits() -> None:
    """8.60 MB at 20 GB/s are 0.43 ms: 2,325 tok/s; 7.55 MB of it are weights, a row, and KV written."""
    text = text_of(find_limit(facts(), rates(20e9, 400e9), ASKED))
    assert "tiny (llama), 4.80 M parameters of 16.0 bits" in text
    assert "reads 8.21 MiB (weights 7.21 MiB, KV in f16 1.00 MiB)" in one_line(text)
    assert "The machine, as stated: reads 20.0 GB/s, computes 400 Gop/s in bf16." in text
    assert "      1       2,325     2,325   430 us  memory" in text
    assert "      4       1,701     6,805   588 us  memory" in text
    assert "     50%        8           2.00   4,631   1.99  memory" in text
    assert "drafts that cost nothing (n-grams)" in text
    assert "TTFT no less than 19.5 ms (52,603 tok/s), limited by arithmetic." in one_line(text)


def test_a_measured_machine_shows_its_kernels_and_its_cache() -> None:
    machine = replace(
        rates(20e9, 400e9, cache_bytes=1 << 20), source="measured", device="cpu", threads=2,
        by_kernel={"read": 20e9, "copy": 15e9}, name="Test 9000", spread={"read": (18e9, 20e9)},
        notes=("bf16 by plain loops", "int8 by magic", "copy: odd"), disturbed=True,
    )  # fmt: skip
    text = one_line(text_of(find_limit(facts(), machine, ASKED)))
    assert "This machine's cpu Test 9000, 2 threads, measured on 2026-11-30: reads 20.0 GB/s (repeats" in text
    assert "(repeats from 18.0 GB/s to 20.0 GB/s), computes 400 Gop/s in bf16." in text
    assert "Memory otherwise: copy 15.0 GB/s." in text
    assert "Note: bf16 by plain loops." in text
    assert "magic" not in text
    assert "odd" not in text
    assert "Other work disturbed the measurement" in text
    assert "What its cache of 1.00 MiB may keep" in text


def test_an_unknown_arithmetic_rate_is_said_and_nothing_is_made_up() -> None:
    text = text_of(find_limit(facts(), rates(20e9, None), ASKED))
    assert "memory alone" in text
    assert "arithmetic rate in bf16 is not known" in one_line(text)
    assert "ACCEPTED" not in text
    assert "TTFT no less than 483 us, limited by memory alone." in one_line(text)


def test_shares_of_a_disturbed_measurement_are_marked() -> None:
    machine = replace(rates(20e9, 400e9), disturbed=True)
    text = one_line(text_of(find_limit(facts(), machine, ASKED, observed=[observed(2000.0)])))
    assert "so that true shares are lower than these." in text


def test_a_lower_bound_of_the_rate_limits_nothing() -> None:
    text = one_line(text_of(find_limit(facts(), replace(rates(20e9, 4e9), at_least=("bf16",)), ASKED)))
    assert "computes at least 4.00 Gop/s in bf16" in text
    assert "is 4.00 Gop/s or more, by how much is not known" in text
    assert "430 us memory alone" in text


def test_an_acceptance_stands_beside_the_streams() -> None:
    asked = Asked(1024, (1, 4), acceptance=0.8, drafted=4)
    text = text_of(find_limit(facts(), rates(20e9, 400e9), asked, draft=facts()))
    assert "LIMITED BY  DRAFTED  TOK/S EACH" in text
    assert "memory            4       1,563" in text
    assert "a drafting model, of the length that was asked for" in one_line(text)
    assert "Drafting for it: tiny (llama)" in text


def test_the_ridge_is_said() -> None:
    text = text_of(find_limit(facts(), rates(20e9, 400e9), replace(ASKED, context_tokens=0)))
    assert "From 21 streams on arithmetic limits, not the memory." in text


@pytest.mark.parametrize(
    ("tok_s", "said"),
    [
        (2000.0, "Held back by: the memory."),
        (300.0, "Held back by: neither memory nor arithmetic. A step took 3.33 ms, of which the machine's "
         "limits explain 434 us; 2.90 ms is the engine's own"),
        (2400.0, "It is above its limit"),
    ],
)  # fmt: skip
def test_what_held_a_run_back(tok_s: float, said: str) -> None:
    run = observed(tok_s, gaps_ms=np.zeros(0), gap_tokens=np.zeros(0, np.int64))
    text = one_line(text_of(find_limit(facts(), rates(20e9, 400e9), ASKED, observed=[run])))
    assert said in text
    assert "sampling over 2,000 words" in text or tok_s > 300.0
    assert "(MBU)" in text


def test_arithmetic_holds_back_where_it_is_slow() -> None:
    run = observed(300.0, gaps_ms=np.zeros(0), gap_tokens=np.zeros(0, np.int64))
    text = one_line(text_of(find_limit(facts(), rates(20e9, 4e9), ASKED, observed=[run])))
    assert "Held back by: arithmetic. The operations of a step take 3.01 ms of its 3.33 ms" in text


def test_speculation_is_told_by_whom() -> None:
    run = observed(4000.0, drafts=Drafts(1000, 800, 600))
    text = one_line(text_of(find_limit(facts(), rates(20e9, 400e9), ASKED, observed=[run])))
    assert "2.50 tokens a step, by the server's own figures (600 of 800 drafted accepted)." in text
    assert "a token)" in text


def test_an_open_interval_is_said() -> None:
    few = replace(observed(300.0).decode_tok_s, lo=None, hi=None, enough=False)
    run = observed(300.0, decode_tok_s=few)
    text = one_line(text_of(find_limit(facts(), rates(20e9, 400e9), ASKED, observed=[run])))
    assert "13% (too few answers for an interval)" in text


def test_a_name_from_a_file_steers_nothing() -> None:
    odd = replace(facts(), name="evil\x1b[31m", architecture="a\nb")
    assert "\x1b" not in limit_text(find_limit(odd, rates(), ASKED))


def test_rates_are_written_in_powers_of_ten() -> None:
    assert bytes_rate(3.35e12) == "3.35 TB/s"
    assert bytes_rate(25.3e9) == "25.3 GB/s"
    assert operations_rate(989e12) == "989 Top/s"
    assert operations_rate(2.5e9) == "2.50 Gop/s"

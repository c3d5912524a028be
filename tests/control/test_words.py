from pathlib import Path

from paceline.control.words import listening, models, problem_lines
from paceline.toml_file import Problem
from tests.control.samples import OFFER
from tests.control.test_force import begun


def test_what_is_served(tmp_path: Path) -> None:
    text = (
        '[[model]]\nid = "demo"\naliases = ["d"]\n[[model]]\nid = "none"\n'
        + OFFER
        + "upstream_model = 'up'\ntier = 'fast'\n"
        + "price = { input_usd_per_mtok = 0, output_usd_per_mtok = 0 }\n"
        + OFFER.replace('"a"', '"b"').replace("a.test", "nowhere.test")
        + "price = { ref = 'openai:gpt-5-mini' }\n"
    )
    _, force = begun(tmp_path, text)
    assert models(force) == [
        "model demo (also d)",
        "  a, http://a.test/v1, as up, fast, free",
        "  b, http://nowhere.test/v1, 0.25 in, 2 out USD/Mtok, no address",
        "model none",
        "  no offer",
    ]


def test_where_it_listens(tmp_path: Path) -> None:
    _, force = begun(tmp_path, OFFER)
    assert listening({"listen": "127.0.0.1:1", "admin": None}, force) == [
        "gateway at http://127.0.0.1:1/v1",
        "no key is known",
    ]


def test_problems_have_file_line_and_hint() -> None:
    found = [Problem('offer "a": tier', "it is wrong", "mend it", 3), Problem("", "there is none")]
    assert problem_lines(found, Path("p.toml"), "error") == [
        'error: p.toml:3: offer "a": tier: it is wrong',
        "  hint: mend it",
        "error: p.toml: there is none",
    ]

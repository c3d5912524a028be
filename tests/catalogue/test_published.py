import tomllib
from importlib.resources import files

from paceline.catalogue.published import published


def test_every_claim_says_who_says_so_and_when() -> None:
    found = published()
    said = [(one.source, one.as_of) for one in found.speeds]
    said += [(one.source, one.as_of) for one in found.tiers]
    said += [(one.source, one.as_of) for one in found.shares]
    assert len(said) == 18
    # A year at least, which is what the press says.
    assert all(source.strip() and as_of[:4].isdigit() for source, as_of in said)


def test_the_file_is_there_whole() -> None:
    found = published()
    assert (len(found.speeds), len(found.tiers), len(found.shares)) == (11, 2, 5)
    text = files("paceline.catalogue").joinpath("data/published_figures.toml").read_text()
    assert set(tomllib.loads(text)) == {"speed", "tier", "share"}
    assert "Claims, not measurements" in text


def test_some_of_it_by_hand() -> None:
    found = published()
    speeds = {(one.model, one.tier): one for one in found.speeds}
    assert speeds["gpt-oss-120b", None].output_tok_s == 306
    assert speeds["gpt-oss-120b", None].effort == "high"
    assert speeds["mimo-v2.5-pro", "ultraspeed"].output_tok_s == 1000
    assert str(speeds["mimo-v2.5-pro", "ultraspeed"].qualifier).startswith("over")
    fast = next(one for one in found.tiers if one.model == "claude-opus-4.8")
    assert (fast.tier, fast.speed_ratio, fast.price_ratio) == ("fast", 2.5, 2.0)
    assert {one.provider: one.share for one in found.shares}["deepseek"] == 0.163
    assert sum(one.share for one in found.shares) < 1.0

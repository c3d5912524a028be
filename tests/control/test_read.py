import os
from pathlib import Path

import pytest

from paceline.control.config import OfferConfig
from paceline.control.example import example_text
from paceline.control.problems import GatewayConfigError
from paceline.control.read import read_config
from tests.control.samples import LEAST, OFFER, prepared, problems


def test_the_least_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_A_KEY", raising=False)
    found = prepared(tmp_path, LEAST)
    (offer,) = found.file.config.offers
    assert (offer.protocol, offer.tier, offer.upstream_model) == (("openai-chat",), "standard", "truth")
    assert [model.id for model in found.file.config.all_models()] == ["demo"]
    assert [(one.line, one.where) for one in found.warnings] == [
        (5, 'offer "local-a"'),
        (5, 'offer "local-a": price'),
    ]


@pytest.mark.parametrize(
    ("written", "protocols"),
    [
        ('"chat"', ("openai-chat",)),
        ('"anthropic-messages"', ("anthropic-messages",)),
        ('["openai-chat", "messages", "chat"]', ("openai-chat", "anthropic-messages")),
    ],
)
def test_a_protocol_is_a_name_or_a_list(written: str, protocols: tuple[str, ...]) -> None:
    import tomllib

    data = tomllib.loads(f'id = "a"\nmodel = "m"\nbase_url = "http://a"\nprotocol = {written}')
    assert OfferConfig.model_validate(data).protocol == protocols


@pytest.mark.parametrize(
    ("text", "line", "where", "message", "hint"),
    [
        (
            "[gateway]\n" + OFFER + "teir = 1",
            6,
            'offer "a": teir',
            "there is no such key",
            "did you mean `tier`?",
        ),
        (
            OFFER + 'tier = "quick"',
            5,
            'offer "a": tier',
            "there is no such value",
            "standard, fast, ultra, flex",
        ),
        (
            OFFER + "price = { ref = 'openai:gpt-5-mnii' }",
            5,
            'offer "a": price',
            "no such model",
            "'gpt-5-mini'",
        ),
        (
            OFFER + "price = { ref = 'opnai:gpt-5-mini' }",
            5,
            'offer "a": price',
            "no such provider",
            "'openai'",
        ),
        (
            OFFER + "price = { ref = 'gpt-5' }",
            5,
            'offer "a": price',
            "ref has no provider",
            "openai:gpt-5-mini",
        ),
        (
            OFFER + "price.input_usd_per_mtok = 1",
            5,
            'offer "a": price',
            "output_usd_per_mtok is missing",
            "ref =",
        ),
        (
            OFFER + "price_multiplier = -1",
            5,
            'offer "a": price_multiplier',
            "greater than or equal to 0",
            None,
        ),
        (
            OFFER + "[offer.limits]\nqueue_timeout = 5",
            6,
            'offer "a": limits.queue_timeout',
            "no duration",
            "quotes",
        ),
        (OFFER + "[offer.timeouts]\ngap = '5'", 6, 'offer "a": timeouts.gap', "no duration", "write 5s"),
        (
            OFFER + 'api_key_env = "sk-1234"',
            5,
            'offer "a": api_key_env',
            "not the name",
            "not the key itself",
        ),
        (OFFER + 'api_key_file = "/none"', 5, 'offer "a": api_key_file', "cannot be read: No such", "path"),
        (OFFER + 'api_key_file = "sk-1234"', 5, 'offer "a": api_key_file', "cannot be read", "path"),
        (OFFER + 'ca_file = "sk-1234"', 5, 'offer "a": ca_file', "cannot be read", "PEM"),
        (OFFER + 'api_key_file = "a\\u0000"', 5, 'offer "a": api_key_file', "no path", None),
        (OFFER + 'ca_file = "~nobody-here/x"', 5, 'offer "a": ca_file', "no such user", "~/"),
        (OFFER.replace("http://", "sk-1234"), 4, 'offer "a": base_url', "no URL", "api_key_env"),
        (OFFER + "extra_body = { a = [nan] }", 5, 'offer "a": extra_body', "no nan", None),
        (OFFER + "extra_body.a.b = 2026-11-30", 5, 'offer "a": extra_body', "no dates", "quotes"),
        (OFFER + f"extra_body.{'a.' * 40}b = 1", 5, 'offer "a": extra_body', "too deeply", "32"),
        (
            OFFER + "price.input_usd_per_mtok = true",
            5,
            'offer "a": price.input_usd_per_mtok',
            "must be a number",
            None,
        ),
        (OFFER + "price_multiplier = 1e10", 5, 'offer "a": price_multiplier', "less than", None),
        ("[gateway]\nrequire_key = 0\n" + OFFER, 2, "gateway.require_key", "boolean", None),
        (OFFER + 'ca_file = "/none"', 5, 'offer "a": ca_file', "the URL is http", "https"),
        (OFFER + "headers.host = 'x'", 5, 'offer "a": headers', "written by Paceline", None),
        (OFFER + OFFER, 6, 'offer "a": id', "another offer has this id", None),
        (
            OFFER.replace("http://", "http://u:p@"),
            4,
            'offer "a": base_url',
            "holds credentials",
            "api_key_env",
        ),
        (OFFER.replace("/v1", "/v1?a=1"), 4, 'offer "a": base_url', "has a query", None),
        (OFFER.replace('model = "demo"', ""), 1, 'offer "a": model', "must be given", None),
        ("[gateway]\nlisten = '8080'\n" + OFFER, 2, "gateway.listen", "no address", "host and port"),
        ("[gateway]\nlisten = '[::1]:99999'\n" + OFFER, 2, "gateway.listen", "no address", None),
        ("[gateway]\nadmin_listen = true\n" + OFFER, 2, "gateway.admin_listen", "nor false", None),
        (
            "[gateway]\nadmin_listen = '127.0.0.1:8080'\n" + OFFER,
            2,
            "gateway.admin_listen",
            "of listen",
            None,
        ),
        (
            "[gateway.policy]\nexplore_share = 2\n" + OFFER,
            2,
            "gateway.policy.explore_share",
            "less than",
            None,
        ),
        ("[gateway]\nkeep_alive = true\n" + OFFER, 2, "gateway.keep_alive", "nor false", None),
        (
            '[[model]]\nid = "demo"\naliases = ["demo"]\n' + OFFER,
            1,
            'model "demo"',
            'called "demo" too',
            None,
        ),
        (
            '[[model]]\nid = "x"\nfallbacks = ["dem"]\n' + OFFER,
            3,
            'model "x": fallbacks[0]',
            "no such",
            '"demo"',
        ),
        ('[[model]]\nid = "x"\naliases = ["demo"]\n' + OFFER, 6, 'offer "a": model', "alias", '"x"'),
        ("[gateway]\n", None, "", "there is no [[offer]]", "gateway init"),
        ("[offer]\nid = 1", 1, "offer", "[[offer]]", None),
        ("gateway = 3\n" + OFFER, 1, "gateway", "must be a table", None),
        ("[mesure]\n" + OFFER, 1, "mesure", "there is no such key", "`measure`"),
        ("[measure]\nthreads = 0\n" + OFFER, 2, "measure.threads", "greater than", None),
    ],
)
def test_what_is_wrong_has_its_line_and_a_hint(  # noqa: PLR0917
    tmp_path: Path, text: str, line: int | None, where: str, message: str, hint: str | None
) -> None:
    found = problems(tmp_path, text)
    one = next(one for one in found if one.where == where and message in one.message)
    assert one.line == line
    assert (hint or "") in (one.hint or "")
    assert "sk-1234" not in f"{one.message} {one.hint}"


def test_all_that_is_wrong_is_found_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = (
        '[gateway]\nlisten = "x"\nrequire_keys = true\n'
        '[[offer]]\nid = "a"\nmodel = "m"\nbase_url = "ftp://a"\ntier = "x"\n'
        '[[offer]]\nid = "b"\nmodel = "m"\nbase_url = "http://b"\nprice = { ref = "openai:none" }\n'
        'api_key_file = "/none"\n'
    )
    assert [one.line for one in problems(tmp_path, text)] == [2, 3, 7, 8, 13, 14]


@pytest.mark.parametrize(
    ("raw", "message", "line"),
    [
        (b"[gateway\n", "not TOML", 1),
        (b"[gateway]\nlisten = = 1", "not TOML", 2),
        (b'a = "x', "not TOML", 1),
        (b"\xff", "not UTF-8", None),
        (b"a = " + b"[" * 100_000, "nested too deeply", None),
    ],
)
def test_a_file_that_is_no_config(tmp_path: Path, raw: bytes, message: str, line: int | None) -> None:
    file = tmp_path / "paceline.toml"
    file.write_bytes(raw)
    with pytest.raises(GatewayConfigError) as caught:
        read_config(file)
    (one,) = caught.value.problems
    assert message in one.message
    assert one.line == line


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GatewayConfigError, match="there is no such file"):
        read_config(tmp_path / "none.toml")


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        with pytest.raises(GatewayConfigError, match="it is no file"):
            read_config(path)


def test_the_example_is_a_config_that_works(tmp_path: Path) -> None:
    found = prepared(tmp_path, example_text())
    assert found.warnings == []
    assert [offer.config.tier for offer in found.offers] == ["standard", "fast"]


def test_the_examples_comments_are_a_config_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commented table, without its comment sign."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    lines = []
    for line in example_text().splitlines():
        bare = line.removeprefix("# ")
        is_code = line.startswith("# ") and (bare.startswith("[") or bare.split(" ")[1:2] == ["="])
        lines.append(bare if is_code else line)
    # Files of that name are not there, and that is all that is wrong.
    found = problems(tmp_path, "\n".join(lines))
    assert [one.where for one in found] == ["gateway.tls", 'offer "anthropic-sonnet": api_key_file']

"""The help of a build tells what options it has, by every name."""

from pathlib import Path

import pytest

from paceline.engines.engine import Installed
from paceline.engines.llama_cpp_options import Options, options_of, read_help

HELP = Path(__file__).parents[1] / "data" / "llama_cpp" / "help-b11434.txt"
# As builds before `--spec-type` wrote it.
OLDER = """\
----- common params -----

-fa,   --flash-attn                     enable Flash Attention (default: disabled)
                                        (env: LLAMA_ARG_FLASH_ATTN)
-ngl,  --gpu-layers, --n-gpu-layers N   number of layers to store in VRAM
                                        (env: LLAMA_ARG_N_GPU_LAYERS)
-m,    --model FNAME                    model path
--no-mmap                               do not memory-map model
--draft-max, --draft, --draft-n N       number of tokens to draft for speculative decoding (default: 16)
                                        (env: LLAMA_ARG_DRAFT_MAX)
--port PORT                             port to listen (default: 8080)
"""


@pytest.fixture(scope="module")
def options() -> Options:
    found = read_help(HELP.read_text())
    assert found is not None
    return found


def test_each_name_leads_to_its_option(options: Options) -> None:
    for name in ("ngl", "gpu-layers", "n-gpu-layers"):
        option = options.find(name)
        assert option is not None
        assert (option.name, option.values, option.no) == ("gpu-layers", "N", None)
    assert options.find("nothing") is None


def test_what_takes_a_value_and_what_is_a_switch(options: Options) -> None:
    values = {
        name: option.values
        for name in ("metrics", "perf", "host", "fa", "poll", "spec-type", "hf-repo")
        if (option := options.find(name)) is not None
    }
    assert values == {
        "metrics": None,
        "perf": None,
        "host": "HOST",
        "fa": "[on|off|auto]",
        "poll": "<0...100>",
        "spec-type": "none,draft-simple,draft-eagle3,draft-mtp,draft-dflash,draft-dspark,ngram-simple,"
        "ngram-map-k,ngram-map-k4v,ngram-mod,ngram-cache",
        "hf-repo": "<user>/<model>[:quant]",
    }


def test_pairs_of_yes_and_no(options: Options) -> None:
    option = options.find("no-kv-unified")
    assert option is not None
    assert (option.name, option.no) == ("kv-unified", "no-kv-unified")
    assert options.find("repack") is options.find("no-repack")


def test_removed_options_are_none_and_say_what_took_their_place(options: Options) -> None:
    assert "draft-max" not in options
    option = options.find("draft-max")
    assert option is not None
    assert "use --spec-draft-n-max" in option.text


def test_values_of_a_list(options: Options) -> None:
    assert options.takes("spec-type", "ngram-mod")
    assert options.takes("flash-attn", "off")
    assert not options.takes("spec-type", "ngram")
    assert not options.takes("draft-max", "N")


def test_the_nearest_name(options: Options) -> None:
    assert options.nearest("paralel") == "parallel"
    assert options.nearest("zzz") is None


def test_an_older_build() -> None:
    options = read_help(OLDER)
    assert options is not None
    assert "spec-type" not in options
    assert "draft-max" in options
    switch = options.find("flash-attn")
    assert switch is not None
    assert switch.values is None
    layers = options.find("ngl")
    # The names take the whole column, so that one space parts them from the text.
    assert layers is not None
    assert (layers.name, layers.values, layers.text.split(" (env")[0]) == (
        "gpu-layers",
        "N",
        "number of layers to store in VRAM",
    )
    negative = options.find("no-mmap")
    assert negative is not None
    assert (negative.name, negative.no) == ("no-mmap", None)


def test_what_is_no_help_of_a_server_tells_of_no_options() -> None:
    assert read_help("usage: server [options]\n--fast   be fast\n") is None
    assert read_help("") is None


def test_a_binary_is_asked_once_until_it_changes(tmp_path: Path) -> None:
    binary = tmp_path / "llama-server"
    binary.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\ncat {HELP}\n")
    binary.chmod(0o755)
    installed = Installed("llama.cpp", (str(binary),), "given")
    first = options_of(installed)
    assert first is not None
    assert options_of(installed) is first
    binary.write_text(f"#!/bin/sh\necho x >> {tmp_path}/asked\necho no help\n")
    assert options_of(installed) is None
    assert (tmp_path / "asked").read_text().count("x") == 2

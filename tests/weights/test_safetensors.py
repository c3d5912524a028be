"""Safetensors: one file, shards with an index, and headers that are broken."""

import json
import random
import struct
from pathlib import Path

import pytest

from paceline.weights.model import ModelFileError
from paceline.weights.read import read_model
from paceline.weights.work import token_work
from tests.support.models import llama_config, llama_weights, safetensors_bytes, write_safetensors


def refused(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert caught.value.hint
    return caught.value


def folder(tmp_path: Path, **form: int) -> Path:
    return write_safetensors(tmp_path / "small", llama_config(), llama_weights(), **form)


def header(text: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text)) + text + data


def test_one_file(tmp_path: Path) -> None:
    path = folder(tmp_path)
    facts = read_model(path)
    assert (facts.format, facts.name, facts.architecture) == ("safetensors", "small", "llama")
    assert (facts.layers, facts.heads, facts.kv_heads, facts.key_dim) == (2, 4, (2, 2), 16)
    assert (facts.embedding, facts.vocabulary, facts.context_tokens) == (64, 96, 2048)
    assert not facts.tied_embeddings
    assert facts.file_bytes == (path / "model.safetensors").stat().st_size
    embedding = next(tensor for tensor in facts.tensors if "embed" in tensor.name)
    assert (embedding.type, embedding.shape, embedding.bytes) == ("bf16", (96, 64), 96 * 64 * 2)


def test_shards_are_read_all_whichever_is_given(tmp_path: Path) -> None:
    whole = read_model(folder(tmp_path))
    sharded = write_safetensors(tmp_path / "sharded", llama_config(), llama_weights(), shards=3)
    for path in (sharded, sharded / "model-00002-of-00003.safetensors"):
        facts = read_model(path)
        assert len(facts.files) == 3
        assert facts.weight_bytes == whole.weight_bytes


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    sharded = folder(tmp_path, shards=3)
    (sharded / "model-00003-of-00003.safetensors").unlink()
    assert "1 of the model's 3 files are missing: model-00003-of-00003" in refused(sharded).message


def test_parts_without_their_index_are_one_set_all_the_same(tmp_path: Path) -> None:
    sharded = folder(tmp_path, shards=3)
    (sharded / "model.safetensors.index.json").unlink()
    part = sharded / "model-00002-of-00003.safetensors"
    assert len(read_model(part).files) == len(read_model(sharded).files) == 3
    (sharded / "model-00003-of-00003.safetensors").unlink()
    assert "1 of the model's 3 files" in refused(part).message
    assert "1 of the model's 3 files" in refused(sharded).message


def test_an_index_may_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    path = folder(tmp_path)
    index = path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../../secret.safetensors"}}))
    assert "outside its folder" in refused(path).message


def test_a_second_copy_in_the_makers_layout_is_left_out(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "model.safetensors").rename(path / "weights-1.safetensors")
    (path / "consolidated.safetensors").write_bytes(safetensors_bytes(llama_weights()))
    assert [file.name for file in read_model(path).files] == ["weights-1.safetensors"]


def test_two_models_in_one_folder(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "model.safetensors").rename(path / "one.safetensors")
    (path / "two.safetensors").write_bytes((path / "one.safetensors").read_bytes())
    assert "twice" in refused(path).message


def test_without_a_configuration(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "config.json").unlink()
    assert "config.json is missing" in refused(path).message


def test_a_configuration_that_is_nested_without_end(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "config.json").write_bytes(b'{"text_config": ' * 800 + b"{}" + b"}" * 800)
    refused(path)


@pytest.mark.parametrize("text", [b"", b"no JSON", b"[1]", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000])
def test_configurations_that_are_none(tmp_path: Path, text: bytes) -> None:
    path = folder(tmp_path)
    (path / "config.json").write_bytes(text)
    assert "config.json" in refused(path).message


def test_adapters(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "config.json").write_text(json.dumps({"peft_type": "LORA"}))
    assert "adapter" in refused(path).message
    lora = {"base.model.layers.0.q_proj.lora_A.weight": ("F32", (4, 64))}
    assert "LoRA" in refused(write_safetensors(tmp_path / "lora", llama_config(), lora)).message


def test_a_cut_file_says_how_much_is_missing(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-12_345])
    error = refused(path)
    assert "12,345 bytes" in error.message
    assert "download it again" in (error.hint or "")


def test_a_file_that_is_cut_in_its_header(tmp_path: Path) -> None:
    path = folder(tmp_path)
    file = path / "model.safetensors"
    whole = file.read_bytes()
    for end in (9, 10, 100, 1000):
        file.write_bytes(whole[:end])
        assert "ends inside its header" in refused(path).message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (struct.pack("<Q", 1 << 40) + b"{", "a header of 1.00 TiB cannot be"),
        (header(b'{"a": ' * 100_000), "nested too deeply"),
        (header(b'{"a": 1}'), "not described"),
        (header(b'{"a": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}'), "not described"),
        (header(b'{"a": {"dtype": "F32", "shape": [true], "data_offsets": [0, 4]}}'), "not described"),
        (header(b'{"a": {"dtype": "F32", "shape": [1], "data_offsets": [8, 4]}}'), "not described"),
        (
            header(b'{"a": {"dtype": "F32", "shape": [4611686018427387904, 8], "data_offsets": [0, 4]}}'),
            "not des",
        ),
        (header(b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}'), "should take 8 bytes"),
        (header(b'{"a": {"dtype": 3, "shape": [2], "data_offsets": [0, 4]}}'), "not described"),
        (header(b"{" + b"9" * 5000 + b"}"), "should hold JSON"),
        (
            header(
                b'{"a": {"dtype": "U8", "shape": [8], "data_offsets": [0, 8]},'
                b' "b": {"dtype": "U8", "shape": [8], "data_offsets": [4, 12]}}',
                bytes(12),
            ),
            "lie upon each other",
        ),
        (header(b"{}"), "hold no tensors"),
        (b"PK\x03\x04" + bytes(60), "ZIP"),
    ],
)
def test_headers_that_cannot_be(tmp_path: Path, content: bytes, words: str) -> None:
    path = folder(tmp_path)
    (path / "model.safetensors").write_bytes(content)
    assert words in refused(path).message


def test_a_dtype_that_is_newer_than_the_list_goes_by_its_place(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "model.safetensors").write_bytes(
        header(b'{"a.weight": {"dtype": "F2_E1", "shape": [8, 8], "data_offsets": [0, 16]}}', bytes(16))
    )
    tensor = read_model(path).tensors[0]
    assert (tensor.type, tensor.elements, tensor.bytes) == ("f2_e1", 64, 16)


def test_the_fingerprint_knows_headers_sizes_and_the_configuration(tmp_path: Path) -> None:
    one = read_model(folder(tmp_path)).fingerprint
    same = write_safetensors(tmp_path / "elsewhere", llama_config(), llama_weights())
    other = write_safetensors(tmp_path / "other", llama_config(rope_theta=2.0), llama_weights())
    assert read_model(same).fingerprint == one
    assert read_model(other).fingerprint != one


def test_mutations_are_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random(20261130)
    path = folder(tmp_path)
    files = {name: (path / name).read_bytes() for name in ("config.json", "model.safetensors")}
    length = struct.unpack_from("<Q", files["model.safetensors"])[0]
    ends = {"config.json": len(files["config.json"]), "model.safetensors": 8 + length}
    pieces = (
        b"null",
        b"-1",
        b"1e9",
        b"true",
        b'""',
        b"[]",
        b"{}",
        b"99999999999999999999",
        b"0",
        b"}",
        b'"',
        b"\xff",
    )
    read = refusals = 0
    for round_ in range(1000):
        name = "config.json" if round_ % 2 else "model.safetensors"
        mutated = bytearray(files[name])
        for _ in range(chance.randint(1, 2)):
            place = chance.randrange(ends[name])
            piece = chance.choice(pieces)
            mutated[place : place + len(piece)] = piece
        with (path / name).open("r+b") as file:
            file.write(mutated[: ends[name]])
        try:
            token_work(read_model(path), context_tokens=1000)
            read += 1
        except ModelFileError as error:
            refusals += 1
            assert error.exit_code == 2  # noqa: PT017
        with (path / name).open("r+b") as file:
            file.write(files[name][: ends[name]])
    assert read > 50
    assert refusals > 300

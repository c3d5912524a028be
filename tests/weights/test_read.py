"""A model from whatever path the user gives: files, parts, folders, and all that is no model."""

import os
import stat
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from paceline.weights.model import ModelFileError
from paceline.weights.read import read_model
from tests.support.engine import find_engine
from tests.support.models import (
    F16_TENSOR,
    Typed,
    llama_config,
    llama_keys,
    llama_tensors,
    llama_weights,
    write_gguf,
    write_safetensors,
)


def refused(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        read_model(path)
    assert caught.value.hint
    assert caught.value.exit_code == 2
    return caught.value


def test_a_gguf_file(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf")
    facts = read_model(path)
    assert (facts.path, facts.files, facts.format) == (path, (path,), "gguf")
    assert (facts.name, facts.architecture, facts.layers) == ("Small", "llama", 2)
    assert (facts.heads, facts.kv_heads, facts.key_dim, facts.value_dim) == (4, (2, 2), 16, 16)
    assert (facts.vocabulary, facts.context_tokens, facts.embedding) == (96, 2048, 64)
    assert facts.file_bytes == path.stat().st_size
    assert len(facts.fingerprint) == 16
    assert facts.parameters == 2 * 96 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 2 * 128 * 64 + 64) + 64


def split(folder: Path, parts: int = 3) -> list[Path]:
    tensors = llama_tensors()
    paths = []
    for part in range(parts):
        keys = llama_keys() if part == 0 else {"general.architecture": "llama"}
        keys |= {"split.no": Typed(2, part), "split.count": Typed(2, parts)}
        path = folder / f"big-{part + 1:05d}-of-{parts:05d}.gguf"
        paths.append(write_gguf(path, keys, tensors[part::parts]))
    return paths


def test_any_part_stands_for_the_whole(tmp_path: Path) -> None:
    paths = split(tmp_path)
    whole = read_model(write_gguf(tmp_path / "whole.gguf"))
    read = [read_model(path) for path in paths]
    for facts in read:
        assert facts.files == tuple(paths)
        assert facts.weight_bytes == whole.weight_bytes
        assert facts.file_bytes == sum(path.stat().st_size for path in paths)
    assert len({facts.fingerprint for facts in read}) == 1


def test_a_part_that_is_missing_is_named(tmp_path: Path) -> None:
    first, second, third = split(tmp_path)
    second.unlink()
    assert second.name in refused(first).message
    third.unlink()
    assert "and 1 more" in refused(first).message


def test_a_part_under_another_name(tmp_path: Path) -> None:
    path = split(tmp_path)[0].rename(tmp_path / "renamed.gguf")
    assert "one of 3 parts" in refused(path).message


def test_the_same_tensor_in_two_parts(tmp_path: Path) -> None:
    paths = split(tmp_path)
    write_gguf(paths[1], {"general.architecture": "llama"}, llama_tensors()[::3])
    assert "twice" in refused(paths[0]).message


def test_a_folder_with_one_model(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf")
    (tmp_path / "mmproj-a.gguf").write_bytes(b"for images")
    (tmp_path / "README.md").write_text("words")
    assert read_model(tmp_path).files == (path,)


def test_a_folder_with_a_split_model(tmp_path: Path) -> None:
    assert read_model(split(tmp_path)[0].parent).files == tuple(sorted(tmp_path.iterdir()))


def test_a_folder_with_several_models(tmp_path: Path) -> None:
    for name in "abcdef":
        write_gguf(tmp_path / f"{name}.gguf")
    assert "a.gguf, b.gguf, c.gguf, d.gguf and 2 more" in refused(tmp_path).message


def test_a_folder_of_safetensors_and_a_file_in_it(tmp_path: Path) -> None:
    write_safetensors(tmp_path, llama_config(), llama_weights())
    facts = read_model(tmp_path)
    assert facts.format == "safetensors"
    assert read_model(tmp_path / "model.safetensors").fingerprint == facts.fingerprint


def test_nothing_there(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "missing.gguf").message


def test_an_empty_folder(tmp_path: Path) -> None:
    assert "holds no model" in refused(tmp_path).message


def test_a_folder_of_the_hubs_cache_says_where_its_model_is(tmp_path: Path) -> None:
    (tmp_path / "snapshots").mkdir()
    assert "snapshots" in (refused(tmp_path).hint or "")


def test_a_folder_of_pytorch_weights(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"PK\x03\x04")
    assert "PyTorch" in refused(tmp_path).message


def test_pipes_and_devices_are_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a pipe" in refused(pipe).message
    assert "is a device" in refused(Path("/dev/zero")).message
    assert "is a device" in refused(Path("/dev/null")).message


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf")
    path.chmod(0)
    assert "may not be read" in refused(path).message
    path.chmod(stat.S_IRUSR)


def test_a_file_that_may_not_be_read_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    path = write_gguf(tmp_path / "a.gguf")
    monkeypatch.setattr("paceline.weights.opened.os.open", denied)
    assert "may not be read" in refused(path).message


def test_odd_paths(tmp_path: Path) -> None:
    refused(Path("a\0b"))
    refused(tmp_path / ("x" * 4000))
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    refused(loop)
    path = write_gguf(tmp_path / "a.gguf")
    refused(path / "inside")


def test_a_file_that_shrinks_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_gguf(tmp_path / "a.gguf")
    really = os.pread
    monkeypatch.setattr("paceline.weights.opened.os.pread", lambda file, _, at: really(file, 20, at))
    assert "ends inside its header" in refused(path).message


def test_a_file_that_the_peer_wrote_reads_as_the_peer_reads_it(tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    path = tmp_path / "a.gguf"
    writer = gguf.GGUFWriter(path, "gemma3")
    writer.add_block_count(6)
    writer.add_embedding_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv([1, 2, 1, 2, 1, 2])
    writer.add_key_length(32)
    writer.add_value_length(16)
    writer.add_sliding_window(128)
    writer.add_context_length(4096)
    writer.add_token_list(["a", "b", "c"])
    writer.add_tensor("token_embd.weight", np.zeros((3, 64), np.float32))
    writer.add_tensor("blk.0.attn_q.weight", np.zeros((64, 64), np.float16))
    for kind in (
        gguf.GGMLQuantizationType.Q5_0,
        gguf.GGMLQuantizationType.IQ4_NL,
        gguf.GGMLQuantizationType.Q8_0,
    ):
        packed = gguf.quant_shape_to_byte_shape((32, 64), kind)
        writer.add_tensor(f"blk.0.{kind.name}.weight", np.zeros(packed, np.uint8), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    facts = read_model(path)
    theirs = [
        (
            tensor.name,
            tensor.tensor_type.name.lower(),
            tuple(map(int, tensor.shape[::-1])),
            int(tensor.n_bytes),
        )
        for tensor in gguf.GGUFReader(path).tensors
    ]
    assert [(tensor.name, tensor.type, tensor.shape, tensor.bytes) for tensor in facts.tensors] == theirs
    assert facts.kv_heads == (1, 2, 1, 2, 1, 2)
    assert (facts.key_dim, facts.value_dim, facts.vocabulary) == (32, 16, 3)
    assert facts.sliding == (True, True, True, True, True, False)


ENGINE = find_engine()


@pytest.mark.engine
@pytest.mark.skipif(isinstance(ENGINE, str), reason=str(ENGINE))
def test_gemma_by_figures_that_were_checked_by_hand() -> None:
    assert not isinstance(ENGINE, str)
    facts = read_model(ENGINE.model)
    # Counted with the package gguf 0.19.0, whose reader takes seconds for the vocabulary.
    assert Counter(tensor.type for tensor in facts.tensors) == {
        "f32": 109,
        "q5_0": 81,
        "q4_k": 27,
        "q8_0": 10,
        "q6_k": 9,
    }
    assert facts.weight_bytes == 246_587_904
    # From the model's card and llama.cpp's own log of it.
    assert (facts.architecture, facts.layers, facts.embedding, facts.heads) == ("gemma3", 18, 640, 4)
    assert facts.kv_heads == (1,) * 18
    assert (facts.key_dim, facts.value_dim, facts.context_tokens) == (256, 256, 32_768)
    assert facts.vocabulary == 262_144
    assert facts.parameters == 268_098_176
    assert facts.tied_embeddings
    assert facts.sliding_window == 512
    assert [layer for layer, slides in enumerate(facts.sliding) if not slides] == [5, 11, 17]


def test_a_type_of_tensor_is_kept_as_the_file_names_it(tmp_path: Path) -> None:
    facts = read_model(write_gguf(tmp_path / "a.gguf", tensors=[("token_embd.weight", (96, 64), F16_TENSOR)]))
    assert facts.tensors[0].type == "f16"
    assert facts.tied_embeddings

"""Headers of GGUF: read in both versions and byte orders, and refused with words where they are broken."""

import os
import random
import struct
from pathlib import Path

import pytest

from paceline.weights.gguf import GgufHeader, LongList, read_gguf
from paceline.weights.model import ModelFileError
from paceline.weights.opened import opened
from paceline.weights.read import read_model
from paceline.weights.work import token_work
from tests.support.models import (
    BOOL,
    F32,
    F32_TENSOR,
    LIST,
    U32,
    Typed,
    gguf_bytes,
    llama_keys,
    llama_tensors,
    numbers,
    write_gguf,
)


def header(path: Path) -> GgufHeader:
    with opened(path) as cursor:
        return read_gguf(cursor)


def refused(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        header(path)
    assert caught.value.hint
    assert str(path) in caught.value.message
    return caught.value


@pytest.mark.parametrize(("version", "order"), [(2, "<"), (3, "<"), (3, ">")])
def test_versions_and_byte_orders(tmp_path: Path, version: int, order: str) -> None:
    keys = llama_keys(per_layer=numbers(U32, 7, 8), scale=Typed(F32, 0.5), flag=Typed(BOOL, True))
    read = header(write_gguf(tmp_path / "a.gguf", keys, version=version, order=order))
    assert read.keys["llama.block_count"] == 2
    assert read.keys["llama.per_layer"] == (7, 8)
    assert read.keys["llama.scale"] == 0.5
    assert read.keys["llama.flag"] is True
    assert read.keys["tokenizer.ggml.tokens"] == LongList(96)
    by_name = {tensor.name: tensor for tensor in read.tensors}
    up = by_name["blk.1.ffn_up.weight"]
    assert (up.type, up.shape, up.bytes) == ("q8_0", (128, 64), 128 * 64 // 32 * 34)


def test_texts_behind_a_piece_of_the_file_are_skipped_right(tmp_path: Path) -> None:
    # Words of all lengths, together longer than what is read at once, so that some lie across its end.
    words = Typed(LIST, [("x" * (place % 701)) for place in range(8000)], 8)
    keys = llama_keys() | {"tokenizer.ggml.tokens": words, "llama.behind": 41}
    read = header(write_gguf(tmp_path / "a.gguf", keys))
    assert read.keys["tokenizer.ggml.tokens"] == LongList(8000)
    assert read.keys["llama.behind"] == 41


def test_long_texts_and_lists_are_not_kept(tmp_path: Path) -> None:
    keys = llama_keys(template="y" * 100_000, scores=numbers(F32, *[0.0] * 5000), last=3)
    read = header(write_gguf(tmp_path / "a.gguf", keys))
    assert read.keys["llama.template"] == ""
    assert read.keys["llama.scores"] == LongList(5000)
    assert read.keys["llama.last"] == 3


def test_lists_of_lists(tmp_path: Path) -> None:
    inner = Typed(LIST, (1, 2), U32)
    keys = llama_keys()
    data = gguf_bytes(keys | {"llama.nested": numbers(U32, 5)}, llama_tensors())
    # A list whose one item is a list of two numbers, put in by hand.
    flat = struct.pack("<IIQI", LIST, U32, 1, 5)
    nested = struct.pack("<IIQIQII", LIST, LIST, 1, inner.item, 2, 1, 2)
    place = data.index(flat)
    end = len(data) - (-(len(data)) % 32)
    path = tmp_path / "a.gguf"
    path.write_bytes(data[:place] + nested + data[place + len(flat) : end] + bytes(64))
    assert header(path).keys["llama.nested"] == LongList(1)


def test_a_cut_file_says_how_much_is_missing(tmp_path: Path) -> None:
    data = gguf_bytes(llama_keys(), llama_tensors())
    path = tmp_path / "cut.gguf"
    path.write_bytes(data[:-1000])
    error = refused(path)
    # The last tensor ends with the file: 96 x 64 numbers of two bytes are no multiple short of the padding.
    assert "1,000 bytes" in error.message
    assert "download it again" in (error.hint or "")


def test_every_cut_is_refused(tmp_path: Path) -> None:
    data = gguf_bytes(llama_keys(), llama_tensors())
    path = tmp_path / "cut.gguf"
    for end in [*range(4, 1500, 11), *range(1500, len(data), 4999)]:
        path.write_bytes(data[:end])
        refused(path)


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (8, 1 << 60, "number of tensors cannot be"),
        (8, (1 << 64) - 1, "number of tensors cannot be"),
        (16, 1 << 60, "number of keys cannot be"),
        (24, 1 << 63, "name of a key cannot have"),
        (4, 77, "version 77"),
        (4, 1, "version 1"),
    ],
)
def test_absurd_numbers(tmp_path: Path, place: int, value: int, words: str) -> None:
    data = bytearray(gguf_bytes(llama_keys(), llama_tensors()))
    form = "<I" if place == 4 else "<Q"
    struct.pack_into(form, data, place, value)
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    assert words in refused(path).message


def test_a_text_of_two_to_the_sixty_three(tmp_path: Path) -> None:
    data = bytearray(gguf_bytes(llama_keys(), llama_tensors()))
    struct.pack_into("<Q", data, data.index(b"Small") - 8, 1 << 63)
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    assert "general.name" in refused(path).message


def test_a_vocabulary_of_absurd_length_takes_no_time(tmp_path: Path) -> None:
    data = bytearray(gguf_bytes(llama_keys(), llama_tensors()))
    place = data.index(b"tokenizer.ggml.tokens") + len(b"tokenizer.ggml.tokens") + 8
    struct.pack_into("<Q", data, place, 1 << 50)
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    assert "cannot be a list" in refused(path).message
    # Not too many for the reader, but more than the file holds.
    struct.pack_into("<Q", data, place, 1 << 20)
    path.write_bytes(data)
    refused(path)


def test_tensors_upon_each_other(tmp_path: Path) -> None:
    data = bytearray(gguf_bytes(llama_keys(), llama_tensors()))
    place = data.index(b"blk.0.attn_q.weight") + len(b"blk.0.attn_q.weight") + 4 + 16 + 4
    struct.pack_into("<Q", data, place, 32)
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    assert "overlaps another" in refused(path).message


def test_rows_that_a_type_cannot_pack(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf", tensors=[("token_embd.weight", (96, 48), (8, 16, 34))])
    assert "no multiple of the 32" in refused(path).message


def test_a_product_of_sides_beyond_all_memory(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf", tensors=[("a.weight", (8, 8, 8), F32_TENSOR)])
    data = bytearray(path.read_bytes())
    place = data.index(b"a.weight") + len(b"a.weight") + 4
    struct.pack_into("<QQQ", data, place, 1 << 40, 1 << 40, 1 << 40)
    path.write_bytes(data)
    assert "cannot have" in refused(path).message


@pytest.mark.parametrize("alignment", [0, 1 << 31])
def test_alignments_that_cannot_be(tmp_path: Path, alignment: int) -> None:
    path = write_gguf(tmp_path / "a.gguf", llama_keys() | {"general.alignment": alignment})
    assert "alignment" in refused(path).message


def test_an_alignment_of_its_own(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "a.gguf", llama_keys() | {"general.alignment": 4096}, align=4096)
    assert len(header(path).tensors) == len(llama_tensors())


def test_a_type_that_is_newer_than_the_list_goes_by_its_place(tmp_path: Path) -> None:
    tensors = [("a.weight", (64, 64), (77, 1, 2)), ("b.weight", (64, 64), (78, 1, 1))]
    read = header(write_gguf(tmp_path / "a.gguf", tensors=tensors))
    assert [(tensor.type, tensor.bytes) for tensor in read.tensors] == [("type_77", 8192), ("type_78", 4096)]


def test_the_digest_knows_header_and_size_only(tmp_path: Path) -> None:
    one = write_gguf(tmp_path / "one.gguf")
    (tmp_path / "elsewhere").mkdir()
    same = write_gguf(tmp_path / "elsewhere" / "other.gguf")
    changed = write_gguf(tmp_path / "changed.gguf", llama_keys() | {"general.name": "Smaul"})
    longer = tmp_path / "longer.gguf"
    longer.write_bytes(one.read_bytes() + b"0")
    assert header(one).digest == header(same).digest
    assert len({header(path).digest for path in (one, changed, longer)}) == 3


def test_mutations_are_read_or_refused(tmp_path: Path) -> None:
    chance = random.Random(20261130)
    data = gguf_bytes(llama_keys(), llama_tensors())
    head = data.rindex(b"output.weight") + 45
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    descriptor = os.open(path, os.O_WRONLY)
    read = refusals = 0
    for _ in range(1500):
        mutated = bytearray(data[:head])
        for _ in range(chance.randint(1, 4)):
            place = chance.randrange(head)
            mutated[place] = chance.choice((0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        if chance.random() < 0.3:
            place = chance.randrange(head)
            mutated[place : place + 8] = struct.pack(
                "<Q", chance.choice((0, 1 << 31, 1 << 62, (1 << 64) - 1))
            )
        # Written in place: to make a file anew 1,500 times takes seconds.
        os.pwrite(descriptor, mutated, 0)
        try:
            token_work(read_model(path), context_tokens=1000)
            read += 1
        except ModelFileError:
            refusals += 1
    os.close(descriptor)
    assert read > 100
    assert refusals > 100

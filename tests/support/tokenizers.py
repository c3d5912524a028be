"""Small tokenizers of each family, trained on the corpus in the test."""

from functools import cache
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from paceline.workloads.corpus import english

FAMILIES = ("byte_bpe", "metaspace_bpe", "unigram", "wordpiece", "across_spaces", "bytes_only")


@cache
def trained(family: str) -> Tokenizer:
    """`across_spaces` merges across words, and `bytes_only` has no word of one token: both need fitting."""
    trainer: trainers.BpeTrainer | trainers.UnigramTrainer | trainers.WordPieceTrainer
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    text = [english().text[:60_000]]
    if family in ("byte_bpe", "bytes_only"):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        size = 256 if family == "bytes_only" else 1500
        trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False)
    elif family == "metaspace_bpe":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, show_progress=False)
    elif family == "unigram":
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        trainer = trainers.UnigramTrainer(
            vocab_size=1000, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False
        )
    elif family == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(vocab_size=1500, special_tokens=["[UNK]"], show_progress=False)
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.Replace(" ", "_")
        text = english().text[:60_000].split(".")
        trainer = trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(text, trainer)
    return tokenizer


def save(family: str, path: Path) -> Path:
    """A tokenizer.json that also has settings which would falsify counts, to see that they are ignored."""
    tokenizer = Tokenizer.from_str(trained(family).to_str())
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(path))
    return path

"""Byte pair encoding against Hugging Face's tokenizers: the same words, merges and ids."""

import json
import random
import sys
import unicodedata
from pathlib import Path

import pytest

from deepnlp.text import BPE, Vocabulary, pretokenise
from deepnlp.text.bpe import ALPHABET

regex = pytest.importorskip("regex")
tokenizers = pytest.importorskip("tokenizers")
pytestmark = pytest.mark.parity

GPT2 = regex.compile(  # as its encoder.py has it
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
)


def theirs(text, size):
    """Their byte-level tokeniser, trained on a text."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    tokenizer.pre_tokenizer = byte_level(add_prefix_space=False)
    options = {"initial_alphabet": byte_level.alphabet(), "show_progress": False}
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=size, min_frequency=2, **options)
    tokenizer.train_from_iterator([text], trainer)
    return tokenizer


def random_text(seed):
    """Lines of random words: of few letters, so that many pairs are equally frequent."""
    rng = random.Random(seed)
    letters = rng.choice(["a", "ab", "abc é", "ab1=-'s \n", "的猫ab "])
    words = ("".join(rng.choices(letters, k=rng.randint(1, 40))) for _ in range(rng.randint(5, 60)))
    return rng.choice([" ", "\n", "  \n"]).join(words)


def assert_same(text, size, other):
    """The merges and tokens learned from a text, and the ids of it and of another."""
    ours, tokenizer = BPE.learn(text, size), theirs(text, size)
    model = json.loads(tokenizer.to_str())["model"]
    assert [*ours.merges] == [tuple(pair) for pair in model["merges"]]
    vocab = Vocabulary.build([], tokenizer=ours)
    assert {token: id_ for id_, token in enumerate(vocab.tokens)} == model["vocab"]
    for read in (text, other):
        assert vocab.encode(vocab.tokenize(read)).tolist() == tokenizer.encode(read).ids


@pytest.mark.parametrize("seed", range(40))
def test_merges_and_ids_are_theirs_where_many_pairs_are_equally_frequent(seed):
    text = random_text(seed)
    assert_same(text, len(ALPHABET) + 30, random_text(seed + 1000))


def test_merges_and_ids_are_theirs_on_english_and_code():
    folder = Path(__file__).parents[2]
    texts = [(folder / name).read_text(encoding="utf-8") for name in ("README.md", "setup.py")]
    assert_same("\n".join(texts), 1000, Path(__file__).read_text(encoding="utf-8"))


def test_words_are_those_of_gpt_2_s_pattern_for_every_character_that_python_knows():
    every = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) != "Cn"]
    random.Random(0).shuffle(every)
    for between in ("", " x5"):
        text = between.join(every)
        assert pretokenise(text) == GPT2.findall(text)


def test_words_are_theirs_for_letters_of_every_script():
    every = [c for c in map(chr, range(0x3000)) if unicodedata.category(c) not in ("Cn", "Cs")]
    random.Random(0).shuffle(every)
    text = "  ".join("".join(every[k : k + 7]) for k in range(0, len(every), 7))
    cut = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str
    assert BPE([]).stream([text])[:-1] == [*"".join(word for word, _ in cut(text))]
    spans = [end - start for _, (start, end) in cut(text)]
    assert [len(word) for word in pretokenise(text)] == spans

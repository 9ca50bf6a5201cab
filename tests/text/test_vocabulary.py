"""The table between tokens and ids."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnlp.text import Vocabulary


def test_the_most_frequent_come_first_and_ties_are_alphabetical() -> None:
    vocab = Vocabulary.build(["b", "a", "c", "c", "<eos>", "<eos>", "<eos>"])
    assert vocab.tokens == ("<eos>", "c", "a", "b", "<unk>")
    assert vocab.counts.tolist() == [3, 2, 1, 1, 0]


def test_special_tokens_in_the_text_are_the_special_tokens() -> None:
    vocab = Vocabulary.build(["<unk>", "a", "<eos>", "<unk>"], tokenizer="whitespace")
    assert sorted(vocab.tokens) == ["<eos>", "<unk>", "a"]
    assert vocab.counts[vocab.unk_id] == 2
    assert vocab.token(vocab.eos_id) == "<eos>"


def test_limits_count_what_they_cut_as_unknown() -> None:
    tokens = ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d"]
    by_size = Vocabulary.build(tokens, max_size=4)
    assert by_size.tokens == ("a", "<unk>", "b", "<eos>")
    assert by_size.counts.tolist() == [5, 3, 3, 0]
    by_count = Vocabulary.build(tokens, min_count=2)
    assert by_count.tokens == ("a", "b", "c", "<unk>", "<eos>")
    assert "d" not in by_count
    assert by_count.counts.sum() == len(tokens)


def test_a_character_vocabulary_ends_lines_with_the_line_break() -> None:
    vocab = Vocabulary.build("abba\n", tokenizer="chars")
    assert vocab.token(vocab.eos_id) == "\n"
    assert "<eos>" not in vocab
    assert len(vocab) == 4
    assert "\n" in Vocabulary.build("ab", tokenizer="chars")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_size": 2}, "max_size should be 3 or more, got 2"),
        ({"min_count": 0}, "min_count should be 1 or more, got 0"),
    ],
)
def test_senseless_limits_are_errors(limits: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Vocabulary.build(["a"], **limits)


def test_encode_gives_host_ids_and_unknown_where_a_token_is_new() -> None:
    vocab = Vocabulary.build(["b", "a", "b"])
    ids = vocab.encode(["a", "zebra", "b"])
    assert type(ids) is np.ndarray
    assert ids.dtype == np.int32
    assert ids.tolist() == [vocab.id("a"), vocab.unk_id, vocab.id("b")]
    assert vocab.encode([]).shape == (0,)


@settings(deadline=None)
@given(st.lists(st.text(min_size=1), max_size=20))
def test_decode_undoes_encode_and_dict_keeps_all(tokens: list[str]) -> None:
    vocab = Vocabulary.build(tokens)
    assert vocab.decode(vocab.encode(tokens)) == tokens
    again = Vocabulary.from_dict(json.loads(json.dumps(vocab.to_dict())))
    assert again == vocab
    assert again.counts.tolist() == vocab.counts.tolist()


def test_two_vocabularies_differ_by_tokens_counts_or_tokenizer() -> None:
    vocab = Vocabulary(["a", "<unk>", "<eos>"], [2, 1, 0])
    assert vocab != Vocabulary(["<unk>", "a", "<eos>"], [2, 1, 0])
    assert vocab != Vocabulary(["a", "<unk>", "<eos>"], [2, 2, 0])
    assert vocab != Vocabulary(["a", "<unk>", "<eos>"], [2, 1, 0], "whitespace")
    assert vocab != "a"


def test_one_string_is_not_a_list_of_tokens() -> None:
    with pytest.raises(TypeError, match="encode expects a list of tokens, got one string"):
        Vocabulary.build(["a"]).encode("a cat")


@pytest.mark.parametrize("number", [-1, 3])
def test_an_id_outside_the_vocabulary_is_an_error(number: int) -> None:
    vocab = Vocabulary.build(["a"])
    with pytest.raises(ValueError, match=f"id {number} is outside the vocabulary, expected 0 to 2"):
        vocab.token(number)
    with pytest.raises(ValueError, match="outside the vocabulary"):
        vocab.decode(np.array([0, number]))


@pytest.mark.parametrize(
    ("tokens", "counts", "message"),
    [
        (["a", "a", "<unk>", "<eos>"], None, "'a' is repeated"),
        (["a", "<unk>"], None, "needs the token '<eos>'"),
        (["a", "<eos>"], None, "needs the token '<unk>'"),
        (["a", "<unk>", "<eos>"], [1], "3 tokens needs as many counts"),
    ],
)
def test_a_broken_table_is_an_error(
    tokens: list[str], counts: list[int] | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Vocabulary(tokens, counts)


def test_tokenize_and_detokenize_follow_the_tokenizer() -> None:
    assert Vocabulary.build([], tokenizer="chars").tokenize("Ab") == ["A", "b"]
    assert Vocabulary.build([], tokenizer="whitespace").tokenize("A b.") == ["A", "b."]
    words = Vocabulary.build([])
    assert words.detokenize(words.tokenize("It's (all) here.")) == "it's (all) here."


def test_a_count_that_leaves_out_every_token_is_an_error() -> None:
    tokens = ["a", "b", "a", "<eos>"]
    assert len(Vocabulary.build(tokens, min_count=2)) == 3
    with pytest.raises(ValueError, match=r"leaves out every token: the most frequent .* 2 times"):
        Vocabulary.build(tokens, min_count=3)
    with pytest.raises(ValueError, match="min_count is 1000000000, which leaves out every token"):
        Vocabulary.build(tokens, min_count=10**9)

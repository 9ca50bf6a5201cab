"""Byte pair encoding: no byte is lost, the merges are those of the algorithm, and are kept."""

import json
import pickle
import sys
import unicodedata
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnlp.text import BPE, Vocabulary, bpe, pretokenise
from deepnlp.text.bpe import ALPHABET, BYTES, merge

TEXT = (
    "It's a cat; they're 2 cats — l'été, 1½ Ⅷ.\n\n\n  A tab:\t\tend \r\n"
    "的猫 снег नमस्ते 🐈‍⬛ a_b __init__ x==y --- ... don't\x1cstop\x85here\xa0now"
)
BPE_OF_TEXT = BPE.learn(TEXT * 3, vocab_size=300)


@given(data=st.binary(max_size=60))
def test_any_bytes_come_back(data):
    text = data.decode("utf-8", "surrogateescape")
    assert BPE_OF_TEXT.to_bytes(BPE_OF_TEXT.split(text)) == data


@given(text=st.text(max_size=60))
def test_any_text_comes_back(text):
    assert BPE_OF_TEXT.join(BPE_OF_TEXT.split(text)) == text
    assert "".join(pretokenise(text)) == text


@given(text=st.text(st.sampled_from("ab "), max_size=80), size=st.integers(257, 280))
def test_the_merges_are_those_of_the_plain_algorithm(text, size):
    assert list(BPE.learn(text, size, min_count=1).merges) == plainly(text, size)


def plainly(text, size):
    """Count all pairs anew before each merge."""
    words = [[*word.replace(" ", BYTES[ord(" ")])] for word in pretokenise(text)]
    tokens, merges = [*ALPHABET], []
    while len(tokens) < size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        pair = min(counts, key=lambda pair: (-counts[pair], *map(tokens.index, pair)))
        merges.append(pair)
        tokens.append("".join(pair))
        words = [merge(word, pair, "".join(pair)) for word in words]
    return merges


def test_the_class_of_letters_is_unicode_s():
    """Of Python's own tables; a letter that is newer counts as another sign."""
    for c in map(chr, range(sys.maxunicode + 1)):
        kind = unicodedata.category(c)[0]
        assert c.isalpha() == (kind == "L"), c
        assert (c.isnumeric() and not c.isalpha()) == (kind == "N"), c


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("they're I'll 'em", ["they", "'re", " I", "'ll", " '", "em"]),
        ("x2½Ⅷ三 _a", ["x", "2½Ⅷ", "三", " _", "a"]),
        ("a  b \n", ["a", " ", " b", " \n"]),
        ("a\x1f\x1cb\x85\u2003c", ["a", "\x1f\x1c", "b", "\x85", "\u2003", "c"]),
        ("e\u0301 é", ["e", "\u0301", " é"]),
        ("", []),
    ],
)
def test_words_end_where_gpt_2_s_pattern_ends_them(text, words):
    assert pretokenise(text) == words


def test_the_first_tokens_are_those_of_gpt_2():
    assert "".join(ALPHABET[:3]) == '!"#'
    assert ALPHABET[188:190] == ("Ā", "ā")  # bytes 0 and 1, as in its vocab.json
    assert (BYTES[32], BYTES[10], BYTES[0xAD]) == ("Ġ", "Ċ", "Ń")


def test_a_pair_that_is_too_rare_is_not_joined():
    assert BPE.learn("ab ab cd", vocab_size=300, min_count=2).merges == (("a", "b"),)
    assert len(BPE.learn("ab ab cd", vocab_size=300, min_count=1).merges) == 4


def test_overlapping_pairs_are_joined_from_the_left():
    assert merge(list("aaaaa"), ("a", "a"), "aa") == ["aa", "aa", "a"]
    assert BPE([("a", "a")]).split("aaa") == ["aa", "a"]


def test_the_earliest_merge_comes_first_wherever_it_is():
    assert BPE([("b", "c"), ("a", "b")]).split("abc") == ["a", "bc"]
    assert BPE([("a", "b"), ("b", "c")]).split("abc") == ["ab", "c"]


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        (None, "needs its merges"),
        ([("a", "b", "c")], "merge 1 should be a pair of tokens"),
        ([("a", "b"), ("ab", "cd")], "merge 2 .* got ('ab', 'cd')"),
        ([["a", 1]], "merge 1"),
        ([3], "merge 1"),
        ([("é", "а")], "merge 1"),
    ],
)
def test_merges_of_tokens_that_there_are_not_are_an_error(merges, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        BPE(merges)


@pytest.mark.parametrize("option", [{"vocab_size": 256}, {"vocab_size": 300, "min_count": 0}])
def test_numbers_that_are_too_small_are_an_error(option):
    with pytest.raises(ValueError, match=f"{[*option][-1]} should be"):
        BPE.learn("a cat", **option)


def test_a_vocabulary_has_the_ids_of_the_merges_and_comes_back_from_json():
    tokens = BPE_OF_TEXT.split(TEXT)
    vocab = Vocabulary.build(tokens, max_size=5, min_count=9, tokenizer=BPE_OF_TEXT)
    assert vocab.tokens == (*ALPHABET, *map("".join, BPE_OF_TEXT.merges))
    assert vocab.counts.sum() == len(tokens)
    again = Vocabulary.from_dict(json.loads(json.dumps(vocab.to_dict())))
    assert again == vocab
    assert again.detokenize(again.decode(again.encode(again.tokenize(TEXT)))) == TEXT
    other = Vocabulary(vocab.tokens, vocab.counts, BPE(BPE_OF_TEXT.merges[:-1]))
    assert other != vocab


def test_a_vocabulary_without_unk_refuses_what_it_lacks():
    vocab = Vocabulary.build([], tokenizer=BPE([]))
    assert vocab.unk_id is None
    for wrong in (lambda: vocab.encode(["cat"]), lambda: vocab.id("cat")):
        with pytest.raises(ValueError, match="cut the text with tokenize"):
            wrong()
    with pytest.raises(ValueError, match="needs the token 'ab'"):
        Vocabulary(ALPHABET, tokenizer=BPE([("a", "b")]))


def test_lines_and_prompts_are_cut_as_one_text():
    cut = BPE([("Ċ", "Ċ"), ("ĊĊ", "Ċ")])
    assert cut.stream(["a", "", "", "b"]) == ["a", "ĊĊ", "Ċ", "b", "Ċ"]
    assert cut.split_lines("a\n\n\nb") == ["a", "ĊĊ", "Ċ", "b"]
    vocab = Vocabulary.build([], tokenizer=cut)
    assert [*filter(vocab.ends_line, vocab.tokens)] == ["Ċ", "ĊĊ", "ĊĊĊ"]


def test_the_mark_of_a_model_is_a_line_break_in_a_text_and_never_read_from_one():
    cut = BPE([], eos="<|endoftext|>")
    assert cut.needs == (*ALPHABET, "<|endoftext|>")
    assert cut.join(["a", "<|endoftext|>", "b"]) == "a\nb"
    assert "<|endoftext|>" not in cut.split("<|endoftext|>")


def test_half_a_surrogate_pair_that_is_no_byte_becomes_a_question_mark():
    assert BPE([]).join(BPE([]).split("a\ud800 b\udcff")) == "a? b\ufffd"


def test_what_a_file_says_of_merges_is_checked():
    state = Vocabulary.build([], tokenizer=BPE([("a", "b")])).to_dict()
    for change in ({"merges": None}, {"merges": [["a"]]}, {"eos": None}, {"eos": 3}):
        with pytest.raises(ValueError, match="merge"):
            Vocabulary.from_dict(state | change)
    with pytest.raises(ValueError, match="needs the token 'bc'"):
        Vocabulary.from_dict(state | {"merges": [["b", "c"]]})


def test_a_tokeniser_forgets_words_and_not_merges(monkeypatch):
    monkeypatch.setattr(bpe, "MOST_KNOWN", 3)
    cut = BPE(BPE_OF_TEXT.merges)
    assert cut.join(cut.split(TEXT)) == TEXT
    assert len(cut._known) <= 3
    copy = pickle.loads(pickle.dumps(cut))
    assert copy.split(TEXT) == BPE_OF_TEXT.split(TEXT)

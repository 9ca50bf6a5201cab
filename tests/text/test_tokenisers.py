"""Cutting text into tokens and joining it again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnlp.text import TOKENISERS, sentences, tokeniser

split = TOKENISERS["words"].split
join = TOKENISERS["words"].join


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat's tail", ["the", "cat", "'s", "tail"]),
        ("I can't, we'll", ["i", "ca", "n't", ",", "we", "'ll"]),
        ("don’t", ["do", "n’t"]),
        ("say 'self' or 's'", ["say", "'", "self", "'", "or", "'", "s", "'"]),
        ("pi is 3.14, not 1,000.", ["pi", "is", "3.14", ",", "not", "1,000", "."]),
        ("in 1999.", ["in", "1999", "."]),
        (
            "call os.path.join(a, __init__)",
            ["call", "os.path.join", "(", "a", ",", "__init__", ")"],
        ),
        ("read-only; e.g. x_1", ["read-only", ";", "e.g.", "x_1"]),
        ("wait... a -- b", ["wait", "...", "a", "--", "b"]),
        ("f() -> x >= 2", ["f", "()", "->", "x", ">=", "2"]),
        ("naïve Straße", ["naïve", "straße"]),
        ("the <UNK> ends <eos>", ["the", "<unk>", "ends", "<eos>"]),
        ("", []),
        (" \t ", []),
    ],
)
def test_words_are_cut_as_a_reader_expects(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@settings(deadline=None)
@given(st.text())
def test_words_lose_no_character_but_white_space(text: str) -> None:
    assert "".join(split(text)) == "".join(text.lower().split())


@pytest.mark.parametrize(
    "text",
    [
        "it doesn't matter, does it?",
        'he said "no" and (then) left: see [1].',
        "call f() with 3.14 % of it... or so!",
        "a 'quoted' word; the cat's tail",
    ],
)
def test_joined_words_read_as_they_were_written(text: str) -> None:
    expected = text.replace(" %", "%")
    assert join(split(text)) == expected


def test_the_end_of_a_sentence_becomes_a_line_break_and_forgets_open_quotes() -> None:
    assert join(['"', "yes", "<eos>", '"', "no", '"']) == '"yes\n"no"'


def test_whitespace_tokens_survive_the_way_there_and_back() -> None:
    cut = TOKENISERS["whitespace"]
    lines = ["the <unk> 's N plans", "", "are off"]
    assert cut.join(cut.stream(lines)) == "\n".join(lines) + "\n"


def test_characters_survive_the_way_there_and_back() -> None:
    cut = TOKENISERS["chars"]
    assert cut.join(cut.stream(["Ä b", "", "c"])) == "Ä b\n\nc\n"


def test_an_unknown_tokeniser_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="expected one of words, cased, chars, whitespace"):
        tokeniser("letters")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three? four"]),
        ('He said "No." Then\nhe left.', ['He said "No."', "Then he left."]),
        ("See e.g. Knuth, i.e. Him.", ["See e.g. Knuth, i.e. Him."]),
        ("D. E. Knuth wrote it. (He did.) So.", ["D. E. Knuth wrote it.", "(He did.)", "So."]),
        ("Version 3.11 is out. 3.12 too.", ["Version 3.11 is out.", "3.12 too."]),
        ("a title\n \n\nand more", ["a title", "and more"]),
        ("", []),
    ],
)
def test_sentences_end_where_a_reader_sees_an_end(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected

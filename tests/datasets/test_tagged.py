"""Text whose tags say how its words are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepnlp.datasets import TAGS, TaggedText, load_tagged
from deepnlp.datasets.files import SOURCES
from deepnlp.datasets.tagged import restored, tag_of, written_words
from deepnlp.text import TOKENISERS, Vocabulary
from tests.datasets.conditions import needs
from tests.datasets.parts import first_lines, sentences_of_a_part


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("word", "tag"),
    [
        ("the", "lower"), ("The", "capital"), ("I", "capital"), ("USA", "upper"),
        ("U.S.", "upper"), ("iPhone", "mixed"), ("McDonald", "mixed"), ("1st", "lower"),
        ("Élan", "capital"), ("ÉLAN", "upper"), ("x86", "lower"), ("X86", "capital"),
        ("Self-Portrait", "mixed"), ("'s", "lower"), ("N'T", "upper"), (".", "lower"),
    ],
)  # fmt: skip
def test_how_a_word_is_written(word: str, tag: str) -> None:
    assert tag_of(word) == tag
    if tag != "mixed":
        assert restored(word.lower(), tag) == word


def test_a_word_that_mixes_letters_is_left_as_it_is() -> None:
    assert restored("mcdonald", "mixed") == "mcdonald"


@settings(deadline=None)
@given(st.text())
def test_words_keep_their_letters(text: str) -> None:
    assert "".join(written_words(text)) == "".join(text.split())
    if len(text.lower()) == len(text):
        lower = [word.lower() for word in written_words(text)]
        assert "".join(lower) == "".join(TOKENISERS["words"].split(text))


def test_only_words_with_letters_have_a_tag() -> None:
    vocab = Vocabulary.build(["in", "1999", "<unk>", "nasa", ","])
    text = TaggedText("t", vocab, [("In", "1999", ",", "NASA", "<unk>", "Left", "_")], [], [])
    ((ids, tags),) = text.encoded("train")
    assert vocab.decode(ids) == ["in", "1999", ",", "nasa", "<unk>", "<unk>", "<unk>"]
    assert tags.tolist() == [TAGS.index("capital"), -1, -1, TAGS.index("upper"), -1, 1, -1]


def test_a_file_is_cut_into_sentences_and_divided(tmp_path: Path) -> None:
    lines = "".join(f"Paris has {k} cats. London does not have {k} dogs.\n" for k in range(30))
    path = write(tmp_path / "a.txt", lines + lines.upper())
    text = load_tagged(path)
    assert sum(map(len, text.splits.values())) == 30 + 60  # longer ones once, whatever the capitals
    assert ("Paris", "has", "0", "cats", ".") in {*text.train, *text.valid, *text.test}
    longer = [
        {tuple(map(str.lower, words)) for words in part if len(words) > 5}
        for part in text.splits.values()
    ]
    assert len(set().union(*longer)) == sum(map(len, longer)) == 30
    assert all(token == token.lower() for token in text.vocab.tokens)
    assert load_tagged(path).fingerprint == text.fingerprint
    assert load_tagged(path, data_seed=1).fingerprint != text.fingerprint
    assert load_tagged(path, vocab=text.vocab).fingerprint == text.fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [("One. Two.", "has 2 different sentences, expected at least 20"), ("", "is empty")],
)
def test_too_little_text(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_tagged(write(tmp_path / "a.txt", text))


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unknown text 'nothing': expected pydocs, wikitext-2"):
        load_tagged("nothing")
    with pytest.raises(FileNotFoundError, match="no file"):
        load_tagged(tmp_path / "a.txt")


def test_the_documentation_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepnlp.datasets.tagged.pydocs_sentences", sentences_of_a_part)
    text = load_tagged("pydocs")
    tags = np.concatenate([tags for _, tags in text.encoded("test")])
    assert 0.75 < (tags[tags >= 0] == 0).mean() < 0.95
    assert all((tags == k).any() for k in range(len(TAGS)))


@needs("wikitext-2/wiki.train.tokens.gz")
def test_wikitext_is_cut_into_sentences(tmp_path: Path) -> None:
    for (file,) in SOURCES["corpora"]["wikitext-2"]["files"].values():
        first_lines(file, 2_000, tmp_path)
    text = load_tagged("wikitext-2", data=tmp_path)
    assert not any(words[0] == "=" for words in text.train)
    assert sum(words[-1] in ".!?" for words in text.train) > 0.95 * len(text.train)
    assert np.mean([len(words) for words in text.train]) < 40


@needs("tatoeba/spa.txt.gz")
def test_the_english_side_of_the_translations(tmp_path: Path) -> None:
    """Of the first translations, which repeat the most sentences."""
    first_lines("tatoeba/spa.txt", 10_000, tmp_path)
    text = load_tagged("tatoeba-en", data=tmp_path)
    sides = [{tuple(map(str.lower, words)) for words in part} for part in text.splits.values()]
    assert len(set().union(*sides)) == sum(map(len, sides))

"""The corpus that every Python installation carries."""

import sysconfig
from pathlib import Path

import pytest

from deepnlp.datasets import Corpus, load_corpus
from deepnlp.datasets.pydocs import (
    docstrings,
    documents,
    english,
    keep_once,
    pydocs_sentences,
    split_of,
)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("pydocs")


@pytest.fixture
def part(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> Corpus:
    """The corpus of every tenth sentence."""
    sentences = {split: lines[::10] for split, lines in pydocs_sentences().items()}
    monkeypatch.setattr("deepnlp.datasets.loading.pydocs_sentences", lambda: sentences)
    return load_corpus("pydocs")


def long_sentences(corpus: Corpus, split: str) -> list[tuple[str, ...]]:
    text = " ".join(corpus.vocab.decode(corpus.splits[split]))
    found = [tuple(sentence.split()) for sentence in text.split("<eos>")]
    return [sentence for sentence in found if len(sentence) > 5]


def test_it_is_large_enough_to_learn_from(corpus: Corpus) -> None:
    assert corpus.tokens["train"] > 100_000
    assert min(corpus.tokens["valid"], corpus.tokens["test"]) > 5_000
    assert len(corpus.vocab) == 5_000
    assert "Python 3." in corpus.describe()


def test_no_longer_sentence_comes_twice_in_or_across_splits(corpus: Corpus) -> None:
    everything = [s for split in corpus.splits for s in long_sentences(corpus, split)]
    assert len(everything) > 5_000
    assert len(everything) == len(set(everything))


def test_it_is_the_same_again_and_with_its_own_vocabulary(part: Corpus) -> None:
    assert load_corpus("pydocs").fingerprint == part.fingerprint
    assert load_corpus("pydocs", vocab=part.vocab).fingerprint == part.fingerprint


def test_it_is_mostly_plain_english(corpus: Corpus) -> None:
    tokens = corpus.vocab.decode(corpus.train)
    assert sum(token.isalpha() for token in tokens) > 0.7 * len(tokens)
    assert ">>>" not in " ".join(tokens[:50_000])
    assert (corpus.train == corpus.vocab.unk_id).mean() < 0.06


def test_other_sizes_and_characters(part: Corpus) -> None:
    assert len(load_corpus("pydocs", vocab_size=300).vocab) == 300
    letters = load_corpus("pydocs", tokens="character")
    assert letters.vocab.token(letters.vocab.eos_id) == "\n"
    assert letters.tokens["train"] > 3 * part.tokens["train"]


def test_documents_are_modules_and_topics_but_no_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("argparse", "json/decoder", "test/one", "json/tests/two", "site-packages/three"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('"""A module that does something useful for other modules."""')
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    names = [name for name, _ in documents()]
    assert "topics.assert" in names
    modules = [name for name in names if not name.startswith("topics.")]
    assert sorted(modules) == ["argparse", "json.decoder"]
    assert {split_of(name) for name in names} == {"train", "valid", "test"}


def test_a_python_without_sources_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_paths", lambda: {"stdlib": str(tmp_path)})
    with pytest.raises(
        FileNotFoundError, match=r"holds none: use a Python installed with its \.py"
    ):
        list(documents())


def test_docstrings_are_found_wherever_a_definition_stands() -> None:
    source = b'''
"""Module."""
if True:
    class A:
        """Class
           A."""
        async def f(self):
            "Method."
            def inner():
                "Inner."
else:
    try:
        pass
    except ImportError:
        def g():
            "Handler."
x = "no docstring"
'''
    assert docstrings(source) == ["Module.", "Class\nA.", "Method.", "Inner.", "Handler."]
    assert docstrings(b"print 'Python 2'") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use ``x`` or :class:`~str` with **care**.", ["Use x or ~str with care."]),
        ("A list:\n\n* one thing\n* another\n  thing", ["A list:", "one thing", "another thing"]),
        ("Text first.\n>>> f(1)\nresult words\n\nMore text.", ["Text first.", "More text."]),
        ("x = foo(bar, 1) + {3: 4}\n\nIt works.", ["It works."]),
        ("name -- its name\nsize -- its size", ["name -- its name", "size -- its size"]),
        ("stmt ::= expr | other words here\n\nOf course.", ["Of course."]),
        ("Title\n-----\nBody text", ["Title", "Body text"]),
        ("", []),
    ],
)
def test_markup_and_code_are_left_out(text: str, expected: list[str]) -> None:
    assert english(text) == expected


def test_what_splits_share_stays_in_the_test_split() -> None:
    shared, only = tuple("abcdef"), tuple("ghijkl")
    kept = keep_once(
        {"train": [shared, only, only], "valid": [shared, ("a",)], "test": [shared, ("a",)]},
        key=tuple,
    )
    assert kept == {"train": [only], "valid": [("a",)], "test": [shared, ("a",)]}

"""gensim reads what we write, we read what gensim writes, and both measure the same."""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from deepnlp.datasets import load_analogies, load_similarity
from deepnlp.vectors import WordVectors, evaluate_analogies, evaluate_similarity
from tests.datasets.conditions import needs

models = pytest.importorskip("gensim.models")

pytestmark = [
    pytest.mark.parity,
    # gensim leaves files without a header open, and calls a function of its own that it deprecates
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Call to deprecated `init_sims`"),
]

RNG = np.random.default_rng(13)
WORDS = ["the", "naïve", "’s", "\u00a0", "<unk>", "7", *(f"w{i}" for i in range(30))]
MATRIX = RNG.normal(size=(len(WORDS), 9)).astype(np.float32)
FORMS = {
    "glove": {"binary": False, "no_header": True},
    "word2vec": {"binary": False},
    "word2vec-binary": {"binary": True},
}
NAMES = {"glove": "v.txt", "word2vec": "v.vec", "word2vec-binary": "v.bin"}


def gensim_vectors(words: list[str], matrix: np.ndarray):
    vectors = models.KeyedVectors(matrix.shape[1])
    vectors.add_vectors(words, matrix)
    return vectors


def save_with_gensim(vectors, path: Path, format: str) -> None:
    header = format != "glove"
    vectors.save_word2vec_format(path, binary=format == "word2vec-binary", write_header=header)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("format", FORMS)
def test_gensim_reads_what_we_write(tmp_path, format, packed):
    path = tmp_path / (NAMES[format] + packed)
    WordVectors(WORDS, MATRIX).save(path)
    theirs = models.KeyedVectors.load_word2vec_format(path, **FORMS[format])
    assert theirs.index_to_key == WORDS
    np.testing.assert_array_equal(theirs.vectors, MATRIX)


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("format", FORMS)
def test_we_read_what_gensim_writes(tmp_path, format, packed):
    words = list(WORDS)
    if format != "word2vec-binary":  # where a space ends the word
        words[3] = "new york"
    path = tmp_path / (NAMES[format] + packed)
    save_with_gensim(gensim_vectors(words, MATRIX), path, format)
    ours = WordVectors.load(path)
    assert ours.words == tuple(words)
    assert ours.matrix.tobytes() == MATRIX.tobytes()
    assert ours.notes == ()


def test_a_word_with_a_space_in_gensim_s_binary_file_is_refused(tmp_path):
    words = ["new york", *WORDS[1:]]
    save_with_gensim(gensim_vectors(words, MATRIX), tmp_path / "v.bin", "word2vec-binary")
    with pytest.raises(ValueError, match=r"v\.bin, byte \d+, vector \d+ of 36: "):
        WordVectors.load(tmp_path / "v.bin")


def test_neighbours_and_similarity_are_gensim_s(monkeypatch):
    ours, theirs = WordVectors(WORDS, MATRIX), gensim_vectors(WORDS, MATRIX)
    expected = theirs.most_similar("w3", topn=8)
    found = ours.neighbours("w3", k=8)
    assert [word for word, _ in found] == [word for word, _ in expected]
    assert dict(found) == pytest.approx(dict(expected), abs=1e-6)
    assert ours.similarity("w1", "w2") == pytest.approx(theirs.similarity("w1", "w2"), abs=1e-6)
    # 3CosAdd orders as gensim does; gensim gives the cosine with the mean of the three vectors
    mean = theirs.most_similar(positive=["w2", "w5"], negative=["w1"], topn=30)
    assert [word for word, _ in ours.analogy("w1", "w2", "w5", k=30)] == [word for word, _ in mean]
    monkeypatch.setattr("deepnlp.vectors.word_vectors.EPSILON", 1e-6)  # ours is the paper's
    product = theirs.most_similar_cosmul(positive=["w2", "w5"], negative=["w1"], topn=30)
    found = ours.analogy("w1", "w2", "w5", k=30, method="mul")
    assert [word for word, _ in found] == [word for word, _ in product]
    assert dict(found) == pytest.approx(dict(product), rel=1e-5)


def glove_file() -> Path:
    return Path(os.environ["DEEPNLP_DATA"]) / "glove/glove.6B.50d.subset9336.txt.gz"


@cache
def both_of_glove():
    """The vectors of GloVe, read by both: ours and gensim's."""
    theirs = models.KeyedVectors.load_word2vec_format(glove_file(), no_header=True)
    return WordVectors.load(glove_file()), theirs


@pytest.mark.parametrize("name", ["EN-SIMLEX-999.txt", "EN-WS-353-ALL.txt", "EN-MEN-TR-3k.txt"])
@needs("glove/glove.6B.50d.subset9336.txt.gz")
def test_rho_is_gensim_s(name):
    path = Path(os.environ["DEEPNLP_DATA"]) / "wordsim" / name
    vectors, theirs = both_of_glove()
    _, (rho, _), missing = theirs.evaluate_word_pairs(path)
    ours = evaluate_similarity(vectors, load_similarity(path))
    assert ours.rho == pytest.approx(rho, abs=1e-5)
    assert 100 * (1 - ours.coverage) == pytest.approx(missing, abs=1e-9)


@pytest.mark.parametrize("restrict", [2000, 9336])
@needs("glove/glove.6B.50d.subset9336.txt.gz")
def test_analogies_are_gensim_s(restrict):
    path = Path(os.environ["DEEPNLP_DATA"]) / "analogy/questions-words.txt"
    vectors, theirs = both_of_glove()
    _, sections = theirs.evaluate_word_analogies(path, restrict_vocab=restrict)
    ours = evaluate_analogies(vectors, load_analogies("google"), restrict=restrict)
    expected = {s["section"]: (len(s["correct"]), len(s["incorrect"])) for s in sections[:-1]}
    found = {s.section: (s.correct, s.covered - s.correct) for s in ours.sections}
    assert {name: counts for name, counts in found.items() if any(counts)} == {
        name: counts for name, counts in expected.items() if any(counts)
    }
    assert ours.total.covered > 500

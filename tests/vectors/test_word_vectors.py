"""Neighbours, and what a WordVectors refuses."""

import numpy as np
import pytest

from deepnlp.vectors import WordVectors
from deepnlp.vectors import word_vectors as module

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_neighbours_are_the_largest_cosines(dtype, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 10)  # norms in several blocks
    matrix = RNG.normal(size=(23, 7)).astype(dtype)
    vectors = WordVectors([f"w{i}" for i in range(23)], matrix)
    cosines = matrix @ matrix[4] / np.linalg.norm(matrix, axis=1) / np.linalg.norm(matrix[4])
    order = [i for i in np.argsort(-cosines) if i != 4]
    found = vectors.neighbours("w4", k=5)
    assert [word for word, _ in found] == [f"w{i}" for i in order[:5]]
    assert [value for _, value in found] == pytest.approx(cosines[order[:5]], abs=1e-6)
    assert len(vectors.neighbours("w4", k=100)) == 22
    by_vector = vectors.neighbours(matrix[4] * 3, k=6)
    assert by_vector[0] == ("w4", pytest.approx(1, abs=1e-6))
    assert [word for word, _ in by_vector[1:]] == [word for word, _ in found]
    assert vectors.similarity("w4", "w9") == pytest.approx(cosines[9], abs=1e-6)


def test_one_word():
    vectors = WordVectors(["a"], [[1.0]])
    assert vectors.neighbours("a") == []
    assert vectors.neighbours(np.array([-2.0])) == [("a", -1.0)]


def test_vectors_of_zeros_stand_last_but_not_among_the_opposite():
    vectors = WordVectors(["a", "zero", "b"], [[1.0, 0], [0, 0], [-1, 0]])
    assert vectors.neighbours("a") == [("zero", 0.0), ("b", -1.0)]
    assert vectors.neighbours("zero") == [("a", 0.0), ("b", 0.0)]
    assert vectors.neighbours(np.zeros(2), k=1) == [("a", 0.0)]


def test_a_model_s_float16_and_large_numbers():
    large = np.array([[3e38, 3e38], [3e38, -3e38]], np.float32)
    assert WordVectors(["a", "b"], large).similarity("a", "a") == pytest.approx(1)
    half = WordVectors(["a", "b"], np.array([[300, 300], [300, 0]], np.float16))
    assert half.neighbours("a")[0][1] == pytest.approx(0.5**0.5, abs=1e-2)


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a"], [[1.0], [2.0]], r"for 1 words, got shape \(2, 1\)"),
        (["a", "b", "a"], [[1.0], [2.0], [3.0]], "'a' is repeated"),
        (["a"], [1.0], r"expected a matrix \(V, D\).*got shape \(1,\)"),
        (["a"], [[1]], "got shape .* of int64"),
        (["a"], np.ones((1, 0)), "got shape"),
    ],
)
def test_what_is_no_word_vectors(words, matrix, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(words, matrix)


def test_unknown_words_and_other_lengths():
    vectors = WordVectors(["paris", "rome"], [[1.0, 2.0], [3.0, -1.0]])
    for call in (
        lambda: vectors["Paris"],
        lambda: vectors.neighbours("Paris"),
        lambda: vectors.similarity("rome", "Paris"),
        lambda: vectors.analogy("rome", "Paris", "rome"),
    ):
        with pytest.raises(ValueError, match="'Paris' is not among the 2 words; there is 'paris'"):
            call()
    with pytest.raises(ValueError, match=r"'Oslo' is not among the 2 words$"):
        vectors.row("Oslo")
    with pytest.raises(ValueError, match=r"with D = 2, got shape \(1, 3\)"):
        vectors.neighbours(np.ones(3))
    with pytest.raises(ValueError, match="k should be 1 or more, got 0"):
        vectors.neighbours("rome", k=0)
    with pytest.raises(ValueError, match="count should be 1 or more, got 0"):
        vectors.head(0)


def test_the_words_at_the_head():
    vectors = WordVectors(["a", "b", "c"], np.eye(3))
    assert vectors.head(2).words == ("a", "b")
    assert vectors.head(9).words == ("a", "b", "c")
    assert np.shares_memory(vectors.head(2).matrix, vectors.matrix)
    assert repr(vectors) == "WordVectors(3 words, D = 3)"


def test_a_number_that_is_not_finite_is_named():
    matrix = np.ones((3, 2))
    matrix[1, 0] = np.inf
    with pytest.raises(ValueError, match=r"the vector of 'b' holds .*\(1 of 3 vectors do\)"):
        WordVectors(["a", "b", "c"], matrix).neighbours("a")


@pytest.mark.parametrize("options", [{}, {"limit": 1}, {"words": {"cat"}}])
@pytest.mark.parametrize("array", [np.float32(1), np.ones(1, "f4")], ids=["number", "row"])
def test_an_array_without_rows_is_refused(tmp_path, array, options):
    np.save(tmp_path / "v.npy", array)
    (tmp_path / "v.words.json").write_text('["cat"]', encoding="utf-8")
    with pytest.raises(ValueError, match=r"v\.npy: WordVectors: expected a matrix \(V, D\)"):
        WordVectors.load(tmp_path / "v.npy", **options)

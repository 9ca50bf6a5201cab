"""Spearman's rho with coverage, and the files of similarity sets."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from deepnlp.datasets import load_similarity
from deepnlp.vectors import WordPairs, WordVectors, evaluate_similarity
from tests.datasets.conditions import needs

RNG = np.random.default_rng(3)


def some_vectors(V: int = 30, D: int = 5) -> WordVectors:
    return WordVectors([f"w{v}" for v in range(V)], RNG.normal(size=(V, D)))


def pairs_of(*triples: tuple[str, str, float]) -> WordPairs:
    return WordPairs("some", triples)


# --- rho ---------------------------------------------------------------------------------------


def rank(values: np.ndarray) -> np.ndarray:
    """Ranks by counting: how many are smaller, and half of those that are equal."""
    return (values[:, None] > values).sum(1) + ((values[:, None] == values).sum(1) - 1) / 2


@pytest.mark.parametrize("levels", [4, 1000])
def test_rho_is_the_correlation_of_the_ranks(levels):
    vectors = some_vectors()
    rows = RNG.integers(30, size=(50, 2))
    ratings = RNG.integers(levels, size=50).astype(float)  # of 4 levels many are tied
    words = [(f"w{i}", f"w{j}", r) for (i, j), r in zip(rows, ratings)]
    score = evaluate_similarity(vectors, pairs_of(*words))
    cosines = np.array([vectors.similarity(a, b) for a, b, _ in words])
    assert score.rho == pytest.approx(np.corrcoef(rank(cosines), rank(ratings))[0, 1], abs=1e-12)
    assert (score.name, score.covered, score.total, score.coverage) == ("some", 50, 50, 1.0)


def test_pairs_with_a_missing_word_are_left_out_and_counted():
    vectors = some_vectors(6)
    known = [("w0", "w1", 1.0), ("w2", "w3", 2.0), ("w4", "w5", 3.0)]
    alone = evaluate_similarity(vectors, pairs_of(*known))
    more = evaluate_similarity(vectors, pairs_of(("w0", "x", 9.0), *known, ("x", "y", 8.0)))
    assert more.rho == alone.rho
    assert (more.covered, more.total, more.coverage) == (3, 5, 0.6)


def test_words_are_found_as_written_then_in_lower_case():
    vectors = WordVectors(["Paris", "paris", "rome", "Unk"], np.eye(4))
    assert [vectors.find(w) for w in ("Paris", "paris", "Rome", "PARIS", "unk", "oslo")] == [
        0, 1, 2, 1, -1, -1,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pairs",
    [
        (),
        (("w0", "w1", 1.0),),
        (("x", "y", 1.0), ("x", "z", 2.0)),
        (("w0", "w1", 5.0), ("w2", "w3", 5.0)),  # ratings all alike
        (("w0", "w0", 1.0), ("w0", "w0", 2.0)),  # cosines all alike
    ],
)
def test_too_few_pairs_give_no_number(pairs):
    score = evaluate_similarity(some_vectors(), pairs_of(*pairs))
    assert math.isnan(score.rho)
    assert all(math.isnan(bound) for bound in score.interval)
    assert score.total == len(pairs)


def test_a_word_of_zeros_is_like_no_other():
    vectors = WordVectors(["zero", "a", "b"], [[0.0, 0.0], [1.0, 2.0], [-2.0, 1.0]])
    assert vectors.similarity("zero", "a") == 0
    assert vectors.similarity("zero", "zero") == 0


def test_the_interval_is_about_that_of_the_bootstrap():
    vectors = some_vectors(400, 3)
    rows = RNG.integers(400, size=(300, 2))
    cosines = np.array([vectors.similarity(f"w{i}", f"w{j}") for i, j in rows])
    ratings = np.round(5 + 3 * cosines + 2 * RNG.normal(size=300), 1)
    score = evaluate_similarity(
        vectors, pairs_of(*((f"w{i}", f"w{j}", r) for (i, j), r in zip(rows, ratings)))
    )
    draws = RNG.integers(300, size=(400, 300))
    rhos = [np.corrcoef(rank(cosines[k]), rank(ratings[k]))[0, 1] for k in draws]
    low, high = score.interval
    assert low < score.rho < high
    assert [low, high] == pytest.approx(np.percentile(rhos, [2.5, 97.5]), abs=0.04)


# --- Files -------------------------------------------------------------------------------------


def read(tmp_path: Path, content: bytes) -> WordPairs:
    path = tmp_path / "pairs.txt"
    path.write_bytes(content)
    return load_similarity(path)


@pytest.mark.parametrize(
    "content",
    [
        b"sun moon 4.5\nsea boat 10\n",
        b"sun\tmoon\t4.5\nsea\tboat\t10",
        b"sun\tmoon\t4.5\t4\t5\nsea\tboat\t10\t\n",  # ragged ratings of single people
        b"Word 1,Word 2,Human (mean)\r\nsun,moon,4.5\r\nsea,boat,10\r\n",
        b"\xef\xbb\xbfword1\tword2\tPOS\tScore\tconc\r\nsun\tmoon\tN\t4.5\t1\r\nsea\tboat\tN\t10\t2\n",
    ],
)
def test_the_forms_of_a_similarity_file(tmp_path, content):
    found = read(tmp_path, content)
    assert found.name == "pairs.txt"
    assert found.pairs == (("sun", "moon", 4.5), ("sea", "boat", 10.0))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"sun moon\n", "holds no pair"),
        (b"a header\nsun moon\n", "line 2: expected two words and a rating, got 'sun moon'"),
        (b"sun moon 4\nsea boat\n", "line 2: expected two words and a rating in column 3"),
        (b"sun moon 4\nsea boat many\n", "line 2: expected two words and a rating in column 3"),
        (b"sun moon 4\nsea boat nan\n", "line 2"),
        (b"sun moon 4\n\nsea boat 3\n", "line 2"),
        (b"sun\tmoon\tN\t4\nsea\tboat\t3\n", "line 2: expected two words and a rating in column 4"),
        (b"sun,,4\n", "line 1"),
        (b"sun moon 4\nna\xefve boat 3\n", "not UTF-8"),
    ],
)
def test_broken_similarity_files(tmp_path, content, message):
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path, content)
    assert "pairs.txt" in str(error.value)


def test_unknown_sets_and_missing_files(tmp_path):
    with pytest.raises(ValueError, match=r"unknown similarity set 'simplex': expected simlex, men"):
        load_similarity("simplex")
    with pytest.raises(FileNotFoundError, match=r"check the path of the similarity set"):
        load_similarity(tmp_path / "none.txt")
    with pytest.raises(FileNotFoundError, match=r"missing SimLex-999.txt"):
        load_similarity("simlex", data=tmp_path)


KNOWN = {
    "simlex": (999, 1028, 0.23, 9.8),
    "men": (3000, 751, 0, 50),
    "rw": (2034, 2951, 0, 10),
    "wordsim353": (353, 437, 0.23, 10),
    "wordsim353-sim": (203, 277, 0.23, 10),
    "wordsim353-rel": (252, 346, 0.23, 8.81),
}


@pytest.mark.parametrize("name", KNOWN)
@needs("wordsim/SimLex-999.txt")
def test_the_known_sets(name):
    found = load_similarity(name)
    ratings = [rating for _, _, rating in found.pairs]
    words = {word for pair in found.pairs for word in pair[:2]}
    assert (len(found.pairs), len(words), min(ratings), max(ratings)) == KNOWN[name]
    assert found.name == name


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("simlex", "EN-SIMLEX-999.txt"),
        ("rw", "EN-RW-STANFORD.txt"),
        ("wordsim353", "EN-WS-353-ALL.txt"),
        ("wordsim353", "wordsim353.combined.tab"),
    ],
)
@needs("wordsim/SimLex-999.txt")
def test_other_forms_of_a_set_hold_the_same_pairs(name, file):
    path = Path(os.environ["DEEPNLP_DATA"]) / "wordsim" / file
    assert sorted(load_similarity(path).pairs) == sorted(load_similarity(name).pairs)

"""Word vectors from files."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from deepnlp.datasets import load_vectors
from deepnlp.text import Vocabulary
from tests.datasets.conditions import needs

VOCAB = Vocabulary.build(["cat", "cat", "cat", "dog", "dog", "bee"])
ROWS = "dog 1 -2 0.5\nelk 9 9 9\ncat -0.25 1e-2 3\n"


def load(path: Path, text: str) -> tuple[np.ndarray, np.ndarray]:
    path.write_bytes(text.encode("utf-8"))
    return load_vectors(path, VOCAB, rng=np.random.default_rng(0))


@pytest.mark.parametrize("header", ["", "3 3\n", "99999 3\n"])
def test_vectors_stand_in_the_order_of_the_vocabulary(tmp_path: Path, header: str) -> None:
    W, found = load(tmp_path / "v.txt", header + ROWS)
    assert W.shape == (5, 3)
    assert W.dtype == np.float32
    np.testing.assert_array_equal(W[:2], np.array([[-0.25, 0.01, 3], [1, -2, 0.5]], np.float32))
    assert found.tolist() == [True, True, False, False, False]


def test_gzip_trailing_spaces_and_words_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(b"cat 1 2 \n. . 3 4\nat home 5 6\ndog 7 8\n"))
    W, found = load_vectors(path, VOCAB)
    assert W[found].tolist() == [[1, 2], [7, 8]]


def test_the_first_of_two_vectors_counts(tmp_path: Path) -> None:
    W, _ = load(tmp_path / "v.txt", "cat 1 2\ncat 3 4\n")
    assert W[0].tolist() == [1, 2]


def test_missing_words_are_drawn_with_the_spread_of_those_found(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    known = rng.normal(0, 0.3, size=(400, 25))
    path = tmp_path / "v.txt"
    path.write_text(
        "".join(f"w{i} {' '.join(map(str, row))}\n" for i, row in enumerate(known)),
        encoding="utf-8",
    )
    vocab = Vocabulary.build([f"w{i}" for i in range(800)])
    W, found = load_vectors(path, vocab, rng=np.random.default_rng(1))
    again, _ = load_vectors(path, vocab, rng=np.random.default_rng(1))
    assert found.sum() == 400
    assert W[~found].std() == pytest.approx(known.std(), rel=0.05)
    assert np.array_equal(W, again)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat 1 2\ndog 3\n", r"2 numbers \(3 fields\), got 2 fields"),
        ("cat 1 2\ndog 3 4 5\n", r"2 numbers \(3 fields\), got 4 fields"),
        ("2 3\ncat 1 2\n", r"3 numbers \(4 fields\), got 3 fields"),
        ("cat 1 2\n\ndog 3 4\n", "line 2: expected a word and 2 numbers"),
        ("cat\n", "line 1: expected a word and one or more numbers, got 1 field"),
        ("elk 1 2\ncat 1 two\n", "line 2: expected 2 finite numbers"),
        ("cat 1 nan\n", "line 1: expected 2 finite numbers"),
        ("elk 1 2\n", "holds none of the 5 words"),
        ("", "holds no vectors"),
    ],
)
def test_broken_files_are_errors_that_name_file_and_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message) as error:
        load(tmp_path / "v.txt", text)
    assert "v.txt" in str(error.value)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file"):
        load_vectors(tmp_path / "none.txt", VOCAB)


@needs("glove/glove50_4k.txt")
def test_a_header_that_counts_wrongly_does_not_matter() -> None:
    path = Path(os.environ["DEEPNLP_DATA"]) / "glove/glove50_4k.txt"
    lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")[1:]
    vocab = Vocabulary.build([line.split(" ")[0] for line in lines])
    W, found = load_vectors(path, vocab)
    assert W.shape[1] == 50
    assert found.sum() == len(lines) == 4197

"""word2vec's binary files and NumPy's, well-formed and hostile."""

import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from deepnlp.vectors import WordVectors
from tests.cases import together
from tests.vectors.files import ROWS, binary, written


def read(folder: Path, content: bytes, name: str = "v.bin", **options) -> WordVectors:
    return WordVectors.load(written(folder, name, content), **options)


# --- word2vec's binary format ------------------------------------------------------------------


@pytest.mark.parametrize("end", [b"\n", b""], ids=["C", "gensim"])
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_both_forms_of_a_binary_file(tmp_path, end, packed):
    content = binary(ROWS, end=end)
    if packed:
        found = read(tmp_path, gzip.compress(content), "v.bin.gz")
    else:
        found = read(tmp_path, content)
    assert [(word, tuple(found[word].tolist())) for word in found.words] == ROWS
    assert found.matrix.dtype == np.float32
    assert found.notes == ()


def test_one_vector_of_one_number(tmp_path):
    assert read(tmp_path, binary([("cat", (2.5,))]))["cat"].tolist() == [2.5]


def test_a_number_that_looks_like_a_space_or_a_line_break(tmp_path):
    tricky = struct.unpack("<2f", b"\n\n\x20\x20\x20\x0a\x20\x0a")
    for end in (b"\n", b""):
        found = read(tmp_path, binary([("a", tricky), ("b", tricky)], end=end))
        assert found.words == ("a", "b")
        assert found["b"].tolist() == list(tricky)


def test_of_two_vectors_the_first_counts(tmp_path):
    found = read(tmp_path, binary([*ROWS, ("dog", (9, 9, 9))]))
    assert found["dog"].tolist() == [3.0, 0.25, -4.0]
    assert found.notes == (
        f"repeated words: 1, the first at byte {4 + 3 * 17}, vector 4 of 4 ('dog'); "
        "the first vector of a word counts",
    )


def test_some_of_the_vectors(tmp_path):
    content = binary(ROWS)
    assert read(tmp_path, content, limit=2).words == ("cat", "dog")
    assert read(tmp_path, content, words={"bee", "dog"}).words == ("dog", "bee")
    assert read(tmp_path, content[:-9], limit=2).words == ("cat", "dog")
    assert read(tmp_path, content, "odd.name", format="word2vec-binary").words[0] == "cat"


START = len(b"3 3\n")
ROW = len(b"cat ") + 12
HOSTILE = {
    "an empty file": (b"", "byte 0: expected a header"),
    "no header": (b"cat dog\n", "byte 0: expected a header of two whole numbers, count and D"),
    "one number": (b"3\n", "byte 0: expected a header"),
    "a header without an end": (b"3 3", "byte 0: expected a header"),
    "an endless header": (b"3" * 100_000, "byte 0: expected a header"),
    "a negative count": (binary(ROWS, "-3 3"), "byte 0: expected a header"),
    "a count of 0": (binary(ROWS, "0 3"), "byte 0: expected a header"),
    "a dimension of 0": (binary(ROWS, "3 0"), "byte 0: expected a header"),
    "a fastText model": (b"\xba\x16\x4f\x2f\x0c\0\0\0" * 20, "byte 0: expected a header"),
    "a pickle": (b"\x80\x04\x95\x15\0\0\0\0\0\0\0\x8c\x06gensim\x94.", "byte 0: expected a header"),
    "an absurd count": (
        binary(ROWS, f"{10**18} 3"),
        "vector 4 of 1,000,000,000,000,000,000: the file ends there",
    ),
    "an absurd dimension": (binary(ROWS, f"3 {10**12}"), "byte 0: expected a header"),
    "a count too large": (binary(ROWS, "4 3"), r"vector 4 of 4: the file ends there"),
    "a count too small": (
        binary(ROWS, "2 3"),
        f"byte {START + 2 * ROW + 2}: the header says 2 vectors, but more follows",
    ),
    "a dimension too large": (binary(ROWS, "3 4"), "byte "),
    "a dimension too small": (binary(ROWS, "3 2"), "byte "),
    "the header alone": (b"3 3\n", "byte 4, vector 1 of 3: the file ends there"),
    "cut in a word": (
        binary(ROWS)[: START + ROW + 3],
        f"byte {START + ROW + 1}, vector 2 of 3: the file ends in the middle",
    ),
    "cut in a vector": (
        binary(ROWS)[:-4],
        f"byte {START + 2 * (ROW + 1)}, vector 3 of 3: the file ends in the middle",
    ),
    "cut between vectors": (
        binary(ROWS)[: START + ROW],
        f"byte {START + ROW}, vector 2 of 3: the file ends there",
    ),
    "a word without an end": (
        b"1 3\n" + b"x" * 200_000,
        "byte 4, vector 1 of 1: no space after a word",
    ),
    "no word": (binary([("", (1, 2, 3))]), "byte 4, vector 1 of 1: expected a word"),
    "a NUL in a word": (binary([(b"c\0t", (1, 2, 3))]), "byte 4, vector 1 of 1: .*NUL"),
    "a word with a space": (binary([("new york", (1, 2, 3)), *ROWS]), "byte "),
    "not a number": (
        binary([ROWS[0], ("dog", (1, float("nan"), 3))], end=b""),
        f"byte {START + ROW}, vector 2 of 2: expected 3 finite numbers after 'dog'",
    ),
    "infinity": (
        binary([("dog", (1, 2, float("inf")))]),
        "vector 1 of 1: expected 3 fin",
    ),
    "text": (b"2 3\ncat 1 2 3\ndog 4 5 6\n", "byte "),
}


@together(packed=[False, True], case=HOSTILE)
def test_hostile_files_are_refused_with_the_byte(tmp_path, case, packed):
    content, message = HOSTILE[case]
    name = "v.bin.gz" if packed else "v.bin"
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path, gzip.compress(content) if packed else content, name)
    assert str(tmp_path / name) in str(error.value)


def test_broken_gzip_files(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(f"w{i}", tuple(rng.normal(size=5))) for i in range(2000)]
    whole = gzip.compress(binary(rows))
    for content in (whole[:-4], whole[: len(whole) // 2], b"3 3\n"):
        with pytest.raises(ValueError, match="is not a whole gzip file"):
            read(tmp_path, content, "v.bin.gz")


@pytest.mark.parametrize("name", ["v.bin", "v.bin.gz"])
def test_what_is_written_is_read_bit_for_bit(tmp_path, name):
    matrix = np.random.default_rng(1).normal(size=(30, 7)).astype(np.float32)
    words = ["na\u00efve", "\u3000", *(f"w{i}" for i in range(28))]
    WordVectors(words, matrix.astype(np.float64)).save(tmp_path / name)
    found = WordVectors.load(tmp_path / name)
    assert found.words == tuple(words)
    assert found.matrix.tobytes() == matrix.tobytes()


def test_the_bytes_of_a_binary_file(tmp_path):
    words, matrix = [w for w, _ in ROWS], np.array([x for _, x in ROWS])
    WordVectors(words, matrix).save(tmp_path / "v.bin")
    assert (tmp_path / "v.bin").read_bytes() == binary(ROWS, end=b"\n")


# --- NumPy's format, with the words beside it ---------------------------------------------------

ODD_WORDS = ["", " ", "a b", "a\nb", "a\0b", "7", "na\u00efve"]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numpy_files_hold_every_word_and_are_memory_mapped(tmp_path, dtype):
    matrix = np.random.default_rng(2).normal(size=(7, 4)).astype(dtype)
    WordVectors(ODD_WORDS, matrix).save(tmp_path / "v.npy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.npy", "v.words.json"]
    found = WordVectors.load(tmp_path / "v.npy")
    assert isinstance(found.matrix, np.memmap)
    assert not found.matrix.flags.writeable
    assert found.words == tuple(ODD_WORDS)
    assert found.matrix.dtype == dtype
    assert found.matrix.tobytes() == matrix.tobytes()
    assert found.neighbours("a b", k=6) == WordVectors(ODD_WORDS, matrix).neighbours("a b", k=6)
    assert isinstance(found.head(3).matrix, np.memmap)
    assert WordVectors.load(tmp_path / "v.npy", limit=3).words == tuple(ODD_WORDS[:3])
    some = WordVectors.load(tmp_path / "v.npy", words={"7", "a b"})
    assert some.words == ("a b", "7")
    np.testing.assert_array_equal(some["7"], matrix[5])


def test_a_file_is_replaced_by_what_was_read_from_it(tmp_path):
    matrix = np.random.default_rng(2).normal(size=(3, 4))
    for name in ("v.npy", "v.txt", "v.bin"):
        path = tmp_path / name
        WordVectors(["a", "b", "c"], matrix).save(path)
        WordVectors.load(path).head(2).save(path)
        assert WordVectors.load(path).words == ("a", "b")
        np.testing.assert_allclose(WordVectors.load(path).matrix, matrix[:2], atol=1e-6)


def make_npy(folder: Path) -> Path:
    WordVectors(["cat", "dog"], np.ones((2, 3), np.float32)).save(folder / "v.npy")
    return folder / "v.npy"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (None, r"v\.words\.json"),
        (b"{", r"v\.words\.json.*expected a JSON list of words"),
        (b"\xff", r"v\.words\.json.*expected a JSON list of words"),
        (b'{"cat": 0}', "expected a JSON list of words"),
        (b'["cat", 5]', "expected a JSON list of words"),
        (b'["cat"]', r"for 1 words, got shape \(2, 3\)"),
        (b'["cat", "cat"]', "'cat' is repeated"),
    ],
)
def test_words_that_do_not_fit_the_matrix(tmp_path, words, message):
    path = make_npy(tmp_path)
    beside = tmp_path / "v.words.json"
    if words is None:
        beside.unlink()
        with pytest.raises(FileNotFoundError, match=message):
            WordVectors.load(path)
    else:
        beside.write_bytes(words)
        with pytest.raises(ValueError, match=message) as error:
            WordVectors.load(path)
        assert str(tmp_path) in str(error.value)


def test_broken_numpy_files(tmp_path):
    path = make_npy(tmp_path)
    whole = path.read_bytes()
    for content in (b"", b"no array", whole[:40], whole[:-1], b"\x93NUMPY\x01\0\xff\xff{"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"v\.npy is damaged, or no array of NumPy"):
            WordVectors.load(path)
    for array in (np.ones(2), np.ones((2, 3), int), np.ones((2, 0)), np.array([["a"], ["b"]])):
        np.save(path, array)
        with pytest.raises(ValueError, match=r"v\.npy: .*expected a matrix \(V, D\)"):
            WordVectors.load(path)
    np.save(path, np.array([{}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"v\.npy is damaged"):
        WordVectors.load(path)


def test_numbers_that_are_not_finite_are_found_when_they_are_used(tmp_path):
    matrix = np.ones((4, 3), np.float32)
    matrix[2, 1] = np.nan
    np.save(tmp_path / "v.npy", matrix)
    (tmp_path / "v.words.json").write_text(json.dumps(list("abcd")), encoding="utf-8")
    vectors = WordVectors.load(tmp_path / "v.npy")
    with pytest.raises(ValueError, match="the vector of 'c' holds a number that is not finite"):
        vectors.neighbours("a")

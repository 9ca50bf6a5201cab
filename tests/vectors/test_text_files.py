"""Text files of word vectors, well-formed and hostile."""

import gzip
import os
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from deepnlp.vectors import WordVectors
from tests.cases import together
from tests.datasets.conditions import needs
from tests.vectors.files import written


def read(folder: Path, content: bytes, name: str = "v.txt", **options) -> WordVectors:
    return WordVectors.load(written(folder, name, content), **options)


def as_dict(vectors: WordVectors) -> dict[str, list[float]]:
    return {word: vectors[word].tolist() for word in vectors.words}


TWO = {"cat": [0.5, -1.0], "dog": [0.25, 20.0]}

# --- What is read ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"cat 0.5 -1\ndog .25 2e1\n",
        b"cat 0.5 -1\ndog .25 2e1",  # no line break at the end
        b"cat 0.5 -1 \ndog .25 2e1 \n",  # as word2vec's C code writes it
        b"cat 0.5 -1\r\ndog .25 2e1\r\n",
        b"\xef\xbb\xbfcat 0.5 -1\ndog .25 2e1\n",
        b"2 2\ncat 0.5 -1\ndog .25 2e1\n",
        b"2 2\r\ncat 0.5 -1\r\ndog .25 2e1\r\n",
        b"\xef\xbb\xbf2 2 \ncat 0.5 -1\ndog .25 2e1\n",
    ],
)
def test_the_forms_of_a_text_file(tmp_path, content):
    for name, packed in (("v.txt", content), ("v.vec.gz", gzip.compress(content))):
        found = read(tmp_path, packed, name)
        assert as_dict(found) == TWO
        assert found.matrix.dtype == np.float32
        assert found.notes == ()


@pytest.mark.parametrize(
    ("count", "note"),
    [
        ("1", "the header's count is 1, the file holds 2 vectors"),
        ("0", "the header's count is 0, the file holds 2 vectors"),
        ("2519370", "the header's count is 2,519,370, the file holds 2 vectors"),
        ("9" * 30, f"the header's count is {int('9' * 30):,}, the file holds 2 vectors"),
    ],
)
def test_a_header_that_counts_wrongly_is_noted(tmp_path, count, note):
    found = read(tmp_path, f"{count} 2\ncat 0.5 -1\ndog .25 20\n".encode())
    assert as_dict(found) == TWO
    assert found.notes == (note,)


def test_of_two_vectors_the_first_counts(tmp_path):
    content = b"4 2\ncat 0.5 -1\ncat 9 9\ndog .25 20\ncat 8 8\ndog 7 7\n"
    found = read(tmp_path, content)
    assert as_dict(found) == TWO
    assert found.notes == (
        "the header's count is 4, the file holds 5 vectors",
        "repeated words: 3, the first at line 3 ('cat'); the first vector of a word counts",
    )


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (b"new york 1 2", "new york"),
        (b". . . 1 2", ". . ."),
        (b"at name@domain.com 1 2", "at name@domain.com"),
        (b"7 1 2", "7"),
        (b"1e5 1 2", "1e5"),
        (b"nan 1 2", "nan"),
        (b"<unk> 1 2", "<unk>"),
        ("na\u00efve 1 2".encode(), "na\u00efve"),
        ("a\u00a0b 1 2".encode(), "a\u00a0b"),  # a space that separates nothing
        ("\u0085 1 2".encode(), "\u0085"),  # ends a line for str.splitlines
        ("\u2028 1 2".encode(), "\u2028"),
        ("\u3000 1 2".encode(), "\u3000"),
        (b"a\tb 1 2", "a\tb"),
        (b"a\rb 1 2", "a\rb"),
        (b"a\x0cb 1 2", "a\x0cb"),
    ],
)
@together(place=["first", "second", "header"])
def test_words_of_every_kind(tmp_path, line, word, place):
    before = {"first": b"", "second": b"cat 3 4\n", "header": b"2 2\ncat 3 4\n"}[place]
    found = read(tmp_path, before + line + b"\ndog 5 6\n")
    assert found[word].tolist() == [1, 2]
    assert found.words[-1] == "dog"


def test_the_first_vectors_only(tmp_path):
    content = b"9 2\ncat 0.5 -1\ncat 1 1\ndog .25 20\nelk broken\n"
    assert as_dict(read(tmp_path, content, limit=2)) == TWO
    assert read(tmp_path, content, limit=1).words == ("cat",)
    with pytest.raises(ValueError, match="limit should be 1 or more, got 0"):
        read(tmp_path, content, limit=0)


def test_some_words_only(tmp_path):
    content = b"elk 1 2\ndog .25 20\nbee 5 6\ncat .5 -1\n"
    assert as_dict(read(tmp_path, content, words={"cat", "dog", "emu"})) == TWO
    assert read(tmp_path, content, words={"cat", "dog"}, limit=1).words == ("dog",)


def test_a_format_can_be_named(tmp_path):
    assert read(tmp_path, b"7 2\n5 3\n", format="glove").words == ("7", "5")
    assert read(tmp_path, b"2 1\n5 3\n6 4\n", format="word2vec").words == ("5", "6")
    with pytest.raises(ValueError, match=r"line 1: expected a header of two whole numbers"):
        read(tmp_path, b"cat 1 2\n", format="word2vec")
    with pytest.raises(ValueError, match="unknown format 'txt': expected one of glove, word2vec"):
        read(tmp_path, b"cat 1 2\n", format="txt")


# --- What is refused, with the number of the line ----------------------------------------------

HOSTILE = {
    "an empty file": (b"", "holds no vectors"),
    "a byte-order mark alone": (b"\xef\xbb\xbf", "holds no vectors"),
    "a header alone": (b"2 3\n", "holds no vectors"),
    "a blank line alone": (b"\n", "line 1: expected a word and one or more numbers, got 1 field"),
    "no numbers": (b"cat\n", "line 1: expected a word and one or more numbers, got 1 field"),
    "numbers that are none": (b"cat one two\n", "line 1: expected a word and one or more numbers"),
    "an absurd dimension": (
        b"2 1000000000000\ncat 1 2\n",
        "line 2: expected a word and 1,000,000,000,000 numbers \\(1,000,000,000,001 fields\\)",
    ),
    "a dimension of 0": (b"2 0\ncat\ndog\n", "line 1: expected a dimension of 1 or more, got 0"),
    "another dimension": (b"1 3\ncat 1 2\n", "3 numbers \\(4 fields\\), got 3 fields"),
    "a short row": (b"cat 1 2\ndog 3\n", "2 numbers \\(3 fields\\), got 2 fields"),
    "a long row": (b"cat 1 2\ndog 3 4 5\n", "2 numbers \\(3 fields\\), got 4 fields"),
    "a long row with a header": (b"9 2\ncat 1 2 3\n", "line 2: expected a word and 2 numbers"),
    "a blank line": (b"cat 1 2\n\ndog 3 4\n", "2 numbers \\(3 fields\\), got 1 field"),
    "a blank line at the end": (b"cat 1 2\n\n", "line 2: expected a word and 2 numbers"),
    "no word": (b"cat 1 2\n 3 4\n", "line 2: expected a word before the numbers"),
    "a word of one space": (b"cat 1 2\n  3 4\n", "line 2: expected a word before the numbers"),
    "two spaces": (b"cat 1 2\ndog  3 4\n", "line 2: expected one space after 'dog'"),
    "tabs": (b"cat\t1\t2\n", "line 1: expected a word and one or more numbers"),
    "a decimal comma": (b"cat 1 2\ndog 3 4,5\n", "line 2: expected 2 finite numbers"),
    "no number": (b"cat 1 2\ndog 3 x\n", "line 2: expected 2 finite numbers"),
    "a number that is not finite": (b"cat 1 nan\n", "line 1: expected 2 finite numbers"),
    "infinity": (b"cat 1 2\ndog -inf 3\n", "line 2: expected 2 finite numbers"),
    "a number beyond float32": (b"cat 1 2\ndog 1 1e39\n", "line 2: expected 2 finite numbers"),
    "numbers that are not UTF-8": (b"cat 1 2\ndog 3 \xff\n", "line 2: expected 2 finite numbers"),
    "a NUL in a word": (b"cat 1 2\nd\0g 3 4\n", "line 2: .*NUL"),
    "a NUL in a number": (b"cat 1 2\ndog 3 4\0\n", "line 2: .*NUL"),
    "UTF-16": ("cat 1 2\n".encode("utf-16"), "line 1: "),
    "a pickle": (b"\x80\x04\x95\x15\0\0\0\0\0\0\0\x8c\x06gensim\x94.", "line 1: "),
    "one endless line": (b"cat " + b"1 " * (1 << 24), "line 1: longer than 16,777,216 bytes"),
    "an endless header": (b"2" * (1 << 25), "line 1: longer than"),
    "binary": (b"1 3\ncat \0\0\x80\x3f\0\0\0\0\0\0\0\x40\n", "line 2: .*word2vec-binary"),
}  # fmt: skip


@together(packed=[False, True], case=HOSTILE)
def test_hostile_files_are_refused_with_the_line(tmp_path, case, packed):
    content, message = HOSTILE[case]
    name = "v.txt.gz" if packed else "v.txt"
    with pytest.raises(ValueError, match=message) as error:
        read(tmp_path, gzip.compress(content, 1) if packed else content, name)
    assert str(tmp_path / name) in str(error.value)


@pytest.mark.parametrize("name", ["v.txt", "v.bin"])
def test_words_that_are_no_utf8_are_left_out_and_counted(tmp_path, name):
    rows = [
        (b"cat", b" 1 2"),
        (b"na\xefve", b" 3 4"),
        (b"\xff", b" 5 6"),
        ("naïve".encode(), b" 7 8"),
    ]
    content = b"".join(word + numbers + b"\n" for word, numbers in rows)
    if name == "v.bin":
        numbers = np.arange(2, dtype="<f4").tobytes()
        content = b"4 2\n" + b"".join(word + b" " + numbers + b"\n" for word, _ in rows)
    vectors = read(tmp_path, content, name)
    assert vectors.words == ("cat", "naïve")
    assert "words that are no UTF-8, left out: 2, the first at " in vectors.notes[0]


def test_what_is_not_wanted_is_checked_too(tmp_path):
    for content, message in (
        (b"cat 1 2\ndog 3\n", "line 2"),
        (b"cat 1 2\n 3 4\n", "line 2"),
    ):
        with pytest.raises(ValueError, match=message):
            read(tmp_path, content, words={"cat"})


def test_broken_gzip_files(tmp_path):
    whole = gzip.compress(b"".join(b"w%d 1 2\n" % i for i in range(20000)))
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 0xFF
    for content in (whole[:-400], whole[: len(whole) // 2], bytes(damaged), b"cat 1 2\n"):
        with pytest.raises(ValueError, match=r"v\.txt\.gz is not a whole gzip file"):
            read(tmp_path, content, "v.txt.gz")


def test_no_file(tmp_path):
    for path in (tmp_path / "none.txt", tmp_path / "none.bin", tmp_path / "none.npy", tmp_path):
        with pytest.raises(FileNotFoundError, match="no file"):
            WordVectors.load(path)


# --- Written -----------------------------------------------------------------------------------

FLOAT32 = ["v.txt", "v.vec", "v.bin"]
RNG = np.random.default_rng(7)
AWKWARD = np.array(
    [[0.1, 1 / 3, 1e-45], [3.4028235e38, -1.1754944e-38, 0.0], [1e-7, 123456792.0, -0.0]],
    dtype=np.float32,
)


@pytest.mark.parametrize("name", ["v.txt", "v.vec", "v.txt.gz", "v.vec.gz"])
def test_what_is_written_is_read_bit_for_bit(tmp_path, name):
    matrix = np.vstack([AWKWARD, RNG.normal(size=(20, 3)).astype(np.float32)])
    words = ["the", "na\u00efve", "\u00a0"] + [f"w{i}" for i in range(20)]
    WordVectors(words, matrix).save(tmp_path / name)
    found = WordVectors.load(tmp_path / name)
    assert found.words == tuple(words)
    assert found.matrix.tobytes() == matrix.tobytes()
    assert found.notes == ()


def test_the_bytes_of_a_text_file(tmp_path):
    vectors = WordVectors(["cat", "big dog"], np.array([[0.5, -1], [0.1, 1e-9]]))
    vectors.save(tmp_path / "v.txt")
    assert (tmp_path / "v.txt").read_bytes() == b"cat 0.5 -1.0\nbig dog 0.1 1e-09\n"
    vectors = WordVectors(["cat", "big_dog"], vectors.matrix)
    vectors.save(tmp_path / "anything", format="word2vec")
    expected = b"2 2\ncat 0.5 -1.0\nbig_dog 0.1 1e-09\n"
    assert (tmp_path / "anything").read_bytes() == expected
    vectors.save(tmp_path / "a.vec.gz")
    first = (tmp_path / "a.vec.gz").read_bytes()
    assert gzip.decompress(first) == expected
    vectors.save(tmp_path / "a.vec.gz")
    assert (tmp_path / "a.vec.gz").read_bytes() == first  # no clock time inside


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *product(FLOAT32, ["", " ", "a\nb", "a\0b", " a", "a ", "\ud800"]),
        *product(["v.vec", "v.bin"], ["a b"]),
        *product(["v.txt"], ["room 101", "a nan"]),
    ],
)
def test_words_that_a_format_cannot_hold(tmp_path, name, word):
    old = written(tmp_path, name, b"old")
    vectors = WordVectors(["ok", word], np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"cannot hold the word .*npy"):
        vectors.save(old)
    assert old.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [old]


def test_a_first_line_that_would_be_a_header(tmp_path):
    vectors = WordVectors(["7", "8"], np.array([[2.0], [0.5]]))
    vectors.save(tmp_path / "v.txt")  # "7 2.0" is no header, which has whole numbers
    assert as_dict(WordVectors.load(tmp_path / "v.txt")) == {"7": [2.0], "8": [0.5]}


@pytest.mark.parametrize("name", FLOAT32)
def test_numbers_that_are_not_finite_are_not_written(tmp_path, name):
    for bad in (np.nan, np.inf, 1e39):
        vectors = WordVectors(["ok", "dog"], np.array([[1.0, 2.0], [3.0, bad]]))
        with pytest.raises(
            ValueError, match="the vector of 'dog' holds a number that is not finite"
        ):
            vectors.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_where_nothing_can_be_written(tmp_path):
    vectors = WordVectors(["cat"], np.ones((1, 2)))
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        vectors.save(tmp_path / "none" / "v.txt")
    with pytest.raises(ValueError, match=r"v\.dat: expected a name that ends in .txt, .vec, .bin"):
        vectors.save(tmp_path / "v.dat")
    with pytest.raises(ValueError, match="unknown format 'txt'"):
        vectors.save(tmp_path / "v.txt", format="txt")


# --- Real files --------------------------------------------------------------------------------

REAL = {
    "glove50_4k.txt": (4197, 50, ("the header's count is 4,196, the file holds 4,197 vectors",)),
    "glove.6B.50d.subset9336.txt.gz": (9336, 50, ()),
    "glove.6B.100d.sample.txt.gz": (100, 100, ()),
    "glove.6B.300d.sample.txt.gz": (100, 300, ()),
    "wiki.en.head100.vec": (
        99,
        300,
        ("the header's count is 2,519,370, the file holds 99 vectors",),
    ),
}


@pytest.mark.parametrize("name", REAL)
@needs("glove/glove50_4k.txt")
def test_real_files(name):
    V, D, notes = REAL[name]
    found = WordVectors.load(Path(os.environ["DEEPNLP_DATA"]) / "glove" / name)
    assert (found.matrix.shape, found.notes) == ((V, D), notes)
    assert "the" in found


@pytest.mark.parametrize("place", [0, 1])
def test_a_number_of_python_with_an_underscore_is_none(tmp_path, place):
    lines = [b"cat 1 2", b"dog 3 4"]
    lines[place] = lines[place].replace(b" ", b" 1_", 1)
    path = tmp_path / "v.txt"
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(ValueError, match="line 2: expected a word and"):
        WordVectors.load(path)

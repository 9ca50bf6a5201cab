"""Corpora by name and path."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from deepnlp.datasets import Corpus, data_folder, files, load_corpus
from deepnlp.text import Vocabulary
from tests.datasets.conditions import needs

LINES = "The cat sat.\n\nIt's gone, they said.\n"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    return path


def write_ptb(folder: Path) -> Path:
    write(folder / "ptb/ptb.train.txt", " the cat <unk> \n a dog \n the cat \n")
    write(folder / "ptb/ptb.valid.txt", " a cat \n")
    write(folder / "ptb/ptb.test.txt", " the bird \n")
    return folder


def test_a_file_is_words_with_an_end_on_every_line_divided_in_order(tmp_path: Path) -> None:
    corpus = load_corpus(write(tmp_path / "cats.txt", LINES * 10))
    words = " ".join(["the cat sat . <eos> <eos> it 's gone , they said . <eos>"] * 10)
    assert " ".join(corpus.vocab.decode(np.concatenate([*corpus.splits.values()]))) == words
    assert corpus.tokens == {"train": 126, "valid": 8, "test": 6}  # the second cut is behind "It's"
    assert corpus.name == "cats.txt"
    assert all(type(ids) is np.ndarray and ids.dtype == np.int32 for ids in corpus.splits.values())


def test_the_vocabulary_comes_from_the_training_split_alone(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "a b\n" * 30 + "zebra b\n" * 2)
    corpus = load_corpus(path)
    assert "zebra" not in corpus.vocab
    assert corpus.vocab.unk_id in corpus.test


def test_line_ends_marks_and_missing_last_breaks_change_nothing(tmp_path: Path) -> None:
    plain = load_corpus(write(tmp_path / "1.txt", LINES * 10))
    for number, text in enumerate(
        [LINES.replace("\n", "\r\n") * 10, (LINES * 10)[:-1], "\ufeff" + LINES * 10], start=2
    ):
        other = load_corpus(write(tmp_path / f"{number}.txt", text))
        assert other.fingerprint == plain.fingerprint


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    text = "a\u2028b\x0cc\x85d\n" * 20
    corpus = load_corpus(write(tmp_path / "a.txt", text), tokens="character")
    assert "".join(corpus.vocab.decode(corpus.train[:8])) == "a\u2028b\x0cc\x85d\n"


def test_gzip_is_read_in_place(tmp_path: Path) -> None:
    plain = load_corpus(write(tmp_path / "a.txt", LINES * 10))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress((LINES * 10).encode("utf-8")))
    assert load_corpus(tmp_path / "b.txt.gz").fingerprint == plain.fingerprint


def test_a_folder_with_named_splits(tmp_path: Path) -> None:
    write(tmp_path / "latest-train.txt", "a b c\n")
    write(tmp_path / "my_val.txt", "a b\n")
    (tmp_path / "TEST-1.txt.gz").write_bytes(gzip.compress(b"c\n", mtime=0))
    write(tmp_path / "TEST-2.txt", "d\n")
    write(tmp_path / "notes.md", "not this")
    corpus = load_corpus(tmp_path, vocab_size=99)
    said = {name: corpus.vocab.decode(ids) for name, ids in corpus.splits.items()}
    assert said == {
        "train": ["a", "b", "c", "<eos>"],
        "valid": ["a", "b", "<eos>"],
        "test": ["c", "<eos>", "<unk>", "<eos>"],
    }


def test_a_file_that_is_there_packed_and_unpacked_counts_once(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        write(tmp_path / f"x.{split}.txt", "a b\n")
        (tmp_path / f"x.{split}.txt.gz").write_bytes(gzip.compress(b"c\n", mtime=0))
    assert load_corpus(tmp_path, vocab_size=99).tokens == {"train": 3, "valid": 3, "test": 3}


def test_a_folder_of_texts_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "2.txt", "b " * 50)
    write(tmp_path / "1.txt", "a " * 50)
    corpus = load_corpus(tmp_path)
    assert corpus.vocab.decode(corpus.train[49:53]) == ["a", "<eos>", "b", "b"]


def test_a_folder_with_some_splits_only_is_an_error(tmp_path: Path) -> None:
    write(tmp_path / "train.txt", "a b\n")
    with pytest.raises(ValueError, match="no file for valid and test"):
        load_corpus(tmp_path)


def test_a_folder_without_text_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no \.txt file"):
        load_corpus(tmp_path)


def test_limits_of_the_vocabulary(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "a a a b b c\n" * 20)
    assert len(load_corpus(path, vocab_size=4).vocab) == 4
    assert "c" not in load_corpus(path, min_count=30).vocab
    assert load_corpus(path, vocab_size=0).vocab == load_corpus(path).vocab
    with pytest.raises(ValueError, match="max_size should be 3 or more, got 2"):
        load_corpus(path, vocab_size=2)


def test_a_given_vocabulary_encodes_with_its_tokenizer(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "ab\n" * 20)
    vocab = Vocabulary.build("b\n", tokenizer="chars")
    corpus = load_corpus(path, vocab=vocab)
    assert corpus.vocab is vocab
    assert corpus.train[:3].tolist() == [vocab.unk_id, vocab.id("b"), vocab.eos_id]


@pytest.mark.parametrize("option", [{"vocab_size": 9}, {"tokens": "word"}])
def test_a_given_vocabulary_allows_no_other(tmp_path: Path, option: dict) -> None:
    path = write(tmp_path / "a.txt", "ab\n" * 20)
    vocab = Vocabulary.build("b\n", tokenizer="chars")
    with pytest.raises(ValueError, match="was given beside vocab"):
        load_corpus(path, vocab=vocab, **option)


def test_known_names_are_read_from_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_argument = load_corpus("ptb", data=write_ptb(tmp_path / "datasets"))
    assert by_argument.tokens == {"train": 10, "valid": 3, "test": 3}
    assert sorted(by_argument.vocab.tokens) == ["<eos>", "<unk>", "a", "cat", "dog", "the"]
    monkeypatch.setenv("DEEPNLP_DATA", str(tmp_path / "datasets"))
    by_environment = load_corpus("ptb")
    monkeypatch.delenv("DEEPNLP_DATA")
    monkeypatch.chdir(tmp_path)
    assert data_folder() == Path("datasets")
    assert load_corpus("ptb").fingerprint == by_environment.fingerprint == by_argument.fingerprint


def test_the_fingerprint_sees_ids_words_and_where_splits_end() -> None:
    vocab = Vocabulary(["a", "b", "<unk>", "<eos>"])
    ids = np.array([0, 1, 0, 1], dtype=np.int32)
    prints = {
        Corpus("x", vocab, ids, ids, ids).fingerprint,
        Corpus("x", vocab, ids[:3], ids, ids).fingerprint,
        Corpus("x", vocab, ids, ids[:3], ids).fingerprint,
        Corpus("x", vocab, ids[::-1], ids, ids).fingerprint,
        Corpus("x", Vocabulary(["b", "a", "<unk>", "<eos>"]), ids, ids, ids).fingerprint,
    }
    assert len(prints) == 5
    assert Corpus("other", vocab, ids, ids, ids.astype(np.int64)).fingerprint in prints


def test_the_description_is_one_line(tmp_path: Path) -> None:
    corpus = load_corpus(write(tmp_path / "a.txt", "a b\n" * 1000))
    assert corpus.describe() == (
        "a.txt: 2,700 train, 150 valid, 150 test tokens; vocabulary 4;"
        f" fingerprint {corpus.fingerprint[:12]}"
    )


def one_line(error: pytest.ExceptionInfo) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_missing_file_says_which_where_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error:
        load_corpus("wikitext-2", data=tmp_path)
    said = one_line(error)
    assert "wiki.train.tokens" in said
    assert str(tmp_path / "wikitext-2") in said
    assert "DEEPNLP_DATA" in said


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown corpus 'pbt'") as error:
        load_corpus("pbt")
    assert "pydocs, ptb, wikitext-2, tinyshakespeare" in one_line(error)


def test_a_path_to_nothing_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        load_corpus(tmp_path / "none.txt")


GZIPPED = gzip.compress(b"a b c\n" * 100, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"", r"empty\.txt is empty"),
        ("empty.txt", b" \n\n", r"empty\.txt is empty"),
        (
            "latin.txt",
            "abc é".encode("latin-1") + b" d" * 100,
            r"latin\.txt is not UTF-8 text: byte 0xe9 at position 4",
        ),
        ("a.txt.gz", GZIPPED[:-20], "not a whole gzip file"),
        ("a.txt.gz", b"plain text", "not a whole gzip file"),
        ("a.txt.gz", b"\x1f\x8b" + b"\xff" * 50, "not a whole gzip file"),
    ],
)
def test_a_file_that_holds_no_text_is_named(tmp_path: Path, name, content, message) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=message):
        load_corpus(tmp_path / name)


def test_too_short_a_text_says_how_much_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="39 tokens, expected at least 40"):
        load_corpus(write(tmp_path / "a.txt", "a b\n" * 13))
    tokens = load_corpus(write(tmp_path / "b.txt", "a b c\n" * 10)).tokens
    assert tokens == {"train": 36, "valid": 2, "test": 2}


def test_a_split_without_a_target_is_an_error(tmp_path: Path) -> None:
    for name, text in [("train.txt", "a b\n"), ("valid.txt", "a\n"), ("test.txt", "\x1f\n")]:
        write(tmp_path / name, text)
    with pytest.raises(ValueError, match=r"the test split of .* has 1 tokens, expected at least 2"):
        load_corpus(tmp_path, tokens="whitespace", vocab_size=99)


@needs("ptb/ptb.train.txt")
def test_ptb_has_the_usual_counts() -> None:
    corpus = load_corpus("ptb")
    assert corpus.tokens == {"train": 929_589, "valid": 73_760, "test": 82_430}
    assert len(corpus.vocab) == 10_000


@needs("wikitext-2/wiki.train.tokens.gz")
def test_wikitext_2_has_the_usual_counts() -> None:
    corpus = load_corpus("wikitext-2")
    assert corpus.tokens == {"train": 2_088_628, "valid": 217_646, "test": 245_569}
    assert len(corpus.vocab) == 33_278


@needs("tinyshakespeare/input.txt")
def test_tinyshakespeare_has_the_usual_counts() -> None:
    corpus = load_corpus("tinyshakespeare")
    assert sum(corpus.tokens.values()) == 1_115_394
    assert corpus.tokens["train"] == 1_003_854
    kinds = set(corpus.vocab.tokens) - {"<unk>"}
    assert len(kinds) == 65
    assert corpus.vocab.detokenize(corpus.vocab.decode(corpus.train[:15])) == "First Citizen:\n"


def test_a_folder_with_too_many_files_is_not_read_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MOST_FILES", 3)
    for k in range(4):
        (tmp_path / f"{k}.txt").write_text("a cat sat on a mat\n" * 9, encoding="utf-8")
    with pytest.raises(ValueError, match="holds more than 3 files: name a smaller one"):
        load_corpus(tmp_path)
    (tmp_path / "3.txt").unlink()
    assert sum(load_corpus(tmp_path).tokens.values()) == 27 * 7

"""Texts of one's own: what a file is, which words are unknown, how much text a split is."""

import gzip
import json
import math
from pathlib import Path

import pytest

from deepnlp.datasets import load_corpus, load_tagged
from deepnlp.datasets.corpus import divide_text
from deepnlp.datasets.options import TOKENS

LINE = "The cat sat on the mat, says Anna.\n"


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


# --- Unknown words -------------------------------------------------------------------------------


def test_by_default_unknown_words_are_learned_and_the_vocabulary_is_bounded(tmp_path: Path) -> None:
    words = [f"w{n}" for n in range(30_000)]
    often = " ".join(words * 2)
    path = write(tmp_path / "a.txt", f"{often} once\n" + "w1 w2\n" * 8000)
    corpus = load_corpus(path)
    assert len(corpus.vocab) == 20_000
    assert "once" not in corpus.vocab
    assert corpus.unknown["train"] > 0
    assert len(load_corpus(path, vocab_size=10**6).vocab) > 30_000


def test_unknown_words_are_counted_in_each_split_and_told(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.txt", "a a b b c d e f g h\n" * 2 + "a a b b a a b b a a\n" * 88 + LINE * 2
    )
    corpus = load_corpus(path, min_count=3)
    assert corpus.unknown["valid"] == 0 < corpus.unknown["train"] < corpus.unknown["test"]
    share = corpus.unknown["test"]
    said = corpus.describe_words()
    assert f"{share:.1%} of test; train has 9 different ones" in said


@pytest.mark.parametrize(
    ("line", "hint"), [("天气很好，我们去公园散步，然后回家吃晚饭。\n", True), (LINE, False)]
)
def test_text_without_spaces_gets_a_hint(tmp_path: Path, line: str, hint: bool) -> None:
    path = write(tmp_path / "a.txt", line * 100)
    assert ("say --tokens character" in load_corpus(path).describe_words()) is hint
    assert "--tokens" not in load_corpus(path, tokens="character").describe_words()


# --- What a file is ------------------------------------------------------------------------------


def test_accents_are_one_character_however_they_were_written(tmp_path: Path) -> None:
    composed = write(tmp_path / "a.txt", "il est très près de l'été\n" * 30)
    apart = write(tmp_path / "b.txt", "il est tre\u0300s pre\u0300s de l'e\u0301te\u0301\n" * 30)
    assert load_corpus(apart).fingerprint == load_corpus(composed).fingerprint


def test_a_prompt_is_read_in_the_same_way(tmp_path: Path) -> None:
    vocab = load_corpus(write(tmp_path / "a.txt", "il est près\n" * 30)).vocab
    assert vocab.tokenize("pre\u0300s") == ["près"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Größe – „schön“\r\n" * 30
    path = write(tmp_path / "a.txt", text, encoding)
    given = {"encoding": encoding} if encoding == "cp1252" else {}
    assert (
        load_corpus(path, **given).vocab.tokens[:2] == ("–", "„")
        or "größe" in load_corpus(path, **given).vocab
    )


def test_an_encoding_that_is_wrong_or_unknown(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", "Größe\n" * 30, "cp1252")
    with pytest.raises(ValueError, match=r"is not UTF-8 text: .* --encoding cp1252"):
        load_corpus(path)
    (tmp_path / "cut.txt").write_bytes(("Größe\n" * 30).encode("utf-16")[:-1])
    with pytest.raises(ValueError, match="is not UTF-16 text"):
        load_corpus(tmp_path / "cut.txt")
    with pytest.raises(ValueError, match="unknown encoding 'cp1251x'"):
        load_corpus(path, encoding="cp1251x")


def test_capital_letters_can_be_kept(tmp_path: Path) -> None:
    corpus = load_corpus(write(tmp_path / "a.txt", LINE * 30), keep_case=True)
    assert {"The", "the", "Anna"} <= set(corpus.vocab.tokens)
    assert corpus.vocab.tokenizer == "cased"
    assert corpus.vocab.tokenize("The DON'T") == ["The", "DO", "N'T"]
    again = load_corpus(tmp_path / "a.txt", vocab=corpus.vocab)
    assert again.fingerprint == corpus.fingerprint


ROWS = [(f"2024-03-{n:02}", f'He said "no", {n} times; then left') for n in range(1, 31)]


def as_csv(mark: str, heading: bool = True) -> str:
    rows = [("day", "text"), *ROWS] if heading else ROWS
    quoted = [[f'"{field.replace(chr(34), chr(34) * 2)}"' for field in row] for row in rows]
    return "".join(mark.join(row) + "\r\n" for row in quoted)


TABLES = {
    "a.csv": as_csv(","),
    "semicolons.csv": as_csv(";"),
    "a.tsv": as_csv("\t"),
    "a.jsonl": "".join(json.dumps({"day": day, "text": text}) + "\n" for day, text in ROWS),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_column_of_a_table_is_the_text(tmp_path: Path, name: str) -> None:
    plain = load_corpus(write(tmp_path / "a.txt", "".join(f"{text}\n" for _, text in ROWS)))
    path = write(tmp_path / name, TABLES[name])
    assert load_corpus(path, column="text").fingerprint == plain.fingerprint
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    assert load_corpus(tmp_path / f"{name}.gz", column="text").fingerprint == plain.fingerprint
    with pytest.raises(ValueError, match=r"has the columns day, text: say .* --column text"):
        load_corpus(path)
    with pytest.raises(ValueError, match="has the columns day, text"):
        load_corpus(path, column="texts")


def test_columns_without_a_heading_have_numbers(tmp_path: Path) -> None:
    named = load_corpus(write(tmp_path / "a.csv", TABLES["a.csv"]), column="text")
    path = write(tmp_path / "b.csv", as_csv(",", heading=False))
    assert load_corpus(path, column="2").fingerprint == named.fingerprint
    with pytest.raises(ValueError, match="has the columns 1, 2 and no '3' in line 1: "):
        load_corpus(path, column="3")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", LINE * 30, "is no table: column goes with .csv"),
        ("a.csv", 'text\n"a"b\n', "line .*expected after"),
        ("a.csv", "day,text\n1,a\n2\n", r"line 3: expected texts in text, got \[None\]"),
        ("a.jsonl", '{"text": 3}\n', r"line 1: expected texts in text, got \[3\]"),
        ("a.jsonl", '{"text": "a"}\n[1\n', "line 2: expected a JSON object"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        load_corpus(write(tmp_path / name, text), column="text")


def test_several_files_have_commas_between(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{n}.txt", f"{n} {LINE}" * 20) for n in "ab"]
    both = load_corpus(",".join(map(str, paths)))
    whole = load_corpus(write(tmp_path / "c.txt", "".join(p.read_text() for p in paths)))
    assert both.fingerprint == whole.fingerprint
    with pytest.raises(FileNotFoundError, match=r"no file or folder .*none\.txt"):
        load_corpus(f"{paths[0]},{tmp_path / 'none.txt'}")


def test_tagged_text_is_read_from_the_same_files(tmp_path: Path) -> None:
    lines = [f"Paris has {n} cats.\n" for n in range(60)]
    plain = load_tagged(write(tmp_path / "a.txt", "".join(lines)))
    rows = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    assert load_tagged(write(tmp_path / "a.jsonl", rows), column="text").train == plain.train
    for split, part in {"train": lines[:40], "valid": lines[40:50], "test": lines[50:]}.items():
        write(tmp_path / f"{split}.txt", "".join(part))
    (tmp_path / "a.txt").unlink()
    (tmp_path / "a.jsonl").unlink()
    assert [len(part) for part in load_tagged(tmp_path).splits.values()] == [40, 10, 10]


# --- How much text a split is --------------------------------------------------------------------


def test_every_tokeniser_has_the_same_text_in_a_split(tmp_path: Path) -> None:
    text = "".join(f"Ein größerer Satz, der {n}.\n" for n in range(400))
    path = write(tmp_path / "a.txt", text)
    corpora = [load_corpus(path, tokens=name) for name in TOKENS]
    sizes = [{s: size[:2] for s, size in corpus.sizes.items()} for corpus in corpora]
    assert all(size == sizes[0] for size in sizes)
    parts = divide_text(text)
    assert sizes[0] == {s: (len(p.encode()), len(p.split())) for s, p in parts.items()}
    assert "".join(parts.values()) == text
    assert all(part.endswith("\n") for part in parts.values())


def test_bits_are_those_of_the_text_whatever_the_tokens(tmp_path: Path) -> None:
    corpus = load_corpus(write(tmp_path / "a.txt", LINE * 400), tokens="character")
    bits = corpus.bits("test", 4.0)
    size = corpus.sizes["test"]
    assert bits["bits_per_byte"] == pytest.approx(2 * (size.bytes - 1) / size.bytes)
    assert bits["bits_per_word"] * size.words == pytest.approx(bits["bits_per_byte"] * size.bytes)
    words = load_corpus(tmp_path / "a.txt")
    n = len(words.test)
    assert words.bits("test", 9.0)["bits_per_byte"] == (n - 1) * math.log2(9) / size.bytes


def test_a_text_of_few_long_lines_is_cut_between_words() -> None:
    parts = divide_text("one two three four " * 100)
    assert all(part.endswith(" ") for part in parts.values())
    assert [len(p) for p in divide_text("天" * 1000).values()] == [900, 50, 50]

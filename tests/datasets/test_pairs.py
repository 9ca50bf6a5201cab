"""Pairs of texts: made up, from the book, translations, a file of one's own; and no leaks."""

from __future__ import annotations

import datetime
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from deepnlp.datasets import PAIRS, Pairs, addition, dates, load_pairs
from deepnlp.datasets.made_up import DATE_FORMS
from deepnlp.text import TOKENISERS, Vocabulary
from tests.datasets.conditions import needs
from tests.datasets.parts import first_lines

split_words = TOKENISERS["words"].split


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_sums_are_right_and_none_comes_twice() -> None:
    sums = addition(2000, digits=2, seed=3)
    assert all(sum(map(int, question.split("+"))) == int(answer) for question, answer in sums)
    assert len({frozenset(question.split("+")) for question, _ in sums}) == 2000
    lengths = Counter(len(n) for question, _ in sums for n in question.split("+"))
    assert set(lengths) == {1, 2}
    assert addition(2000, 2, seed=3) == sums
    assert addition(2000, 2, seed=4) != sums


def test_numbers_of_every_length_are_as_likely() -> None:
    firsts = [question.split("+")[0] for question, _ in addition(300, digits=9, seed=0)]
    lengths = Counter(map(len, firsts))
    assert all(15 < lengths[digits] < 60 for digits in range(1, 10))
    assert not any(number.startswith("0") and number != "0" for number in firsts)


def test_dates_are_right_in_every_writing() -> None:
    pairs = dates(2000, seed=1)
    assert len({text for text, _ in pairs}) == 2000
    written: Counter[tuple[int, int]] = Counter()
    for text, iso in pairs:
        day = datetime.date.fromisoformat(iso)
        assert 1970 <= day.year <= 2017
        form = next(k for k, f in enumerate(DATE_FORMS) if f(day).lower() == text.lower())
        plain = DATE_FORMS[form](day)
        case = [plain, plain.lower(), plain.upper()].index(text)
        written[form, case] += 1
    assert written[0, 0] > 300  # figures have no capitals
    assert all(written[form, 0] > written[form, case] > 50 for form in (1, 2, 3) for case in (1, 2))
    assert dates(2000, seed=1) == pairs != dates(2000, seed=2)


@pytest.mark.parametrize("name", ["addition", "dates"])
def test_what_is_made_up_is_seeded_and_divided_without_a_leak(name: str) -> None:
    pairs = load_pairs(name, examples=2000)
    assert sum(map(len, pairs.splits.values())) == 2000
    assert 1700 < len(pairs.train) < 1900
    assert len(pairs.valid) > 60
    answers = [
        {frozenset(q.split("+")) if name == "addition" else a for q, a in part}
        for part in pairs.splits.values()
    ]
    assert sum(map(len, answers)) == len(set().union(*answers))
    again, other = (load_pairs(name, examples=2000, data_seed=seed) for seed in (0, 1))
    assert again.fingerprint == pairs.fingerprint != other.fingerprint
    assert list(again.test) == list(pairs.test)
    assert pairs.source_vocab.tokenizer == pairs.target_vocab.tokenizer == "chars"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"name_or_path": "addition", "digits": 1, "examples": 30},
            "too few sums .* at most 27 examples",
        ),
        ({"name_or_path": "dates", "examples": 100_000}, "at most 87,660 examples"),
        ({"name_or_path": "additions"}, "unknown pairs 'additions': expected addition, dates"),
    ],
)
def test_what_cannot_be_made(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load_pairs(**options)


def test_sums_can_be_nearly_all_there_are() -> None:
    assert len(addition(27, digits=1)) == 27


def test_the_marks_of_begin_and_end_are_no_part_of_a_pair() -> None:
    pairs = load_pairs("addition", examples=200)
    source, target = pairs.encoded("train")[0]
    question, answer = pairs.train[0]
    assert pairs.source_vocab.decode(source) == list(question)
    assert pairs.target_vocab.decode(target) == list(answer)
    eos = pairs.target_vocab.eos_id
    assert all(eos not in ids and ids.dtype == np.int32 for _, ids in pairs.encoded("test"))


def lines(n: int) -> str:
    return "".join(f"We have {k} cats.\tTenemos {k} gatos.\n" for k in range(n))


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = write(tmp_path / "cats.tsv", lines(40))
    pairs = load_pairs(path)
    assert pairs.name == "cats.tsv"
    assert {s: len(part) for s, part in pairs.splits.items()} == {
        "train": 36,
        "valid": 2,
        "test": 2,
    }
    assert pairs.source_vocab.tokenizer == "words"
    assert "we" in pairs.source_vocab
    assert "gatos" in pairs.target_vocab
    packed = tmp_path / "more.tsv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert load_pairs(packed).fingerprint == pairs.fingerprint


def test_translations_of_one_sentence_stay_together(tmp_path: Path) -> None:
    spaced = "".join(
        f"Go {k}!\tVe {k}.\tleft out\ngo {k} !\tVete {k}.\nGo {k}!\tVe {k}.\n" for k in range(30)
    )
    pairs = load_pairs(write(tmp_path / "go.tsv", spaced))
    assert sum(map(len, pairs.splits.values())) == 60  # repeats count once
    sides = [{tuple(split_words(source)) for source, _ in p} for p in pairs.splits.values()]
    assert sum(map(len, sides)) == len(set().union(*sides)) == 30
    references = pairs.references("test")
    assert all(len(targets) == 1 for targets in references.values())
    assert len(references) == len(pairs.test) == 4


def test_all_translations_of_a_sentence_are_references() -> None:
    vocab = Vocabulary.build([])
    pairs = Pairs("p", vocab, vocab, [], [], [("a", "x"), ("b", "y"), ("a", "z")])
    assert pairs.references("test") == {"a": ["x", "z"], "b": ["y"]}


def test_vocabularies_come_from_the_training_split_or_are_given(tmp_path: Path) -> None:
    path = write(tmp_path / "cats.tsv", lines(40))
    pairs = load_pairs(path)
    unseen = {source.split()[2] for source, _ in [*pairs.valid, *pairs.test]}
    assert not any(word in pairs.source_vocab for word in unseen)
    small = load_pairs(path, vocab_size=6)
    assert len(small.source_vocab) == len(small.target_vocab) == 6
    assert len(load_pairs(path, min_count=2).source_vocab) == 6
    given = load_pairs(path, vocabs=(small.source_vocab, small.target_vocab))
    assert given.fingerprint == small.fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc d\n", r"line 2: expected a source and a target with '\\t' between, got 'c d'"),
        ("a\tb\n", "has 1 different pairs, expected at least 20"),
        ("", "is empty"),
    ],
)
def test_files_that_are_no_pairs(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        load_pairs(write(tmp_path / "bad.tsv", text))


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file .*nothing\.tsv"):
        load_pairs(tmp_path / "nothing.tsv")
    with pytest.raises(
        FileNotFoundError, match=r"missing spa.txt.*deepnlp data fetch tatoeba-en-es"
    ):
        load_pairs("tatoeba-en-es", data=tmp_path)


def test_sides_that_are_not_aligned(tmp_path: Path) -> None:
    for split in ("train", "val", "test_2016_flickr"):
        write(tmp_path / f"multi30k/{split}.en", "A cat.\n" * 3)
        write(tmp_path / f"multi30k/{split}.de", "Eine Katze.\n" * (4 if split == "val" else 3))
    with pytest.raises(ValueError, match=r"val.en has 3 lines and .*val.de 4"):
        load_pairs("multi30k-en-de", data=tmp_path)


@needs("seq2seq-book/date.txt")
def test_the_files_of_the_book() -> None:
    sums, days = load_pairs("book-addition"), load_pairs("book-dates")
    assert {s: len(p) for s, p in sums.splits.items()} == {
        "train": 45000,
        "valid": 2500,
        "test": 2500,
    }
    assert all(sum(map(int, q.split("+"))) == int(a) for q, a in sums.valid)
    assert sum(map(len, days.splits.values())) == 41578  # of 50,000 lines, the rest are repeats
    sides = [{answer for _, answer in part} for part in days.splits.values()]
    assert len(set().union(*sides)) == sum(map(len, sides)) == 16365
    made = set(load_pairs("dates", examples=5000).source_vocab.tokens)
    assert made == set(days.source_vocab.tokens)


@needs("tatoeba/spa.txt.gz")
def test_no_english_sentence_of_tatoeba_is_on_two_sides(tmp_path: Path) -> None:
    """Of the first translations, which repeat the most sentences."""
    first_lines("tatoeba/spa.txt", 20_000, tmp_path)
    pairs = load_pairs("tatoeba-en-es", data=tmp_path, min_count=3)
    assert sum(map(len, pairs.splits.values())) == 20_000
    sides = [{tuple(split_words(source)) for source, _ in p} for p in pairs.splits.values()]
    assert len(set().union(*sides)) == sum(map(len, sides))
    lengths = [np.mean([len(source) for source, _ in p]) for p in pairs.splits.values()]
    assert max(lengths) - min(lengths) < 1  # shuffled: the file is sorted by length
    assert len(pairs.references("test")) < len(pairs.test)


@needs("multi30k/train.en.gz")
@pytest.mark.parametrize("name", [name for name in PAIRS if name.startswith("multi30k")])
def test_multi30k_keeps_its_splits(name: str, tmp_path: Path) -> None:
    """Of the training split a part, which stands for the whole."""
    for side in name.split("-")[1:]:
        for split, count in {"train": 2000, "val": 2000, "test_2016_flickr": 2000}.items():
            first_lines(f"multi30k/{split}.{side}", count, tmp_path)
    pairs = load_pairs(name, data=tmp_path)
    assert [len(part) for part in pairs.splits.values()] == [2000, 1014, 1000]
    english = pairs.train[0][name.split("-")[1:].index("en")]
    assert english == "Two young, White males are outside near many bushes."


# --- Files of one's own ------------------------------------------------------------------------

OWN = [(f"Wir haben {k} Katzen.", f'We have {k} "cats", he says.') for k in range(40)]


def write_sides(folder: Path, name: str, pairs: list[tuple[str, str]]) -> None:
    folder.mkdir(exist_ok=True)
    for end, side in zip(("de", "en"), zip(*pairs)):
        write(folder / f"{name}.{end}", "".join(f"{text}\n" for text in side))


def test_two_files_whose_lines_belong_together(tmp_path: Path) -> None:
    plain = load_pairs(write(tmp_path / "a.tsv", "".join(f"{a}\t{b}\n" for a, b in OWN)))
    write_sides(tmp_path, "talks", OWN)
    both = load_pairs(f"{tmp_path / 'talks.de'},{tmp_path / 'talks.en'}")
    assert both.fingerprint == plain.fingerprint
    turned = load_pairs(f"{tmp_path / 'talks.en'},{tmp_path / 'talks.de'}")
    assert turned.train[0][::-1] in OWN


def test_a_folder_of_pairs(tmp_path: Path) -> None:
    parts = {"train": OWN[:30], "val": OWN[30:35], "test": OWN[35:]}
    for split, pairs in parts.items():
        write_sides(tmp_path / "mt", split, pairs)
    found = load_pairs(tmp_path / "mt")
    assert [list(part) for part in found.splits.values()] == list(parts.values())
    turned = load_pairs(tmp_path / "mt", column="en,de")
    assert turned.train == [(b, a) for a, b in parts["train"]]
    for split in parts:
        write(tmp_path / "mt" / f"{split}.fr", "Un chat.\n" * len(parts[split]))
    with pytest.raises(ValueError, match=r"train\.de, .*train\.en, .*: say .* --column de,en"):
        load_pairs(tmp_path / "mt")
    assert load_pairs(tmp_path / "mt", column="de,en").fingerprint == found.fingerprint
    with pytest.raises(ValueError, match="expected two files whose lines belong together"):
        load_pairs(tmp_path / "mt", column="de,es")


def test_a_table_of_pairs(tmp_path: Path) -> None:
    plain = load_pairs(write(tmp_path / "a.tsv", "".join(f"{a}\t{b}\n" for a, b in OWN)))
    escaped = "".join('"{}","{}"\n'.format(a, b.replace('"', '""')) for a, b in OWN)
    path = write(tmp_path / "a.csv", f"de,en\n{escaped}")
    assert load_pairs(path, column="de,en").fingerprint == plain.fingerprint
    with pytest.raises(ValueError, match=r"columns de, en: .*source and target.*--column de,en"):
        load_pairs(path)
    lines = "".join(json.dumps({"id": 1, "en": b, "de": a}) + "\n" for a, b in OWN)
    path = write(tmp_path / "a.jsonl", lines)
    assert load_pairs(path, column="de,en").fingerprint == plain.fingerprint


def test_pairs_can_keep_their_capital_letters(tmp_path: Path) -> None:
    pairs = load_pairs(write(tmp_path / "cats.tsv", lines(40)), keep_case=True)
    assert "We" in pairs.source_vocab
    assert pairs.target_vocab.tokenizer == "cased"


def test_each_side_learns_its_own_byte_pairs() -> None:
    pairs = load_pairs("dates", examples=400, tokens="bpe", vocab_size=300)
    assert [len(vocab) for vocab in pairs.vocabs] == [300, 300]
    assert pairs.source_vocab.tokens != pairs.target_vocab.tokens
    (source, target), (_, date) = pairs.encoded("valid")[0], pairs.valid[0]
    assert pairs.target_vocab.detokenize(pairs.target_vocab.decode(target)) == date
    assert len(target) < len(date)
    assert pairs.target_vocab.eos_id not in target
    again = load_pairs("dates", examples=400, vocabs=pairs.vocabs)
    assert [a.tolist() for a in again.encoded("valid")[0]] == [source.tolist(), target.tolist()]


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n \t \n\n"])
def test_blank_lines_at_the_end_of_a_file_are_no_pairs(tmp_path, end):
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(f"a{k}\tb{k}" for k in range(40)) + end, encoding="utf-8")
    assert sum(map(len, load_pairs(path).splits.values())) == 40


def test_an_empty_side_is_left_out_and_counted_in_every_form(tmp_path):
    rows = [(f"a{k}", f"b{k}") for k in range(40)]
    rows[7:7] = [("", "b"), ("a", ""), ("", "")]
    files = {
        "p.tsv": "\n".join(map("\t".join, rows)) + "\n",
        "p.csv": "source,target\n" + "\n".join(map(",".join, rows)) + "\n",
        "p.de": "\n".join(source for source, _ in rows) + "\n",
        "p.en": "\n".join(target for _, target in rows) + "\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name in ("p.tsv", "p.csv", f"p.de,{tmp_path / 'p.en'}"):
        pairs = load_pairs(f"{tmp_path / name}", column="source,target" if "csv" in name else None)
        assert sum(map(len, pairs.splits.values())) == 40
        assert pairs.note == "3 pairs with an empty side left out"
        assert "(3 pairs with" in pairs.describe()


def test_a_carriage_return_alone_is_a_character_and_told_once(tmp_path):
    source = [f"a{k}\r\n" for k in range(40)]
    source[6] = "a 6\rb\r c\r\n"
    (tmp_path / "p.de").write_bytes("".join(source).encode())
    (tmp_path / "p.en").write_text("".join(f"b{k}\n" for k in range(40)))
    pairs = load_pairs(f"{tmp_path / 'p.de'},{tmp_path / 'p.en'}")
    assert dict(pair for part in pairs.splits.values() for pair in part)["a 6\rb\r c"] == "b6"
    assert pairs.note == "p.de has a carriage return inside line 7"

"""Files as people have them: odd quotes, marks, line ends, encodings, and rows that lack something.

Written by a user who knew README and ``--help``, before the code that reads them was looked at.
"""

import gzip
import json
import unicodedata

import pytest

from deepnlp.datasets import load_corpus, load_pairs

LINES = [f"the small dog number {'abcdefghij'[n % 10]} ran home" for n in range(60)]
ROWS = "".join(f"{n},2020-01-0{n % 9 + 1},{line}\n" for n, line in enumerate(LINES))
OBJECTS = [json.dumps({"id": n, "text": line}) for n, line in enumerate(LINES)]
PAIRS = [(f"das ist hund {a}{b} .", f"this is dog {a}{b} .") for a in "abcdef" for b in "ghijkl"]
SOURCES, TARGETS = ([f"{side}\n" for side in sides] for sides in zip(*PAIRS, strict=True))
TABBED = "".join(f"{source}\t{target}\n" for source, target in PAIRS)


def table(rows: str, head: str = "id,date,text\n") -> bytes:
    return (head + rows).encode()


def words(path, **how):
    corpus = load_corpus(path, **how)
    return [corpus.vocab.token(id_) for part in corpus.splits.values() for id_ in part.tolist()]


def put(folder, name: str, content: bytes | str):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# By name: the file, what says how it is read, and how many dogs it holds.
READ = {
    "quoted line break": ("a.csv", table('1,2,"the ""small"" dog\nran, home"\n' * 9 + ROWS), 69),
    "mark of UTF-8": ("a.csv", b"\xef\xbb\xbf" + table(ROWS, "id,date,text\n"), 60),
    "mark and quoted heading": ("a.csv", b"\xef\xbb\xbf" + table(ROWS, '"id","date","text"\n'), 60),
    "spaces after commas": ("a.csv", table(ROWS.replace(",", ", "), "id, date, text\n"), 60),
    "semicolons": ("a.csv", table(ROWS.replace(",", ";"), "id;date;text\n"), 60),
    "empty cells and lines": ("a.csv", table(ROWS + "77,2020-01-01,\n\n\n"), 60),
    "a book in a cell": ("a.csv", table(f"1,2,{' '.join(LINES * 120)}\n{ROWS}"), 60 * 121),
    "packed": ("a.csv.gz", gzip.compress(table(ROWS)), 60),
    "of Excel": ("A.CSV", table(ROWS).decode().replace(",", "\t").encode("utf-16"), 60),
    "JSON, blank lines": ("a.jsonl", ("\ufeff" + "\r\n\r\n".join(OBJECTS) + "\r\n").encode(), 60),
    "JSON, breaks in texts": ("a.jsonl", "\n".join(OBJECTS).replace("home", r"home\nx\u2028"), 60),
}


@pytest.mark.parametrize("case", READ)
def test_a_table_is_read(tmp_path, case):
    name, content, dogs = READ[case]
    found = words(put(tmp_path, name, content), column="text")
    assert found.count("dog") == dogs
    assert not {"2020", "\ufeff", "\r", "id"} & {*found}


def test_quotes_inside_a_cell_of_tabs_are_text(tmp_path):
    rows = "".join(f'{n}\ta 5" pipe, {line}\n' for n, line in enumerate(LINES))
    assert words(put(tmp_path, "a.tsv", f"id\ttext\n{rows}"), column="text").count("dog") == 60


def test_a_heading_with_an_accent_apart(tmp_path):
    text = unicodedata.normalize("NFD", f"id,date,légende\n{ROWS}")
    assert words(put(tmp_path, "a.csv", text), column="légende").count("dog") == 60


# By name: the file, the column, and what the error says.
REFUSED = {
    "another column": ("a.csv", table(ROWS), "body", "id, date, text and no 'body' in line 2: say"),
    "no rows": ("a.csv", table(""), "text", "a.csv has 0 tokens"),
    "a short row": ("a.csv", table(ROWS + "77\n"), "text", "line 62: expected texts in text"),
    "column 0": ("a.csv", table(ROWS, ""), "0", "columns 1, 2, 3 and no '0'"),
    "a row without it": (
        "a.jsonl", "\n".join([*OBJECTS[:2], '{"id": 3}', *OBJECTS[2:]]), "text",
        "the columns id and no 'text' in line 3",
    ),
    "half a row": ("a.jsonl", "\n".join([*OBJECTS, '{"text": "a']), "text", "line 61: expected a"),
    "no object": ("a.jsonl", "\n".join(['"a"'] * 99), "text", "line 1: expected a JSON object"),
    "half a character": (
        "a.jsonl", "\n".join([*OBJECTS, r'{"text": "a \ud800"}']), "text",
        "line 61: expected texts in text",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_table_that_lacks_something_is_named_with_its_line(tmp_path, case):
    name, content, column, said = REFUSED[case]
    with pytest.raises(ValueError, match=r"^[^\n]*$") as error:
        load_corpus(put(tmp_path, name, content), column=column)
    assert said in str(error.value)


# --- Texts and folders ---------------------------------------------------------------------------


def test_line_ends_of_every_kind(tmp_path):
    text = "\r\n".join(LINES[:20]) + "\r" + "\r".join(LINES[20:40]) + "\n" + "\n".join(LINES[40:])
    found = words(put(tmp_path, "a.txt", text))
    assert (found.count("dog"), found.count("<eos>")) == (60, 60)


def test_what_ends_no_line(tmp_path):
    text = "\n".join(f"{line} x\u2028y\x85z" for line in LINES)
    assert words(put(tmp_path, "a.txt", text)).count("<eos>") == 60


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_utf16_that_is_named_too(tmp_path, encoding):
    found = words(put(tmp_path, "a.txt", "\n".join(LINES).encode("utf-16")), encoding=encoding)
    assert found.count("dog") == 60
    assert not any("\ufeff" in word for word in found)


def test_files_of_a_folder_in_several_encodings_end_their_lines(tmp_path):
    put(tmp_path, "a.txt", "\n".join(LINES[:30]).encode("utf-16"))
    put(tmp_path, "b.txt", "\n".join(LINES[30:]))
    put(tmp_path, ".DS_Store", bytes(range(256)))
    (tmp_path / "empty").mkdir()
    assert words(tmp_path).count("dog") == 60


def test_a_split_without_text_is_named(tmp_path):
    for split in ("train", "valid", "test"):
        put(tmp_path, f"{split}.txt", "" if split == "valid" else "\n".join(LINES))
    with pytest.raises(ValueError, match=r"valid\.txt is empty"):
        load_corpus(tmp_path)


# --- Pairs ---------------------------------------------------------------------------------------


def pairs_of(path, **how):
    pairs = load_pairs(path, **how)
    return sorted(pair for part in pairs.splits.values() for pair in part)


def test_pairs_with_marks_line_ends_and_blank_lines(tmp_path):
    content = f"\ufeff{TABBED}\n\n".replace("\n", "\r\n")
    assert pairs_of(put(tmp_path, "p.tsv", content)) == sorted(PAIRS)


def test_a_third_column_is_left_out_or_may_be_chosen(tmp_path):
    path = put(tmp_path, "p.tsv", TABBED.replace("\n", "\tCC-BY\n"))
    assert pairs_of(path) == pairs_of(path, column="1,2") == sorted(PAIRS)
    assert pairs_of(path, column="2,1") == sorted(pair[::-1] for pair in PAIRS)


def test_a_line_without_its_other_side_is_named(tmp_path):
    with pytest.raises(ValueError, match="line 37: expected a source and a target"):
        load_pairs(put(tmp_path, "p.tsv", f"{TABBED}no tab here\n"))


def test_parallel_files_of_unlike_forms(tmp_path):
    a = put(tmp_path, "t.de.gz", gzip.compress("".join(SOURCES).encode()))
    b = put(tmp_path, "t.en", "".join(TARGETS).replace("\n", "\r\n").encode("utf-16"))
    assert pairs_of(f"{a},{b}") == sorted(PAIRS)


def test_a_blank_line_at_the_end_of_one_of_two_files(tmp_path):
    a = put(tmp_path, "t.de", "".join(SOURCES).rstrip())
    b = put(tmp_path, "t.en", "".join(TARGETS) + "\n")
    assert pairs_of(f"{a},{b}") == sorted(PAIRS)


def test_two_files_whose_lines_do_not_belong_together(tmp_path):
    a, b = put(tmp_path, "t.de", "".join(SOURCES)), put(tmp_path, "t.en", "".join(TARGETS[:-2]))
    with pytest.raises(ValueError, match=r"36 lines and .* 34: not aligned"):
        load_pairs(f"{a},{b}")

"""``deepnlp vectors`` on files: each action against what Python says."""

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from deepnlp.datasets import load_analogies, load_similarity
from deepnlp.vectors import WordVectors, evaluate_analogies, evaluate_similarity
from tests.cli.conftest import contents
from tests.datasets.conditions import needs

WORDS = ["the", "cat", "dog", "horse", "car", "train", "bread", "rice", "beer"]
WORDS += ["king", "queen", "man", "woman"]
RNG = np.random.default_rng(17)


@pytest.fixture
def vectors():
    return WordVectors(WORDS, RNG.normal(size=(len(WORDS), 5)).astype(np.float32))


@pytest.fixture
def workplace(tmp_path, monkeypatch, vectors):
    """A folder with vectors, test sets and broken files; the tests stand in it."""
    monkeypatch.chdir(tmp_path)
    vectors.save("v.vec")
    text = Path("v.vec").read_text(encoding="utf-8")
    Path("lies.txt").write_text(text.replace("13 5", "99 5"), encoding="utf-8")
    Path("ragged.txt").write_text(text + "elk 1 2\n", encoding="utf-8")
    Path("pairs.tsv").write_text("cat\tdog\t9\ncat\tcar\t2\ncat\temu\t5\nking\tQueen\t8\n")
    Path("one.tsv").write_text("cat\tdog\t9\ncat\temu\t2\n")
    Path("questions.txt").write_text(": family\nman woman king queen\nboy girl man woman\n: gram\n")
    return tmp_path


def rows(text):
    return [line.split() for line in text.splitlines()]


def test_neighbours(deepnlp, workplace, vectors):
    found = deepnlp("vectors", "neighbours", "v.vec", "cat", "king", "-k", 2, "--json").json
    assert (found["vectors"], found["words"], found["dimension"]) == ("v.vec", 13, 5)
    assert found["notes"] == []
    for word in ("cat", "king"):
        expected = [{"word": w, "cosine": c} for w, c in vectors.neighbours(word, 2)]
        assert found["neighbours"][word] == expected
    shown = rows(deepnlp("vectors", "neighbours", "v.vec", "cat").out)
    assert shown[0] == ["cat", "cosine"]
    assert shown[2:] == [[w, f"{c:.3f}"] for w, c in vectors.neighbours("cat")]


@pytest.mark.parametrize("method", ["add", "mul"])
def test_analogy(deepnlp, workplace, vectors, method):
    options = ["man", "king", "woman", "-k", 3, "--method", method]
    expected = vectors.analogy("man", "king", "woman", 3, method)
    found = deepnlp("vectors", "analogy", "v.vec", *options, "--json").json
    assert found["question"] == ["man", "king", "woman"]
    assert found["answers"] == [{"word": w, "score": s} for w, s in expected]
    shown = deepnlp("vectors", "analogy", "v.vec", *options).out.splitlines()
    assert shown[0].split("  ")[0] == "man is to king as woman is to"
    assert [line.split() for line in shown[2:]] == [[w, f"{s:.3f}"] for w, s in expected]
    few = deepnlp("vectors", "analogy", "v.vec", "the", "cat", "dog", "--restrict", 5, "--json")
    assert {answer["word"] for answer in few.json["answers"]} == {"horse", "car"}


def test_a_file_of_questions(deepnlp, workplace, vectors):
    options = ["vectors", "analogy", "v.vec", "--questions", "questions.txt", "--restrict", 13]
    found = deepnlp(*options, "--json").json
    scores = evaluate_analogies(vectors, load_analogies("questions.txt"))
    family = scores.sections[0]
    assert found["sections"][0] == {
        "section": "family",
        "correct": family.correct,
        "covered": 1,
        "total": 2,
        "accuracy": family.accuracy,
        "coverage": 0.5,
    }
    assert found["sections"][1]["accuracy"] is None
    assert [row["section"] for row in found["sums"]] == ["semantic", "syntactic", "total"]
    assert (found["questions"], found["method"], found["restrict"]) == ("questions.txt", "add", 13)
    shown = rows(deepnlp(*options).out)
    assert ["gram", "0", "0", "0", "-", "0.0%"] in shown
    assert shown[-1][0] == "total"
    assert shown[-1][-1] == "50.0%"


def test_similarity(deepnlp, workplace, vectors):
    found = deepnlp("vectors", "similarity", "v.vec", "pairs.tsv", "one.tsv", "--json").json
    expected = evaluate_similarity(vectors, load_similarity("pairs.tsv"))
    assert found["similarity"][0]["rho"] == pytest.approx(expected.rho)
    assert (found["similarity"][0]["covered"], found["similarity"][0]["total"]) == (3, 4)
    assert found["similarity"][1]["rho"] is None  # of a single pair
    shown = rows(deepnlp("vectors", "similarity", "v.vec", "pairs.tsv").out)
    assert shown[2][:2] == ["pairs.tsv", f"{expected.rho:.3f}"]
    assert shown[2][-3:] == ["3", "4", "75.0%"]
    alone = rows(deepnlp("vectors", "similarity", "v.vec", "one.tsv").out)
    assert alone[2][:3] == ["one.tsv", "-", "-"]


@needs("wordsim/SimLex-999.txt")
def test_the_known_sets(deepnlp):
    path = Path(os.environ["DEEPNLP_DATA"]) / "glove/glove50_4k.txt"
    done = deepnlp("vectors", "similarity", path)
    assert [row[0] for row in rows(done.out)[2:]] == ["simlex", "men", "rw", "wordsim353"]
    assert done.err == "note: the header's count is 4,196, the file holds 4,197 vectors\n"


def test_plot(deepnlp, workplace):
    groups = ["animals=cat,dog,horse", "food=bread,rice", "king", "queen"]
    done = deepnlp("vectors", "plot", "v.vec", *groups, "--figure", "a.png", "--json")
    assert done.json["groups"] == {
        "animals": ["cat", "dog", "horse"], "food": ["bread", "rice"], "": ["king", "queen"],
    }  # fmt: skip
    assert Path("a.png").read_bytes().startswith(b"\x89PNG")
    assert deepnlp("vectors", "plot", "v.vec", "--figure", "b.svg").out == "figure: b.svg\n"
    picture = Path("b.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {word} -->" in picture for word in [*WORDS, "v.vec"])


@pytest.mark.parametrize("name", ["new.txt", "new.bin", "new.npy", "new.vec.gz"])
def test_convert(deepnlp, workplace, vectors, name):
    done = deepnlp("vectors", "convert", "v.vec", name, "--limit", 7)
    assert done.out == f"{name}: 7 words, D = 5\n"
    found = WordVectors.load(name)
    assert found.words == vectors.words[:7]
    np.testing.assert_array_equal(found.matrix, vectors.matrix[:7])
    again = deepnlp("vectors", "convert", name, "new.dat", "--to", "word2vec-binary", "--json").json
    assert (again["out"], again["words"]) == ("new.dat", 7)
    back = deepnlp("vectors", "neighbours", "new.dat", "cat", "--format", "word2vec-binary")
    assert back.out == deepnlp("vectors", "neighbours", name, "cat").out


def test_convert_keeps_what_is_there(deepnlp, workplace):
    before = contents(workplace)
    done = deepnlp("vectors", "convert", "v.vec", "lies.txt")
    assert (done.code, done.err) == (
        2, "deepnlp: error: lies.txt exists: choose another name, or say --overwrite\n",
    )  # fmt: skip
    assert contents(workplace) == before
    assert deepnlp("vectors", "convert", "v.vec", "lies.txt", "--overwrite").code == 0
    assert Path("lies.txt").read_text(encoding="utf-8").startswith("the ")


def test_what_a_reader_put_right_is_said(deepnlp, workplace):
    done = deepnlp("vectors", "neighbours", "lies.txt", "cat", "--json")
    assert done.json["notes"] == ["the header's count is 99, the file holds 13 vectors"]
    assert done.err == "note: the header's count is 99, the file holds 13 vectors\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "required: ACTION (see deepnlp vectors --help)"),
        (["neighbour", "v.vec"], "invalid choice: 'neighbour'"),
        (["neighbours", "v.vec"], "required: WORD (see deepnlp vectors neighbours --help)"),
        (["neighbours", "none.txt", "cat"], "no file none.txt: check the path"),
        (["neighbours", "v.vec", "emu"], "'emu' is not among the 13 words"),
        (["neighbours", "v.vec", "Cat"], "'Cat' is not among the 13 words; there is 'cat'"),
        (["neighbours", "v.vec", "cat", "-k", "0"], "should be a whole number, 1 or more, got '0'"),
        (["neighbours", "v.vec", "cat", "--side", "output"], "--side goes with a run or a checkp"),
        (["neighbours", "v.vec", "cat", "--format", "glove"], "line 2: expected a word and 1"),
        (["neighbours", ".", "cat"], "no checkpoint in the folder ."),
        (["neighbours", ".", "cat", "--format", "npy"], "--format goes with a file of vectors"),
        (["neighbours", "ragged.txt", "cat"], "ragged.txt, line 15: expected a word and 5 numbers"),
        (["analogy", "v.vec", "king", "man"], "takes three words, or --questions; got 2 words"),
        (["analogy", "v.vec", "a", "b", "c", "--questions", "google"], "3 words and --questions"),
        (["analogy", "v.vec", "--questions", "bing"], "unknown analogy set 'bing'"),
        (["analogy", "v.vec", "--questions", "pairs.tsv"], "pairs.tsv, line 1: expected"),
        (["analogy", "v.vec", "the", "cat", "king", "--restrict", "3"], "'king' is not among"),
        (["similarity", "v.vec", "simplex"], "unknown similarity set 'simplex'"),
        (["similarity", "v.vec", "questions.txt"], "questions.txt, line 2: expected two words"),
        (["plot", "v.vec", "cat", "dog"], "required: --figure"),
        (["plot", "v.vec", "cat", "dog", "--figure", "new.png"], "3 or more words"),
        (["plot", "v.vec", "a=cat,dog,emu", "--figure", "new.png"], "'emu' is not among"),
        (["plot", "v.vec", "cat", "dog", "cat", "--figure", "new.png"], "'cat' is repeated"),
        (["plot", "v.vec", "cat", "dog", "car", "--figure", "no/new.png"], "no/new.png"),
        (["plot", "v.vec", "cat", "dog", "car", "--figure", "new.xyz"], "xyz"),
        (["convert", "v.vec", "new.dat"], "new.dat: expected a name that ends in .txt, .vec, .bin"),
        (["convert", "v.vec", "no/new.txt"], "there is no folder no"),
        (["convert", "ragged.txt", "new.txt"], "ragged.txt, line 15"),
    ],
)  # fmt: skip
def test_one_line_and_nothing_written(deepnlp, workplace, arguments, text):
    before = contents(workplace)
    done = deepnlp("vectors", *arguments)
    assert done.code == 2
    assert done.err.startswith("deepnlp: error: ")
    assert done.err.count("\n") == 1
    assert text in done.err
    assert done.out == ""
    assert contents(workplace) == before


def test_hostile_files_are_one_line(deepnlp, workplace):
    Path("cut.bin.gz").write_bytes(gzip.compress(b"3 2\ncat 12345678")[:-3])
    Path("cut.bin").write_bytes(b"3 2\ncat 12345678")
    for name in ("cut.bin.gz", "cut.bin"):
        done = deepnlp("vectors", "neighbours", name, "cat")
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert name in done.err

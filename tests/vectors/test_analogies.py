"""3CosAdd and 3CosMul, one by one and by section, and the file of questions."""

import numpy as np
import pytest

from deepnlp.datasets import load_analogies
from deepnlp.vectors import Analogies, AnalogyScore, WordVectors, evaluate_analogies
from deepnlp.vectors import evaluation as module
from tests.datasets.conditions import needs

RNG = np.random.default_rng(5)


def some_vectors(V: int = 40, D: int = 6) -> WordVectors:
    return WordVectors([f"w{v}" for v in range(V)], RNG.normal(size=(V, D)))


def answers(vectors: WordVectors, a: str, b: str, c: str, method: str) -> dict[str, float]:
    """The formulas, word by word."""

    def cos(x: str, y: str) -> float:
        u, v = vectors[x], vectors[y]
        return float(u @ v / np.sqrt(u @ u) / np.sqrt(v @ v))

    def moved(x: str, y: str) -> float:
        return (cos(x, y) + 1) / 2

    return {
        d: cos(d, b) - cos(d, a) + cos(d, c)
        if method == "add"
        else moved(d, b) * moved(d, c) / (moved(d, a) + 0.001)
        for d in vectors.words
        if d not in (a, b, c)
    }


@pytest.mark.parametrize("method", ["add", "mul"])
def test_an_analogy_is_the_formula(method):
    vectors = some_vectors()
    found = vectors.analogy("w3", "w1", "w7", k=50, method=method)
    expected = answers(vectors, "w3", "w1", "w7", method)
    assert [word for word, _ in found] == sorted(expected, key=lambda d: -expected[d])
    assert dict(found) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["add", "mul"])
@pytest.mark.parametrize("block", [1, 100, 10**6])
def test_all_questions_at_once_give_what_each_gives_alone(method, block, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", block)
    vectors = some_vectors()
    questions = []
    for a, b, c, d in RNG.integers(44, size=(60, 4)):  # w40 ... w43 are unknown
        if max(a, b, c) < 40 and d % 2:  # every other question is answered as the vectors do
            best = vectors.analogy(f"w{a}", f"w{b}", f"w{c}", 1, method)[0][0]
            questions.append((f"w{a}", f"W{b}", f"w{c}", best))
        else:
            questions.append((f"w{a}", f"w{b}", f"w{c}", f"w{d}"))
    known = [q for q in questions if all(vectors.find(word) >= 0 for word in q)]
    right = [q for q in known if vectors.analogy(q[0], q[1].lower(), q[2], 1, method)[0][0] == q[3]]
    scores = evaluate_analogies(vectors, Analogies("x", {"s": tuple(questions)}), method)
    assert scores.sections == (AnalogyScore("s", len(right), len(known), 60),)
    assert 0 < len(right) < len(known) < 60
    assert (scores.name, scores.method) == ("x", method)


def test_restricted_to_the_most_frequent_words():
    words = ["man", "woman", "king", "queen", "prince"]
    vectors = WordVectors(words, [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0.5], [1, 1, 1]])
    family = Analogies(
        "x", {"s": (("man", "woman", "king", "queen"), ("man", "woman", "king", "prince"))}
    )
    assert evaluate_analogies(vectors, family).sections[0] == AnalogyScore("s", 1, 2, 2)
    assert evaluate_analogies(vectors, family, restrict=4).sections[0] == AnalogyScore("s", 1, 1, 2)
    assert evaluate_analogies(vectors, family, restrict=400).total.covered == 2


def test_sections_add_up():
    vectors = some_vectors()
    question = ("w0", "w1", "w2", "w3")
    questions = Analogies(
        "x", {"capital": (question, ("w0", "no", "w1", "w2")), "gram1": (question,), "empty": ()}
    )
    scores = evaluate_analogies(vectors, questions)
    assert [score.total for score in scores.sections] == [2, 1, 0]
    assert (scores.semantic.covered, scores.semantic.total) == (1, 2)
    assert (scores.syntactic.covered, scores.syntactic.total) == (1, 1)
    assert (scores.total.section, scores.total.covered, scores.total.total) == ("total", 2, 3)
    assert scores.sections[2].coverage == 0
    assert np.isnan(scores.sections[2].accuracy)


def test_a_method_that_there_is_not():
    vectors = some_vectors()
    for call in (
        lambda: vectors.analogy("w0", "w1", "w2", method="sub"),
        lambda: evaluate_analogies(vectors, Analogies("x", {}), "sub"),
    ):
        with pytest.raises(ValueError, match="unknown method 'sub': expected one of add, mul"):
            call()
    with pytest.raises(ValueError, match="count should be 1 or more, got 0"):
        evaluate_analogies(vectors, Analogies("x", {}), restrict=0)


# --- Files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_file_of_questions(tmp_path, end):
    path = tmp_path / "q.txt"
    path.write_bytes(f": one{end}a b c d{end}e f g h{end}: gram two {end}i j k l{end}".encode())
    found = load_analogies(path)
    assert found.name == "q.txt"
    assert found.sections == {
        "one": (("a", "b", "c", "d"), ("e", "f", "g", "h")),
        "gram two": (("i", "j", "k", "l"),),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (": one\n", "holds no question"),
        ("a b c d\n", "line 1: expected ': name', which begins a section, got 'a b c d'"),
        (": one\na b c\n", "line 2: expected four words, got 'a b c'"),
        (": one\na b c d e\n", "line 2: expected four words"),
        (": one\na b c d\n\na b c d\n", "line 3: expected four words, got ''"),
        (": one\na b c d\n: one\n", "line 3: expected the name of a new section, got ': one'"),
        (":\n", "line 1: expected the name of a new section"),
    ],
)
def test_broken_files_of_questions(tmp_path, text, message):
    path = tmp_path / "q.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as error:
        load_analogies(path)
    assert "q.txt" in str(error.value)


def test_unknown_sets_and_missing_files(tmp_path):
    with pytest.raises(ValueError, match="unknown analogy set 'bing': expected google or a path"):
        load_analogies("bing")
    with pytest.raises(FileNotFoundError, match=r"missing questions-words.txt"):
        load_analogies("google", data=tmp_path)


@needs("analogy/questions-words.txt")
def test_the_questions_of_google():
    sections = load_analogies("google").sections
    assert len(sections) == 14
    assert sum(len(section) for section in sections.values()) == 19544
    assert sections["family"][0] == ("boy", "girl", "brother", "sister")

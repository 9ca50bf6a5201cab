"""``deepnlp vectors``: word vectors, from a file or from a trained model.

Files are GloVe or word2vec text, word2vec's .bin, or .npy; text and .bin also as .gz. Of a run,
--side input takes the vectors that words are read by (the default), --side output those that they
are predicted by. A test set is a name (its files are in the data folder) or a path. With --json
each action prints one JSON object.

examples:
  deepnlp vectors neighbours glove.6B.100d.txt king queen
  deepnlp vectors analogy glove.6B.100d.txt man king woman --method mul
  deepnlp vectors analogy runs/word2vec --questions google --restrict 30000
  deepnlp vectors similarity runs/book --side output
  deepnlp vectors similarity runs/book simlex men my-pairs.tsv --json
  deepnlp vectors plot runs/book animals=cat,dog,horse food=bread,rice,beer --figure words.png
  deepnlp vectors convert runs/word2vec vectors.bin
"""

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from deepnlp import checkpoint
from deepnlp.cli.shared import Answer, Count, Flag, Side, picture, refuse_to_replace
from deepnlp.datasets import load_analogies, load_similarity
from deepnlp.files.tables import table
from deepnlp.options import Option
from deepnlp.vectors import AnalogyScore, WordVectors, evaluate_analogies, evaluate_similarity
from deepnlp.vectors.formats import FORMATS
from deepnlp.vectors.word_vectors import METHODS

SETS = ("simlex", "men", "rw", "wordsim353")  # measured by default
SHOWN = 60  # words of a picture by default

Format = Annotated[str | None, Option(choices=FORMATS)]
Source = Annotated[str, Option(metavar="VECTORS")]
Words = Annotated[Sequence[str], Option(metavar="WORD")]
Shown = Annotated[int, Option("words to show", low=1)]


def run(
    action: Callable[[WordVectors], Answer],
    source: Source,
    *,
    side: Side = None,
    format: Format = None,
    limit: Count = None,
) -> Answer:
    """Load the vectors and do what was asked for.

    Parameters
    ----------
    source : str
        a file of word vectors, a run folder, or a checkpoint (.npz).
    side : str, optional
        of a run: the input's vectors (the default) or the output's.
    format : str, optional
        of a file; by default its name and first line say it.
    limit : int, optional
        read the first N vectors only.
    """
    path = Path(source)
    is_model = path.is_dir() or path.suffix == ".npz"
    if is_model and format is not None:
        raise ValueError(f"--format goes with a file of vectors, {path} is a run or a checkpoint")
    if not is_model and side is not None:
        raise ValueError(f"--side goes with a run or a checkpoint, {path} is a file of vectors")
    if is_model:
        model: Any = checkpoint.load(path)
        vectors = model.word_vectors(side or "input")
        vectors = vectors.head(limit or len(vectors))
    else:
        vectors = WordVectors.load(path, format, limit=limit)
    for note in vectors.notes:
        print(f"note: {note}", file=sys.stderr)
    V, D = vectors.matrix.shape
    facts: dict[str, Any] = {"vectors": source, "words": V, "dimension": D}
    if is_model:
        facts["side"] = side or "input"
    details, text, code = action(vectors)
    return Answer({**facts, "notes": list(vectors.notes), **details}, text, code)


def neighbours(vectors: WordVectors, words: Words, *, k: Shown = 10) -> Answer:
    """the words with the largest cosine."""
    answers = {word: vectors.neighbours(word, k) for word in words}
    pairs = {word: _pairs(nearest, "cosine") for word, nearest in answers.items()}
    tables = [_ranking(word, "cosine", nearest) for word, nearest in answers.items()]
    return Answer({"neighbours": pairs}, "\n\n".join(tables))


def analogy(
    vectors: WordVectors,
    words: Words = (),
    *,
    questions: Annotated[str | None, Option(metavar="NAME|PATH")] = None,
    method: Annotated[str, Option(choices=METHODS)] = "add",
    restrict: Count = None,
    k: Shown = 10,
) -> Answer:
    """words d such that a is to b as c is to d.

    Parameters
    ----------
    words : sequence of str
        a, b and c.
    questions : str, optional
        answer a file of questions instead, by section: google, or a path.
    method : str
        3CosAdd (the default) or 3CosMul.
    restrict : int, optional
        use the N most frequent words only, as word2vec does with 30,000.
    """
    if (questions is None) != (len(words) == 3):
        given = " and --questions" if questions else ""
        raise ValueError(
            f"analogy takes three words, or --questions; got {len(words)} words{given}"
        )
    if questions is not None:
        return _answer_all(vectors, questions, method, restrict)
    a, b, c = words
    answers = vectors.head(restrict or len(vectors)).analogy(a, b, c, k, method)
    text = _ranking(f"{a} is to {b} as {c} is to", "score", answers)
    return Answer({"question": [a, b, c], "answers": _pairs(answers, "score")}, text)


def similarity(
    vectors: WordVectors, sets: Annotated[Sequence[str], Option(metavar="NAME|PATH")] = ()
) -> Answer:
    """Spearman's rho with the ratings of people.

    Parameters
    ----------
    sets : sequence of str
        by default simlex, men, rw, wordsim353.
    """
    scores = [evaluate_similarity(vectors, load_similarity(name)) for name in sets or SETS]
    figures = ("rho", "interval", "covered", "total", "coverage")
    facts = [{"set": s.name, **{name: getattr(s, name) for name in figures}} for s in scores]
    headings = ["set", ">rho", ">95 % interval", ">pairs", ">of", ">coverage"]
    rows = [
        [
            score.name,
            _shown("{:.3f}", score.rho),
            _shown("{:.3f} to {:.3f}", *score.interval),
            f"{score.covered:,}",
            f"{score.total:,}",
            f"{score.coverage:.1%}",
        ]
        for score in scores
    ]
    return Answer({"similarity": facts}, table(headings, rows))


def plot(
    vectors: WordVectors,
    source: Source,
    words: Words = (),
    *,
    figure: Annotated[str, Option(metavar="PATH", details={"type": picture})],
    title: Annotated[str | None, Option(metavar="TITLE")] = None,
) -> Answer:
    """a picture of words by two principal components.

    Parameters
    ----------
    source : str
        a file of word vectors, a run folder, or a checkpoint (.npz).
    words : sequence of str
        a word, or a group NAME=WORD,WORD,...; by default the 60 most frequent words.
    figure : str
        a .png, .pdf or .svg file.
    title : str, optional
        by default the name of the vectors.
    """
    from deepnlp import plots

    groups: dict[str, list[str]] = {}
    for argument in words or [word for word in vectors.words if word.isalpha()][:SHOWN]:
        name, named, members = argument.rpartition("=")
        groups.setdefault(name, []).extend(members.split(",") if named else [argument])
    for word in (word for group in groups.values() for word in group):
        vectors.row(word)  # an error that names the word
    plots.embeddings(groups, vectors, title=title or Path(source).name, path=figure)
    return Answer({"groups": groups, "figure": figure}, f"figure: {figure}")


def convert(
    vectors: WordVectors,
    out: Annotated[str, Option(metavar="OUT")],
    *,
    to: Format = None,
    overwrite: Flag = False,
) -> Answer:
    """write the vectors to a file.

    Parameters
    ----------
    out : str
        a .txt (GloVe), .vec, .bin (word2vec) or .npy file.
    to : str, optional
        format of OUT; by default its name says it.
    overwrite : bool
        replace OUT if it exists.
    """
    refuse_to_replace(Path(out), overwrite)
    vectors.save(out, to)
    V, D = vectors.matrix.shape
    return Answer({"out": out}, f"{out}: {V:,} words, D = {D}")


ACTIONS = {action.__name__: action for action in (neighbours, analogy, similarity, plot, convert)}


def _answer_all(vectors: WordVectors, questions: str, method: str, restrict: int | None) -> Answer:
    """Return the scores of a file of questions by section."""
    scores = evaluate_analogies(vectors, load_analogies(questions), method, restrict)
    sums = [scores.semantic, scores.syntactic, scores.total]
    headings = ["section", ">correct", ">asked", ">of", ">accuracy", ">coverage"]
    rows = [*map(_row, scores.sections), [""] * len(headings), *map(_row, sums)]
    facts = {
        "questions": scores.name,
        "method": scores.method,
        "restrict": restrict,
        "sections": [_counts(score) for score in scores.sections],
        "sums": [_counts(score) for score in sums],
    }
    return Answer(facts, table(headings, rows))


def _row(score: AnalogyScore) -> list[str]:
    counts = [f"{count:,}" for count in (score.correct, score.covered, score.total)]
    return [score.section, *counts, _shown("{:.1%}", score.accuracy), f"{score.coverage:.1%}"]


def _counts(score: AnalogyScore) -> dict[str, Any]:
    return asdict(score) | {"accuracy": score.accuracy, "coverage": score.coverage}


def _shown(form: str, *numbers: float) -> str:
    """Numbers in a form; a dash where too little is covered to compute them."""
    return "-" if any(map(math.isnan, numbers)) else form.format(*numbers)


def _pairs(answers: list[tuple[str, float]], value: str) -> list[dict[str, Any]]:
    return [{"word": word, value: number} for word, number in answers]


def _ranking(heading: str, value: str, answers: list[tuple[str, float]]) -> str:
    return table([heading, f">{value}"], [[word, f"{number:.3f}"] for word, number in answers])

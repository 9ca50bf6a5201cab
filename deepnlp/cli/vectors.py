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

import argparse
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.actions import Add, add_actions
from deepnlp.cli.export import SIDES, refuse_to_replace
from deepnlp.cli.output import answer, table
from deepnlp.cli.parser import at_least, picture

if TYPE_CHECKING:
    from deepnlp.vectors import AnalogyScore, WordVectors

SETS = ("simlex", "men", "rw", "wordsim353")  # measured unless others are asked for
SHOWN = 60  # words of a picture for which none are named


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions, each with its options."""
    from deepnlp.vectors.formats import FORMATS
    from deepnlp.vectors.word_vectors import METHODS

    def shared(add: Add) -> None:
        add("source VECTORS", "a file of word vectors, a run folder, or a checkpoint (.npz)")
        add("--side", "of a run: the input's vectors (the default) or the output's", SIDES)
        add("--format", "of a file; by default its name and first line say it", FORMATS)
        add("--limit N", "read the first N vectors only", at_least(1))

    action = add_actions(parser, shared)
    add = action("neighbours", "the words with the largest cosine", neighbours)
    add("words WORD", "", nargs="+")
    add("-k N", "words to show", at_least(1), 10)

    add = action("analogy", "words d such that a is to b as c is to d", analogy)
    add("words WORD", "a, b and c", nargs="*")
    questions = "answer a file of questions instead, by section: google, or a path"
    add("--questions NAME|PATH", questions)
    add("--method", "3CosAdd (the default) or 3CosMul", METHODS, "add")
    restrict = "use the N most frequent words only, as word2vec does with 30,000"
    add("--restrict N", restrict, at_least(1))
    add("-k N", "words to show", at_least(1), 10)

    add = action("similarity", "Spearman's rho with the ratings of people", similarity)
    add("sets NAME|PATH", f"by default {', '.join(SETS)}", nargs="*")

    add = action("plot", "a picture of words by two principal components", plot)
    words = f"a word, or a group NAME=WORD,WORD,...; by default the {SHOWN} most frequent words"
    add("words WORD", words, nargs="*")
    add("--figure PATH", "a .png, .pdf or .svg file", picture, required=True)
    add("--title", "by default the name of the vectors")

    add = action("convert", "write the vectors to a file", convert)
    add("out OUT", "a .txt (GloVe), .vec, .bin (word2vec) or .npy file")
    add("--to", "format of OUT; by default its name says it", FORMATS)
    add("--overwrite", "replace OUT if it exists", bool)


def run(arguments: argparse.Namespace) -> int:
    """Load the vectors and do what was asked for."""
    vectors = _load(arguments)
    for note in vectors.notes:
        print(f"note: {note}", file=sys.stderr)
    arguments.do(vectors, arguments)
    return 0


def neighbours(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Print the neighbours of each word."""
    answers = {word: vectors.neighbours(word, arguments.k) for word in arguments.words}
    pairs = {word: _pairs(nearest, "cosine") for word, nearest in answers.items()}
    tables = [_ranking(word, "cosine", nearest) for word, nearest in answers.items()]
    _answer(arguments, vectors, "\n\n".join(tables), neighbours=pairs)


def analogy(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Print the answers to one question, or the score of a file of questions."""
    if (arguments.questions is None) != (len(arguments.words) == 3):
        raise ValueError(
            f"analogy takes three words, or --questions; got {len(arguments.words)} words"
            f"{' and --questions' if arguments.questions else ''}"
        )
    if arguments.questions is not None:
        _answer_all(vectors, arguments)
        return
    vectors = vectors if arguments.restrict is None else vectors.head(arguments.restrict)
    a, b, c = arguments.words
    answers = vectors.analogy(a, b, c, arguments.k, arguments.method)
    text = _ranking(f"{a} is to {b} as {c} is to", "score", answers)
    _answer(arguments, vectors, text, question=[a, b, c], answers=_pairs(answers, "score"))


def similarity(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Print rho of each set, with its interval, number of pairs and coverage."""
    from deepnlp.datasets import load_similarity
    from deepnlp.vectors import evaluate_similarity

    scores = [
        evaluate_similarity(vectors, load_similarity(name)) for name in arguments.sets or SETS
    ]
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
    _answer(arguments, vectors, table(headings, rows), similarity=facts)


def _shown(form: str, *numbers: float) -> str:
    """Numbers in a form; a dash where too few pairs are covered to compute them."""
    return "-" if any(map(math.isnan, numbers)) else form.format(*numbers)


def plot(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Draw words on a plane."""
    from deepnlp import plots

    groups: dict[str, list[str]] = {}
    for argument in arguments.words or [w for w in vectors.words if w.isalpha()][:SHOWN]:
        name, named, members = argument.rpartition("=")
        groups.setdefault(name, []).extend(members.split(",") if named else [argument])
    for words in groups.values():
        for word in words:
            vectors.row(word)  # an error that names the word
    title = arguments.title or Path(arguments.source).name
    plots.embeddings(groups, vectors, title=title, path=arguments.figure)
    figure = arguments.figure
    _answer(arguments, vectors, f"figure: {figure}", groups=groups, figure=figure)


def convert(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Write a file."""
    refuse_to_replace(Path(arguments.out), arguments.overwrite)
    vectors.save(arguments.out, arguments.to)
    V, D = vectors.matrix.shape
    text = f"{arguments.out}: {V:,} words, D = {D}"
    _answer(arguments, vectors, text, out=arguments.out)


def _load(arguments: argparse.Namespace) -> "WordVectors":
    """The vectors of a file, or those of one side of a model."""
    from deepnlp import checkpoint
    from deepnlp.vectors import WordVectors

    path = Path(arguments.source)
    if not _is_model(path):
        if arguments.side is not None:
            raise ValueError(f"--side goes with a run or a checkpoint, {path} is a file of vectors")
        return WordVectors.load(path, arguments.format, limit=arguments.limit)
    if arguments.format is not None:
        raise ValueError(f"--format goes with a file of vectors, {path} is a run or a checkpoint")
    model: Any = checkpoint.load(path)
    try:
        vectors: WordVectors = model.word_vectors(arguments.side or "input")
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return vectors if arguments.limit is None else vectors.head(arguments.limit)


def _is_model(path: Path) -> bool:
    """Whether a path stands for a run or a checkpoint, not for a file of vectors."""
    return path.is_dir() or path.suffix == ".npz"


def _answer_all(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Print the scores of a file of questions by section."""
    from deepnlp.datasets import load_analogies
    from deepnlp.vectors import evaluate_analogies

    questions = load_analogies(arguments.questions)
    scores = evaluate_analogies(vectors, questions, arguments.method, arguments.restrict)
    sums = [scores.semantic, scores.syntactic, scores.total]
    headings = ["section", ">correct", ">asked", ">of", ">accuracy", ">coverage"]
    rows = [_row(score) for score in scores.sections]
    _answer(
        arguments,
        vectors,
        table(headings, [*rows, [""] * len(headings), *map(_row, sums)]),
        questions=scores.name,
        method=scores.method,
        restrict=arguments.restrict,
        sections=[_counts(score) for score in scores.sections],
        sums=[_counts(score) for score in sums],
    )


def _row(score: "AnalogyScore") -> list[str]:
    accuracy = f"{score.accuracy:.1%}" if score.covered else "-"
    counts = [f"{count:,}" for count in (score.correct, score.covered, score.total)]
    return [score.section, *counts, accuracy, f"{score.coverage:.1%}"]


def _counts(score: "AnalogyScore") -> dict[str, Any]:
    return asdict(score) | {"accuracy": score.accuracy, "coverage": score.coverage}


def _pairs(answers: list[tuple[str, float]], value: str) -> list[dict[str, Any]]:
    return [{"word": word, value: number} for word, number in answers]


def _ranking(heading: str, value: str, answers: list[tuple[str, float]]) -> str:
    return table([heading, f">{value}"], [[word, f"{number:.3f}"] for word, number in answers])


def _answer(arguments: argparse.Namespace, vectors: "WordVectors", text: str, **facts: Any) -> None:
    """Print a text, or facts as JSON with what the vectors are."""
    V, D = vectors.matrix.shape
    head: dict[str, Any] = {"vectors": arguments.source, "words": V, "dimension": D}
    if _is_model(Path(arguments.source)):
        head["side"] = arguments.side or "input"
    answer(arguments, {**head, "notes": list(vectors.notes), **facts}, text)

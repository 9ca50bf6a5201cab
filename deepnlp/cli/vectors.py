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
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.output import aside, print_json, table
from deepnlp.cli.parser import add_backend, add_json, at_least, option, picture

if TYPE_CHECKING:
    from deepnlp.vectors import AnalogyScore, WordVectors

SIDES = ("input", "output")
SETS = ("simlex", "men", "rw", "wordsim353")  # measured unless others are asked for
SHOWN = 60  # words of a picture for which none are named


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions, each with its options."""
    from deepnlp.vectors.formats import FORMATS
    from deepnlp.vectors.word_vectors import METHODS

    add_json(parser)
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)

    one = _action(actions, "neighbours", "the words with the largest cosine", neighbours)
    option(one, "words WORD", "", nargs="+")
    _add_k(one)

    one = _action(actions, "analogy", "words d such that a is to b as c is to d", analogy)
    option(one, "words WORD", "a, b and c", nargs="*")
    option(
        one,
        "--questions NAME|PATH",
        "answer a file of questions instead, by section: google, or a path",
    )
    option(one, "--method", "3CosAdd (the default) or 3CosMul", METHODS, "add")
    option(
        one,
        "--restrict N",
        "use the N most frequent words only, as word2vec does with 30,000",
        at_least(1),
    )
    _add_k(one)

    one = _action(actions, "similarity", "Spearman's rho with the ratings of people", similarity)
    option(one, "sets NAME|PATH", f"by default {', '.join(SETS)}", nargs="*")

    one = _action(actions, "plot", "a picture of words by two principal components", plot)
    option(
        one,
        "words WORD",
        f"a word, or a group NAME=WORD,WORD,...; by default the {SHOWN} most frequent words",
        nargs="*",
    )
    option(one, "--figure PATH", "a .png, .pdf or .svg file", picture, required=True)
    option(one, "--title", "by default the name of the vectors")

    one = _action(actions, "convert", "write the vectors to a file", convert)
    option(one, "out OUT", "a .txt (GloVe), .vec, .bin (word2vec) or .npy file")
    option(one, "--to", "format of OUT; by default its name says it", FORMATS)
    option(one, "--overwrite", "replace OUT if it exists", bool)


def run(arguments: argparse.Namespace) -> int:
    """Load the vectors and do what was asked for."""
    vectors = _load(arguments)
    for note in vectors.notes:
        print(f"note: {note}", file=sys.stderr)
    arguments.do(vectors, arguments)
    return 0


def neighbours(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Print the neighbours of each word."""
    found = {word: vectors.neighbours(word, arguments.k) for word in arguments.words}
    if arguments.json:
        _print_json(arguments, vectors, neighbours={word: _pairs(x) for word, x in found.items()})
        return
    tables = [_ranking(word, "cosine", nearest) for word, nearest in found.items()]
    print("\n\n".join(tables))


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
    found = vectors.analogy(a, b, c, arguments.k, arguments.method)
    if arguments.json:
        _print_json(arguments, vectors, question=[a, b, c], answers=_pairs(found, "score"))
    else:
        print(_ranking(f"{a} is to {b} as {c} is to", "score", found))


def similarity(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Print rho of each set, with its interval, number of pairs and coverage."""
    from deepnlp.datasets import load_similarity
    from deepnlp.vectors import evaluate_similarity

    scores = [
        evaluate_similarity(vectors, load_similarity(name)) for name in arguments.sets or SETS
    ]
    if arguments.json:
        rows = [
            {
                "set": score.name,
                "rho": score.rho,
                "interval": list(score.interval),
                "covered": score.covered,
                "total": score.total,
                "coverage": score.coverage,
            }
            for score in scores
        ]
        _print_json(arguments, vectors, similarity=rows)
        return
    headings = ["set", ">rho", ">95 % interval", ">pairs", ">of", ">coverage"]
    print(
        table(
            headings,
            [
                [
                    score.name,
                    _shown("{:.3f}", score.rho),
                    _shown("{:.3f} to {:.3f}", *score.interval),
                    f"{score.covered:,}",
                    f"{score.total:,}",
                    f"{score.coverage:.1%}",
                ]
                for score in scores
            ],
        )
    )


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
    if arguments.json:
        _print_json(arguments, vectors, groups=groups, figure=arguments.figure)
    else:
        print(f"figure: {arguments.figure}", file=aside(arguments))


def convert(vectors: "WordVectors", arguments: argparse.Namespace) -> None:
    """Write a file."""
    if Path(arguments.out).exists() and not arguments.overwrite:
        raise ValueError(f"{arguments.out} exists: choose another name, or say --overwrite")
    vectors.save(arguments.out, arguments.to)
    if arguments.json:
        _print_json(arguments, vectors, out=arguments.out)
    else:
        V, D = vectors.matrix.shape
        print(f"{arguments.out}: {V:,} words, D = {D}")


def _action(actions: Any, name: str, summary: str, do: Any) -> argparse.ArgumentParser:
    """The parser of an action, with what all actions share."""
    from deepnlp.vectors.formats import FORMATS

    parser: argparse.ArgumentParser = actions.add_parser(
        name, help=summary, description=summary[0].upper() + summary[1:] + "."
    )
    add = partial(option, parser)
    add("source VECTORS", "a file of word vectors, a run folder, or a checkpoint (.npz)")
    add("--side", "of a run: the input's vectors (the default) or the output's", SIDES)
    add("--format", "of a file; by default its name and first line say it", FORMATS)
    add("--limit N", "read the first N vectors only", at_least(1))
    parser.set_defaults(do=do)
    add_json(parser, default=argparse.SUPPRESS)
    add_backend(parser, default=argparse.SUPPRESS)
    return parser


def _add_k(parser: argparse.ArgumentParser) -> None:
    option(parser, "-k N", "words to show", at_least(1), 10)


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
    if arguments.json:
        _print_json(
            arguments,
            vectors,
            questions=scores.name,
            method=scores.method,
            restrict=arguments.restrict,
            sections=[_counts(score) for score in scores.sections],
            sums=[_counts(score) for score in sums],
        )
        return
    headings = ["section", ">correct", ">asked", ">of", ">accuracy", ">coverage"]
    rows = [_row(score) for score in scores.sections]
    print(table(headings, [*rows, [""] * len(headings), *map(_row, sums)]))


def _row(score: "AnalogyScore") -> list[str]:
    accuracy = f"{score.accuracy:.1%}" if score.covered else "-"
    counts = [f"{count:,}" for count in (score.correct, score.covered, score.total)]
    return [score.section, *counts, accuracy, f"{score.coverage:.1%}"]


def _counts(score: "AnalogyScore") -> dict[str, Any]:
    return {
        "section": score.section,
        "correct": score.correct,
        "covered": score.covered,
        "total": score.total,
        "accuracy": score.accuracy,
        "coverage": score.coverage,
    }


def _pairs(found: list[tuple[str, float]], value: str = "cosine") -> list[dict[str, Any]]:
    return [{"word": word, value: number} for word, number in found]


def _ranking(heading: str, value: str, found: list[tuple[str, float]]) -> str:
    return table([heading, f">{value}"], [[word, f"{number:.3f}"] for word, number in found])


def _print_json(arguments: argparse.Namespace, vectors: "WordVectors", **found: Any) -> None:
    V, D = vectors.matrix.shape
    head: dict[str, Any] = {"vectors": arguments.source, "words": V, "dimension": D}
    if _is_model(Path(arguments.source)):
        head["side"] = arguments.side or "input"
    print_json({**head, "notes": list(vectors.notes), **found})

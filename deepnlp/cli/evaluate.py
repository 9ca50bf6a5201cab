"""``deepnlp evaluate``: the perplexity of a trained model."""

import argparse
import sys
from typing import TYPE_CHECKING

from deepnlp.cli.output import print_json, table
from deepnlp.cli.parser import add_json, add_model, at_least

if TYPE_CHECKING:
    from deepnlp.datasets import Corpus
    from deepnlp.text import Vocabulary

EPILOG = """\
Every target counts once and the state is carried through the whole split. With a batch size
above 1 the split is read as that many streams side by side: faster, and a little worse.

examples:
  deepnlp evaluate runs/book                        the test split of the run's own corpus
  deepnlp evaluate runs/book --split valid --baselines
  deepnlp evaluate runs/book/best.npz --corpus other.txt --json
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    """
    parser.epilog = EPILOG
    add_model(parser)
    parser.add_argument(
        "--corpus",
        metavar="NAME|PATH",
        help="name of a corpus, or path of a text file or folder; by default the run's own",
    )
    parser.add_argument(
        "--split", choices=["train", "valid", "test"], default="test", help="default test"
    )
    parser.add_argument(
        "--batch-size", type=at_least(1), default=1, metavar="N", help="streams (default 1)"
    )
    parser.add_argument(
        "--baselines", action="store_true", help="unigram, bigram and trigram models beside it"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the perplexity.

    Parameters
    ----------
    arguments : argparse.Namespace

    Returns
    -------
    int
        The exit code.
    """
    from deepnlp.cli.models import load_model
    from deepnlp.evaluation import perplexity
    from deepnlp.generation import vocabulary_of
    from deepnlp.models.ngrams import baselines

    model = load_model(arguments.model)
    vocab = vocabulary_of(model)
    corpus = _corpus(arguments, vocab)
    ids = corpus.splits[arguments.split]
    found = {"model": perplexity(model, ids, arguments.batch_size)}
    if arguments.baselines:
        measured = baselines(corpus.train, {arguments.split: ids}, len(vocab))
        found |= {name: values[arguments.split] for name, values in measured.items()}
    unknown = int((ids[1:] == vocab.unk_id).sum())
    if arguments.json:
        print_json(
            {
                "corpus": corpus.name,
                "fingerprint": corpus.fingerprint,
                "split": arguments.split,
                "batch_size": arguments.batch_size,
                "targets": len(ids) - 1,
                "unknown": unknown,
                "perplexity": found.pop("model"),
                "baselines": found,
            }
        )
        return 0
    print(corpus.describe())
    print(f"{len(ids) - 1:,} targets in the {arguments.split} split, {unknown:,} of them unknown\n")
    heading = [arguments.split, ">perplexity"]
    print(table(heading, [[name, f"{value:.2f}"] for name, value in found.items()]))
    return 0


def _corpus(arguments: argparse.Namespace, vocab: "Vocabulary") -> "Corpus":
    """The corpus that was asked for, or that of the run, in the words of the model."""
    from deepnlp.cli.models import run_folder_of
    from deepnlp.datasets import load_corpus
    from deepnlp.training import RunFolder, TrainConfig

    if arguments.corpus is not None:
        return load_corpus(arguments.corpus, vocab=vocab)
    path = run_folder_of(arguments.model)
    if path is None:
        raise ValueError(
            f"{arguments.model} lies in no run folder that would name its corpus: "
            "say which with --corpus"
        )
    folder = RunFolder(path)
    try:
        corpus = load_corpus(TrainConfig.load(folder.config).corpus, vocab=vocab)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error} ({folder.config} names it; with --corpus say where it is now)"
        ) from error
    result = folder.read_result()
    if result is not None and result["corpus"]["fingerprint"] != corpus.fingerprint:
        print("note: this is not the text the run was trained on: it has changed", file=sys.stderr)
    return corpus

"""``deepnlp evaluate``: the perplexity of a trained model.

Every target counts once and the state is carried through the whole split. With a batch size
above 1 the split is read as that many streams side by side: faster, but the perplexity is a
little higher.

examples:
  deepnlp evaluate runs/book                        the test split of the run's own corpus
  deepnlp evaluate runs/book --split valid --baselines
  deepnlp evaluate runs/book/best.npz --corpus other.txt --json
"""

import argparse

from deepnlp.cli.output import print_json, table
from deepnlp.cli.parser import add_corpus, add_json, add_model, at_least


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_model(parser)
    add_corpus(parser, split="test")
    parser.add_argument(
        "--batch-size", type=at_least(1), default=1, metavar="N", help="streams (default 1)"
    )
    parser.add_argument(
        "--baselines", action="store_true", help="measure unigram, bigram and trigram models too"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the perplexity."""
    import numpy as np

    from deepnlp.cli.models import corpus_of, load_model
    from deepnlp.evaluation import perplexity
    from deepnlp.generation import vocabulary_of
    from deepnlp.models.ngrams import baselines

    model = load_model(arguments.model)
    vocab = vocabulary_of(model)
    corpus = corpus_of(arguments.model, vocab, arguments.corpus)
    ids = corpus.splits[arguments.split]
    found = {"model": perplexity(model, ids, arguments.batch_size)}
    train, targets = model.targets(corpus.train), model.targets(ids)
    if arguments.baselines:
        measured = baselines(train, {arguments.split: targets}, model.output_size)
        found |= {name: values[arguments.split] for name, values in measured.items()}
    unknown = int((targets[1:] == model.targets(np.array(vocab.unk_id))).sum())
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

"""``deepnlp evaluate``: how good a trained model is on a split of a corpus.

Of a language model the perplexity: every target counts once, and the state is carried through the
whole split. With a batch size above 1 the split is read as that many streams side by side: faster,
but the perplexity is a little higher. Of other models the figures of their task, in percent where
they are shares.

With --cache and --dynamic a language model is measured once more, as one that remembers the text
that it is measured on, or goes on learning from it. These figures stand beside its own; choose
their numbers on the validation split.

examples:
  deepnlp evaluate runs/book                        the test split of the run's own corpus
  deepnlp evaluate runs/book --split valid --baselines
  deepnlp evaluate runs/book/best.npz --corpus other.txt --json
  deepnlp evaluate runs/book --cache 500 --cache-share 0.1
  deepnlp evaluate runs/book --dynamic 0.002
  deepnlp evaluate runs/en-es --beam 5              BLEU by beam search
"""

import argparse
from functools import partial
from typing import Any

from deepnlp.cli.output import answer, table
from deepnlp.cli.parser import Number, add_corpus, add_json, add_model, at_least, option


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add_model(parser)
    add_corpus(parser, split="test")
    rows = "language model: streams (default 1); others: rows at the same time"
    add("--batch-size N", rows, at_least(1))
    add("--baselines", "language model and tagger: measure simpler models too", bool)
    beam = "sequence to sequence: width of the beam search; by default that of the run"
    add("--beam K", beam, at_least(1, 1000))
    not_negative = Number(float, low=0)
    cache = "language model: neural cache of the last N states (Grave et al. 2017)"
    add("--cache N", cache, at_least(1, 100_000))
    flatness = "its theta: the larger, the more only the most similar states count"
    add("--cache-flatness X", flatness, not_negative, 1.0)
    share = "its lambda: what part of the probability it gives"
    add("--cache-share X", share, Number(float, low=0, below=1), 0.1)
    rate = "dynamic evaluation with this learning rate (Krause et al. 2018), say 0.002"
    add("--dynamic LR", f"language model: {rate}", Number(float, above=0))
    decay = "its lambda: how strongly weights are drawn back"
    add("--dynamic-decay X", decay, not_negative, 0.02)
    add_json(parser)


def _adaptive(arguments: argparse.Namespace, model: Any, ids: Any, train: Any) -> dict[str, float]:
    """Perplexities with a cache and dynamic weights, where they are asked for."""
    from deepnlp.evaluation.dynamic_evaluation import dynamic_perplexity
    from deepnlp.evaluation.neural_cache import cache_perplexity

    perplexities = {}
    if arguments.cache is not None:
        size, theta, share = arguments.cache, arguments.cache_flatness, arguments.cache_share
        perplexities["cache"] = cache_perplexity(model, ids, size, theta, share)
    if arguments.dynamic is not None:
        lr, decay = arguments.dynamic, arguments.dynamic_decay
        perplexities["dynamic"] = dynamic_perplexity(model, ids, train, lr, decay)
    return perplexities


def run(arguments: argparse.Namespace) -> int:
    """Print the figures."""
    from deepnlp.cli.models import load_model
    from deepnlp.models import RNNLM
    from deepnlp.tasks import TASKS

    measured = [kind for task in TASKS.values() if task.is_measured() for kind in task.models()]
    model = load_model(arguments.model, *measured)
    return (_language_model if isinstance(model, RNNLM) else _other)(arguments, model)


def _language_model(arguments: argparse.Namespace, model: Any) -> int:
    """Print the perplexity of a language model."""
    import numpy as np

    from deepnlp.cli.models import corpus_of
    from deepnlp.evaluation import perplexity
    from deepnlp.generation import vocabulary_of
    from deepnlp.models.ngrams import baselines

    vocab = vocabulary_of(model)
    corpus = corpus_of(arguments.model, vocab, arguments.corpus)
    ids = corpus.splits[arguments.split]
    targets = model.targets(ids)
    batch_size = arguments.batch_size or 1
    adaptive = _adaptive(arguments, model, ids, corpus.train)
    own, baseline = perplexity(model, ids, batch_size), {}
    if arguments.baselines:
        train = model.targets(corpus.train)
        measured = baselines(train, {arguments.split: targets}, model.output_size)
        baseline = {name: values[arguments.split] for name, values in measured.items()}
    unknown = int((targets[1:] == model.targets(np.array(vocab.unk_id))).sum())
    facts = {
        "corpus": corpus.name,
        "fingerprint": corpus.fingerprint,
        "split": arguments.split,
        "batch_size": batch_size,
        "targets": len(ids) - 1,
        "unknown": unknown,
        "perplexity": own,
        "adaptive": adaptive,
        "baselines": baseline,
    }
    names = {"cache": "with a cache", "dynamic": "with dynamic evaluation"}
    shown = {"model": own, **baseline, **{names[name]: adaptive[name] for name in adaptive}}
    rows = [[name, f"{value:.2f}"] for name, value in shown.items()]
    split = arguments.split
    lines = [
        corpus.describe(),
        f"{len(ids) - 1:,} targets in the {split} split, {unknown:,} of them unknown\n",
        table([split, ">perplexity"], rows),
    ]
    return answer(arguments, facts, "\n".join(lines))


def _other(arguments: argparse.Namespace, model: Any) -> int:
    """Print the figures that a task has of its model."""
    from deepnlp.cli.models import task_of
    from deepnlp.evaluation import evaluating
    from deepnlp.training.result import figure_text

    options = {"batch_size": arguments.batch_size, "beam": arguments.beam}
    task = task_of(arguments.model, model, arguments.corpus, **options)
    with evaluating(model):
        figures, notes = task.measure(model, arguments.split)
    levels = task.measure_baselines() if arguments.baselines else {}
    baselines = {name: values[arguments.split] for name, values in levels.items()}
    facts = {key: value for key, value in task.facts().items() if key != "name"}
    facts = {"corpus": task.name, **facts, "split": arguments.split, **figures, **notes}
    rows = [[name, figure_text(value)] for name, value in figures.items()]
    rows += [[f"{name} ({task.metric})", figure_text(value)] for name, value in baselines.items()]
    lines = [f"{task.describe()}\n", table([arguments.split, ">"], rows)]
    lines += [f"{name}: {note}" for name, note in notes.items()]
    return answer(arguments, {**facts, "baselines": baselines}, "\n".join(lines))

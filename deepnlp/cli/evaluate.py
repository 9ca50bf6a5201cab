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

from typing import Annotated, Any

import numpy as np

from deepnlp.cli.models import corpus_of, load_model, task_of
from deepnlp.cli.shared import Answer, CorpusName, Count, Flag, Model, Picture, Split
from deepnlp.datasets.options import Column, Encoding
from deepnlp.evaluation import evaluating, perplexity
from deepnlp.evaluation.dynamic_evaluation import dynamic_perplexity
from deepnlp.evaluation.neural_cache import cache_perplexity
from deepnlp.files.tables import table
from deepnlp.generation import vocabulary_of
from deepnlp.models.ngrams import baselines as levels_of
from deepnlp.options import Option
from deepnlp.tasks import TASKS
from deepnlp.training.result import figure_text


def run(
    model: Model,
    *,
    corpus: CorpusName = None,
    split: Split = "test",
    column: Column = None,
    encoding: Encoding = None,
    batch_size: Count = None,
    baselines: Flag = False,
    beam: Annotated[int | None, Option(metavar="K", low=1, high=1000)] = None,
    cache: Annotated[int | None, Option(low=1, high=100_000)] = None,
    cache_flatness: Annotated[float, Option(low=0)] = 1.0,
    cache_share: Annotated[float, Option(low=0, below=1)] = 0.1,
    dynamic: Annotated[float | None, Option(metavar="LR", above=0)] = None,
    dynamic_decay: Annotated[float, Option(low=0)] = 0.02,
    figure: Picture = None,
) -> Answer:
    """Print the figures.

    Parameters
    ----------
    corpus : str, optional
        name of a corpus, or path of a text file or folder; by default the run's own.
    column : str, optional
        of a table: which column holds the text, or which two hold source and target.
    encoding : str, optional
        of the text; by default UTF-8, or UTF-16 where its first bytes say so.
    batch_size : int, optional
        language model: streams (default 1); others: rows at the same time.
    baselines : bool
        language model and tagger: measure simpler models too.
    beam : int, optional
        sequence to sequence: width of the beam search; by default that of the run.
    cache : int, optional
        language model: neural cache of the last N states (Grave et al. 2017).
    cache_flatness : float
        its theta: the larger, the more only the most similar states count.
    cache_share : float
        its lambda: what part of the probability it gives.
    dynamic : float, optional
        language model: dynamic evaluation with this learning rate (Krause et al. 2018), say 0.002.
    dynamic_decay : float
        its lambda: how strongly weights are drawn back.
    figure : str, optional
        draw the figures as bars (.png, .pdf, .svg).
    """
    measured = [kind for task in TASKS.values() if task.is_measured() for kind in task.models()]
    loaded, how = load_model(model, *measured), {"column": column, "encoding": encoding}
    if type(loaded) not in TASKS["lm"].models():
        changes: Any = {**how, "batch_size": batch_size, "beam": beam}
        return _other(loaded, model, corpus, split, baselines, figure, **changes)
    vocab = vocabulary_of(loaded)
    text = corpus_of(model, vocab, corpus, **how)
    ids = text.splits[split]
    targets, batch_size = loaded.targets(ids), batch_size or 1
    adaptive, simpler = {}, {}
    if cache is not None:
        adaptive["cache"] = cache_perplexity(loaded, ids, cache, cache_flatness, cache_share)
    if dynamic is not None:
        adaptive["dynamic"] = dynamic_perplexity(loaded, ids, text.train, dynamic, dynamic_decay)
    of_model = perplexity(loaded, ids, batch_size)
    if baselines:
        levels = levels_of(loaded.targets(text.train), {split: targets}, loaded.output_size)
        simpler = {name: values[split] for name, values in levels.items()}
    unknown = int((targets[1:] == loaded.targets(np.array(vocab.unk_id))).sum())
    facts = {
        "corpus": text.name,
        "fingerprint": text.fingerprint,
        "split": split,
        "batch_size": batch_size,
        "targets": len(ids) - 1,
        "unknown": unknown,
        "perplexity": of_model,
        **(bits := text.bits(split, of_model)),
        "adaptive": adaptive,
        "baselines": simpler,
    }
    shown = {
        "model": of_model,
        **simpler,
        **{f"model, {name}": adaptive[name] for name in adaptive},
    }
    _draw(shown, "perplexity", split, figure)
    rows = [[name, f"{value:.2f}"] for name, value in shown.items()]
    rows += [[name.replace("_", " "), f"{value:.3f}"] for name, value in bits.items()]
    counted = f"{len(ids) - 1:,} targets in the {split} split, {unknown:,} of them unknown"
    return Answer(facts, f"{text.describe()}\n{counted}\n\n{table([split, '>perplexity'], rows)}")


def _other(
    model: Any,
    path: str,
    corpus: str | None,
    split: str,
    baselines: bool,
    figure: str | None,
    **options: Any,
) -> Answer:
    """Return the figures that a task has of its model."""
    task = task_of(path, model, corpus, **options)
    with evaluating(model):
        figures, notes = task.measure(model, split)
    levels = task.measure_baselines() if baselines else {}
    simpler = {name: values[split] for name, values in levels.items()}
    facts = {"corpus": task.name} | {k: v for k, v in task.facts().items() if k != "name"}
    facts |= {"split": split, **figures, **notes, "baselines": simpler}
    shown = figures | {f"{name} ({task.metric})": value for name, value in simpler.items()}
    rows = [[name, figure_text(value)] for name, value in shown.items()]
    _draw({"model": figures[task.metric], **simpler}, task.metric, split, figure)
    lines = [f"{task.describe()}\n", table([split, ">"], rows)]
    lines += [f"{name}: {note}" for name, note in notes.items()]
    return Answer(facts, "\n".join(lines))


def _draw(values: dict[str, float], metric: str, split: str, path: str | None) -> None:
    """Draw a bar for each of some figures, where a path is given."""
    if path is not None:
        from deepnlp.plots import bars  # matplotlib takes a second to import

        name, groups = metric.replace("_", " "), {n: {split: value} for n, value in values.items()}
        bars(groups, title=f"{name} on the {split} split", ylabel=name, number=".2f", path=path)

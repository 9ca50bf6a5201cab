"""Loading the model that a command names, and its corpus."""

import re
import sys
from pathlib import Path
from typing import Any

from deepnlp import checkpoint
from deepnlp.datasets import Corpus, load_corpus
from deepnlp.errors import DeepNLPError
from deepnlp.files.reading import read_toml
from deepnlp.tasks import TASKS, task_of_model
from deepnlp.text import Vocabulary
from deepnlp.training import Result, RunFolder, TrainConfig, configure


def load_model(path: str, *kinds: type[Any]) -> Any:
    """Load a model of certain kinds, by default a language model, from a run or a checkpoint.

    >>> load_model("runs/none-of-that-name")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no checkpoint runs/none-of-that-name
    """
    model = checkpoint.load(path)
    kinds = kinds or TASKS["lm"].models()
    if not isinstance(model, kinds):
        expected = " or ".join(
            f"{_article(kind)} (deepnlp train --task {task_of_model(kind)})" for kind in kinds
        )
        raise DeepNLPError(f"{path} holds {_article(type(model))}, expected {expected}")
    return model


def _article(kind: type[Any]) -> str:
    name = kind.__name__
    return f"an {name}" if re.match("[AEIOU]|[FHLMNRSX][A-Z]", name) else f"a {name}"


def run_of(path: str) -> RunFolder | None:
    """Return the run that a model belongs to; None where there is no ``config.toml``.

    >>> run_of("runs/none-of-that-name") is None
    True
    """
    run = RunFolder(path if Path(path).is_dir() else Path(path).parent)
    return run if run.config.is_file() else None


def corpus_of(path: str, vocab: Vocabulary, wanted: str | None = None, **how: Any) -> Corpus:
    """Load the corpus that was asked for, or that of the model's run, in its vocabulary.

    ``how`` to read it: ``column`` and ``encoding``.

    >>> corpus_of("best.npz", Vocabulary.build(["cat"]))
    Traceback (most recent call last):
        ...
    ValueError: best.npz lies in no run folder that would name its corpus: say which with --corpus
    """
    if wanted is not None:
        return load_corpus(wanted, vocab=vocab, **how)
    run = _expected_run(path)
    config = read_toml(run.config)
    name = config.get("corpus")
    if not isinstance(name, str):
        raise ValueError(f"{run.config} names no corpus: say which with --corpus")
    how = {n: how.get(n) or config.get(n) for n in ("column", "encoding")}
    try:
        corpus = load_corpus(name, vocab=vocab, **how)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error} ({run.config} names it; with --corpus say where it is now)"
        ) from error
    _note_change(run, corpus.fingerprint)
    return corpus


def task_of(path: str, model: Any, wanted: str | None = None, **changes: Any) -> Any:
    """Return the task of the run of a model, in the model's vocabularies, to evaluate it.

    ``wanted`` is the corpus that was asked for; ``changes`` are other options, where not None.
    """
    run = _expected_run(path) if wanted is None else run_of(path)
    config = (
        configure(task=task_of_model(type(model))) if run is None else TrainConfig.load(run.config)
    )
    if wanted is not None:
        config = config.replace(corpus=wanted, column=None, encoding=None)
    config = config.replace(**{name: value for name, value in changes.items() if value is not None})
    task = TASKS[config.task].load(config, model)
    task.prepare(model)
    if run is not None and wanted is None:
        _note_change(run, task.facts()["fingerprint"])
    return task


def _expected_run(path: str) -> RunFolder:
    run = run_of(path)
    if run is None:
        raise ValueError(
            f"{path} lies in no run folder that would name its corpus: say which with --corpus"
        )
    return run


def _note_change(run: RunFolder, fingerprint: str) -> None:
    """Print a note if the data of a run are no longer what they were."""
    result = Result.of(run)
    if result is not None and result.corpus.get("fingerprint") != fingerprint:
        print("note: this is not the text the run was trained on: it has changed", file=sys.stderr)

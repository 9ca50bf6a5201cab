"""Tasks: what a model is trained to do, and how it is judged. ``Trainer`` trains any of them.

Only a model of n-grams is counted, not trained.
"""

from typing import Any

from deepnlp.datasets import Corpus
from deepnlp.tasks.batching import BPTTBatches
from deepnlp.tasks.language_modelling import LanguageModelling
from deepnlp.tasks.ngrams import NGrams
from deepnlp.tasks.seq2seq import SequenceToSequence
from deepnlp.tasks.tagging import Tagging
from deepnlp.tasks.task import Task
from deepnlp.tasks.word2vec import Word2Vec

__all__ = [
    "TASKS", "BPTTBatches", "Corpus", "LanguageModelling", "NGrams", "SequenceToSequence",
    "Tagging", "Task", "Word2Vec", "as_task", "task_of_model",
]  # fmt: skip

# By the name that `deepnlp train --task` takes.
TASKS: dict[str, type[Task]] = {
    "lm": LanguageModelling,
    "vectors": Word2Vec,
    "seq2seq": SequenceToSequence,
    "tag": Tagging,
    "ngrams": NGrams,
}


def as_task(task: Task | Corpus, **options: Any) -> Task:
    """Return the task itself; for a corpus, language modelling on it.

    Parameters
    ----------
    task : Task or Corpus
    **options
        Of :class:`LanguageModelling`, beside a corpus only.
    """
    if isinstance(task, Corpus):
        return LanguageModelling(task, **options)
    if not isinstance(task, Task):
        raise TypeError(f"expected a task or a corpus to train on, got a {type(task).__name__}")
    if options:
        names = ", ".join(options)
        raise TypeError(f"{names}: give these to the constructor of {type(task).__name__}")
    return task


def task_of_model(kind: type[Any]) -> str:
    """Return the task that builds models of a class.

    Parameters
    ----------
    kind : type
        One that a task names in its ``parts``.

    Returns
    -------
    str
        The name in ``TASKS``.

    Examples
    --------
    >>> from deepnlp.models import SkipGram
    >>> task_of_model(SkipGram)
    'vectors'
    """
    return next(name for name, task in TASKS.items() if kind in task.models())

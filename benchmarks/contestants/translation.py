"""deepnlp: a recipe for translation, trained for some epochs, and BLEU on the test split."""

from __future__ import annotations

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.translating import learn, test_scores, trainer_of


def run(spec: Spec) -> Answer:
    """Target tokens per second and BLEU.

    Parameters
    ----------
    spec : Spec
        The ``recipe``, options in place of its own in ``config``, and the number of the round.
    """
    trainer = trainer_of(spec)
    return {
        **learn(trainer, lambda batch: trainer.train_step(*batch)),
        **test_scores(trainer.model, trainer),
    }

"""The task of language modelling: what is reported of a window, and what is learnt from it."""

import numpy as np
import pytest

from deepnlp.datasets import Corpus
from deepnlp.models import RNNLM
from deepnlp.tasks import LanguageModelling
from deepnlp.text import Vocabulary


@pytest.fixture
def corpus():
    vocab = Vocabulary.build(["a", "b", "c", "d", "e"])
    rng = np.random.default_rng(0)
    train, valid, test = (rng.integers(0, len(vocab), size=n) for n in (400, 60, 60))
    return Corpus("abc", vocab, train, valid, test)


def test_the_figure_of_a_window_is_its_cross_entropy(corpus):
    task = LanguageModelling(corpus, batch_size=4, time_size=6)

    def learn(**terms):
        model = RNNLM(
            *(len(corpus.vocab), 5, 5),
            dropout=0,
            embed_bound=2.0,
            dtype="float64",
            rng=np.random.default_rng(1),
            **terms,
        )
        task.prepare(model)
        loss = float(task.learn(model, task.batches(0)[0]))
        model.eval()
        return loss, model.layers[0].W.grad, task.evaluate(model)["perplexity"]

    plain_loss, plain_gradient, plain_perplexity = learn()
    loss, gradient, perplexity = learn(ar=3.0, tar=2.0, augment=0.5)
    assert loss == pytest.approx(plain_loss, rel=1e-12)
    assert perplexity == plain_perplexity
    assert np.abs(gradient - plain_gradient).max() > 1e-3

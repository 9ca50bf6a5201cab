"""The task of language modelling: what is reported of a window, and what is learnt from it."""

import numpy as np
import pytest

from deepnlp.checkpoint import read_npz
from deepnlp.datasets import Corpus
from deepnlp.models import RNNLM, RegularisedRNNLM
from deepnlp.optimizers import SGD
from deepnlp.tasks import LanguageModelling
from deepnlp.text import Vocabulary
from deepnlp.training import Trainer
from tests.tasks.tools import predicting


@pytest.fixture
def corpus():
    vocab = Vocabulary.build(["a", "b", "c", "d", "e"])
    rng = np.random.default_rng(0)
    train, valid, test = (rng.integers(0, len(vocab), size=n) for n in (400, 60, 60))
    return Corpus("abc", vocab, train, valid, test)


def test_the_figure_of_a_window_is_its_cross_entropy(corpus):
    task = LanguageModelling(corpus, batch_size=4, time_size=6)

    def learn(**terms):
        model = RegularisedRNNLM(
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


def test_windows_of_drawn_lengths_depend_on_seed_and_epoch_alone(corpus):
    def lengths(epoch, **options):
        task = LanguageModelling(corpus, batch_size=2, time_size=12, vary_time=True, **options)
        task.batches(5)  # leaves nothing behind
        return [inputs.shape[1] for inputs, _ in task.batches(epoch)]

    assert lengths(1) == lengths(1)
    assert len({str(lengths(0)), str(lengths(1)), str(lengths(0, data_seed=1))}) == 3


def test_the_learning_rate_is_scaled_by_the_length_of_a_window(corpus):
    model = RNNLM(len(corpus.vocab), 4, 4, dropout=0, dtype="float64")
    options = {"batch_size": 4, "time_size": 20}

    def moved(inputs, targets, **vary):
        trainer = Trainer(
            model, corpus, SGD(model.parameters(), lr=0.5), out=False, **options, **vary
        )
        before = [p.value.copy() for p in model.parameters()]
        trainer.train_step(inputs, targets)
        steps = [p.value - old for p, old in zip(model.parameters(), before, strict=True)]
        for p, old in zip(model.parameters(), before, strict=True):
            p.value[...] = old
        model.reset_state()
        assert trainer.optimizer.lr == 0.5
        return steps

    rng = np.random.default_rng(3)
    window = rng.integers(0, len(corpus.vocab), size=(2, 4, 15))
    plain, scaled = moved(*window), moved(*window, vary_time=True)
    for a, b in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(b, a * 15 / 20, rtol=1e-9, atol=1e-15)
        assert a.any()


def test_averages_are_evaluated_and_saved_and_raw_weights_trained(tmp_path):
    run = predicting(tmp_path, epochs=2, average_after=0)
    result = run.fit()
    assert result.best_epoch == 2  # the first and the last average differ
    best, _ = read_npz(tmp_path / "best.npz")
    kept, _ = read_npz(tmp_path / "checkpoint.npz")
    for number, (name, parameter) in enumerate(run.model.named_parameters()):
        np.testing.assert_array_equal(best[name], kept[f"optimizer/{number}.average"])
        np.testing.assert_array_equal(best[name], parameter.value)
        assert (best[name] != kept[name]).any()
    streamed = result.perplexity_batched["valid"]
    assert streamed == run.history[-1]["valid_perplexity"]


def test_averaging_begins_while_the_resumed_runs_train():
    """What the tests of resuming rely on."""
    run = predicting()
    run.fit()
    assert run.optimizer.averaging
    assert 0 < run.optimizer.state()["averaged"] < run.state.step


def test_similarity_sets_are_evaluated_on_both_sides(corpus, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("a b 9\nb c 3\nc d 5\na e 1\na zebra 4\n", encoding="utf-8")
    task = LanguageModelling(corpus, similarity=str(path))

    def found(tie, **options):
        model = RegularisedRNNLM(
            len(corpus.vocab), 6, 6, tie=tie, dropout=0, embed_bound=1.0, **options
        )
        task.prepare(model)
        return task.final(model)["similarity"]

    sides = found("none")
    for side in sides.values():
        assert (side["pairs.txt"]["covered"], side["pairs.txt"]["total"]) == (4, 5)
    assert sides["input"]["pairs.txt"]["rho"] != sides["output"]["pairs.txt"]["rho"]
    tied = found("tied+L")
    assert tied["input"] == tied["output"]
    predicted = [corpus.vocab.id(word) for word in "abcd"] + [corpus.vocab.unk_id]
    some = found("none", output_ids=predicted)  # "e" cannot be predicted
    assert [some[side]["pairs.txt"]["covered"] for side in ("input", "output")] == [4, 3]


def test_without_sets_nothing_is_said_of_similarity(corpus):
    task = LanguageModelling(corpus)
    model = RNNLM(len(corpus.vocab), 4, 4, dropout=0)
    task.prepare(model)
    assert "similarity" not in task.final(model)


@pytest.mark.parametrize("data", [None, 3, "ptb", [1, 2, 3]])
def test_what_is_no_data_is_named(data):
    model = RNNLM(5, 4, 4)
    with pytest.raises(
        TypeError, match=f"a task or a corpus to train on, got a {type(data).__name__}"
    ):
        Trainer(model, data, SGD(model.parameters(), lr=1.0))

"""Language models whose vectors are frozen in part, or that predict other words than they read."""

import math

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import load, save
from deepnlp.evaluation import perplexity, score, surprisal
from deepnlp.generation import generate_batch, generate_ids
from deepnlp.layer import Sequential, no_backward
from deepnlp.layers import AffineSoftmaxWithLoss
from deepnlp.models import RegularisedRNNLM
from deepnlp.optimizers import SGD, Adam
from deepnlp.text import Vocabulary

V, D, H = 7, 3, 5
VOCAB = Vocabulary(["<unk>", "a", "b", "<eos>", "c", "d", "e"], [9, 8, 7, 6, 5, 4, 3], "whitespace")
OUTPUT = [3, 0, -1, 5]  # <eos>, <unk>, a word that is only predicted, d
TIES = ["none", "tied", "tied+L"]


def make(tie="tied+L", **options):
    rng = np.random.default_rng(1)
    size = H if tie == "tied" else D
    vectors = asarray(rng.normal(size=(V, size)))
    model = RegularisedRNNLM(
        V, size, H, 1, tie=tie, dropout=0, embedding=vectors, dtype="float64", rng=rng, **options
    )
    model.vocab = VOCAB
    return model, asnumpy(vectors)


def batch(K=V, N=2, T=4):
    rng = np.random.default_rng(2)
    return asarray(rng.integers(0, V, (N, T))), asarray(rng.integers(0, K, (N, T)))


def step(model, K=V, optimizer=SGD, **options):
    updates = optimizer(model.parameters(), lr=0.5, **options)
    for _ in range(2):
        model.forward(*batch(K))
        model.zero_grad()
        model.backward()
        updates.step()


# --- Frozen vectors -------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", [(SGD, {"weight_decay": 0.1}), (Adam, {"weight_decay": 0.1})])
@pytest.mark.parametrize("tie", TIES)
def test_a_frozen_embedding_is_frozen_in_both_uses_and_nothing_else_is(
    tie, optimizer, array_backend
):
    """Tied, the output vectors are frozen too; L, the bias and the recurrent layer are trained."""
    model, vectors = make(tie, freeze_embedding=True)
    before = {name: asnumpy(p.value).copy() for name, p in model.named_parameters()}
    kind, options = optimizer
    step(model, optimizer=kind, **options)
    changed = {n for n, p in model.named_parameters() if (asnumpy(p.value) != before[n]).any()}
    assert changed == {*before} - {"layers.0.W"}
    output = asnumpy(model.output.W.value)
    assert (output.shape == vectors.T.shape and np.array_equal(output, vectors.T)) == (
        tie != "none"
    )


@pytest.mark.parametrize("tie", TIES)
def test_words_without_a_vector_are_trained_beside_frozen_ones(tie, array_backend):
    model, vectors = make(tie, freeze_embedding=True, trained_ids=[5, 1])
    assert np.array_equal(asnumpy(model.layers[0].W.value), vectors)
    step(model)
    E = asnumpy(model.layers[0].W.value)
    moved = (vectors != E).any(axis=1)
    assert np.flatnonzero(moved).tolist() == [1, 5]
    if tie != "none":
        assert np.array_equal(asnumpy(model.output.W.value), E.T)
    assert "21, 15 of them frozen" in model.summary() or tie == "tied"
    assert model.size() == make(tie)[0].size()


def test_freezing_in_part_is_freezing_the_gradient_of_these_rows(array_backend):
    free, _ = make("tied")
    part, _ = make("tied", freeze_embedding=True, trained_ids=[2, 6])
    for model in (free, part):
        model.forward(*batch())
        model.backward()
    trained = part.layers[0].W.own
    np.testing.assert_allclose(
        asnumpy(trained.grad), asnumpy(free.layers[0].W.grad)[[2, 6]], rtol=1e-12
    )
    for name in ("layers.1.Wx", "layers.1.Wh", "output.b"):
        one, other = (dict(m.named_parameters())[name] for m in (free, part))
        np.testing.assert_allclose(asnumpy(one.grad), asnumpy(other.grad), rtol=1e-12)


# --- Two vocabularies -----------------------------------------------------------------------------


@pytest.mark.parametrize("tie", ["tied", "tied+L"])
def test_a_word_of_both_vocabularies_has_one_vector(tie, array_backend):
    model, vectors = make(tie, output_ids=OUTPUT)
    W = asnumpy(model.output.W.value).T
    assert W.shape[0] == model.output_size == 4
    np.testing.assert_array_equal(W[[0, 1, 3]], vectors[[3, 0, 5]])
    assert not (vectors == W[2]).all(axis=1).any()
    step(model, K=4)
    W, E = asnumpy(model.output.W.value).T, asnumpy(model.layers[0].W.value)
    np.testing.assert_array_equal(W[[0, 1, 3]], E[[3, 0, 5]])
    assert (vectors != E).any()


def test_a_model_of_two_vocabularies_is_its_layers_in_a_row():
    model, vectors = make("tied+L", output_ids=OUTPUT)
    ids, targets = batch(K=4)
    with no_backward():
        h = Sequential(*model.layers).forward(ids)
        model.reset_state()
        own = model.output.W.T.own.value
        W = np.stack([vectors[3], vectors[0], own[0], vectors[5]]).T
        expected = AffineSoftmaxWithLoss(W, model.output.b).forward(h, targets)
        assert float(model.forward(ids, targets)) == pytest.approx(float(expected), rel=1e-12)


def test_an_untied_model_has_an_output_row_for_each_word_it_predicts():
    model, _ = make("none", output_ids=OUTPUT)
    assert model.output.W.shape == (H, 4)
    assert model.logits(batch()[0]).shape == (2, 4, 4)


def test_targets_of_a_text_are_those_of_the_output_vocabulary():
    model, _ = make(output_ids=OUTPUT)
    text = np.array([[0, 1, 3], [5, 6, -1]])
    assert model.targets(text).tolist() == [[1, 1, 0], [3, 1, -1]]
    plain, _ = make()
    assert plain.targets(text) is text
    model.vocab = None
    with pytest.raises(ValueError, match=r"model\.vocab"):
        model.targets(text)


def test_evaluation_maps_the_targets(array_backend):
    model, _ = make(output_ids=OUTPUT)
    ids = np.random.default_rng(3).integers(0, V, 30)
    model.eval()
    with no_backward():
        losses = asnumpy(
            model.losses(asarray(ids[None, :-1]), asarray(model.targets(ids[None, 1:])))
        )[0]
    np.testing.assert_allclose(surprisal(model, ids), losses, rtol=1e-10)
    assert perplexity(model, ids) == pytest.approx(math.exp(losses.mean()), rel=1e-10)
    assert len(score(model, "a d b").surprisals) == 4


def test_generation_writes_only_words_that_can_be_predicted_and_read():
    model, _ = make(output_ids=OUTPUT)
    found = set(generate_ids(model, [1, 2], length=60, seed=0, allow_unknown=True))
    assert found == {0, 3, 5}
    assert set(generate_ids(model, [1], length=60, seed=0)) == {3, 5}  # without <unk>
    for ids in generate_batch(model, [[1], [2, 4]], length=5, seed=0):
        assert {*ids.tolist()} <= {3, 5}


def test_the_bias_starts_from_the_counts_of_the_words_predicted():
    model, _ = make(output_ids=OUTPUT)
    model.start_from_unigram(np.array([3, 1, 0, 4]))
    np.testing.assert_allclose(np.exp(asnumpy(model.output.b.value)), np.array([4, 2, 1, 5]) / 12)
    with pytest.raises(ValueError, match="each of 4 words, got 7"):
        model.start_from_unigram(np.ones(V))


@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize(
    "options",
    [
        {"output_ids": OUTPUT},
        {"output_ids": [0, 3]},
        {"freeze_embedding": True, "trained_ids": [0, 6]},
        {"freeze_embedding": True, "trained_ids": [0, 3], "output_ids": OUTPUT},
    ],
)
def test_a_checkpoint_holds_it_all(tie, options, tmp_path):
    model, _ = make(tie, **options)
    step(model, K=model.output_size)
    save(tmp_path / "m.npz", model)
    again = load(tmp_path / "m.npz")
    ids, targets = batch(model.output_size)
    model.reset_state()
    assert float(again.forward(ids, targets)) == float(model.forward(ids, targets))
    assert again.summary() == model.summary()
    assert "ids>" in model.summary()
    frozen = [n for n, p in again.named_parameters() if not p.trainable]
    assert frozen == (["layers.0.W.0"] if "trained_ids" in options else [])


def test_a_model_of_two_vocabularies_learns(array_backend):
    """A cycle of words, of which every other one is predicted as <unk>."""
    rng = np.random.default_rng(0)
    cycle = np.tile(np.arange(V), 4)[None]
    model = RegularisedRNNLM(
        *(V, D, H, 1),
        **{"tie": "tied+L", "dropout": 0, "embed_bound": 1.0, "dtype": "float64", "rng": rng},
        output_ids=[0, 2, 4, 6],
    )
    model.vocab = VOCAB
    ids, targets = asarray(cycle[:, :-1]), asarray(model.targets(cycle[:, 1:]))
    optimizer = Adam(model.parameters(), lr=0.1)
    for _ in range(200):
        model.reset_state()
        loss = model.forward(ids, targets)
        model.zero_grad()
        model.backward()
        optimizer.step()
    assert float(loss) < 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trained_ids": [0]}, "belong to freeze_embedding"),
        ({"trained_ids": [], "freeze_embedding": True}, "one id or more"),
        ({"trained_ids": [-1], "freeze_embedding": True}, "trained_ids should be from 0 to 6"),
        ({"output_ids": []}, "one id or more"),
        ({"output_ids": [0, 7]}, "output_ids should be from -1 to 6, got 7"),
        ({"output_ids": [0, -2]}, "output_ids should be from -1 to 6, got -2"),
        ({"output_ids": [0, 3, 3]}, "holds the id 3 twice"),
    ],
)
def test_ids_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        RegularisedRNNLM(V, D, H, tie="tied+L", **options)


def test_unknown_words_need_a_target():
    model, _ = make(output_ids=[1, 2])
    with pytest.raises(ValueError, match="<unk>"):
        model.targets(np.array([0]))

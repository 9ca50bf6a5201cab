"""The language models: what they are made of, what they refuse, what a summary says."""

import inspect
import json

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import TimeDropout
from deepnlp.models import (
    CBOW,
    RNNLM,
    RegularisedRNNLM,
    Seq2Seq,
    SimpleRNNLM,
    SkipGram,
    Tagger,
    TiedRNNLM,
)
from deepnlp.models.regularised_rnnlm import rnnlm_of
from deepnlp.optimizers import SGD, Adam, clip_gradients

V, D, H = 11, 4, 6


def windows(rng, steps=3, N=2, T=5):
    ids = rng.integers(0, V, size=(N, steps * T + 1))
    for k in range(steps):
        yield asarray(ids[:, k * T : (k + 1) * T]), asarray(ids[:, k * T + 1 : (k + 1) * T + 1])


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("tie", ["none", "tied", "tied+L"])
def test_a_model_learns(cell, tie, array_backend):
    rng = np.random.default_rng(0)
    size = H if tie == "tied" else D
    model = RNNLM(V, size, H, layers=1, cell=cell, tie=tie, dropout=0.0, dtype="float64", rng=rng)
    optimizer = Adam(model.parameters(), lr=0.03)
    ids, targets = next(windows(rng))
    losses = []
    for _ in range(60):
        model.reset_state()
        loss = model.forward(ids, targets)
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss))
    assert losses[0] == pytest.approx(np.log(V), rel=0.05)
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        # Gulordava et al. 2018, Table 1: non-tied, tied and tied+L, in parameters
        ({"embed_size": 200, "hidden_size": 200, "tie": "none"}, 4_653_200),
        ({"embed_size": 200, "hidden_size": 200, "tie": "tied"}, 2_653_200),
        ({"embed_size": 200, "hidden_size": 400, "tie": "tied+L"}, 4_333_200),
        ({"embed_size": 400, "hidden_size": 600, "tie": "tied+L"}, 9_534_800),
        # Merity et al. 2018: 24.2 million, with two bias vectors in each layer
        ({"embed_size": 400, "hidden_size": [1150, 1150, 400], "layers": 3}, 24_221_600),
    ],
)
def test_sizes_of_the_published_models(options, parameters):
    model = RNNLM(10_000, **options)
    assert abs(model.size() / parameters - 1) < 2e-3


def test_tied_models_own_one_matrix():
    model = RNNLM(V, H, H, tie="tied")
    names = [name for name, _ in model.named_parameters()]
    assert names[0] == "layers.0.W"
    assert "layers.2.Wx" in names
    assert sum(p.shape in ((V, H), (H, V)) for p in model.parameters()) == 1
    untied = RNNLM(V, H, H, tie="none")
    assert untied.size() - model.size() == V * H


def test_each_layer_has_its_size():
    model = RegularisedRNNLM(V, D, [H, 7, D], 3, dropout=0.2, input_dropout=0, embed_dropout=0.1)
    widths = [(layer.D, layer.H) for layer in model.layers if hasattr(layer, "H")]
    assert widths == [(D, H), (H, 7), (7, D)]
    shapes = {p.shape for p in model.parameters()}
    assert {(D, 4 * H), (H, 4 * H), (H, 4 * 7), (7, 4 * 7), (7, 4 * D), (D, 4 * D)} < shapes
    assert model.config()["hidden_size"] == [H, 7, D]
    assert f"hidden_size=[{H}, 7, {D}]" in model.summary()
    of_one = [RNNLM(V, H, size, 2, rng=np.random.default_rng(0)) for size in (H, [H, H])]
    for p, q in zip(*(model.parameters() for model in of_one), strict=True):
        np.testing.assert_array_equal(p.value, q.value)
    rng = np.random.default_rng(0)
    Wx = RNNLM(V, 50, [200, 50], 2, dropout=0, rng=rng).layers[2].Wx  # U(-1/sqrt(H), 1/sqrt(H))
    assert float(abs(Wx.value).max()) == pytest.approx(50**-0.5, rel=0.01)


def test_dropout_in_its_places():
    def rates(**options):
        model = RegularisedRNNLM(V, H, H, 3, **options)
        return [layer.p if isinstance(layer, TimeDropout) else None for layer in model.layers]

    assert rates(dropout=0.2) == [None, 0.2, None, 0.2, None, 0.2, None, 0.2]
    places = rates(dropout=0.2, input_dropout=0.3, output_dropout=0.4)
    assert places == [None, 0.3, None, 0.2, None, 0.2, None, 0.4]
    assert rates(dropout=0.2, input_dropout=0.0) == [None, None, 0.2, None, 0.2, None, 0.2]
    assert rates(dropout=0.0, output_dropout=0.4) == [None, None, None, None, 0.4]


def test_weight_drop_and_embedding_dropout_are_off_in_evaluation(array_backend):
    rng = np.random.default_rng(0)
    model = RegularisedRNNLM(
        V, H, H, dropout=0, embed_dropout=0.3, weight_drop=0.5, dtype="float64", rng=rng
    )
    plain = RNNLM(V, H, H, dropout=0, dtype="float64")
    for p, q in zip(plain.parameters(), model.parameters(), strict=True):
        p.value = q.value
    ids = asarray(rng.integers(0, V, size=(2, 6)))
    assert (asnumpy(model.logits(ids)) != asnumpy(plain.logits(ids))).any()
    model.reset_state(), plain.reset_state()
    model.eval()
    np.testing.assert_array_equal(asnumpy(model.logits(ids)), asnumpy(plain.logits(ids)))


def test_terms_of_the_loss_are_for_training_only(array_backend):
    rng = np.random.default_rng(0)
    options = {"dropout": 0.0, "embed_bound": 2.0, "dtype": "float64"}
    terms = {"ar": 2.0, "tar": 1.0, "augment": 0.5, "augment_temperature": 4.0}
    model = RegularisedRNNLM(V, H, H, **options, **terms)
    plain = RNNLM(V, H, H, **options)
    for p, q in zip(plain.parameters(), model.parameters(), strict=True):
        p.value = q.value
    ids, targets = next(windows(rng))
    expected = float(plain.forward(ids, targets))
    loss = float(model.forward(ids, targets))
    assert loss > expected + 1e-3
    assert loss - float(model.penalty) == pytest.approx(expected)
    model.backward()
    model.reset_state(), model.eval()
    assert float(model.forward(ids, targets)) == expected
    model.zero_grad(), plain.zero_grad()
    model.backward(), plain.backward()
    for p, q in zip(plain.parameters(), model.parameters(), strict=True):
        np.testing.assert_array_equal(asnumpy(p.grad), asnumpy(q.grad))


def test_the_matrix_L_is_between_hidden_state_and_embedding():
    rng = np.random.default_rng(1)
    model = RNNLM(V, D, H, layers=1, tie="tied+L", dropout=0, output_bias=False, dtype="float64")
    ids = asarray(rng.integers(0, V, size=(1, 3)))
    h = model.layers[1].forward(model.layers[0].forward(ids))
    model.reset_state()
    L, E = asnumpy(model.layers[2].W.value), asnumpy(model.layers[0].W.value)
    assert L.shape == (H, D)
    np.testing.assert_allclose(asnumpy(model.logits(ids)), asnumpy(h) @ L @ E.T, rtol=1e-12)


def test_the_form_without_an_input_matrix():
    rng = np.random.default_rng(2)
    model = RegularisedRNNLM(
        V, H, H, layers=1, cell="rnn", input_matrix=False, dropout=0, dtype="float64"
    )
    ids = asarray(rng.integers(0, V, size=(1, 1)))
    E, Wh = (asnumpy(model.layers[0].W.value), asnumpy(model.layers[1].Wh.value))
    assert model.layers[1].Wx is None
    h = np.tanh(E[asnumpy(ids)[0, 0]])
    np.testing.assert_allclose(asnumpy(model.logits(ids))[0, 0], h @ E.T, rtol=1e-12)
    np.testing.assert_allclose(
        asnumpy(model.logits(ids))[0, 0], np.tanh(E[asnumpy(ids)[0, 0]] + h @ Wh) @ E.T, rtol=1e-12
    )


@pytest.mark.parametrize("frozen", [True, False])
def test_a_pretrained_embedding_is_used_and_may_be_frozen(frozen):
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(V, H)).astype("float32")
    model = RegularisedRNNLM(V, H, H, embedding=asarray(vectors), freeze_embedding=frozen)
    ids, targets = next(windows(rng))
    optimizer = SGD(model.parameters(), lr=1.0)
    model.forward(ids, targets)
    model.backward()
    optimizer.step()
    assert np.array_equal(asnumpy(model.layers[0].W.value), vectors) == frozen
    assert ("frozen" in model.summary()) == frozen


def test_the_book_initialisation():
    rng = np.random.default_rng(4)
    model = RNNLM(2000, 50, 50, layers=1, tie="none", dropout=0, init="book", rng=rng)
    embed, lstm = model.layers
    affine = model.output
    assert float(embed.W.value.std()) == pytest.approx(0.01, rel=0.05)
    assert float(lstm.Wx.value.std()) == pytest.approx(50**-0.5, rel=0.05)
    assert float(affine.W.value.std()) == pytest.approx(50**-0.5, rel=0.05)
    assert not lstm.b.value.any()


def test_the_forget_gate_starts_open():
    b = asnumpy(RNNLM(V, H, H).layers[2].b.value)
    assert b.tolist() == [0] * H + [1] * H + [0] * 2 * H
    assert not asnumpy(RNNLM(V, H, H, forget_bias=0.0).layers[2].b.value).any()


def test_a_model_that_starts_from_the_unigram_has_its_entropy():
    counts = np.random.default_rng(0).integers(1, 100, size=V)
    model = RNNLM(V, H, H, dtype="float64", embed_bound=1e-9)
    model.start_from_unigram(counts)
    p = (counts + 1) / (counts + 1).sum()
    ids = asarray(np.arange(V)[None])
    assert float(model.forward(ids, ids)) == pytest.approx(-np.log(p).mean(), rel=1e-6)
    with pytest.raises(ValueError, match="count for each"):
        model.start_from_unigram(counts[1:])
    with pytest.raises(ValueError, match="output_bias"):
        RNNLM(V, H, H, output_bias=False).start_from_unigram(counts)


def test_state_is_carried_and_reset():
    rng = np.random.default_rng(5)
    model = RNNLM(V, H, H, dtype="float64").eval()
    ids = asarray(rng.integers(0, V, size=(2, 6)))
    whole = asnumpy(model.logits(ids))
    model.reset_state()
    first, second = asnumpy(model.logits(ids[:, :3])), asnumpy(model.logits(ids[:, 3:]))
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), whole, rtol=1e-12)
    model.reset_state()
    np.testing.assert_allclose(asnumpy(model.logits(ids)), whole, rtol=1e-12)


def test_logits_keep_nothing():
    model = RNNLM(V, H, H)
    model.logits(asarray(np.zeros((1, 2), dtype="int64")))
    with pytest.raises(RuntimeError, match="backward"):
        model.backward()


@pytest.mark.parametrize(
    "kind", [RNNLM, RegularisedRNNLM, TiedRNNLM, SimpleRNNLM, CBOW, SkipGram, Seq2Seq, Tagger]
)
def test_a_configuration_rebuilds_the_model(kind):
    arguments = inspect.signature(kind).parameters.values()
    needed = [argument.name for argument in arguments if argument.default is argument.empty]
    sizes = {name: H if name in ("embed_size", "hidden_size") else V for name in needed}
    model = kind(**sizes, dtype=np.float64)
    config = json.loads(json.dumps(model.config()))
    again = kind(**config)
    assert [(n, p.shape, p.dtype) for n, p in again.named_parameters()] == [
        (n, p.shape, p.dtype) for n, p in model.named_parameters()
    ]
    model.astype("float32")
    assert model.config()["dtype"] == "float32"


def test_the_same_seed_gives_the_same_model():
    deepnlp.seed(3)
    one = RNNLM(V, H, H)
    deepnlp.seed(3)
    two = RNNLM(V, H, H)
    for p, q in zip(one.parameters(), two.parameters(), strict=True):
        assert np.array_equal(asnumpy(p.value), asnumpy(q.value))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed_size": D}, r"tied\+L"),
        ({"tie": "knot"}, "tie should be one of 'none'"),
        ({"cell": "cnn"}, "cell should be one of"),
        ({"init": "zeros"}, "init should be one of"),
        ({"layers": 0}, "layers should be"),
        ({"hidden_size": [H, H, H]}, "one for each of 2 layers"),
        ({"hidden_size": [H, 0]}, "hidden_size should be"),
        ({"hidden_size": []}, "hidden_size should be a whole number, 1 or more, or a list of such"),
        ({"hidden_size": [H, D]}, "that of the last layer"),
        ({"augment": 0.5, "output_ids": [0, 1, -1], "tie": "none"}, "augmented loss compares"),
        ({"ar": -1.0}, "ar should be"),
        ({"weight_drop": 1.0}, "weight_drop should be"),
        ({"embed_dropout": -0.1}, "embed_dropout should be"),
        ({"vocab_size": 0}, "vocab_size should be"),
        ({"hidden_size": 2.5}, "hidden_size should be"),
        ({"dropout": 1.0}, "dropout should be a number, 0 or more and below 1, got 1.0"),
        ({"input_matrix": False}, "input_matrix"),
        ({"embedding": np.zeros((V, D), dtype="float32")}, "embedding should have shape"),
        ({"activation": "gelu"}, "activation should be"),
        ({"reset_after": True}, "reset_after is an option of cell='gru'"),
    ],
)
def test_what_does_not_fit_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        RegularisedRNNLM(**{"vocab_size": V, "embed_size": H, "hidden_size": H, **options})


def test_an_option_of_its_own_makes_the_regularised_model():
    sizes = {"vocab_size": V, "embed_size": H, "hidden_size": H}
    every = RegularisedRNNLM(**sizes).config()  # as in a file older than the two classes
    assert type(rnnlm_of(every)) is RNNLM
    for name in RegularisedRNNLM(**sizes).config().keys() - RNNLM(**sizes).config().keys():
        other = {"input_matrix": False, "cell": "rnn"} if name == "input_matrix" else {name: 0.5}
        other |= {name: [1, 2]} if name.endswith("_ids") else {}
        other |= {name: 3} if name.startswith("mogrifier") else {}
        other |= {name: True} if name in ("locked_dropout", "freeze_embedding") else {}
        other |= {"freeze_embedding": True} if name == "trained_ids" else {}
        assert type(rnnlm_of(every | other)) is RegularisedRNNLM, name


def test_the_page_and_the_model_are_the_same():
    page, model = TiedRNNLM(V, H, "float64"), RNNLM(V, H, H, 1, dropout=0.0, dtype="float64")
    for p, q in zip(page.parameters(), model.parameters(), strict=True):
        q.value = p.value
    ids, targets = next(windows(np.random.default_rng(0)))
    assert float(page(ids, targets)) == pytest.approx(float(model(ids, targets)), rel=1e-14)
    page.backward(), model.backward()
    for p, q in zip(page.parameters(), model.parameters(), strict=True):
        np.testing.assert_allclose(asnumpy(p.grad), asnumpy(q.grad), rtol=1e-12, atol=1e-15)


def test_a_summary_counts_tied_weights_once():
    model = RNNLM(10_000, 650, 650)
    text = model.summary()
    assert "= layers.0.W, transposed" in text
    assert f"{model.size():,} parameters" in text
    assert "embed.W" in SimpleRNNLM(V, D, H).summary()

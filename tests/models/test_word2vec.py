"""CBOW and skip-gram: against their definitions, tied and not; what they learn and refuse."""

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.models import CBOW, RNNLM, SimpleRNNLM, SkipGram
from deepnlp.optimizers import SGD
from deepnlp.training import load, save
from tests.layers.tools import assert_close

V, D = 11, 4
KINDS = (CBOW, SkipGram)
TIES = ("none", "tied", "tied+L")
every_kind = pytest.mark.parametrize("kind", KINDS)
every_tie = pytest.mark.parametrize("tie", TIES)
every_loss = pytest.mark.parametrize("loss", ["negative", "softmax"])


def blocks(rng, N=3, B=4, w=2, K=5):
    """Text, windows, centres and negatives; the last centre has no window."""
    text = rng.integers(0, V, size=(N, B + 2 * w))
    distance = abs(np.arange(B)[:, None] + w - np.arange(B + 2 * w))
    windows = (distance > 0) & (distance <= rng.integers(1, w + 1, size=(N, B, 1)))
    windows[-1, -1] = False
    return text, windows, text[:, w : w + B], rng.integers(0, V, size=(N, K))


def build(kind, tie="none", loss="negative", rng=None, **options):
    """A model with weights that are far from zero."""
    rng = rng or np.random.default_rng(4)
    model = kind(V, D, tie, loss, dtype="float64", rng=rng, **options)
    for parameter in model.parameters():
        parameter.value = asarray(rng.normal(size=parameter.shape))
    return model


def loss_of_a_pair(scores, target, negatives, m):
    if negatives is None:
        return np.log(np.exp(scores).sum()) - scores[target]
    noise = [np.log1p(np.exp(scores[k])) for k in negatives if k != target]
    return np.log1p(np.exp(-scores[target])) + m / len(negatives) * sum(noise)


@every_tie
@every_loss
@pytest.mark.parametrize("kind", ["skip-gram", "CBOW mean", "CBOW sum"])
def test_the_loss_is_that_of_the_definition(array_backend, kind, tie, loss):
    skip = kind == "skip-gram"
    options = {} if skip else {"context": kind.split()[1]}
    model = build(SkipGram if skip else CBOW, tie, loss, negatives=3, **options)
    text, windows, centres, negatives = blocks(np.random.default_rng(1))
    E, W = asnumpy(model.vectors()), asnumpy(model.vectors("output"))
    L = asnumpy(dict(model.named_parameters())["project.W"].value) if "L" in tie else np.eye(D)
    if tie != "none":
        np.testing.assert_array_equal(E, W)
    losses = []
    for n, i in np.ndindex(*centres.shape):
        around, noise = text[n, windows[n, i]], negatives[n] if loss == "negative" else None
        if skip:
            scores = E[centres[n, i]] @ L @ W.T
            losses += [loss_of_a_pair(scores, target, noise, 3) for target in around]
        elif len(around):
            h = E[around].sum(axis=0) / (len(around) if options["context"] == "mean" else 1)
            losses.append(loss_of_a_pair(h @ L @ W.T, centres[n, i], noise, 3))
    found = model.forward(*map(asarray, (text, windows, centres, negatives)))
    assert_close(found, np.mean(losses))


@every_kind
@every_tie
@every_loss
def test_a_model_learns(array_backend, kind, tie, loss):
    rng = np.random.default_rng(0)
    model = kind(V, 8, tie, loss, dtype="float64", rng=rng)
    batch = [asarray(a) for a in blocks(rng)]
    optimizer = SGD(model.parameters(), lr=0.5)
    losses = []
    for _ in range(150):
        losses.append(float(model.forward(*batch)))
        model.zero_grad()
        model.backward()
        optimizer.step()
    fresh = np.log(2) * 6 if loss == "negative" else np.log(V)
    assert losses[0] == pytest.approx(fresh, rel=0.2)
    assert losses[-1] < 0.8 * losses[0]


@every_kind
def test_no_window_at_all(array_backend, kind):
    text, windows, centres, negatives = blocks(np.random.default_rng(1))
    for loss in ("negative", "softmax"):
        model = build(kind, loss=loss)
        batch = map(asarray, (text, np.zeros_like(windows), centres, negatives))
        assert float(model.forward(*batch)) == 0
        model.backward()
        for parameter in model.parameters():
            assert not asnumpy(parameter.grad).any()


@every_kind
@pytest.mark.parametrize(("tie", "tables"), [("none", 2), ("tied", 1), ("tied+L", 1)])
@every_loss
def test_a_tied_table_is_stored_once(kind, tie, tables, loss):
    model = kind(V, D, tie, loss)
    assert model.size() == tables * V * D + (D * D if tie == "tied+L" else 0)
    assert model.vectors().shape == model.vectors("output").shape == (V, D)
    assert kind.__name__ in model.summary()


@every_kind
@every_tie
@every_loss
def test_a_file_gives_the_model_back(tmp_path, kind, tie, loss):
    model = build(kind, tie, loss).astype("float32")
    save(tmp_path / "model.npz", model)
    again = load(tmp_path / "model.npz")
    assert type(again) is kind
    assert again.config() == model.config()
    for side in ("input", "output"):
        np.testing.assert_array_equal(asnumpy(again.vectors(side)), asnumpy(model.vectors(side)))


def test_the_vectors_of_language_models():
    tied, plain = RNNLM(V, D, D, tie="tied"), RNNLM(V, D, 6, tie="none")
    assert plain.vectors("output").shape == (V, 6)
    np.testing.assert_array_equal(tied.vectors("input"), tied.vectors("output"))
    simple = SimpleRNNLM(V, D, 6)
    np.testing.assert_array_equal(simple.vectors("output"), simple.affine.W.value.T)
    given = simple.vectors()
    given[...] = 0
    assert simple.embed.W.value.any()
    with pytest.raises(ValueError, match="side should be one of 'input', 'output', got 'left'"):
        simple.vectors("left")


def test_a_seed_gives_the_same_weights():
    models = []
    for _ in range(2):
        deepnlp.seed(3)
        models.append(CBOW(V, D))
    np.testing.assert_array_equal(models[0].vectors(), models[1].vectors())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed_size": 0}, "embed_size should be a whole number, 1 or more, got 0"),
        ({"tie": "L"}, "tie should be one of 'none', 'tied', 'tied.L', got 'L'"),
        ({"loss": "hinge"}, "loss should be one of 'negative', 'softmax', got 'hinge'"),
        ({"negatives": 0}, "negatives should be a whole number, 1 or more .* 100,000, got 0"),
        ({"dtype": "float16"}, "dtype should be one of 'float32', 'float64', got 'float16'"),
        ({"vocab_size": 0}, "vocab_size should be a whole number, 1 or more, got 0"),
    ],
)
@every_kind
def test_an_option_out_of_range_is_named(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind(**{"vocab_size": V, "embed_size": D, **options})
    with pytest.raises(ValueError, match="context should be one of 'mean', 'sum', got 'max'"):
        CBOW(V, D, context="max")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": np.zeros(8, int)}, r"text should have shape \(N, S\), got \(8,\)"),
        ({"windows": np.ones((3, 4, 7))}, r"windows .*N = 3, B = 4, S = 8, got \(3, 4, 7\)"),
        ({"centres": np.zeros((2, 4), int)}, r"centres .*N = 3, got \(2, 4\)"),
        ({"negatives": None}, r"loss='negative' needs negatives \(N, K\)"),
        ({"negatives": np.zeros((2, 5), int)}, r"negatives .*N = 3, got \(2, 5\)"),
        ({"text": np.full((3, 8), V)}, "should be from 0 to 10, got 11"),
    ],
)
@every_kind
def test_inputs_that_do_not_fit_are_named(kind, change, message):
    names = ("text", "windows", "centres", "negatives")
    inputs = dict(zip(names, blocks(np.random.default_rng(1)), strict=True))
    with pytest.raises(ValueError, match=message):
        build(kind).forward(**{**inputs, **change})

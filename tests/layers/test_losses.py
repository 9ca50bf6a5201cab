"""Losses against their definitions, each target's loss, and the memory that evaluation takes."""

import tracemalloc

import numpy as np
import pytest

import deepnlp
from deepnlp import kernels, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.evaluation import perplexity
from deepnlp.layers import Affine, AffineSoftmaxWithLoss, SigmoidWithLoss, Softmax, SoftmaxWithLoss
from deepnlp.models import RNNLM, SimpleRNNLM
from deepnlp.models.language_model import LanguageModel
from tests.cases import together
from tests.layers.tools import assert_close

RNG = np.random.default_rng(13)


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def cross_entropy(s, t, ignored=-1):
    """Mean of -log p over the targets that count, and its gradient, one row at a time."""
    V = s.shape[-1]
    counted = [n for n in np.ndindex(*t.shape) if t[n] != ignored]
    p = softmax(s)
    loss = -sum(np.log(p[n][t[n]]) for n in counted) / max(len(counted), 1)
    ds = np.zeros_like(s)
    for n in counted:
        ds[n] = (p[n] - np.eye(V)[t[n]]) / len(counted)
    return loss, ds


@together(shape=[(4,), (1,), (3, 5), (1, 1), (2, 3, 2)], ignored=[None, -1, 0, -100])
def test_softmax_with_loss(array_backend, shape, ignored):
    s = RNG.normal(size=(*shape, 6))
    t = RNG.integers(0, 6, size=shape)
    if ignored is not None:
        t.flat[0] = ignored
    layer = SoftmaxWithLoss() if ignored is None else SoftmaxWithLoss(ignore_id=ignored)
    loss = layer.forward(asarray(s), asarray(t))
    expected_loss, expected = cross_entropy(s, t, -1 if ignored is None else ignored)
    assert loss.shape == ()
    assert_close(loss, expected_loss)
    assert_close(layer.backward(), expected)
    layer.forward(asarray(s), asarray(t))
    assert_close(layer.backward(2.5), 2.5 * expected)
    layer.forward(asarray(s), asarray(t))
    assert_close(layer.backward(asarray(np.array(2.5))), 2.5 * expected)


def test_all_targets_ignored(array_backend):
    layer = SoftmaxWithLoss()
    loss = layer.forward(asarray(RNG.normal(size=(2, 3, 4))), asarray(np.full((2, 3), -1)))
    assert float(loss) == 0.0
    np.testing.assert_array_equal(asnumpy(layer.backward()), np.zeros((2, 3, 4)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_logits(array_backend, dtype):
    s = np.array([[1e4, -1e4, 0], [-1e4, 1e4, 1e4], [1e4, 1e4, 1e4]], dtype=dtype)
    t = np.array([1, 2, 0])
    layer = SoftmaxWithLoss()
    loss = layer.forward(asarray(s), asarray(t))
    assert_close(loss, (2e4 + np.log(2) + np.log(3)) / 3, 1e-6)
    assert_close(layer.backward(), (softmax(s) - np.eye(3)[t]) / 3, 1e-6)
    p = asnumpy(Softmax().forward(asarray(s)))
    np.testing.assert_allclose(p, softmax(s), atol=1e-6)
    np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=1e-6)


@pytest.mark.parametrize("wrong", [-2, 4])
def test_targets_out_of_range_name_the_range(array_backend, wrong):
    s, t = asarray(np.zeros((2, 4))), asarray(np.array([0, wrong]))
    with pytest.raises((ValueError, IndexError), match=rf"SoftmaxWithLoss.*0 .*\b3\b.*{wrong}"):
        SoftmaxWithLoss().forward(s, t)


def test_targets_that_do_not_fit(array_backend):
    s = asarray(np.zeros((2, 3, 4)))
    with pytest.raises(ValueError, match=r"SoftmaxWithLoss.*\(2, 3\).*\(3, 2\)"):
        SoftmaxWithLoss().forward(s, asarray(np.zeros((3, 2), dtype=int)))
    with pytest.raises(TypeError, match=r"SoftmaxWithLoss.*integers.*float64"):
        SoftmaxWithLoss().forward(s, asarray(np.zeros((2, 3))))
    with pytest.raises(ValueError, match=r"SigmoidWithLoss.*\(2, 3, 4\).*\(2, 3\)"):
        SigmoidWithLoss().forward(s, asarray(np.zeros((2, 3), dtype=int)))


@pytest.mark.parametrize("shape", [(5,), (1,), (2, 3)], ids=str)
def test_sigmoid_with_loss(array_backend, shape):
    s, t = RNG.normal(size=shape), RNG.integers(0, 2, size=shape)
    layer = SigmoidWithLoss()
    p = 1 / (1 + np.exp(-s))
    expected = -(t * np.log(p) + (1 - t) * np.log(1 - p)).mean()
    loss = layer.forward(asarray(s), asarray(t))
    assert loss.shape == ()
    assert_close(loss, expected)
    assert_close(layer.backward(), (p - t) / t.size)
    layer.forward(asarray(s), asarray(t))
    assert_close(layer.backward(-3.0), -3 * (p - t) / t.size)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_extreme_scores(array_backend, dtype):
    s = np.array([1e4, -1e4, 1e4, -1e4, 0], dtype=dtype)
    layer = SigmoidWithLoss()
    loss = layer.forward(asarray(s), asarray(np.array([1, 0, 0, 1, 1])))
    assert_close(loss, (2e4 + np.log(2)) / 5, 1e-6)
    assert_close(layer.backward(), np.array([0, 0, 1, -1, -0.5]) / 5, 1e-6)


# --- The output of a language model ----------------------------------------------------------


def example(shape, V, dtype="float64", D=5, ignored=-1, scale=1.0):
    """x (..., D), W (D, V), b (V,) and targets (...), some of them ignored."""
    rng = np.random.default_rng(V)
    x, W = rng.normal(size=(*shape, D)), scale * rng.normal(size=(D, V))
    t = rng.integers(0, V, size=shape)
    if t.size > 2:
        t.flat[::3] = ignored
    return [a.astype(dtype) for a in (x, W, scale * rng.normal(size=V))] + [t]


def nll(s, t, ignored=-1):
    """Loss of each target in float64, one row at a time."""
    s = s.astype("float64")
    losses = np.zeros(t.shape)
    for n in np.ndindex(*t.shape):
        if t[n] != ignored:
            top = s[n].max()
            losses[n] = np.log(np.exp(s[n] - top).sum()) + top - s[n][t[n]]
    return losses


@pytest.mark.parametrize("form", kernels.CHOICES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_all_ways_to_a_loss_agree(array_backend, form, dtype, tolerance):
    """Scores, each target's loss and their mean, with and without a backward to follow."""
    for shape, V in [((), 3), ((1,), 1), ((4,), 7), ((2, 3), 50), ((5, 4, 2), 9), ((1500,), 40)]:
        for bias, ignored, scale in [(True, -1, 1.0), (False, 0, 1.0), (True, -100, 200.0)]:
            x, W, b, t = example(shape, V, dtype, ignored=ignored, scale=scale)
            s = (x.astype("float64") @ W + (b if bias else 0)).astype("float64")
            expected = nll(s, t, ignored)
            mean = expected.sum() / max((t != ignored).sum(), 1)
            tolerance_here = tolerance * max(1.0, float(np.abs(s).max()))
            affine = Affine(asarray(W), asarray(b) if bias else None)
            joined = AffineSoftmaxWithLoss(affine.W, affine.b, ignore_id=ignored)
            alone = SoftmaxWithLoss(ignore_id=ignored)
            x, t = asarray(x), asarray(t)
            with kernels.using(form):
                scores = joined.scores(x)
                losses = [joined.losses(x, t), alone.losses(scores, t)]
                means = [joined.forward(x, t), alone.forward(scores, t)]
                with no_backward():
                    losses += [joined.losses(x, t), alone.losses(scores, t)]
                    means += [joined.forward(x, t), alone.forward(scores, t)]
                dx, ds = joined.backward(), alone.backward()  # still wait for theirs
            assert_close(scores, s.astype(dtype), tolerance)
            assert_close(scores, affine.forward(x), tolerance)
            for one in losses:
                assert one.dtype == dtype
                assert_close(one, expected.astype(dtype), tolerance_here)
                assert (asnumpy(one)[asnumpy(t) == ignored] == 0).all()
            for one in means:
                assert one.shape == ()
                assert one.dtype == dtype
                assert_close(one, np.asarray(mean, dtype), tolerance_here)
            assert_close(dx, asnumpy(ds) @ W.T, tolerance_here)


def test_a_loss_of_nothing(array_backend):
    x, W, b, t = map(asarray, example((0, 3), 6))
    for form in kernels.CHOICES:
        with kernels.using(form):
            output = AffineSoftmaxWithLoss(W, b)
            assert output.losses(x, t).shape == (0, 3)
            assert float(output.forward(x, t)) == 0
            with no_backward():
                assert float(output.forward(x, t)) == 0


def test_losses_check_what_they_are_given(array_backend):
    x, W, b, t = map(asarray, example((2, 3), 6))
    output, loss = AffineSoftmaxWithLoss(W, b), SoftmaxWithLoss()
    scores = output.scores(x)
    for owner, first, losses in [
        ("AffineSoftmaxWithLoss", x, output.losses),
        ("SoftmaxWithLoss", scores, loss.losses),
    ]:
        with pytest.raises(TypeError, match=f"{owner}.*integers.*float64"):
            losses(first, t.astype("float64"))
        with pytest.raises(ValueError, match=rf"{owner}.*\(2, 3\).*\(2, 2\)"):
            losses(first, t[:, :2])
        with pytest.raises(ValueError, match=f"{owner}.*from 0 to 5, got 6"):
            losses(first, t * 0 + 6)
    for method in (output.scores, lambda x: output.losses(x, t)):
        with pytest.raises(ValueError, match=r"AffineSoftmaxWithLoss: x .*D = 5"):
            method(x[..., :4])
    with pytest.raises(RuntimeError, match="no forward"):
        output.backward()


@pytest.mark.parametrize(
    "make",
    [
        lambda: RNNLM(11, 6, 6, dtype="float64"),
        lambda: RNNLM(11, 4, 6, tie="tied+L", cell="gru", output_bias=False, dtype="float64"),
        lambda: SimpleRNNLM(11, 4, 6, dtype="float64"),
    ],
)
def test_the_losses_of_a_model(array_backend, make):
    """Its own way, the general way by its scores, and the mean that a forward gives."""
    deepnlp.seed(0)
    model = make().eval()
    ids = asarray(np.random.default_rng(0).integers(0, 11, size=(3, 8)))
    t = asarray(np.random.default_rng(1).integers(-1, 11, size=(3, 8)))
    results = []
    for losses in (model.losses, lambda *a: LanguageModel.losses(model, *a)):
        model.reset_state()
        results.append([losses(ids, t), losses(ids, t)])  # the state goes on
    for general, own in zip(*results, strict=True):
        assert_close(own, general)
    assert np.abs(asnumpy(results[0][0] - results[0][1])).max() > 1e-6
    model.reset_state()
    mean = model.forward(ids, t)
    assert_close(mean, asnumpy(results[0][0]).sum() / (asnumpy(t) != -1).sum())


def peak_of(work):
    """The most memory, in bytes, that was taken in addition while working."""
    work()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        work()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def test_evaluation_never_holds_the_scores():
    N, T, V, H = 10, 35, 30_000, 16
    scores = N * T * V * 4
    ids = np.random.default_rng(0).integers(0, V, size=(N, T + 1))
    for tie in ("tied", "none"):
        model = RNNLM(V, H, H, tie=tie).eval()

        def quiet_forward(model=model):
            with no_backward():
                model.forward(ids[:, :-1], ids[:, 1:])

        for work in (
            lambda model=model: model.losses(ids[:, :-1], ids[:, 1:]),
            quiet_forward,
            lambda model=model: perplexity(model, ids.ravel(), batch_size=N, window=T),
        ):
            assert peak_of(work) < scores / 5


@pytest.mark.parametrize("wrong", [2, 9, -1, 1.5, np.nan, np.inf])
def test_targets_of_the_sigmoid_are_from_zero_to_one(wrong):
    loss = SigmoidWithLoss()
    targets = np.array([0.0, 1.0, 0.5])
    loss.forward(np.zeros(3), targets)
    targets[1] = wrong
    with pytest.raises(ValueError, match="targets should be from 0 to 1, got"):
        loss.forward(np.zeros(3), targets)

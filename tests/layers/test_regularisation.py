"""AR, TAR and the augmented loss, against their equations entry by entry."""

import numpy as np
import pytest

from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import ActivationRegularisation, AugmentedLoss, TemporalActivationRegularisation

RNG = np.random.default_rng(8)


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 1, 1), (4, 7), (3,)], ids=str)
def test_activations(array_backend, shape):
    h = RNG.normal(size=shape)
    term = ActivationRegularisation(0.75)
    assert float(term.forward(asarray(h))) == pytest.approx(0.75 * (h**2).mean())
    np.testing.assert_allclose(asnumpy(term.backward(2.0)), 2 * 0.75 * 2 * h / h.size)


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 2, 1), (3, 1, 4), (1, 1, 1)], ids=str)
def test_changes_of_activations(array_backend, shape):
    h = RNG.normal(size=shape)
    term = TemporalActivationRegularisation(0.75)
    N, T, H = shape
    squares, dh = [], np.zeros_like(h)
    for n, t, j in np.ndindex(N, T - 1, H):
        change = h[n, t + 1, j] - h[n, t, j]
        squares.append(change**2)
        dh[n, t + 1, j] += 2 * change
        dh[n, t, j] -= 2 * change
    expected = 0.75 * np.mean(squares) if squares else 0.0
    assert float(term.forward(asarray(h))) == pytest.approx(expected)
    dh *= 1.5 * 0.75 / max(1, len(squares))
    np.testing.assert_allclose(asnumpy(term.backward(1.5)), dh, atol=1e-15)


def augmented(V=6, D=4, K=3, **options):
    W, b, E = (asarray(RNG.normal(size=shape)) for shape in ((D, V), (V,), (V, K)))
    return AugmentedLoss(W, b, E, **{"gamma": 0.5, "temperature": 3.0, **options})


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum()


def test_the_augmented_loss_of_each_target(array_backend):
    loss, x = augmented(), RNG.normal(size=(2, 3, 4))
    targets = RNG.integers(0, 6, size=(2, 3))
    targets[1, 0] = -1
    W, b, E = (asnumpy(p.value) for p in loss.parameters())
    divergences = []
    for n, t in zip(*np.nonzero(targets >= 0), strict=True):
        p = softmax((x[n, t] @ W + b) / 3.0)
        q = softmax(E @ E[targets[n, t]] / 3.0)
        divergences.append((q * np.log(q / p)).sum())
    value = float(loss.forward(asarray(x), asarray(targets)))
    assert value == pytest.approx(0.5 * 3.0 * np.mean(divergences))
    dx = asnumpy(loss.backward())
    assert not dx[1, 0].any()
    assert dx[0].all()


def test_nothing_is_lost_where_the_prediction_is_that_of_the_vectors(array_backend):
    E = asarray(RNG.normal(size=(5, 3)))
    ids = asarray(np.array([3, 1, 3]))
    loss = AugmentedLoss(E.T, None, E, gamma=1.0)
    assert float(loss.forward(E[ids], ids)) == pytest.approx(0, abs=1e-15)
    assert asnumpy(abs(loss.backward())).max() < 1e-15
    assert asnumpy(abs(loss.E.grad)).max() < 1e-15


def test_no_target_counts(array_backend):
    loss, x = augmented(), asarray(RNG.normal(size=(2, 4)))
    assert float(loss.forward(x, asarray(np.array([-1, -1])))) == 0
    assert not asnumpy(loss.backward()).any()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ActivationRegularisation(-1.0), "alpha should be 0 or more, got -1.0"),
        (lambda: TemporalActivationRegularisation(-0.5), "beta should be 0 or more, got -0.5"),
        (lambda: augmented(gamma=-1.0), "gamma should be 0 or more"),
        (lambda: augmented(temperature=0.0), "temperature should be above 0"),
        (
            lambda: AugmentedLoss(np.ones((2, 3)), None, np.ones((2, 3)), 1.0),
            r"E should have shape \(V, K\) with V = 3, got \(2, 3\)",
        ),
    ],
)
def test_what_does_not_fit(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_shapes_and_types_of_the_inputs(array_backend):
    with pytest.raises(ValueError, match=r"TemporalActivationRegularisation: h .*\(N, T, H\)"):
        TemporalActivationRegularisation(1.0).forward(asarray(np.ones((2, 3))))
    x, loss = asarray(np.ones((2, 4))), augmented()
    with pytest.raises(TypeError, match="AugmentedLoss: targets should be integers"):
        loss.forward(x, asarray(np.ones(2)))
    with pytest.raises(ValueError, match="AugmentedLoss"):
        loss.forward(x, asarray(np.array([0, 6])))

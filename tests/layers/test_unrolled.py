"""Unrolled: copies of one cell over time."""

import numpy as np
import pytest

from deepnlp.layers import LSTM, RNN, TimeLSTM, TimeRNN, Unrolled

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(("cell", "layer"), [(LSTM, TimeLSTM), (RNN, TimeRNN)])
def test_an_unrolled_cell_computes_what_its_layer_over_time_does(cell, layer):
    one = layer.init(3, 4, np.random.default_rng(0), "float64")
    other = Unrolled(cell(*(p.value.copy() for p in one.parameters())))
    x, dhs = RNG.normal(size=(2, 5, 3)), RNG.normal(size=(2, 5, 4))
    np.testing.assert_allclose(one.forward(x), other.forward(x), atol=1e-12)
    np.testing.assert_allclose(one.backward(dhs), other.backward(dhs), atol=1e-12)
    for mine, theirs in zip(one.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(mine.grad, theirs.grad, atol=1e-12)


def test_dropout_of_an_unrolled_cell_is_gone_in_evaluation_and_locked_where_asked():
    step = LSTM.init(3, 4, np.random.default_rng(0), "float64")
    x = RNG.normal(size=(2, 6, 3))
    noisy = Unrolled(step, (0.5, 0.5), rng=np.random.default_rng(1))
    assert not np.allclose(noisy.forward(x), noisy.forward(x))
    np.testing.assert_allclose(noisy.eval().forward(x), Unrolled(step).forward(x))
    locked = Unrolled(step, (0.5,), True, np.random.default_rng(1))
    locked.forward(x)
    (masks,) = locked.saved()
    assert len(masks) == 1
    assert masks[0][1] == 1  # c is left alone

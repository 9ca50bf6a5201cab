"""Weight drop: which weights, when, and what becomes of the weight itself."""

import numpy as np
import pytest

from deepnlp import no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.layers import TimeAffine, TimeGRU, TimeLSTM, TimeRNN, WeightDrop
from deepnlp.optimizers import SGD

N, T, D, H = 2, 5, 3, 20


def dropped(kind=TimeLSTM, p=0.5, **options):
    return WeightDrop(kind.init(D, H, dtype="float64", **options), p, np.random.default_rng(4))


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    return asarray(rng.normal(size=(N, T, D))), asarray(rng.normal(size=(N, T, H)))


def share(layer):
    """The factor of each weight, 0 or 1 / (1 - p), as the layer reads it."""
    view = layer.layer.Wh
    return asnumpy(view.value) / asnumpy(view.W.value)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("kind", [TimeRNN, TimeGRU, TimeLSTM])
def test_the_share_and_the_scale_of_what_is_kept(array_backend, kind, p):
    layer = dropped(kind, p)
    layer.forward(inputs()[0])
    kept = share(layer)
    np.testing.assert_allclose(np.unique(kept.round(12)), [0, 1 / (1 - p)], rtol=1e-9)
    assert abs((kept > 0).mean() - (1 - p)) < 5 * np.sqrt(p * (1 - p) / kept.size)


def test_it_equals_the_layer_with_the_masked_weight(array_backend):
    layer, (x, dy) = dropped(stateful=True), inputs()
    Wx, b = asnumpy(layer.layer.Wx.value), asnumpy(layer.layer.b.value)
    for _ in range(2):
        plain = TimeLSTM(Wx, asnumpy(layer.layer.Wh.W.value), b)
        if layer.layer.h is not None:
            plain.set_state(layer.layer.h, layer.layer.c)
        y = layer.forward(x)
        mask = share(layer)
        plain.Wh.value = asarray(mask * asnumpy(plain.Wh.value))
        np.testing.assert_allclose(asnumpy(y), asnumpy(plain.forward(x)), rtol=1e-12)
        layer.zero_grad()
        np.testing.assert_allclose(asnumpy(layer.backward(dy)), asnumpy(plain.backward(dy)))
        # the gradient of the weight itself is that of the masked one, masked
        np.testing.assert_allclose(
            asnumpy(layer.parameters()[1].grad), mask * asnumpy(plain.Wh.grad), rtol=1e-12
        )


def test_every_forward_has_a_mask_and_evaluation_has_none(array_backend):
    layer, (x, _) = dropped(), inputs()
    masks = []
    for _ in range(3):
        layer.forward(x)
        masks.append(share(layer))
    assert all((masks[i] != masks[j]).any() for i in range(3) for j in range(i))
    layer.eval()
    before = layer.snapshot()
    y = asnumpy(layer.forward(x))
    assert (share(layer) == 1).all()
    np.testing.assert_array_equal(y, asnumpy(layer.layer.forward(x)))
    assert layer.snapshot()["noise.calls"] == before["noise.calls"]


def test_steps_after_training_read_the_whole_weight(array_backend):
    layer, (x, _) = dropped(), inputs()
    layer.forward(x)
    layer.eval()
    whole = asnumpy(layer.forward(x))
    layer.train()
    layer.forward(x)  # leaves a mask
    layer.eval()
    state = None
    for t in range(T):
        y, state = layer.step(x[:, t], state)
        np.testing.assert_allclose(asnumpy(y), whole[:, t], rtol=1e-12)


def test_an_evaluation_in_between_leaves_the_mask_for_backward(array_backend):
    layer, (x, dy) = dropped(), inputs()
    start = layer.snapshot()
    layer.forward(x)
    expected = asnumpy(layer.backward(dy)).copy()
    layer.restore(start)
    layer.forward(x)
    layer.eval()
    with no_backward():
        layer.forward(inputs(seed=1)[0])
    layer.train()
    np.testing.assert_array_equal(asnumpy(layer.backward(dy)), expected)


def test_the_weight_is_kept_and_only_what_was_read_is_updated(array_backend):
    layer, (x, dy) = dropped(), inputs()
    Wh = layer.parameters()[1]
    before = asnumpy(Wh.value).copy()
    layer.forward(x)
    kept = share(layer) > 0
    layer.backward(dy)
    SGD(layer.parameters(), lr=0.1).step()
    after = asnumpy(Wh.value)
    np.testing.assert_array_equal(after[~kept], before[~kept])
    assert (after[kept] != before[kept]).all()


def test_a_snapshot_repeats_the_masks(array_backend):
    layer, (x, _) = dropped(), inputs()
    layer.forward(x)
    state = layer.snapshot()
    first = [asnumpy(layer.forward(x)) for _ in range(2)]
    layer.restore(state)
    again = [asnumpy(layer.forward(x)) for _ in range(2)]
    np.testing.assert_array_equal(first, again)


def test_what_cannot_be_dropped():
    with pytest.raises(TypeError, match="with a Wh, such as TimeLSTM, got a TimeA"):
        WeightDrop(TimeAffine(np.ones((2, 2))), 0.5)
    with pytest.raises(ValueError, match="p should be"):
        dropped(p=1.0)

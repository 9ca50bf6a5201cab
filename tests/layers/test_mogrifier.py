import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.layers import TimeLSTM, TimeMogrifierLSTM
from deepnlp.models import RNNLM, RegularisedRNNLM


def test_with_gates_half_open_it_is_an_lstm():
    rng = np.random.default_rng(0)
    layer = TimeMogrifierLSTM.init(3, 4, rng, "float64", rank=2)
    for weight in (*layer.Ls, *layer.Rs):
        weight.value[...] = 0
    lstm = TimeLSTM(layer.Wx, layer.Wh, layer.b)
    x, dhs = (asarray(rng.normal(size=shape)) for shape in [(2, 5, 3), (2, 5, 4)])
    np.testing.assert_allclose(layer.forward(x), lstm.forward(x), rtol=1e-12)
    np.testing.assert_allclose(layer.backward(dhs), lstm.backward(dhs), rtol=1e-12, atol=1e-15)


def test_the_first_round_scales_the_input_by_the_state():
    one = [[1.0]]
    layer = TimeMogrifierLSTM([[0.0, 0, 1, 0]], np.zeros((1, 4)), np.zeros(4), [one], [one])
    layer.set_state(asarray([[2.0]]), asarray([[0.0]]))
    gate = 2 / (1 + np.exp(-2.0))  # of h = 2; the LSTM's gates are half open
    expected = 0.5 * np.tanh(0.5 * np.tanh(gate * 3))
    assert float(layer.forward(asarray([[[3.0]]]))[0, 0, 0]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("Ls", "Rs", "said"),
    [
        ([], [], "one or more, got 0 and 0"),
        ([np.ones((4, 2))], [], "as many Ls as Rs, one or more, got 1 and 0"),
        ([np.ones((3, 2))], [np.ones((2, 3))], "L1 should have shape"),
        ([np.ones((4, 2))], [np.ones((5, 3))], "R1 should have shape"),
    ],
)
def test_rounds_that_do_not_fit(Ls, Rs, said):
    with pytest.raises(ValueError, match=said):
        TimeMogrifierLSTM(np.ones((3, 16)), np.ones((4, 16)), np.ones(16), Ls, Rs)


def test_the_option_of_the_model():
    model = RegularisedRNNLM(9, 4, [4, 6], tie="tied+L", mogrifier_rounds=2, mogrifier_rank=3)
    shapes = {n: p.shape for n, p in model.named_parameters() if n.startswith("layers.4.")}
    assert shapes["layers.4.Ls.0"] == (6, 3)
    assert shapes["layers.4.Ls.1"] == (4, 3)
    assert shapes["layers.4.Rs.1"] == (3, 6)
    assert RNNLM(9, 4, 4).size() < RegularisedRNNLM(9, 4, 4, mogrifier_rounds=1).size()
    with pytest.raises(ValueError, match="rounds of cell='lstm', got cell='rnn'"):
        RegularisedRNNLM(9, 4, 4, cell="rnn", mogrifier_rounds=2)

"""Layers and training runs on the CUDA kernels, emulated: all that layers really hand over."""

import numpy as np
import pytest

import deepnlp
from deepnlp import kernels
from deepnlp.backend import asnumpy
from tests.backend.test_strict_models import MODELS, OPTIMIZERS, batch, training_step
from tests.cases import by_layer, together
from tests.layers.tools import LAYERS, host, parameter_gradients, run


def results(case):
    deepnlp.seed(0)
    layer, inputs = case.make("float64")
    outputs, gradients = run(layer, inputs)
    arrays = host(outputs) + host(tuple(g for g in gradients if g is not None))
    return arrays + parameter_gradients(layer)


@by_layer(LAYERS)
def test_a_layer_gives_the_same_through_the_kernels(cuda_kernels, case):
    ours = results(case)
    with kernels.using("plain"):
        reference = results(case)
    for a, e in zip(ours, reference, strict=True):
        np.testing.assert_allclose(a, e, rtol=0, atol=1e-12 * max(1.0, np.abs(e).max(initial=0)))


LAUNCHES = {
    "TimeRNN": ["rnn_step", "rnn_slopes", "rnn_step_backward"],
    "TimeLSTM": ["loop_lstm", "lstm_slopes", "loop_lstm_backward"],
    "SoftmaxWithLoss": ["softmax_nll", "softmax_nll_backward"],
    "AffineSoftmaxWithLoss": ["softmax_nll", "softmax_nll_backward"],
    "Dropout": ["dropout", "dropout"],
    "TimeDropout": ["dropout", "dropout"],
}


@by_layer(example for example in LAYERS if example.covers.__name__ in LAUNCHES)
@together(dtype=["float32", "float64"])
def test_no_layer_has_to_do_without_its_kernels(cuda_kernels, case, dtype):
    """What a layer hands over has a layout that the kernels take: a launch a step, or for all."""
    layer, inputs = case.make(dtype)
    cuda_kernels.launches.clear()
    run(layer, inputs)
    names = LAUNCHES[case.covers.__name__]
    if case.covers.__name__ == "TimeRNN":
        T = inputs[0].shape[1]
        names = [names[0]] * T + [names[1]] + [names[2]] * T
    assert cuda_kernels.launches == names


@by_layer(example for example in LAYERS if example.covers.__name__ == "TimeGRU")
def test_no_gru_has_to_do_without_its_kernels(cuda_kernels, case):
    layer, inputs = case.make("float32")
    cuda_kernels.launches.clear()
    run(layer, inputs)
    T = inputs[0].shape[1]
    if layer.reset_after:
        expected = ["gru_step"] * T + ["gru_slopes"] + ["gru_step_backward"] * T
    else:
        expected = ["gru_gates", "gru_output"] * T + ["gru_slopes"]
        expected += ["gru_output_backward", "gru_gates_backward"] * T
    assert cuda_kernels.launches == expected


def short_run(make_model, make_optimizer):
    """Losses, norms and parameters of a few training steps in double precision."""
    deepnlp.seed(0)
    model = make_model()
    for parameter in model.parameters():
        parameter.astype("float64")
    optimizer = make_optimizer(model.parameters())
    figures = [training_step(model, optimizer, *batch(seed=step)) for step in range(3)]
    values = [asnumpy(p.value).copy() for p in model.parameters()]
    return [np.asarray(number) for pair in figures for number in pair] + values


@pytest.mark.parametrize(
    ("model", "optimizer"),
    [(model, "SGD") for model in MODELS] + [("lstm tied", optimizer) for optimizer in OPTIMIZERS],
)
def test_a_training_run_gives_the_same_through_the_kernels(cuda_kernels, model, optimizer):
    ours = short_run(MODELS[model], OPTIMIZERS[optimizer])
    with kernels.using("plain"):
        reference = short_run(MODELS[model], OPTIMIZERS[optimizer])
    for a, e in zip(ours, reference, strict=True):
        np.testing.assert_allclose(a, e, rtol=0, atol=1e-10)
    assert {"softmax_nll", "clip_scale"} <= set(cuda_kernels.launches)

"""Layers and their gradients against PyTorch, in float64, to 1e-9."""

import numpy as np
import pytest

from deepnlp import no_backward
from deepnlp.backend import asarray
from deepnlp.layers import (
    GRU,
    LSTM,
    RNN,
    AffineSoftmaxWithLoss,
    SoftmaxWithLoss,
    TimeGRU,
    TimeLSTM,
    TimeRNN,
)
from deepnlp.parameter import Parameter
from tests.cases import together
from tests.parity.tools import close, compare_gradients, recurrent_module, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional

SIZES = [(3, 5, 4, 6), (1, 1, 2, 3), (2, 1, 3, 1), (1, 7, 1, 5)]
every_size = together(sizes=SIZES)
every_layout = together(contiguous=[True, False])
every_kind = pytest.mark.parametrize(
    ("kind", "bh"),
    [("tanh", False), ("relu", False), ("lstm", False), ("gru", True), ("gru", False)],
    ids=["tanh", "relu", "lstm", "gru", "gru-no-bh"],
)

GATES = {"tanh": 1, "relu": 1, "lstm": 4, "gru": 3}
STEP = {"tanh": RNN, "relu": RNN, "lstm": LSTM, "gru": GRU}
TIME = {"tanh": TimeRNN, "relu": TimeRNN, "lstm": TimeLSTM, "gru": TimeGRU}


def draw(seed, *shape, contiguous=True):
    """Normal numbers; strided ones lie in memory in another order and with gaps."""
    values = np.random.default_rng(seed).normal(size=shape)
    if contiguous:
        return values
    wide = np.zeros(tuple(2 * n for n in reversed(shape))).T
    view = wide[tuple(slice(None, None, 2) for _ in shape)]
    view[...] = values
    assert values.size == 1 or not view.flags.c_contiguous
    return view


def weights(kind, bh, D, H):
    G = GATES[kind]
    arrays = [draw(1, D, G * H), draw(2, H, G * H) / np.sqrt(H), draw(3, G * H)]
    if bh:
        arrays.append(draw(4, G * H))
    return [Parameter(array) for array in arrays]


def options(kind):
    return {"relu": {"activation": "relu"}, "gru": {"reset_after": True}}.get(kind, {})


@every_kind
@every_size
@every_layout
def test_recurrent_layers_over_time(kind, bh, sizes, contiguous):
    """Two windows: the state is carried, the gradient of the second stops at its start."""
    N, T, D, H = sizes
    ours = weights(kind, bh, D, H)
    module = recurrent_module(kind, ours)
    layer = TIME[kind](*ours, **options(kind), stateful=True)
    states = [draw(5, N, H), draw(6, N, H)][: 2 if kind == "lstm" else 1]
    layer.set_state(*[asarray(s) for s in states])
    theirs = [tensor(s, grad=True) for s in states]
    for window in range(2):
        x = draw(10 + window, N, T, D, contiguous=contiguous)
        dhs = draw(20 + window, N, T, H, contiguous=contiguous)
        x_ = tensor(x, grad=True)
        given = [s[None] for s in theirs]
        y, last = module(x_, tuple(given) if kind == "lstm" else given[0])
        y.backward(tensor(dhs))
        close(layer.forward(asarray(x)), y)
        close(layer.backward(asarray(dhs)), x_.grad)
        close(layer.dh0, theirs[0].grad)
        last = last if kind == "lstm" else (last,)
        close(layer.h, last[0][0])
        if kind == "lstm":
            close(layer.dc0, theirs[1].grad)
            close(layer.c, last[1][0])
        theirs = [s[0].detach().requires_grad_() for s in last]
    compare_gradients(ours, module)


@every_kind
@every_size
@every_layout
def test_one_step_layers_unrolled_by_hand(kind, bh, sizes, contiguous):
    N, T, D, H = sizes
    ours = weights(kind, bh, D, H)
    cell = recurrent_module(kind, ours, cell=True)
    xs = [draw(30 + t, N, D, contiguous=contiguous) for t in range(T)]
    dhs = [draw(50 + t, N, H, contiguous=contiguous) for t in range(T)]
    start = [draw(70, N, H), draw(71, N, H)][: 2 if kind == "lstm" else 1]
    dlast = [draw(72 + i, N, H) for i in range(len(start))]

    xs_ = [tensor(x, grad=True) for x in xs]
    start_ = [tensor(s, grad=True) for s in start]
    states_, loss = start_, 0.0
    for x_, dh in zip(xs_, dhs, strict=True):
        out = cell(x_, tuple(states_) if kind == "lstm" else states_[0])
        states_ = list(out) if kind == "lstm" else [out]
        loss = loss + (states_[0] * tensor(dh)).sum()
    loss = loss + sum((s * tensor(d)).sum() for s, d in zip(states_, dlast, strict=True))
    loss.backward()

    steps = [STEP[kind](*ours, **options(kind)) for _ in range(T)]
    states = [asarray(s) for s in start]
    for step, x in zip(steps, xs, strict=True):
        out = step.forward(asarray(x), *states)
        states = list(out) if kind == "lstm" else [out]
    for s, s_ in zip(states, states_, strict=True):
        close(s, s_)
    gradients = [asarray(d) for d in dlast]
    for t in reversed(range(T)):
        gradients[0] = gradients[0] + asarray(dhs[t])
        dx, *gradients = steps[t].backward(*gradients)
        close(dx, xs_[t].grad)
    for g, s_ in zip(gradients, start_, strict=True):
        close(g, s_.grad)
    compare_gradients(ours, cell)


@every_layout
@together(shape=[(3, 5), (1, 1), (4,)], ignored=[None, -1, 2])
def test_softmax_with_loss(shape, ignored, contiguous):
    logits = draw(0, *shape, 7, contiguous=contiguous)
    targets = np.random.default_rng(1).integers(0, 7, size=shape)
    if ignored is not None and targets.size > 1:
        targets.flat[:2] = [ignored, (ignored + 1) % 7]
    layer = SoftmaxWithLoss() if ignored is None else SoftmaxWithLoss(ignore_id=ignored)
    logits_ = tensor(logits, grad=True)
    loss = F.cross_entropy(
        logits_.reshape(-1, 7),
        tensor(targets).reshape(-1),
        ignore_index=-100 if ignored is None else ignored,
    )
    (1.7 * loss).backward()
    close(layer.forward(asarray(logits), asarray(targets)), loss)
    close(layer.backward(1.7), logits_.grad)


@every_layout
@together(shape=[(3, 5), (1, 1), (4,)], bias=[True, False])
@together(scale=[1.0, 100.0])  # the second makes exp overflow unless shifted
def test_affine_softmax_with_loss(shape, bias, scale, contiguous):
    x = draw(0, *shape, 4, contiguous=contiguous) * scale
    W, b = draw(1, 4, 7), draw(2, 7)
    targets = np.random.default_rng(1).integers(-1, 7, size=shape)
    targets.flat[0] = 3
    x_, W_, b_ = (tensor(array, grad=True) for array in (x, W, b))
    scores_ = x_ @ W_ + b_ if bias else x_ @ W_
    loss = F.cross_entropy(scores_.reshape(-1, 7), tensor(targets).reshape(-1), ignore_index=-1)
    (1.7 * loss).backward()
    layer = AffineSoftmaxWithLoss(W, b if bias else None)
    close(layer.forward(asarray(x), asarray(targets)), loss)
    close(layer.backward(1.7), x_.grad)
    close(layer.W.grad, W_.grad)
    if bias:
        close(layer.b.grad, b_.grad)
    with no_backward():
        close(layer.forward(asarray(x), asarray(targets)), loss)

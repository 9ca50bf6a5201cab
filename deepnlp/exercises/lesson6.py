"""The exercises of lesson 6: gated networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.exercises.backward import check_backward
from deepnlp.exercises.registry import exercise
from deepnlp.exercises.texts import texts_of
from deepnlp.exercises.values import compare_choice, compare_values
from deepnlp.exercises.verdict import WRONG_TYPE, Verdict, first_failure, is_empty, parts
from deepnlp.functions import sigmoid
from deepnlp.gradcheck import CAUSES
from deepnlp.layers import GRU, LSTM, TimeLSTM
from deepnlp.models import RNNLM

SAY = texts_of(6)
GROWS, VANISHES = "grows", "vanishes"


@exercise("6.1", stars=1, title="Will it explode?")
def will_it_explode(answer: Any) -> Verdict:
    """A dict of ``"grows"`` or ``"vanishes"`` for the gradient through A, B and C."""
    right = {"A": VANISHES, "B": GROWS, "C": VANISHES}
    if not isinstance(answer, dict) or set(answer) != set(right):
        return Verdict.wrong(WRONG_TYPE, "Answer with a dict of A, B and C.")
    if any(map(is_empty, answer.values())):
        return Verdict.empty("there is a matrix without an answer")
    if strange := [one for one in answer.values() if one not in (GROWS, VANISHES)]:
        return Verdict.wrong(WRONG_TYPE, f"Say 'grows' or 'vanishes', not {strange[0]!r}.")
    say = SAY["6.1"]
    if answer["A"] == GROWS:
        return say.wrong("judged by the singular value")
    return say.right() if answer == right else say.wrong("wrong choice")


@exercise("6.2", stars=2, title="Clip all gradients as one vector")
def clip(answer: Any) -> Verdict:
    """``(grads, max_norm) -> (clipped, norm)``: gradients clipped by the norm of all together."""
    say = SAY["6.2"]
    rng = np.random.default_rng(0)
    grads = [rng.normal(size=shape) for shape in ((3, 4), (4, 4), (4,))]
    squares = np.array([np.sum(g**2) for g in grads])
    norm = float(np.sqrt(squares.sum()))
    wrong = {
        "norms added instead of their squares": np.sqrt(squares).sum(),
        "not the root": squares.sum(),
    }
    for max_norm in (norm / 4, norm * 4):
        clipped, found = parts(answer([g.copy() for g in grads], max_norm), "clipped", "norm")
        verdict = say.compare(found, norm, "the norm", wrong, 1e-5)
        if not verdict.ok:
            return verdict
        if len(clipped) != len(grads):
            return say.wrong("wrong shape", count=len(grads))
        for got, g, square in zip(clipped, grads, squares, strict=True):
            alternatives = {
                "small gradients scaled up": g * (max_norm / norm),
                "each array clipped on its own": g * min(1.0, max_norm / np.sqrt(square)),
            }
            scaled = g * min(1.0, max_norm / norm)
            verdict = say.compare(got, scaled, "a clipped gradient", alternatives, 1e-5)
            if not verdict.ok:
                return verdict
    return say.right()


@exercise("6.3", stars=3, title="An LSTM over time")
def lstm_over_time(answer: Any) -> Verdict:
    """A class of (Wx, Wh, b): ``forward(x)``, ``backward(dhs)``, and ``dWx``, ``dWh``, ``db``."""
    rng = np.random.default_rng(3)
    N, T, D, H = 2, 4, 3, 2
    Wx, Wh = rng.normal(size=(D, 4 * H)), rng.normal(size=(H, 4 * H))
    b, x = rng.normal(size=4 * H), rng.normal(size=(N, T, D))
    expected = TimeLSTM(Wx.copy(), Wh.copy(), b.copy()).forward(x)
    found = answer(Wx.copy(), Wh.copy(), b.copy()).forward(x)
    if not is_empty(found):
        order = _swapped_gates(found, Wx, Wh, b, x)
        if order:
            return SAY["6.3"].wrong("gates swapped", order=order)
    layer = answer(Wx.copy(), Wh.copy(), b.copy())
    weights = ("Wx", "Wh", "b")
    return check_backward(layer, x, expected=expected, hints=SAY["6.3"], weights=weights)


def _swapped_gates(found: Any, Wx: Any, Wh: Any, b: Any, x: Any) -> str:
    """The order of gates with which an LSTM gives what was found, if it is another order."""
    H = Wh.shape[0]
    for order in ("fiog", "ifog", "figo", "iogf", "ofgi", "gfio", "fgio", "igfo"):
        columns = np.concatenate([np.arange(H) + H * order.index(gate) for gate in "ifgo"])
        swapped = TimeLSTM(Wx[:, columns], Wh[:, columns], b[columns]).forward(x)
        if np.shape(found) == swapped.shape and np.allclose(found, swapped):
            return ", ".join(order)
    return ""


@exercise("6.4", stars=2, title="Gather in silence")
def gather_in_silence(answer: Any) -> Verdict:
    """Biases (4,) of i, f, g, o with which a cell of one unit counts steps and says nothing."""
    say = SAY["6.4"]
    if any(is_empty(one) for one in np.ravel(np.asarray(answer, dtype=object))):
        return Verdict.empty("there is a bias missing")
    b = np.asarray(answer, dtype=float)
    if b.shape != (4,):
        return say.wrong("wrong shape", shape=b.shape)
    cell = LSTM(np.zeros((1, 4)), np.zeros((1, 4)), b)
    h, c = np.zeros((1, 1)), np.zeros((1, 1))
    loudest = 0.0
    for _ in range(100):
        h, c = cell.forward(np.zeros((1, 1)), h, c)
        loudest = max(loudest, abs(float(h[0, 0])))
    i, f, _, o = sigmoid(b)
    added = float(i) * float(np.tanh(b[2]))
    found = {
        "seen": f"After 100 steps c = {c[0, 0]:.3g}, and |h| was at most {loudest:.2g}.",
        "o": o, "f": f, "added": added,
    }  # fmt: skip
    if 95 <= c[0, 0] <= 100 and loudest < 0.01:
        return say.right(**found)
    if loudest >= 0.01 and c[0, 0] > 1:
        return say.wrong("the output gate is open", **found)
    if added < 0.95:
        return say.wrong("nothing comes in", **found)
    return say.wrong("the memory forgets" if f < 0.999 else "wrong value", **found)


@exercise("6.5", stars=1, title="A bias for a long memory")
def forget_bias(answer: Any) -> Verdict:
    """``(n) -> b``, the bias with which half of a memory is left after n steps."""
    for n in (1, 10, 100):
        f = 0.5 ** (1 / n)
        wrong = {"the gate and not its bias": f, "one step instead of n": 0.0}
        verdict = SAY["6.5"].compare(answer(n), np.log(f / (1 - f)), f"b for n = {n}", wrong)
        if not verdict.ok:
            return verdict
    return SAY["6.5"].right()


@exercise("6.6", stars=2, title="One step of a GRU")
def gru_step(answer: Any) -> Verdict:
    """``(x, h_prev, Wx, Wh, b) -> h``, the forward of one step."""
    rng = np.random.default_rng(6)
    N, D, H = 2, 3, 4
    x, h_prev = rng.normal(size=(N, D)), rng.normal(size=(N, H))
    Wx, Wh = rng.normal(size=(D, 3 * H)), rng.normal(size=(H, 3 * H))
    b = rng.normal(size=3 * H)
    swapped = np.concatenate([np.arange(H, 2 * H), np.arange(H), np.arange(2 * H, 3 * H)])
    a = x @ Wx + b
    r, z = sigmoid(a[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]).reshape(N, 2, H).transpose(1, 0, 2)
    n = np.tanh(a[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    wrong = {
        "update gate the wrong way round": z * n + (1 - z) * h_prev,
        "reset gate after the product": GRU(Wx, Wh, b, reset_after=True).forward(x, h_prev),
        "gates swapped": GRU(Wx[:, swapped], Wh[:, swapped], b[swapped]).forward(x, h_prev),
    }
    right = GRU(Wx, Wh, b).forward(x, h_prev)
    return SAY["6.6"].compare(answer(x, h_prev, Wx, Wh, b), right, "h", wrong)


@exercise("6.7", stars=1, title="Noise in time")
def noise_in_time(answer: Any) -> Verdict:
    """The share of a memory that ten steps with dropout in time leave untouched."""
    wrong = {"added instead of multiplied": 0.0, "the scaling brings nothing back": 1.0}
    return SAY["6.7"].compare(answer, 0.5**10, "the share", wrong, 1e-3)


@exercise("6.8", stars=2, title="A mask locked over time")
def locked_mask(answer: Any) -> Verdict:
    """``(x, p, rng) -> y``, both (N, T, D): dropout with one mask over all steps of a sequence."""
    say = SAY["6.8"]
    N, T, D, p = 5, 6, 40, 0.2
    y = answer(np.ones((N, T, D)), p, np.random.default_rng(8))
    if is_empty(y):
        return Verdict.empty("nothing was returned")
    y = np.asarray(y)
    if y.shape != (N, T, D):
        return say.wrong("wrong shape", expected=(N, T, D), got=y.shape)
    kept = y != 0
    if not (kept == kept[:, :1]).all():
        return say.wrong("a fresh mask for every step")
    if (kept == kept[:1]).all():
        return say.wrong("one mask for all rows")
    if abs(kept.mean() - p) < abs(kept.mean() - (1 - p)):
        return say.wrong("kept with probability p", share=kept.mean(), p=p)
    if np.allclose(y[kept], 1.0):
        return say.wrong("mask not scaled")
    return first_failure(compare_values(y, kept / (1 - p), "y"), say.right())


@exercise("6.9", stars=1, title="Which matrix is P_HD?")
def which_is_p_hd(answer: Any) -> Verdict:
    """Which weight of ours the note's P_HD is, by its name."""
    return compare_choice(answer, "L transposed", SAY["6.9"])


@exercise("6.10", stars=2, title="Count the parameters")
def count_parameters(answer: Any) -> Verdict:
    """``(V, D, H, tie) -> int``, the size of a language model with two LSTM layers."""
    for V, D, H, tie in ((50, 4, 4, "tied"), (50, 4, 6, "none"), (50, 4, 6, "tied+L")):
        right = RNNLM(V, D, H, layers=2, tie=tie).size()
        first, second = 4 * H * (D + H + 1), 4 * H * (2 * H + 1)
        wrong = {
            "tied matrix counted twice": right + V * D,
            "output bias forgotten": right - V,
            "second layer reads H numbers": right - second + first,
            "one block instead of four": right - (first + second) * 3 // 4,
            "L forgotten": right - H * D,
            "a vocabulary too many": right - (V * H if tie == "none" else 0) + V * D,
        }
        name = f"the number for V = {V}, D = {D}, H = {H}, tie = {tie!r}"
        verdict = SAY["6.10"].compare(answer(V, D, H, tie), right, name, wrong, 0.0)
        if not verdict.ok:
            return verdict
    return SAY["6.10"].right()


@exercise("6.11", stars=3, title="One matrix, two uses")
def one_matrix_two_uses(answer: Any) -> Verdict:
    """A class of (E, L): ``forward(ids)``, ``backward(ds)``, and ``dE``, ``dL``."""
    rng = np.random.default_rng(11)
    V, D = 5, 3
    E, L = rng.normal(size=(V, D)), rng.normal(size=(D, D))
    ids = np.array([1, 3, 1, 0])
    tried = answer(E.copy(), L.copy())
    scores = tried.forward(ids)
    if is_empty(scores):
        return Verdict.empty("forward returned None")
    h = np.tanh(E[ids])
    verdict = compare_values(scores, h @ L @ E.T, "the output of forward")
    if not verdict.ok:
        return verdict
    ds = rng.normal(size=(len(ids), V))
    tried.backward(ds)
    for name in ("dE", "dL"):
        if is_empty(getattr(tried, name, None)):
            return Verdict.empty(f"after backward there is no {name}")
    output, dx = ds.T @ (h @ L), (ds @ E @ L.T) * (1 - h**2)
    lookup, overwritten = np.zeros_like(E), np.zeros_like(E)
    np.add.at(lookup, ids, dx)
    overwritten[ids] = dx
    wrong = {
        "tied use lost: lookup side": output,
        "tied use lost: output side": lookup,
        "repeated ids overwritten": output + overwritten,
    }
    alternatives = {name: (value, CAUSES[name]) for name, value in wrong.items()}
    return first_failure(
        compare_values(tried.dL, h.T @ (ds @ E), "dL"),
        compare_values(tried.dE, output + lookup, "dE", 1e-8, alternatives),
        SAY["6.11"].right(),
    )

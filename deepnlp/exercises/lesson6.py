"""The exercises of lesson 6: gated networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.exercises.backward import check_backward
from deepnlp.exercises.registry import exercise
from deepnlp.exercises.values import compare_choice, compare_values
from deepnlp.exercises.verdict import (
    WRONG_CHOICE,
    WRONG_SHAPE,
    WRONG_TYPE,
    WRONG_VALUE,
    Verdict,
    first_failure,
    is_empty,
    parts,
)
from deepnlp.functions import sigmoid
from deepnlp.gradcheck import CAUSES
from deepnlp.layers import LSTM, TimeLSTM
from deepnlp.layers.gru import GRU
from deepnlp.models import RNNLM

SINGULAR_VALUE = "judged by the singular value"
EACH_ON_ITS_OWN = "each array clipped on its own"
SCALED_UP = "small gradients scaled up"
NORMS_ADDED = "norms added instead of their squares"
GATE_NOT_BIAS = "the gate and not its bias"
ONE_STEP = "one step instead of n"
FORGETS = "the memory forgets"
SPEAKS = "the output gate is open"
NOTHING_COMES_IN = "nothing comes in"
UPDATE_REVERSED = "update gate the wrong way round"
RESET_AFTER = "reset gate after the product"
GATES_SWAPPED = "gates swapped"
FRESH_EVERY_STEP = "a fresh mask for every step"
ONE_FOR_ALL_ROWS = "one mask for all rows"
NOT_SCALED = "mask not scaled"
KEPT_WITH_P = "kept with probability p"
LINEAR_LOSS = "added instead of multiplied"
SCALING_BELIEVED = "the scaling brings nothing back"
TIED_COUNTED_TWICE = "tied matrix counted twice"
OUTPUT_BIAS = "output bias forgotten"
SECOND_LAYER = "second layer reads H numbers"
FOUR_BLOCKS = "one block instead of four"

GROWS, VANISHES = "grows", "vanishes"


@exercise("6.1", stars=1, title="Will it explode?")
def will_it_explode(answer: Any) -> Verdict:
    """Three matrices: does a gradient grow or vanish over many steps?

    Parameters
    ----------
    answer : dict
        ``"grows"`` or ``"vanishes"`` for A, B and C.

    Returns
    -------
    Verdict
    """
    right = {"A": VANISHES, "B": GROWS, "C": VANISHES}
    if not isinstance(answer, dict) or set(answer) != set(right):
        return Verdict.wrong(WRONG_TYPE, "Answer with a dict of A, B and C.")
    if any(map(is_empty, answer.values())):
        return Verdict.empty("there is a matrix without an answer")
    if strange := [one for one in answer.values() if one not in (GROWS, VANISHES)]:
        return Verdict.wrong(WRONG_TYPE, f"Say 'grows' or 'vanishes', not {strange[0]!r}.")
    if answer["A"] == GROWS:
        return Verdict.wrong(
            SINGULAR_VALUE,
            "A stretches one vector 4.06-fold, once. Its eigenvalues are 0.5 and 0.5: twenty "
            "products shrink every vector.",
        )
    if answer != right:
        return Verdict.wrong(
            WRONG_CHOICE,
            "B turns by a right angle and stretches by 1.1, at every step: its eigenvalues are "
            "1.1 i and -1.1 i, of size 1.1. C turns too, and shrinks by 0.9.",
        )
    return Verdict.right("The spectral radii are 0.5, 1.1 and 0.9: only B's gradient grows.")


@exercise("6.2", stars=2, title="Clip all gradients as one vector")
def clip(answer: Any) -> Verdict:
    """A function that clips a list of gradients by the norm of all of them together.

    Parameters
    ----------
    answer : callable
        ``(grads, max_norm) -> (clipped, norm)``.

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(0)
    grads = [rng.normal(size=shape) for shape in ((3, 4), (4, 4), (4,))]
    squares = [float(np.sum(g**2)) for g in grads]
    norm = float(np.sqrt(sum(squares)))
    for max_norm in (norm / 4, norm * 4):
        given = [g.copy() for g in grads]
        clipped, found = parts(answer(given, max_norm), "clipped", "norm")
        verdict = compare_values(
            found,
            norm,
            "the norm",
            1e-5,
            {
                NORMS_ADDED: (
                    np.sum(np.sqrt(squares)),
                    "The norm of all is the root of the sum of squares, not a sum of norms.",
                ),
                "not the root": (sum(squares), "This is the square of the norm: take its root."),
            },
        )
        if not verdict.ok:
            return verdict
        if len(clipped) != len(grads):
            return Verdict.wrong(WRONG_SHAPE, f"Give back {len(grads)} arrays, as you were given.")
        verdict = _compare_clipped(clipped, grads, norm, max_norm)
        if not verdict.ok:
            return verdict
    return Verdict.right("One factor for all: the direction of the step stays as it was.")


def _compare_clipped(
    clipped: Any, grads: list[np.ndarray], norm: float, max_norm: float
) -> Verdict:
    own = [float(np.sqrt(np.sum(g**2))) for g in grads]
    scale = min(1.0, max_norm / norm)
    for got, g, one in zip(clipped, grads, own, strict=True):
        alternatives = {
            SCALED_UP: (
                g * (max_norm / norm),
                "A gradient below the threshold stays as it is: scale by min(1, ...).",
            ),
            EACH_ON_ITS_OWN: (
                g * min(1.0, max_norm / one),
                "Each array was scaled by its own norm, which turns the gradient: take one norm "
                "and one factor for all.",
            ),
        }
        verdict = compare_values(got, g * scale, "a clipped gradient", 1e-5, alternatives)
        if not verdict.ok:
            return verdict
    return Verdict.right()


@exercise("6.3", stars=3, title="An LSTM over time")
def lstm_over_time(answer: Any) -> Verdict:
    """A class with forward and backward over T steps, compared and diagnosed.

    Parameters
    ----------
    answer : class
        ``answer(Wx, Wh, b)`` with ``forward(x)``, ``backward(dhs)``, and ``dWx``, ``dWh``, ``db``.

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(3)
    N, T, D, H = 2, 4, 3, 2
    Wx, Wh = rng.normal(size=(D, 4 * H)), rng.normal(size=(H, 4 * H))
    b, x = rng.normal(size=4 * H), rng.normal(size=(N, T, D))
    expected = TimeLSTM(Wx.copy(), Wh.copy(), b.copy()).forward(x)
    layer = answer(Wx.copy(), Wh.copy(), b.copy())
    found = layer.forward(x)
    if not is_empty(found):
        order = _swapped_gates(found, Wx, Wh, b, x)
        if order:
            return Verdict.wrong(
                GATES_SWAPPED,
                f"forward is that of an LSTM whose blocks stand in the order {order}; the "
                "lesson's order is i, f, g, o.",
            )
    return check_backward(
        answer(Wx.copy(), Wh.copy(), b.copy()),
        x,
        expected=expected,
        hints={
            "path through c_prev dropped": "Carry dc_prev = dc * f to the step before.",
            "path through h_prev dropped": "Carry dh_prev = da @ Wh.T to the step before.",
            "assigned instead of accumulated": "T steps share the weights: dWx += ..., not =.",
        },
        weights=("Wx", "Wh", "b"),
    )


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
    """Biases with which a cell of one unit counts steps and says nothing.

    Parameters
    ----------
    answer : array (4,)
        Biases of i, f, g and o.

    Returns
    -------
    Verdict
    """
    if any(is_empty(one) for one in np.ravel(np.asarray(answer, dtype=object))):
        return Verdict.empty("there is a bias missing")
    b = np.asarray(answer, dtype=float)
    if b.shape != (4,):
        return Verdict.wrong(WRONG_SHAPE, f"Four biases, please; got shape {b.shape}.")
    cell = LSTM(np.zeros((1, 4)), np.zeros((1, 4)), b)
    h, c = np.zeros((1, 1)), np.zeros((1, 1))
    loudest = 0.0
    for _ in range(100):
        h, c = cell.forward(np.zeros((1, 1)), h, c)
        loudest = max(loudest, abs(float(h[0, 0])))
    i, f, _, o = sigmoid(b)
    added = float(i) * float(np.tanh(b[2]))
    seen = f"After 100 steps c = {c[0, 0]:.3g}, and |h| was at most {loudest:.2g}."
    if 95 <= c[0, 0] <= 100 and loudest < 0.01:
        return Verdict.right(f"{seen} It knows how long it has waited, and nobody can tell.")
    if loudest >= 0.01 and c[0, 0] > 1:
        return Verdict.wrong(SPEAKS, f"{seen} o = {o:.2f}: shut it with a very negative bias.")
    if added < 0.95:
        return Verdict.wrong(
            NOTHING_COMES_IN,
            f"{seen} Each step adds i g = {added:.2f}; it should add nearly 1: open i, and let g "
            "be near 1.",
        )
    if f < 0.999:
        return Verdict.wrong(FORGETS, f"{seen} f = {f:.4f}: the memory leaks; open f wider.")
    return Verdict.wrong(WRONG_VALUE, seen)


@exercise("6.5", stars=1, title="A bias for a long memory")
def forget_bias(answer: Any) -> Verdict:
    """The bias with which half of a memory is left after n steps.

    Parameters
    ----------
    answer : callable
        ``(n) -> b``.

    Returns
    -------
    Verdict
    """
    for n in (1, 10, 100):
        f = 0.5 ** (1 / n)
        right = np.log(f / (1 - f))
        alternatives = {
            GATE_NOT_BIAS: (f, "This is f itself. The gate is sigmoid(b): solve for b."),
            ONE_STEP: (0.0, "sigmoid(0) = 0.5 halves the memory at every step, not in n steps."),
        }
        verdict = compare_values(answer(n), right, f"b for n = {n}", 1e-6, alternatives)
        if not verdict.ok:
            return verdict
    return Verdict.right("f = 0.5^(1/n), b = log(f / (1 - f)): for 100 steps b is about 5.")


@exercise("6.6", stars=2, title="One step of a GRU")
def gru_step(answer: Any) -> Verdict:
    """The forward of one step of a GRU.

    Parameters
    ----------
    answer : callable
        ``(x, h_prev, Wx, Wh, b) -> h``.

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(6)
    N, D, H = 2, 3, 4
    x, h_prev = rng.normal(size=(N, D)), rng.normal(size=(N, H))
    Wx, Wh = rng.normal(size=(D, 3 * H)), rng.normal(size=(H, 3 * H))
    b = rng.normal(size=3 * H)
    step = GRU(Wx, Wh, b)
    h = step.forward(x, h_prev)
    after = GRU(Wx, Wh, b, reset_after=True).forward(x, h_prev)
    swapped = np.concatenate([np.arange(H, 2 * H), np.arange(H), np.arange(2 * H, 3 * H)])
    z_first = GRU(Wx[:, swapped], Wh[:, swapped], b[swapped]).forward(x, h_prev)
    a = x @ Wx + b
    r, z = sigmoid(a[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]).reshape(N, 2, H).transpose(1, 0, 2)
    n = np.tanh(a[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    return compare_values(
        answer(x, h_prev, Wx, Wh, b),
        h,
        "h",
        alternatives={
            UPDATE_REVERSED: (
                z * n + (1 - z) * h_prev,
                "Here z = 1 keeps the old state: h = (1 - z) n + z h_prev. (Some papers write it "
                "the other way round.)",
            ),
            RESET_AFTER: (
                after,
                "This is PyTorch's form, r * (h_prev Wh_n). The equation here resets first: "
                "(r * h_prev) Wh_n.",
            ),
            GATES_SWAPPED: (z_first, "The blocks stand in the order r, z, n; r and z are swapped."),
        },
    )


@exercise("6.7", stars=1, title="Noise in time")
def noise_in_time(answer: Any) -> Verdict:
    """The share of a memory that ten steps with dropout in time leave untouched.

    Parameters
    ----------
    answer : float

    Returns
    -------
    Verdict
    """
    return compare_values(
        answer,
        0.5**10,
        "the share",
        1e-3,
        {
            LINEAR_LOSS: (0.0, "A unit must survive all ten draws: multiply, do not subtract."),
            SCALING_BELIEVED: (
                1.0,
                "Scaling keeps the mean of many memories. A unit that was zeroed once stays zero.",
            ),
        },
    )


@exercise("6.8", stars=2, title="A mask locked over time")
def locked_mask(answer: Any) -> Verdict:
    """Dropout with one mask over all steps of a sequence.

    Parameters
    ----------
    answer : callable
        ``(x, p, rng) -> y``, both (N, T, D).

    Returns
    -------
    Verdict
    """
    N, T, D, p = 5, 6, 40, 0.2
    y = answer(np.ones((N, T, D)), p, np.random.default_rng(8))
    if is_empty(y):
        return Verdict.empty("nothing was returned")
    y = np.asarray(y)
    if y.shape != (N, T, D):
        return Verdict.wrong(WRONG_SHAPE, f"y should have shape {(N, T, D)}, got {y.shape}.")
    kept = y != 0
    if not (kept == kept[:, :1]).all():
        return Verdict.wrong(
            FRESH_EVERY_STEP, "The mask changes from step to step: draw it as (N, 1, D)."
        )
    if (kept == kept[:1]).all():
        return Verdict.wrong(
            ONE_FOR_ALL_ROWS, "All rows have the same mask: draw one for each row, (N, 1, D)."
        )
    if abs(kept.mean() - p) < abs(kept.mean() - (1 - p)):
        return Verdict.wrong(
            KEPT_WITH_P, f"A share of {kept.mean():.2f} is kept; p = {p} is what is to go."
        )
    if np.allclose(y[kept], 1.0):
        return Verdict.wrong(NOT_SCALED, "Divide by 1 - p, so that the mean of y stays that of x.")
    verdict = compare_values(y, kept / (1 - p), "y")
    return verdict if not verdict.ok else Verdict.right("One mask a row, for all steps.")


@exercise("6.9", stars=1, title="Which matrix is P_HD?")
def which_is_p_hd(answer: Any) -> Verdict:
    """Which weight of ours the note's P_HD is.

    Parameters
    ----------
    answer : str

    Returns
    -------
    Verdict
    """
    return compare_choice(
        answer,
        "L transposed",
        {
            "Wx transposed": "That is P_DH, on the way in. In the note's closing summary the two "
            "names are swapped; its definitions above are right.",
            "L transposed": "Yes: s = V P_HD h, in row vectors h L E^T. Its shape (D, H) says so.",
            "E transposed": "E is the note's U and V, one row a word. P_HD knows no words.",
            "Wh transposed": "Wh leads from one step to the next, it is the note's W_hh.",
        },
    )


@exercise("6.10", stars=2, title="Count the parameters")
def count_parameters(answer: Any) -> Verdict:
    """The size of a language model with two LSTM layers, for each way of tying.

    Parameters
    ----------
    answer : callable
        ``(V, D, H, tie) -> int``.

    Returns
    -------
    Verdict
    """
    for V, D, H, tie in ((50, 4, 4, "tied"), (50, 4, 6, "none"), (50, 4, 6, "tied+L")):
        right = RNNLM(V, D, H, layers=2, tie=tie).size()
        output = V * H if tie == "none" else 0
        gates = 4 * H * (D + H + 1) + 4 * H * (2 * H + 1)
        verdict = compare_values(
            answer(V, D, H, tie),
            right,
            f"the number for V = {V}, D = {D}, H = {H}, tie = {tie!r}",
            0.0,
            {
                TIED_COUNTED_TWICE: (
                    right + V * D,
                    "A tied output has no matrix of its own: E is counted once.",
                ),
                OUTPUT_BIAS: (right - V, "The output has a bias, too: V numbers."),
                SECOND_LAYER: (
                    right - 4 * H * (2 * H + 1) + 4 * H * (D + H + 1),
                    "The second layer reads the first one's h: its Wx is (H, 4H).",
                ),
                FOUR_BLOCKS: (
                    right - gates + gates // 4,
                    "Each LSTM has four blocks: Wx (D, 4H), Wh (H, 4H), b (4H).",
                ),
                "L forgotten": (right - H * D, "tied+L has a matrix L (H, D) besides."),
                "a vocabulary too many": (right - output + V * D, "The output matrix is (H, V)."),
            },
        )
        if not verdict.ok:
            return verdict
    return Verdict.right("The words are the expensive part; tying pays for them once.")


@exercise("6.11", stars=3, title="One matrix, two uses")
def one_matrix_two_uses(answer: Any) -> Verdict:
    """A small tied+L model with a backward: look-up and output share E.

    Parameters
    ----------
    answer : class
        ``answer(E, L)`` with ``forward(ids)``, ``backward(ds)``, and ``dE``, ``dL``.

    Returns
    -------
    Verdict
    """
    rng = np.random.default_rng(11)
    V, D = 5, 3
    E, L = rng.normal(size=(V, D)), rng.normal(size=(D, D))
    ids = np.array([1, 3, 1, 0])
    tried = answer(E.copy(), L.copy())
    scores = tried.forward(ids)
    if is_empty(scores):
        return Verdict.empty("forward returned None")
    verdict = compare_values(scores, np.tanh(E[ids]) @ L @ E.T, "the output of forward")
    if not verdict.ok:
        return verdict
    ds = rng.normal(size=(len(ids), V))
    tried.backward(ds)
    for name in ("dE", "dL"):
        if is_empty(getattr(tried, name, None)):
            return Verdict.empty(f"after backward there is no {name}")
    return first_failure(
        compare_values(tried.dL, np.tanh(E[ids]).T @ (ds @ E), "dL"),
        _compare_tied(tried.dE, E, L, ids, ds),
    )


def _compare_tied(dE: Any, E: np.ndarray, L: np.ndarray, ids: np.ndarray, ds: np.ndarray) -> Any:
    h = np.tanh(E[ids])
    output = ds.T @ (h @ L)
    dx = (ds @ E @ L.T) * (1 - h**2)
    lookup, overwritten = np.zeros_like(E), np.zeros_like(E)
    np.add.at(lookup, ids, dx)
    overwritten[ids] = dx
    names = ("tied use lost: lookup side", "tied use lost: output side", "repeated ids overwritten")
    values = (output, lookup, output + overwritten)
    alternatives = {name: (value, CAUSES[name]) for name, value in zip(names, values, strict=True)}
    verdict = compare_values(dE, output + lookup, "dE", 1e-8, alternatives)
    return verdict if not verdict.ok else Verdict.right("Two uses, one sum: dE is whole.")

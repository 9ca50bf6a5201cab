"""The exercises of lesson 6: gradients and gates."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend.functions import sigmoid
from deepnlp.gradcheck import CAUSES
from deepnlp.gradcheck.causes import GATES_SWAPPED
from deepnlp.layers import GRU, LSTM, TimeLSTM
from deepnlp.lessons.exercises.backward import check_backward
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import texts_of
from deepnlp.lessons.exercises.verdict import WRONG_TYPE, Verdict, is_empty, parts

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
    answer = {name: str(one).strip().casefold() for name, one in answer.items()}
    if strange := [one for one in answer.values() if one not in (GROWS, VANISHES)]:
        return Verdict.wrong(WRONG_TYPE, f"Say 'grows' or 'vanishes', not {strange[0]!r}.")
    say = SAY["6.1"]
    if answer["A"] == GROWS:
        return say.wrong("judged by the singular value")
    if answer["B"] == VANISHES:
        return say.wrong("a turn that grows")
    return say.right() if answer == right else say.wrong("a turn that shrinks")


@exercise("6.2", stars=1, title="Factor per step")
def factor_per_step(answer: Any) -> Verdict:
    """The factor per step of a gradient that grew to 1.8 of its size in 20 steps."""
    wrong = {
        "divided instead of rooted": 1.8 / 20,
        "one step too many or too few": 1.8 ** (1 / 19),
        "one step too many or too few|21": 1.8 ** (1 / 21),
        "the logarithm": np.log(1.8) / 20,
        "growth alone": 1.8 ** (1 / 20) - 1,
        "growth alone|in per cent": 100 * (1.8 ** (1 / 20) - 1),
        "divided instead of rooted|with a 1": 1 + 1.8 / 20,
        "divided instead of rooted|the growth": 1 + 0.8 / 20,
        "divided instead of rooted|multiplied": 1.8 * 20,
        "the way back": 1.8 ** (-1 / 20),
        "the growth of one step, twenty times": 1.8**20,
    }
    return SAY["6.2"].compare(answer, 1.8 ** (1 / 20), "the factor", wrong, 5e-4)


@exercise("6.3", stars=2, title="Clip all gradients as one vector")
def clip(answer: Any) -> Verdict:
    """``(grads, max_norm) -> (clipped, norm)``: gradients clipped by the norm of all together."""
    say = SAY["6.3"]
    rng = np.random.default_rng(0)
    grads = [rng.normal(size=shape) for shape in ((3, 4), (4, 4), (4,))]
    squares = np.array([np.sum(g**2) for g in grads])
    norm = float(np.sqrt(squares.sum()))
    wrong = {
        "norms added instead of their squares": np.sqrt(squares).sum(),
        "not the root": squares.sum(),
        "largest norm of an array": np.sqrt(squares.max()),
        "sizes added instead of squares": sum(np.abs(g).sum() for g in grads),
        "norm after clipping": norm / 4,
    }
    for max_norm in (norm / 4, norm * 4):
        clipped, found = parts(answer([g.copy() for g in grads], max_norm), "clipped", "norm")
        if isinstance(clipped, float | np.number):
            return say.wrong("norm before the gradients")
        verdict = say.compare(found, norm, "the norm", wrong, 1e-5)
        if not verdict.ok:
            return verdict
        if len(clipped) != len(grads):
            return say.wrong("wrong shape", count=len(grads))
        for got, g, square in zip(clipped, grads, squares, strict=True):
            alternatives = {
                "small gradients scaled up": g * (max_norm / norm),
                "each array clipped on its own": g * min(1.0, max_norm / np.sqrt(square)),
                "every number clipped on its own": np.clip(g, -max_norm, max_norm),
                "nothing clipped": g,
                "threshold not used": g / norm,
                "not the root|in the factor": g * min(1.0, max_norm / squares.sum()),
                "factor upside down": g * min(1.0, norm / max_norm),
                "shortened too far": np.zeros_like(g),
            }
            scaled = g * min(1.0, max_norm / norm)
            verdict = say.compare(got, scaled, "a clipped gradient", alternatives, 1e-5)
            if not verdict.ok:
                return verdict
    return say.right()


@exercise("6.4", stars=3, title="An LSTM over time")
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
            return SAY["6.4"].wrong("gates swapped", order=order)
    layer = answer(Wx.copy(), Wh.copy(), b.copy())
    weights = ("Wx", "Wh", "b")
    wrong = SAY["6.4"].of(_other_cells(Wx, Wh, b, x))
    verdict = check_backward(
        layer, x, expected=expected, hints=SAY["6.4"], weights=weights, wrong=wrong
    )
    return (
        SAY["6.4"].wrong("di and dg exchanged")
        if _crossed(verdict, answer, (Wx, Wh, b), x)
        else verdict
    )


def _other_cells(Wx: Any, Wh: Any, b: Any, x: Any) -> dict[str, Any]:
    """What cells with a part left out, or another activation, give for x."""
    kinds: dict[str, Any] = {
        "g is a sigmoid": {"new": sigmoid},
        "output gate not used": {"tell": lambda _, c: np.tanh(c)},
        "tanh of c missing": {"tell": lambda o, c: o * c},
        "forget gate not used": {"keep": lambda i, _, g, c: c + i * g},
        "input gate not used": {"keep": lambda _, f, g, c: f * c + g},
        "1 - i in place of f": {"keep": lambda i, _, g, c: (1 - i) * c + i * g},
        "memory not carried": {"keep": lambda i, _, g, __: i * g},
        "c in place of h": {"tell": lambda _, c: c},
        "state not carried": {"carry": 0.0},
    }
    return {name: _run_cell(Wx, Wh, b, x, **kind) for name, kind in kinds.items()}


def _run_cell(
    Wx: Any,
    Wh: Any,
    b: Any,
    x: Any,
    new: Any = np.tanh,
    keep: Any = lambda i, f, g, c: f * c + i * g,
    tell: Any = lambda o, c: o * np.tanh(c),
    carry: float = 1.0,
) -> Any:
    h = c = np.zeros((len(x), Wh.shape[0]))
    states = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ Wx + carry * h @ Wh + b, 4, axis=1)
        c = keep(sigmoid(i), sigmoid(f), new(g), c)
        h = tell(sigmoid(o), c)
        states.append(h)
    return np.stack(states, axis=1)


def _crossed(verdict: Verdict, answer: Any, weights: tuple[Any, Any, Any], x: Any) -> bool:
    """Whether i and g have each other's factor: di = dc i in place of dc g, and dg = dc g."""
    if verdict.diagnosis not in CAUSES or verdict.diagnosis == GATES_SWAPPED:
        return False  # not the numbers alone, or named already
    x, layer = x[:, :1], answer(*(w.copy() for w in weights))  # of one step
    h = layer.forward(x.copy())
    layer.backward(np.ones_like(h))
    Wx, _, b = weights
    i, _, g, o = np.split(x[:, 0] @ Wx + b, 4, axis=1)
    i, g, o = sigmoid(i), np.tanh(g), sigmoid(o)
    u = np.tanh(i * g)
    dc = o * (1 - u**2)
    zero, do = np.zeros_like(dc), u * o * (1 - o)
    da = np.concatenate([dc * i * i * (1 - i), zero, dc * g * (1 - g**2), do], axis=1)
    return bool(np.shape(layer.dWx) == Wx.shape and np.allclose(layer.dWx, x[:, 0].T @ da))


def _swapped_gates(found: Any, Wx: Any, Wh: Any, b: Any, x: Any) -> str:
    """The order of gates with which an LSTM gives what was found, if it is another order."""
    H = Wh.shape[0]
    for order in ("fiog", "ifog", "figo", "iogf", "ofgi", "gfio", "fgio", "igfo"):
        columns = np.concatenate([np.arange(H) + H * order.index(gate) for gate in "ifgo"])
        swapped = TimeLSTM(Wx[:, columns], Wh[:, columns], b[columns]).forward(x)
        if np.shape(found) == swapped.shape and np.allclose(found, swapped):
            return ", ".join(order)
    return ""


@exercise("6.5", stars=2, title="Gather in silence")
def gather_in_silence(answer: Any) -> Verdict:
    """Biases (4,) of i, f, g, o with which a cell of one unit counts steps and says nothing."""
    say = SAY["6.5"]
    if any(is_empty(one) for one in np.ravel(np.asarray(answer, dtype=object))):
        return Verdict.empty("there is a bias missing")
    try:
        b = np.asarray(answer, dtype=float)
    except (TypeError, ValueError):
        return say.wrong(WRONG_TYPE)
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
    if added < -0.95:
        return say.wrong("it counts down", **found)
    if added < 0.95:
        return say.wrong("nothing comes in", **found)
    return say.wrong("the memory forgets" if f < 0.999 else "wrong value", **found)


@exercise("6.6", stars=1, title="A bias for a long memory")
def forget_bias(answer: Any) -> Verdict:
    """``(n) -> b``, the bias with which half of a memory is left after n steps."""
    for n in (10, 1, 100):
        f = 0.5 ** (1 / n)
        wrong = {
            "the gate and not its bias": f, "one step instead of n": 0.0,
            "the power instead of the root": 0.5**n,
            "divided instead of rooted": np.log(0.5 / n / (1 - 0.5 / n)),
            "only nearly right": np.log(n / np.log(2)),
            "logarithm of the gate": np.log(f),
            "the bias of 1 - f": np.log((1 - f) / f),
            "the usual bias": 1.0,
        }  # fmt: skip
        verdict = SAY["6.6"].compare(answer(n), np.log(f / (1 - f)), f"b for n = {n}", wrong)
        if not verdict.ok:
            return verdict
    return SAY["6.6"].right()


@exercise("6.7", stars=2, title="Along the road of c")
def along_c(answer: Any) -> Verdict:
    """``(f, dc) -> (T, N, H)``: gradients w.r.t. c_0 to c_(T-1) along c alone."""
    rng = np.random.default_rng(7)
    f, dc = rng.uniform(0.1, 0.9, (4, 2, 3)), rng.normal(size=(2, 3))
    later = np.cumprod(f[::-1], axis=0)[::-1]  # f_t ... f_T
    earlier = np.cumprod(f, axis=0)
    closed = np.concatenate([later[1:], np.ones((1, 2, 3))])
    wrong = {
        "the first gates instead of the last": dc * earlier,
        "from the last step to the first": (dc * later)[::-1],
        "one gate missing": dc * closed,
        "one gate at each step": dc * f,
        "the gates added": dc * np.cumsum(f[::-1], axis=0)[::-1],
        "one gate for all steps": np.stack([dc * f[t] ** (4 - t) for t in range(4)]),
        "1 - f in place of f": dc * np.cumprod(1 - f[::-1], axis=0)[::-1],
        "the gradient of c_0 alone": dc * np.prod(f, axis=0),
        "dc not used": later,
    }
    return SAY["6.7"].compare(answer(f.copy(), dc.copy()), dc * later, "the gradients", wrong)


@exercise("6.8", stars=2, title="One step of a GRU")
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
        "reset gate not used": (1 - z) * np.tanh(a[:, 2 * H :] + h_prev @ Wh[:, 2 * H :])
        + z * h_prev,
        "n is a sigmoid": (1 - z) * sigmoid(a[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
        + z * h_prev,
        "b not used": GRU(Wx, Wh, 0 * b).forward(x, h_prev),
        "x not used": GRU(Wx, Wh, b).forward(0 * x, h_prev),
        "x not used|nor b": GRU(Wx, Wh, 0 * b).forward(0 * x, h_prev),
        "h_prev not used": GRU(Wx, Wh, b).forward(x, 0 * h_prev),
        "n not weighted": n + z * h_prev,
        "old state dropped": (1 - z) * n,
        "update gate not used": n,
        "nothing new comes in": h_prev,
        "nothing new comes in|weighted": z * h_prev,
    }
    right = GRU(Wx, Wh, b).forward(x, h_prev)
    return SAY["6.8"].compare(answer(x, h_prev, Wx, Wh, b), right, "h", wrong)

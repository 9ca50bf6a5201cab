"""Lesson 6: what the checks say of typical wrong answers."""

import numpy as np
import pytest

from deepnlp.exercises import check
from deepnlp.functions import sigmoid
from deepnlp.layers.gru import GRU
from tests.exercises.tools import solution_of

# --- Choices and numbers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        ({"A": "grows", "B": "grows", "C": "vanishes"}, "judged by the singular value"),
        ({"A": "vanishes", "B": "vanishes", "C": "vanishes"}, "wrong choice"),
        ({"A": "vanishes", "B": "explodes", "C": "vanishes"}, "wrong type"),
        ("grows", "wrong type"),
    ],
)
def test_which_matrix_explodes(answer, diagnosis):
    assert check("6.1", answer).diagnosis == diagnosis


@pytest.mark.parametrize(
    ("biases", "diagnosis"),
    [
        ([12.0, 12.0, 3.0, 12.0], "the output gate is open"),
        ([12.0, 1.0, 3.0, -12.0], "the memory forgets"),
        ([-3.0, 12.0, 3.0, -12.0], "nothing comes in"),
        ([12.0, 12.0, 0.5, -12.0], "nothing comes in"),
        ([12.0, 12.0, 3.0], "wrong shape"),
    ],
)
def test_a_silent_clock(biases, diagnosis):
    assert check("6.4", biases).diagnosis == diagnosis


@pytest.mark.parametrize(
    ("answer", "diagnosis"),
    [
        (lambda n: 0.5 ** (1 / n), "the gate and not its bias"),
        (lambda n: 0.0, "one step instead of n"),
        (lambda n: np.log(n), "wrong value"),
    ],
)
def test_forget_biases(answer, diagnosis):
    assert check("6.5", answer).diagnosis == diagnosis


@pytest.mark.parametrize(
    ("share", "diagnosis"),
    [
        (0.0, "added instead of multiplied"),
        (1.0, "the scaling brings nothing back"),
        (0.05, "wrong value"),
    ],
)
def test_shares_of_a_noisy_memory(share, diagnosis):
    assert check("6.7", share).diagnosis == diagnosis


@pytest.mark.parametrize("choice", ["Wx transposed", "E transposed", "Wh transposed"])
def test_projections(choice):
    assert check("6.9", choice).diagnosis == "wrong choice"


# --- Functions --------------------------------------------------------------------------------


def norm_of(arrays):
    return np.sqrt(sum(np.sum(g**2) for g in arrays))


def each_alone(grads, max_norm):
    return [g * min(1.0, max_norm / norm_of([g])) for g in grads], norm_of(grads)


def always_scaled(grads, max_norm):
    norm = norm_of(grads)
    return [g * (max_norm / norm) for g in grads], norm


CLIPPINGS = {
    "each array clipped on its own": each_alone,
    "small gradients scaled up": always_scaled,
    "norms added instead of their squares": lambda g, m: (g, sum(norm_of([one]) for one in g)),
    "not the root": lambda g, m: (g, norm_of(g) ** 2),
    "wrong type": lambda g, m: g,
    "wrong shape": lambda g, m: (g[:1], norm_of(g)),
}


@pytest.mark.parametrize("diagnosis", CLIPPINGS)
def test_clippings(diagnosis):
    assert check("6.2", CLIPPINGS[diagnosis]).diagnosis == diagnosis


def gru(x, h_prev, Wx, Wh, b, order=(0, 1), keep=lambda n, z, h: (1 - z) * n + z * h):
    H = h_prev.shape[1]
    ax = x @ Wx + b
    gates = np.split(sigmoid(ax[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]), 2, axis=1)
    r, z = gates[order[0]], gates[order[1]]
    n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    return keep(n, z, h_prev)


GRUS = {
    "update gate the wrong way round": lambda *a: gru(*a, keep=lambda n, z, h: z * n + (1 - z) * h),
    "gates swapped": lambda *a: gru(*a, order=(1, 0)),
    "reset gate after the product": lambda x, h, Wx, Wh, b: GRU(
        Wx, Wh, b, reset_after=True
    ).forward(x, h),
    "wrong value": lambda *a: gru(*a, keep=lambda n, z, h: (1 - z) * n),
}


@pytest.mark.parametrize("diagnosis", GRUS)
def test_steps_of_a_gru(diagnosis):
    assert check("6.6", GRUS[diagnosis]).diagnosis == diagnosis


def dropout(x, p, mask, scaled=True):
    return x * mask / (1 - p if scaled else 1)


MASKS = {
    "a fresh mask for every step": lambda x, p, rng: dropout(x, p, rng.random(x.shape) >= p),
    "one mask for all rows": lambda x, p, rng: dropout(x, p, rng.random((1, 1, x.shape[2])) >= p),
    "kept with probability p": lambda x, p, rng: dropout(
        x, 1 - p, rng.random((len(x), 1, x.shape[2])) < p
    ),
    "mask not scaled": lambda x, p, rng: dropout(
        x, p, rng.random((len(x), 1, x.shape[2])) >= p, scaled=False
    ),
    "wrong shape": lambda x, p, rng: x[:, 0],
}


@pytest.mark.parametrize("diagnosis", MASKS)
def test_masks(diagnosis):
    assert check("6.8", MASKS[diagnosis]).diagnosis == diagnosis


def count(V, D, H, tie, *, twice=False, bias=True, first_again=False, blocks=4, L=True):
    second_input = D if first_again else H
    cells = blocks * H * (D + H + 1) + blocks * H * (second_input + H + 1)
    output = H * V if tie == "none" else twice * V * D
    return V * D + cells + output + (H * D if tie == "tied+L" and L else 0) + bias * V


COUNTS = {
    "tied matrix counted twice": {"twice": True},
    "output bias forgotten": {"bias": False},
    "second layer reads H numbers": {"first_again": True},
    "one block instead of four": {"blocks": 1},
    "L forgotten": {"L": False},
}


@pytest.mark.parametrize("diagnosis", COUNTS)
def test_counts(diagnosis):
    wrong = COUNTS[diagnosis]
    assert check("6.10", lambda V, D, H, tie: count(V, D, H, tie, **wrong)).diagnosis == diagnosis


# --- Backward passes --------------------------------------------------------------------------


def time_lstm(carry_h=True, carry_c=True, add=True):
    """The solution of 6.3 with a mistake in its backward."""

    class Wrong(solution_of("6.3")):
        def backward(self, dhs):
            dh_next = dc_next = np.zeros_like(dhs[:, 0])
            dx = np.zeros((*dhs.shape[:2], len(self.Wx)))
            for t in reversed(range(dhs.shape[1])):
                x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
                dh = dhs[:, t] + dh_next
                dc = dc_next + dh * o * (1 - u**2)
                parts = (dc * g * i * (1 - i), dc * c_prev * f * (1 - f))
                da = np.concatenate([*parts, dc * i * (1 - g**2), dh * u * o * (1 - o)], axis=1)
                new = x.T @ da, h_prev.T @ da, da.sum(axis=0)
                old = (self.dWx, self.dWh, self.db) if add else (0, 0, 0)
                self.dWx, self.dWh, self.db = (a + b for a, b in zip(old, new, strict=True))
                dx[:, t] = da @ self.Wx.T
                dh_next = da @ self.Wh.T if carry_h else np.zeros_like(dh)
                dc_next = dc * f if carry_c else np.zeros_like(dh)
            return dx

    return Wrong


LSTMS = {
    "path through h_prev dropped": {"carry_h": False},
    "path through c_prev dropped": {"carry_c": False},
    "assigned instead of accumulated": {"add": False},
}


@pytest.mark.parametrize("diagnosis", LSTMS)
def test_lstms_over_time(diagnosis):
    assert check("6.3", time_lstm(**LSTMS[diagnosis])).diagnosis == diagnosis


def test_an_lstm_with_its_gates_in_another_order():
    def columns(W):
        i, f, g, o = np.split(W, 4, axis=-1)
        return np.concatenate([f, i, o, g], axis=-1)

    def wrong(Wx, Wh, b):
        return solution_of("6.3")(columns(Wx), columns(Wh), columns(b))

    verdict = check("6.3", wrong)
    assert verdict.diagnosis == "gates swapped"
    assert "f, i, o, g" in verdict.text


def tied(lookup=True, output=True, add_at=True):
    """The solution of 6.11 with a mistake in it."""

    class Wrong(solution_of("6.11")):
        def backward(self, ds):
            dhat = ds @ self.E
            self.dL = self.h.T @ dhat
            self.dE = ds.T @ (self.h @ self.L) if output else np.zeros_like(self.E)
            dx = (dhat @ self.L.T) * (1 - self.h**2)
            if lookup and add_at:
                np.add.at(self.dE, self.ids, dx)
            elif lookup:
                self.dE[self.ids] += dx

    return Wrong


TIED = {
    "tied use lost: lookup side": {"lookup": False},
    "tied use lost: output side": {"output": False},
    "repeated ids overwritten": {"add_at": False},
}


@pytest.mark.parametrize("diagnosis", TIED)
def test_tied_models(diagnosis):
    assert check("6.11", tied(**TIED[diagnosis])).diagnosis == diagnosis


def test_a_transposed_gradient_of_l():
    class Wrong(solution_of("6.11")):
        def backward(self, ds):
            super().backward(ds)
            self.dL = self.dL.T

    assert check("6.11", Wrong).diagnosis == "transposed"

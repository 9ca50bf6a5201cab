"""deepnlp: the effect of each technique, without and with it in turn on the real shapes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from benchmarks.contestant import Answer
from benchmarks.contestants.language_model import Training
from benchmarks.settings import Sizes, Spec
from benchmarks.timing import Work, interleaved_ms
from deepnlp import backend, kernels
from deepnlp.layers import AffineSoftmaxWithLoss, SoftmaxWithLoss, TimeAffine
from deepnlp.parameter import Parameter, add_rows

KERNELS = "kernels: "
IDLE = "idle threads of OpenBLAS asleep, not spinning"
OPENBLAS_SPINS, OPENBLAS_SLEEPS = "26", "16"  # 2 to that many cycles: the default, and ours
PROCESSES = 3
BLOCK = 1 << 16  # numbers that fit the cache of a core

Pair = tuple[Work, Work]


def families() -> dict[str, list[str]]:
    """Names of the kernels by what they have before the first underscore.

    Those that have no other form than the plain one on the backend in use are left out.

    Examples
    --------
    >>> families()["lstm"]
    ['lstm_steps']
    """
    quick = kernels.QUICK_FORMS[backend.name()]()
    names = [name for name in kernels.NAMES if hasattr(quick, name)]
    found: dict[str, list[str]] = {"all": names}
    for name in names:
        found.setdefault(name.split("_")[0], []).append(name)
    return found


def of_kernels(spec: Spec) -> Answer:
    """A training step with some kernels in their plain form, and with none."""
    answer = {}
    for family, names in families().items():
        cell = family if family in ("rnn", "gru") else "lstm"
        training = Training(spec.model, cell)

        def plain(training: Training = training, names: list[str] = names) -> None:
            with kernels.using("plain", *names):
                training.step()

        answer[KERNELS + family] = in_turn(plain, training.step, spec)
    return answer


def in_turn(without: Work, with_it: Work, spec: Spec) -> dict[str, float]:
    """Both times of a pair."""
    return interleaved_ms({"without_ms": without, "with_ms": with_it}, spec)


def _numbers(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, dtype=np.float32)


def _input_product(z: Sizes) -> Pair:
    x, W = _numbers(z.T, z.N, z.H), _numbers(z.H, 4 * z.H)
    a = np.zeros((z.T, z.N, 4 * z.H), np.float32)
    x_rows, a_rows = x.reshape(-1, z.H), a.reshape(-1, 4 * z.H)

    def step_by_step() -> None:
        for t in range(z.T):
            np.matmul(x[t], W, out=a[t])

    return step_by_step, lambda: np.matmul(x_rows, W, out=a_rows)


def _weight_gradient(z: Sizes) -> Pair:
    h, da = _numbers(z.T, z.N, z.H), _numbers(z.T, z.N, 4 * z.H)
    dW = np.zeros((z.H, 4 * z.H), np.float32)
    h_rows, da_rows = h.reshape(-1, z.H), da.reshape(-1, 4 * z.H)

    def step_by_step() -> None:
        dW.fill(0)
        for t in range(z.T):
            np.add(dW, h[t].T @ da[t], out=dW)

    return step_by_step, lambda: np.matmul(h_rows.T, da_rows, out=dW)


def _step_back(form: str) -> Callable[[Sizes], Pair]:
    """The product dh = da Wh^T of all steps, as it stands and in another form."""

    def make(z: Sizes) -> Pair:
        da, Wh = _numbers(z.T, z.N, 4 * z.H), _numbers(z.H, 4 * z.H)
        Wh_T = np.ascontiguousarray(Wh.T)

        def as_it_stands() -> None:
            for t in range(z.T):
                da[t] @ Wh.T

        def copied() -> None:
            for t in range(z.T):
                da[t] @ Wh_T

        def turned() -> None:
            for t in range(z.T):
                np.transpose(Wh @ da[t].T)

        return as_it_stands, {"copied": copied, "turned": turned}[form]

    return make


def _softmax_in(s: Any) -> None:
    s -= s.max(axis=1, keepdims=True)
    np.exp(s, out=s)
    s /= s.sum(axis=1, keepdims=True)


def _blocks(s: Any) -> list[Any]:
    rows = max(1, BLOCK // s.shape[1])
    return [s[start : start + rows] for start in range(0, len(s), rows)]


def _softmax_of_each(blocks: Iterable[Any]) -> None:
    for block in blocks:
        _softmax_in(block)


def _softmax_in_blocks(z: Sizes) -> Pair:
    s = _numbers(z.N * z.T, z.V)
    blocks = _blocks(s)
    return lambda: _softmax_in(s), lambda: _softmax_of_each(blocks)


def _softmax_on_two_threads(z: Sizes) -> Pair:
    s = _numbers(z.N * z.T, z.V)
    blocks = _blocks(s)
    pool = ThreadPoolExecutor(2)

    def both() -> None:
        list(pool.map(_softmax_of_each, (blocks[::2], blocks[1::2])))

    return lambda: _softmax_of_each(blocks), both


def _embedding_gradient(z: Sizes) -> Pair:
    """Rows added to a table, repeated ids included."""
    table = np.zeros((z.V, z.H), np.float32)
    ids = np.random.default_rng(0).integers(0, z.V, size=z.N * z.T)
    rows = _numbers(len(ids), z.H)
    return (lambda: np.add.at(table, ids, rows)), (lambda: add_rows(table, ids, rows))


def _scores_as_a_workspace(z: Sizes) -> Pair:
    x, targets = _numbers(z.N, z.T, z.H), np.zeros((z.N, z.T), int)
    W, b = Parameter(_numbers(z.V, z.H)), Parameter(np.zeros(z.V, np.float32))
    affine, loss, joined = TimeAffine(W.T, b), SoftmaxWithLoss(), AffineSoftmaxWithLoss(W.T, b)

    def apart() -> None:
        loss.forward(affine.forward(x), targets)
        W.zero_grad()
        affine.backward(loss.backward())

    def as_one() -> None:
        joined.forward(x, targets)
        W.zero_grad()
        joined.backward()

    return apart, as_one


def _sum_of_columns(z: Sizes) -> Pair:
    da = _numbers(z.N * z.T, z.V)
    ones = np.ones(len(da), np.float32)
    return lambda: da.sum(axis=0), lambda: ones @ da


EXPERIMENTS: dict[str, Callable[[Sizes], Pair]] = {
    "input product of all steps at once, not step by step": _input_product,
    "weight gradient as one product after the loop, not step by step": _weight_gradient,
    "backward product with a copied Wh.T, not da @ Wh.T": _step_back("copied"),
    "backward product as (Wh @ da.T).T, not da @ Wh.T": _step_back("turned"),
    "softmax in blocks that fit the cache, not as a whole": _softmax_in_blocks,
    "softmax on two threads, not on one": _softmax_on_two_threads,
    "embedding gradient row by row, not np.add.at": _embedding_gradient,
    "output product and loss as one layer, not as two": _scores_as_a_workspace,
    "sums of columns as a product with ones, not sum": _sum_of_columns,
}
"""Techniques other than kernels: by name, from the sizes to the work without and with each."""


def run(spec: Spec) -> Answer:
    """Every technique: time without and with it.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H.
    """
    answer = of_kernels(spec)
    if backend.name() != "numpy":
        return answer
    for name, make in EXPERIMENTS.items():
        if "two threads" not in name or spec.threads > 1:
            answer[name] = in_turn(*make(spec.model), spec)
    if spec.threads > 1:
        answer[IDLE] = _idle_threads(spec)
    return answer


def _idle_threads(spec: Spec) -> dict[str, float]:
    """A whole training step where threads of OpenBLAS spin when they are idle, and where not.

    That is settled when NumPy is imported, so each runs in its own process.
    """
    times: dict[str, list[float]] = {OPENBLAS_SPINS: [], OPENBLAS_SLEEPS: []}
    asked = json.dumps(asdict(replace(spec, work="language_model")))
    for _ in range(1 if spec.seconds == 0 else PROCESSES):
        for timeout, found in times.items():
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.contestant"],
                input=asked,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env=os.environ | {"OPENBLAS_THREAD_TIMEOUT": timeout},
                check=True,
            )
            found.append(json.loads(done.stdout)["step"]["train_ms"])
    without, with_it = (statistics.median(found) for found in times.values())
    return {"without_ms": without, "with_ms": with_it}

"""Reach: how much of the gradient of a loss arrives at each state before it."""

from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradflow import observe
from deepnlp.layers.recurrent import TimeRecurrent


def gradient_norms(
    layer: TimeRecurrent, x: Any, rng: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.float64]]:
    r"""Norms of :math:`\partial L_t / \partial h_k`, of a loss with random slope at each step.

    For each t a gradient enters at step t alone, and is watched on its way back.

    Parameters
    ----------
    layer : TimeRecurrent
    x : array (N, T, D)
    rng : numpy.random.Generator
        Draws the slopes.

    Returns
    -------
    array (T, T)
        Row t, column k; zero for k > t.

    Examples
    --------
    >>> from deepnlp.layers import TimeRNN
    >>> layer = TimeRNN([[1.0]], [[0.5]], [0.0], activation="relu")
    >>> norms = gradient_norms(layer, np.ones((1, 3, 1)), np.random.default_rng(0))
    >>> (norms / norms.diagonal()[:, None]).round(3).tolist()
    [[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.25, 0.5, 1.0]]
    """
    N, T, _ = x.shape
    norms, slopes = np.zeros((T, T)), rng.normal(size=(N, T, layer.H))
    for t in range(T):
        only_t = np.where(np.arange(T)[:, None] == t, slopes, 0.0)
        with observe(layer) as observers:
            layer.forward(asarray(x))
            layer.backward(asarray(only_t))
        norms[t] = [np.linalg.norm(asnumpy(dh)) for dh in observers[""].observation().dh]
    return norms

"""Dropout: noise that is a pure function of a key and a count."""

import math
from typing import Any

from deepnlp.backend import Array, Rng, asarray, check_number, host_generator, xp
from deepnlp.backend.ownership import claim
from deepnlp.backend.random import philox_uint16
from deepnlp.kernels import back_of, kernel
from deepnlp.layer import Layer
from deepnlp.options import Option

MASK_LEVELS = 1 << 16  # a mask compares integers of 16 bits


@kernel
def dropout(
    x: Array, mask_shape: tuple[int, ...], key: int, call: int, p: float
) -> tuple[Array, Any]:
    """y = mask * x / (1 - p), with a mask that is broadcast to x; and what backward needs.

    The mask is [u >= round(2^16 p)] for integers u of 16 bits that are a pure function of
    (key, call): entry j takes number j of :func:`deepnlp.backend.philox_uint16`.
    """
    bits = philox_uint16(key, call, math.prod(mask_shape)).reshape(mask_shape)
    kept = asarray(bits >= round(p * MASK_LEVELS))
    scaled_mask = kept.astype(x.real.dtype) * (1 / (1 - p))
    return x * scaled_mask, scaled_mask


@back_of(dropout)
def dropout_backward(dy: Array, saved: Any) -> Array:
    """dx = mask * dy / (1 - p): what was zeroed gets no gradient."""
    dx: Array = dy * saved
    return dx


class Dropout(Layer):
    r"""Zeroes entries at random while training, and scales the others up.

    .. math:: y = \frac{m}{1 - p} \odot x, \qquad m \sim \mathrm{Bernoulli}(1 - p)

    so that the mean of y is x (inverted scaling) and evaluation needs no scaling.

    Parameters
    ----------
    p : float
        Probability of being zeroed, 0 <= p < 1.
    rng : numpy.random.Generator, optional
        The constructor draws one key from it. The mask of call k is a pure function of (key, k): a
        seed means the same masks on every backend, and :meth:`snapshot` holds two numbers.

    Notes
    -----
    ``forward(x)`` takes any shape and saves the scaled mask; with p = 0 or after ``eval()`` it
    returns x itself. Srivastava et al. 2014.

    Raises
    ------
    ValueError
        If p is outside [0, 1).

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> import deepnlp
    >>> deepnlp.seed(0)
    >>> sorted(set(Dropout(0.5).forward(xp.ones(100)).tolist()))
    [0.0, 2.0]
    >>> Dropout(0.5).eval().forward(xp.ones(2))
    array([1., 1.])
    """

    axes = "..."

    def __init__(self, p: float, rng: Rng = None) -> None:
        check_number(f"{type(self).__name__}: p", p, low=0, below=1)
        self.p = p
        self._key = int(host_generator(rng).integers(1 << 63))
        self._calls = 0

    def forward(self, x: Array) -> Array:
        """y = mask * x / (1 - p) in training, x in evaluation."""
        if not self.training or self.p == 0:
            self.save_for_backward(None)
            return x
        claim(self, "forward")  # it counts its masks
        y, mask = dropout(x, self._mask_shape(x), self._key, self._calls, self.p)
        self._calls += 1
        self.save_for_backward(mask)
        return y

    def backward(self, dy: Array) -> Array:
        """dx = mask * dy / (1 - p): what was zeroed gets no gradient."""
        (mask,) = self.saved()
        return dy if mask is None else dropout_backward(dy, mask)

    def mask(self, shape: tuple[int, ...], dtype: Any) -> Array | None:
        """Return a fresh mask of 0 and 1 / (1 - p) for what is no input, such as a weight.

        Parameters
        ----------
        shape : tuple of int
        dtype : data-type

        Returns
        -------
        array or None
            None where nothing is zeroed: with p = 0, or after ``eval()``.
        """
        if not self.training or self.p == 0:
            return None
        claim(self, "forward")
        mask, _ = dropout(xp.ones(shape, dtype=dtype), shape, self._key, self._calls, self.p)
        self._calls += 1
        return mask

    def _mask_shape(self, x: Array) -> tuple[int, ...]:
        return tuple(x.shape)

    def _own_state(self) -> dict[str, Any]:
        return {"key": self._key, "calls": self._calls}

    def _check_own_state(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            Option(low=0, kind=int).check(value, f"{type(self).__name__}: {name}")

    def _set_own_state(self, state: dict[str, Any]) -> None:
        self._key, self._calls = int(state["key"]), int(state["calls"])


class TimeDropout(Dropout):
    r"""Dropout over a sequence: a fresh mask for every step, or one locked over time.

    .. math:: y_{nt} = \frac{m_{nt}}{1 - p} \odot x_{nt}, \qquad m_{nt} = m_n \text{ if locked}

    Parameters
    ----------
    p : float
        Probability of being zeroed, 0 <= p < 1.
    locked : bool
        One mask for all steps of a sequence, fresh for every call (variational dropout, Gal and
        Ghahramani 2016).
    rng : numpy.random.Generator, optional
        As in :class:`Dropout`.

    Notes
    -----
    ``forward(x)`` takes and gives (N, T, D), and saves the scaled mask, (N, T, D) or (N, 1, D).

    Raises
    ------
    ValueError
        If p is outside [0, 1), or x does not have three axes.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> y = TimeDropout(0.5, locked=True).forward(xp.ones((2, 3, 4)))
    >>> bool((y[:, 0] == y[:, 2]).all())
    True
    """

    axes = "N T D"

    def __init__(self, p: float, locked: bool = False, rng: Rng = None) -> None:
        super().__init__(p, rng)
        self.locked = locked

    def _mask_shape(self, x: Array) -> tuple[int, ...]:
        N, T, D = x.shape
        return (N, 1, D) if self.locked else (N, T, D)

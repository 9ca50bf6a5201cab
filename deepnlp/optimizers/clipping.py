"""Clipping: gradients whose norm is too large are scaled down together."""

import math
from collections.abc import Iterable, Sequence

from deepnlp import backend
from deepnlp.backend import Array, check_number, xp
from deepnlp.kernels import kernel
from deepnlp.parameter import Parameter, as_bases

SMALLEST_NORM = 1e-15  # of which the squares are still whole in float32
SMALLEST_SCALE = 1e-37  # that float32 holds with all its digits
NEVER_REACHED = 1e300  # a larger max_norm clips nothing; its quotient might overflow


@kernel
def clip_all(gradients: Sequence[Array], max_norm: float) -> Array:
    """Scale the gradients in place; gives their norm before, a 0-d float64 array.

    On a device, where a look at the norm would wait, float32 has a form that sums in float64.
    """
    norm = _norm(gradients)
    if backend.name() == "numpy" and not SMALLEST_NORM < norm < math.inf:
        m = max((float(abs(g).max()) for g in gradients if g.size), default=0.0)
        if 0 < m < math.inf:
            return _clip_extreme(gradients, max_norm, m)
    if max_norm < NEVER_REACHED:
        scale = xp.minimum(1, max_norm / (norm + 1e-6))
        if backend.name() != "numpy" or scale != 1:  # on a device, a look at it would wait
            for g in gradients:
                _multiply(g, scale)
    return norm


def _clip_extreme(gradients: Sequence[Array], max_norm: float, m: float) -> Array:
    """Return the same where squares overflow or vanish: g / m, with m = max |g|, is scaled instead.

    The norm is m n, with n that of g / m, and g min(1, max_norm / (m n + 1e-6)) is
    g / m times min(m, max_norm / (n + 1e-6 / m)).
    """
    n = _norm([g / g.dtype.type(m) for g in gradients])
    if math.isfinite(max_norm) and max_norm / m < n + 1e-6 / m:
        for g in gradients:
            g /= g.dtype.type(m)
            _multiply(g, max_norm / (n + 1e-6 / m))
    return xp.asarray(float(n) * m)  # infinite if the norm is above all numbers of float64


def _norm(gradients: Sequence[Array]) -> Array:
    """Compute the norm of all gradients together, a 0-d float64 array."""
    wide = (g.astype("float32") if g.dtype == "float16" else g for g in gradients)
    return xp.sqrt(sum((xp.vdot(g, g).real for g in wide), start=xp.zeros(())))


def _multiply(g: Array, scale: Array) -> None:
    """Scale an array in place, by a factor that its own type need not hold."""
    if g.dtype == "float16":
        g[...] = g.astype("float32") * scale.astype("float32")
    elif backend.name() == "numpy" and scale < SMALLEST_SCALE:
        g[...] = g * scale
    else:
        g *= scale.astype(g.dtype)


def clip_gradients(parameters: Iterable[Parameter], max_norm: float) -> Array:
    r"""Scale all gradients together so that their norm is at most ``max_norm``.

    .. math::
        n = \Bigl(\sum_W \sum_{ij} g_{W,ij}^2\Bigr)^{1/2}, \qquad
        g \leftarrow g \cdot \min\Bigl(1, \frac{\mathrm{max\_norm}}{n + 10^{-6}}\Bigr)

    Parameters
    ----------
    parameters : iterable of Parameter
        A tied weight counts once, with the sum of its uses.
    max_norm : float
        Positive; infinity to measure only.

    Returns
    -------
    0-d array
        The norm before clipping.

    Raises
    ------
    ValueError
        If ``max_norm`` is not positive.

    Notes
    -----
    Pascanu, Mikolov and Bengio 2013, algorithm 1.

    Examples
    --------
    >>> W = Parameter([3.0, 4.0])
    >>> W.accumulate(W.value)
    >>> float(clip_gradients([W], max_norm=1.0))
    5.0
    >>> W.grad.round(4)
    array([0.6, 0.8])
    """
    check_number("clip_gradients: max_norm", max_norm)
    if not max_norm > 0:
        raise ValueError(f"clip_gradients: max_norm should be positive, got {max_norm}")
    trained = [p for p in as_bases(parameters) if p.trainable]
    gradients = [p.grad if p.sparse_grad is None else p.sparse_grad[1] for p in trained]
    return clip_all(gradients, max_norm)

"""Sequences of different lengths in one batch: where each has ended, and each of them reversed."""

from typing import Any

from deepnlp.backend import Array, asarray, check_ids, xp
from deepnlp.layer import expect


def check_lengths(owner: str, lengths: Any, N: int, T: int) -> Array:
    """Lengths (N,) as an array of the backend, each from 0 to T; None stays None.

    ``owner`` is the layer that a message about wrong lengths names.
    """
    if lengths is None:
        return None
    lengths = asarray(lengths)
    expect(owner, "lengths", lengths, "N", "integers", N=N)
    check_ids(owner, lengths, T + 1, "lengths")
    return lengths.astype("int64", copy=False)  # with a sign: differences of lengths are taken


def check_steps(owner: str, x: Array) -> None:
    """An error where x (N, T, D) has no step."""
    if not x.shape[1]:
        raise ValueError(f"{owner}: x should have one step or more, got {tuple(x.shape)}")


def past_end(owner: str, lengths: Any, N: int, T: int) -> Array:
    """Whether step t, counted from zero, is past the end of sequence n: (N, T).

    >>> past_end("TimeLSTM", [1, 3], N=2, T=3)
    array([[False,  True,  True],
           [False, False, False]])
    """
    lengths = check_lengths(owner, lengths, N, T)
    return xp.arange(T) >= lengths[:, None]


def reverse_by_length(x: Array, lengths: Any = None) -> Array:
    r"""Each sequence of a batch in reversed order; its padding stays behind it.

    .. math:: y_{nt} = x_{n, L_n + 1 - t} \quad (t \le L_n), \qquad y_{nt} = x_{nt} \quad (t > L_n)

    Done twice it gives x again, so the gradient with respect to x is the gradient with respect to
    the result, reversed in the same way.

    Parameters
    ----------
    x : array (N, T, ...)
    lengths : sequence of int (N,), optional
        Steps of each sequence; T by default.

    Returns
    -------
    array of the shape of x

    Raises
    ------
    TypeError, ValueError
        If the lengths are not integers from 0 to T, one for each sequence.

    Examples
    --------
    >>> reverse_by_length(xp.asarray([[1, 2, 3, 0], [4, 5, 6, 7]]), [3, 4])
    array([[3, 2, 1, 0],
           [7, 6, 5, 4]])
    """
    if lengths is None:
        return x[:, ::-1]
    N, T = x.shape[:2]
    t, lengths = xp.arange(T), check_lengths("reverse_by_length", lengths, N, T)[:, None]
    source = xp.where(t < lengths, lengths - 1 - t, t)  # y_nt = x_n,source
    return x[xp.arange(N)[:, None], source]

"""Sequences of different lengths in one batch: where each has ended, and each of them reversed."""

from typing import Any

from deepnlp.backend import Array, asarray, check_ids, xp
from deepnlp.backend.shapes import expect
from deepnlp.kernels.steps import Steps, StepsAround


def check_lengths(owner: str, lengths: Any, N: int, T: int) -> Any:
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
    """Raise an error where x (N, T, D) has no step."""
    if not x.shape[1]:
        raise ValueError(f"{owner}: x should have one step or more, got {tuple(x.shape)}")


def past_end(owner: str, lengths: Any, N: int, T: int) -> Array:
    """Return whether step t, counted from zero, is past the end of sequence n: (N, T).

    >>> past_end("TimeLSTM", [1, 3], N=2, T=3)
    array([[False,  True,  True],
           [False, False, False]])
    """
    lengths = check_lengths(owner, lengths, N, T)
    is_past: Array = xp.arange(T) >= lengths[:, None]
    return is_past


class EndedSteps(StepsAround):
    """Steps of sequences of which some end early, where ``ended`` (T, N, 1) is true.

    Past its end a sequence holds its states, its outputs are zero, and nothing flows back from
    there but through the states that it held.
    """

    def __init__(self, inside: Steps, ended: Array) -> None:
        super().__init__(inside)
        self.ended = ended

    def forward(self, t: int) -> None:
        """Step t; the states of a sequence that has ended stay."""
        self.inside.forward(t)
        for state in self.states:
            xp.copyto(state[t + 1], state[t], where=self.ended[t])

    def outputs(self) -> Array:
        """Return h of all steps, zero past the end."""
        return xp.where(self.ended, 0, self.states[0][1:])

    def from_above(self, dhs: Array) -> Array:
        """Return the gradients with respect to the outputs: zero where these are zero anyway."""
        return xp.where(self.ended, 0, self.inside.from_above(dhs))

    def backward(self, t: int, dh_above: Array, dh_next: Array, *dc: Array) -> Any:
        """Step t back; the gradients of states that were held pass as they are."""
        held = [gradient.copy() for gradient in (dh_next, *dc)]  # a step may overwrite them
        stepped = self.inside.backward(t, dh_above, dh_next, *dc)
        for da in self.da:  # what a step past the end wrote there counts for nothing
            xp.copyto(da[t], 0, where=self.ended[t])
        return tuple(xp.where(self.ended[t], *both) for both in zip(held, stepped))


def reverse_by_length(x: Array, lengths: Any = None) -> Array:
    r"""Return each sequence of a batch in reversed order; its padding stays behind it.

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

"""Views of weights other than the transpose: masked, some rows, and rows shared in part."""

from typing import Any

import numpy

from deepnlp.backend import Array, asarray, asnumpy, xp
from deepnlp.parameter import View, as_parameter


class MaskedView(View):
    r"""A weight times a mask, entry by entry, as in weight drop on W_h.

    .. math:: V = M \odot W, \qquad dW = M \odot dV

    Parameters
    ----------
    W : View or array
    mask : array of W's shape, or None
        Numbers, such as 0 and 1 / (1 - p); None reads W as it is. The attribute may be replaced
        before each forward; backward needs the mask of its forward.

    Raises
    ------
    ValueError
        If the mask has another shape.

    Notes
    -----
    Merity, Keskar and Socher 2018, section 2. :class:`~deepnlp.layers.WeightDrop` draws a mask for
    each forward.

    Examples
    --------
    >>> from deepnlp.parameter import Parameter
    >>> W = Parameter([[1.0, 2.0], [3.0, 4.0]])
    >>> half = MaskedView(W, xp.asarray([[1.0, 0.0], [0.0, 1.0]]))
    >>> half.value
    array([[1., 0.],
           [0., 4.]])
    >>> half.accumulate(xp.ones((2, 2)))
    >>> W.grad
    array([[1., 0.],
           [0., 1.]])
    """

    how = "masked"

    def __init__(self, W: Any, mask: Array | None = None) -> None:
        self.W = as_parameter(W, "W")
        self.bases, self.shape = self.W.bases, self.W.shape
        self.mask = mask

    @property
    def mask(self) -> Array | None:
        """The factor of each entry of W; None for none."""
        return self._mask

    @mask.setter
    def mask(self, mask: Array | None) -> None:
        if mask is not None:
            self._expect_own_shape(mask)
        self._mask = mask

    @property
    def value(self) -> Array:
        """M W, entry by entry."""
        return self._masked(self.W.value)

    def accumulate(self, grad: Array) -> None:
        """dW += M dV, entry by entry."""
        self._expect_own_shape(grad)
        self.W.accumulate(self._masked(grad))

    def _masked(self, array: Array) -> Array:
        mask = self._mask
        return array if mask is None else array * mask.astype(self.dtype, copy=False)


class Rows(View):
    r"""Consecutive rows of a weight, as a weight.

    .. math:: V = W_{start:stop}, \qquad dW_{start:stop} = dV

    A product with two inputs side by side is a sum of two products with such parts:
    [x, y] W = x W_x + y W_y, where W_x holds the first rows of W and W_y the others.

    Parameters
    ----------
    W : View or array
    start, stop : int, optional
        From row ``start`` to the row before ``stop``; from the first and to the last by default.

    Examples
    --------
    >>> from deepnlp.parameter import Parameter
    >>> W = Parameter([[1.0], [2.0], [3.0]])
    >>> last = Rows(W, 1)
    >>> last.value
    array([[2.],
           [3.]])
    >>> last.accumulate(xp.ones((2, 1)))
    >>> W.grad
    array([[0.],
           [1.],
           [1.]])
    """

    how = "some rows"

    def __init__(self, W: Any, start: int | None = None, stop: int | None = None) -> None:
        self.W, self._rows = as_parameter(W, "W"), slice(start, stop)
        self.bases, self.shape = self.W.bases, tuple(self.value.shape)

    @property
    def value(self) -> Array:
        """These rows of W."""
        return self.W.value[self._rows]

    def accumulate(self, grad: Array) -> None:
        """dW = dV in these rows, zero in the others."""
        self._expect_own_shape(grad)
        whole = xp.zeros(self.W.shape, dtype=self.dtype)
        whole[self._rows] = grad
        self.W.accumulate(whole)


class SharedRows(View):
    r"""A matrix of which some rows are rows of another weight.

    For an input and an output vocabulary that have some words in common: the output vector of such
    a word is its input vector.

    .. math::
        V_k = \begin{cases} W_{id_k} & \text{if } id_k \ge 0 \\
                            U_{j(k)} & \text{else} \end{cases}

    where k is the j(k)-th row, from 0, that has no id. The gradient of a row of V is added to the
    row of W or U that it is read from.

    Parameters
    ----------
    W : View or array (V, D)
        The weight to share.
    ids : array_like of int (K,)
        For each row of the view the row of W, or -1 for one of U.
    own : View or array (number of ids below 0, D), optional
        U, the other rows, in order. None are needed where all ids are 0 or more.

    Raises
    ------
    ValueError
        If an id is not below V, or there are not as many rows as there are ids below 0.

    Examples
    --------
    >>> from deepnlp.parameter import Parameter
    >>> W = Parameter([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    >>> output = SharedRows(W, [2, -1, 1], own=[[9.0, 9.0]])
    >>> output.value
    array([[2., 2.],
           [9., 9.],
           [1., 1.]])
    >>> output.T.accumulate(xp.ones((2, 3)))
    >>> W.grad
    array([[0., 0.],
           [1., 1.],
           [1., 1.]])
    """

    how = "rows shared in part"

    def __init__(self, W: Any, ids: Any, own: Any = None) -> None:
        self.W = as_parameter(W, "W")
        self.own = None if own is None else as_parameter(own, "own")
        others = () if self.own is None else self.own.bases
        self.bases = tuple(dict.fromkeys((*self.W.bases, *others)))
        ids = asnumpy(ids) if hasattr(ids, "shape") else numpy.asarray(ids)
        self.shape = (len(ids), *self.W.shape[1:])
        shared, apart = numpy.flatnonzero(ids >= 0), numpy.flatnonzero(ids < 0)
        if ids.max(initial=-1) >= self.W.shape[0]:
            raise ValueError(
                f"SharedRows: ids should be below {self.W.shape[0]}, got {int(ids.max())}"
            )
        expected = (len(apart), *self.shape[1:])
        own_shape = (0, *self.shape[1:]) if self.own is None else self.own.shape
        if own_shape != expected:
            raise ValueError(f"SharedRows: own should have shape {expected}, got {own_shape}")
        self._shared, self._apart = asarray(shared), asarray(apart)
        self._ids = asarray(ids[shared])

    @property
    def value(self) -> Array:
        """Rows of W and of U, each in its place."""
        if self.own is None:
            return self.W.value[self._ids]
        value = xp.empty(self.shape, dtype=self.dtype)
        value[self._shared] = self.W.value[self._ids]
        value[self._apart] = self.own.value
        return value

    def accumulate(self, grad: Array) -> None:
        """Add each row of the gradient to that of the row that was read."""
        self._expect_own_shape(grad)
        if self.own is None:
            self.W.accumulate_rows(self._ids, grad)
            return
        self.W.accumulate_rows(self._ids, grad[self._shared])
        self.own.accumulate(grad[self._apart])

"""A weight together with the gradient of the loss with respect to it, and views of weights.

Layers read a weight's ``value`` and add to its gradient in one of three ways: an array
(``accumulate``), a matrix product (``accumulate_product``) or rows for ids (``accumulate_rows``).

The gradient of a lookup is zero except in the rows that were looked up. It stays *sparse*, as
(ids, rows), while only rows for ids are accumulated: clipping scales these rows, and SGD, AdaGrad
and lazy Adam update only the rows of the weight that they belong to. It becomes *dense*, an array
of the weight's shape, when ``grad`` is read, as by the other optimizers, when an array or a product
is added, as with a tied weight, or when there are as many ids as the weight has rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import partial
from typing import Any

from deepnlp.backend import Array, asarray, check_shape, float_type, xp
from deepnlp.backend.functions import MANY
from deepnlp.backend.products import product, product_later
from deepnlp.kernels import kernel


@kernel
def add_rows(table: Array, ids: Array, rows: Array) -> None:
    """Add row k of ``rows`` (n, D) to row ``ids[k]`` of ``table`` (V, D), in place.

    Repeated ids add up; ``table[ids] += rows`` would keep only the last row of each.
    """
    xp.add.at(table, ids, rows)


@kernel
def sum_by_id(ids: Array, rows: Array) -> tuple[Array, Array]:
    """Sort the ids (n,), and sum rows (n, D) by id: the sum at its first place, zeros at others.

    The shapes do not depend on which ids are repeated, so the host need not wait for the device.
    A quick form may leave the other places out.
    """
    in_order = xp.sort(ids)
    sums = xp.zeros_like(rows)
    add_rows(sums, xp.searchsorted(in_order, ids), rows)
    return in_order, sums


@kernel
def at_every_place(ids: Array, sums: Array) -> Array:
    """Spread the sums of :func:`sum_by_id`, (n,) and (n, D), to all places of each id."""
    return sums[xp.searchsorted(ids, ids)]


def table_of_sums(shape: tuple[int, ...], dtype: Any, ids: Array, rows: Array) -> Array:
    """Return a table of zeros to which row k of ``rows`` (n, D) is added at ``ids[k]``.

    Float32 holds no count above 2^24 whole, and float16 none above 2^11. So sums of float16, and
    of very many rows, are made in parts, which float64 adds up.
    """
    if dtype != "float16" and (len(ids) <= MANY or dtype != "float32"):
        table = xp.zeros(shape, dtype=dtype)
        add_rows(table, ids, rows)
        return table
    total = xp.zeros(shape, dtype="float64")
    for first in range(0, len(ids), MANY):
        part = slice(first, first + MANY)
        some, sums = sum_by_id(ids[part], rows[part].astype("float32"))
        add_rows(total, some, sums.astype("float64"))
    return total.astype(dtype)


class View(ABC):
    """A weight as layers use it: a value made of Parameters, and where its gradient goes.

    A :class:`Parameter` is the view that owns its numbers. The others store none: such a view is a
    function V = f(W) of one or more Parameters, its bases. It defines two things, its value and, in
    ``accumulate``, how a gradient dL/dV becomes dL/dW. All else that layers, optimizers and the
    gradient checker need of a weight follows from these.

    Attributes
    ----------
    bases : tuple of Parameter
        The Parameters behind the view, which optimizers update and checkpoints hold.
    value : array
    shape : tuple of int
    how : str
        A word for tables of parameters, such as ``"transposed"``.

    Examples
    --------
    The positive weights exp(W):

    >>> class Exponential(View):
    ...     def __init__(self, W):
    ...         self.W, self.bases, self.shape = W, W.bases, W.shape
    ...     @property
    ...     def value(self):
    ...         return xp.exp(self.W.value)
    ...     def accumulate(self, grad):
    ...         self.W.accumulate(grad * xp.exp(self.W.value))   # V = exp(W)
    >>> W = Parameter([[0.0, 1.0, 2.0]])
    >>> Exponential(W).T.accumulate_product(xp.ones((3, 1)), xp.ones((1, 1)))
    >>> W.grad.round(3)
    array([[1.   , 2.718, 7.389]])
    """

    bases: tuple[Parameter, ...]
    shape: tuple[int, ...]
    how = ""

    @property
    @abstractmethod
    def value(self) -> Array:
        """The numbers of the weight."""

    @abstractmethod
    def accumulate(self, grad: Array) -> None:
        """Add an array of the view's shape to the gradient."""

    def accumulate_product(self, A: Array, B: Array) -> None:
        """Add the product of A (D, n) and B (n, M) to the gradient."""
        self.accumulate(product(A, B))

    def accumulate_rows(self, ids: Array, grad: Array) -> None:
        """Add row k of ``grad`` (n, D) to row ``ids[k]`` of the gradient, for each of n ids."""
        self._expect_rows(ids, grad)
        self.accumulate(table_of_sums(self.shape, self.dtype, ids, grad))

    def named_bases(self, path: str) -> list[tuple[str, Parameter]]:
        """Name the bases of a view at ``path``; several are ``path.0``, ``path.1`` and so on."""
        if len(self.bases) == 1:
            return [(path, self.bases[0])]
        return [(f"{path}.{number}", base) for number, base in enumerate(self.bases)]

    @property
    def grad(self) -> Array:
        """An error: a view keeps no gradient, its bases do."""
        raise AttributeError(f"{self._title()} keeps no gradient; its bases do")

    @property
    def T(self) -> View:
        """The same weight, read as its transpose."""
        return Transpose(self)

    @property
    def dtype(self) -> Any:
        """Number type of the weight."""
        return self.bases[0].value.dtype

    @property
    def name(self) -> str | None:
        """Name of the first base."""
        return self.bases[0].name

    def _expect_own_shape(self, array: Array) -> None:
        if not hasattr(array, "shape"):
            raise TypeError(f"{self._title()}: expected an array, got a {type(array).__name__}")
        if array.dtype.kind not in ("fiubc" if self.dtype.kind == "c" else "fiub"):
            expected = "numbers" if self.dtype.kind == "c" else "real numbers"
            raise TypeError(f"{self._title()}: expected {expected}, got an array of {array.dtype}")
        self._expect_shape("", array.shape, self.shape)

    def _expect_rows(self, ids: Array, grad: Array) -> None:
        if ids.dtype.kind not in "iu":
            raise TypeError(f"{self._title()}: ids should be integers, got {ids.dtype}")
        n = ids.shape[0]
        self._expect_shape(f"rows for {n} ids ", grad.shape, (n, *self.shape[1:]))

    def _expect_shape(self, what: str, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
        if tuple(shape) != expected:
            message = f"{what}should have shape {expected}, got {tuple(shape)}"
            raise ValueError(f"{self._title()}: {message}")

    def _title(self) -> str:
        return f"{type(self).__name__} {self.name}" if self.name else type(self).__name__

    def __repr__(self) -> str:
        return f"<{self._title()} {self.shape} {self.dtype}>"


class Parameter(View):
    """A weight of a layer and the gradient of the loss with respect to it.

    Layers never write ``grad``; they add to it, so that a weight which is used twice (tying) or
    passed through twice (two backward passes) collects the sum of both. The gradient of a lookup
    stays sparse until the dense array is read or needed.

    Parameters
    ----------
    value : array_like of float or complex
        Copied, so that two layers share a weight only by sharing the Parameter.
    name : str, optional
        For messages and tables.
    trainable : bool
        A Parameter that is not trainable collects no gradient and is not updated.

    Attributes
    ----------
    value : array
    grad : array of the same shape
        Zeros where nothing has been accumulated since :meth:`zero_grad`.
    sparse_grad : (ids, rows) or None
        The gradient, while it is sparse. The ids are sorted. The rows are those of
        :func:`sum_by_id`, so that their norm is the norm of the gradient; they may be scaled in
        place.
    looked_up : bool
        Whether a layer looks up rows of it, as of an embedding.
    T : Transpose
        The same weight, read as its transpose.

    Raises
    ------
    TypeError
        If the value does not consist of floating-point or complex numbers.

    Examples
    --------
    >>> W = Parameter([[1.0, 2.0, 3.0]], name="W")
    >>> W.T.value.shape, W.T.T is W
    ((3, 1), True)
    >>> W.T.accumulate(xp.ones((3, 1)))
    >>> W.grad
    array([[1., 1., 1.]])
    """

    name: str | None = None
    looked_up = False

    def __init__(self, value: Any, name: str | None = None, trainable: bool = True) -> None:
        value = asarray(value)
        if value.dtype.kind not in "fc":
            expected = "a Parameter is made of floating-point numbers (1.0, not 1)"
            raise TypeError(f"{expected}, got an array of {value.dtype}")
        self._value: Array = value.copy()
        self.shape = tuple(value.shape)
        self._grad: Array | None = None
        self.sparse_grad: tuple[Array, Array] | None = None  # never beside a dense one
        self.name, self.trainable = name, trainable

    @classmethod
    def zeros(cls, *shape: int, dtype: Any = "float32", name: str | None = None) -> Parameter:
        """Return a Parameter of zeros, as a bias starts.

        Parameters
        ----------
        *shape : int
        dtype : data-type
        name : str, optional

        Examples
        --------
        >>> Parameter.zeros(2, 3).value.shape
        (2, 3)
        """
        check_shape(shape)
        return cls(xp.zeros(shape, dtype=dtype), name)

    @property
    def value(self) -> Array:
        """The weight itself; assigning another array must keep the shape."""
        return self._value

    @value.setter
    def value(self, value: Array) -> None:
        self._expect_own_shape(value)
        float_type(value.dtype)
        if value is not self._value:  # as it is after W.value -= ...
            self._value = value.copy()  # the caller keeps its array

    @property
    def grad(self) -> Array:
        """Gradient of the loss with respect to the weight since the last :meth:`zero_grad`.

        It is the array that the next ``accumulate`` adds to; :meth:`zero_grad` begins another.
        """
        if self._grad is None:
            self._grad = xp.zeros_like(self._value)
            if self.sparse_grad is not None:
                ids, _ = self.sparse_grad
                self._grad[ids] = at_every_place(*self.sparse_grad)
                self.sparse_grad = None
        return self._grad

    @grad.setter
    def grad(self, grad: Array) -> None:
        self._expect_own_shape(grad)
        if grad is not self._grad:
            self._grad, self.sparse_grad = grad.copy(), None

    @property
    def bases(self) -> tuple[Parameter, ...]:  # type: ignore[override]
        """The Parameters behind the weight: this one."""
        return (self,)

    def zero_grad(self) -> None:
        """Forget the accumulated gradient."""
        self._grad = self.sparse_grad = None

    def accumulate(self, grad: Array) -> None:
        """Add to the gradient: grad += dL/dW.

        Parameters
        ----------
        grad : array of this Parameter's shape

        Raises
        ------
        ValueError
            If the shape is another.
        """
        self._add(grad, copy=True)  # the caller keeps its array

    def accumulate_product(self, A: Array, B: Array) -> None:
        """Add a matrix product to the gradient: grad += A B.

        The first product becomes the gradient; it is not copied. In a context
        :func:`deepnlp.backend.threads.later` a large product is added at its end.

        Parameters
        ----------
        A : array (D, n)
        B : array (n, M)
            So that A B has this Parameter's shape (D, M).

        Raises
        ------
        ValueError
            If the product has another shape.
        """
        if self.trainable:
            product_later(A, B, partial(self._add, copy=False))

    def accumulate_rows(self, ids: Array, grad: Array) -> None:
        """Add rows to the gradient: grad[ids[k]] += grad_k, repeated ids included.

        The gradient is sparse afterwards if it was sparse or zero before.

        Parameters
        ----------
        ids : array of int (n,)
            From 0 to V - 1.
        grad : array (n, D)
            Row k is the gradient of the row that was looked up as ``ids[k]``.

        Raises
        ------
        ValueError
            If the rows do not fit.
        """
        self._expect_rows(ids, grad)
        if not self.trainable:
            return
        earlier = self.sparse_grad
        size = len(ids) + (0 if earlier is None else len(earlier[0]))
        if self.dtype == "float16" or len(ids) > max(MANY, self.shape[0]):
            self.grad += table_of_sums(self.shape, self.dtype, ids, grad)
        elif self._grad is not None or size >= self.shape[0]:
            add_rows(self.grad, ids, grad)
        else:
            ids, grad = ids.astype(xp.int64, copy=False), grad.astype(self.dtype, copy=False)
            if earlier is not None:
                ids, grad = xp.concatenate([earlier[0], ids]), xp.concatenate([earlier[1], grad])
            self.sparse_grad = sum_by_id(ids, grad)

    def astype(self, dtype: Any) -> None:
        """Change the number type, in place, for all layers that share the Parameter."""
        self._value = self._value.astype(float_type(dtype))
        self.zero_grad()

    def _add(self, grad: Array, copy: bool) -> None:
        """grad += an array, which becomes the gradient if nothing has been accumulated."""
        self._expect_own_shape(grad)
        if self.trainable and self._grad is None and self.sparse_grad is None:
            self._grad = grad.astype(self.dtype, copy=copy)
        elif self.trainable:
            self.grad += grad


class Transpose(View):
    r"""A weight read as its transpose.

    .. math:: V = W^T, \qquad dW = (dV)^T

    With it weight tying is one line: ``TimeAffine(embed.W.T)``.

    Parameters
    ----------
    view : View
        A matrix: a Parameter or another view.

    Examples
    --------
    >>> W = Parameter([[1.0, 2.0, 3.0]])
    >>> W.T.shape, W.T.bases == (W,)
    ((3, 1), True)
    """

    how = "transposed"

    def __init__(self, view: View) -> None:
        self._view = view
        self.bases, self.shape = view.bases, view.shape[::-1]

    @property
    def T(self) -> View:
        """The transpose of the transpose: the weight itself."""
        return self._view

    @property
    def value(self) -> Array:
        """The weight's value, transposed."""
        return self._view.value.T

    @property
    def name(self) -> str | None:
        """The weight's name with ``.T`` behind it."""
        return f"{self._view.name}.T" if self._view.name else None

    def accumulate(self, grad: Array) -> None:
        """Add to the weight's gradient: dL/dW = (dL/dW^T)^T."""
        self._view.accumulate(grad.T)

    def accumulate_product(self, A: Array, B: Array) -> None:
        """Add a product to the weight's gradient: (A B)^T = B^T A^T."""
        self._view.accumulate_product(B.T, A.T)


def as_parameter(weight: Any, name: str) -> View:
    """Return a weight that a layer was given: a View as it is, an array as a new Parameter."""
    if isinstance(weight, View):
        return weight
    if not isinstance(weight, list | tuple | float) and not hasattr(weight, "dtype"):
        raise TypeError(
            f"the weight {name} should be an array, a Parameter or a view of one, such as "
            f"embed.W.T, got a {type(weight).__name__}"
        )
    return Parameter(weight, name)


def as_bases(parameters: Any) -> list[Parameter]:
    """Return the Parameters behind a list of weights, each once, by identity, in order.

    >>> W = Parameter([[1.0, 2.0]])
    >>> as_bases([W, W.T]) == [W]
    True
    """
    listed: list[Any] = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(parameter, View) for parameter in listed):
        expected = "a list of Parameters, such as model.parameters()"
        raise TypeError(f"expected {expected}, got a {type(parameters).__name__}")
    return list({id(base): base for parameter in listed for base in parameter.bases}.values())

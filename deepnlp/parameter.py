"""A weight together with the gradient of the loss by it, and its transpose as a reading of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from deepnlp.backend import Array, asarray, xp
from deepnlp.kernels import kernel
from deepnlp.products import product


@kernel
def add_rows(table: Array, ids: Array, rows: Array) -> None:
    """Add row k of ``rows`` (n, D) to row ``ids[k]`` of ``table`` (V, D), in place.

    Repeated ids add up; ``table[ids] += rows`` would keep only the last row of each.
    """
    xp.add.at(table, ids, rows)


class Parameter:
    """A weight of a layer and the gradient of the loss by it.

    Layers never write ``grad``; they add to it, so that a weight which is used twice (tying) or
    passed through twice (two backward passes) collects the sum of both.

    Parameters
    ----------
    value : array_like of float or complex
        Copied, so that two layers share a weight only by sharing the Parameter.
    name : str, optional
        For messages and tables.
    trainable : bool
        A Parameter that is not trainable collects no gradient and is left alone by optimizers.

    Attributes
    ----------
    value : array
    grad : array of the same shape
        Zeros where nothing has been accumulated since :meth:`zero_grad`.
    T : Transpose
        The same weight read as its transpose.

    Raises
    ------
    TypeError
        If the value is not made of floating-point or complex numbers.

    Examples
    --------
    >>> W = Parameter([[1.0, 2.0, 3.0]], name="W")
    >>> W.T.value.shape, W.T.T is W
    ((3, 1), True)
    >>> W.T.accumulate(xp.ones((3, 1)))
    >>> W.grad
    array([[1., 1., 1.]])
    """

    def __init__(self, value: Any, name: str | None = None, trainable: bool = True) -> None:
        value = asarray(value)
        if value.dtype.kind not in "fc":
            raise TypeError(
                f"a Parameter is made of floating-point numbers (1.0, not 1), got an array of "
                f"{value.dtype}"
            )
        self._value = value.copy()
        self._grad: Array | None = None
        self.name = name
        self.trainable = trainable

    @classmethod
    def zeros(cls, *shape: int, dtype: Any = "float32", name: str | None = None) -> Parameter:
        """A Parameter of zeros, as a bias starts.

        Parameters
        ----------
        *shape : int
        dtype : data-type
        name : str, optional

        Returns
        -------
        Parameter

        Examples
        --------
        >>> Parameter.zeros(2, 3).value.shape
        (2, 3)
        """
        return cls(xp.zeros(shape, dtype=dtype), name)

    @property
    def value(self) -> Array:
        """The weight itself; assigning another array must keep the shape."""
        return self._value

    @value.setter
    def value(self, value: Array) -> None:
        self._expect_own_shape(value)
        if value is not self._value:  # as it is after W.value -= ...
            self._value = value.copy()  # the caller keeps its array

    @property
    def grad(self) -> Array:
        """Gradient of the loss by the weight, accumulated since the last :meth:`zero_grad`.

        It is the array that the next ``accumulate`` adds to; :meth:`zero_grad` begins another.
        """
        if self._grad is None:
            self._grad = xp.zeros_like(self._value)
        return self._grad

    @grad.setter
    def grad(self, grad: Array) -> None:
        self._expect_own_shape(grad)
        if grad is not self._grad:
            self._grad = grad.copy()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weight."""
        return tuple(self._value.shape)

    @property
    def dtype(self) -> Any:
        """Number type of the weight."""
        return self._value.dtype

    @property
    def base(self) -> Parameter:
        """The Parameter that owns the weight: this one."""
        return self

    @property
    def T(self) -> Transpose:
        """The same weight, read as its transpose."""
        return Transpose(self)

    def zero_grad(self) -> None:
        """Forget the accumulated gradient."""
        self._grad = None

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
        self._expect_own_shape(grad)
        if not self.trainable:
            return
        if self._grad is None:
            self._grad = grad.astype(self.dtype)  # a copy: the caller keeps its array
        else:
            self._grad += grad

    def accumulate_product(self, A: Array, B: Array) -> None:
        """Add a matrix product to the gradient: grad += A B.

        Written where it belongs when nothing is there yet, without a second array.

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
        if (A.shape[0], B.shape[1]) != self.shape:
            raise ValueError(
                f"{self._title()}: the gradient should have shape {self.shape}, "
                f"got a product of shape {(A.shape[0], B.shape[1])}"
            )
        if not self.trainable:
            return
        if self._grad is None:
            self._grad = product(A, B).astype(self.dtype, copy=False)
        else:
            self._grad += product(A, B)

    def accumulate_rows(self, ids: Array, grad: Array) -> None:
        """Add rows to the gradient: grad[ids[k]] += grad_k, repeated ids included.

        Parameters
        ----------
        ids : array of int (n,)
        grad : array (n, D)
            Row k is the gradient of the row that was looked up as ``ids[k]``.

        Raises
        ------
        ValueError
            If the rows do not fit.
        """
        self._expect_rows(ids, grad, self.shape)
        if self.trainable:
            add_rows(self.grad, ids, grad)

    def astype(self, dtype: Any) -> None:
        """Change the number type, in place, so that whoever shares the Parameter follows."""
        self._value = self._value.astype(dtype)
        self._grad = None

    def _expect_own_shape(self, array: Array) -> None:
        if not hasattr(array, "shape"):
            raise TypeError(f"{self._title()}: expected an array, got a {type(array).__name__}")
        if tuple(array.shape) != self.shape:
            raise ValueError(
                f"{self._title()}: should have shape {self.shape}, got {tuple(array.shape)}"
            )

    def _expect_rows(self, ids: Array, grad: Array, shape: tuple[int, ...]) -> None:
        expected = (ids.shape[0], *shape[1:])
        if tuple(grad.shape) != expected:
            raise ValueError(
                f"{self._title()}: rows for {ids.shape[0]} ids should have shape {expected}, "
                f"got {tuple(grad.shape)}"
            )

    def _title(self) -> str:
        return f"Parameter {self.name}" if self.name else "Parameter"

    def __repr__(self) -> str:
        return f"<{self._title()} {self.shape} {self.dtype}>"


class Transpose:
    """A Parameter read as its transpose: nothing is stored here.

    The value is the base's transposed, and what is accumulated arrives, transposed, in the base.
    So weight tying is one line: ``TimeAffine(embed.W.T)``.

    Parameters
    ----------
    base : Parameter
        A matrix.

    Examples
    --------
    >>> W = Parameter([[1.0, 2.0, 3.0]])
    >>> W.T.shape, W.T.base is W
    ((3, 1), True)
    """

    def __init__(self, base: Parameter) -> None:
        self._base = base

    @property
    def base(self) -> Parameter:
        """The Parameter that owns the weight."""
        return self._base

    @property
    def T(self) -> Parameter:
        """The transpose of the transpose: the base itself."""
        return self._base

    @property
    def value(self) -> Array:
        """The base's value, transposed."""
        return self._base.value.T

    @value.setter
    def value(self, value: Array) -> None:
        self._base.value = value.T

    @property
    def grad(self) -> Array:
        """The base's gradient, transposed."""
        return self._base.grad.T

    @grad.setter
    def grad(self, grad: Array) -> None:
        self._base.grad = grad.T

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the transpose."""
        return self._base.shape[::-1]

    @property
    def dtype(self) -> Any:
        """Number type of the weight."""
        return self._base.dtype

    @property
    def name(self) -> str | None:
        """The base's name with ``.T`` behind it."""
        return f"{self._base.name}.T" if self._base.name else None

    @property
    def trainable(self) -> bool:
        """Whether the base is trained."""
        return self._base.trainable

    def zero_grad(self) -> None:
        """Forget the base's gradient."""
        self._base.zero_grad()

    def accumulate(self, grad: Array) -> None:
        """Add to the base's gradient: dL/dW = (dL/dW^T)^T."""
        self._base.accumulate(grad.T)

    def accumulate_product(self, A: Array, B: Array) -> None:
        """Add a product to the base's gradient: (A B)^T = B^T A^T."""
        self._base.accumulate_product(B.T, A.T)

    def accumulate_rows(self, ids: Array, grad: Array) -> None:
        """Add rows of the transpose: columns of the base."""
        self._base._expect_rows(ids, grad, self.shape)
        if self.trainable:
            add_rows(self.grad, ids, grad)

    def astype(self, dtype: Any) -> None:
        """Change the base's number type."""
        self._base.astype(dtype)

    def __repr__(self) -> str:
        return f"<{self._base._title()}.T {self.shape} {self.dtype}>"


View = Parameter | Transpose


def as_parameter(weight: Any, name: str) -> Parameter | Transpose:
    """A weight that was given to a layer, as a Parameter.

    Parameters
    ----------
    weight : Parameter, Transpose or array_like
        A Parameter is shared; an array is copied into a new one.
    name : str
        Name for a new Parameter.

    Returns
    -------
    Parameter or Transpose
    """
    if isinstance(weight, Parameter | Transpose):
        return weight
    return Parameter(weight, name)


def as_bases(parameters: Any) -> list[Parameter]:
    """The Parameters behind a list of them, each once, by identity, in order.

    Parameters
    ----------
    parameters : iterable of Parameter or Transpose

    Returns
    -------
    list of Parameter

    Raises
    ------
    TypeError
        If it is not such an iterable.

    Examples
    --------
    >>> W = Parameter([[1.0, 2.0]])
    >>> as_bases([W, W.T]) == [W]
    True
    """
    listed: list[Any] = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(parameter, Parameter | Transpose) for parameter in listed):
        raise TypeError(
            f"expected a list of Parameters, such as model.parameters(), got {parameters!r:.60}"
        )
    return list({id(parameter.base): parameter.base for parameter in listed}.values())

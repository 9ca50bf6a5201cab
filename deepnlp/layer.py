"""The base of every layer: forward and backward, parameters, and the state it carries."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from numbers import Integral
from types import MappingProxyType
from typing import Any, Self, cast

from deepnlp.backend import Array, xp
from deepnlp.backend.ownership import OfOneThread, claim
from deepnlp.backend.shapes import check_inputs, declared, expect
from deepnlp.options import arguments_of
from deepnlp.parameter import Parameter, View, as_parameter
from deepnlp.summaries import summary, titled

_keeping: ContextVar[bool] = ContextVar("keeping", default=True)
_stacking: ContextVar[bool] = ContextVar("stacking", default=False)


@contextmanager
def no_backward() -> Iterator[None]:
    """Context in which forwards save nothing for a backward, as in evaluation and generation.

    What an earlier forward saved stays there for its backward.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> layer = Tanh()
    >>> with no_backward():
    ...     y = layer.forward(xp.zeros((1, 2)))
    >>> layer.backward(y)
    Traceback (most recent call last):
        ...
    RuntimeError: Tanh.backward: no forward to go back through; call forward first, ...
    """
    token = _keeping.set(False)
    try:
        yield
    finally:
        _keeping.reset(token)


def keeping() -> bool:
    """Return whether forwards save what a backward needs: true outside of :func:`no_backward`.

    >>> with no_backward():
    ...     keeping()
    False
    """
    return _keeping.get()


@contextmanager
def backward_for_each(*layers: Layer) -> Iterator[None]:
    """Context of a loop over time that calls layers again and again, for a backward each time.

    Outside, what a forward saves takes the place of what the one before saved. Inside, it is laid
    on top of it, and the backwards take it from there, so that they go from the last step to the
    first. What the layers, and those inside them, held before is forgotten.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> layer = Tanh()
    >>> with backward_for_each(layer):
    ...     ys = [layer.forward(xp.full((1, 1), x)) for x in (0.0, 100.0)]
    >>> [layer.backward(xp.ones((1, 1))).item() for _ in range(2)]
    [0.0, 1.0]
    """
    if keeping() and not _stacking.get():
        for layer in layers:
            for part in layer._layers():
                part._kept = ()
    token = _stacking.set(True)
    try:
        yield
    finally:
        _stacking.reset(token)


class _TakesWeights:
    """Base of :class:`Layer`: the constructors of this package take weights, ``init`` sizes."""

    def __new__(cls, *weights: Any, **by_name: Any) -> Self:
        """Make the object, or raise an error that names ``init`` where sizes are given."""
        is_ours = cls.__init__.__module__.startswith("deepnlp.")
        given = [*weights, *by_name.values()]
        init: Any = getattr(cls, "init", None)
        if is_ours and init is not None and any(isinstance(n, Integral) for n in given[:1]):
            name, sizes, takes = cls.__name__, _needed(init), _needed(cls)
            raise TypeError(
                f"{name} takes weights in hand, {name}({takes}), got the number {given[0]}; "
                f"{name}.init({sizes}) makes fresh weights of these sizes"
            )
        return super().__new__(cls)


def _needed(function: Any) -> str:
    """Return the arguments without a default."""
    arguments = signature(function).parameters.values()
    needed = (p.name for p in arguments if p.default is p.empty and p.kind is not p.VAR_KEYWORD)
    return ", ".join(needed)


class Layer(_TakesWeights, OfOneThread):
    """A step of the computation, with its forward and its backward.

    A subclass writes ``forward`` and ``backward`` and assigns its Parameters and inner layers as
    attributes (or lists or dicts of them) in its constructor; they are found there, in that order.
    Forward hands what backward needs to :meth:`save_for_backward`, and backward takes it with
    :meth:`saved`: one backward for one forward. What is saved is not copied: an input or output
    may be changed in place only after backward.

    A class that declares its ``axes`` has its shapes checked: inputs before forward, the gradient
    with respect to the output before backward. ``"... D -> ... M"`` says that the last axis of x
    has the size ``self.D`` and that of the output another; ``"N T Q, N S H -> N T H"`` stands for
    two inputs, in which a letter means one size. Inputs so declared are floating-point numbers.
    ``"... D ->"`` declares an input alone, as of a loss, and ``"-> ... D"`` an output alone, as of
    a layer that takes ids.

    Attributes
    ----------
    axes : str
        Axes of the inputs and the output. Without an arrow the output has those of the input.
    training : bool
        True until :meth:`eval`. It switches randomness (dropout) and what only training adds to a
        loss, and nothing else.

    Examples
    --------
    A layer of one's own, y = a x:

    >>> class Scale(Layer):
    ...     axes = "N D"
    ...     def __init__(self, a):
    ...         self.a = Parameter(a)
    ...         self.D = len(a)
    ...     def forward(self, x):
    ...         self.save_for_backward(x)
    ...         return self.a.value * x
    ...     def backward(self, dy):
    ...         (x,) = self.saved()
    ...         self.a.accumulate(xp.sum(dy * x, axis=0))   # y = a x, over the rows
    ...         return self.a.value * dy
    >>> layer = Scale([2.0, 3.0])
    >>> layer.forward(xp.ones((1, 2)))
    array([[2., 3.]])
    >>> layer.backward(xp.ones((1, 2)))
    array([[2., 3.]])
    >>> layer.forward(xp.ones((1, 4)))
    Traceback (most recent call last):
        ...
    ValueError: Scale: x should have shape (N, D) with D = 2, got (1, 4)
    """

    axes: str = ""
    # Methods that a quick form may stand for, and what they follow from; see __init_subclass__.
    _follows: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
        (("start", "step"), ("forward",)),
    )
    training: bool = True
    _kept: tuple[tuple[Any, ...], ...] = ()  # what forwards saved that wait for their backward
    _output_shape: tuple[int, ...] = ()  # of the last forward, where axes are declared
    _passed: Any = None  # the shapes and types that were checked last and are right
    _workspaces: Mapping[str, Any] = MappingProxyType({})  # see _workspace

    def __init__(self) -> None:
        """A subclass need not call it."""

    def __call__(self, *inputs: Any, **by_name: Any) -> Any:
        """Return ``self.forward(*inputs)``."""
        return self.forward(*inputs, **by_name)

    def forward(self, *inputs: Any) -> Any:
        """Return the outputs from the inputs."""
        raise TypeError(f"{type(self).__name__} has no forward")

    def backward(self, *gradients: Any) -> Any:
        """Return gradients with respect to the inputs, from those with respect to the outputs."""
        raise TypeError(f"{type(self).__name__} has no backward")

    def __init_subclass__(cls, **options: Any) -> None:
        """Have the shapes of a class with axes checked; see also :attr:`axes`.

        A class with a new forward gets the general step, unless it defines one: the quick step
        that it would inherit computes the old function.
        """
        super().__init_subclass__(**options)
        defined = vars(cls)
        for methods, sources in cls._follows:
            if any(m in defined for m in sources) and not any(m in defined for m in methods):
                for method in methods:
                    setattr(cls, method, getattr(cls, f"_general_{method}"))
        if cls.axes:
            for method, checked in (("forward", _inputs_checked), ("backward", _gradient_checked)):
                if not hasattr(getattr(cls, method), "__wrapped__"):
                    setattr(cls, method, checked(getattr(cls, method)))

    def start(self, N: int) -> Any:
        """Return the first state for :meth:`step` on N sequences: arrays with N rows, or None.

        Several arrays stand in tuples or lists. A layer without memory has no state: None.
        """
        return None

    def step(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """Compute one step of time: y and the new state, from x (N, ...) and the state before it.

        Nothing is saved for a backward. What the layer carries from forward to forward is neither
        read nor changed, except that dropout in training counts its masks. For a layer without
        memory a step is the forward, over one step of time where it takes (N, T, D).

        Parameters
        ----------
        x : array (N, ...)
            The input at one step, without an axis for time.
        state : optional
            From :meth:`start` or the step before; a fresh start by default.

        Returns
        -------
        y : array (N, ...)
        state
            As :meth:`start` gives it.
        """
        with no_backward():
            if self.axes.startswith("N T"):  # over one step of time, (N, 1, D)
                return self.forward(x[:, None])[:, 0], state
            return self.forward(x), state

    _general_start, _general_step = start, step

    # --- Parameters -------------------------------------------------------------------------

    def named_parameters(self) -> list[tuple[str, Parameter]]:
        """Return each Parameter once, by identity, with a name such as ``layers.2.Wx``.

        Returns
        -------
        list of (str, Parameter)
            In the order of the constructors. A view such as a transpose gives its bases. A
            Parameter has the first name that it is found by; the names of a view's bases, if there
            are several, end in ``.0``, ``.1`` and so on.
        """
        named: dict[int, tuple[str, Parameter]] = {}
        for path, weight in self._owned(View):
            for name, base in weight.named_bases(path):
                named.setdefault(id(base), (name, base))
        return list(named.values())

    def parameters(self) -> list[Parameter]:
        """Return each Parameter once, by identity, in the order of the constructors."""
        return [parameter for _, parameter in self.named_parameters()]

    def zero_grad(self) -> None:
        """Forget the gradient of every Parameter."""
        self._layers_of_this_thread("zero_grad")
        for parameter in self.parameters():
            parameter.zero_grad()

    def astype(self, dtype: Any) -> Layer:
        """Change the number type of Parameters and carried state, in place; tying holds.

        Parameters
        ----------
        dtype : data-type
            float32 to train, float64 to check, complex128 for the complex-step check.

        Returns
        -------
        Layer
            This one.
        """
        for parameter in self.parameters():
            parameter.astype(dtype)
        for layer in self._layers():
            layer._kept, layer._workspaces = (), {}
            layer._cast_state(dtype)
        return self

    # --- Modes ------------------------------------------------------------------------------

    def train(self) -> Self:
        """Switch randomness (dropout) on, here and in the layers inside."""
        for layer in self._layers_of_this_thread("train"):
            layer.training = True
        return self

    def eval(self) -> Self:
        """Switch randomness (dropout) off, here and in the layers inside; nothing else."""
        for layer in self._layers_of_this_thread("eval"):
            layer.training = False
        return self

    def twin(self) -> Self:
        """Make a layer with the same Parameters, and with a copy of the mode and the state.

        Evaluation and generation read through a twin, so that a model may be trained or read
        elsewhere, in another thread too. Nothing that the layer saved or works in is shared.

        Returns
        -------
        Layer
            What it keeps in attributes other than layers is the same object as here.

        Examples
        --------
        >>> from deepnlp.layers import Affine
        >>> layer = Affine([[2.0]])
        >>> twin = layer.twin().eval()
        >>> twin.training, layer.training, twin.W is layer.W
        (False, True, True)
        """
        twins = {id(layer): copy.copy(layer) for layer in self._layers()}
        for twin in twins.values():
            twin._kept, twin._workspaces = (), {}
            for name, value in vars(twin).items():
                items = value.values() if isinstance(value, dict) else value
                inside = items if isinstance(value, list | tuple | dict) else ()
                if any(id(item) in twins for item in inside):  # a copy that holds the twins
                    value = copy.deepcopy(value, {id(item): item for item in inside} | twins)
                vars(twin)[name] = twins.get(id(value), value)
        return cast(Self, twins[id(self)])

    # --- State carried from call to call -----------------------------------------------------

    def reset_state(self) -> None:
        """Start the next forward from a hidden state of zeros, here and in the layers inside."""
        for layer in self._layers_of_this_thread("reset_state"):
            layer._reset_own_state()

    def snapshot(self) -> dict[str, Any]:
        """Return what this layer and those inside carry from call to call.

        Returns
        -------
        dict of str to host array, int or None
            Hidden states and the counters of dropout, under names such as ``layers.2.h``.
        """
        return {
            f"{path}.{key}" if path else key: value
            for path, layer in self._named_layers()
            for key, value in layer._own_state().items()
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Put back what :meth:`snapshot` gave.

        Parameters
        ----------
        snapshot : dict of str to host array, int or None

        Raises
        ------
        ValueError
            If it is the snapshot of another layer.
        """
        self._layers_of_this_thread("restore")
        for layer, state in self.check_snapshot(snapshot):
            layer._set_own_state(state)

    def check_snapshot(self, snapshot: dict[str, Any]) -> list[tuple[Layer, dict[str, Any]]]:
        """Return the parts of a snapshot for this layer and those inside, or raise restore's error.

        Parameters
        ----------
        snapshot : dict of str to host array, int or None

        Returns
        -------
        list of (Layer, dict)
        """
        expected = set(self.snapshot())
        if expected != set(snapshot):
            strange = sorted(expected ^ set(snapshot))
            raise ValueError(f"{type(self).__name__}: not a snapshot of this layer: {strange}")
        parts = []
        for path, layer in self._named_layers():
            prefix = f"{path}." if path else ""
            state = {key: snapshot[prefix + key] for key in layer._own_state()}
            layer._check_own_state(state)
            parts.append((layer, state))
        return parts

    def _reset_own_state(self) -> None:
        """Hook: a recurrent layer forgets its hidden state."""

    def _own_state(self) -> dict[str, Any]:
        """Hook: what this layer itself carries; the same keys at all times."""
        return {}

    def _check_own_state(self, state: dict[str, Any]) -> None:
        """Hook: raise a ValueError if :meth:`_own_state` cannot have given this."""

    def _set_own_state(self, state: dict[str, Any]) -> None:
        """Hook: put back what :meth:`_own_state` gave."""

    def _cast_state(self, dtype: Any) -> None:
        """Hook: change the number type of carried arrays."""

    # --- For subclasses ----------------------------------------------------------------------

    def save_for_backward(self, *values: Any) -> None:
        """Save what backward will need, unless inside ``no_backward``.

        From then on the layer belongs to the calling thread, until that ends or another calls
        :meth:`take_over`: in two threads at once, gradients would be those of neither.
        """
        if keeping():
            claim(self, "forward")
            self._kept = (*self._kept, values) if _stacking.get() else (values,)

    def _workspace(self, name: str, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return an uninitialised array for forward and backward to work in.

        The next call with this name, shape and type gives the same array again, so that a training
        step allocates little. It may hold what is saved for a backward, never a result: arrays
        that a caller was given are not overwritten. Inside ``no_backward`` it is a fresh array,
        since an earlier forward may still wait for its backward.
        """
        if not keeping():
            return xp.empty(shape, dtype=dtype)
        claim(self, "forward")
        if _stacking.get():  # memory of its own for each step
            name = f"{name} {len(self._kept)}"
        array = self._workspaces.get(name)
        if (
            not isinstance(array, xp.ndarray)
            or array.shape != tuple(shape)
            or array.dtype != xp.dtype(dtype)
        ):
            array = xp.empty(shape, dtype=dtype)
            self._workspaces = {**self._workspaces, name: array}
        return array

    def saved(self) -> tuple[Any, ...]:
        """Take what forward saved, once."""
        if not self._kept:
            raise RuntimeError(
                f"{type(self).__name__}.backward: no forward to go back through; call forward "
                "first, outside of no_backward, and backward once for each forward"
            )
        claim(self, "backward")
        kept, self._kept = self._kept[-1], self._kept[:-1]
        return kept

    def _weight(self, name: str, weight: Any, letters: str, **sizes: int) -> View:
        """Return a weight that the constructor was given, after a check of its shape."""
        parameter = as_parameter(weight, name)
        expect(type(self).__name__, name, parameter.value, letters, "numbers", **sizes)
        return parameter

    def _expect(
        self, what: str, array: Any, letters: str, kind: str = "numbers", **sizes: int
    ) -> None:
        """Check an input, as in ``self._expect("x", x, "N T D", D=100)``; see :func:`expect`.

        Complex numbers meet weights that are complex too, as in the complex-step check: else the
        gradient of the weights would be complex.
        """
        expect(type(self).__name__, what, array, letters, kind, **sizes)
        if array.dtype.kind == "c" and any(p.dtype.kind != "c" for p in self.parameters()):
            raise TypeError(
                f"{type(self).__name__}: {what} should be real, as the weights are, got an array "
                f"of {array.dtype}; astype('complex128') makes the weights complex"
            )

    def _expect_exactly(self, what: str, array: Any, letters: str, shape: tuple[int, ...]) -> None:
        """Check that a gradient has the shape of the output it belongs to."""
        self._expect(what, array, "...")
        if tuple(array.shape) != tuple(shape):
            axes = "" if letters == "..." else f"({', '.join(letters.split())}) = "
            raise ValueError(
                f"{type(self).__name__}: {what} should have shape {axes}{tuple(shape)}, "
                f"got {tuple(array.shape)}"
            )

    # --- Walking -----------------------------------------------------------------------------

    def _items(self) -> Iterator[tuple[str, Any]]:
        """Return every attribute, and every item of a list or dict, with its name."""
        for name, value in vars(self).items():
            if name.startswith("_"):
                continue
            if isinstance(value, (list, tuple, dict)):
                pairs = value.items() if isinstance(value, dict) else enumerate(value)
                yield from ((f"{name}.{index}", item) for index, item in pairs)
            else:
                yield name, value

    def _owned(self, kind: Any, path: str = "") -> Iterator[tuple[str, Any]]:
        """Return every attribute of a kind, here and in the layers inside, with its path."""
        for place, item in self._items():
            if isinstance(item, kind):
                yield path + place, item
            if isinstance(item, Layer):
                yield from item._owned(kind, f"{path}{place}.")

    def _named_layers(self) -> list[tuple[str, Layer]]:
        """This layer and those inside, each once, with their paths."""
        named: dict[int, tuple[str, Layer]] = {id(self): ("", self)}
        for path, layer in self._owned(Layer):
            named.setdefault(id(layer), (path, layer))
        return list(named.values())

    def _layers(self) -> list[Layer]:
        return [layer for _, layer in self._named_layers()]

    def summary(self) -> str:
        """Return a table of the layers inside, their weights, shapes, numbers and ties.

        ``print(layer)`` shows it too.

        Examples
        --------
        >>> from deepnlp.layers import Embedding, TimeAffine, TimeDropout
        >>> embed = Embedding.init(10, 4)
        >>> print(Sequential(embed, TimeDropout(0.5), TimeAffine(embed.W.T)))
        Sequential
          layers.0.W  Embedding           10 x 4  40
          layers.1    TimeDropout(p=0.5)
          layers.2.W  TimeAffine          4 x 10  = layers.0.W, transposed
          40 parameters, 0.0 MB as float32
        """
        return summary(self, self._title())

    def __str__(self) -> str:
        return self.summary()

    def _title(self) -> str:
        """Return the name of the class, with the settings that are not at their defaults."""
        defaults = signature(type(self)).parameters
        settings = {n: v for n, v in arguments_of(self).items() if n in defaults and v != []}
        return titled(self, {n: v for n, v in settings.items() if v != defaults[n].default})

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {p.shape}" for name, p in self.named_parameters())
        return f"{type(self).__name__}({shapes})"


def _shapes(inputs: tuple[Any, ...]) -> list[Any] | None:
    """Return shapes and types of real arrays of the backend; None if there is anything else."""
    if any(type(x) is not xp.ndarray or x.dtype.kind != "f" for x in inputs):
        return None
    return [(x.shape, x.dtype) for x in inputs]


def _inputs_checked(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a forward that first compares its inputs with the axes that its class declares."""
    names = list(signature(forward).parameters)[1:]

    @wraps(forward)
    def checked(self: Layer, *inputs: Any, **by_name: Any) -> Any:
        if declared(self.axes)[0]:
            shapes = None if by_name else _shapes(inputs)
            if shapes is None or shapes != self._passed:
                given = {**dict(zip(names, inputs)), **by_name}
                check_inputs(self, {name: given[name] for name in names if name in given})
                self._passed = shapes
        y = forward(self, *inputs, **by_name)
        if keeping():
            self._output_shape = tuple(y.shape)
        return y

    return checked


def _gradient_checked(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a backward that first compares its gradient's shape with the forward's output."""
    name = list(signature(backward).parameters)[1]

    @wraps(backward)
    def checked(self: Layer, gradient: Any = 1, *others: Any, **by_name: Any) -> Any:
        _, letters = declared(self.axes)
        if self._kept and letters:  # a loss declares no output: its gradient is a number
            shapes = _shapes((gradient,))
            if shapes is None or shapes[0][0] != self._output_shape:
                self._expect_exactly(name, gradient, letters, self._output_shape)
        return backward(self, gradient, *others, **by_name)

    return checked


class Sequential(Layer):
    """Layers one after the other: y = f_n(... f_2(f_1(x))).

    Parameters
    ----------
    *layers : Layer
        Each takes what the one before gives.

    Examples
    --------
    >>> from deepnlp.layers import Affine, Tanh
    >>> model = Sequential(Affine([[1.0], [1.0]]), Tanh())
    >>> model.forward(xp.zeros((3, 2))).shape
    (3, 1)
    >>> [name for name, _ in model.named_parameters()]
    ['layers.0.W']
    """

    def __init__(self, *layers: Layer) -> None:
        for layer in layers:
            if not isinstance(layer, Layer):
                raise TypeError(
                    f"Sequential takes layers, one argument each, got a {type(layer).__name__} "
                    "(a layer of one's own derives from deepnlp.Layer)"
                )
        self.layers = list(layers)

    def forward(self, x: Any) -> Any:
        """Pass the input through every layer, first to last."""
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dy: Any) -> Any:
        """Pass the gradient back through every layer, last to first: the chain rule."""
        for layer in reversed(self.layers):
            dy = layer.backward(dy)
        return dy

    def start(self, N: int) -> Any:
        """Return the state of every layer."""
        return [layer.start(N) for layer in self.layers]

    def step(self, x: Any, state: Any = None) -> tuple[Any, Any]:
        """Compute one step of every layer in turn."""
        states = [None] * len(self.layers) if state is None else list(state)
        for k, layer in enumerate(self.layers):
            x, states[k] = layer.step(x, states[k])
        return x, states


def check_layers(owner: str, **layers: Any) -> None:
    """Raise a TypeError if one of the arguments by name is no layer.

    >>> check_layers("TimeBidirectional", forward_layer=3)
    Traceback (most recent call last):
        ...
    TypeError: TimeBidirectional: forward_layer should be a layer, got a int
    """
    for name, layer in layers.items():
        if not isinstance(layer, Layer):
            raise TypeError(f"{owner}: {name} should be a layer, got a {type(layer).__name__}")


def with_rows(rows: Array, array: Array, other: Array) -> Array:
    """Replace some rows of an array of a state, by number, by those of another state.

    Where a state grows with what was read, a younger one has fewer numbers in a row: the others
    are zero.

    >>> with_rows(xp.asarray([1]), xp.asarray([[1, 2], [3, 4]]), xp.asarray([[5]]))
    array([[1, 2],
           [5, 0]])
    """
    array = array.copy()
    array[rows] = 0
    place: Any = (rows, *map(slice, other.shape[1:]))
    array[place] = other
    return array


def map_state(function: Callable[..., Any], *states: Any) -> Any:
    """Apply a function to the arrays of one state, or to those of several at the same place.

    The rows of a state in another order, as beam search needs it:

    >>> state = [None, (xp.asarray([[1.0], [2.0]]),)]
    >>> map_state(lambda array: array[[1, 0]], state)
    [None, (array([[2.],
           [1.]]),)]
    """
    first = states[0]
    if first is None:
        return None
    if isinstance(first, list | tuple):
        return type(first)(map_state(function, *parts) for parts in zip(*states, strict=True))
    return function(*states)

"""The gradient of a function from its values alone, and code under test as such a function."""

import contextlib
import copy
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray, asnumpy
from deepnlp.gradcheck.adapters import Adapter
from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.first import central_slope, complex_slope, in_entry
from deepnlp.gradcheck.rules import sizes
from deepnlp.gradcheck.variables import Variable
from deepnlp.gradcheck.walking import (
    GENERATORS,
    Carried,
    Holder,
    HostArray,
    generators,
    holders,
    is_box,
    is_real,
    keep,
    leaves,
    mapped,
    near,
    places,
    plain,
    put_back,
)
from deepnlp.layer import Layer, no_backward
from deepnlp.parameter import Parameter

_CENTRAL_STEPS = (1e-2, *(10.0**-k for k in range(4, 11)))
_WIDE_STEPS = (1.0, 1e2, 1e4)
_QUICK_STEP = 1e-4
_KINK_STEPS = (1e-4, 1e-6)
_TINY = 3e-7  # the step at which rounding is seen


def numerical_gradient(
    f: Callable[[HostArray], Any],
    x: Any,
    method: str = "central",
    rounding: float = 1e-15,
    expected: HostArray | None = None,
    size: Callable[[], float] = lambda: 1.0,
    errors: HostArray | None = None,
) -> HostArray:
    r"""Gradient of a scalar function of an array, entry by entry.

    .. math::
        \frac{\partial f}{\partial x_k} = \frac{4 D_k(h) - D_k(2h)}{3}, \quad
        D_k(h) = \frac{f(x + h e_k) - f(x - h e_k)}{2h}
        \qquad\text{or}\qquad \frac{\mathrm{Im}\, f(x + i h e_k)}{h}

    Parameters
    ----------
    f : callable
        Takes a NumPy array of the shape of ``x``, returns a number.
    x : array_like
        Where; left as it is.
    method : {"central", "complex"}
    rounding : float
        Relative error of f: central differences do not take it for a kink.
    expected : array of the shape of ``x``, optional
        Where D_k(1e-4) is as expected, to 1e-7 of the largest entry, it is not refined: a quarter
        of the cost for a gradient that is right.
    size : callable, optional
        How large the numbers were that f added up last.
    errors : array of the shape of ``x``, optional
        Takes how far each central difference may be off.

    Returns
    -------
    numpy.ndarray of float64, the shape of ``x``

    Raises
    ------
    ValueError
        If the method is neither.

    Examples
    --------
    >>> import numpy as np
    >>> numerical_gradient(lambda x: (x ** 3).sum(), np.array([1.0, 2.0]), method="complex")
    array([ 3., 12.])
    """
    if method not in ("central", "complex"):
        raise ValueError(
            f"numerical_gradient: method should be 'central' or 'complex', got {method!r}"
        )
    x = asnumpy(x)
    gradient = numpy.zeros(x.shape)
    probe = x.astype("complex128" if method == "complex" else "float64")
    steps, errors = _steps(x, rounding), numpy.zeros(x.shape) if errors is None else errors
    if expected is None or expected.shape != x.shape:
        expected = numpy.full(x.shape, math.nan)
    near_enough = 1e-7 * float(numpy.abs(expected).max(initial=0.0))
    for index in numpy.ndindex(x.shape):
        if isinstance(size, Changes):
            size.begin()
        here, of_step = probe[index], in_entry(f, probe, index)
        if method == "complex":
            gradient[index] = complex_slope(of_step)
        else:
            slope, is_small = math.nan, rounding < 1e-8 and 0 < abs(here) < 2 * steps[0]
            if not is_small:
                slope = _quick_slope(of_step, float(expected[index]), near_enough)
            if math.isnan(slope):
                slope, error = _central_slope(of_step, rounding, steps, size)
                errors[index] = error
            if is_small:  # a step beyond a number sees the other side of 0
                best = slope, float(errors[index])
                slope, errors[index] = _slope_within(of_step, abs(here), *best, rounding, size)
            gradient[index] = slope
    return gradient


def typical_size(x: HostArray) -> float:
    """The root of the mean square; 1 for zeros.

    >>> typical_size(numpy.array([3.0, -3.0])), typical_size(numpy.zeros(2))
    (3.0, 1.0)
    """
    with numpy.errstate(over="ignore"):
        size = float(numpy.sqrt(numpy.mean(numpy.square(x)))) if x.size else 1.0
    return size if 0 < size < numpy.inf else 1.0


def _steps(x: HostArray, rounding: float) -> tuple[float, ...]:
    """Steps of central differences: a hundredth or less; of large numbers first a larger one."""
    size = typical_size(x)
    rough = (0.3, 0.1, 0.03) if rounding > 1e-8 else ()  # what is lost is divided by the step
    return ((1e-2 * size,) if size > 100 else ()) + rough + _CENTRAL_STEPS


def _quick_slope(of_step: Callable[[float], Any], guess: float, near_enough: float) -> float:
    """A single central difference at 0, if it confirms a guess; else nan."""
    if not (math.isfinite(guess) and near_enough > 0):
        return math.nan
    slope = central_slope(of_step, _QUICK_STEP)
    return slope if abs(slope - guess) <= near_enough else math.nan


def _central_slope(
    along: Callable[[float], Any],
    precision: float,
    steps: tuple[float, ...],
    size: Callable[[], float],
) -> tuple[float, float]:
    """Slope at 0 of a function of one number, stepping around kinks, and how far it may be off."""

    def difference(h: float) -> tuple[float, float, float, bool]:
        """The slope over a step, what shows of its error, its rounding, whether it is settled."""
        above, below = along(h), along(-h)
        near = (above - below) / (2 * h)
        far = central_slope(along, 2 * h)
        added = max(abs(above), abs(below), size())
        apart, rounding = abs(near - far), precision * added / h
        # What was added up on the way may have been larger than f, as in log(1 + e^-20).
        is_settled = apart <= 1e-7 * abs(near) + 10 * precision * max(added, 1.0) / h
        return float((4 * near - far) / 3 if is_settled else near), apart, rounding, is_settled

    best, least = math.nan, math.inf
    for h in steps:
        slope, apart, rounding, is_settled = difference(h)
        if is_settled or apart + rounding < least:
            best, least = slope, float(apart + rounding)
        if is_settled:
            break
    wider = [h for h in _WIDE_STEPS if h > steps[0]]
    for h in wider if rounding > 1e-7 * abs(best) > 0 else ():  # which hides the slope
        slope, apart, rounding, _ = difference(h)
        is_straight = apart <= 10 * rounding and abs(slope - best) <= 10 * least
        if not is_straight:
            break
        # A guess: beside its rounding it does not show whether f is straight.
        best, least = slope, least + abs(slope - best)
    return best, least


def _slope_within(
    along: Callable[[float], Any],
    distance: float,
    slope: float,
    error: float,
    precision: float,
    size: Callable[[], float],
) -> tuple[float, float]:
    """The slope over steps below a number, or how far the one over larger steps may be off."""
    slopes = [central_slope(along, part * distance) for part in (0.02, 0.01)]
    fine = slopes[1] + (slopes[1] - slopes[0]) / 3
    rounding = precision * size() / (0.01 * distance)
    closest, other = abs(slopes[0] - slopes[1]) + rounding, abs(fine - slope)
    if not math.isfinite(fine):
        return slope, error
    return (fine, closest) if 3 * closest < other else (slope, max(error, other + rounding))


class Changes:
    """How outputs change, as one number; the scale of it are the outputs that change at all.

    What does not change, such as a masked score of -1e9, loses no digits of the others.

    Parameters
    ----------
    weights, outputs : list of array
        The number is the sum of the changes times the weights.
    """

    def __init__(self, weights: list[Any], outputs: list[HostArray]) -> None:
        self._weights, self._at_first = weights, [y.astype("float64") for y in outputs]
        self._terms = [numpy.abs(w * y) for w, y in zip(weights, self._at_first, strict=True)]
        self.begin()

    def begin(self) -> None:
        """Forget what has changed."""
        self._is_changed = [numpy.zeros(y.shape, bool) for y in self._at_first]

    def of(self, outputs: list[HostArray]) -> float:
        """Return the weighted sum of the changes."""
        change = 0.0
        for w, y, first, seen in zip(
            self._weights, outputs, self._at_first, self._is_changed, strict=True
        ):
            change += float((w * (numpy.asarray(y, "float64") - first)).sum())
            numpy.logical_or(seen, y != first, out=seen)
        return change

    def seen(self) -> float:
        """Return the size of the outputs that have changed."""
        pairs = zip(self._terms, self._is_changed, strict=True)
        return sum(float(term[where].sum()) for term, where in pairs)

    def __call__(self) -> float:
        """Return the size of those that have changed; where none has, of most."""
        common = (float(numpy.median(term)) * term.size for term in self._terms if term.size)
        return self.seen() or sum(common)


def noise_of(along: Callable[[float], Any]) -> float:
    """The rounding of a function of one number, seen in its third differences over tiny steps.

    Those of a smooth function vanish there, and a kink is in few of them.
    """
    values = numpy.array([float(along(k * _TINY)) for k in range(10)])
    return float(numpy.median(numpy.abs(numpy.diff(values, 3))))


def has_kink(
    along: Callable[[float], Any], precision: float, size: Callable[[], float] = lambda: 0.0
) -> bool:
    """Return whether the slopes of a function of one number at 0, from both sides, differ."""
    here = along(0.0)
    apart = []
    for h in _KINK_STEPS:
        # One-sided slopes of second order, so that mere curvature is no difference.
        right = (4 * along(h) - along(2 * h) - 3 * here) / (2 * h)
        left = (3 * here - 4 * along(-h) + along(-2 * h)) / (2 * h)
        rounding = 100 * precision * max(abs(here), size(), 1e-300) / h
        if not abs(right - left) > rounding + 1e-3 * max(abs(right), abs(left)):
            return False
        apart.append(right - left)
    return bool(abs(apart[0] - apart[1]) <= 0.2 * abs(apart[1]))


_MOVE = 0.01  # of the typical size of a variable
_LOST = 1e-6  # of the slope along a direction: what a complex step may lose
_PRECISION = {"float32": 1e-6, "float16": 1e-3}


class Function:
    """The forward of code under test as a scalar function of its variables.

    Parameters
    ----------
    caller : Adapter
        Its object is turned to float64.

    Attributes
    ----------
    variables : dict of str to Variable
    weights : list of array
        The scalar is the sum of all outputs times these.
    precision : float
        Relative error of the outputs: larger where forward computes in float32, whatever goes in.
    found : list of Holder
        All that the code can reach.
    is_ours : bool
        Whether the object is a :class:`deepnlp.layer.Layer`.
    """

    def __init__(self, caller: Adapter) -> None:
        self.caller, code = caller, caller.code
        self.name, self.layer = code.name, code.layer
        functions = [f for f in (code.forward, code.backward) if f is not None]
        self.functions = [getattr(f, "function", f) for f in functions]  # of an operation
        self.is_ours = isinstance(self.layer, Layer)
        self.inputs = _as_doubles([*caller.given, *caller.named.values()])
        self.input_names = caller.input_names
        self.found = self._reached()
        own = {id(holder.owner) for holder in holders(self.layer)}
        self._borrowed = [
            keep(holder.owner, key, value)
            for holder, key, value in places(self.found)
            if id(holder.owner) not in own and is_real(value) and value.flags.writeable
        ]
        if self.is_ours:
            self.layer.astype("float64")
        else:
            _widen(self.found)
        self.variables: dict[str, Variable] = {}
        self.weights: list[Any] = []
        self.precision = 1e-15  # of the outputs
        self.errors: dict[str, HostArray] = {}  # of the differences, by variable
        self._changes: Changes | None = None  # of which differences are taken
        self._error = 0.0  # of the last slope
        self._changed = 1.0  # the size of the outputs that changed along the last slope
        self._generators = generators(self.found)
        self.snapshot = self.layer.snapshot() if self.is_ours else {}
        self._carried = None
        try:
            if not self.is_ours:
                self._carried = Carried(self._reached, self._run)
        except BaseException:
            put_back(self._borrowed)
            raise
        self.found = self._reached()  # with what the first forwards made

    def _reached(self) -> list[Holder]:
        """All that the code can reach."""
        objects = [value for _, value in leaves(self.inputs)]
        return holders(self.layer, *self.functions, *objects, shared=not self.is_ours)

    # --- Forwards ---------------------------------------------------------------------------

    def restore(self) -> None:
        """Put back hidden states, counters and random generators."""
        if self._carried is None:
            self.layer.restore(self.snapshot)
        else:
            self._carried.restore()
        put_back(self._generators)

    def leave(self) -> None:
        """Put back what is not the object's own: generators, globals, what closures hold."""
        self.restore()
        put_back(self._borrowed)

    def forward(self) -> list[HostArray]:
        """Outputs on the host, from the state that was carried at the start."""
        return on_host(self.raw_forward())

    def raw_forward(self) -> list[Any]:
        """Outputs as they come, from the state that was carried at the start."""
        self.restore()
        with no_backward():
            return self._run()

    def _run(self) -> list[Any]:
        outputs = self.caller.forward(self.fresh_inputs())
        self.caller = self.caller.settled
        return outputs

    def fresh_inputs(self) -> list[Any]:
        """Copies, because a forward may change its arguments."""
        return list(mapped(_copied, self.inputs))

    def draw_weights(self, rng: Generator) -> None:
        """Weight the outputs at random; all by 1 if backward takes no gradient."""
        outputs, again = self.forward(), self.forward()
        self._generators = [one for one in self._generators if one.is_changed]
        title = self.caller.title("forward")
        if any(y.dtype.kind not in "fiub" for y in outputs):
            kinds = [type(y.item()).__name__ if y.ndim == 0 else str(y.dtype) for y in outputs]
            returned = ", ".join(kinds).replace("NoneType", "None")
            raise TypeError(say("no numbers", title=title, returned=returned))
        for one, other in zip(outputs, again, strict=True):
            if not near(one, other, rtol=1e-9, atol=0):
                raise ValueError(say("random", title=title))
        self.precision = max([_PRECISION.get(str(y.dtype), 1e-15) for y in outputs])
        takes = self.caller.takes_gradients
        self.weights = [rng.normal(size=y.shape) if takes else numpy.ones(()) for y in outputs]

    def loss(self) -> Any:
        """Sum of all outputs times their weights; of how they change, for differences."""
        outputs = list(map(asnumpy, self.raw_forward()))
        if self._changes is not None:
            return self._changes.of(outputs)
        return sum((w * y).sum() for w, y in zip(self.weights, outputs, strict=True))

    def _scale(self) -> Callable[[], float]:
        """Return what tells how large the numbers were that the last losses added up."""
        return self._changes if self._changes is not None else lambda: 1.0

    # --- Slopes -----------------------------------------------------------------------------

    def numeric_gradient(
        self, name: str, method: str, expected: HostArray | None = None
    ) -> HostArray:
        """Gradient of the weighted sum of the outputs with respect to one variable, by forwards."""
        variable = self.variables[name]
        original = variable.get()

        def f(value: HostArray) -> Any:
            variable.set(value)
            return self.loss()

        self.errors[name] = numpy.zeros(original.shape)
        with self._in_numbers(method):
            more = self.precision, expected, self._scale(), self.errors[name]
            return numerical_gradient(f, original, method, *more)

    def _along(self, directions: dict[str, HostArray]) -> Callable[[Any], Any]:
        """The weighted sum as a function of a step in a direction in several variables."""
        originals = {name: self.variables[name].get() for name in directions}

        def along(step: Any) -> Any:
            for name, direction in directions.items():
                self.variables[name].set(originals[name] + step * direction)
            return self.loss()

        return along

    def slope(self, directions: dict[str, HostArray], method: str) -> float:
        """Derivative of the weighted sum along one direction in several variables."""
        along, nothing, error = self._along(directions), numpy.zeros(()), numpy.zeros(())
        with self._in_numbers(method):
            more = self.precision, None, self._scale(), error
            found = float(numerical_gradient(along, nothing, method, *more))
            self._changed = self._changes.seen() if self._changes is not None else 0.0
        self._error = float(error)
        return found

    def direction(self, name: str, rng: Generator) -> HostArray:
        """A random direction in a variable, of the size of its entries."""
        value = self.variables[name].get()
        return numpy.asarray(sizes(value) * rng.normal(size=value.shape))

    def random_directions(self, rng: Generator) -> dict[str, HostArray]:
        """A random direction in every variable."""
        return {name: self.direction(name, rng) for name in self.variables}

    def is_analytic(self, rng: Generator) -> bool:
        """Return whether the complex step runs through."""
        try:
            self.slope(self.random_directions(rng), "complex")
        except Exception:  # a forward may lose or refuse the imaginary part anywhere
            return False
        return True

    def loses_slope(
        self, directions: dict[str, HostArray], numeric: dict[str, HostArray] | None = None
    ) -> bool:
        """Return whether a complex step misses what a difference sees along a direction.

        So a forward loses the imaginary part in ``abs``, ``numpy.linalg.norm`` or ``numpy.var``.
        ``numeric`` are gradients that are known by a complex step.
        """
        central, size = self.slope(directions, "central"), 0.0
        changed, error = self._changed, 10 * self._error
        if numeric is None:
            complex_ = self.slope(directions, "complex")
        else:
            terms = numpy.concatenate([(numeric[n] * d).ravel() for n, d in directions.items()])
            complex_, size = float(terms.sum()), float(numpy.sqrt((terms**2).sum()))
        apart = abs(complex_ - central)
        # A difference in which no output changes contradicts nothing.
        rounding = 1e3 * self.precision * changed if changed else math.inf
        rounding = max(rounding, min(error, 1e-3 * abs(central)))
        return not apart <= _LOST * max(abs(central), size) + rounding

    def loses_slope_elsewhere(self, name: str, rng: Generator) -> bool:
        """Return whether a complex step misses a slope that shows where numbers are of size 1."""
        values = self.values()
        with contextlib.suppress(Exception), numpy.errstate(all="ignore"):
            self.put({n: v / typical_size(v) for n, v in values.items()})
            if all(numpy.isfinite(y).all() for y in self.forward()):
                lost = self.loses_slope({name: self.direction(name, rng)})
                self.put(values)
                return lost
        self.put(values)
        return False

    def has_kink(self, directions: dict[str, HostArray]) -> bool:
        """Return whether the slopes along a direction differ on its two sides."""
        along = self._along(directions)
        with self._in_numbers("central"):
            return has_kink(along, self.precision, self._scale())

    def has_kink_at(self, name: str, index: tuple[int, ...]) -> bool:
        """Return whether the slopes along one entry of a variable differ on its two sides."""
        value = self.variables[name].get()
        direction = numpy.zeros(value.shape)
        direction[index] = min(typical_size(value), 1.0)
        return self.has_kink({name: direction})

    def values(self) -> dict[str, HostArray]:
        """The value of every variable."""
        return {name: variable.get() for name, variable in self.variables.items()}

    def put(self, values: dict[str, HostArray]) -> None:
        """Give variables other values."""
        self.restore()
        for name, value in values.items():
            self.variables[name].set(value.copy())

    def move(self, values: dict[str, HostArray], steps: dict[str, HostArray], sign: int) -> None:
        """Put every variable a small step aside of a value; upwards where else it is refused."""
        self.restore()
        for way in (lambda step: sign * step, numpy.abs):
            for name, variable in self.variables.items():
                variable.set(values[name] + way(_MOVE * steps.get(name, 0.0)))
            with warnings.catch_warnings(), contextlib.suppress(Exception):
                warnings.simplefilter("ignore")
                if all(numpy.isfinite(y).all() for y in self.forward()):
                    return

    def look_for_float32(self, rng: Generator) -> None:
        """See whether forward computes in float32 inside: small steps then change it in jumps."""
        if self.precision > 1e-15 or not self.variables:
            return
        along = self._along(self.random_directions(rng))
        with self._in_numbers("central"):
            size = max(self.scale(), sum(float(numpy.abs(w).sum()) for w in self.weights))
            if noise_of(along) > 1e-12 * size:
                self.precision = _PRECISION["float32"]
            elif along(0.0) == along(_TINY) == along(-_TINY) != along(0.1):  # in steps
                self.precision = _PRECISION["float16"]

    def scale(self) -> float:
        """Size of the numbers that the weighted sum adds up."""
        terms = zip(self.weights, self.forward(), strict=True)
        return max((float(numpy.abs(w * y).sum()) for w, y in terms), default=0.0)

    def rounding_of_slopes(self, name: str) -> float:
        """The rounding error of an analytic gradient where a function is saturated.

        A backward computes 1 - y^2 from a y near 1: right to an absolute eps, however small the
        result is. That error is weighted by dy and multiplied by the other variables.
        """
        others = [v.get() for other, v in self.variables.items() if other != name]
        largest = max((float(numpy.abs(v).max(initial=1.0)) for v in others), default=1.0)
        weighted = sum(float(numpy.abs(w).sum()) for w in self.weights)
        return 100 * float(numpy.finfo("float64").eps) * max(weighted * largest, self.scale())

    @contextmanager
    def _in_numbers(self, method: str) -> Iterator[None]:
        """Turn every variable to complex numbers where they are needed; put all back after.

        Every one: a buffer may take its dtype from any of them. A complex number that lands in a
        real buffer loses its derivative, which is an error; other warnings are of no interest here.
        """
        self.restore()
        originals = self.values()
        is_central = method == "central"
        self._changes = Changes(self.weights, self.forward()) if is_central else None
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", numpy.exceptions.ComplexWarning)
            try:
                if method == "complex":
                    if self.is_ours:
                        self.layer.astype("complex128")
                    for name, variable in self.variables.items():
                        variable.set(originals[name].astype("complex128"))
                yield
            finally:
                warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
                if self.is_ours:
                    self.layer.astype("float64")
                for name, variable in self.variables.items():
                    variable.set(originals[name])
                self._changes = None


def on_host(outputs: list[Any]) -> list[HostArray]:
    """Outputs as arrays of their own on the host."""
    return [numpy.array(asnumpy(y)) for y in outputs]


def _widen(found: list[Holder]) -> None:
    """Turn the float32 arrays of objects into float64, each array once."""
    wide: dict[int, tuple[Any, Any]] = {}
    for holder, key, value in places(found):
        entries = holder.entries
        if isinstance(value, Parameter):
            value.astype("float64")
        elif is_real(value) and value.dtype != numpy.float64 and not isinstance(entries, tuple):
            pair = wide.setdefault(id(value), (value, value.astype("float64")))
            entries[key] = pair[1]


def _as_doubles(values: list[Any]) -> list[Any]:
    """Inputs live on the host, floating-point ones in float64; other values stay as they are.

    A single number is a variable only where there is no array of numbers.
    """
    found = [_double(value) if isinstance(value, list) else value for value in values]
    found = list(mapped(_double, found))
    if not any(is_real(value) for _, value in leaves(found)):
        found = [numpy.array(value) if isinstance(value, float) else value for value in found]
    return found


def _double(value: Any) -> Any:
    """An array of numbers as one of float64; a list of numbers is one, too."""
    if isinstance(value, list):
        has_numbers = all(isinstance(one, int | float) for _, one in leaves(value))
        with contextlib.suppress(ValueError):  # lists of several lengths
            return _double(numpy.asarray(value)) if value and has_numbers else value
        return value
    value = numpy.asarray(plain(value)) if is_box(value) else value
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        value = asnumpy(value)
        return numpy.array(value, dtype="float64" if value.dtype.kind == "f" else value.dtype)
    return value


def _copied(value: Any) -> Any:
    """A copy of an array or a generator, which a forward may change."""
    if isinstance(value, numpy.ndarray):
        return asarray(value.copy())
    return copy.deepcopy(value) if isinstance(value, GENERATORS) else value

"""A training in one shape, whatever it is written with: the step, and what is known besides.

Everything that an experiment asks begins with :meth:`Program.reset`, so that each starts from the
same weights, states and random numbers.
"""

import contextlib
import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import asnumpy
from deepnlp.checkup.keeping import State, copies, numbers
from deepnlp.gradcheck.names import PARAMS, RATE, WEIGHT
from deepnlp.gradcheck.walking import Holder, is_real, is_tensor, items, leaves
from deepnlp.layer import Layer
from deepnlp.optimizers import Optimizer
from deepnlp.parameter import Parameter

BATCHES = 24
"""Batches of an epoch that are looked at."""

PERIOD = 16
"""Steps that may pass before the first update, where gradients are added up on purpose."""

CANDIDATES = 300
"""Arrays of which it is asked whether they are weights."""

_STATES = re.compile(r"h|c|h_?prev|c_?prev|hidden|state|hs|cs|h_?0|c_?0", re.IGNORECASE)

Batch = tuple[Any, ...]


class StepError(Exception):
    """Raised where the program's own step ends in an error, which is its cause."""


class Weight(NamedTuple):
    """A weight: how its numbers are read, and where it stands.

    Attributes
    ----------
    name : str
    value : callable
        Gives the array, the Parameter's value, or the tensor as it is now.
    is_frozen : bool
        Whether it is said of it that it does not learn.
    places : list of (Holder, key)
        All places in which the same array stood.
    """

    name: str
    value: Callable[[], Any]
    is_frozen: bool = False
    places: Sequence[tuple[Holder, Any]] = ()


class Program:
    """Knowledge of a training: its step and the parts that are known.

    Parameters
    ----------
    step : callable
        ``step(x, t)``: forward, backward and update; gives the loss.
    batches : callable or iterable
        The batches of an epoch, or a function that gives them.
    loss : callable, optional
        ``loss(x, t)`` without an update.
    predict : callable, optional
        ``predict(x)``: scores or probabilities, without randomness.
    weights : dict, list or callable, optional
    evaluate : callable, optional
    begin : callable, optional
        What is done at the beginning of an epoch, such as ``model.train()``.
    end : callable, optional
        What is done at its end, such as ``scheduler.step()``.
    optimizer : object, optional
    roots : sequence of object
        What else belongs to it: models, namespaces.
    source : str
        The lines of the step, for places.
    name : str
    """

    def __init__(
        self,
        step: Callable[..., Any],
        batches: Any,
        *,
        loss: Callable[..., Any] | None = None,
        predict: Callable[..., Any] | None = None,
        weights: Any = None,
        evaluate: Callable[[], Any] | None = None,
        begin: Callable[[], Any] | None = None,
        end: Callable[[], Any] | None = None,
        optimizer: Any = None,
        roots: Sequence[Any] = (),
        source: str = "",
        name: str = "training",
    ) -> None:
        self._step, self._loss, self._predict, self._evaluate = step, loss, predict, evaluate
        self.begin, self.end, self.begins = begin or (lambda: None), end, begin is not None
        self.optimizer, self.source, self.name = optimizer, source, name
        self.given, self.steps = batches, 0
        given = [f for f in (step, loss, predict, evaluate, begin, end, optimizer, weights) if f]
        first = State(*given, *roots, batches)  # drawing a batch may change what is reached
        self.batches = self._drawn(1)[0]
        if not self.batches:
            raise ValueError("check_training: there is no batch; expected batches such as (x, t)")
        first.put_back()
        self.state = first
        try:
            self.take(self.batches[0])
        except Exception as error:
            raise StepError(f"{type(error).__name__}: {error}") from error
        finally:
            self.reset()
        self.weights = self._weights_of(weights)

    # --- Batches --------------------------------------------------------------------------------

    def _drawn(self, epochs: int) -> list[list[Batch]]:
        """The first batches of so many epochs, as copies."""
        drawn = []
        for _ in range(epochs):
            given = self.given() if callable(self.given) else self.given
            pairs = [given] if _is_batch(given) else given
            drawn.append([copies(_pair(one)) for one in islice(pairs, BATCHES)])
        return drawn

    @cached_property
    def epochs(self) -> list[list[Batch]]:
        """The first batches of three epochs that follow each other."""
        self.reset()
        drawn = self._drawn(1 if is_iterator(self.given) else 3)
        self.reset()
        return drawn

    @cached_property
    def pair(self) -> tuple[Batch, Batch]:
        """Two batches, different ones where there are any."""
        first = self.batches[0]
        shapes = shapes_of(first)
        others = [b for b in self.batches[1:] if not same_batch(b, first)]
        alike = [b for b in others if shapes_of(b) == shapes]
        return first, (alike or others or [first])[0]

    # --- What is asked --------------------------------------------------------------------------

    def reset(self) -> None:
        """Put everything back."""
        self.state.put_back()

    def take(self, batch: Batch) -> float:
        """Make a step from where the training is; the loss that it gives."""
        self.steps += 1
        with hushed():
            return number(self._step(*copies(batch)))

    def leaves_alone(self, given: Batch) -> bool:
        """Return whether a step leaves the arrays of its batch alone; everything is put back."""
        self.reset()
        kept = copies(given)
        with hushed():
            self._step(*given)
        self.reset()
        return same_batch(given, kept)

    def update(self, batch: Batch) -> float:
        """Make as many steps as an update takes, all with one batch; the first loss."""
        losses = [self.take(batch) for _ in range(self.period)]
        return losses[0]

    @cached_property
    def _moving(self) -> list[bool]:
        """Which of some steps with one batch move a weight."""
        self.reset()
        before, moving = self.values(), list[bool]()
        while len(moving) < PERIOD and True not in moving[:-1]:
            self.take(self.pair[0])
            now = self.values()
            moving.append(
                any(not numpy.array_equal(a, b) for a, b in zip(before, now, strict=True))
            )
            before = now
        self.reset()
        return moving

    @property
    def period(self) -> int:
        """Steps of an update: more than one where gradients are added up on purpose."""
        return self._moving.index(True) + 1 if any(self._moving) else 1

    @property
    def is_late(self) -> bool:
        """Return whether the first step alone moves nothing: the others use old gradients."""
        return self._moving[:3] == [False, True, True]

    def values(self) -> list[Any]:
        """The numbers of all weights now."""
        return [numbers(weight.value()) for weight in self.weights]

    def put(self, values: Iterable[Any]) -> None:
        """Give the weights other numbers, in the arrays in which they stand now."""
        for weight, value in zip(self.weights, values, strict=True):
            assign(weight.value(), value)

    def loss_at(self, values: Iterable[Any], batch: Batch) -> float:
        """The loss with other weights and everything else as at the beginning."""
        self.reset()
        self.put(values)
        return self.loss(batch)

    def loss(self, batch: Batch) -> float:
        """The loss as it is now; a step gives it where there is no function for it."""
        if self._loss is None:
            return self.take(batch)
        with hushed():
            return number(self._loss(*copies(batch)))

    @cached_property
    def gives_loss(self) -> bool:
        """Return whether the loss of a batch is known."""
        self.reset()
        is_number = self._loss is not None or not math.isnan(self.take(self.batches[0]))
        self.reset()
        return is_number

    @property
    def predicts(self) -> bool:
        """Return whether scores can be asked for."""
        return self._predict is not None

    def predict(self, x: Any) -> Any:
        """The scores for some inputs."""
        assert self._predict is not None
        with hushed():
            return numbers(self._predict(copies((x,))[0]))

    @property
    def evaluates(self) -> bool:
        """Return whether there is an evaluation."""
        return self._evaluate is not None

    def evaluate(self) -> float:
        """Return what the evaluation gives."""
        assert self._evaluate is not None
        with hushed():
            return number(self._evaluate())

    # --- Updates that several experiments look at -------------------------------------------------

    @cached_property
    def start(self) -> list[Any]:
        """The numbers of all weights at the beginning."""
        self.reset()
        return self.values()

    @cached_property
    def first_loss(self) -> float:
        """The loss of the first batch at the beginning."""
        return self.loss_at(self.start, self.pair[0])

    def moved(self, batch: Batch, before: Batch | None = None) -> list[Any]:
        """The change of all weights by an update with a batch.

        Parameters
        ----------
        batch : tuple
        before : tuple, optional
            A batch that was trained on before; then the weights and the random numbers were put
            back, and nothing else.
        """
        start = self.start
        self.reset()
        if before is not None:
            self.update(before)
            self.put(start)
            self.state.put_back_generators()
        self.update(batch)
        return [after - was for after, was in zip(self.values(), start, strict=True)]

    @cached_property
    def by_first(self) -> list[Any]:
        """The change by an update with the first batch of the pair."""
        return self.moved(self.pair[0])

    @cached_property
    def by_second(self) -> list[Any]:
        """The change by an update with the second."""
        return self.moved(self.pair[1])

    @cached_property
    def by_second_after_first(self) -> list[Any]:
        """The change by the second, from the same weights, where the first came before it."""
        return self.moved(self.pair[1], self.pair[0])

    @cached_property
    def _rates(self) -> list[tuple[Any, Any]]:
        """Places in which numbers stand that are called as a learning rate is."""
        return [
            (holder, key)
            for holder in self.state.reached
            for key, value in items(holder.entries)
            if isinstance(key, str) and RATE.fullmatch(key) and isinstance(value, int | float)
        ]

    def lr(self) -> float | None:
        """The learning rate now, where an optimizer is known, or a number of that name."""
        groups = getattr(self.optimizer, "param_groups", None)
        value = groups[0].get("lr") if groups else getattr(self.optimizer, "lr", None)
        if value is None and self._rates:
            holder, key = self._rates[0]
            value = dict(items(holder.entries)).get(key)
        return float(value) if isinstance(value, int | float) else None

    # --- Weights --------------------------------------------------------------------------------

    def _weights_of(self, given: Any) -> list[Weight]:
        """The weights that were given, else those that are reached."""
        if given is not None:
            named = given() if callable(given) else given
            pairs = items(named) if isinstance(named, dict | list | tuple) else [(0, named)]
            chosen = [self._given_weight(given, str(key), key) for key, _ in list(pairs)]
            held = [weight.value() for weight in chosen]
            return chosen + [w for w in self._declared() if not any(_is_one(w, v) for v in held)]
        optimizers = [h.owner for h in self.state.reached if is_optimizer(h.owner)]
        if self.optimizer is None and optimizers:
            self.optimizer = optimizers[0]
        tensors, arrays = self._declared(), self._arrays()
        if tensors:
            return tensors
        listed = [w for w in arrays if any(_is_listed(holder) for holder, _ in w.places)]
        return self._that_count(listed) or self._that_count(arrays)

    def _given_weight(self, given: Any, name: str, key: Any) -> Weight:
        """A weight that was given: read where the program keeps it, which may bind it anew."""

        def value() -> Any:
            named = given() if callable(given) else given
            held = named[key] if isinstance(named, dict | list | tuple) else named
            return held.value if isinstance(held, Parameter) else held

        array = value()
        places = [
            (holder, k)
            for holder in self.state.reached
            if holder.owner is not given and not isinstance(holder.owner, tuple)
            for k, one in items(holder.entries)
            if one is array and isinstance(array, numpy.ndarray) and not callable(given)
        ]
        return Weight(name, _reader(places) if places else value, False, places)

    def _declared(self) -> list[Weight]:
        """Parameters of deepnlp and tensors that need a gradient, each once."""
        found: dict[int, Weight] = {}
        for holder in self.state.reached:
            owner = holder.owner
            if isinstance(owner, Layer) or hasattr(owner, "named_parameters"):
                with contextlib.suppress(TypeError):
                    for name, one in owner.named_parameters():
                        found.setdefault(id(one), _declared(name, one))
        for holder in self.state.reached:
            for key, one in items(holder.entries):
                is_leaf = is_tensor(one) and one.is_leaf and one.requires_grad
                if is_leaf or isinstance(one, Parameter):
                    name = f"{holder.path}{key}" if isinstance(key, str | int) else holder.path
                    found.setdefault(id(one), _declared(name, one))
        return list(found.values())

    def _arrays(self) -> list[Weight]:
        """Arrays that may be weights: floats, neither of a batch nor large, each once."""
        data = [asnumpy(p) for b in self.batches for p in b if isinstance(p, numpy.ndarray)]
        shapes = {part.shape for part in data if part.dtype.kind == "f"}
        found: dict[int, tuple[str, Any, list[tuple[Holder, Any]]]] = {}
        for holder in self.state.reached:
            for key, value in items(holder.entries):
                is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fi"
                if not is_array or not value.size or isinstance(holder.owner, tuple):
                    continue
                is_named = isinstance(key, str) and WEIGHT.search(key)
                if value.shape in shapes and not is_named:
                    continue
                if value.dtype.kind == "i" and not (isinstance(key, str) and WEIGHT.search(key)):
                    continue
                entry = found.setdefault(id(value), (f"{holder.path}{key}", value, []))
                entry[2].append((holder, key))
        return [
            Weight(name, _reader(places), False, places)
            for name, _, places in islice(found.values(), CANDIDATES)
        ]

    def _that_count(self, arrays: list[Weight]) -> list[Weight]:
        """Those that the loss depends on and that move, or whose names or neighbours are theirs."""
        batch, counted = self.batches[0], list[Weight]()
        self.reset()
        first = self.take(batch)
        measure = self.loss if math.isnan(first) else self.take
        moving = {weight.name for weight in arrays if self._has_moved(weight)}
        unpushed = {weight.name: numpy.array(weight.value()) for weight in arrays}
        for weight in arrays:
            key = weight.places[0][1]
            self.reset()
            value = weight.value()
            if value.dtype.kind == "i":
                counted.append(weight)
            if value.dtype.kind == "i" or (isinstance(key, str) and _STATES.fullmatch(key)):
                continue
            noise = numpy.random.default_rng(0).normal(size=value.shape)
            scale = 0.1 * (float(numpy.abs(value).mean()) or 0.1)
            was = value.copy()
            assign(value, value + scale * noise)
            pushed = value.copy()
            with contextlib.suppress(Exception):
                changed, after = measure(batch), weight.value()
                usual = unpushed[weight.name] if measure == self.take else was
                if changed != first and _follows(after, usual, pushed - was):
                    counted.append(weight)
        self.reset()
        homes = {id(w.places[0][0].owner) for w in counted if w.name in moving}
        return [
            weight
            for weight in counted
            if weight.name in moving
            or any(_is_listed(holder) for holder, _ in weight.places)
            or _is_named(weight)
            or (id(weight.places[0][0].owner) in homes and _is_box(weight.places[0][0].owner))
        ]

    def _has_moved(self, weight: Weight) -> bool:
        """Return whether it is another one now than at the beginning."""
        holder, key = weight.places[0]
        content = self.state.content_of(holder, key)
        return content is None or not numpy.array_equal(weight.value(), content)


def _is_named(weight: Weight) -> bool:
    key = weight.places[0][1]
    return isinstance(key, str) and bool(WEIGHT.search(key))


def _is_box(owner: Any) -> bool:
    """Return whether all that stands in an object belongs together, as in a dict of weights."""
    return isinstance(owner, dict | list) and "__builtins__" not in owner


def _follows(after: Any, usual: Any, push: Any) -> bool:
    """Return whether an array keeps a push, as a weight does and no state or buffer."""
    if after.shape != usual.shape:
        return False
    left, push = (after - usual).ravel().astype(float), push.ravel().astype(float)
    size = float(push @ push)
    return bool(numpy.isfinite(left).all()) and (size == 0 or float(left @ push) > 0.2 * size)


def _is_one(weight: Weight, array: Any) -> bool:
    """Return whether a weight is an array, or shares its numbers."""
    value = weight.value()
    if is_tensor(value):
        return is_tensor(array) and value.data_ptr() == array.data_ptr()
    return value is array or numpy.shares_memory(asnumpy(value), asnumpy(array))


def _reader(places: Sequence[tuple[Holder, Any]]) -> Callable[[], Any]:
    holder, key = places[0]
    return lambda: holder.entries[key]


def _is_listed(holder: Holder) -> bool:
    """Return whether it is the list or dict of an object's weights."""
    last = holder.path.rstrip(".").rpartition(".")[2]
    return isinstance(holder.owner, dict | list) and last in PARAMS


def _declared(name: str, one: Any) -> Weight:
    if isinstance(one, Parameter):
        return Weight(name, lambda: one.value, not one.trainable)
    return Weight(name, lambda: one.data if is_tensor(one) else one, not one.requires_grad)


def assign(array: Any, value: Any) -> None:
    """Write numbers into an array or a tensor in place."""
    if is_tensor(array):
        import torch

        with torch.no_grad():
            array.copy_(torch.as_tensor(value))
    elif hasattr(array, "dtype"):
        array[...] = value


def is_optimizer(value: Any) -> bool:
    """Return whether an object updates weights: one of deepnlp, of torch, or spelt like one."""
    if isinstance(value, Optimizer):
        return True
    kind = type(value)
    is_of_torch = hasattr(value, "param_groups") and hasattr(value, "zero_grad")
    is_own = any(has_own_method(kind, name) for name in ("update", "step")) and hasattr(value, "lr")
    return is_of_torch or (is_own and not isinstance(value, type | Layer))


def has_own_method(kind: type, name: str) -> bool:
    """Return whether a class has a method of this name that is somebody's own."""
    return callable(getattr(kind, name, None)) and kind.__module__ != "builtins"


def is_iterator(value: Any) -> bool:
    """Return whether a value can be gone through only once."""
    return hasattr(value, "__next__")


def number(result: Any) -> float:
    """The first number in what a step or an evaluation gives; nan where there is none."""
    if isinstance(result, dict):
        named = [value for key, value in result.items() if "loss" in str(key)]
        result = named or list(result.values())
    if isinstance(result, tuple | list):
        values = [number(one) for one in result]
        return next((value for value in values if not math.isnan(value)), math.nan)
    if is_tensor(result):
        return float(result.detach()) if result.numel() == 1 else math.nan
    if isinstance(result, int | float) and not isinstance(result, bool):
        return float(result)
    if hasattr(result, "dtype") and numpy.size(result) == 1:
        return float(asnumpy(result).reshape(()))
    return number(result.data) if hasattr(result, "data") and is_real(result.data) else math.nan


def _is_batch(given: Any) -> bool:
    """Return whether it is one batch itself: a tuple of arrays."""
    return isinstance(given, tuple) and len(given) > 1 and all(hasattr(p, "dtype") for p in given)


def _pair(batch: Any) -> Batch:
    if isinstance(batch, dict):
        return tuple(batch.values())
    return tuple(map(_as_array, batch)) if isinstance(batch, tuple | list) else (batch,)


def _as_array(part: Any) -> Any:
    """A list of numbers as an array, so that experiments can look at it."""
    is_list = isinstance(part, list) and part and all(type(n) in (int, float) for n in part)
    return numpy.array(part) if is_list else part


def same_batch(one: Batch, other: Batch) -> bool:
    """Return whether two batches hold the same numbers."""
    pairs = zip(leaves(one), leaves(other), strict=False)
    return shapes_of(one) == shapes_of(other) and all(
        numpy.array_equal(numbers(a), numbers(b)) for (_, a), (_, b) in pairs
    )


def shapes_of(batch: Batch) -> list[tuple[int, ...]]:
    """The shapes of all arrays of a batch."""
    return [numpy.shape(part) for _, part in leaves(batch)]


@contextlib.contextmanager
def hushed() -> Any:
    """Context in which a program prints nothing and warns of nothing."""
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(action="ignore"),
        numpy.errstate(all="ignore"),
    ):
        yield

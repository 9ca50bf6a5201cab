"""Where people keep their weights and the gradients of them, and what the outputs depend on."""

import ast
import inspect
import sys
import textwrap
import weakref
from abc import ABC, abstractmethod
from array import array
from collections import Counter, deque
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cache, reduce
from itertools import takewhile
from operator import getitem
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck import names as usual
from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.rules import INTENDED
from deepnlp.gradcheck.walking import (
    Holder,
    HostArray,
    entries_of,
    is_real,
    items,
    leaves,
    places,
    plain,
    replace,
)
from deepnlp.layer import Layer
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter, View

_LISTS = (list, tuple, deque, numpy.ndarray)
_KINDS = {"i": "integers", "u": "integers", "c": "complex numbers", "b": "truth values"}
_UNSEEN = {  # what may keep numbers, and is not looked into
    "bytes": (bytes, bytearray),
    "exact numbers": (Decimal, Fraction),
    "a weak reference": (weakref.ref,),
    "the memory of a function": (type(cache(len)),),
}
NUMBERS = (int, float, complex, numpy.number)
"""Single numbers."""

Place = tuple[Any, Any]
"""The container and the key of a gradient."""


def gradient_names(key: Any, others: Container[Any] = ()) -> tuple[str, ...]:
    """The usual names of the gradient of something, the likeliest first.

    Parameters
    ----------
    key : str or int
    others : container
        What else there is: beside ``w``, ``dw`` is not the gradient of ``W``.

    Examples
    --------
    >>> gradient_names("W")[:4]
    ('dW', 'grad_W', 'W_grad', 'd_W')
    """
    return tuple(name for one in _spelt(str(key), others) for name in _gradient_names(one))


@cache
def _gradient_names(key: str) -> tuple[str, ...]:
    return tuple(form.format(key) for form in usual.GRADIENT_FORMS)


def _spelt(key: str, others: Container[Any]) -> list[str]:
    """The ways to write a name, without those that are the names of others."""
    spelt = [key, key.strip("_"), key.lower(), key.strip("_").lower(), key.replace("_", "")]
    return [one for one in dict.fromkeys(spelt) if one == key or one not in others]


def belongs(name: str, key: Any, others: Container[Any] = ()) -> bool:
    """Return whether a gradient of that name is that of a variable of this key.

    >>> belongs("dW", "W"), belongs("W", "W"), belongs("dx", "W"), belongs("dw", "W", ["w", "W"])
    (True, True, False, False)
    """
    key = str(key)
    is_same = name == key or (name == key.lower() and name not in others)
    return bool(name) and (is_same or name in gradient_names(key, others))


class Variable(ABC):
    """Something the outputs depend on: its value can be set, its analytic gradient read."""

    forced: Any = None  # the gradient that the caller named
    returned: Any = None  # by backward
    is_returned = False  # though perhaps as None

    @abstractmethod
    def get(self) -> HostArray:
        """Value on the host, in float64."""

    @abstractmethod
    def set(self, value: Any) -> None:
        """Put another value in place for the next forward."""

    def grad(self) -> Any:
        """Gradient after backward; None where there is none."""
        return self.returned if self.forced is None else self.forced

    def source(self) -> str:
        """Where the gradient is, in words."""
        return "returned" if self.forced is None else "given"


class Input(Variable):
    """An array that forward takes, by itself or in a dict, a list or a tuple.

    Parameters
    ----------
    inputs : list
        All that forward takes.
    path : tuple
        Its position among them, and the keys that lead to it there.
    name : str
    position : int
        Its place among all that stands in the inputs.
    """

    def __init__(self, inputs: list[Any], path: tuple[Any, ...], name: str, position: int) -> None:
        self.inputs, self.path, self.name, self.position = inputs, path, name, position
        self.key = str(path[-1]) if len(path) > 1 else name

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(reduce(getitem, self.path, self.inputs))

    def set(self, value: Any) -> None:
        """Put another value in place."""
        _put(self.inputs, self.path, value)


def _put(owner: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A nested structure with another value in one place; tuples are made anew."""
    key, *rest = path
    new = _put(owner[key], tuple(rest), value) if rest else value
    if isinstance(owner, tuple):
        given = [new if k == key else one for k, one in enumerate(owner)]
        return type(owner)(*given) if hasattr(owner, "_fields") else tuple(given)
    owner[key] = new
    return owner


class State(Variable):
    """The state a recurrent layer starts from; it lives in the snapshot that is put back.

    Parameters
    ----------
    snapshot : dict
    key : str
        Its name there.
    layer : TimeRecurrent
    """

    def __init__(self, snapshot: dict[str, Any], key: str, layer: TimeRecurrent) -> None:
        self.snapshot, self.key, self.layer = snapshot, key, layer

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self.snapshot[self.key], dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place."""
        self.snapshot[self.key] = value

    def grad(self) -> Any:
        """``layer.dh0`` or ``layer.dc0``."""
        return getattr(self.layer, self.source())

    def source(self) -> str:
        """Its name."""
        return f"d{self.key.rpartition('.')[2]}0"


class Weight(Variable):
    """A Parameter, or a reading of one."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(asnumpy(self.parameter.value))

    def set(self, value: Any) -> None:
        """Put another value in place; a complex one makes the weight complex."""
        value = asarray(value) if isinstance(value, numpy.ndarray) else value  # or followed
        if value.dtype.kind == "c":
            self.parameter.astype(value.dtype)
        self.parameter.value = value

    def grad(self) -> Any:
        """``parameter.grad``."""
        return self.parameter.grad

    def source(self) -> str:
        """Its name there."""
        return "grad"


class Attribute(Variable):
    """An array or a number among the attributes or in a list, perhaps with its gradient beside it.

    Parameters
    ----------
    found : list of Holder
        All that may hold it.
    name : str
        Such as ``"W"``, ``"layers.0.W"``, ``"params[1]"``.
    holder : Holder
    key : str or int
        It is ``holder.entries[key]``.
    value : array or float
    """

    def __init__(
        self, found: list[Holder], name: str, holder: Holder, key: Any, value: Any
    ) -> None:
        self.found, self.name, self.holder, self.key = found, name, holder, key
        self.value = self._now = value  # what stands in its place may be another for a while

    @property
    def is_float(self) -> bool:
        """True if the variable is made of floating-point numbers."""
        return is_real(self.value) or isinstance(self.value, float | numpy.floating)

    @property
    def is_array(self) -> bool:
        """True if the variable is an array, and no single number."""
        return isinstance(self.value, numpy.ndarray)

    @property
    def is_constant(self) -> bool:
        """True if the variable may be no weight: by its name or place, or since it is read-only."""
        is_number = not self.is_array
        if is_number or usual.CUSTOMARY.fullmatch(str(self.key)) or not self.value.flags.writeable:
            return True
        return self.holder.is_shared and not usual.WEIGHT.search(str(self.key))

    @property
    def is_enclosed(self) -> bool:
        """True if a function encloses it, as the weights of a layer that is a function."""
        code = getattr(self.holder.owner, "__code__", None)
        return code is not None and self.key in code.co_freevars

    @property
    def kind(self) -> str:
        """The kind of numbers, if they are not real."""
        kind = self.value.dtype.kind if hasattr(self.value, "dtype") else ""
        kind = "c" if isinstance(self.value, complex) else kind
        if not self.is_array and isinstance(self.holder.entries, tuple):
            return "a number in a tuple"
        if kind == "V":
            return f"a structured array of {', '.join(self.value.dtype.names or ())}"
        return _KINDS.get(kind, "a whole number" if isinstance(self.value, int) else "")

    @contextmanager
    def changed(self) -> Iterator[None]:
        """Context in which it holds other numbers."""
        value, content = self.value, self.value.copy() if self.is_array else None
        entries, up = self.holder.entries, self.holder.up
        if content is None and self.kind == "a number in a tuple" and up is not None:
            changed = (*entries[: self.key], 1.25 * value + 0.125, *entries[self.key + 1 :])
            entries, key, value = up.entries, self.holder.key, entries
            entries[key] = changed
        elif content is None:
            entries[key := self.key] = 1.25 * value + 0.125
        elif content.dtype.kind == "V":
            value[...] = numpy.zeros((), content.dtype)
        elif content.dtype.kind in "fc":  # not the same everywhere: a softmax would not show it
            step = 0.125 * numpy.cos(numpy.arange(content.size)).reshape(content.shape)
            value[...] = 1.25 * content + step
        else:
            value[...] = content + 1
        try:
            yield
        finally:
            if content is None:
                entries[key] = value
            else:
                value[...] = content

    def widen(self) -> None:
        """Make real numbers of whole ones."""
        if not self.is_float and self.is_array:
            wide = self.value.astype("float64")
            replace(self.found, self.value, wide)
            self.value = self._now = wide
        elif not self.is_float:
            self.value = self._now = float(self.value)

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self._now, dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place.

        A float value is written into the array, because other lists may hold it too; another kind
        of array (complex, or one that a tape follows) replaces it wherever it is held.
        """
        if not self.is_array:
            value = value[()] if isinstance(value, numpy.ndarray) else value
        elif isinstance(value, numpy.ndarray) and not numpy.iscomplexobj(value):
            self.value[...] = value
            value = self.value
        if self.is_array and self._now is not value:
            replace(self.found, self._now, value)
        self._now = value
        if not isinstance(self.holder.entries, tuple):  # where somebody may have put another
            self.holder.entries[self.key] = value

    def grad(self) -> Any:
        """The array beside it, or the one that backward returned."""
        place = self.place()
        if self.forced is not None or place is None:
            return super().grad()
        return plain(place[0][place[1]])

    def source(self) -> str:
        """Where the gradient is, in words."""
        place = self.place()
        if self.forced is not None or place is None:
            return super().source()
        return f"[{place[1]}]" if isinstance(place[1], int) else str(place[1])

    def place(self) -> Place | None:
        """Where its gradient is, under any of the usual names; None if it is not beside it."""
        entries = self.holder.entries
        names = gradient_names(self.key, entries if _is_dict(entries) else ())
        if isinstance(self.key, str) and self.key in usual.DATA:  # a box with its gradient
            return _of_names(entries, usual.GRAD)
        found = _of_names(entries, names)
        if found is None and self.holder.up is not None and self.holder.is_shared:
            found = _of_names(self.holder.up.entries, names)  # self.dW for a W of the class
        twins = (_of_names(t, [self.key, *names]) or _at(t, k) for t, k in self._twins())
        return found or next(filter(None, twins), None)

    def _twins(self) -> Iterator[tuple[Any, int]]:
        """Containers that may hold gradients, each with the position that would be its own."""
        entries = self.holder.entries
        for owner in self._owners():  # beside it, or beside a list of weights
            named = owner.entries if _is_dict(owner.entries) else {}
            listed: Any = next((named[name] for name in usual.PARAMS if name in named), None)
            is_list = isinstance(listed, _LISTS)
            numbers = [k for k, one in enumerate(listed) if one is self.value] if is_list else []
            for name in usual.GRADS if numbers or owner is self.holder else ():
                yield named.get(name), next(iter(numbers), sys.maxsize)
        position = [key for key, _ in items(entries)].index(self.key)
        is_listed = isinstance(self.holder.owner, list | dict | tuple | deque)
        node, way = self.holder, list[Any]()
        while node.up is not None:  # at the same place, as in grads[0]["W"] or dcell.W
            beside = node.up.entries
            for name in [*gradient_names(node.key), *usual.GRADS] if _is_dict(beside) else []:
                twin = reduce(_inside, way, beside.get(name))
                is_numeric = isinstance(twin, numpy.ndarray) and twin.dtype.kind != "O"
                if twin is not None and twin is not self.holder.owner and not is_numeric:
                    is_own = self.is_array or name not in usual.GRADS
                    is_ordered = is_own and (bool(way) or is_listed)
                    yield entries_of(twin), position if is_ordered else sys.maxsize
            node, way = node.up, [node.key, *way]

    def _owners(self) -> Iterator[Holder]:
        """Yield the objects that hold the variable, from within."""
        holder: Holder | None = self.holder
        while holder is not None:
            yield holder
            holder = holder.up

    def told_missing(self) -> str:
        """A sentence on what was looked for, where there is no gradient."""
        key = self.key if isinstance(self.key, str) else self.name
        in_list = isinstance(self.holder.owner, list | dict | tuple)
        owner = self.holder.up.owner if in_list and self.holder.up else self.holder.owner
        local = local_names(getattr(owner, "backward", None)) & set(gradient_names(key))
        if local:
            name = min(local)
            return say("local", name=name)
        kind = "missing at position" if isinstance(self.key, int) else "missing"
        return say(kind, name=self.name, key=key, lower=f"d{key}".lower(), position=self.key)


def held_arrays(found: list[Holder]) -> Iterator[Attribute]:
    """The arrays that these hold, except those of Parameters, each once.

    Single numbers are among them, wherever they stand, but for those of modules and tuples.
    """
    seen: set[int] = set()
    names: set[str] = set()
    for holder, key, entry in places(found):
        if isinstance(holder.owner, View) or holder.path.rstrip(".").split(".")[-1] in usual.GRADS:
            continue
        is_box = _is_dict(holder.entries) and any(name in holder.entries for name in usual.DATA)
        is_buffer = isinstance(entry, array) and entry.typecode in "df"
        value: Any = numpy.frombuffer(entry, entry.typecode) if is_buffer else entry
        is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fiucVb"
        is_in_tuple = isinstance(holder.entries, tuple)
        kinds = (float, numpy.floating) if is_in_tuple else NUMBERS
        is_closed = holder.is_shared or (is_in_tuple and not holder.is_replaceable)
        is_number = isinstance(value, kinds) and not isinstance(value, bool) and not is_closed
        if id(entry) in seen or not (is_array or is_number) or (is_box and key in usual.GRAD):
            continue
        if is_array:
            seen.add(id(entry))
        name = path_of(holder, key)
        while name in names:
            name += "'"
        names.add(name)
        yield Attribute(found, name, holder, key, value)


def unseen(found: list[Holder]) -> dict[str, str]:
    """Return objects that may keep numbers and are not looked into, by name, with their kinds."""
    told = dict[str, str]()
    for holder, key, value in places(found):
        name = holder.path.rstrip(".") if isinstance(key, int) else path_of(holder, key)
        for kind, types in _UNSEEN.items():
            if isinstance(value, types) and not str(key).startswith("__"):
                told[name] = f"not seen: {kind}, {INTENDED}"
    return told


def held_views(layer: Any, found: list[Holder]) -> Iterator[tuple[str, Parameter]]:
    """The Parameters of an object and of the objects inside, each once, by name."""
    if isinstance(layer, Layer):
        yield from (one for one in layer.named_parameters() if one[1].trainable)
        return
    seen: set[int] = set()
    for holder, key, value in places(found):
        is_view = isinstance(value, View) and not isinstance(holder.owner, View)
        for name, base in value.named_bases(path_of(holder, key)) if is_view else ():
            if id(base) not in seen and base.trainable:
                seen.add(id(base))
                yield name, base


def kept_gradient(layer: Any, key: str) -> Any:
    """The gradient of an input that backward kept as ``self.dx``; None if there is none."""
    entries, name = _of_names(entries_of(layer), gradient_names(key)) or (None, None)
    return None if entries is None else entries[name]


def local_names(function: Any) -> set[str]:
    """Names of the local variables of a function, and of those it returns."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return set(code.co_varnames[code.co_argcount :]) if code is not None else set()


def path_of(holder: Holder, key: Any) -> str:
    """The name of what a holder holds, such as ``"layers.0.W"`` or ``"params[1]"``."""
    if isinstance(key, int):
        return f"{holder.path.rstrip('.')}[{key}]"
    before, _, last = holder.path.rstrip(".").rpartition(".")
    if last in usual.PARAMS and isinstance(holder.owner, dict):
        return f"{before}.{key}" if before else str(key)
    return f"{holder.path}{key}"


def _inside(owner: Any, key: Any) -> Any:
    """Return the value at a key, a name or a position; None if there is none."""
    try:
        return entries_of(owner)[key]
    except (KeyError, IndexError, TypeError):
        return None


def _is_dict(entries: Any) -> bool:
    return hasattr(entries, "keys")


def _of_names(entries: Any, names: Any) -> Place | None:
    if not _is_dict(entries):
        return None
    listed = list(entries)
    known = [n for n in names if n in listed and _is_gradient(entries[n])]
    # Of several, the one that was there first: the constructor made it, and an optimizer knows it.
    return (entries, min(known, key=listed.index)) if known else None


def _at(entries: Any, position: int) -> Place | None:
    is_there = isinstance(entries, _LISTS) and position < len(entries)
    return (entries, position) if is_there and _is_gradient(entries[position]) else None


def _is_gradient(value: Any) -> bool:
    """Return whether a value is an array of numbers, or a number."""
    value = plain(value)
    is_number = isinstance(value, numpy.ndarray | numpy.generic | float | int | array)
    return is_number and not isinstance(value, bool)


# --- What backward returned ----------------------------------------------------------------------


class Part(NamedTuple):
    """A gradient that was returned; ``name`` is empty where it is not known, or a key of a dict.

    The ``path`` to it are the keys of what it stands in.
    """

    name: str
    value: Any
    is_key: bool = False
    path: tuple[Any, ...] = ()


def parts(returned: Any, names: list[str], shape: tuple[int, ...] | None) -> list[Part]:
    """The gradients that backward returned, in order.

    Parameters
    ----------
    returned : object
    names : list of str
        Under which they are returned, after the source of backward.
    shape : tuple of int, optional
        Of the only input: a list of that shape is one gradient.
    """
    if isinstance(returned, list) and shape is not None and shape_of(returned) == shape:
        return [Part("", returned)]
    keyed = [((None, *path), value) for path, value in leaves(returned)]
    found = [
        Part(path[-1], value, True, path) if isinstance(path[-1], str) else Part("", value)
        for path, value in keyed
    ]
    if len(names) == len(found):
        found = [p if p.name else Part(n, p.value) for n, p in zip(names, found, strict=True)]
    return found


def hand_over(given: list[Part], inputs: list[Input], count: int, weights: list[Attribute]) -> None:
    """Give each part to the variable it belongs to, by its name or by its place.

    Parameters
    ----------
    given : list of Part
    inputs : list of Input
        Those that have a gradient, of ``count`` inputs.
    weights : list of Attribute
        Those whose gradient is nowhere else: it may be returned behind those of the inputs.
    """
    both: list[Input | Attribute] = [*inputs, *weights]
    keys = [str(variable.key) for variable in both]

    def _owner(part: Part, variables: Sequence[Input | Attribute]) -> Input | Attribute | None:
        """The variable that a part belongs to by its name."""
        fitting = [v for v in variables if belongs(part.name, v.key, keys)]
        return max(fitting, key=lambda variable: _alike(part.path, variable), default=None)

    for variable in both:
        variable.returned, variable.is_returned = None, False
    keyed = [(part, _owner(part, both)) for part in given if part.is_key]
    if any(owner is not None for _, owner in keyed):
        given = [part for part in given if not part.is_key]
        for part, owner in [*keyed, *_left_over(keyed, weights)]:
            if owner is not None:
                _give(owner, part)
    inputs = [v for v in inputs if not v.is_returned]
    weights = [v for v in weights if not v.is_returned]
    owners = [_owner(part, [*inputs, *weights]) for part in given]
    known = [v for v in owners if v is not None]
    of_weights = any(isinstance(v, Attribute) for v in known)
    others = [part for part, owner in zip(given, owners, strict=True) if owner is None]
    is_known = len({id(v) for v in known}) == len(known)
    if others:  # such as the last state, beside the gradients of all weights
        has_all = bool(weights) and {id(v) for v in weights} <= {id(v) for v in known}
        is_known = is_known and has_all and not any(map(_may_be_gradient, others))
    if is_known and (of_weights or len(known) < len(inputs)):
        for owner, part in zip(owners, given, strict=True):
            if owner is not None:
                _give(owner, part)
        return
    # One for each input, such as (None, dx) for (ids, x); or one for each that has a gradient.
    by_place = [(v, given[v.position]) for v in inputs] if len(given) >= count else []
    in_order = list(zip(inputs, given, strict=False))
    rest = given[len(inputs) :]
    if _fit(by_place) or (len(given) == count and not _fit(in_order)):
        in_order, rest = by_place, given[count:]
    elif len(given) < len(inputs) and not _fit(in_order):
        in_order = _by_shape(inputs, given) or in_order
    for variable, part in in_order:
        _give(variable, part)
    for part in rest:
        left = [v for v in weights if not v.is_returned and part.value is not None]
        alike = [v for v in left if shape_of(part.value) == v.get().shape]
        if owner := _owner(part, left) or next(iter(alike), None):
            _give(owner, part)


def _alike(path: tuple[Any, ...], variable: Input | Attribute) -> int:
    """How many of the keys that lead to a gradient are those of a variable, from within."""
    way = variable.path[1:] if isinstance(variable, Input) else ()
    pairs = zip(reversed(path), reversed(way), strict=False)
    return len(list(takewhile(lambda pair: belongs(str(pair[0]), pair[1]), pairs)))


def _by_shape(inputs: list[Input], given: list[Part]) -> list[tuple[Input, Part]]:
    """Each part and the next input of its shape; nothing if there is one without."""
    left = iter(inputs)
    alike = [
        next((v for v in left if shape_of(part.value) == v.get().shape), None) for part in given
    ]
    pairs = zip(alike, given, strict=True)
    return [(v, part) for v, part in pairs if v is not None] if None not in alike else []


def _left_over(keyed: list[tuple[Part, Any]], weights: list[Attribute]) -> list[tuple[Part, Any]]:
    """Keys of other names than the weights, such as "b" for b1, by shapes that occur once.

    A key with a number, such as "b3" beside b1 and b2, is that of another weight.
    """
    unknown = [part for part, owner in keyed if owner is None and not part.name[-1:].isdigit()]
    keys = [(shape_of(part.value), part) for part in unknown]
    owned = {id(owner) for _, owner in keyed}
    free = [(v.get().shape, v) for v in weights if id(v) not in owned]
    seen = Counter(shape for shape, _ in [*keys, *free])
    return [(k, v) for of_k, k in keys for of_v, v in free if of_k == of_v and seen[of_k] == 2]


def _may_be_gradient(part: Part) -> bool:
    """Return whether a value may be a gradient: it has no name, or a gradient's."""
    return not part.name or usual.GRADIENT.match(part.name) is not None


def _give(variable: Input | Attribute, part: Part) -> None:
    variable.returned, variable.is_returned = part.value, True


def _fit(pairs: Sequence[tuple[Input, Part]]) -> bool:
    """Return whether every gradient has the shape of its input."""
    return bool(pairs) and all(shape_of(part.value) == v.get().shape for v, part in pairs)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array; None of lists of several lengths."""
    try:
        return numpy.shape(value)
    except ValueError:
        return None


def names_returned(function: Any, nested: bool = True) -> list[str]:
    """Names in the last ``return a, (b, self.c)`` or ``return a``; empty ones for expressions.

    Where they are not nested, one for each thing that is returned, though it be a tuple.
    """
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        return []
    return _names_in(function, nested)


@cache
def _names_in(function: Callable[..., Any], nested: bool) -> list[str]:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return []
    outer = tree.body[0]
    returns = [node.value for node in _own_nodes(outer) if isinstance(node, ast.Return)]
    if not returns or returns[-1] is None:
        return []
    last = returns[-1]
    names = _names_of(last)
    if isinstance(names, list) and not nested:
        return [name if isinstance(name, str) else "" for name in names]
    return [name for _, name in leaves(names)]


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All in the body of a function but not in functions inside."""
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield one
            yield from _own_nodes(one)


def _names_of(node: ast.expr) -> Any:
    """The name of an expression, or a list of those in a tuple; empty where there is none."""
    if isinstance(node, ast.Tuple | ast.List):
        return list(map(_names_of, node.elts))
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return _names_of(node.value)  # hs[-1] is one of hs
    return getattr(node, "id", getattr(node, "attr", ""))

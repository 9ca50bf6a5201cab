"""Where people keep their weights and the gradients of them, and what the outputs depend on."""

import ast
import inspect
import textwrap
from array import array
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.names import (
    CONSTANT,
    DATA,
    GRAD,
    GRADIENT,
    GRADS,
    PARAMS,
    WEIGHT,
    belongs,
    gradient_names,
    plain,
)
from deepnlp.gradcheck.walking import Holder, HostArray, entries_of, is_real, items, replace
from deepnlp.layer import Layer
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter, View

Source = tuple[Any, Any]
"""The container and the key of a gradient."""


class Held(NamedTuple):
    """A weight: an array, or a number with a gradient beside it.

    Attributes
    ----------
    name : str
        Such as ``"W"``, ``"layers.0.W"``, ``"params[1]"``.
    holder : Holder
    key : str or int
        The weight is ``holder.entries[key]``.
    value : array or float
    content : array
        A copy of it as it was when it was found.
    """

    name: str
    holder: Holder
    key: Any
    value: Any
    content: HostArray

    @property
    def is_float(self) -> bool:
        """Whether it is made of floating-point numbers."""
        return is_real(self.value) or isinstance(self.value, float)

    @property
    def is_array(self) -> bool:
        """Whether it is an array, and no single number."""
        return isinstance(self.value, numpy.ndarray)

    @property
    def is_constant(self) -> bool:
        """Whether nobody expects a gradient: by its name, or because it may not be written."""
        if CONSTANT.search(str(self.key)) or not self.value.flags.writeable:
            return True
        return self.holder.is_shared and not WEIGHT.search(str(self.key))

    def gradient(self) -> Any:
        """Its gradient, under any of the usual names; None if there is none."""
        entries, key = self.source() or (None, None)
        return None if entries is None else entries[key]

    def source(self) -> Source | None:
        """Where its gradient is."""
        entries, names = self.holder.entries, gradient_names(self.key)
        if self.key in DATA and isinstance(self.key, str):  # a box with a value and its gradient
            return _of_names(entries, GRAD)
        found = _of_names(entries, names)
        if found is None and _is_dict(entries):
            found = self._of_lists(entries, names)
        if found is None and self.holder.up is not None and self.holder.is_shared:
            found = _of_names(self.holder.up.entries, names)  # self.dW for a W of the class
        return self._mirrored(entries, names) if found is None else found

    def _mirrored(self, entries: Any, names: tuple[str, ...]) -> Source | None:
        """From the same place in a container of gradients: ``grads[0]["W"]``, ``dcell.W``."""
        node, way, found = self.holder, list[Any](), None
        while node.up is not None and found is None:
            beside = node.up.entries
            usual = (*gradient_names(node.key), *GRADS) if _is_dict(beside) else ()
            for name in (name for name in usual if name in beside):
                twin = beside[name]
                for key in way:
                    twin = _inside(twin, key)
                if twin is not None and twin is not self.holder.owner and found is None:
                    position = [key for key, _ in items(entries)].index(self.key)
                    twin = entries_of(twin)
                    found = _of_names(twin, [self.key, *names]) or _at(twin, position)
            node, way = node.up, [node.key, *way]
        return found

    def _of_lists(self, entries: Any, names: tuple[str, ...]) -> Source | None:
        """From a list or dict of gradients among the same attributes."""
        for name in GRADS:
            beside, found = entries.get(name), None
            if hasattr(beside, "keys"):
                found = _of_names(beside, [self.key, *names])
            elif isinstance(beside, list | tuple | deque | numpy.ndarray):
                listed: Any = next((entries[p] for p in PARAMS if p in entries), [])
                places = [k for k, one in items(listed) if one is self.value]
                found = _at(beside, places[0]) if places else None
            if found is not None:
                return found
        return None

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


def held_arrays(found: list[Holder]) -> Iterator[Held]:
    """The arrays that these hold, except those of Parameters, each once.

    Single numbers are among them where a gradient may be beside them: ``self.a`` and ``self.da``.
    """
    seen: set[int] = set()
    names: set[str] = set()
    for holder in found:
        if isinstance(holder.owner, View) or holder.path.rstrip(".").split(".")[-1] in GRADS:
            continue
        box = any(name in holder.entries for name in DATA) if _is_dict(holder.entries) else False
        for key, entry in list(items(holder.entries)):
            is_buffer = isinstance(entry, array) and entry.typecode in "df"
            value: Any = numpy.frombuffer(entry, entry.typecode) if is_buffer else entry
            is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fiu"
            is_closed = holder.is_shared or isinstance(holder.owner, list | dict | tuple | deque)
            is_number = isinstance(value, float) and not is_closed
            if id(entry) in seen or not (is_array or is_number) or (box and key in GRAD):
                continue
            if is_array:
                seen.add(id(entry))
            name = path_of(holder, key)
            while name in names:
                name += "'"
            names.add(name)
            yield Held(name, holder, key, value, numpy.array(value))


def held_views(layer: Any, found: list[Holder]) -> Iterator[tuple[str, Parameter]]:
    """The Parameters of an object and of the objects inside, each once, by name."""
    if isinstance(layer, Layer):
        yield from (one for one in layer.named_parameters() if one[1].trainable)
        return
    seen: set[int] = set()
    for holder in found:
        if isinstance(holder.owner, View):
            continue
        for key, value in list(items(holder.entries)):
            bases = value.named_bases(path_of(holder, key)) if isinstance(value, View) else []
            for name, base in bases:
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
    if last in PARAMS and isinstance(holder.owner, dict):
        return f"{before}.{key}" if before else str(key)
    return f"{holder.path}{key}"


def _inside(owner: Any, key: Any) -> Any:
    """What stands at a key, a name or a position; None if nothing does."""
    try:
        return entries_of(owner)[key]
    except (KeyError, IndexError, TypeError):
        return None


def _is_dict(entries: Any) -> bool:
    return hasattr(entries, "keys")


def _of_names(entries: Any, names: Any) -> Source | None:
    if not _is_dict(entries):
        return None
    listed = list(entries)
    known = [n for n in names if n in listed and _is_gradient(entries[n])]
    # Of several, the one that was there first: the constructor made it, and an optimizer knows it.
    return (entries, min(known, key=listed.index)) if known else None


def _at(entries: Any, position: int) -> Source | None:
    is_there = isinstance(entries, list | tuple | deque | numpy.ndarray) and position < len(entries)
    return (entries, position) if is_there and _is_gradient(entries[position]) else None


def _is_gradient(value: Any) -> bool:
    """Whether it is an array of numbers, or a number."""
    value = plain(value)
    is_number = isinstance(value, numpy.ndarray | numpy.generic | float | int | array)
    return is_number and not isinstance(value, bool)


class Variable:
    """Something the outputs depend on: its value can be set, its analytic gradient read."""

    forced: Any = None  # the gradient that the caller named

    def get(self) -> HostArray:
        """Value on the host, in float64."""
        raise TypeError(f"{type(self).__name__} has no get")

    def set(self, value: Any) -> None:
        """Put another value in place for the next forward."""
        raise TypeError(f"{type(self).__name__} has no set")

    def grad(self) -> Any:
        """Gradient after backward; None where there is none."""
        raise TypeError(f"{type(self).__name__} has no grad")

    def source(self) -> str:
        """Where the gradient is, in words."""
        return "grad"

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""

    def put_back(self) -> None:
        """Undo what a backward did to it that updates its weights itself."""


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
        self.returned: Any = None  # by backward
        self.is_returned = False  # though perhaps as None

    def get(self) -> HostArray:
        """Value on the host."""
        value: Any = self.inputs
        for key in self.path:
            value = value[key]
        return numpy.array(value)

    def set(self, value: Any) -> None:
        """Put another value in place."""
        _put(self.inputs, self.path, value)

    def grad(self) -> Any:
        """What backward returned for it."""
        return self.returned if self.forced is None else self.forced

    def source(self) -> str:
        """Where the gradient is, in words."""
        return "given" if self.forced is not None else "returned"


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
        self.remember()

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(asnumpy(self.parameter.value))

    def set(self, value: Any) -> None:
        """Put another value in place; a complex one makes the weight complex."""
        value = asarray(value)
        if value.dtype.kind == "c":
            self.parameter.astype(value.dtype)
        self.parameter.value = value

    def grad(self) -> Any:
        """``parameter.grad``."""
        return self.parameter.grad

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""
        self._content = self.parameter.value.copy()

    def put_back(self) -> None:
        """Undo an update."""
        self.parameter.value = self._content


class Attribute(Variable):
    """An array or a number among the attributes or in a list, its gradient beside it.

    Parameters
    ----------
    found : list of Holder
        All that may hold it.
    held : Held
    """

    def __init__(self, found: list[Holder], held: Held) -> None:
        self.found, self.held, self.key, self.name = found, held, str(held.key), held.name
        self.returned: Any = None  # by backward, beside dx
        self.is_returned = False
        self._now = held.value  # what stands in its place
        self._content = held.content

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self._now, dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place.

        A float value is written into the array, because other lists may hold it too; another kind
        of array (complex, or one that a tape follows) replaces it wherever it is held.
        """
        is_array = isinstance(value, numpy.ndarray)
        if not self.held.is_array:
            self._now = value[()] if is_array else value
            self.held.holder.entries[self.held.key] = self._now
            return
        if is_array and not numpy.iscomplexobj(value):
            self.held.value[...] = value
            value = self.held.value
        if self._now is not value:
            replace(self.found, self._now, value)
            self._now = value
        if self.held.holder.is_shared:  # a copy of the check shares it with the check
            self.held.holder.entries[self.held.key] = value

    def grad(self) -> Any:
        """The array beside it, or the one that backward returned."""
        found = self.held.gradient() if self.forced is None else self.forced
        return self.returned if found is None else plain(found)

    def source(self) -> str:
        """Where the gradient is, in words."""
        found = self.held.source()
        if self.forced is not None or found is None:
            return "returned" if self.forced is None else "given"
        return f"[{found[1]}]" if isinstance(found[1], int) else str(found[1])

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""
        self._content = numpy.array(self._now)

    def put_back(self) -> None:
        """Undo an update, in place or by assignment."""
        entries, key = self.held.holder.entries, self.held.key
        if self.held.is_array:
            self.held.value[...] = self._content
        if not isinstance(entries, tuple):
            entries[key] = self._now


# --- What backward returned ----------------------------------------------------------------------


class Part(NamedTuple):
    """A gradient that was returned; ``name`` is empty where it is not known, or a key of a dict."""

    name: str
    value: Any
    is_key: bool = False


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
    if isinstance(returned, list) and shape is not None and _shape_of(returned) == shape:
        return [Part("", returned)]
    found = list(_flat(returned))
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
        alike = [v for v in left if numpy.shape(part.value) == v.get().shape]
        if owner := _owner(part, left) or next(iter(alike), None):
            _give(owner, part)


def _by_shape(inputs: list[Input], given: list[Part]) -> list[tuple[Input, Part]]:
    """Each part and the next input of its shape; nothing if there is one without."""
    left = iter(inputs)
    alike = [
        next((v for v in left if _shape_of(part.value) == v.get().shape), None) for part in given
    ]
    pairs = zip(alike, given, strict=True)
    return [(v, part) for v, part in pairs if v is not None] if None not in alike else []


def _left_over(keyed: list[tuple[Part, Any]], weights: list[Attribute]) -> list[tuple[Part, Any]]:
    """Keys of other names than the weights, such as "b" for b1, by shapes that occur once.

    A key with a number, such as "b3" beside b1 and b2, is that of another weight.
    """
    unknown = [part for part, owner in keyed if owner is None and not part.name[-1:].isdigit()]
    keys = [(_shape_of(part.value), part) for part in unknown]
    owned = {id(owner) for _, owner in keyed}
    free = [(v.get().shape, v) for v in weights if id(v) not in owned]
    seen = Counter(shape for shape, _ in [*keys, *free])
    return [(k, v) for of_k, k in keys for of_v, v in free if of_k == of_v and seen[of_k] == 2]


def _owner(part: Part, variables: Sequence[Input | Attribute]) -> Input | Attribute | None:
    """The variable that a part belongs to by its name."""
    return next((v for v in variables if belongs(part.name, v.key)), None)


def _may_be_gradient(part: Part) -> bool:
    """Whether nothing speaks against it: it has no name, or one of a gradient."""
    return not part.name or GRADIENT.match(part.name) is not None


def _give(variable: Input | Attribute, part: Part) -> None:
    variable.returned, variable.is_returned = part.value, True


def _fit(pairs: Sequence[tuple[Input, Part]]) -> bool:
    """Whether every gradient has the shape of its input."""
    return bool(pairs) and all(_shape_of(part.value) == v.get().shape for v, part in pairs)


def _flat(value: Any, name: str = "") -> Iterator[Part]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, str(key))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
    else:
        yield Part(name, value, bool(name))


def _shape_of(value: Any) -> tuple[int, ...] | None:
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
    if isinstance(last, ast.Tuple | ast.List) and not nested:
        return list(map(_name_of, last.elts))
    return list(map(_name_of, _leaves(last)))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All in the body of a function but not in functions inside."""
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield one
            yield from _own_nodes(one)


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for one in node.elts:
            yield from _leaves(one)
    else:
        yield node


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return _name_of(node.value)  # hs[-1] is one of hs
    return node.attr if isinstance(node, ast.Attribute) else ""

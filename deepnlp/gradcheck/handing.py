"""What backward returned, and which variable each part of it is the gradient of."""

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy

from deepnlp.gradcheck.names import GRADIENT, belongs
from deepnlp.gradcheck.variables import Attribute, Input


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

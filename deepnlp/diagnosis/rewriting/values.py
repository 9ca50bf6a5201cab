"""Candidates for a place of a backward: names, and parts of its own code and of forward's."""

import ast
import copy
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import (
    UNKNOWN,
    Ran,
    loop_variables,
    numbers_of_comprehensions,
    shape_of,
    signature,
)
from deepnlp.diagnosis.rewriting.slots import parsed, statements, targets

_UNSAFE = re.compile(r"random|rng|append|pop\(|\.at\(|super|lambda|yield|print|open\(")
_OWN = 0.5  # the highest cost of short parts of backward itself
_LARGEST = 6  # names and operators of an expression taken from elsewhere


@dataclass(frozen=True)
class Value:
    """An expression that backward could use, and its value when the function returned.

    Attributes
    ----------
    text : str
    value : array or number
    cost : float
        Higher for what is longer.
    """

    text: str
    value: Any
    cost: float

    @cached_property
    def node(self) -> ast.expr:
        """Its syntax tree."""
        return parsed(self.text)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The shape of the value."""
        return numpy.shape(self.value)


def values(ran: Ran, forward: list[Ran]) -> list[Value]:
    """Return the values that a function could use, each once, by its simplest expression."""
    found: dict[Any, Value] = {}
    in_numbers = not any(map(numpy.ndim, ran.scope.values()))  # in an engine of single numbers

    def add(text: str, value: Any, cost: float) -> None:
        is_number = isinstance(value, int | float | numpy.generic)
        is_number = is_number and (in_numbers or not isinstance(value, bool))
        is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fiub" and value.size
        if not is_number and not is_array:
            return
        key = text if in_numbers else signature(value)  # two numbers may be equal by chance
        if key not in found or found[key].cost > cost:
            found[key] = Value(text, value, cost)

    for name, value in ran.scope.items():
        add(name, value, 0.0)
    for name in loop_variables(ran):  # their last values say nothing
        if isinstance(ran.scope.get(name), int):
            found[name] = Value(name, ran.scope[name], 0.0)
    for name, value in numbers_of_comprehensions(ran).items():
        found[name] = Value(name, value, 0.0)
    for text, cost in itertools.chain(_parts(ran), _parts_of_forward(ran, forward)):
        add(text, ran.value(text), cost)
    for text in itertools.chain(_looked_up(ran), _counts(ran)):
        if shape_of(ran.value(text)) == ():  # a number may be equal to another by chance
            found[text] = Value(text, ran.value(text), 0.4)
    for one in list(found.values()):
        if one.cost > _OWN or not isinstance(one.value, numpy.ndarray):
            continue
        for text in _reduced(one):
            add(text, ran.value(text), 0.6 + one.cost)
        for text in _widened(one) if one.cost == 0 else ():
            add(text, ran.value(text), 0.4)
    for one in list(found.values()):
        kinds = "fi" if in_numbers else "f"
        is_real = one.value is not UNKNOWN and numpy.asarray(one.value).dtype.kind in kinds
        if one.cost > 0 or not is_real or (one.shape == () and not in_numbers):
            continue
        for form in ("1 - {0} ** 2", "{0} * (1 - {0})", "{0} > 0"):
            text = form.format(one.text)
            add(text, ran.value(text), 0.7)
        text = f"1 - {one.text}"
        add(text, ran.value(text), 0.5)
    return sorted(found.values(), key=lambda one: one.cost)


def _parts(ran: Ran) -> Iterator[tuple[str, float]]:
    """The expressions of a function; what it assigns to as if it were read."""
    for node in ast.walk(ran.tree):
        if not isinstance(node, ast.BinOp | ast.Call | ast.Subscript | ast.UnaryOp | ast.Compare):
            continue
        size = sum(isinstance(n, ast.Name | ast.operator | ast.Constant) for n in ast.walk(node))
        text = ast.unparse(node)
        if size <= _LARGEST and not _UNSAFE.search(text):
            yield text, 0.2 + 0.05 * size


def _parts_of_forward(ran: Ran, forward: list[Ran]) -> Iterator[tuple[str, float]]:
    """The same of the functions of forward, in the names of backward."""
    known = {signature(value): name for name, value in reversed(list(ran.scope.items()))}
    for other in forward:
        words = {}
        for name, value in other.scope.items():
            key = signature(value)
            same = name in ran.scope and signature(ran.scope[name]) == key
            here = name if same else known.get(key)
            if here is not None and isinstance(value, numpy.ndarray | float | int):
                words[name] = here
        defined = {
            one.node.id: statement.node.value
            for statement in statements(other.tree)
            for one in targets(statement.node)
            if isinstance(statement.node, ast.Assign) and isinstance(one.node, ast.Name)
        }
        translate = _Translate(ran, words, defined)
        for text, cost in _parts(other):
            try:
                yield ast.unparse(translate.visit(parsed(text))), cost + 0.15
            except (LookupError, SyntaxError, RecursionError):
                continue


class _Translate(ast.NodeTransformer):
    """An expression of forward in the names of backward; a LookupError if it has none."""

    def __init__(self, ran: Ran, words: dict[str, str], defined: dict[str, ast.expr]) -> None:
        self.ran, self.words, self.defined, self._depth = ran, words, defined, 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """``self.x`` may be known under another name."""
        text = ast.unparse(node)
        if text in self.ran.scope:
            return node
        if text in self.words:
            return parsed(self.words[text])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name of backward, of the module, or what was assigned to it."""
        if node.id in self.words:
            return parsed(self.words[node.id])
        is_number = isinstance(self.ran.locals.get(node.id), int | float)
        is_known = is_number or node.id == "self" or node.id not in self.defined
        if is_known and (node.id in self.ran.locals or node.id in self.ran.globals):
            return node
        if node.id in self.defined and self._depth < 3:
            self._depth += 1
            try:
                return self.visit(copy.deepcopy(self.defined[node.id]))
            finally:
                self._depth -= 1
        raise LookupError(node.id)


def _looked_up(ran: Ran) -> Iterator[str]:
    """Whole numbers at the places of the loops: ``self.best[n, t]``."""
    loops = loop_variables(ran)
    for name, value in ran.scope.items():
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "iu" and value.ndim < 4:
            for places in itertools.permutations(loops, value.ndim):
                yield f"{name}[{', '.join(places)}]"


def _counts(ran: Ran) -> Iterator[str]:
    """Sizes, the count of a mean for each channel, and one divided by a number."""
    shapes = set()
    for name, value in ran.scope.items():
        if isinstance(value, numpy.ndarray) and "[" not in name and value.ndim:
            sizes = [f"{name}.shape[{k}]" for k in range(value.ndim)]
            yield from (f"len({name})", *sizes[1:], f"{name}.size")
            yield from [f"{name}.sum()"] * (value.dtype.kind == "b")
            if value.ndim > 2 and value.shape not in shapes:
                shapes.add(value.shape)
                yield f"{name}.size // {sizes[1]}"
    for name, value in ran.scope.items():
        if isinstance(value, int) and value > 1:
            yield f"1 / {name}"


def _reduced(one: Value) -> Iterator[str]:
    """Sums over some of the axes of an array."""
    count = len(one.shape)
    whole = one.text if one.cost == 0 else f"({one.text})"
    for size in range(1, count) if count < 5 else ():
        for axes in itertools.combinations(range(count), size):
            told = axes[0] if size == 1 else axes
            yield f"{whole}.sum(axis={told})"
            if size == 1:
                yield f"{whole}.sum(axis={told}, keepdims=True)"


def _widened(one: Value) -> Iterator[str]:
    """An array with a new axis."""
    count = len(one.shape)
    if 1 <= count <= 2:
        for k in range(1, count + 1):
            yield f"{one.text}[{', '.join(':' if j != k else 'None' for j in range(count + 1))}]"

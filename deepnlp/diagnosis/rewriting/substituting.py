"""Other values in place of those that backward uses, and factors and terms that it lacks."""

import ast
import itertools
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.forms import by_rules, places_of
from deepnlp.diagnosis.rewriting.functions import UNKNOWN, Ran, loop_variables, shape_of
from deepnlp.diagnosis.rewriting.slots import (
    Change,
    Slot,
    expressions,
    indices,
    parsed,
    targets,
)
from deepnlp.diagnosis.rewriting.values import Value
from deepnlp.gradcheck import causes as c

_SMALL = 64  # larger than any stride
_LARGE = 1 << 12  # as long an axis does no harm
_MOST_IDS = 6
_STEPS = re.compile(r"_?(prev|next|last|old|new)_?|\[[^]]*\]")
_PLAIN = re.compile(r"[\w.]+(\[[\w, +-]+\])?")
_BLOCKS = re.compile(r"stack\(|concatenate\(|split\(")


def renamed(ran: Ran, statement: Slot) -> Iterator[Change]:
    """A name replaced: once, in all copies of an expression, everywhere; or two exchanged."""
    found: dict[str, list[Slot]] = {}
    for slot in expressions(statement.node):
        node = slot.node
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and slot.field != "func":
            text = ast.unparse(node)
            if isinstance(node.ctx, ast.Load) and text in ran.scope:
                found.setdefault(text, []).append(slot)
    for name, slots in found.items():
        most = _most(ran, slots[0])
        copies: dict[str, list[Slot]] = {}
        for slot in slots:
            copies.setdefault(ast.unparse(slot.parent), []).append(slot)
        groups = [slots, *copies.values()] if len(copies) > 1 else [slots]
        for other, value in ran.scope.items():
            if other == name or not _same_kind(ran.scope[name], value):
                continue
            if most is not None and value > most:
                continue
            new = parsed(other)
            cause = partial(_of_replacement, ran, statement, slots[0], name, other, value)
            for group in groups:
                if len(group) > 1:
                    yield Change(cause, statement, [(slot, new) for slot in group], 0.95)
            for slot in slots:
                yield Change(cause, statement, [(slot, new)], 0.9)
    for one, other in itertools.combinations(found, 2):
        if _same_kind(ran.scope[one], ran.scope[other]):
            puts = [(slot, parsed(other)) for slot in found[one]]
            puts += [(slot, parsed(one)) for slot in found[other]]
            yield Change(_of_exchange(statement), statement, puts, 1.1)


def scaled_places(ran: Ran, statement: Slot) -> Iterator[Change]:
    """The places of a loop without the stride: ``i`` for ``i * stride``, wherever it stands."""
    loops, node = loop_variables(ran), statement.node
    found = [
        slot
        for slot in expressions(node)
        if isinstance(slot.node, ast.Name)
        and slot.node.id in loops
        and not isinstance(getattr(slot.parent, "op", None), ast.Mult)
    ]
    slices = [one for one in ast.walk(node) if isinstance(one, ast.Slice)]
    inside = {id(inner) for one in slices for inner in ast.walk(one)}
    found = [slot for slot in found if id(slot.node) in inside] or found
    numbers = [n for n, v in ran.scope.items() if type(v) is int and 1 < v < _SMALL]
    for name in numbers if not isinstance(node, ast.For) else ():
        for group in [found, *([s for s in found if s.node.id == one] for one in loops)]:
            puts = [(s, ast.BinOp(s.node, ast.Mult(), parsed(name))) for s in group]
            if puts and name not in loops:
                cost = 1.05 if name.replace(".", "").isidentifier() else 1.06
                yield Change(c.WRONG_VALUE, statement, puts, cost)


def _of_exchange(statement: Slot) -> str:
    """The cause where two names are in each other's place."""
    text, value = ast.unparse(statement.node), getattr(statement.node, "value", None)
    is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub)
    if not is_sum and ("@" in text or "dot(" in text):
        return c.TRANSPOSED
    in_blocks = _BLOCKS.search(text) or isinstance(value, ast.Tuple | ast.List)
    return c.GATES_SWAPPED if in_blocks else c.WRONG_VALUE


def _of_replacement(ran: Ran, statement: Slot, slot: Slot, old: str, new: str, value: Any) -> str:
    """The cause where one value stands in place of another."""
    before = ran.value(old)
    in_brackets = isinstance(slot.parent, ast.Subscript | ast.Slice | ast.Tuple)
    if in_brackets and shape_of(before) == shape_of(value) == ():
        return c.TIME_SHIFTED
    if _is_sum_of_part(old, new) and shape_of(before) != ():
        return c.WRONG_AXIS
    if _PLAIN.fullmatch(old) and _PLAIN.fullmatch(new):
        is_in_loop = any(
            isinstance(loop, ast.For | ast.While) and statement.node in ast.walk(loop)
            for loop in ast.walk(ran.tree)
        )
        if (is_in_loop or ran.runs > 1) and _STEPS.sub("", old) == _STEPS.sub("", new):
            return c.TIME_SHIFTED
        bare, text = re.escape(old), ast.unparse(statement.node)
        slope = rf"1(\.0)? - {bare}( \*\* 2| \* {bare}|\)|$)|{bare} \* \(1(\.0)? - {bare}"
        if re.search(slope, text) and _is_monotone(before, value):
            return c.DERIVATIVE_AT_INPUT
    return c.WRONG_VALUE


def _is_monotone(one: Any, other: Any) -> bool:
    """Return whether an array is an increasing function of another, like an activation."""
    if shape_of(one) != shape_of(other) or numpy.size(one) < 3:
        return False
    order = numpy.argsort(one, axis=None)
    return bool((numpy.diff(numpy.ravel(other)[order]) >= -1e-12).all())


def _is_sum_of_part(old: str, new: str) -> bool:
    """Return whether an expression is the sum of an array of which the other takes a part."""
    return ".sum(" in new and new.rpartition(".sum(")[0] in old


def _most(ran: Ran, slot: Slot) -> int | None:
    """The largest number that can stand where one may be the size of an array; None elsewhere.

    A trial must not fill the memory: a size is a whole number that is no operand of an array.
    """
    old = ran.value(ast.unparse(slot.node))
    if not isinstance(old, int | numpy.integer) or isinstance(old, bool):
        return None
    whole = ran.value(ast.unparse(slot.parent)) if isinstance(slot.parent, ast.BinOp) else None
    if isinstance(whole, numpy.ndarray | float | numpy.floating):
        return None
    return max(4 * abs(int(old)), _LARGE)


def _is_numeric(ran: Ran, text: str) -> bool:
    """Return whether an expression may stand for numbers, and not for a shape."""
    value = ran.value(text)
    return value is UNKNOWN or shape_of(value) is not None


def _same_kind(a: Any, b: Any) -> bool:
    if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray):
        return a.shape == b.shape and not numpy.array_equal(a, b)
    return shape_of(a) == shape_of(b) == () and type(a) is type(b)


def _readable(statement: Slot) -> list[Slot]:
    """The expressions of a statement that hold numbers and are in no brackets."""
    inside = indices(statement.node)
    kinds = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Call, ast.UnaryOp, ast.Constant,
             ast.Compare)  # fmt: skip
    return [
        slot
        for slot in expressions(statement.node)
        if isinstance(slot.node, kinds)
        and slot.field != "func"
        and id(slot.node) not in inside
        and isinstance(getattr(slot.node, "ctx", None), ast.Load | None)
        and not isinstance(slot.parent, ast.Attribute | ast.keyword)
    ]


def replaced(ran: Ran, statement: Slot, values: list[Value]) -> Iterator[Change]:
    """Another value of the same shape in place of an expression, or another index."""
    into_array = any(isinstance(one.node, ast.Subscript) for one in targets(statement.node))
    for slot in _readable(statement):
        shapes, old = _shapes_of(ran, statement, slot), ast.unparse(slot.node)
        size = sum(isinstance(n, ast.Name | ast.operator) for n in ast.walk(slot.node))
        most = None if into_array and slot.field in ("value", "operand") else _most(ran, slot)
        for one in values:
            if not _stands(one.shape, shapes):
                continue
            if most is not None and (one.shape or one.value > most):
                continue
            cause = partial(_of_replacement, ran, statement, slot, old, one.text, one.value)
            cost = 1.0 + one.cost + 0.05 * size
            if _is_sum_of_part(old, one.text):
                cost = 0.9 + 0.02 * size
            elif one.shape == () and one.text.partition(".")[0] in old:
                cost -= 0.1
            yield Change(cause, statement, [(slot, one.node)], cost)
            if isinstance(slot.node, ast.Constant) and one.shape and one.cost == 0:
                turned = ast.UnaryOp(ast.USub(), one.node)
                yield Change(cause, statement, [(slot, turned)], 1.2)
    for slot in expressions(statement.node):
        if isinstance(slot.node, ast.Subscript):
            yield from _other_indices(ran, statement, slot.node, values)


def _other_indices(
    ran: Ran, statement: Slot, node: ast.Subscript, values: list[Value]
) -> Iterator[Change]:
    """Another whole number, or other ids, in brackets; or ids for every axis of an array."""
    ids = [one for one in values if _is_index(one.value)]
    slices = [name for name, value in ran.locals.items() if isinstance(value, slice)]
    for place in places_of(node):
        if isinstance(place.node, ast.Slice) or ast.unparse(place.node) in slices:
            for name in slices:
                yield Change(c.WRONG_VALUE, statement, [(place, parsed(name))], 1.0)
        is_all = ast.unparse(place.node) == ":"
        shape = () if is_all else shape_of(ran.value(ast.unparse(place.node)))
        for one in ids if shape is not None else ():
            if one.shape == shape:
                yield Change(c.WRONG_VALUE, statement, [(place, one.node)], 1.0 + one.cost)
    sizes = shape_of(ran.value(ast.unparse(node.value))) or ()
    if isinstance(node.slice, ast.Tuple) and 1 < len(sizes) < 4:
        rows = [one for one in ids if one.shape and one.value.dtype.kind in "iu"]
        rows = [one for one in rows if not re.search(r"None|\.sum\(", one.text)][:_MOST_IDS]
        fit = [[one for one in rows if 0 <= one.value.min() <= one.value.max() < n] for n in sizes]
        for chosen in itertools.product(*fit):
            if len({one.text for one in chosen}) == len(chosen):
                index = ast.Tuple([one.node for one in chosen], ast.Load())
                cost = 1.2 + sum(one.cost for one in chosen)
                yield Change(c.WRONG_VALUE, statement, [(Slot(node, "slice"), index)], cost)


def _is_index(value: Any) -> bool:
    return (isinstance(value, int | numpy.integer) and not isinstance(value, bool)) or (
        isinstance(value, numpy.ndarray) and value.dtype.kind in "iub"
    )


def _shapes_of(ran: Ran, statement: Slot, slot: Slot) -> list[tuple[int, ...]] | None:
    """The shapes that could stand there: its own, then those to which it is broadcast."""
    old = ran.value(ast.unparse(slot.node))
    own = shape_of(old)
    if own is None:
        return None if old is UNKNOWN else []
    wholes: list[Any] = []
    is_operand = isinstance(slot.parent, ast.BinOp) and not isinstance(slot.parent.op, ast.MatMult)
    if is_operand or (isinstance(slot.parent, ast.Call) and own == ()):
        wholes.append(slot.parent)
    if own == ():
        wholes += [one.node for one in targets(statement.node)]
    shapes = [shape_of(ran.value(ast.unparse(one))) for one in wholes]
    return [own, *(one for one in shapes if one is not None)]


def _stands(shape: tuple[int, ...], shapes: list[tuple[int, ...]] | None) -> bool:
    """Return whether numbers of a shape can stand where there are such shapes."""
    if shapes is None or shape in shapes[:1]:
        return True
    return shape != () and any(_fits(shape, one) for one in shapes[1:])


def _fits(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether an array of a shape is broadcast to another."""
    return shape == to or (
        len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))
    )


def inserted(ran: Ran, statement: Slot, values: list[Value]) -> Iterator[Change]:
    """A factor or a term more, in what a statement assigns and in its parts."""
    for slot in _places(statement):
        old = ast.unparse(slot.node)
        shape = shape_of(ran.value(old))
        if _most(ran, slot) is not None:  # a count
            for one in values:
                if type(one.value) is int and one.value > 1 and one.text != old:
                    for times in (ast.Mult(), ast.FloorDiv()):
                        new = ast.BinOp(slot.node, times, one.node)
                        yield Change(c.FACTOR, statement, [(slot, new)], 1.0 + one.cost)
            continue
        if not _is_numeric(ran, old):
            continue
        for one in values:
            if one.text == old or (shape is not None and not _fits(one.shape, shape)):
                continue
            if one.shape and (one.value.dtype.kind not in "fb" or one.value.size < 2):
                continue
            more = 1.1 if one.shape else 1.3
            for operator, cost in (
                (ast.Mult(), 1.0), (ast.Div(), 1.0), (ast.Add(), more), (ast.Sub(), more)
            ):  # fmt: skip
                new = ast.BinOp(slot.node, operator, one.node)
                yield Change(c.TERM_MISSING, statement, [(slot, new)], cost + one.cost)


def _places(statement: Slot) -> Iterator[Slot]:
    """Yield what a statement assigns or returns, its terms, and operands of products and sums."""
    node = statement.node
    is_call = isinstance(node, ast.Expr)
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr) or not node.value:
        return
    whole = Slot(node, "value")
    if isinstance(whole.node, ast.Tuple | ast.List):
        yield from (Slot(whole.node, "elts", k) for k in range(len(whole.node.elts)))
    elif not is_call and not _adds_to_target(node):
        yield whole
    inside = indices(node)
    for slot in expressions(node):
        parent = slot.parent
        is_read = isinstance(getattr(slot.node, "ctx", None), ast.Load | None)
        is_plain = not isinstance(slot.node, ast.Constant | ast.Slice | ast.Tuple | ast.List)
        if id(slot.node) in inside or not is_read or not is_plain:
            continue
        if isinstance(parent, ast.BinOp):
            is_place = isinstance(parent.op, ast.Add | ast.Sub | ast.MatMult)
        elif isinstance(parent, ast.Attribute):
            is_place = parent.attr in ("sum", "mean", "T", "reshape", "transpose", "copy")
        elif isinstance(parent, ast.Subscript):
            is_place = isinstance(slot.node, ast.BinOp)
        elif isinstance(parent, ast.Call):
            is_place = slot.field == "args"
        else:
            is_place = isinstance(parent, ast.Tuple | ast.List) and parent is not whole.node
        if is_place:
            yield slot


def _adds_to_target(node: Any) -> bool:
    """Return whether a statement is ``x.grad = x.grad + dx``: x.grad is then no part of dx."""
    is_sum = isinstance(node.value, ast.BinOp) and isinstance(node.value.op, ast.Add)
    names = map(ast.unparse, getattr(node, "targets", ()))
    return is_sum and ast.unparse(node.value.left) in names


def wrapped(ran: Ran, statement: Slot) -> Iterator[Change]:
    """A sum, a power, a function, a transpose around an expression."""
    for slot in _readable(statement):
        old = ast.unparse(slot.node)
        is_number = isinstance(slot.node, ast.Constant) or _most(ran, slot) is not None
        if is_number or not _is_numeric(ran, old):
            continue
        more = 0.0 if _PLAIN.fullmatch(old) else 0.05
        yield from by_rules("around", statement, slot, more)
        for function in map(parsed, _functions(ran)):
            new = ast.Call(function, [slot.node], [])
            yield Change(c.WRONG_VALUE, statement, [(slot, new)], 1.2)
            if isinstance(slot.node, ast.Call) and len(slot.node.args) == 1:
                new = ast.Call(function, slot.node.args, slot.node.keywords)
                yield Change(c.WRONG_VALUE, statement, [(slot, new)], 1.0)
            if isinstance(slot.node, ast.Subscript):  # of all, and not of a part
                new = ast.Call(function, [slot.node.value], [])
                yield Change(c.WRONG_VALUE, statement, [(slot, new)], 1.1)
            if isinstance(getattr(slot.node, "func", None), ast.Attribute):
                new, is_order = ast.Call(function, [slot.node.func.value], []), ".reshape(" in old
                cause = c.TRANSPOSED if is_order else c.WRONG_VALUE
                yield Change(cause, statement, [(slot, new)], 1.0)


def _functions(ran: Ran) -> list[str]:
    """Names of the learner's functions that take one argument, as they are called."""
    found = dict.fromkeys(
        ast.unparse(node.func)
        for tree in (ran.tree, *ran.others)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    )
    return [f for f in found if not f.startswith(("np.", "numpy.", "super"))][:6]

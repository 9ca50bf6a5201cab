"""Changes of what stands in brackets: an index off by one, a slice that begins elsewhere."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import Ran, loop_variables, shape_of
from deepnlp.diagnosis.rewriting.slots import Change, Slot, expressions, loaded, parsed
from deepnlp.diagnosis.rewriting.values import Value
from deepnlp.gradcheck import causes as c

_MOST_IDS = 6


def of_indices(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Changes of all indices of a statement, also of those of its targets."""
    for slot in expressions(statement.node):
        node = slot.node
        if not isinstance(node, ast.Subscript):
            continue
        places = _places(node)
        for one, other in itertools.combinations(places, 2):
            puts = [(one, other.node), (other, one.node)]
            yield Change(c.TRANSPOSED, statement, puts)
        for place in places:
            yield from _of_index(ran, statement, place)
        flips = [p for p in places if _is_flip(p.node)]
        if len(flips) > 1:
            puts = [(Slot(p.node, "step"), None) for p in flips]
            yield Change(c.TIME_REVERSED, statement, puts)
        if isinstance(node.ctx, ast.Load):
            cause = c.TIME_REVERSED if flips else c.WRONG_VALUE
            yield Change(cause, statement, [(slot, node.value)])


def of_other_indices(ran: Ran, statement: Slot, values: list[Value]) -> Iterator[Change]:
    """Other values in brackets: one, or ids for every axis."""
    for slot in expressions(statement.node):
        node = slot.node
        if not isinstance(node, ast.Subscript):
            continue
        for place in _places(node):
            yield from _other_index(ran, statement, place, values)
        yield from _all_indices(ran, statement, node, values)


def _places(node: ast.Subscript) -> list[Slot]:
    """Where the indices of an array stand: one, or several with commas between."""
    if isinstance(node.slice, ast.Tuple):
        return [Slot(node.slice, "elts", k) for k in range(len(node.slice.elts))]
    return [Slot(node, "slice")]


def _is_flip(node: ast.AST) -> bool:
    return isinstance(node, ast.Slice) and node.step is not None


def _of_index(ran: Ran, statement: Slot, place: Slot) -> Iterator[Change]:
    index = place.node

    def change(new: Any, cause: str = c.TIME_SHIFTED, cost: float = 1.0) -> Change:
        return Change(cause, statement, [(place, new)], cost)

    if isinstance(index, ast.Slice):
        yield from _of_slice(ran, statement, index)
        return
    if isinstance(index, ast.Constant):
        if type(index.value) is int:
            yield from (change(ast.Constant(index.value + step)) for step in (1, -1))
            yield change(ast.Constant(-1 - index.value))
        return
    if isinstance(index, ast.BinOp):
        yield from (change(index.left, cost=0.9), change(index.right, cost=0.9))
    if isinstance(index, ast.Name | ast.BinOp | ast.Attribute | ast.Subscript):
        for step in (1, -1):
            yield change(ast.BinOp(index, ast.Add(), ast.Constant(step)))
        if not isinstance(index, ast.Subscript | ast.Attribute):
            yield change(parsed(f"-1 - ({ast.unparse(index)})"), c.TIME_REVERSED)


def _other_index(ran: Ran, statement: Slot, place: Slot, values: list[Value]) -> Iterator[Change]:
    """Another whole number, or other ids, in place of those that choose."""
    index = place.node
    if isinstance(index, ast.Slice):
        is_all = index.lower is None and index.upper is None and index.step is None
        shape: Any = () if is_all else None
    else:
        shape = shape_of(ran.value(ast.unparse(index)))
    for one in values:
        if shape is not None and one.shape == shape and _is_index(one.value):
            yield Change(c.WRONG_VALUE, statement, [(place, one.node)], 1.0 + one.cost)


def _all_indices(
    ran: Ran, statement: Slot, node: ast.Subscript, values: list[Value]
) -> Iterator[Change]:
    """Ids for every axis of an array, in place of what stands in the brackets."""
    shape = shape_of(ran.value(ast.unparse(loaded(node.value)))) or ()
    if not isinstance(node.slice, ast.Tuple) or not 1 < len(shape) < 4:
        return
    ids = [one for one in values if one.shape and one.value.dtype.kind in "iu"]
    ids = [one for one in ids if "None" not in one.text and ".sum(" not in one.text][:_MOST_IDS]
    places = [[one for one in ids if one.value.min() >= 0 and one.value.max() < n] for n in shape]
    for chosen in itertools.product(*places):
        if len({one.text for one in chosen}) == len(chosen):
            index = ast.Tuple([one.node for one in chosen], ast.Load())
            cost = 1.2 + sum(one.cost for one in chosen)
            yield Change(c.WRONG_VALUE, statement, [(Slot(node, "slice"), index)], cost)


def _is_index(value: Any) -> bool:
    return (isinstance(value, int | numpy.integer) and not isinstance(value, bool)) or (
        isinstance(value, numpy.ndarray) and value.dtype.kind in "iub"
    )


def _of_slice(ran: Ran, statement: Slot, index: ast.Slice) -> Iterator[Change]:
    def change(lower: Any, upper: Any, cause: str = c.TIME_SHIFTED, cost: float = 1.0) -> Change:
        puts: list[tuple[Slot, Any]] = []
        for name, new in (("lower", lower), ("upper", upper)):
            if new is not getattr(index, name):
                puts.append((Slot(index, name), parsed(new) if isinstance(new, str) else new))
        return Change(cause, statement, puts, cost)

    low, high = index.lower, index.upper
    if index.step is not None:
        yield Change(c.TIME_REVERSED, statement, [(Slot(index, "step"), None)])
        return
    moved = {
        (one is low, step): ast.BinOp(one, ast.Add(), ast.Constant(step))
        for one in (low, high)
        if one is not None
        for step in (1, -1)
    }
    for (is_low, _), new in moved.items():
        yield change(new, high) if is_low else change(low, new)
    if low is None and high is None:
        yield Change(c.TIME_REVERSED, statement, [(Slot(index, "step"), ast.Constant(-1))])
        for lower, upper in (("1", None), (None, "-1")):
            yield change(lower, upper, cost=1.1)
        return
    for one, bounds in ((low, "upper"), (high, "lower")):
        if one is not None and getattr(index, bounds) is None:
            text = ast.unparse(one)
            negative = text[1:] if text.startswith("-") else f"-({text})"
            if bounds == "upper":  # [a:]
                yield from (change(None, negative), change(None, text), change(negative, None))
                yield change(f"({text}) - 1", "-1")
            else:  # [:a]
                yield from (change(negative, None), change(text, None), change(None, negative))
                yield change("1", f"({text}) + 1")
                for name in loop_variables(ran):
                    yield change(name, f"{name} + {text}")
    if low is not None and high is not None:
        for step in (1, -1):
            yield change(moved[True, step], moved[False, step])
    if low is not None or high is not None:
        yield change(None, None, c.WRONG_AXIS, 1.1)

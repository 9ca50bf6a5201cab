"""Which mistake a change would undo, in the words of the list."""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import Ran, shape_of
from deepnlp.diagnosis.rewriting.slots import Slot, parsed
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.names import DATA, GRAD

_STEPS = re.compile(r"_?(prev|next|last|old|new)_?|\[[^]]*\]")
_SLOPE = re.compile(r"1(\.0)? - |\*\* ?2|> 0|>= 0|np\.exp|tanh|sigmoid|cosh|sqrt|np\.log")
_LINEAR = (
    "sum", "mean", "dot", "matmul", "einsum", "at", "where", "concatenate", "hstack", "vstack",
    "stack", "reshape", "transpose", "copy", "repeat", "tile", "outer", "tensordot", "append",
    "expand_dims", "squeeze", "array", "swapaxes", "multiply",
)  # fmt: skip


def of_node(node: ast.AST) -> bool:
    """Whether an expression is what a node of an engine holds: no constant, though one number."""
    return isinstance(node, ast.Attribute) and node.attr in (*DATA, *GRAD)


def is_number(ran: Ran, node: ast.expr) -> bool:
    """Whether an expression stands for one number."""
    if of_node(node):
        return False
    value = ran.value(ast.unparse(node))
    return shape_of(value) == () and not isinstance(value, bool)


def nonlinear(node: ast.AST) -> set[int]:
    """What stands in a power or in a function that is not linear, by ``id``."""
    found = []
    for one in ast.walk(node):
        if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Pow):
            found += [one.left, one.right]
        elif isinstance(one, ast.Call):
            name = getattr(one.func, "attr", getattr(one.func, "id", ""))
            found += [] if name in _LINEAR else one.args
    return {id(inner) for one in found for inner in ast.walk(one)}


def of_factor(ran: Ran, statement: Slot, node: ast.expr) -> str:
    """A factor that should not be there."""
    is_multiple = is_number(ran, node) and id(node) not in nonlinear(statement.node)
    return c.FACTOR if is_multiple else c.WRONG_VALUE


def of_number(statement: Slot, slot: Slot) -> str:
    """Another constant."""
    if isinstance(slot.parent, ast.Subscript | ast.Slice | ast.Tuple):
        return c.TIME_SHIFTED
    is_product = isinstance(slot.parent, ast.BinOp) and isinstance(
        slot.parent.op, ast.Mult | ast.Div
    )
    is_multiple = is_product and id(slot.node) not in nonlinear(statement.node)
    return c.FACTOR if is_multiple else c.WRONG_VALUE


def of_exchange(statement: Slot) -> str:
    """Two names in each other's place."""
    text = ast.unparse(statement.node)
    if "@" in text or "dot(" in text:
        return c.TRANSPOSED
    in_blocks = re.search(r"stack\(|concatenate\(|split\(", text) or (
        "=" in text and isinstance(getattr(statement.node, "value", None), ast.Tuple | ast.List)
    )
    return c.GATES_SWAPPED if in_blocks else c.WRONG_VALUE


def of_replacement(ran: Ran, statement: Slot, slot: Slot, old: str, new: str, value: Any) -> str:
    """One expression in place of another."""
    before = ran.value(old)
    if shape_of(before) == shape_of(value) == ():
        return of_number(statement, slot)
    if cause := _of_definition(ran, old, new):
        return cause
    if is_sum_of_part(old, new):
        return c.WRONG_AXIS
    if _is_plain(old) and _is_plain(new):
        if _STEPS.sub("", old) == _STEPS.sub("", new):
            return c.TIME_SHIFTED
        if _is_gradient(old) and _is_gradient(new):
            return c.DERIVATIVE_MISSING if _has_slope(ran, old, new) else c.WRONG_VALUE
        if _is_in_slope(statement, old) and _is_monotone(before, value):
            return c.DERIVATIVE_AT_INPUT
    if shape_of(before) is not None and _are_numbers(before, value):
        if numpy.all(before == 1) and isinstance(slot.parent, ast.BinOp):
            return of_missing_factor(ran, new, value)
        if numpy.shape(before) == numpy.shape(value) and _is_constant(value - before):
            return c.TERM_MISSING
    return c.WRONG_VALUE


def is_sum_of_part(old: str, new: str) -> bool:
    """Whether an expression is the sum of an array of which the other takes a part."""
    return ".sum(" in new and new.rpartition(".sum(")[0] in old


def _of_definition(ran: Ran, old: str, new: str) -> str:
    """What is missing where the new expression is the old one with a factor or a term more."""
    for node in (parsed(new), *(() if _is_plain(old) else _assigned(ran, new))):
        if not isinstance(node, ast.BinOp):
            continue
        for kept, other in ((node.left, node.right), (node.right, node.left)):
            if ast.unparse(kept) != old:
                continue
            text = ast.unparse(other)
            if isinstance(node.op, ast.Add | ast.Sub):
                return of_missing_term(text)
            value = ran.value(text)
            if isinstance(node.op, ast.Mult | ast.Div) and shape_of(value) is not None:
                is_slope = bool(_SLOPE.search(text))
                return of_missing_factor(ran, text, value, is_slope)
    return ""


def _assigned(ran: Ran, name: str) -> list[ast.expr]:
    """What is assigned to a name, in backward or in forward."""
    return [
        node.value
        for tree in (ran.tree, *ran.others)
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]


def _are_numbers(*values: Any) -> bool:
    return all(numpy.asarray(one).dtype.kind in "fiub" for one in values)


def _is_constant(array: Any) -> bool:
    return numpy.size(array) > 1 and float(numpy.ptp(array)) < 1e-12 * float(numpy.abs(array).max())


def _is_plain(text: str) -> bool:
    return bool(re.fullmatch(r"[\w.]+(\[[\w, +-]+\])?", text))


def _is_in_slope(statement: Slot, old: str) -> bool:
    bare = re.escape(old)
    slope = rf"1(\.0)? - {bare}( \*\* 2| \* {bare}|\)|$)|{bare} \* \(1(\.0)? - {bare}"
    return bool(re.search(slope, ast.unparse(statement.node)))


def _is_monotone(one: Any, other: Any) -> bool:
    """Whether an array is an increasing function of another, as an activation is of its input."""
    if shape_of(one) != shape_of(other) or numpy.size(one) < 3:
        return False
    order = numpy.argsort(one, axis=None)
    steps = numpy.diff(numpy.ravel(other)[order])
    return bool((steps >= -1e-12).all())


def _is_gradient(name: str) -> bool:
    return bool(re.match(r"(self\.)?(d|grad)[A-Za-z_]*\d*$", name))


def _has_slope(ran: Ran, old: str, new: str) -> bool:
    """Whether one gradient is computed from the other by the derivative of an activation."""
    for node in ast.walk(ran.tree):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in (old, new):
            text = ast.unparse(node.value)
            if _SLOPE.search(text) and re.search(rf"\b({re.escape(old)}|{re.escape(new)})\b", text):
                return True
    return False


def of_missing_factor(ran: Ran, name: str, value: Any, is_slope: bool = False) -> str:
    """A factor that was left out: a number, a mask, the derivative of an activation, another."""
    if numpy.shape(value) == ():
        return c.FACTOR
    if is_slope:
        return c.DERIVATIVE_MISSING
    kinds = numpy.unique(numpy.asarray(value, "float64").round(12))
    if len(kinds) == 2 and 0 in kinds:
        is_dropout = re.search(r"mask|keep|drop", name) and _is_random(ran)
        if is_dropout or kinds[-1] != 1:
            return c.MASK_MISSING
        if any(_is_positive_part(value, one) for one in ran.scope.values()):
            return c.DERIVATIVE_MISSING
    return c.TERM_MISSING


def _is_random(ran: Ran) -> bool:
    """Whether random numbers are drawn where forward is written."""
    return bool(re.search(r"rand|rng|drop", ran.beside, re.IGNORECASE))


def _is_positive_part(mask: Any, array: Any) -> bool:
    if shape_of(array) != mask.shape or array.dtype.kind != "f":
        return False
    return bool(numpy.array_equal(mask != 0, array > 0) and (array < 0).any())


def of_missing_term(name: str) -> str:
    """A term that was left out; the gradient of a state is a path."""
    bare = name.rpartition(".")[2]
    if re.match(r"dh\w*(next|prev|carry)|d?h_?next", bare):
        return c.H_PATH
    return c.C_PATH if re.match(r"dc\w*(next|prev|carry)|d?c_?next", bare) else c.TERM_MISSING

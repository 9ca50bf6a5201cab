"""Changes of operators, signs, numbers and functions inside an expression."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from deepnlp.diagnosis.rewriting.calls import of_call, of_product
from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.naming import of_factor, of_number
from deepnlp.diagnosis.rewriting.slots import Change, Slot, expressions, indices, parsed
from deepnlp.gradcheck import causes as c

OPPOSITES = {ast.Add: ast.Sub, ast.Sub: ast.Add}
PRODUCTS = {ast.Mult: ast.Div, ast.Div: ast.Mult}
SETS = {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
COMPARISONS = {
    ast.Gt: (ast.Lt, ast.LtE), ast.Lt: (ast.Gt, ast.GtE), ast.GtE: (ast.Lt, ast.LtE),
    ast.LtE: (ast.Gt, ast.GtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
}  # fmt: skip


def of_operators(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Signs, axes, constants, transposes, operators and functions of a statement."""
    inside = indices(statement.node)
    for slot in expressions(statement.node):
        if id(slot.node) not in inside and isinstance(getattr(slot.node, "ctx", None), _READ):
            yield from _of_expression(ran, statement, slot)


_READ = ast.Load | None


def _of_expression(ran: Ran, statement: Slot, slot: Slot) -> Iterator[Change]:
    node = slot.node

    def change(cause: str, new: ast.expr, cost: float = 1.0) -> Change:
        return Change(cause, statement, [(slot, new)], cost)

    if isinstance(node, ast.BinOp):
        yield from _of_operator(ran, statement, change, node)
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        is_sign = isinstance(node.op, ast.USub)
        yield change(c.SIGN if is_sign else c.DERIVATIVE_MISSING, node.operand, 0.5)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield change(c.TRANSPOSED, node.value)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            new = ast.Compare(node.left, [other()], node.comparators)
            yield change(c.DERIVATIVE_MISSING, new)
    elif isinstance(node, ast.Constant) and not _is_in_sum(slot):
        yield from _of_constant(change, statement, slot)
    elif isinstance(node, ast.Call):
        yield from of_call(change, node)
    elif isinstance(node, ast.IfExp):
        yield change(c.WRONG_VALUE, ast.IfExp(node.test, node.orelse, node.body))
    elif isinstance(node, ast.Tuple | ast.List):
        in_transpose = isinstance(slot.parent, ast.Call) and "transpose" in ast.unparse(slot.parent)
        for i, j in itertools.combinations(range(len(node.elts)), 2):
            cause = c.TRANSPOSED if in_transpose else c.GATES_SWAPPED
            puts = [(Slot(node, "elts", i), node.elts[j]), (Slot(node, "elts", j), node.elts[i])]
            yield Change(cause, statement, puts, 0.9)
    if _is_term(slot) or (slot.field == "args" and not isinstance(node, ast.Constant)):
        yield change(c.SIGN, ast.UnaryOp(ast.USub(), node), 0.5)


def _of_operator(ran: Ran, statement: Slot, change: Any, node: ast.BinOp) -> Iterator[Change]:
    left, op, right = node.left, node.op, node.right
    if type(op) in OPPOSITES:
        yield change(c.SIGN, ast.BinOp(left, OPPOSITES[type(op)](), right), 0.5)
        yield change(c.WRONG_VALUE, left)
        yield change(c.WRONG_VALUE, right)
    if isinstance(op, ast.Sub):
        yield change(c.SIGN, ast.BinOp(right, op, left), 0.6)
    if type(op) in PRODUCTS:
        cause = of_factor(ran, statement, right)
        yield change(cause, ast.BinOp(left, PRODUCTS[type(op)](), right))
        yield change(cause, left)
        if isinstance(op, ast.Mult):
            yield change(of_factor(ran, statement, left), right)
            yield change(c.WRONG_VALUE, ast.BinOp(left, ast.MatMult(), right), 1.2)
    if isinstance(op, ast.MatMult):
        yield from of_product(change, left, right)
        yield change(c.WRONG_VALUE, ast.BinOp(left, ast.Mult(), right), 1.2)
    if isinstance(op, ast.Pow):
        yield change(c.WRONG_VALUE, left)
    if type(op) in SETS:
        yield change(c.DERIVATIVE_MISSING, ast.BinOp(left, SETS[type(op)](), right))
        yield change(c.DERIVATIVE_MISSING, left)
        yield change(c.DERIVATIVE_MISSING, right)


def _is_term(slot: Slot) -> bool:
    """Whether an expression is assigned, returned, or an entry of what is."""
    return (
        slot.field == "value" and isinstance(slot.parent, ast.Assign | ast.AugAssign | ast.Return)
    ) or (slot.field == "elts" and isinstance(slot.node, ast.BinOp | ast.Name | ast.Call))


def of_sums(statement: Slot) -> Iterator[Change]:
    """Another number in a sum, where a missing term would be as small a change: ``2 - y**2``."""
    inside = indices(statement.node)
    for slot in expressions(statement.node):
        if id(slot.node) not in inside and _is_in_sum(slot):
            change = partial(_change, statement, slot, 1.3)
            yield from _of_constant(change, statement, slot)


def _change(statement: Slot, slot: Slot, cost: float, cause: str, new: ast.expr) -> Change:
    return Change(cause, statement, [(slot, new)], cost)


def _is_in_sum(slot: Slot) -> bool:
    is_sum = isinstance(slot.parent, ast.BinOp) and isinstance(slot.parent.op, ast.Add | ast.Sub)
    return isinstance(slot.node, ast.Constant) and is_sum


def _of_constant(change: Any, statement: Slot, slot: Slot) -> Iterator[Change]:
    value = slot.node.value
    if type(value) not in (int, float):
        return
    keyword = slot.parent if isinstance(slot.parent, ast.keyword) else None
    if keyword is not None and keyword.arg == "axis":
        for axis in (0, 1, 2, -1, None):
            if axis != value:
                yield change(c.WRONG_AXIS, ast.Constant(axis), 0.7)
        for axes in ("(0, 1)", "(0, 2)", "(1, 2)", "(0, 2, 3)"):
            yield change(c.WRONG_AXIS, parsed(axes), 0.8)
        return
    cause = of_number(statement, slot)
    for other in (value + 1, value - 1, 2 * value, value / 2, -value, 0, 1):
        if other != value and (other == int(other) or isinstance(value, float) or other == 0.5):
            kept = int(other) if isinstance(value, int) and other == int(other) else other
            told = c.SIGN if kept == -value else c.WRONG_VALUE if kept == 0 else cause
            yield change(told, ast.Constant(kept))

"""The small changes of a function that are tried, with the mistake that each would undo."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

from deepnlp.diagnosis.rewriting.calls import of_call, of_product
from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.inserting import inserted
from deepnlp.diagnosis.rewriting.naming import renamed
from deepnlp.diagnosis.rewriting.slots import Change, Slot, expressions, parsed, statements
from deepnlp.gradcheck import causes as c

OPPOSITES = {ast.Add: ast.Sub, ast.Sub: ast.Add}
PRODUCTS = {ast.Mult: ast.Div, ast.Div: ast.Mult}
COMPARISONS = {
    ast.Gt: (ast.Lt, ast.LtE), ast.Lt: (ast.Gt, ast.GtE), ast.GtE: (ast.Lt, ast.LtE),
    ast.LtE: (ast.Gt, ast.GtE), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
}  # fmt: skip


def changes(ran: Ran) -> Iterator[list[Change]]:
    """The changes of one function, in lists of falling likelihood."""
    all_statements = list(statements(ran.tree))
    signs, order, wholes = [], [], []
    for statement in all_statements:
        wholes += list(_of_statement(statement))
        inside = indices(statement.node)
        for slot in expressions(statement.node):
            if id(slot.node) not in inside:
                signs += list(_of_expression(statement, slot))
            elif isinstance(slot.node, ast.Constant) and type(slot.node.value) is int:
                signs += [
                    Change(
                        c.TIME_SHIFTED, statement, [(slot, ast.Constant(slot.node.value + step))]
                    )
                    for step in (1, -1)
                ]
            order += list(_of_order(ran, statement, slot))
    yield signs + wholes
    yield order
    yield [one for statement in all_statements for one in renamed(ran, statement)]
    yield [one for statement in all_statements for one in inserted(ran, statement)]
    yield list(_of_two_statements(ran, all_statements))


def _of_statement(statement: Slot) -> Iterator[Change]:
    """``=`` for ``+=`` and the reverse; a condition that should not be there."""
    node = statement.node
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
            for op in (ast.Add(), ast.Mult()):
                added = ast.copy_location(ast.AugAssign(target, op, node.value), node)
                yield Change(c.ASSIGNED, statement, [(statement, added)])
        if isinstance(target, ast.Subscript):
            yield _added_at(statement, target, node.value)
    elif isinstance(node, ast.AugAssign):
        assigned = ast.copy_location(ast.Assign([node.target], node.value), node)
        yield Change(c.WRONG_VALUE, statement, [(statement, assigned)])
        opposite = OPPOSITES.get(type(node.op))
        if opposite is not None:
            turned = ast.copy_location(ast.AugAssign(node.target, opposite(), node.value), node)
            yield Change(c.SIGN, statement, [(statement, turned)])
        if isinstance(node.target, ast.Subscript):
            yield _added_at(statement, node.target, node.value)
    elif isinstance(node, ast.If) and not node.orelse:
        always = ast.copy_location(ast.If(ast.Constant(True), node.body, []), node)
        yield Change(c.NOT_SUMMED_T, statement, [(statement, always)])
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield Change(c.WRONG_VALUE, statement, [(statement, ast.copy_location(ast.Pass(), node))])


def indices(node: ast.AST) -> set[int]:
    """What stands in the brackets of a subscript, by ``id``."""
    brackets = [n.slice for n in ast.walk(node) if isinstance(n, ast.Subscript)]
    return {id(inner) for one in brackets for inner in ast.walk(one)}


def _added_at(statement: Slot, target: ast.Subscript, value: ast.expr) -> Change:
    """``np.add.at(dW, ids, value)``."""
    call = ast.Call(parsed("np.add.at"), [_loaded(target.value), target.slice, value], [])
    node = ast.copy_location(ast.Expr(call), statement.node)
    return Change(c.REPEATED_IDS, statement, [(statement, node)])


def _loaded(node: ast.expr) -> ast.expr:
    return parsed(ast.unparse(node))


def _of_expression(statement: Slot, slot: Slot) -> Iterator[Change]:
    """Signs, axes, constants, transposes, operators and functions."""
    node = slot.node

    def change(cause: str, new: ast.expr) -> Change:
        return Change(cause, statement, [(slot, new)])

    if isinstance(node, ast.BinOp):
        left, op, right = node.left, node.op, node.right
        if type(op) in OPPOSITES:
            yield change(c.SIGN, ast.BinOp(left, OPPOSITES[type(op)](), right))
            yield change(c.WRONG_VALUE, left)
            yield change(c.WRONG_VALUE, right)
        if isinstance(op, ast.Sub):
            yield change(c.SIGN, ast.BinOp(right, op, left))
        if type(op) in PRODUCTS:
            is_number = isinstance(right, ast.Constant) or isinstance(left, ast.Constant)
            cause = c.FACTOR if is_number else c.WRONG_VALUE
            yield change(cause, ast.BinOp(left, PRODUCTS[type(op)](), right))
            yield change(cause, left)
            if isinstance(op, ast.Mult):
                yield change(cause, right)
        if isinstance(op, ast.MatMult):
            yield from of_product(change, left, right)
        if isinstance(op, ast.Pow):
            yield change(c.WRONG_VALUE, left)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield change(c.SIGN, node.operand)
    elif isinstance(node, ast.Attribute) and node.attr == "T":
        yield change(c.TRANSPOSED, node.value)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in COMPARISONS.get(type(node.ops[0]), ()):
            yield change(c.DERIVATIVE_MISSING, ast.Compare(node.left, [other()], node.comparators))
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield from _of_constant(change, slot, node.value)
    elif isinstance(node, ast.Call):
        yield from of_call(change, node)
    if _is_term(slot):
        yield change(c.SIGN, ast.UnaryOp(ast.USub(), node))


def _is_term(slot: Slot) -> bool:
    """Whether an expression is assigned, returned, or an entry of what is."""
    return (
        slot.field == "value" and isinstance(slot.parent, ast.Assign | ast.AugAssign | ast.Return)
    ) or (slot.field == "elts" and isinstance(slot.node, ast.BinOp | ast.Name | ast.Call))


def _of_constant(change: Any, slot: Slot, value: Any) -> Iterator[Change]:
    keyword = slot.parent if isinstance(slot.parent, ast.keyword) else None
    if keyword is not None and keyword.arg == "axis":
        for axis in (0, 1, 2, -1, None):
            if axis != value:
                yield change(c.WRONG_AXIS, ast.Constant(axis))
        yield change(c.WRONG_AXIS, parsed("(0, 1)"))
        return
    inside = isinstance(slot.parent, ast.Subscript | ast.Slice) or (
        isinstance(slot.parent, ast.Tuple | ast.BinOp | ast.Call) and isinstance(value, int)
    )
    is_power = isinstance(slot.parent, ast.BinOp) and isinstance(slot.parent.op, ast.Pow)
    cause = c.WRONG_VALUE if is_power else c.TIME_SHIFTED if inside else c.FACTOR
    for other in (value + 1, value - 1, 2 * value, value / 2, -value, 0, 1):
        if other != value and (other == int(other) or isinstance(value, float) or other == 0.5):
            kept = int(other) if isinstance(value, int) and other == int(other) else other
            told = c.SIGN if kept == -value else c.WRONG_VALUE if kept == 0 else cause
            yield change(told, ast.Constant(kept))


def _of_order(ran: Ran, statement: Slot, slot: Slot) -> Iterator[Change]:
    """An index off by one, an array the other way round, a slice that is too short."""
    node = slot.node
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load | ast.Store):
        parts = Slot(node, "slice")
        places = [parts]
        if isinstance(node.slice, ast.Tuple):
            places = [Slot(node.slice, "elts", k) for k in range(len(node.slice.elts))]
        for place in places:
            index = place.node
            if isinstance(index, ast.Name | ast.BinOp):
                for step in (1, -1):
                    moved = ast.BinOp(index, ast.Add(), ast.Constant(step))
                    yield Change(c.TIME_SHIFTED, statement, [(place, moved)])
                turned = parsed(f"-1 - ({ast.unparse(index)})")
                yield Change(c.TIME_REVERSED, statement, [(place, turned)])
            elif isinstance(index, ast.Slice):
                yield from _of_slice(statement, index)
        if isinstance(node.ctx, ast.Load):
            cause = c.TIME_REVERSED if "::-1" in ast.unparse(node.slice) else c.WRONG_VALUE
            yield Change(cause, statement, [(slot, node.value)])
    elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        if isinstance(slot.parent, ast.Attribute | ast.Subscript) or slot.field == "func":
            return
        name = ast.unparse(node)
        shape = getattr(ran.scope.get(name), "shape", ())
        flips = [k for k, n in enumerate(shape) if n > 1]
        for k in flips:
            new = parsed(f"{name}[{':, ' * k}::-1]")
            yield Change(c.TIME_REVERSED, statement, [(slot, new)])
        if len(flips) > 2:
            yield Change(c.TIME_REVERSED, statement, [(slot, parsed(f"{name}[..., ::-1, ::-1]"))])
        for k, n in enumerate(shape):
            for m in range(k):
                if shape[m] == n > 1:
                    new = parsed(f"{name}.swapaxes({m}, {k})")
                    yield Change(c.TRANSPOSED, statement, [(slot, new)])
        if shape:
            yield Change(c.CACHE, statement, [(slot, parsed(f"{name}.copy()"))])


def _of_slice(statement: Slot, index: ast.Slice) -> Iterator[Change]:
    bounds = [Slot(index, name) for name in ("lower", "upper") if getattr(index, name) is not None]
    for step in (1, -1):
        moved = [(slot, ast.BinOp(slot.node, ast.Add(), ast.Constant(step))) for slot in bounds]
        for put in moved:
            yield Change(c.TIME_SHIFTED, statement, [put])
        if len(moved) == 2:
            yield Change(c.TIME_SHIFTED, statement, moved)
    lower, upper = (None if one is None else ast.unparse(one) for one in (index.lower, index.upper))
    if (lower is None) != (upper is None):
        other = ("1", f"({upper}) + 1") if lower is None else (f"({lower}) - 1", "-1")
        ends = [(Slot(index, name), parsed(end)) for name, end in zip(("lower", "upper"), other)]
        yield Change(c.TIME_SHIFTED, statement, list(ends))
    if index.lower is None and index.upper is None and index.step is None:
        yield Change(c.TIME_REVERSED, statement, [(Slot(index, "step"), ast.Constant(-1))])
    if index.step is not None:
        yield Change(c.TIME_REVERSED, statement, [(Slot(index, "step"), None)])


def _of_two_statements(ran: Ran, found: list[Slot]) -> Iterator[Change]:
    """Two statements in the wrong order, or two values under each other's names."""
    for slot, following in itertools.pairwise(found):
        if slot.parent is following.parent and slot.field == following.field:
            puts = [(slot, following.node), (following, slot.node)]
            yield Change(c.CACHE, slot, puts)
    assigned = [
        slot
        for slot in found
        if isinstance(slot.node, ast.Assign)
        and isinstance(slot.node.targets[0], ast.Name | ast.Attribute)
    ]
    shapes = {slot: _shape(ran, slot.node.targets[0]) for slot in assigned}
    for k, one in enumerate(assigned):
        for other in assigned[k + 1 :]:
            if shapes[one] is None or shapes[one] != shapes[other]:
                continue
            if ast.dump(one.node.targets[0]) == ast.dump(other.node.targets[0]):
                continue
            puts = [
                (Slot(one.node, "targets", 0), other.node.targets[0]),
                (Slot(other.node, "targets", 0), one.node.targets[0]),
            ]
            yield Change(c.GATES_SWAPPED, one, puts)


def _shape(ran: Ran, node: ast.expr) -> tuple[int, ...] | None:
    return getattr(ran.scope.get(ast.unparse(node)), "shape", None)

"""Changes of statements: how a value is stored, where, when, and whether at all."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator
from typing import Any

from deepnlp.diagnosis.rewriting.functions import Ran, shape_of
from deepnlp.diagnosis.rewriting.operators import OPPOSITES
from deepnlp.diagnosis.rewriting.slots import (
    Change,
    Slot,
    expressions,
    loaded,
    parsed,
    targets,
)
from deepnlp.gradcheck import causes as c


def of_statement(ran: Ran, statement: Slot) -> Iterator[Change]:
    """``=`` for ``+=`` and the reverse; a condition or a statement that should not be there."""
    node = statement.node

    def put(cause: str, new: ast.stmt, cost: float = 1.0) -> Change:
        return Change(cause, statement, [(statement, ast.copy_location(new, node))], cost)

    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        name = ast.unparse(target)
        is_changed = any(ast.unparse(n) == name for n in ast.walk(node.value))
        if isinstance(target, ast.Name | ast.Attribute | ast.Subscript) and not is_changed:
            yield put(c.ASSIGNED, ast.AugAssign(target, ast.Add(), node.value), 0.7)
            product = ast.AugAssign(target, ast.Mult(), node.value)
            yield put(c.TERM_MISSING, product, 0.9)
            yield put(c.SIGN, ast.AugAssign(target, ast.Sub(), node.value), 0.9)
        if isinstance(target, ast.Subscript):
            yield put(c.REPEATED_IDS, _added_at(target, node.value), 0.8)
        if is_changed:
            yield put(c.CACHE if _is_kept(ran, name) else c.WRONG_VALUE, ast.Pass(), 1.1)
    elif isinstance(node, ast.AugAssign):
        yield put(c.WRONG_VALUE, ast.Assign([node.target], node.value), 0.7)
        opposite = OPPOSITES.get(type(node.op))
        if opposite is not None:
            yield put(c.SIGN, ast.AugAssign(node.target, opposite(), node.value), 0.5)
        if isinstance(node.target, ast.Subscript) and opposite is not None:
            value = node.value
            if isinstance(node.op, ast.Sub):
                value = ast.UnaryOp(ast.USub(), value)
            yield put(c.REPEATED_IDS, _added_at(node.target, value), 0.8)
        kept = _is_kept(ran, ast.unparse(node.target))
        yield put(c.CACHE if kept else c.WRONG_VALUE, ast.Pass(), 1.1)
    elif isinstance(node, ast.If) and not node.orelse:
        yield put(c.NOT_SUMMED_T, ast.If(ast.Constant(True), node.body, []))
        yield put(c.WRONG_VALUE, ast.If(ast.Constant(False), node.body, []))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield put(c.WRONG_VALUE, ast.Pass(), 1.1)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
        copied = parsed(f"{ast.unparse(node.value)}.copy()")
        yield put(c.CACHE, ast.Assign(node.targets, copied), 0.8)
    yield from _of_places(ran, statement, put)


def _is_kept(ran: Ran, name: str) -> bool:
    """Whether a name holds what backward was given, or what forward kept."""
    arguments = [one.arg for one in ran.tree.args.args]
    return name in arguments or name.startswith("self.") or not _is_gradient(name)


def _is_gradient(name: str) -> bool:
    return name.rpartition(".")[2].startswith(("d", "grad"))


def _added_at(target: ast.Subscript, value: ast.expr) -> ast.Expr:
    """``np.add.at(dW, ids, value)``."""
    index = target.slice
    call = ast.Call(parsed("np.add.at"), [loaded(target.value), index, value], [])
    return ast.Expr(call)


def _of_places(ran: Ran, statement: Slot, put: Any) -> Iterator[Change]:
    """Steps and windows of the target and of the value, changed together."""
    node = statement.node
    if not isinstance(node, ast.Assign | ast.AugAssign):
        return
    for target in targets(node):
        if isinstance(target.node, ast.Subscript):
            yield from _exchanged(statement, target.node)
            yield from _all_places(statement, target.node, put)
    if isinstance(node, ast.AugAssign):
        yield from _moved(ran, statement)
    yield from _other_number(ran, statement)


def _exchanged(statement: Slot, target: ast.Subscript) -> Iterator[Change]:
    """A slice of the target and one of the value in each other's place."""
    for slot in expressions(statement.node):
        if isinstance(slot.node, ast.Subscript) and isinstance(slot.node.ctx, ast.Load):
            for one, other in itertools.product(_slices(target), _slices(slot.node)):
                if ast.dump(one.node) != ast.dump(other.node):
                    puts = [(one, other.node), (other, one.node)]
                    yield Change(c.TIME_SHIFTED, statement, puts)


def _slices(node: ast.Subscript) -> list[Slot]:
    """The slices among the indices of a subscript that are bounded."""
    found = [Slot(node, "slice")]
    if isinstance(node.slice, ast.Tuple):
        found = [Slot(node.slice, "elts", k) for k in range(len(node.slice.elts))]
    bounds = [(s, s.node.lower, s.node.upper) for s in found if isinstance(s.node, ast.Slice)]
    return [slot for slot, lower, upper in bounds if lower is not None or upper is not None]


def _all_places(statement: Slot, target: ast.Subscript, put: Any) -> Iterator[Change]:
    """A statement for one index that should hold for all along this axis."""
    indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    for k, index in enumerate(indices):
        if isinstance(index, ast.Slice) or not isinstance(index, ast.Constant | ast.UnaryOp):
            continue
        new: Any = copy.deepcopy(statement.node)
        held: Any = new.targets[0] if isinstance(new, ast.Assign) else new.target
        places = [*indices[:k], ast.Slice(), *indices[k + 1 :]]
        held.slice = ast.Tuple(places, ast.Load()) if len(places) > 1 else places[0]
        yield put(c.NOT_SUMMED_T, copy.deepcopy(new), 1.1)
        value = ast.unparse(new.value)
        new.value = parsed(f"np.expand_dims({value}, {k})")
        yield put(c.MASK_MISSING if "mask" in value else c.TERM_MISSING, new, 1.1)


def _moved(ran: Ran, statement: Slot) -> Iterator[Change]:
    """``dx += dbefore`` for ``dx[:, :-1] += dbefore[:, 1:]``."""
    node = statement.node
    shape = shape_of(ran.value(ast.unparse(node.target))) or ()
    if not isinstance(node.target, ast.Name | ast.Attribute):
        return
    for axis in range(min(len(shape), 3)):
        for one, other in (("[:, :-1]", "[:, 1:]"), ("[:, 1:]", "[:, :-1]")):
            first, second = (part.replace(":, ", ":, " * axis) for part in (one, other))
            new = parsed(f"{ast.unparse(node.target)}{first}")
            assert isinstance(new, ast.Subscript)
            new.ctx = ast.Store()
            moved = parsed(f"({ast.unparse(node.value)}){second}")
            puts = [(Slot(node, "target"), new), (Slot(node, "value"), moved)]
            yield Change(c.TIME_SHIFTED, statement, puts, 1.1)


def _other_number(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Another whole number of backward's in place of a constant, wherever that stands."""
    found: dict[int, list[Slot]] = {}
    for slot in _constants(statement.node):
        found.setdefault(slot.node.value, []).append(slot)
    names = [n for n, v in ran.scope.items() if type(v) is int]
    for slots in found.values():
        for name in names if len(slots) > 1 else ():
            puts = [(slot, parsed(name)) for slot in slots]
            yield Change(c.TIME_SHIFTED, statement, puts, 1.1)


def _constants(node: ast.AST) -> Iterator[Slot]:
    for name, value in ast.iter_fields(node):
        for k, one in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(one, ast.Constant) and type(one.value) is int:
                yield Slot(node, name, k)
            elif isinstance(one, ast.AST):
                yield from _constants(one)


def of_all_axes(found: list[Slot]) -> Iterator[Change]:
    """Several sums, or means, over one axis that should all run over another."""
    alike: dict[tuple[str, str, int], list[tuple[Slot, Slot]]] = {}
    for k, statement in enumerate(found):
        for call in expressions(statement.node):
            for slot in _axes_of(call.node):
                axis = ast.unparse(slot.node)
                name = ast.unparse(call.node.func).rpartition(".")[2]
                for where in (-1, k):  # in the whole function, or in one statement
                    group = (axis, name if where < 0 else "", where)
                    alike.setdefault(group, []).append((statement, slot))
    for (axis, _, _), members in alike.items():
        for other in ("0", "1", "-1") if len(members) > 1 else ():
            if other != axis:
                puts = [(slot, parsed(other)) for _, slot in members]
                yield Change(c.WRONG_AXIS, members[0][0], puts, 1.2)


def _axes_of(call: Any) -> Iterator[Slot]:
    """Where a call says over which axis it runs."""
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        places = [Slot(one, "value") for one in call.keywords if one.arg == "axis"]
        if call.func.attr in ("sum", "mean", "max") and call.args:
            places.append(Slot(call, "args", 0))
        yield from (slot for slot in places if ast.unparse(slot.node) in ("0", "1", "2", "-1"))


def of_two_statements(ran: Ran, found: list[Slot]) -> Iterator[Change]:
    """Two statements in the wrong order, or two values under each other's names."""
    for slot, later in itertools.combinations(found, 2):
        is_move = not isinstance(later.node, ast.Return)
        if is_move and slot.parent is later.parent and slot.field == later.field:
            block = [s for s in found if s.parent is slot.parent and s.field == slot.field]
            between = block[block.index(slot) : block.index(later) + 1]
            nodes = [s.node for s in between]
            for order in (nodes[1:] + nodes[:1], nodes[-1:] + nodes[:-1]):
                puts = list(zip(between, order))
                yield Change(c.CACHE, slot, puts, 1.3)
    assigned = [
        slot
        for slot in found
        if isinstance(slot.node, ast.Assign)
        and isinstance(slot.node.targets[0], ast.Name | ast.Attribute)
    ]
    shapes = {slot: _shape(ran, slot.node.targets[0]) for slot in assigned}
    for one, other in itertools.combinations(assigned, 2):
        if shapes[one] is None or shapes[one] != shapes[other]:
            continue
        if ast.dump(one.node.targets[0]) != ast.dump(other.node.targets[0]):
            puts = [
                (Slot(one.node, "targets", 0), other.node.targets[0]),
                (Slot(other.node, "targets", 0), one.node.targets[0]),
            ]
            yield Change(c.GATES_SWAPPED, one, puts, 1.3)


def _shape(ran: Ran, node: ast.expr) -> tuple[int, ...] | None:
    return getattr(ran.scope.get(ast.unparse(node)), "shape", None)

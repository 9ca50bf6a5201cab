"""Other forms of a statement of backward, by the rules of ``rules.toml`` and a few that count."""

import ast
import copy
import itertools
from collections.abc import Iterator
from typing import Any

from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.rules import rewritten
from deepnlp.diagnosis.rewriting.slots import (
    Change,
    Slot,
    expressions,
    indices,
    parsed,
    statements,
    targets,
)
from deepnlp.gradcheck import causes as c


def by_rules(kind: str, statement: Slot, slot: Slot, more: float = 0.0) -> Iterator[Change]:
    """Yield the code that a table of rules allows in a place."""
    for new, cause, cost in rewritten(kind, slot.node):
        yield Change(cause, statement, [(slot, new)], cost + more)


def of_expressions(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Signs, axes, numbers, transposes, operators and functions of a statement."""
    inside = indices(statement.node)
    for slot in expressions(statement.node):
        node = slot.node
        if id(node) in inside or not isinstance(getattr(node, "ctx", None), ast.Load | None):
            continue
        if isinstance(slot.parent, ast.keyword) and slot.parent.arg == "axis":
            yield from by_rules("axis", statement, slot)
            continue
        yield from by_rules("expression", statement, slot)
        if _is_term(slot) or (slot.field == "args" and not isinstance(node, ast.Constant)):
            yield from by_rules("term", statement, slot)
        if not _is_in_sum(slot):
            yield from by_rules("number", statement, slot)
        if isinstance(node, ast.Tuple | ast.List):
            yield from _exchanged_entries(statement, slot)
        elif isinstance(node, ast.Call):
            yield from _of_orders(statement, slot)


def of_numbers_in_sums(statement: Slot) -> Iterator[Change]:
    """Another number in a sum, where a missing term would be as small a change: ``2 - y**2``."""
    inside = indices(statement.node)
    for slot in expressions(statement.node):
        if id(slot.node) not in inside and _is_in_sum(slot):
            yield from by_rules("number", statement, slot, 0.3)


def _is_term(slot: Slot) -> bool:
    """Return whether an expression is assigned, returned, or an entry of what is."""
    return (
        slot.field == "value" and isinstance(slot.parent, ast.Assign | ast.AugAssign | ast.Return)
    ) or (slot.field == "elts" and isinstance(slot.node, ast.BinOp | ast.Name | ast.Call))


def _is_in_sum(slot: Slot) -> bool:
    is_sum = isinstance(slot.parent, ast.BinOp) and isinstance(slot.parent.op, ast.Add | ast.Sub)
    return isinstance(slot.node, ast.Constant) and is_sum


def _exchanged_entries(statement: Slot, slot: Slot) -> Iterator[Change]:
    in_transpose = isinstance(slot.parent, ast.Call) and "transpose" in ast.unparse(slot.parent)
    places = [Slot(slot.node, "elts", k) for k in range(len(slot.node.elts))]
    for one, other in itertools.combinations(places, 2):
        cause = c.TRANSPOSED if in_transpose else c.GATES_SWAPPED
        cause = c.EXCHANGED if isinstance(slot.parent, ast.Return) else cause
        yield Change(cause, statement, [(one, other.node), (other, one.node)], 0.9)


def _of_orders(statement: Slot, slot: Slot) -> Iterator[Change]:
    """Other orders of the axes of a transpose or a reshape, other letters of an ``einsum``."""
    node = slot.node
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name in ("transpose", "swapaxes") or (name == "reshape" and len(node.args) > 2):
        for order in itertools.permutations(node.args) if 1 < len(node.args) < 5 else ():
            if [*order] != node.args:
                new = ast.Call(node.func, [*order], node.keywords)
                yield Change(c.TRANSPOSED, statement, [(slot, new)])
    if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
        for cause, subscripts, operands in _of_subscripts(str(node.args[0].value), node.args[1:]):
            new = ast.Call(node.func, [ast.Constant(subscripts), *operands], node.keywords)
            yield Change(cause, statement, [(slot, new)])


def _of_subscripts(told: str, operands: list[Any]) -> Iterator[tuple[str, str, list[Any]]]:
    """Two letters of one operand of an ``einsum`` exchanged, another letter, an operand less."""
    left, arrow, right = told.partition("->")
    parts = [*left.split(","), right]
    known = sorted(set(left) - set(", ."))
    for k, part in enumerate(parts):
        turned = [
            part[:i] + part[j] + part[i + 1 : j] + part[i] + part[j + 1 :]
            for i, j in itertools.combinations(range(len(part)), 2)
        ]
        others = [part[:i] + x + part[i + 1 :] for i in range(len(part)) for x in known]
        for letters in dict.fromkeys([*turned, *others]):
            new = [*parts[:k], letters, *parts[k + 1 :]]
            cause = c.TRANSPOSED if letters in turned else c.WRONG_VALUE
            yield cause, ",".join(new[:-1]) + arrow + new[-1], operands
    for k in range(len(operands)) if len(operands) > 1 else ():
        kept = ",".join(parts[:k] + parts[k + 1 : -1]) + arrow + right
        yield c.WRONG_VALUE, kept, operands[:k] + operands[k + 1 :]


# --- Brackets -------------------------------------------------------------------------------------


def of_indices(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Changes of all indices of a statement, also of those of its targets."""
    found = [s for s in expressions(statement.node) if isinstance(s.node, ast.Subscript)]
    cut = [place for slot in found for place in _bounded(slot.node)]
    if len(cut) > 1:
        yield Change(c.TIME_SHIFTED, statement, [(place, ast.Slice()) for place in cut], 1.1)
    for slot in found:
        node = slot.node
        places = places_of(node)
        for one, other in itertools.combinations(places, 2):
            yield Change(c.TRANSPOSED, statement, [(one, other.node), (other, one.node)])
        for place in places:
            is_slice = isinstance(place.node, ast.Slice)
            for new in _slices_in(ran.others) if is_slice else ():
                yield Change(c.WRONG_VALUE, statement, [(place, new)], 1.1)
            yield from by_rules("slice" if is_slice else "index", statement, place)
        yield from _all_slices(statement, [p for p in places if isinstance(p.node, ast.Slice)])
        flips = [Slot(p.node, "step") for p in places if getattr(p.node, "step", None) is not None]
        if len(flips) > 1:
            yield Change(c.TIME_REVERSED, statement, [(one, None) for one in flips])
        if isinstance(node.ctx, ast.Load):
            cause = c.TIME_REVERSED if flips else c.WRONG_VALUE
            yield Change(cause, statement, [(slot, node.value)])


def _slices_in(trees: list[ast.FunctionDef]) -> list[ast.Slice]:
    """The slices that forward takes, each once, but for all of an axis."""
    nodes = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Slice)]
    return list({ast.unparse(n): n for n in nodes if ast.unparse(n) != ":"}.values())


def _all_slices(statement: Slot, places: list[Slot]) -> Iterator[Change]:
    """Several slices of an array changed in the same way: a border that is cut off at one side."""
    alike = [p for p in places if ast.dump(p.node) == ast.dump(places[-1].node)]
    if len(alike) > 1:
        for new, cause, cost in rewritten("slice", alike[0].node):
            yield Change(cause, statement, [(place, new) for place in alike], cost + 0.1)


def places_of(node: ast.Subscript) -> list[Slot]:
    """Where the indices of an array stand: one, or several with commas between."""
    if isinstance(node.slice, ast.Tuple):
        return [Slot(node.slice, "elts", k) for k in range(len(node.slice.elts))]
    return [Slot(node, "slice")]


def _bounded(node: ast.Subscript) -> list[Slot]:
    """Where the slices of an array stand that begin or end somewhere."""
    found = [p for p in places_of(node) if isinstance(p.node, ast.Slice)]
    return [p for p in found if p.node.lower is not None or p.node.upper is not None]


# --- Statements -----------------------------------------------------------------------------------


def of_statement(ran: Ran, statement: Slot) -> Iterator[Change]:
    """``=`` for ``+=`` and the reverse; a condition or a statement that should not be there."""
    node = statement.node

    def put(cause: str, new: ast.stmt, cost: float = 1.0) -> Change:
        made = ast.fix_missing_locations(ast.copy_location(new, node))
        return Change(cause, statement, [(statement, made)], cost)

    for new, cause, cost in rewritten("statement", node):
        yield put(cause, new, cost)
    if isinstance(node, ast.Assign | ast.AugAssign):
        (name, *_) = [ast.unparse(one.node) for one in targets(node)]
        if isinstance(node, ast.AugAssign) or name in map(ast.unparse, ast.walk(node.value)):
            yield put(c.CACHE if _is_kept(ran, name) else c.WRONG_VALUE, ast.Pass(), 1.1)
        for target in targets(node):
            if isinstance(target.node, ast.Subscript):
                yield from _exchanged_slices(statement, target.node)
                yield from _all_places(statement, target.node, put)
        yield from _other_number(ran, statement)
        yield from _other_node(ran, statement)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name | ast.Attribute):
        copied = parsed(f"{ast.unparse(node.value)}.copy()")
        yield put(c.CACHE, ast.Assign(node.targets, copied), 0.8)
    elif isinstance(node, ast.For):
        yield from _indented(statement)
        yield from by_rules("loop", statement, Slot(node, "iter"))
    elif isinstance(node, ast.If) and not node.orelse:
        yield put(c.NOT_SUMMED_T, ast.If(ast.Constant(True), node.body, []))
        yield put(c.WRONG_VALUE, ast.If(ast.Constant(False), node.body, []))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield put(c.WRONG_VALUE, ast.Pass(), 1.1)


def _indented(statement: Slot) -> Iterator[Change]:
    """The ``return`` that ends a loop behind it; or the next statement as the loop's last."""
    node = statement.node

    def loop(body: list[ast.stmt]) -> Any:
        return ast.copy_location(ast.For(node.target, node.iter, body, []), node)

    *rest, last = node.body
    if rest and isinstance(last, ast.Return):
        whole = ast.copy_location(ast.If(ast.Constant(True), [loop(rest), last], []), node)
        whole = ast.fix_missing_locations(whole)
        yield Change(c.TERM_MISSING, statement, [(statement, whole)], 1.2)
    block, place = getattr(statement.parent, statement.field), statement.index or 0
    behind = Slot(statement.parent, statement.field, place + 1)
    if len(block) > place + 1 and isinstance(behind.node, ast.Assign | ast.AugAssign):
        puts = [(statement, loop([*node.body, behind.node])), (behind, ast.Pass())]
        yield Change(c.TERM_MISSING, statement, puts, 1.2)


def _is_kept(ran: Ran, name: str) -> bool:
    """Return whether a name holds what backward was given, or what forward kept."""
    given = name in [one.arg for one in ran.tree.args.args] or name.startswith("self.")
    return given or not name.rpartition(".")[2].startswith(("d", "grad"))


def _exchanged_slices(statement: Slot, target: ast.Subscript) -> Iterator[Change]:
    """A slice of the target and one of the value in each other's place."""
    for slot in expressions(statement.node):
        if isinstance(slot.node, ast.Subscript) and isinstance(slot.node.ctx, ast.Load):
            for one, other in itertools.product(_bounded(target), _bounded(slot.node)):
                if ast.dump(one.node) != ast.dump(other.node):
                    puts = [(one, other.node), (other, one.node)]
                    yield Change(c.TIME_SHIFTED, statement, puts)


def _all_places(statement: Slot, target: ast.Subscript, put: Any) -> Iterator[Change]:
    """A statement for one index that should hold for all along this axis."""
    indices = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    for k, index in enumerate(indices):
        if not isinstance(index, ast.Constant | ast.UnaryOp):
            continue
        new: Any = copy.deepcopy(statement.node)
        held: Any = new.targets[0] if isinstance(new, ast.Assign) else new.target
        places = [*indices[:k], ast.Slice(), *indices[k + 1 :]]
        held.slice = ast.Tuple(places, ast.Load()) if len(places) > 1 else places[0]
        yield put(c.NOT_SUMMED_T, copy.deepcopy(new), 1.1)
        value = ast.unparse(new.value)
        new.value = parsed(f"np.expand_dims({value}, {k})")
        yield put(c.MASK_MISSING if "mask" in value else c.TERM_MISSING, new, 1.1)


def _other_number(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Another whole number of backward's in place of a constant, wherever that stands."""
    found: dict[int, list[Slot]] = {}
    for slot in expressions(statement.node):
        if isinstance(slot.node, ast.Constant) and type(slot.node.value) is int:
            found.setdefault(slot.node.value, []).append(slot)
    names = [n for n, v in ran.scope.items() if type(v) is int]
    for slots, name in itertools.product(found.values(), names):
        if len(slots) > 1:
            yield Change(c.TIME_SHIFTED, statement, [(s, parsed(name)) for s in slots], 1.1)


def _other_node(ran: Ran, statement: Slot) -> Iterator[Change]:
    """The gradient of another node of an engine: ``other.grad`` for ``self.grad``."""
    node = statement.node
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
        own = ast.unparse(node.target)
        for name in ran.scope:
            if name != own and name.endswith(f".{node.target.attr}") and name.count(".") == 1:
                new: Any = parsed(name)
                new.ctx = ast.Store()
                yield Change(c.WRONG_VALUE, statement, [(Slot(node, "target"), new)], 1.0)


def of_two_statements(ran: Ran, found: list[Slot]) -> Iterator[Change]:
    """Two values under each other's names, of which one is in some statements."""
    assigned = [
        slot
        for slot in statements(ran.tree)
        if isinstance(slot.node, ast.Assign)
        and isinstance(slot.node.targets[0], ast.Name | ast.Attribute)
    ]
    suspects = {id(slot.node) for slot in found}
    for statement, second in itertools.combinations(assigned, 2):
        if suspects.isdisjoint((id(statement.node), id(second.node))):
            continue
        one, other = (Slot(slot.node, "targets", 0) for slot in (statement, second))
        names = [ast.unparse(slot.node) for slot in (one, other)]
        shapes = [getattr(ran.scope.get(name), "shape", None) for name in names]
        if names[0] != names[1] and shapes[0] is not None and shapes[0] == shapes[1]:
            puts = [(one, other.node), (other, one.node)]
            yield Change(c.GATES_SWAPPED, statement, puts, 1.3)

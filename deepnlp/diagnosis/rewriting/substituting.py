"""Other values in place of those that backward uses, and factors and terms that it lacks."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import UNKNOWN, Ran, shape_of
from deepnlp.diagnosis.rewriting.naming import (
    is_sum_of_part,
    of_exchange,
    of_missing_factor,
    of_missing_term,
    of_number,
    of_replacement,
)
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

WRAPPERS = [
    (c.NOT_SUMMED_N, "np.sum({0}, axis=0)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=1)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=-1)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=-1, keepdims=True)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=0, keepdims=True)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=(0, 1))"),
    (c.WRONG_AXIS, "np.sum({0}, axis=(0, 2))"),
    (c.FACTOR, "({0}) * 2"),
    (c.FACTOR, "({0}) / 2"),
    (c.WRONG_VALUE, "({0}) ** 2"),
    (c.WRONG_VALUE, "({0}) ** 3"),
    (c.WRONG_VALUE, "1 / ({0})"),
    (c.WRONG_VALUE, "1 - ({0})"),
    (c.TERM_MISSING, "({0}) + 1"),
    (c.TERM_MISSING, "({0}) - 1"),
    (c.WRONG_VALUE, "np.sqrt({0})"),
    (c.WRONG_VALUE, "np.log({0})"),
    (c.WRONG_VALUE, "np.exp({0})"),
    (c.WRONG_VALUE, "np.abs({0})"),
    (c.WRONG_VALUE, "np.sign({0})"),
    (c.DERIVATIVE_AT_INPUT, "np.tanh({0})"),
    (c.TRANSPOSED, "({0}).T"),
    (c.TRANSPOSED, "({0}).swapaxes(-1, -2)"),
    (c.TRANSPOSED, "({0}).swapaxes(0, 1)"),
    (c.TIME_REVERSED, "({0})[::-1]"),
    (c.TIME_REVERSED, "({0})[:, ::-1]"),
    (c.TIME_REVERSED, "({0})[..., ::-1]"),
    (c.TIME_REVERSED, "({0})[..., ::-1, ::-1]"),
]
"""What an expression may lack around it."""

_SMALL = 64  # as long an axis does no harm


def _readable(ran: Ran, statement: Slot) -> list[Slot]:
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


def renamed(ran: Ran, statement: Slot) -> Iterator[Change]:
    """One name, or one name wherever it stands in the statement, replaced; or two exchanged."""
    found: dict[str, list[Slot]] = {}
    for slot in expressions(statement.node):
        node = slot.node
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and slot.field != "func":
            text = ast.unparse(node)
            if isinstance(node.ctx, ast.Load) and text in ran.scope:
                found.setdefault(text, []).append(slot)
    for name, slots in found.items():
        for other, value in ran.scope.items():
            if other == name or not _same_kind(ran.scope[name], value):
                continue
            most = _most(ran, slots[0])
            if most is not None and value > most:
                continue
            new = parsed(other)
            cause = partial(of_replacement, ran, statement, slots[0], name, other, value)
            if len(slots) > 1:
                yield Change(cause, statement, [(slot, new) for slot in slots], 0.95)
            for slot in slots:
                yield Change(cause, statement, [(slot, new)], 0.9)
    for one, other in itertools.combinations(found, 2):
        if _same_kind(ran.scope[one], ran.scope[other]):
            puts = [(slot, parsed(other)) for slot in found[one]]
            puts += [(slot, parsed(one)) for slot in found[other]]
            yield Change(of_exchange(statement), statement, puts, 1.1)


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
    return max(4 * abs(int(old)), _SMALL)


def _is_numeric(ran: Ran, text: str) -> bool:
    """Whether an expression may stand for numbers, and not for a shape."""
    value = ran.value(text)
    return value is UNKNOWN or shape_of(value) is not None


def _same_kind(a: Any, b: Any) -> bool:
    if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray):
        return a.shape == b.shape and not numpy.array_equal(a, b)
    return shape_of(a) == shape_of(b) == () and type(a) is type(b)


def replaced(ran: Ran, statement: Slot, values: list[Value]) -> Iterator[Change]:
    """Another value of the same shape in place of an expression."""
    into_array = any(isinstance(one.node, ast.Subscript) for one in targets(statement.node))
    for slot in _readable(ran, statement):
        shapes, old = _shapes_of(ran, statement, slot), ast.unparse(slot.node)
        size = sum(isinstance(n, ast.Name | ast.operator) for n in ast.walk(slot.node))
        most = None if into_array and slot.field in ("value", "operand") else _most(ran, slot)
        for one in values:
            if not _stands(one.shape, shapes):
                continue
            if most is not None and (one.shape or one.value > most):
                continue
            cause = partial(of_replacement, ran, statement, slot, old, one.text, one.value)
            cost = 1.0 + one.cost + 0.05 * size
            if is_sum_of_part(old, one.text):
                cost = 0.9 + 0.02 * size
            elif one.shape == () and one.text.partition(".")[0] in old:
                cost -= 0.1
            yield Change(cause, statement, [(slot, one.node)], cost)
            if isinstance(slot.node, ast.Constant) and one.shape and one.cost == 0:
                turned = ast.UnaryOp(ast.USub(), one.node)
                yield Change(cause, statement, [(slot, turned)], 1.2)


def _shapes_of(ran: Ran, statement: Slot, slot: Slot) -> list[tuple[int, ...]] | None:
    """The shapes that could stand there: its own, then those to which it is broadcast."""
    old = ran.value(ast.unparse(slot.node))
    own = shape_of(old)
    if own is None:
        return None if old is UNKNOWN else []
    wholes: list[Any] = []
    if (isinstance(slot.parent, ast.BinOp) and not isinstance(slot.parent.op, ast.MatMult)) or (
        isinstance(slot.parent, ast.Call) and own == ()
    ):
        wholes.append(slot.parent)
    if own == ():
        wholes += [one.node for one in targets(statement.node)]
    shapes = [shape_of(ran.value(ast.unparse(one))) for one in wholes]
    return [own, *(one for one in shapes if one is not None)]


def _stands(shape: tuple[int, ...], shapes: list[tuple[int, ...]] | None) -> bool:
    """Whether numbers of a shape can stand where there are such shapes."""
    if shapes is None or shape in shapes[:1]:
        return True
    return shape != () and any(fits(shape, one) for one in shapes[1:])


def fits(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Whether an array of a shape is broadcast to another."""
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))


def inserted(ran: Ran, statement: Slot, values: list[Value]) -> Iterator[Change]:
    """A factor or a term more, in what a statement assigns and in its parts."""
    for slot in _places(statement):
        old = ast.unparse(slot.node)
        shape = shape_of(ran.value(old))
        if _most(ran, slot) is not None or not _is_numeric(ran, old):
            continue
        for one in values:
            if one.text == old or (shape is not None and not fits(one.shape, shape)):
                continue
            if one.shape and (one.value.dtype.kind not in "fb" or one.value.size < 2):
                continue
            factor = partial(of_missing_factor, ran, one.text, one.value, one.is_slope)
            for product in (ast.Mult(), ast.Div()):
                new = ast.BinOp(slot.node, product, one.node)
                yield Change(factor, statement, [(slot, new)], 1.0 + one.cost)
            term, more = of_missing_term(one.text), 1.1 if one.shape else 1.3
            for sign in (ast.Add(), ast.Sub()):
                new = ast.BinOp(slot.node, sign, one.node)
                yield Change(term, statement, [(slot, new)], more + one.cost)


def wrapped(ran: Ran, statement: Slot) -> Iterator[Change]:
    """A sum, a power, a function, a transpose around an expression."""
    for slot in _readable(ran, statement):
        if isinstance(slot.node, ast.Constant) or _most(ran, slot) is not None:
            continue
        old = ast.unparse(slot.node)
        if not _is_numeric(ran, old):
            continue
        is_one = shape_of(ran.value(old)) == ()
        for cause, form in WRAPPERS:
            cause = of_number(statement, slot) if is_one else cause
            cost = 1.3 if "np.sum" in form else 1.1
            yield Change(cause, statement, [(slot, parsed(form.format(old)))], cost)
        for function in _functions(ran):
            new = parsed(f"{function}({old})")
            yield Change(c.WRONG_VALUE, statement, [(slot, new)], 1.2)
            if isinstance(slot.node, ast.Call) and len(slot.node.args) == 1:
                new = ast.Call(parsed(function), slot.node.args, slot.node.keywords)
                yield Change(c.WRONG_VALUE, statement, [(slot, new)], 1.0)


def _functions(ran: Ran) -> list[str]:
    """Names of the learner's functions that take one argument, as they are called."""
    found = dict.fromkeys(
        ast.unparse(node.func)
        for tree in (ran.tree, *ran.others)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords
    )
    return [f for f in found if not f.startswith(("np.", "numpy.", "super"))][:6]


def _places(statement: Slot) -> Iterator[Slot]:
    """What a statement assigns or returns, its terms, and the operands of its products and sums."""
    node = statement.node
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.Expr):
        return
    if node.value is None:
        return
    whole = Slot(node, "value")
    if isinstance(whole.node, ast.Tuple | ast.List):
        yield from (Slot(whole.node, "elts", k) for k in range(len(whole.node.elts)))
    elif not isinstance(node, ast.Expr):
        yield whole
    inside = indices(node)
    for slot in expressions(node):
        parent = slot.parent
        if id(slot.node) in inside or not isinstance(
            getattr(slot.node, "ctx", None), ast.Load | None
        ):
            continue
        is_operand = isinstance(parent, ast.BinOp) and isinstance(
            parent.op, ast.Add | ast.Sub | ast.MatMult
        )
        is_product = isinstance(parent, ast.Subscript) and isinstance(slot.node, ast.BinOp)
        in_call = isinstance(parent, ast.Call) and slot.field == "args"
        in_list = isinstance(parent, ast.Tuple | ast.List) and parent is not whole.node
        of_method = (
            isinstance(parent, ast.Attribute)
            and parent.attr in ("sum", "mean", "T", "reshape", "transpose", "copy")
            and slot.field == "value"
        )
        is_plain = not isinstance(slot.node, ast.Constant | ast.Slice | ast.Tuple | ast.List)
        if (is_operand or is_product or in_call or in_list or of_method) and is_plain:
            yield slot


def of_einsum(ran: Ran, statement: Slot) -> Iterator[Change]:
    """Another operand of an ``einsum``, or one more, with letters of the right sizes."""
    for slot in expressions(statement.node):
        node = slot.node
        if not (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("einsum")):
            continue
        told = getattr(node.args[0], "value", None)
        if not isinstance(told, str) or "->" not in told or "." in told:
            continue
        left, _, right = told.replace(" ", "").partition("->")
        parts, operands = left.split(","), node.args[1:]
        sizes: dict[str, int] = {}
        for part, operand in zip(parts, operands):
            sizes |= dict(zip(part, shape_of(ran.value(ast.unparse(operand))) or ()))
        for name, value in ran.scope.items():
            if not isinstance(value, numpy.ndarray) or not 0 < value.ndim < 5:
                continue
            for letters in _lettered(value.shape, sizes):
                for k in range(len(parts) + 1):
                    new = [*parts[:k], letters, *parts[k + 1 :]]
                    args = [*operands[:k], parsed(name), *operands[k + 1 :]]
                    text = ast.Constant(",".join(new) + "->" + right)
                    call = ast.Call(node.func, [text, *args], node.keywords)
                    is_more = k == len(parts)
                    cause = c.TERM_MISSING if is_more else c.WRONG_VALUE
                    yield Change(cause, statement, [(slot, call)], 1.1)


def _lettered(shape: tuple[int, ...], sizes: dict[str, int]) -> Iterator[str]:
    """Letters for the axes of an operand; one that is new where no size is the same."""
    free = [x for x in "zyxwvu" if x not in sizes]
    choices = [[x for x, n in sizes.items() if n == size] or free[k : k + 1]
               for k, size in enumerate(shape)]  # fmt: skip
    for letters in itertools.islice(itertools.product(*choices), 12):
        if len(set(letters)) == len(letters):
            yield "".join(letters)

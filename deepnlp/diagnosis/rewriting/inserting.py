"""A factor or a term put in: what a statement lacks, from the names that it could use."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.slots import Change, Slot, expressions, parsed
from deepnlp.gradcheck import causes as c

FACTORS = [
    (c.TERM_MISSING, "({0}) * {1}"),
    (c.TERM_MISSING, "({0}) / {1}"),
    (c.DERIVATIVE_MISSING, "({0}) * (1 - {1} ** 2)"),
    (c.DERIVATIVE_MISSING, "({0}) * {1} * (1 - {1})"),
    (c.DERIVATIVE_MISSING, "({0}) * ({1} > 0)"),
    (c.WRONG_VALUE, "({0}) * (1 - {1})"),
]
TERMS = [(c.TERM_MISSING, "({0}) + {1}"), (c.TERM_MISSING, "({0}) - {1}")]
SUMS = [
    (c.NOT_SUMMED_N, "np.sum({0}, axis=0)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=1)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=-1, keepdims=True)"),
    (c.WRONG_AXIS, "np.sum({0}, axis=0, keepdims=True)"),
    (c.FACTOR, "({0}) * 2"),
    (c.FACTOR, "({0}) / 2"),
    (c.WRONG_VALUE, "({0}) ** 2"),
    (c.WRONG_VALUE, "1 - {0}"),
    (c.DERIVATIVE_MISSING, "({0}) + 1"),
    (c.DERIVATIVE_MISSING, "({0}) - 1"),
    (c.WRONG_VALUE, "np.sqrt({0})"),
    (c.WRONG_VALUE, "np.log({0})"),
    (c.WRONG_VALUE, "np.exp({0})"),
    (c.DERIVATIVE_AT_INPUT, "np.tanh({0})"),
]


def inserted(ran: Ran, statement: Slot) -> Iterator[Change]:
    """A factor or a term more, in what a statement assigns and in its parts."""
    slots = list(_places(statement))
    for slot in slots:
        old = ast.unparse(slot.node)
        for cause, form in SUMS:
            yield Change(cause, statement, [(slot, parsed(form.format(old)))])
    for slot in slots:
        old = ast.unparse(slot.node)
        shape = getattr(ran.scope.get(old), "shape", None) or _assigned_shape(ran, statement)
        for name, value in ran.scope.items():
            if name == old:
                continue
            if not isinstance(value, numpy.ndarray):
                for form in ("({0}) * {1}", "({0}) / {1}"):
                    yield Change(c.FACTOR, statement, [(slot, parsed(form.format(old, name)))])
                continue
            if shape is not None and not _fits(value.shape, shape):
                continue
            if value.dtype.kind not in "fb" or value.size < 2:
                continue
            for cause, form in FACTORS + TERMS:
                new = parsed(form.format(old, name))
                yield Change(_named(cause, form, name, value), statement, [(slot, new)])


def _places(statement: Slot) -> Iterator[Slot]:
    """What a statement assigns or returns, its terms, and the operands of its products and sums."""
    node = statement.node
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.Return) or node.value is None:
        return
    whole = Slot(node, "value")
    if isinstance(whole.node, ast.Tuple | ast.List):
        yield from (Slot(whole.node, "elts", k) for k in range(len(whole.node.elts)))
    else:
        yield whole
    for slot in expressions(node):
        parent = slot.parent
        in_sum = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub)
        in_product = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.MatMult)
        in_call = isinstance(parent, ast.Call) and slot.field == "args"
        of_method = (
            isinstance(parent, ast.Attribute)
            and parent.attr in ("sum", "mean")
            and slot.field == "value"
        )
        is_plain = not isinstance(slot.node, ast.Constant | ast.Slice | ast.Tuple | ast.List)
        if (in_sum or in_product or in_call or of_method) and is_plain:
            yield slot


def _assigned_shape(ran: Ran, statement: Slot) -> tuple[int, ...] | None:
    node = statement.node
    if isinstance(node, ast.Assign):
        return getattr(ran.scope.get(ast.unparse(node.targets[0])), "shape", None)
    if isinstance(node, ast.AugAssign):
        return getattr(ran.scope.get(ast.unparse(node.target)), "shape", None)
    return None


def _fits(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    return len(shape) <= len(to) and all(a in (1, b) for a, b in zip(shape[::-1], to[::-1]))


def _named(cause: str, form: str, name: str, value: Any) -> str:
    """A mask is a factor of its own; a state's gradient is a path."""
    kinds = numpy.unique(value.astype("float64").round(12)) if value.size < 10_000 else ()
    if cause == c.TERM_MISSING and "*" in form and len(kinds) == 2 and 0 in kinds:
        return c.MASK_MISSING
    bare = name.rpartition(".")[2]
    if cause == c.TERM_MISSING and (" + " in form or " - " in form):
        if bare.startswith("dh"):
            return c.H_PATH
        if bare.startswith("dc"):
            return c.C_PATH
    return cause

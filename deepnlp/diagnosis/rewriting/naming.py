"""Other names in place of those that a statement uses."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.slots import Change, Slot, expressions, parsed
from deepnlp.gradcheck import causes as c

_STEPS = re.compile(r"_?(prev|next|last|old|new)_?")
_SLOPE = re.compile(r"1(\.0)? - |\*\* ?2|> 0|>= 0|np\.exp|tanh|sigmoid|cosh|sqrt|np\.log")


def renamed(ran: Ran, statement: Slot) -> Iterator[Change]:
    """One name, or one name wherever it stands in the statement, replaced; or two exchanged."""
    found: dict[str, list[Slot]] = {}
    for slot in expressions(statement.node):
        name = name_in(ran, slot)
        if name is not None:
            found.setdefault(name, []).append(slot)
    for name, slots in found.items():
        for other in alike(ran, name):
            cause = _cause(ran, statement, name, other)
            new = parsed(other)
            if len(slots) > 1:
                yield Change(cause, statement, [(slot, new) for slot in slots])
            for slot in slots:
                yield Change(cause, statement, [(slot, new)])
    for one, other in itertools.combinations(found, 2):
        if not _same_kind(ran.scope[one], ran.scope[other]):
            continue
        puts = [(slot, parsed(other)) for slot in found[one]]
        puts += [(slot, parsed(one)) for slot in found[other]]
        yield Change(_of_exchange(statement), statement, puts)


def _of_exchange(statement: Slot) -> str:
    """What mistake it is to have two names in each other's place."""
    text = ast.unparse(statement.node)
    if "@" in text or "dot(" in text:
        return c.TRANSPOSED
    in_blocks = re.search(r"stack\(|concatenate\(|split\(", text) or (
        "=" in text and isinstance(getattr(statement.node, "value", None), ast.Tuple | ast.List)
    )
    return c.GATES_SWAPPED if in_blocks else c.WRONG_VALUE


def name_in(ran: Ran, slot: Slot) -> str | None:
    """The name that stands somewhere, if it holds numbers: ``"dy"``, ``"self.W"``."""
    node = slot.node
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return None
    if not isinstance(node.ctx, ast.Load) or slot.field == "func":
        return None
    text = ast.unparse(node)
    return text if text in ran.scope else None


def alike(ran: Ran, name: str) -> list[str]:
    """Other names of arrays of that shape, or of whole numbers."""
    value = ran.scope[name]
    return [n for n, v in ran.scope.items() if n != name and _same_kind(v, value)]


def _same_kind(a: Any, b: Any) -> bool:
    if isinstance(a, numpy.ndarray) and isinstance(b, numpy.ndarray):
        return a.shape == b.shape and a.dtype.kind == b.dtype.kind and not numpy.array_equal(a, b)
    return type(a) is type(b) and not isinstance(a, numpy.ndarray) and a != b


def _cause(ran: Ran, statement: Slot, old: str, new: str) -> str:
    """What mistake it is to use one name for another."""
    if not isinstance(ran.scope[old], numpy.ndarray):
        return c.FACTOR
    if old != new and _STEPS.sub("", old) == _STEPS.sub("", new):
        return c.TIME_SHIFTED
    if _is_gradient(old) and _is_gradient(new):
        return c.DERIVATIVE_MISSING if _has_slope(ran, old, new) else c.WRONG_VALUE
    text = ast.unparse(statement.node)
    bare = re.escape(old)
    slope = rf"1(\.0)? - {bare}( \*\* 2| \* {bare}|\)|$)|{bare} \* \(1(\.0)? - {bare}|{bare} >=? 0"
    return c.DERIVATIVE_AT_INPUT if re.search(slope, text) else c.WRONG_VALUE


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

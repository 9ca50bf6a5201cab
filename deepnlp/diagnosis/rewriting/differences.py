"""The smallest part in which two syntax trees differ."""

import ast
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Difference:
    """The smallest part in which two statements differ.

    Attributes
    ----------
    old, new : ast.AST
    above : list of (ast.AST, str)
        The nodes of the old statement around it, the outermost first, with the field it is in.
    """

    old: Any
    new: Any
    above: list[tuple[Any, str]] = field(default_factory=list)


def difference(old: ast.AST, new: ast.AST) -> Difference:
    """Where two syntax trees differ."""
    found = Difference(old, new)
    while True:
        one = _only_child(found.old, found.new)
        if (
            one is None
            or factor_between(found.old, found.new)
            or factor_between(found.new, found.old)
        ):
            return found
        name, below, other = one
        found = Difference(below, other, [*found.above, (found.old, name)])


def _only_child(old: Any, new: Any) -> tuple[str, ast.AST, ast.AST] | None:
    """The one pair of children in which two nodes of a kind differ."""
    if type(old) is not type(new):
        return None
    pairs: list[tuple[str, Any, Any]] = []
    for name in old._fields:
        a, b = getattr(old, name, None), getattr(new, name, None)
        if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
            pairs += [(name, x, y) for x, y in zip(a, b)]
        else:
            pairs.append((name, a, b))
    apart = [(name, a, b) for name, a, b in pairs if dumped(a) != dumped(b)]
    if [name for name, _, _ in apart] == ["func"]:
        one, other = (getattr(node.func, "attr", None) for node in (old, new))
        if one is None or one != other:
            return None  # another function: the call is the difference
    if len(apart) != 1 or not all(isinstance(one, ast.expr | ast.keyword) for one in apart[0][1:]):
        return None
    return apart[0]


def dumped(node: Any) -> str:
    """A text that is the same for trees that are the same."""
    return ast.dump(node) if isinstance(node, ast.AST) else repr(node)


Factor = tuple[type, ast.expr, bool]
"""An operator, its other operand, and whether that stands behind it."""


def factor_between(part: Any, whole: Any) -> Factor | None:
    """The operator and the other operand by which one expression becomes another."""
    if not isinstance(whole, ast.BinOp):
        return None
    told = dumped(part)
    if dumped(whole.left) == told:
        return type(whole.op), whole.right, True
    if dumped(whole.right) == told:
        return type(whole.op), whole.left, False
    inner = factor_between(part, whole.left) if isinstance(whole.op, ast.Mult) else None
    return (
        (inner[0], ast.BinOp(inner[1], ast.Mult(), whole.right), True)
        if (inner is not None and inner[0] is ast.Mult)
        else None
    )


def function_name(node: Any) -> str:
    """The name of the function that an expression calls, without what stands before its dot."""
    if not isinstance(node, ast.Call):
        return ""
    return ast.unparse(node.func).rpartition(".")[2]

"""Functions in which any one expression can be exchanged without compiling them again."""

from __future__ import annotations

import ast
import itertools
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from types import CodeType
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.rewriting.slots import Change, Slot, locate, roots, statements

_COUNT = itertools.count()  # functions of one module share its global names


class Holes:
    """A function whose expressions are asked for before each use.

    Every expression E of a statement becomes ``E if hole != k else fill(locals())``. So a change
    inside it takes the compilation of this expression alone.

    Parameters
    ----------
    ran : Ran
    """

    def __init__(self, ran: Ran) -> None:
        self.ran = ran
        own = next(_COUNT)
        self._hole, self._fill = f"_hole_{own}_of_diagnosis", f"_fill_{own}_of_diagnosis"
        self.roots: list[Slot] = []
        self._root_of: dict[int, int] = {}  # by the id of a node, the number of its expression
        self._root_at: dict[tuple[int, str, int | None], int] = {}
        for statement in statements(ran.tree):
            for root in roots(statement.node):
                if any(isinstance(n, ast.Name) and n.id == "super" for n in ast.walk(root.node)):
                    continue
                number = len(self.roots)
                self.roots.append(root)
                self._root_at[id(root.parent), root.field, root.index] = number
                self._root_of |= {id(node): number for node in ast.walk(root.node)}
        self.code = self._compiled()

    def _compiled(self) -> CodeType | None:
        before = [(root, root.node) for root in self.roots]
        try:
            for number, root in enumerate(self.roots):
                text = f"0 if {self._hole} != {number} else {self._fill}(locals())"
                asked = ast.parse(text, mode="eval")
                node: Any = asked.body
                node.body = as_value(root.node)
                locate(node.body)
                root.put(node)
            return self.ran.compiled()
        finally:
            for root, node in before:
                root.put(node)

    def number_of(self, change: Change) -> int | None:
        """The expression inside which a change is; None if it is not in one alone."""
        found = set()
        for slot, _ in change.puts:
            number = self._root_at.get((id(slot.parent), slot.field, slot.index))
            found.add(self._root_of.get(id(slot.parent)) if number is None else number)
        return found.pop() if len(found) == 1 else None

    def expression(self, number: int) -> CodeType | None:
        """The code of an expression as it is now."""
        return compiled_value(self.roots[number].node)

    @contextmanager
    def filled(self, number: int, fill: Callable[[dict[str, Any]], Any]) -> Iterator[None]:
        """Let a function compute one expression."""
        names, own = self.ran.globals, get_ident()

        def filling(scope: dict[str, Any]) -> Any:
            scope = {**names, **scope}
            if get_ident() != own:  # other threads go on with the learner's code
                return eval(self.expression(number) or "", scope)
            return fill(scope)

        names[self._hole], names[self._fill] = number, filling
        try:
            yield
        finally:
            names[self._hole] = -1

    @contextmanager
    def installed(self) -> Iterator[bool]:
        """Let the functions run with their holes; whether they can."""
        if self.code is None:
            yield False
            return
        names = self.ran.globals
        names[self._hole], names[self._fill] = -1, None
        try:
            with self.ran.replaced_by(self.code):
                yield True
        finally:
            names.pop(self._hole, None)
            names.pop(self._fill, None)


def compiled_value(node: Any) -> CodeType | None:
    """The code of an expression, or of what stands in brackets."""
    try:
        held = ast.Expression(as_value(node))
        locate(held)
        return compile(held, "<change>", "eval")
    except (SyntaxError, ValueError, TypeError):
        return None


def as_value(node: Any) -> Any:
    """An expression; slices in brackets become calls of ``slice``."""
    if isinstance(node, ast.Slice):
        bounds = [one or ast.Constant(None) for one in (node.lower, node.upper, node.step)]
        return ast.Call(ast.Name("slice", ast.Load()), bounds, [])
    if isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts):
        return ast.Tuple([as_value(one) for one in node.elts], ast.Load())
    return node


def signature(value: Any) -> Any:
    """What tells values apart: the same for equal ones."""
    if isinstance(value, numpy.ndarray):
        if value.dtype.kind == "O":
            return id(value)
        data = numpy.ascontiguousarray(value)
        return value.shape, zlib.crc32(data.tobytes()), value.dtype.kind == "b"
    if isinstance(value, tuple | list):
        return tuple(map(signature, value))
    if isinstance(value, slice | range):
        return repr(value)
    if isinstance(value, int | float | bool | numpy.generic):
        return float(value) if not isinstance(value, numpy.complexfloating) else complex(value)
    return repr(value)[:200]

"""Where an expression stands in a syntax tree, and putting another there for a while."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slot:
    """A place of a tree that holds an expression or a statement.

    Attributes
    ----------
    parent : ast.AST
    field : str
    index : int or None
        Where the field is a list.
    """

    parent: ast.AST
    field: str
    index: int | None = None

    @property
    def node(self) -> Any:
        """What stands there."""
        held = getattr(self.parent, self.field)
        return held if self.index is None else held[self.index]

    def put(self, node: Any) -> None:
        """Put something else there."""
        if self.index is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.index] = node


@dataclass
class Change:
    """A small change of a function.

    Attributes
    ----------
    cause : str
    statement : Slot
        The statement that is changed.
    puts : list of (Slot, node)
    """

    cause: str
    statement: Slot
    puts: list[tuple[Slot, Any]]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """The tree with the change."""
        before = [(slot, slot.node) for slot, _ in self.puts]
        try:
            for slot, node in self.puts:
                slot.put(node)
            yield
        finally:
            for slot, node in reversed(before):
                slot.put(node)


def statements(node: Any) -> Iterator[Slot]:
    """All statements of a function, inner ones too."""
    for name in ("body", "orelse", "finalbody"):
        for k, one in enumerate(getattr(node, name, [])):
            if isinstance(one, ast.stmt):
                yield Slot(node, name, k)
                if not isinstance(one, ast.FunctionDef | ast.ClassDef):
                    yield from statements(one)


def expressions(node: ast.AST) -> Iterator[Slot]:
    """All expressions of a statement, those of statements inside it excepted."""
    for name, value in ast.iter_fields(node):
        for k, one in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(one, ast.expr):
                yield Slot(node, name, k)
                yield from expressions(one)
            elif isinstance(one, ast.keyword | ast.comprehension):
                yield from expressions(one)


def parsed(text: str) -> ast.expr:
    """An expression from its source."""
    return ast.parse(text, mode="eval").body

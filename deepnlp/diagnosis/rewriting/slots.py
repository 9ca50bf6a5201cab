"""Where an expression stands in a syntax tree, and putting another there for a while."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
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
        """The node at the place."""
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
    named : str, or callable that gives it
        The mistake that the change undoes; found out when it is asked for.
    statement : Slot
        The statement that is changed.
    puts : list of (Slot, node)
    cost : float
        Of changes that repair as much, the one of the lowest cost is told.
    """

    named: str | Callable[[], str]
    statement: Slot
    puts: list[tuple[Slot, Any]]
    cost: float = 1.0

    @property
    def cause(self) -> str:
        """The mistake that the change undoes."""
        return self.named if isinstance(self.named, str) else self.named()

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


def roots(node: ast.stmt) -> Iterator[Slot]:
    """The expressions of a statement that are in no other one, indices of its targets included."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        args = node.value.args  # the call itself is made for what it changes
        yield from (Slot(node.value, "args", k) for k in range(len(args)))
    elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return):
        if node.value is not None:
            yield Slot(node, "value")
    elif isinstance(node, ast.For):
        yield Slot(node, "iter")
    elif isinstance(node, ast.If | ast.While):
        yield Slot(node, "test")
    for target in targets(node):
        inner: ast.expr = target.node
        while isinstance(inner, ast.Subscript):
            yield Slot(inner, "slice")
            inner = inner.value


class Above:
    """The expressions of a function in which others stand.

    Attributes
    ----------
    roots : list of Slot
        Those that are in no other one.
    """

    def __init__(self, tree: ast.FunctionDef) -> None:
        self.roots: list[Slot] = []
        self._root_of: dict[int, int] = {}  # by the id of a node, the number of its root
        self._root_at: dict[tuple[int, str, int | None], int] = {}
        self._parent: dict[int, Any] = {}
        self._statement_of: dict[int, ast.stmt] = {}
        for statement in statements(tree):
            self._statement_of[id(statement.node)] = statement.node
            for slot in expressions(statement.node):
                for node in (slot.parent, slot.node):
                    self._statement_of[id(node)] = statement.node
            for root in roots(statement.node):
                self._root_at[id(root.parent), root.field, root.index] = len(self.roots)
                for node in ast.walk(root.node):
                    self._root_of[id(node)] = len(self.roots)
                    self._parent |= {id(one): node for one in ast.iter_child_nodes(node)}
                self.roots.append(root)

    def roots_of(self, change: Change) -> set[int | None]:
        """The numbers of the roots inside which a change is; None stands for a statement."""
        found = set()
        for slot, _ in change.puts:
            number = self._root_at.get((id(slot.parent), slot.field, slot.index))
            found.add(self._root_of.get(id(slot.parent)) if number is None else number)
        return found

    def statements_with(self, slots: Iterable[Slot]) -> set[ast.stmt]:
        """The statements in which some places are."""
        found = (self._statement_of.get(id(slot.parent)) for slot in slots)
        return {one for one in found if one is not None}

    def path_of(self, change: Change) -> set[int]:
        """The nodes above what is changed, up to the root, by ``id``."""
        found = set()
        for slot, _ in change.puts:
            node: Any = slot.parent
            while node is not None and id(node) in self._root_of:
                found.add(id(node))
                node = self._parent.get(id(node))
        return found


def targets(node: ast.stmt) -> Iterator[Slot]:
    """Return the targets of a statement; the entries of a tuple one by one."""
    found = []
    if isinstance(node, ast.Assign):
        found = [Slot(node, "targets", k) for k in range(len(node.targets))]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        found = [Slot(node, "target")]
    for slot in found:
        if isinstance(slot.node, ast.Tuple | ast.List):
            yield from (Slot(slot.node, "elts", k) for k in range(len(slot.node.elts)))
        else:
            yield slot


def indices(node: ast.AST) -> set[int]:
    """Return the nodes in brackets of subscripts, by ``id``, without conditions."""
    inside = [i for n in ast.walk(node) if isinstance(n, ast.Subscript) for i in ast.walk(n.slice)]
    conditions = [one for one in inside if isinstance(one, ast.Compare)]
    return {id(i) for i in inside} - {id(i) for one in conditions for i in ast.walk(one)}


def parsed(text: str) -> ast.expr:
    """An expression from its source."""
    return ast.parse(text, mode="eval").body


_GRADIENT = re.compile(r"(\w+\.)*[dg]\w*")


def is_misplaced(tree: ast.FunctionDef, change: Change) -> bool:
    """Return whether a change stores into what is no gradient, or moves a base's backward."""
    if any(isinstance(new, ast.stmt) and "super()" in ast.unparse(new) for _, new in change.puts):
        return len(change.puts) > 1
    given = {one.arg for one in tree.args.args}
    before = _stored(change.statement.node)
    with change.applied():
        after = _stored(change.statement.node)
    return any(name in given or not _GRADIENT.fullmatch(name) for name in after - before)


def _stored(node: ast.stmt) -> set[str]:
    """Names of what a statement stores in, without brackets."""
    found = set()
    for slot in targets(node):
        target = slot.node
        while isinstance(target, ast.Subscript):
            target = target.value
        found.add(ast.unparse(target))
    return found

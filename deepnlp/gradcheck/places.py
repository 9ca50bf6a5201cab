"""Places in a learner's program: statements, expressions, and the names they use."""

from __future__ import annotations

import ast
import linecache
import re
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

_OWN = str(Path(__file__).resolve().parent)
_LONGEST = 90

Position = tuple[int, int, int, int]
"""Where an expression begins and ends in a file: two lines, two columns."""

Span = tuple[str, int, int, int, int]
"""A file, and where an expression begins and ends in it: two lines, two columns."""


@dataclass(frozen=True)
class Site:
    """The place in a program where an operation was called; a loop passes it more than once.

    Attributes
    ----------
    key : tuple
        The calls that led there, the last one first, each as code and position.
    call : tuple
        The same for the statement that the learner would recognise.
    file, number : str, int
        Where that statement is.
    span : tuple or None
        The expression that computed the result, where it is known.
    """

    key: tuple[Any, ...]
    call: tuple[Any, ...]
    file: str
    number: int
    span: Span | None = None

    @staticmethod
    def of(calls: list[tuple[CodeType, Any]]) -> Site:
        """The place of a node in a function, with those of the calls that led there."""
        return _site(tuple(
            (code, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))
            for code, node in calls
        ))  # fmt: skip

    @property
    def text(self) -> str:
        """The statement, on one line."""
        return _statement_text(self.file, self.number)

    @property
    def target(self) -> str | None:
        """The name it assigns to, where it is one name."""
        return assigned_name(statement_at(self.file, self.number))

    @property
    def expression(self) -> ast.expr | None:
        """The expression that computed the result."""
        return None if self.span is None else expression_at(self.span)


@cache
def _site(key: tuple[tuple[CodeType, Position], ...]) -> Site:
    if not key:
        return Site((), (), "", 0)
    assigns = [assigned_name(statement_at(code.co_filename, at[0])) is not None for code, at in key]
    depth = assigns.index(True) if any(assigns) else 0
    code, (line, *_) = key[depth]
    return Site(key, key[depth:], code.co_filename, line, (key[0][0].co_filename, *key[0][1]))


# --- Reading the source ---------------------------------------------------------------------------


@cache
def tree_of_file(file: str) -> ast.Module:
    """The syntax tree of a file; one without statements where there is none."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


@cache
def _parsed(file: str) -> tuple[dict[int, ast.stmt], dict[tuple[int, int, int, int], ast.expr]]:
    """The innermost statement by line, and the expressions by where they stand."""
    statements: dict[int, ast.stmt] = {}
    expressions: dict[tuple[int, int, int, int], ast.expr] = {}
    for node in ast.walk(tree_of_file(file)):  # outer nodes come before inner ones
        if isinstance(node, ast.stmt):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                statements[line] = node
        elif isinstance(node, ast.expr):
            where = (node.lineno, node.end_lineno or 0, node.col_offset, node.end_col_offset or 0)
            expressions[where] = node
    return statements, expressions


@cache
def _statement_text(file: str, line: int) -> str:
    node = statement_at(file, line)
    if node is None or isinstance(node, ast.If | ast.For | ast.While | ast.With):
        return linecache.getline(file, line).strip()
    return shortened(source_of(file, node))


def statement_at(file: str, line: int) -> ast.stmt | None:
    """The innermost statement of a file that covers a line."""
    return _parsed(file)[0].get(line)


def expression_at(span: Span) -> ast.expr | None:
    """The expression at a place of a file."""
    return _parsed(span[0])[1].get(span[1:])


def source_of(file: str, node: ast.stmt | ast.expr) -> str:
    """The text of a node of the syntax tree, on one line."""
    lines = linecache.getlines(file)[node.lineno - 1 : node.end_lineno]
    if not lines:
        return ""
    lines[-1] = lines[-1].encode()[: node.end_col_offset].decode()
    lines[0] = lines[0].encode()[node.col_offset :].decode()
    return " ".join(" ".join(lines).split())


_SHAPES = re.compile(r"shape|dimension|broadcast|align|axis", re.IGNORECASE)


def told_in_shapes(error: Exception) -> str:
    """Where shapes do not fit, and which: what NumPy says of it, it says without names.

    Returns
    -------
    str
        Such as "in line 5, `x @ self.W`: x has shape (3, 4), self.W has shape (5, 6)"; empty if
        the error is of another kind, or the names are not known.
    """
    if not isinstance(error, ValueError) or not _SHAPES.search(str(error)):
        return ""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    places = zip(frames, traceback.extract_tb(error.__traceback__))
    own = [(frame, place) for frame, place in places if not _is_library(place.filename)]
    if not own:
        return ""
    frame, last = own[-1]
    columns = last.colno or 0, last.end_colno or 0
    span = last.filename, last.lineno or 0, last.end_lineno or 0, *columns
    expression = expression_at(span)
    if expression is None:
        return ""
    shapes: dict[str, tuple[int, ...]] = {}
    for node in ast.walk(expression):
        if isinstance(node, ast.Name | ast.Attribute):
            value: Any = {**frame.f_locals}
            for name in ast.unparse(node).split("."):
                value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
            if isinstance(getattr(value, "shape", None), tuple):
                shapes[ast.unparse(node)] = value.shape
    inner = {name.removesuffix(".T") for name in shapes if name.endswith(".T")}
    told = ", ".join(f"{n} has shape {shape}" for n, shape in shapes.items() if n not in inner)
    return told and f"in line {span[1]}, `{shortened(source_of(span[0], expression))}`: {told}"


def _is_library(file: str) -> bool:
    return is_of_the_package(file) or "site-packages" in file or file.startswith("<")


def shortened(text: str, longest: int = _LONGEST) -> str:
    """A text of a length that fits into a sentence.

    Examples
    --------
    >>> shortened("y = x")
    'y = x'
    """
    return text if len(text) <= longest else text[: longest - 4] + " ..."


def assigned_name(node: ast.stmt | None) -> str | None:
    """The name to which a statement assigns: ``h`` for ``h = ...``, ``self.h``, ``h[:, t]``."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target: ast.expr = node.targets[0]
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        target = node.target
    else:
        return None
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else None


def is_of_the_package(file: str) -> bool:
    """Return whether a file belongs to the package itself."""
    return Path(file).resolve().is_relative_to(Path(_OWN).parent)

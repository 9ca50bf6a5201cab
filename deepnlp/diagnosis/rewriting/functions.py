"""The functions that a backward runs: their source, what they see, and exchanging their code."""

from __future__ import annotations

import ast
import copy
import gc
import linecache
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy

from deepnlp.diagnosis.places import is_of_the_package
from deepnlp.gradcheck.subject import Subject

UNKNOWN: Any = object()
"""The value of an expression that has none."""

_MOST_LINES = 80
_LIBRARIES = (sysconfig.get_path("stdlib"), str(Path(numpy.__file__).parent))


@dataclass
class Ran:
    """A function of the learner that backward ran.

    Attributes
    ----------
    code : code object
    functions : list of function
        Those with this code.
    tree : ast.FunctionDef
        Its source.
    scope : dict of str to value
        What its expressions can name, as it was when the function returned: ``"dy"``,
        ``"self.W"``, ``"self.params[0]"``.
    locals : dict of str to value
        Its variables, when it returned.
    others : list of ast.FunctionDef
        The sources of the functions that forward runs.
    """

    code: CodeType
    functions: list[FunctionType]
    tree: ast.FunctionDef
    scope: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)
    others: list[ast.FunctionDef] = field(default_factory=list)

    @cached_property
    def beside(self) -> str:
        """The source of the functions that forward runs."""
        return "\n".join(map(ast.unparse, self.others))

    @property
    def globals(self) -> dict[str, Any]:
        """The names of its module."""
        return self.functions[0].__globals__

    def value(self, text: str) -> Any:
        """The value of an expression when the function returned; UNKNOWN where it has none."""
        if text in self.scope:
            return self.scope[text]
        if text not in self._values:
            try:
                self._values[text] = eval(text, {**self.globals, **self.locals})
            except Exception:
                self._values[text] = UNKNOWN
        return self._values[text]

    @cached_property
    def _values(self) -> dict[str, Any]:
        return {}

    @property
    def file(self) -> str:
        """The name of the file, without its folder."""
        return Path(self.code.co_filename).name

    def compiled(self) -> CodeType | None:
        """The code of the tree as it is now; None if it cannot take the place of the first."""
        free = self.code.co_freevars
        outer = ast.parse(f"def outer({', '.join(free)}):\n    pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        decorators, self.tree.decorator_list = self.tree.decorator_list, []
        outer.body = [self.tree]
        try:
            module = compile(ast.Module([outer], []), self.code.co_filename, "exec")
        except (SyntaxError, ValueError, TypeError):
            return None
        finally:
            self.tree.decorator_list = decorators
        inside = next(c for c in module.co_consts if isinstance(c, CodeType))
        code = next(c for c in inside.co_consts if isinstance(c, CodeType))
        return code if code.co_freevars == free else None

    @contextmanager
    def replaced_by(self, code: CodeType) -> Iterator[None]:
        """Let the functions run another code."""
        before = [function.__code__ for function in self.functions]
        try:
            for function in self.functions:
                function.__code__ = code
            yield
        finally:
            for function, own in zip(self.functions, before):
                function.__code__ = own


def functions_run(subject: Subject) -> tuple[list[Ran], list[Ran]]:
    """The learner's functions that backward runs and forward does not, and those of forward."""
    forward = _codes(subject.forward)
    backward = _codes(subject.analytic_gradients)
    own = {code: seen for code, seen in backward.items() if code not in forward}
    found, of_forward = list(_ran(own)), list(_ran(forward))
    for one in found:
        one.others = [other.tree for other in of_forward]
    return found, of_forward


def _ran(codes: dict[CodeType, Seen]) -> Iterator[Ran]:
    for code, seen in codes.items():
        tree = _tree(code)
        if seen.functions and tree is not None:
            yield Ran(code, seen.functions, tree, seen.scope, seen.locals)


@dataclass
class Seen:
    """What was seen of a function when it ran first: itself, what it could name, its variables."""

    functions: list[FunctionType]
    scope: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)


def _codes(call: Any) -> dict[CodeType, Seen]:
    """The learner's codes that a call runs."""
    found: dict[CodeType, Seen] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code not in found and not _is_foreign(code):
            found[code] = Seen(_functions_of(frame))
        elif event == "return" and code in found and not found[code].locals:
            found[code].scope = _scope(frame)
            found[code].locals = dict(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def _functions_of(frame: FrameType) -> list[FunctionType]:
    """The functions with the code of a frame: a method of its first argument, or of the module."""
    code = frame.f_code
    first = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    owners = [vars(base) for base in type(first).__mro__] + [frame.f_globals]
    near = [
        getattr(names.get(code.co_name), "__func__", names.get(code.co_name)) for names in owners
    ]
    found = [one for one in near if isinstance(one, FunctionType) and one.__code__ is code]
    return found or [f for f in gc.get_referrers(code) if isinstance(f, FunctionType)]


@cache
def _is_foreign(code: CodeType) -> bool:
    name = code.co_filename
    return name.startswith(("<", *_LIBRARIES)) or "site-packages" in name or is_of_the_package(name)


def _scope(frame: FrameType) -> dict[str, Any]:
    found: dict[str, Any] = {}

    def add(name: str, value: Any, depth: int) -> None:
        if isinstance(value, numpy.ndarray):
            found[name] = value.copy()
        elif isinstance(value, int | float | numpy.number) and not isinstance(value, bool):
            found[name] = value
        elif isinstance(value, list | tuple) and len(value) <= 8 and depth:
            for k, one in enumerate(value):
                add(f"{name}[{k}]", one, depth - 1)
        elif isinstance(value, dict) and len(value) <= 12 and depth:
            for k, one in value.items():
                if isinstance(k, str):
                    add(f"{name}[{k!r}]", one, depth - 1)

    for name, value in frame.f_locals.items():
        add(name, value, 1)
    owner_name = frame.f_code.co_varnames[0] if frame.f_code.co_argcount else ""
    owner = frame.f_locals.get(owner_name)  # usually self, or a context
    for name, value in vars(owner).items() if hasattr(owner, "__dict__") else ():
        add(f"{owner_name}.{name}", value, 1)
    return found


def _tree(code: CodeType) -> ast.FunctionDef | None:
    """The source of a code object, as a tree of its own."""
    node = _functions_in(code.co_filename).get((code.co_name, code.co_firstlineno))
    return copy.deepcopy(node)


@cache
def _functions_in(file: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The short functions of a file, by name and first line."""
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if (node.end_lineno or first) - first <= _MOST_LINES:
                found[node.name, first] = node
    return found


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array; () of a number; None of anything else."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.shape
    return () if isinstance(value, int | float | complex) else None

"""The functions that a backward runs: their source, what they see, and exchanging their code."""

from __future__ import annotations

import ast
import gc
import linecache
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy

from deepnlp.diagnosis.places import is_of_the_package
from deepnlp.gradcheck.subject import Subject

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
    """

    code: CodeType
    functions: list[FunctionType]
    tree: ast.FunctionDef
    scope: dict[str, Any] = field(default_factory=dict)

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
            module = compile(
                ast.fix_missing_locations(ast.Module([outer], [])), self.code.co_filename, "exec"
            )
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
        try:
            for function in self.functions:
                function.__code__ = code
            yield
        finally:
            for function in self.functions:
                function.__code__ = self.code


def functions_run(subject: Subject) -> list[Ran]:
    """The learner's functions that backward runs and forward does not, in the order of calls."""
    forward = _codes(subject.forward)
    backward = _codes(subject.analytic_gradients)
    found = []
    for code, scope in backward.items():
        if code in forward:
            continue
        functions = [f for f in gc.get_referrers(code) if isinstance(f, FunctionType)]
        tree = _tree(code)
        if functions and tree is not None:
            found.append(Ran(code, functions, tree, scope))
    return found


def _codes(call: Any) -> dict[CodeType, dict[str, Any]]:
    """The learner's codes that a call runs, with what each could name."""
    found: dict[CodeType, dict[str, Any]] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and not _is_foreign(code):
            found.setdefault(code, {})
        elif event == "return" and code in found and not found[code]:
            found[code].update(_scope(frame))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


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
    owner = frame.f_locals.get("self")
    for name, value in vars(owner).items() if hasattr(owner, "__dict__") else ():
        add(f"self.{name}", value, 1)
    return found


def _tree(code: CodeType) -> ast.FunctionDef | None:
    """The source of a code object, as a tree of its own."""
    lines = linecache.getlines(code.co_filename)
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            short = (node.end_lineno or first) - first <= _MOST_LINES
            if first == code.co_firstlineno and short:
                return node
    return None

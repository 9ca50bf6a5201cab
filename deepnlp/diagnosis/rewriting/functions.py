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
from typing import Any, TypeAlias

import numpy

from deepnlp.diagnosis.places import is_of_the_package
from deepnlp.gradcheck.subject import Subject

UNKNOWN: Any = object()
"""The value of an expression that has none."""

TICK = "_tick_of_diagnosis"
"""The function that counts the rounds of loops, a global name while changes are tried."""

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

    @property
    def loops(self) -> list[ast.While]:
        """Its loops that may have no end."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.While)]

    def compiled(self) -> CodeType | None:
        """The code of the tree as it is now; None if it cannot take the place of the first.

        Each round of a ``while`` calls :data:`TICK`, so that a change that makes it endless ends.
        """
        free = self.code.co_freevars
        outer = ast.parse(f"def outer({', '.join(free)}):\n    pass").body[0]
        assert isinstance(outer, ast.FunctionDef)
        decorators, self.tree.decorator_list = self.tree.decorator_list, []
        outer.body = [self.tree]
        loops = self.loops
        for loop in loops:
            loop.body.insert(0, ast.fix_missing_locations(ast.parse(f"{TICK}()").body[0]))
        try:
            module = compile(ast.Module([outer], []), self.code.co_filename, "exec")
        except (SyntaxError, ValueError, TypeError):
            return None
        finally:
            self.tree.decorator_list = decorators
            for loop in loops:
                del loop.body[0]
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


def codes_run(subject: Subject) -> tuple[Codes, Codes]:
    """The learner's codes that backward runs and forward does not, and those of forward."""
    forward = _codes(subject.forward)
    both = _codes(subject.analytic_gradients)
    return {code: seen for code, seen in both.items() if code not in forward}, forward


def functions_of(own: Codes, forward: Codes) -> tuple[list[Ran], list[Ran]]:
    """The functions with these codes, as far as their source is known."""
    found, of_forward = list(_ran(own)), list(_ran(forward))
    for one in found:
        one.others = [other.tree for other in of_forward]
    return found, of_forward


@contextmanager
def names_in(modules: list[dict[str, Any]], **names: Any) -> Iterator[None]:
    """Let functions of modules see other global names for a while."""
    before = [{name: module[name] for name in names if name in module} for module in modules]
    try:
        for module in modules:
            module.update(names)
        yield
    finally:
        for module, own in zip(modules, before):
            for name in names:
                module.pop(name, None)
            module.update(own)


def _ran(codes: Codes) -> Iterator[Ran]:
    for code, seen in codes.items():
        tree = tree_of(code)
        if seen.functions and tree is not None:
            yield Ran(code, seen.functions, tree, seen.scope, seen.locals)


@dataclass
class Seen:
    """What was seen of a function when it ran first: itself, what it could name, its variables."""

    functions: list[FunctionType]
    scope: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)


Codes: TypeAlias = dict[CodeType, Seen]


def _codes(call: Any) -> Codes:
    """The learner's codes that a call runs."""
    found: Codes = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code not in found and not is_foreign(code):
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
def is_foreign(code: CodeType) -> bool:
    """Whether a code is not the learner's, but of a library or of this package."""
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


def tree_of(code: CodeType) -> ast.FunctionDef | None:
    """The source of a short function, as a tree of its own."""
    for node in sources_of(code):
        if isinstance(node, ast.FunctionDef) and _lines(node) <= _MOST_LINES:
            return copy.deepcopy(node)
    return None


@cache
def sources_of(code: CodeType) -> list[ast.FunctionDef | ast.Lambda]:
    """The function of a code object in its file; for a lambda, all those of its line."""
    found = []
    for node in ast.walk(_parsed(code.co_filename)):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(one.lineno for one in decorators)])
            name = getattr(node, "name", "<lambda>")
            if (name, first) == (code.co_name, code.co_firstlineno):
                found.append(node)
    return found


@cache
def _parsed(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def _lines(node: ast.FunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array; () of a number; None of anything else."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.shape
    return () if isinstance(value, int | float | complex) else None

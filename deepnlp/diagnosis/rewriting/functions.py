"""The functions that a backward runs: their source, and what they see."""

import ast
import copy
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy

from deepnlp.diagnosis.evaluating.allowed import PLAIN
from deepnlp.diagnosis.evaluating.evaluator import Frame
from deepnlp.diagnosis.evaluating.sources import is_foreign, tree_of
from deepnlp.gradcheck.walking import is_node

UNKNOWN: Any = object()
"""The value of an expression that has none."""

_ITERATORS: Any = (type(iter([])), type(iter(range(1))), type(reversed([])))
"""Those that can be copied; the first is what the evaluator makes of a generator."""

_MOST_LINES = 80
_MOST_STEPS = 100_000


@dataclass
class Ran:
    """A function of the learner that ran.

    Attributes
    ----------
    code : code object
    tree : ast.FunctionDef
        Its source.
    scope : dict of str to value
        What its expressions can name, as it was when the function returned: ``"dy"``,
        ``"self.W"``, ``"self.params[0]"``.
    locals : dict of str to value
        Its variables, when it returned.
    others : list of ast.FunctionDef
        The sources of the functions that forward runs.
    runs : int
        How often it ran in one backward.
    frame : Frame, optional
        Its variables as the evaluator knows them, where it was evaluated.
    """

    code: CodeType
    tree: ast.FunctionDef
    scope: dict[str, Any] = field(default_factory=dict)
    locals: dict[str, Any] = field(default_factory=dict)
    others: list[ast.FunctionDef] = field(default_factory=list)
    runs: int = 0
    frame: Frame | None = None
    _values: dict[str, Any] = field(default_factory=dict)

    def see(self, variables: dict[str, Any], frame: Frame | None = None) -> None:
        """Note its variables when it returned first."""
        first = self.code.co_varnames[0] if self.code.co_argcount else ""
        self.locals, self.scope, self.frame = variables, _named_in(variables, first), frame

    def value(self, text: str) -> Any:
        """The value of an expression when the function returned; UNKNOWN where it has none."""
        if text in self.scope:
            return self.scope[text]
        if text not in self._values:
            try:
                assert self.frame is not None
                evaluator = self.frame.function.evaluator
                evaluator.guard.most = evaluator.guard.steps + _MOST_STEPS
                node = ast.parse(text, mode="eval").body
                self._values[text] = evaluator.code(node)(self.frame)
            except Exception:
                self._values[text] = UNKNOWN
        return self._values[text]

    @property
    def globals(self) -> dict[str, Any]:
        """The names of its module."""
        return self.frame.function.function.__globals__ if self.frame is not None else {}

    @property
    def file(self) -> str:
        """The name of the file, without its folder."""
        return Path(self.code.co_filename).name


def ran_in(call: Callable[[], Any]) -> dict[CodeType, Ran | None]:
    """The learner's functions that a call runs as they are; None where a source is not known."""
    found: dict[CodeType, Ran | None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code not in found and not is_foreign(code):
            found[code] = ran_of(code)
        elif event == "return" and (ran := found.get(code)) is not None and not ran.locals:
            ran.see(dict(frame.f_locals))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def ran_of(code: CodeType) -> Ran | None:
    """A short function; None if its source is not known."""
    tree = tree_of(code)
    if (
        not isinstance(tree, ast.FunctionDef)
        or (tree.end_lineno or tree.lineno) - tree.lineno > _MOST_LINES
    ):
        return None
    return Ran(code, tree)


def _named_in(variables: dict[str, Any], first: str) -> dict[str, Any]:
    """Arrays and numbers among variables, in their lists, and in the attributes of one of them."""
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

    for name, value in variables.items():
        add(name, value, 1)
    nodes = [name for name, value in variables.items() if is_node(value)]
    for name in dict.fromkeys([first, *nodes]):  # usually self, or a context
        owner = variables.get(name)
        if hasattr(owner, "__dict__"):
            of_classes = [vars(kind) for kind in type(owner).__mro__[::-1]]
            for held in (*of_classes, vars(owner)):
                for attribute, value in held.items():
                    add(f"{name}.{attribute}", value, 1)
    return dict(sorted(found.items(), key=lambda item: "[" in item[0]))  # names before entries


def loop_variables(ran: Ran) -> list[str]:
    """Names that run through the rounds of a loop."""
    loops = [node.target for node in ast.walk(ran.tree) if isinstance(node, ast.For)]
    return sorted({n.id for one in loops for n in ast.walk(one) if isinstance(n, ast.Name)})


def numbers_of_comprehensions(ran: Ran) -> dict[str, int]:
    """The whole numbers that a comprehension runs through, by name, as they are at first."""
    found: dict[str, int] = {}
    for node in ast.walk(ran.tree):
        if isinstance(node, ast.comprehension):
            target = node.target
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            first = ran.value(f"next(iter({ast.unparse(node.iter)}))")
            values = first if isinstance(first, tuple) and len(names) > 1 else (first,)
            pairs = zip(map(ast.unparse, names), values)
            found |= {n: int(v) for n, v in pairs if isinstance(v, int | numpy.integer)}
    return found


def shape_of(value: Any) -> tuple[int, ...] | None:
    """The shape of an array; () of a number; None of anything else."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.shape
    return () if isinstance(value, int | float | complex) else None


class _Itself:
    """An object that is equal to itself alone; it is kept, so that no other takes its id."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def signature(value: Any) -> Any:
    """Return a signature that is the same for equal values."""
    if isinstance(value, numpy.ndarray):
        if value.dtype.kind == "O":
            return _Itself(value)
        data = numpy.ascontiguousarray(value)
        return value.shape, zlib.crc32(data.tobytes()), value.dtype.kind == "b"
    if isinstance(value, _ITERATORS):
        value = tuple(copy.copy(value))
    if isinstance(value, dict):
        value = *value, *value.values()
    if isinstance(value, tuple | list):
        return tuple(map(signature, value))
    if isinstance(value, slice | range):
        return repr(value)
    if isinstance(value, int | float | bool | numpy.generic):
        return float(value) if not isinstance(value, numpy.complexfloating) else complex(value)
    return repr(value)[:200] if type(value) in PLAIN else _Itself(value)

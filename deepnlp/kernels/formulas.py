"""Are the formulas of the plain forms still those that the quick forms compute?

``formulas.toml`` has a table for each kernel: the functions and numbers that its plain form
computes with, by the place where it looks them up (``layers.lstm:sigmoid`` is the name ``sigmoid``
in ``deepnlp/layers/lstm.py``), and a digest of each. A function that was edited in its file, or
replaced at that place while the program runs, has another digest. ``python -m
tests.kernels.formulas`` shows what has changed, and renews digests.
"""

import ast
import hashlib
import inspect
import linecache
import sys
import textwrap
import tomllib
import warnings
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import Any

ROOM = __package__.partition(".")[0]
RECORDED: dict[str, dict[str, str]] = tomllib.loads(
    files(__package__).joinpath("formulas.toml").read_text("utf-8")
)
_warned: set[str] = set()


class Formula:
    """The functions and numbers of a kernel, compared with the record in ``formulas.toml``.

    Attributes
    ----------
    changed : list of str
        Names of the functions and numbers that were others at the last look.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._recorded = RECORDED.get(name, {})
        self._seen: list[tuple[Any, str, Any, Any, Any]] = []
        self.changed: list[str] = []

    def is_current(self) -> bool:
        """Look the functions up, and warn once of each that has changed.

        A digest is computed at the first look, and where there is another object or other code.
        """
        for names, name, value, function, code in self._seen:
            if names.get(name) is not value or getattr(function, "__code__", None) is not code:
                self._seen = []
                break
        if not self._seen:
            self._look()
        return not self.changed

    def holds(self, *functions: Any) -> bool:
        """Return whether it looks up these functions; warn once of each that it does not."""
        self.is_current()
        looked_up = [function for _, _, _, function, _ in self._seen]
        others = [f for f in functions if not any(f is function for function in looked_up)]
        # the same code is the same formula, as in a file that is run as a script
        others = [f for f in others if digest(f) not in self._recorded.values()]
        for function in others:
            _warn(f"{function.__module__}:{function.__qualname__}", function.__name__)
        return not others

    def _look(self) -> None:
        self.changed = []
        for place, recorded in self._recorded.items():
            holder, name = lookup(place)
            value = vars(holder).get(name)
            function = plain_form(value)
            code = getattr(function, "__code__", None)
            self._seen.append((vars(holder), name, value, function, code))
            if digest(value) not in (recorded, None):
                self.changed.append(name)
                _warn(place, name)


def _warn(place: str, name: str) -> None:
    if place not in _warned:
        _warned.add(place)
        message = f"the formula of {name} has changed: its quick form is not used"
        warnings.warn(message, stacklevel=5)


def lookup(place: str) -> tuple[Any, str]:
    """Return the module or class, and the name in it, of a place."""
    module, _, path = place.partition(":")
    *classes, name = path.split(".")
    holder: Any = sys.modules[f"{ROOM}.{module}"]
    for inner in classes:
        holder = getattr(holder, inner)
    return holder, name


def plain_form(value: Any) -> Any:
    """Return the function inside a kernel or a static method; another value as it is."""
    value = getattr(value, "plain", value)
    return getattr(value, "__func__", value)


def digest(value: Any) -> str | None:
    """Return a digest of a function's code, or of a number.

    Comments, docstrings, annotations and layout do not count. It is None for a function of this
    package whose source cannot be read, as in a browser.
    """
    code = getattr(plain_form(value), "__code__", None)
    text = repr(value) if code is None else text_of(plain_form(value), code)
    return None if text is None else hashed(text)


def hashed(text: str) -> str:
    """Return a short digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def text_of(function: Any, code: CodeType) -> str | None:
    """Return the code of a function as text; None if it is of this package and has no source."""
    lines = linecache.getlines(code.co_filename, function.__globals__)[code.co_firstlineno - 1 :]
    if not lines:
        home = str(function.__module__)  # None where code is executed outside of a module
        file = getattr(sys.modules.get(home), "__file__", None) or ""
        is_ours = home.partition(".")[0] == ROOM
        return None if is_ours and Path(file).stem == Path(code.co_filename).stem else ""
    try:
        (tree,) = ast.parse(textwrap.dedent("".join(inspect.getblock(lines)))).body
    except (SyntaxError, ValueError):  # a lambda inside an expression
        return "".join(inspect.getblock(lines))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list, node.returns = [], None
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.arg):
            node.annotation = None
    return ast.unparse(tree)

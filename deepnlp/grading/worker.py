"""The process of one submission: it loads it, and answers the grader's questions about its values.

The first message is the submission and its limits. Every further one is a question: the answer to
an exercise, a call, an attribute, a copy, or what the checker says of a mistake. Whatever the code
of the submission does to this process, the grader compares the numbers itself.
"""

from __future__ import annotations

import ast
import base64
import copy
import linecache
import os
import pickle
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np

import deepnlp.diagnosis
from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.own import build_own
from deepnlp.grading import sandbox, wire
from deepnlp.layer import Layer
from deepnlp.lessons.exercises.registry import judge
from deepnlp.lessons.exercises.tables import names_of, tables_of

NAME = "submission"
LIBRARIES = (
    "abc", "bisect", "cmath", "collections.abc", "contextlib", "dataclasses", "datetime",
    "decimal", "enum", "fractions", "functools", "heapq", "itertools", "json", "logging", "math",
    "numbers", "operator", "pprint", "queue", "random", "re", "statistics", "string", "textwrap",
    "time", "timeit", "typing", "unittest", "warnings", "weakref", "numpy.testing",
    "numpy.polynomial", "scipy.linalg", "scipy.sparse", "scipy.special", "deepnlp.examples",
    "deepnlp.training",
)  # fmt: skip
"""Modules that are loaded before the process is shut in; later no file can be read."""

SHOWN = ("matplotlib", "matplotlib.pyplot", "seaborn", "tqdm.auto", "tqdm.notebook", "IPython",
         "IPython.display", "ipywidgets", "google", "google.colab")  # fmt: skip
"""Modules that show something, for which there are stand-ins that do nothing."""

DEFINED = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
"""What runs of a notebook: no training, and no plots."""

WRONG = """
def wrong_forward(x):
    return x * x, x

def wrong_backward(dy, x):
    return -2 * dy * x
"""


def main() -> None:
    """Answer on the standard streams of this process until the grader has no more questions."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    task = wire.unpack(wire.receive(questions), str)
    checker = walk_packages(deepnlp.diagnosis.__path__, "deepnlp.diagnosis.")
    for name in [*LIBRARIES, *(module.name for module in checker), *task["imports"]]:
        import_module(name)
    for lesson in task["lessons"]:
        names_of(lesson), tables_of(lesson)
    for name in SHOWN:
        sys.modules[name] = MagicMock(__spec__=None, __path__=[])
    Worker([("wrong.py", WRONG, False)]).of_check("wrong", ["N=2,D=2"], [])  # loads the tables
    kind = sandbox.close(task["memory"], task["seconds"])
    worker = Worker(task["cells"])
    reply: Any = {"value": kind}
    while True:
        answers.write(worker.packed(reply))
        answers.flush()
        try:
            reply = worker.answer(wire.receive(questions))
        except EOFError:
            return


class Worker:
    """A submission that is loaded, and what the grader knows of it by number.

    Parameters
    ----------
    cells : sequence of (title, text, whether to run definitions alone)
    """

    def __init__(self, cells: Any) -> None:
        self.module = ModuleType(NAME)
        self.module.__file__ = cells[0][0] if cells else NAME
        sys.modules[NAME] = self.module
        self.held: list[Any] = []
        self.checks: dict[str, ast.expr] = {}
        self.error: BaseException | None = None
        for title, text, definitions_alone in cells:
            self._run(title, text, definitions_alone)

    def _run(self, title: str, text: str, definitions_alone: bool) -> None:
        """Run the statements of a cell, each as far as it goes; note what it hands to ``check``."""
        lines = text.splitlines(True)
        lines = ["\n" if line.lstrip().startswith(("%", "!", "?")) else line for line in lines]
        linecache.cache[title] = (len(lines), None, lines, title)
        try:
            nodes = ast.parse("".join(lines)).body
        except (SyntaxError, ValueError) as error:
            self.error = self.error or error
            return
        for node in nodes:
            if isinstance(node, ast.Expr) and (check := _check_of(node.value)):
                self.checks[check[0]] = check[1]
            elif isinstance(node, DEFINED) or not definitions_alone:
                try:
                    exec(compile(ast.Module([node], []), title, "exec"), vars(self.module))
                except BaseException as error:
                    self.error = self.error or error

    def answer(self, message: bytes) -> dict[str, Any]:
        """The reply to a question: a value, or the error that the submission raised."""
        try:
            name, *given = wire.unpack(message, self._known)
            return {"value": getattr(self, f"of_{name}")(*given)}
        except BaseException as error:
            return {"error": _described(error)}

    def packed(self, reply: dict[str, Any]) -> bytes:
        """A reply as a message."""
        try:
            return wire.pack(reply, self._hold)
        except BaseException as error:
            return wire.pack({"error": _described(error)}, str)

    def _hold(self, value: Any) -> dict[str, Any]:
        self.held.append(value)
        return {"key": len(self.held) - 1, "type": type(value).__name__}

    def _known(self, described: dict[str, Any]) -> Any:
        if "key" in described:
            return self.held[described["key"]]
        return pickle.loads(base64.b64decode(described["pickle"]))  # from the grader alone

    # --- Questions ---------------------------------------------------------------------------

    def of_exercise(self, name: str, own: str | None) -> Any:
        """What is handed in for an exercise: by its name, or else what a ``check`` is given."""
        given = ast.parse(own, mode="eval").body if own else self.checks.get(name)
        if given is None:
            return ...
        try:
            return eval(compile(ast.Expression(given), NAME, "eval"), vars(self.module))
        except NameError as error:
            raise (self.error or error) from error

    def of_target(self, name: str) -> Any:
        """A class or a function, or a pair of functions as a tuple."""
        known = vars(self.module)
        pair = tuple(known.get(f"{name}_{way}") for way in ("forward", "backward"))
        if all(pair) or name in known:
            return pair if all(pair) else known[name]
        if self.error:
            raise self.error
        raise NotImplementedError(f"there is no {name}")

    def of_call(self, function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What a call gives, and the weights that it leaves in layers that it was given."""
        value = function(*given, **named)
        layers = [each for each in given if isinstance(each, Layer)]
        return value, [[np.asarray(p.value) for p in layer.parameters()] for layer in layers]

    def of_attribute(self, owner: Any, name: str) -> Any:
        """An attribute."""
        return getattr(owner, name)

    def of_copy(self, value: Any) -> Any:
        """A deep copy."""
        return copy.deepcopy(value)

    def of_verdict(self, name: str, own: str | None) -> tuple[Any, ...]:
        """What the check of an exercise says here: is it right, the mistake, a text."""
        verdict = judge(name, self.of_exercise(name, own))
        return verdict.ok, verdict.diagnosis, verdict.text

    def of_check(self, name: str, inputs: list[str], weights: list[str]) -> tuple[Any, ...]:
        """What the gradient check says here: is it right, the likeliest mistake, a text."""
        rng = np.random.default_rng(0)
        made, given, named = build_own(self.of_target(name), inputs, weights, rng)
        report = check_gradients(made, *given, rng=rng, quiet=True, **named)
        wrong = ", ".join(row.name for row in report.rows if not row.ok)
        cause = next(iter(report.causes), None)
        text = f"Wrong: {wrong}." + (f" Likely cause: {cause}" if cause else "")
        return report.ok, cause and cause.name, text


def _check_of(node: ast.expr) -> tuple[str, ast.expr] | None:
    """The exercise and the answer of ``check("1.5", answer)``, whatever follows the call."""
    while isinstance(node, ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute):
            node = node.value
        elif isinstance(node.func, ast.Name) and node.func.id == "check" and len(node.args) == 2:
            name = getattr(node.args[0], "value", None)
            return (name, node.args[1]) if isinstance(name, str) else None
        else:
            node = node.func
    return None


def _described(error: BaseException) -> list[str]:
    """Type and text of an error, and the line of the submission that raised it."""
    frames: list[Any] = []
    with suppress(Exception):
        frames = traceback.extract_tb(error.__traceback__)
    own = [f"In {f.name}: {f.line}" for f in frames if f.filename.startswith(NAME) and f.line]
    text = ""
    with suppress(Exception):
        text = str(error)[:1000]
    return [type(error).__name__, text, own[-1] if own else ""]

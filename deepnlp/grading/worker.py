"""The process of one submission: it loads it, and answers the grader's questions about its values.

The grader first has it load the libraries and run the submission. Then it asks: for the answer to
an exercise, a call of it, or what the checker says of a mistake. Whatever the code of a submission
does to this process, the grader compares the numbers itself.
"""

import ast
import base64
import builtins
import pickle
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np

import deepnlp.diagnosis
from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.loading import DEFINED, run_statement, statements_of
from deepnlp.gradcheck.own import build_own
from deepnlp.grading import wire
from deepnlp.grading.forms import DATA
from deepnlp.layer import Layer
from deepnlp.lessons.exercises.registry import judge
from deepnlp.lessons.exercises.tables import names_of, tables_of

NAME = "submission"
NOTICE = "__notice__"  # called in each round of every loop


class EndlessError(BaseException):
    """A loop of the submission is still running when the time of its answer is over."""


def serve(exchange: Callable[[bytes], bytes], close: Callable[[], None]) -> None:
    """Answer the questions that come in exchange for replies, until there are no more.

    ``close`` shuts this process in when all is loaded, and before the submission is.
    """
    worker, question = Worker(close), exchange(b"")
    while question:
        question = exchange(worker.reply(question))


class Worker:
    """A submission that is loaded, and what the grader knows of it by number.

    Parameters
    ----------
    close : callable
        Shuts this process in.
    """

    def __init__(self, close: Callable[[], None] = lambda: None) -> None:
        self.close = close
        self.module = ModuleType(NAME)
        self.held: list[Any] = []
        self.checks: dict[str, str] = {}
        self.titles: list[str] = []
        self.error: BaseException | None = None
        self.unread: list[str] = []
        self.soonest = self.end = self.clock_end = 0.0
        setattr(builtins, NOTICE, self._notice)

    def reply(self, message: bytes) -> bytes:
        """Return the reply to a question: a value, or the error that the submission raised."""
        try:
            name, (seconds, clock), *given = wire.unpack(message, self._known)
            self.end, self.clock_end = time.process_time() + seconds, time.monotonic() + clock
            self.soonest = time.monotonic() + seconds
            return wire.pack({"value": getattr(self, f"of_{name}")(*given)}, self._hold)
        except BaseException as error:
            return wire.pack({"error": self._described(error)}, str)

    def _notice(self) -> None:
        """End a loop whose time is over: that of the processor, for which one asks late, or all."""
        now = time.monotonic()
        if now > self.soonest and (time.process_time() > self.end or now > self.clock_end):
            raise EndlessError

    def _hold(self, value: Any) -> int:
        self.held.append(value)
        return len(self.held) - 1

    def _known(self, described: Any) -> Any:
        is_held = isinstance(described, int)  # else it comes from the grader alone
        return self.held[described] if is_held else pickle.loads(base64.b64decode(described))

    # --- What comes before the questions --------------------------------------------------------

    def of_load(self, imports: list[str], lessons: list[int]) -> None:
        """Load what a submission and the checks may need: later no file can be read."""
        checker = walk_packages(deepnlp.diagnosis.__path__, "deepnlp.diagnosis.")
        for name in [*DATA["libraries"].split(), *(module.name for module in checker), *imports]:
            import_module(name)
        for lesson in lessons:
            names_of(lesson), tables_of(lesson)
        for name in DATA["shown"].split():
            sys.modules[name] = MagicMock(__spec__=None, __path__=[])
        first = Worker()
        first.soonest = float("inf")
        first.of_run([("first.py", DATA["first"]["text"], False)])
        first.of_verdict("", "", "wrong", ["N=2,D=2"], [])
        setattr(builtins, NOTICE, self._notice)
        self.close()

    def of_run(self, cells: Iterable[tuple[str, str, bool]]) -> list[str]:
        """Run the submission: title and text of each cell, and whether only definitions run.

        Gives what is no Python in it, which is told for all that is missing.
        """
        sys.modules[NAME], cells = self.module, [*cells]
        self.titles = [title for title, *_ in cells]
        read = [self._tried(statements_of, text, title) or () for title, text, _ in cells]
        self.unread = [str(self.error)[:300]] if self.error else []
        for nodes, (title, _, definitions_alone) in zip(read, cells, strict=True):
            for node in nodes:
                self._tried(self._run, node, title, definitions_alone)
        return self.unread

    def _tried(self, work: Callable[..., Any], *given: Any) -> Any:
        """Return the result of some work; if it fails, keep the first error and go on."""
        try:
            return work(*given)
        except BaseException as error:
            self.error = self.error or error

    def _run(self, node: ast.stmt, title: str, definitions_alone: bool) -> None:
        """Run a statement, or note what it hands to ``check("1.5", answer)`` somewhere in it."""
        checks = {}
        for part in ast.walk(node) if isinstance(node, ast.Expr) else ():
            match part:
                case ast.Call(ast.Name("check"), [ast.Constant(str(name)), answer]):
                    checks[name] = ast.unparse(answer)
        self.checks |= checks
        if not checks and (isinstance(node, DEFINED) or not definitions_alone):
            for loop in ast.walk(node):
                if isinstance(loop, ast.For | ast.While):
                    call = ast.Expr(ast.Call(ast.Name(NOTICE, ast.Load()), [], []))
                    loop.body.insert(0, ast.fix_missing_locations(ast.copy_location(call, loop)))
            run_statement(node, title, self.module)

    # --- Questions ---------------------------------------------------------------------------

    def of_exercise(self, name: str, text: str) -> Any:
        """Return the answer to an exercise: the object of its name, or a ``check``'s argument."""
        if not text and name not in self.checks and self.unread and self.error:
            raise self.error
        return self._evaluated(text or self.checks.get(name, "..."))

    def of_target(self, name: str) -> Any:
        """Return a pair of functions, or else a class or a function."""
        return self._evaluated(f"({name}_forward, {name}_backward)", name)

    def _evaluated(self, *texts: str) -> Any:
        """Return the value of the first text whose names are there."""
        for text in texts:
            with suppress(NameError):
                return eval(text, vars(self.module))
        raise self.error or NotImplementedError(f"there is no {texts[-1]}")

    def of_call(self, function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Return a call's result, and the weights that it leaves in the given layers."""
        value = function(*given, **named)
        layers = [each for each in given if isinstance(each, Layer)]
        return value, [[np.asarray(p.value) for p in layer.parameters()] for layer in layers]

    def of_verdict(self, name: str, text: str, target: str, inputs: Any, weights: Any) -> Any:
        """Return the checks' verdict on an exercise, or on a target with arrays of these shapes.

        Whether it is right, the mistake, and a text.
        """
        outcome: Any
        if name:
            outcome = judge(name, self.of_exercise(name, text))
        else:
            rng = np.random.default_rng(0)
            made, given, named, _ = build_own(self.of_target(target), inputs, weights, rng)
            outcome = check_gradients(made, *given, rng=rng, quiet=True, **named)
        return outcome.ok, outcome.diagnosis, outcome.failure()

    def _described(self, error: BaseException) -> list[str]:
        """Type and text of an error, and the line of the submission that raised it."""
        text, places = "", [""]
        with suppress(BaseException):  # an error of a submission may run code of its own
            text = str(error)[:1000]
            for frame in traceback.extract_tb(error.__traceback__):
                if frame.filename in self.titles and frame.line:
                    places.append(f"In {frame.filename}, line {frame.lineno}: {frame.line}")
        return [type(error).__name__, text, places[-1]]

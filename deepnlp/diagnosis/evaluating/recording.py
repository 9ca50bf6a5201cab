"""Evaluating a forward on arrays that are followed: what it computes, and in which expression.

A forward runs as it stands, so it may do whatever it does when it is called. The functions of the
learner, and the layers of this package, are evaluated node by node; the node that computes
something is its place in the program. What cannot be evaluated is called.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Callable
from importlib import import_module
from types import FunctionType, MethodType
from typing import Any

import numpy

from deepnlp.diagnosis.evaluating.evaluator import Code, Evaluator, Frame
from deepnlp.diagnosis.evaluating.guard import (
    CONTAINERS,
    HOLDERS,
    Computed,
    Guard,
    is_written_for_learners,
    operators_of,
)
from deepnlp.diagnosis.evaluating.sources import is_foreign, source_of_function
from deepnlp.diagnosis.functions import BUILDERS, vectorized
from deepnlp.diagnosis.tape import Tape
from deepnlp.diagnosis.traced import called, traced_in
from deepnlp.gradcheck.places import Site

FORMULAS = "deepnlp.kernels.formulas"  # which remembers the functions that it has looked at
MOST_STEPS = 3_000_000
"""A forward of more steps is not followed."""


class Recording(Evaluator):
    """Evaluates a forward, and notes in a tape what it computes.

    Attributes
    ----------
    tape : Tape
    at : (node, Frame) or None
        The expression or statement that is evaluated.
    """

    def __init__(self) -> None:
        self.tape = Tape(site=self.site)
        super().__init__()

    def _new_guard(self) -> Guard:
        return _Open(self)

    def site(self) -> Site:
        """The place of what is evaluated, with the calls that led there."""
        chain, at = [], self.at
        while at is not None:
            node, frame = at
            if frame.function.__name__ == "_call_forward":  # the learner's code begins here
                break
            chain.append((frame.function.function.__code__, node))
            at = frame.caller
        return Site.of(chain)

    def can_read(self, function: FunctionType) -> bool:
        """Return whether each statement and expression of a function can be evaluated."""
        tree = source_of_function(function.__code__)
        if tree is None:
            return False
        body = tree.body if isinstance(tree.body, list) else [tree.body]
        nodes = [node for one in body for node in ast.walk(one)]
        return all(
            (type(node) in (ast.Starred, *self._makers) or not isinstance(node, _EVALUATED))
            and not getattr(node, "decorator_list", ())
            for node in nodes
        )

    def _code(self, node: Any) -> Code:
        code = super()._code(node)
        if isinstance(node, ast.Constant | ast.Name):
            return code

        def run(frame: Frame) -> Any:
            before, self.at = self.at, (node, frame)
            try:
                return code(frame)
            finally:
                self.at = before

        return run

    # --- Statements that a changed form may not have --------------------------------------------

    def _of_With(self, node: ast.With) -> Code:
        managers = [self._code(one.context_expr) for one in node.items]
        names = [one.optional_vars for one in node.items]
        stores = [None if name is None else self._store(name) for name in names]
        run, body = self.run, node.body

        def enter(frame: Frame, k: int = 0) -> Any:
            if k == len(managers):
                return run(body, frame)
            with managers[k](frame) as entered:
                if (store := stores[k]) is not None:
                    store(entered, frame)
                return enter(frame, k + 1)

        return enter

    def _of_Try(self, node: ast.Try) -> Code:
        run = self.run
        kinds = [self._code(one.type or ast.Name("BaseException")) for one in node.handlers]

        def attempt(frame: Frame) -> Any:
            depth = self.depth
            try:
                return run(node.body, frame) or run(node.orelse, frame)
            except Exception as error:
                self.depth = depth
                for kind, handler in zip(kinds, node.handlers):
                    if isinstance(error, kind(frame)):
                        if handler.name:
                            frame.names[handler.name] = error
                        return run(handler.body, frame)
                raise
            finally:
                run(node.finalbody, frame)

        return attempt

    def _of_Raise(self, node: ast.Raise) -> Code:
        value = self._code(node.exc or ast.Constant(None))

        def fail(frame: Frame) -> None:
            raise value(frame) or sys.exc_info()[1] or ValueError

        return fail


class _Open(Guard):
    """Lets pass what a forward does, since it does this when it is called, too."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording)
        self._can_read, self._tape = recording.can_read, recording.tape
        self._is_read: dict[Any, bool] = {}
        self.most = MOST_STEPS

    def grow(self, size: int) -> None:
        """Leave arrays as large as they are."""

    def own(self, value: Any) -> Any:
        """Return what is written to."""
        return value

    plain = copied = own

    def name(self, name: str, function: FunctionType) -> Any:
        """Return the value of a global or built-in name."""
        names = function.__globals__
        return names[name] if name in names else super().name(name, function)

    def module(self, name: str) -> Any:
        """Import a module."""
        return import_module(name)

    def item(self, held: Any, index: Any) -> Any:
        """``held[index]``."""
        found = self._static(type(held), "__getitem__")
        return self._evaluated(found)(held, index) if self._reads(found) else held[index]

    def _operated(self, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        for this, other, method in operators_of(function, a, b):
            found = self._static(type(this), method)
            if self._reads(found):
                return self._evaluated(found)(this, other)
        return function(a, b)

    def get(self, owner: Any, name: str) -> Any:
        """``owner.name``; a property of the learner is evaluated."""
        held = self._static(type(owner), name)
        if type(owner).__module__ == "deepnlp.kernels" and name == "form":
            return lambda: owner.plain
        if isinstance(held, property) and self._reads(held.fget):
            return self._evaluated(held.fget)(owner)
        return getattr(owner, name)

    def set(self, owner: Any, name: str, value: Any) -> None:
        """``owner.name = value``; what a property does with it is evaluated."""
        held = self._static(type(owner), name)
        if isinstance(held, property) and self._reads(held.fset):
            self._evaluated(held.fset)(owner, value)
        else:
            setattr(owner, name, value)

    def call(self, function: Any, args: list[Any], options: dict[str, Any]) -> Any:
        """Call a function in its form that is followed."""
        self.tick()
        if isinstance(function, numpy.vectorize):
            return vectorized(self._tape, self.callable(function.pyfunc), function, args)
        held = getattr(function, "__self__", None)
        if isinstance(held, numpy.ndarray) and traced_in([args, options]):  # ids.dot(W)
            return called(
                self._tape, getattr(numpy.ndarray, function.__name__), (held, *args), options
            )
        made = self.callable(function)
        is_holder = type(getattr(function, "__self__", None)) in CONTAINERS
        is_holder = is_holder or getattr(function, "__module__", "") == FORMULAS
        if (
            made is function
            and not is_holder
            and not (_is_hashed(function) and function in HOLDERS)
        ):
            args = list(map(self._argument, args))
            options = {key: self._argument(one) for key, one in options.items()}
        return made(*args, **options)

    def _argument(self, value: Any) -> Any:
        is_layer = self._static(type(value), "forward") is not None
        is_function = callable(value) and not isinstance(value, type) and not is_layer
        return self.callable(value) if is_function else value

    def callable(self, function: Any) -> Any:
        """The form of a function that is followed, or the function where there is none."""
        build = BUILDERS.get(function) if _is_hashed(function) else None
        if build is not None:
            return functools.partial(build, self._tape)
        if isinstance(function, type):
            start = self._static(function, "__init__")
            is_usual = type(function) is type and self._static(function, "__new__") in _NEW
            return self._maker(function, start) if is_usual and self._reads(start) else function
        if isinstance(function, MethodType) and self._reads(function.__func__):
            return functools.partial(self._evaluated(function.__func__), function.__self__)
        if self._reads(function):
            return self._evaluated(function)
        if isinstance(function, functools.partial):
            made = self.callable(function.func)
            return functools.partial(made, *function.args, **function.keywords)
        if type(function).__module__ == "deepnlp.kernels":
            return self._evaluated(function.plain)
        called = self._static(type(function), "__call__")
        is_object = self._reads(called) and not isinstance(function, Computed)
        return functools.partial(self._evaluated(called), function) if is_object else function

    def _maker(self, kind: type, start: Any) -> Any:
        def make(*args: Any, **options: Any) -> Any:
            one: Any = object.__new__(kind)
            self._evaluated(start)(one, *args, **options)
            return one

        return make

    def _reads(self, function: Any) -> bool:
        """Return whether a function is evaluated: the learner's, or of a layer."""
        if not isinstance(function, FunctionType):
            return False
        code = function.__code__
        if code not in self._is_read:
            is_followed = not is_foreign(code) or is_written_for_learners(function)
            is_followed = is_followed and function.__module__ != FORMULAS
            self._is_read[code] = is_followed and self._can_read(function)
        return self._is_read[code]


_NEW = (None, object.__new__)
_EVALUATED = (ast.stmt, ast.expr)
_HASHED = (type, FunctionType, type(numpy.sum), type(len))


def _is_hashed(function: Any) -> bool:
    return isinstance(function, _HASHED)

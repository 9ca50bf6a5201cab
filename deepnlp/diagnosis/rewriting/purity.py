"""Which functions may run in changed forms: those that can do nothing but compute.

A changed form may call something with other arguments than the learner meant: ``shutil.rmtree`` of
another folder, ``numpy.save`` over another file. So a backward is run in changed forms only if
everything that it calls is arithmetic, NumPy, or a function of the learner that itself only
computes, and if it writes to nothing but its own variables and objects.
"""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
from collections import deque
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy

from deepnlp.diagnosis.rewriting.functions import UNKNOWN, Codes, is_foreign, sources_of

BUILTINS = frozenset({
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "getattr", "hasattr", "int", "isinstance", "issubclass", "iter", "len", "list",
    "map", "max", "min", "next", "pow", "print", "range", "repr", "reversed", "round", "set",
    "setattr", "slice", "sorted", "str", "sum", "super", "tuple", "type", "zip",
})  # fmt: skip
"""Built-in functions that only compute, and print, which is silent in changed forms."""

METHODS = frozenset({
    "T", "all", "any", "append", "argmax", "argmin", "argsort", "astype", "clip", "conj",
    "conjugate", "copy", "count", "cumprod", "cumsum", "diagonal", "dot", "extend", "fill",
    "flatten", "format", "get", "index", "insert", "item", "items", "join", "keys", "max", "mean",
    "min", "nonzero", "pop", "popleft", "prod", "ravel", "real", "repeat", "reshape", "reverse",
    "round", "setdefault", "sort", "split", "squeeze", "startswith", "std", "sum", "swapaxes",
    "take", "tolist", "trace", "transpose", "update", "values", "var", "view", "accumulate",
    "appendleft", "at", "clear", "outer", "reduce", "reduceat",
})  # fmt: skip
"""Methods of arrays, numbers, strings and containers that change nothing but these."""

CONTAINERS = (list, dict, set, deque, numpy.ndarray)

OWNERS = (numpy.ndarray, numpy.generic, numpy.ufunc, str, int, float, complex, tuple, list, dict,
          set, deque)  # fmt: skip
"""Types that the methods belong to."""

LIBRARIES = frozenset(
    {"numpy", "scipy", "math", "operator", "itertools", "functools", "collections", "copy"}
)
"""Modules whose functions only compute, but for those of EFFECTS."""

PARTS = frozenset({"backend", "kernels", "layer", "layers", "models", "parameter", "views"})
"""Rooms of this package whose functions only compute."""

EFFECTS = frozenset({
    "fromfile", "fromregex", "genfromtxt", "info", "load", "loadtxt", "memmap", "save", "savetxt",
    "savez", "savez_compressed", "seterr", "seterrcall", "set_printoptions", "show_config",
    "show_runtime", "test",
})  # fmt: skip
"""Functions of NumPy that read, write or print files, or change settings."""

COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")

FORBIDDEN = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor,
             ast.AsyncWith)  # fmt: skip


def only_compute(codes: Codes, seen: Codes) -> bool:
    """Whether the functions with some codes can do nothing but compute, of all that were seen."""
    judge = _Judge(seen)
    return all(map(judge.computes, codes))


class _Judge:
    """Reads functions one by one; ``names`` are those of the functions that were seen to run."""

    def __init__(self, seen: Codes) -> None:
        self.functions = {code: one.functions for code, one in seen.items()}
        self.variables = {code: one.locals for code, one in seen.items()}
        self.names = {code.co_name for code in seen}
        self.judged: set[CodeType] = set()

    def computes(self, code: CodeType) -> bool:
        """Whether a function only computes, and the functions that it calls."""
        if code in self.judged or code.co_name in COMPREHENSIONS:  # inside a function that runs
            return True
        self.judged.add(code)
        variables = self.variables.get(code, {})
        values = list(variables.values())
        values += [v for one in values if hasattr(one, "__dict__") for v in vars(one).values()]
        if any(isinstance(value, numpy.memmap) for value in values):  # it is a file
            return False
        functions, trees = self.functions.get(code, []), sources_of(code)
        if not functions or not trees:
            return False
        scope = _Scope(code, functions[0].__globals__, variables)
        return all(self._allows(node, scope) for tree in trees for node in ast.walk(tree))

    def _allows(self, node: ast.AST, scope: _Scope) -> bool:
        if isinstance(node, ast.Call):
            return self._allows_call(node.func, scope)
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [getattr(node, "module", None) or alias.name for alias in node.names]
            return all(name.partition(".")[0] in LIBRARIES for name in names)
        if isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
            return not scope.outlives(node.value)
        if isinstance(node, ast.Name | ast.Attribute):  # it may be passed on and called
            value = scope.value(node)
            return not inspect.isroutine(value) or self._calls(value)
        return not isinstance(node, FORBIDDEN)

    def _allows_call(self, function: ast.expr, scope: _Scope) -> bool:
        if isinstance(function, ast.Lambda):
            return True
        value = scope.value(function)
        if value is not UNKNOWN:
            changes = isinstance(getattr(value, "__self__", None), CONTAINERS)
            owner = getattr(function, "value", function)
            return self._calls(value) and not (changes and scope.outlives(owner))
        return isinstance(function, ast.Attribute) and function.attr in METHODS | self.names

    def _calls(self, value: Any) -> bool:
        """Whether something that is called only computes."""
        name, owner = getattr(value, "__name__", ""), getattr(value, "__self__", None)
        room, _, part = (getattr(value, "__module__", None) or "").partition(".")
        if isinstance(value, numpy.ufunc):
            return True
        if isinstance(value, functools.partial):
            return self._calls(value.func)
        if isinstance(value, numpy.vectorize):
            return self._calls(value.pyfunc)
        if isinstance(value, MethodType):
            return self._calls(value.__func__)
        if room == "deepnlp" and part.partition(".")[0] in PARTS:
            return True
        if room in LIBRARIES:
            return name not in EFFECTS and not part.startswith(("random", "io", "testing"))
        if room == "builtins":
            is_error = isinstance(value, type) and issubclass(value, Exception)
            return is_error or (getattr(builtins, name, None) is value and name in BUILTINS)
        if isinstance(value, FunctionType):
            code = value.__code__
            self.functions[code] = self.functions.get(code) or [value]
            return not is_foreign(code) and self.computes(code)
        if isinstance(value, type):
            made = (value.__init__, value.__new__)  # type: ignore[misc]
            plain = (object.__init__, object.__new__, Exception.__init__, Exception.__new__)
            return all(one in plain or self._calls(one) for one in made)
        if isinstance(owner, OWNERS):
            return name in METHODS
        called = vars(type(value)).get("__call__")
        return isinstance(called, FunctionType) and self._calls(called)


class _Scope:
    """What the names in a function stand for."""

    def __init__(self, code: CodeType, module: dict[str, Any], variables: dict[str, Any]) -> None:
        self._own = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self._module, self._values = module, {**module, **variables}

    def value(self, node: ast.expr) -> Any:
        """What is named by ``np.sum`` or ``self.layers[0].backward``; UNKNOWN of all else."""
        if not _is_path(node):
            return UNKNOWN
        try:
            return eval(ast.unparse(node), self._values)
        except Exception:
            return UNKNOWN

    def outlives(self, node: Any) -> bool:
        """Whether what is changed belongs to a class or the module, under whatever name."""
        if isinstance(node, ast.Call):
            return ast.unparse(node.func) == "type"
        value = self.value(node)
        held = isinstance(value, CONTAINERS) and any(value is v for v in self._module.values())
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        is_own = not isinstance(node, ast.Name) or node.id in self._own
        return held or isinstance(value, type) or not is_own


def _is_path(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and _is_path(node.value)
    return isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and _is_path(node.value))

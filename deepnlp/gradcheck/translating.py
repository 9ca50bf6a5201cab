"""Code in the words of torch, and flat scripts, as functions in NumPy's.

The diagnosis follows arrays through functions. So a ``torch.autograd.Function`` becomes two
functions with a context, and a flat script one function of its first arrays. The translation stands
in lines of the same numbers, so that a line that is quoted is the learner's line.
"""

import ast
import copy
import inspect
import linecache
import re
import textwrap
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy

from deepnlp.gradcheck.walking import globals_of, plain

_DROPPED = ("dtype", "device", "requires_grad", "memory_format", "inplace")


class NotTranslatedError(ValueError):
    """Something of torch that the table does not have."""


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files(__package__).joinpath("torch.toml").read_text("utf-8"))


class _ToNumPy(ast.NodeTransformer):
    """Calls of torch as calls of NumPy."""

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute) or ast.unparse(function.value) == "math":
            return node
        name, owner = function.attr, function.value
        is_function = re.fullmatch(r"(torch|F|nn|functional|np)(\.\w+)*", ast.unparse(owner))
        args = [ast.unparse(one) for one in ([] if is_function else [owner]) + node.args]
        keys = {"keepdims": "keepdim", "axis": "dim"} if name in _table()["calls"] else {}
        named = {keys.get(k.arg, k.arg): ast.unparse(k.value)
                 for k in node.keywords if k.arg and k.arg not in _DROPPED}  # fmt: skip
        table = _table()
        if not is_function and f".{name}" in table["calls"]:  # a method of another meaning
            name = f".{name}"
        if is_function and name in ("zeros", "ones", "empty") and len(args) > 1:  # sizes one by one
            args = [f"({', '.join(args)})"]
        if name not in table["calls"]:
            if is_function or name in table["same"]["names"].split():
                text = ", ".join([*args, *(f"{k}={v}" for k, v in named.items())])
                return _expression(f"np.{name}({text})", node)
            return node
        takes = table["takes"].get(name, [])
        if len(args) > 1 + len(takes) and takes:  # dims one by one
            args = [args[0], f"({', '.join(args[1:])},)"]
        named |= dict(zip(takes, args[1:]))
        given = {**table["defaults"], **named}
        given["correction"] = named.get("correction", given["unbiased"])
        if name in ("cat", "stack") and "dim" not in named:
            given["dim"] = "0"
        text = table["calls"][name]
        rest = ", ".join(args[1:]) or "None"
        text = text.replace("{*}", rest if len(args) == 2 or ".reshape" in text else f"({rest},)")
        for key, one in given.items():
            text = text.replace(f"{{{key}}}", one)
        for k, one in enumerate(args):
            text = text.replace(f"{{{k}}}", one if one.isidentifier() else f"({one})")
        return _expression(text, node)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        if node.attr == "values" and ast.unparse(node.value).startswith("np.max("):
            return node.value
        if node.attr == "indices" and ast.unparse(node.value).startswith("np.max("):
            node.value.func.attr = "argmax"  # type: ignore[attr-defined]
            return node.value
        if ast.unparse(node.value) == "torch":
            node.value = ast.copy_location(ast.Name("np", ast.Load()), node.value)
        return node


def _expression(text: str, like: ast.AST) -> ast.expr:
    if re.search(r"\{\w+\}", text):
        raise NotTranslatedError(text)
    node = ast.parse(text, mode="eval").body
    for one in ast.walk(node):
        ast.copy_location(one, like)
    return node


def in_numpy(functions: Iterable[FunctionType]) -> list[FunctionType]:
    """Functions in NumPy's words, with those of their module that they call."""
    wanted: dict[str, FunctionType] = {}
    waiting = list(functions)
    for function in waiting:
        named = [function.__globals__.get(n) for n in globals_of(function.__code__)]
        own = [f for f in named if isinstance(f, FunctionType) and _file(f) == _file(function)]
        waiting += [f for f in own if f not in waiting]
    lines: list[str] = []
    for function in waiting:
        tree = _tree(function)
        wanted[tree.name] = function
        tree.decorator_list = []
        _write(_ToNumPy().visit(tree), 0, lines)
    space = _space(_file(waiting[0]), lines, waiting[0].__globals__)
    return [space[function.__name__] for function in waiting]


def in_function(
    file: str, body: list[ast.stmt], names: dict[str, Any], name: str, returned: str
) -> Any:
    """The lines of a script that depend on an array, as a function of it.

    ``names`` are the values of all other names, ``returned`` is what it returns.
    """
    kept = _depending(body, {name})
    if not kept or kept[0].lineno < 2:
        raise NotTranslatedError("no line is free for the head of a function")
    lines = [""] * (kept[0].lineno - 2) + [f"def lines({name}):"]
    for node in copy.deepcopy(kept):
        _write(_ToNumPy().visit(node) if "torch" in names else node, 1, lines)
    lines.append(f"    return {returned}")
    return _space(file, lines, {name: plain(value) for name, value in names.items()})["lines"]


def _depending(body: list[ast.stmt], known: set[str]) -> list[ast.stmt]:
    """The statements that compute with some names, or write to what these compute."""
    chosen: set[int] = set()
    while True:
        before, names = len(chosen), set(known)
        for k, node in enumerate(body):
            read, stored = names_of(node)
            if stored & known or isinstance(node, ast.Import | ast.ImportFrom):
                continue
            is_call = isinstance(node, ast.Expr) and not written_in(node)
            if (read & names or k in chosen) and not is_call:
                chosen.add(k)
                names |= stored
        written = {n for k in chosen for n in written_in(body[k]) | names_of(body[k])[1]}
        chosen |= {k for k, node in enumerate(body) if written & names_of(node)[1] - known}
        if len(chosen) == before:
            return [body[k] for k in sorted(chosen)]


def names_of(node: ast.AST) -> tuple[set[str], set[str]]:
    """Names that are read, and names that are assigned."""
    named = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    stored = {one.id for one in named if isinstance(one.ctx, ast.Store)}
    return {one.id for one in named if isinstance(one.ctx, ast.Load)}, stored


def written_in(node: ast.AST) -> set[str]:
    """Names whose arrays are changed: ``dx`` of ``dx[i] += 1`` and of ``dx *= 2``."""
    found = set()
    for one in ast.walk(node):
        target = one.target if isinstance(one, ast.AugAssign) else one
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            target = one.value
        if isinstance(target, ast.Name) and (target is not one):
            found.add(target.id)
        if isinstance(one, ast.Call) and ast.unparse(one.func).endswith(".at"):
            found |= {n.id for n in one.args[:1] if isinstance(n, ast.Name)}
        if isinstance(one, ast.Call) and ast.unparse(one.func).endswith("_"):  # in place, in torch
            found |= {n.id for n in ast.walk(one.func) if isinstance(n, ast.Name)} - {"torch"}
    return found


def _tree(function: FunctionType) -> Any:
    """The source of a function, with the numbers of its lines."""
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
    return ast.increment_lineno(tree, first - 1)


def _write(node: Any, depth: int, lines: list[str]) -> None:
    """Put a statement at its line, with the others that stand there."""
    inner = getattr(node, "body", None)
    last = getattr(node, "orelse", None)
    if isinstance(inner, list):
        empty = {"body": [ast.Pass()], **({} if last is None else {"orelse": []})}
        head = type(node)(**{**vars(node), **empty})
        _put(
            ast.unparse(ast.fix_missing_locations(head)).splitlines()[0], node.lineno, depth, lines
        )
        for one in inner:
            _write(one, depth + 1, lines)
        if last:
            _put("else:", last[0].lineno - 1, depth, lines)
            for one in last:
                _write(one, depth + 1, lines)
        return
    _put(ast.unparse(node).replace("\n", " "), node.lineno, depth, lines)


def _put(text: str, number: int, depth: int, lines: list[str]) -> None:
    lines += [""] * (number - len(lines))
    before = lines[number - 1]
    between = "" if before.endswith(":") else "; "
    lines[number - 1] = f"{before}{between}{text}" if before.strip() else "    " * depth + text


def _file(function: FunctionType) -> str:
    return function.__code__.co_filename


def _space(file: str, lines: list[str], names: dict[str, Any]) -> dict[str, Any]:
    """Return the names that the lines define, in a file of the same name."""
    text = "\n".join(lines) + "\n"
    title = f"<words {hash(text)}>/{Path(file).name}"
    linecache.cache[title] = (len(text), None, text.splitlines(True), title)
    space = {**names, "np": numpy}
    exec(compile(text, title, "exec"), space)
    return space

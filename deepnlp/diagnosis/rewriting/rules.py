"""Rules of rewriting, read from ``rules.toml``: what could stand in place of a piece of code."""

import ast
import contextlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

Found = dict[str, Any]
"""What the letters of a pattern stand for."""

_PLACES = {"index": "_[{}]", "slice": "_[{}]"}
_IGNORED = ("ctx", "kind", "type_comment")


@dataclass(frozen=True)
class Rule:
    """A pattern of code, the mistake that it would be, a cost, and the code that may replace it."""

    pattern: Any
    cause: str
    cost: float
    others: tuple[Any, ...]


def rewritten(kind: str, node: ast.AST) -> Iterator[tuple[Any, str, float]]:
    """Yield the trees that could replace a node, with a cause and a cost.

    Parameters
    ----------
    kind : str
        A table of ``rules.toml``.
    node : ast.AST

    Examples
    --------
    >>> [ast.unparse(new) for new, *_ in rewritten("expression", ast.parse("a ** 2").body[0].value)]
    ['a']
    """
    for rule in _rules(kind):
        found: Found = {}
        if _matches(rule.pattern, node, found):
            for other in rule.others:
                yield _Filled(found).visit(other), rule.cause, rule.cost


@cache
def _rules(kind: str) -> tuple[Rule, ...]:
    table = _tables()[kind]
    return tuple(
        Rule(_read(kind, is_), cause, cost, tuple(_read(kind, text) for text in others))
        for is_, cause, cost, *others in table
    )


@cache
def _tables() -> dict[str, Any]:
    text = resources.files("deepnlp.diagnosis.rewriting").joinpath("rules.toml")
    return tomllib.loads(text.read_text(encoding="utf-8"))


def _read(kind: str, text: str) -> Any:
    """The tree of a pattern."""
    statement: Any = ast.parse(_PLACES.get(kind, "{}").format(text)).body[0]
    if kind == "statement":
        return statement
    return statement.value.slice if kind in _PLACES else statement.value


def _is_letter(node: Any) -> bool:
    return isinstance(node, ast.Name) and len(node.id) == 1 and node.id.isupper()


def _matches(pattern: Any, node: Any, found: Found) -> bool:
    """Return whether a node is of the form of a pattern; notes what its letters stand for."""
    if _is_letter(pattern):
        if not isinstance(node, ast.expr):
            return False
        if pattern.id in found:
            return ast.dump(found[pattern.id]) == ast.dump(node)
        found[pattern.id] = node
        is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
        return is_number if pattern.id == "K" else not isinstance(node, ast.Slice)
    if isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and _match_node(pattern, node, found)
    if isinstance(pattern, list):
        return len(pattern) == len(node) and all(
            _matches(*two, found) for two in zip(pattern, node)
        )
    return bool(pattern == node)


def _match_node(pattern: Any, node: Any, found: Found) -> bool:
    """The same for two nodes of a kind."""
    if isinstance(pattern, ast.Call):
        return _matches(pattern.func, node.func, found) and _match_call(pattern, node, found)
    if isinstance(pattern, ast.Attribute) and pattern.attr == "_":
        found["_"] = node.attr
        return _matches(pattern.value, node.value, found)
    names = [name for name in pattern._fields if name not in _IGNORED]
    return all(_matches(getattr(pattern, n), getattr(node, n), found) for n in names)


def _match_call(pattern: ast.Call, node: ast.Call, found: Found) -> bool:
    """The arguments of a call: those of the pattern, and the rest as ``R`` and ``Q``."""
    own = [one for one in pattern.args if not isinstance(one, ast.Starred)]
    if len(own) < len(pattern.args):
        found["R"] = node.args[len(own) :]
    elif len(node.args) > len(own):
        return False
    named = {one.arg: one.value for one in pattern.keywords}
    given = {one.arg: one.value for one in node.keywords}
    rest = [one for one in node.keywords if one.arg not in named]
    if len(node.args) < len(own) or (rest and None not in named) or None in given:
        return False
    found["Q"] = rest
    pairs = [*zip(own, node.args), *((v, given.get(k)) for k, v in named.items() if k)]
    return all(_matches(one, other, found) for one, other in pairs)


class _Filled(ast.NodeTransformer):
    """A copy of a tree with what its letters stand for; those are not copied."""

    def __init__(self, found: Found) -> None:
        self.found = found

    def visit(self, node: ast.AST) -> Any:
        """The filled tree."""
        if _is_letter(node):
            return self.found[node.id]  # type: ignore[attr-defined]
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "t":
            return turned(self.visit(node.args[0]))
        fields = {name: self._filled(value) for name, value in ast.iter_fields(node)}
        made = type(node)(**fields)
        if isinstance(made, ast.Attribute) and made.attr == "_":
            made.attr = self.found["_"]
        return _carried_out(made)

    def _filled(self, value: Any) -> Any:
        if isinstance(value, ast.AST):
            return self.visit(value)
        if not isinstance(value, list):
            return value
        made: list[Any] = []
        for one in value:
            if isinstance(one, ast.Starred):
                made += self.found["R"]
            elif isinstance(one, ast.keyword) and one.arg is None:
                own = [other.arg for other in value]
                made += [other for other in self.found["Q"] if other.arg not in own]
            else:
                made.append(self.visit(one))
        return made


def _carried_out(node: Any) -> Any:
    """A number in place of a sum, a product or a sign of numbers."""
    parts = {ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",)}.get(type(node), ())
    numbers = [getattr(node, name) for name in parts]
    is_known = parts and all(type(getattr(n, "value", None)) in (int, float) for n in numbers)
    if is_known and not isinstance(getattr(node, "op", None), ast.Pow | ast.MatMult):
        with contextlib.suppress(ArithmeticError):
            value = eval(ast.unparse(node), {"__builtins__": {}})
            return ast.Constant(int(value) if value == int(value) else value)
    return node


def turned(node: ast.expr) -> ast.expr:
    """A matrix transposed; one that is transposed as it is otherwise."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value
    if ".transpose" in ast.unparse(node):
        last: list[ast.expr] = [ast.Constant(-1), ast.Constant(-2)]
        return ast.Call(ast.Attribute(node, "swapaxes", ast.Load()), last, [])
    return ast.Attribute(node, "T", ast.Load())

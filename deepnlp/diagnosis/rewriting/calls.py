"""Changes of calls and of products: functions, axes, transposes, the order of arguments."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from deepnlp.diagnosis.rewriting.slots import Change, parsed
from deepnlp.gradcheck import causes as c

Make = Callable[..., Change]
"""Makes a change from a cause, the expression that is put in place of another, and a cost."""

FUNCTIONS = {
    "mean": "sum", "sum": "mean", "sin": "cos", "cos": "sin", "max": "sum", "log": "exp",
    "exp": "log", "argmax": "argmin", "argmin": "argmax", "maximum": "minimum", "tanh": "cosh",
    "minimum": "maximum", "square": "sqrt", "sqrt": "square", "hstack": "vstack",
    "vstack": "hstack", "cumsum": "cumprod", "sign": "abs", "abs": "sign", "triu": "tril",
    "tril": "triu", "zeros_like": "ones_like", "ones_like": "zeros_like", "zeros": "ones",
    "ones": "zeros", "all": "any", "any": "all", "logical_and": "logical_or",
    "logical_or": "logical_and", "greater": "less", "less": "greater",
}  # fmt: skip
AXES = ("0", "1", "-1", "2", "None", "(0, 1)", "(0, 2)", "(1, 2)", "(0, 2, 3)")
_MODULES = ("np", "numpy", "xp")


def of_call(change: Make, node: ast.Call) -> Iterator[Change]:
    """Another function, another axis, another order of the arguments."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else ""
    of_module = (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id in _MODULES
    )
    if name in FUNCTIONS and isinstance(function, ast.Attribute):
        other = ast.Attribute(function.value, FUNCTIONS[name], ast.Load())
        cause = c.NOT_SUMMED_N if name == "mean" else c.WRONG_VALUE
        yield change(cause, ast.Call(other, node.args, node.keywords))
        yield from _of_axis(change, node, of_module)
    if isinstance(function, ast.Name) and function.id == "reversed" and node.args:
        yield change(c.TIME_REVERSED, node.args[0])
    if isinstance(function, ast.Name) and function.id == "range":
        yield from _of_range(change, node)
    yield from _unwrapped(change, node, name, of_module)
    if name in ("dot", "matmul"):
        a, b = (node.args * 2)[:2] if of_module and len(node.args) == 2 else (None, None)
        if a is not None and b is not None:
            for one, other_one in _turned_pairs(a, b):
                yield change(c.TRANSPOSED, ast.Call(function, [one, other_one], []))
    elif len(node.args) > 1 and name not in ("transpose", "reshape", "swapaxes"):
        for i, j in itertools.combinations(range(len(node.args)), 2):
            args = list(node.args)
            args[i], args[j] = args[j], args[i]
            cause = c.DERIVATIVE_MISSING if name == "where" else c.WRONG_VALUE
            yield change(cause, ast.Call(function, args, node.keywords))
    if name in ("transpose", "swapaxes") or (name == "reshape" and len(node.args) > 2):
        first = 1 if of_module else 0
        for order in itertools.permutations(node.args[first:]):
            args = [*node.args[:first], *order]
            if len(order) > 1 and args != node.args and len(order) < 5:
                yield change(c.TRANSPOSED, ast.Call(function, args, node.keywords))
    if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
        yield from _of_subscripts(change, node)
    if name == "cumsum":
        yield from _of_cumsum(change, node, of_module)
    if name in ("tile", "repeat") and of_module:
        yield from _of_copies(change, node, name)


def _of_axis(change: Make, node: ast.Call, of_module: bool) -> Iterator[Change]:
    keywords = [k for k in node.keywords if k.arg is not None]
    for k, keyword in enumerate(keywords):
        if keyword.arg == "axis" and isinstance(keyword.value, ast.Tuple | ast.UnaryOp):
            for axis in AXES:
                new = [*keywords[:k], ast.keyword("axis", parsed(axis)), *keywords[k + 1 :]]
                yield change(c.WRONG_AXIS, ast.Call(node.func, node.args, new), 0.7)
        if keyword.arg == "keepdims":
            rest = [*keywords[:k], *keywords[k + 1 :]]
            yield change(c.WRONG_AXIS, ast.Call(node.func, node.args, rest), 0.8)
    if not any(k.arg == "axis" for k in keywords):
        arguments = node.args[:1] if of_module else []
        for axis in ("0", "1", "-1", "(0, 1)", "(0, 2)"):
            more = [*keywords, ast.keyword("axis", parsed(axis))]
            yield change(c.WRONG_AXIS, ast.Call(node.func, arguments, more), 0.8)
    elif not any(k.arg == "keepdims" for k in keywords):
        more = [*keywords, ast.keyword("keepdims", ast.Constant(True))]
        yield change(c.WRONG_AXIS, ast.Call(node.func, node.args, more), 0.8)


def _of_range(change: Make, node: ast.Call) -> Iterator[Change]:
    turned = ast.Call(ast.Name("reversed", ast.Load()), [node], [])
    yield change(c.TIME_REVERSED, turned)
    for k, arg in enumerate(node.args):
        for step in (1, -1):
            moved = ast.BinOp(arg, ast.Add(), ast.Constant(step))
            args = [*node.args[:k], moved, *node.args[k + 1 :]]
            yield change(c.TIME_SHIFTED, ast.Call(node.func, args, []))
    if len(node.args) == 1:
        yield change(c.TIME_SHIFTED, ast.Call(node.func, [ast.Constant(1), *node.args], []))
    elif isinstance(node.args[0], ast.Constant):
        yield change(c.TIME_SHIFTED, ast.Call(node.func, [ast.Constant(0), *node.args[1:]], []))


def _unwrapped(change: Make, node: ast.Call, name: str, of_module: bool) -> Iterator[Change]:
    """An argument in place of a call, or the array whose method is called."""
    causes = {"transpose": c.TRANSPOSED, "swapaxes": c.TRANSPOSED, "flip": c.TIME_REVERSED}
    cause = causes.get(name, c.WRONG_VALUE)
    if isinstance(node.func, ast.Attribute) and not of_module and name:
        yield change(cause, node.func.value)
    for arg in node.args[:3]:
        if not isinstance(arg, ast.Constant | ast.Starred | ast.Tuple | ast.List):
            yield change(cause, arg)


def _of_subscripts(change: Make, node: ast.Call) -> Iterator[Change]:
    """Two letters of one operand of an ``einsum`` exchanged, or an operand left out."""
    text = str(getattr(node.args[0], "value", ""))
    left, arrow, right = text.partition("->")
    parts = [*left.split(","), right]
    for k, part in enumerate(parts):
        for i, j in itertools.combinations(range(len(part)), 2):
            turned = list(part)
            turned[i], turned[j] = turned[j], turned[i]
            new = [*parts[:k], "".join(turned), *parts[k + 1 :]]
            told = ",".join(new[:-1]) + arrow + new[-1]
            args = [ast.Constant(told), *node.args[1:]]
            yield change(c.TRANSPOSED, ast.Call(node.func, args, node.keywords))
    for k in range(len(parts) - 1 if len(parts) > 2 else 0):
        told = ",".join(parts[:k] + parts[k + 1 : -1]) + arrow + right
        args = [ast.Constant(told), *node.args[1 : k + 1], *node.args[k + 2 :]]
        yield change(c.WRONG_VALUE, ast.Call(node.func, args, node.keywords))


def _of_cumsum(change: Make, node: ast.Call, of_module: bool) -> Iterator[Change]:
    """Sums of what comes later for sums of what came before."""
    keyword = next((k.value for k in node.keywords if k.arg == "axis"), None)
    axis = ast.unparse(keyword) if keyword is not None else "0"
    x = node.args[0] if of_module else getattr(node.func, "value", node)
    inner = f"np.cumsum(np.flip({ast.unparse(x)}, {axis}), axis={axis})"
    yield change(c.TIME_REVERSED, parsed(f"np.flip({inner}, {axis})"))


def _of_copies(change: Make, node: ast.Call, name: str) -> Iterator[Change]:
    """``np.tile`` for ``np.repeat``, and the reverse."""
    x, *rest = node.args
    if name == "tile" and rest:
        times = rest[0].elts if isinstance(rest[0], ast.Tuple) else [rest[0]]
        for axes in (range(len(times)), range(-len(times), 0)):
            inner = ast.unparse(x)
            for axis, count in zip(axes, times):
                if ast.unparse(count) != "1":
                    inner = f"np.repeat({inner}, {ast.unparse(count)}, axis={axis})"
            yield change(c.WRONG_AXIS, parsed(inner))
        return
    along = next((k.value for k in node.keywords if k.arg == "axis"), None)
    if rest and isinstance(along, ast.Constant) and isinstance(along.value, int):
        text, times_text = ast.unparse(x), ast.unparse(rest[0])
        before, after = "1, " * along.value, f"(1,) * (np.ndim({text}) - {along.value + 1})"
        yield change(c.WRONG_AXIS, parsed(f"np.tile({text}, ({before}{times_text},) + {after})"))


def of_product(change: Make, left: ast.expr, right: ast.expr) -> Iterator[Change]:
    """Matrices that are transposed, or stand the other way round."""
    for a, b in _turned_pairs(left, right):
        yield change(c.TRANSPOSED, ast.BinOp(a, ast.MatMult(), b))


def _turned_pairs(left: ast.expr, right: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    one, other = turned(left), turned(right)
    yield from ((one, right), (left, other), (one, other), (right, left))
    yield from ((other, one), (right, one), (other, left))


def turned(node: ast.expr) -> ast.expr:
    """A matrix transposed; one that is transposed as it is otherwise."""
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value
    text = ast.unparse(node)
    return parsed(f"({text}).swapaxes(-1, -2)" if ".transpose" in text else f"({text}).T")

"""Changes of calls and of products: functions, axes, transposes, the order of arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from deepnlp.diagnosis.rewriting.slots import Change, parsed
from deepnlp.gradcheck import causes as c

Make = Callable[[str, ast.expr], Change]
"""Makes a change from a cause and the expression that is put in place of another."""

FUNCTIONS = {
    "mean": "sum", "sum": "mean", "sin": "cos", "cos": "sin", "max": "sum", "log": "exp",
    "exp": "log", "argmax": "argmin", "maximum": "minimum", "minimum": "maximum", "tanh": "cosh",
    "square": "sqrt", "sqrt": "square", "repeat": "tile", "tile": "repeat",
}  # fmt: skip


def of_call(change: Make, node: ast.Call) -> Iterator[Change]:
    """Another function, another axis, another order of the arguments."""
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else ""
    keywords = [k for k in node.keywords if k.arg is not None]
    if name in FUNCTIONS and isinstance(function, ast.Attribute):
        other = ast.Attribute(function.value, FUNCTIONS[name], ast.Load())
        cause = c.NOT_SUMMED_N if name == "mean" else c.WRONG_VALUE
        yield change(cause, ast.Call(other, node.args, node.keywords))
        for k, keyword in enumerate(keywords):
            if keyword.arg == "axis" and isinstance(keyword.value, ast.Tuple | ast.UnaryOp):
                for axis in (
                    "0",
                    "1",
                    "-1",
                    "2",
                    "None",
                    "(0, 1)",
                    "(0, 2)",
                    "(1, 2)",
                    "(0, 2, 3)",
                ):
                    new = [*keywords[:k], ast.keyword("axis", parsed(axis)), *keywords[k + 1 :]]
                    yield change(c.WRONG_AXIS, ast.Call(function, node.args, new))
        if not any(k.arg == "axis" for k in keywords):
            is_method = not (
                isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy")
            )
            rest = node.args if not is_method else []
            for axis in ("0", "1", "-1", "(0, 1)"):
                more = [*keywords, ast.keyword("axis", parsed(axis))]
                yield change(c.WRONG_AXIS, ast.Call(function, rest[:1], more))
    if name in ("sum", "mean", "clip", "abs", "sign", "copy", "flip", "squeeze"):
        yield change(c.WRONG_VALUE, _argument(node))
    if isinstance(function, ast.Name) and function.id == "reversed" and node.args:
        yield change(c.TIME_REVERSED, node.args[0])
    if isinstance(function, ast.Name) and function.id == "range":
        yield change(c.TIME_REVERSED, ast.Call(ast.Name("reversed", ast.Load()), [node], []))
        for k, arg in enumerate(node.args):
            for step in (1, -1):
                moved = ast.BinOp(arg, ast.Add(), ast.Constant(step))
                args = [*node.args[:k], moved, *node.args[k + 1 :]]
                yield change(c.TIME_SHIFTED, ast.Call(function, args, []))
    if name == "transpose":
        yield change(c.TRANSPOSED, _argument(node))
    if name in ("dot", "matmul") and len(node.args) == 2:
        a, b = node.args
        turned, also = _turned(a), _turned(b)
        for pair in ([turned, b], [a, also], [turned, also], [b, a], [also, turned]):
            yield change(c.TRANSPOSED, ast.Call(function, list(pair), []))
    if name == "einsum" and node.args and isinstance(node.args[0], ast.Constant):
        yield from _of_subscripts(change, node)


def _of_subscripts(change: Make, node: ast.Call) -> Iterator[Change]:
    """Two letters of one operand of an ``einsum`` exchanged."""
    text = str(getattr(node.args[0], "value", ""))
    left, arrow, right = text.partition("->")
    parts = [*left.split(","), right]
    for k, part in enumerate(parts):
        for i in range(len(part)):
            for j in range(i + 1, len(part)):
                turned = list(part)
                turned[i], turned[j] = turned[j], turned[i]
                new = [*parts[:k], "".join(turned), *parts[k + 1 :]]
                told = ",".join(new[:-1]) + arrow + new[-1]
                args = [ast.Constant(told), *node.args[1:]]
                yield change(c.TRANSPOSED, ast.Call(node.func, args, node.keywords))


def _argument(node: ast.Call) -> ast.expr:
    """What a function takes: its first argument, or the array whose method it is."""
    function = node.func
    assert isinstance(function, ast.Attribute)
    of_module = isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy", "xp")
    return node.args[0] if of_module and node.args else function.value


def of_product(change: Make, left: ast.expr, right: ast.expr) -> Iterator[Change]:
    """Matrices that are transposed, or stand the other way round."""
    one, other = _turned(left), _turned(right)
    product = ast.MatMult()
    for a, b in (
        (one, right),
        (left, other),
        (one, other),
        (right, left),
        (other, one),
        (right, one),
        (other, left),
    ):
        yield change(c.TRANSPOSED, ast.BinOp(a, product, b))


def _turned(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return node.value
    text = ast.unparse(node)
    return parsed(f"({text}).swapaxes(-1, -2)" if ".transpose" in text else f"({text}).T")

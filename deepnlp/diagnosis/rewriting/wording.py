"""The cause that a change of a statement points to, and words for it."""

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy

from deepnlp.diagnosis.mistakes.edges import is_mask as holds_mask
from deepnlp.diagnosis.rewriting.differences import (
    Difference,
    difference,
    dumped,
    factor_between,
    function_name,
)
from deepnlp.gradcheck import causes as c
from deepnlp.gradcheck.names import DATA, GRAD
from deepnlp.gradcheck.places import shortened

_SLOPE = re.compile(r"^1(\.0)? - (\S+) (\*\* 2|\* \2)$|[<>]=? 0(\.0)?$|heaviside|cosh")
_COMPLEMENT = re.compile(r"^1(\.0)? - ([\w.]+)$")
_LINEAR = (
    "sum", "mean", "dot", "einsum", "matmul", "outer", "reshape", "transpose", "swapaxes", "where",
    "concatenate", "stack", "hstack", "vstack", "repeat", "tile", "broadcast_to", "multiply", "at",
    "copy", "array", "asarray", "expand_dims", "squeeze", "pad", "flip",
)  # fmt: skip
_PLAIN = ast.Name | ast.Attribute
_MOVES = ("transpose", "swapaxes", "moveaxis", "rollaxis")


@dataclass
class Setting:
    """The setting of a change.

    Attributes
    ----------
    scope : dict of str to value
        What the names stand for.
    assigned : dict of str to ast.expr
        What the function assigns to its names.
    is_bias : bool
        Whether all gradients that it repairs are those of weights with one axis at most.
    is_random : bool
        Whether the forward draws random numbers, as dropout does.
    loops : collection of str
        Names that run through the rounds of a loop.
    others : collection of str
        Names that other statements of the function read.
    has_mask : bool
        Whether the statement has a mask of dropout, which may have a scale.
    targets : array, optional
        Those of a loss, which may be a mean over them.
    """

    scope: Mapping[str, Any]
    assigned: Mapping[str, ast.expr] = field(default_factory=dict)
    is_bias: bool = False
    is_random: bool = False
    loops: Collection[str] = ()
    others: Collection[str] = ()
    has_mask: bool = False
    targets: Any = None


def worded(old: ast.stmt, new: ast.stmt, cause: str, setting: Setting) -> tuple[str, str]:
    """The cause that a change undoes, and words for it.

    Parameters
    ----------
    old, new : ast.stmt
        The learner's statement, and the one with which gradients are right.
    cause : str
        What the change was made for.
    setting : Setting
    """
    if type(old) is not type(new):
        return _of_statements(old, new, cause)
    found = difference(old, new)
    if _is_condition(found):
        is_count = all(is_number(one, setting.scope) for one in (found.old, found.new))
        told = f"the condition is not {_quote(found.new)}"
        if not isinstance(found.old, ast.Compare):
            told = f"{_quote(found.old)} stands in place of {_quote(found.new)} in the condition"
        return c.WRONG_VALUE if is_count else c.DERIVATIVE_MISSING, told
    if any(name in ("target", "targets") for _, name in found.above):
        cause = c.TIME_REVERSED if _is_reversal(found.old, found.new) else cause
        if isinstance(found.old, ast.Slice) and isinstance(found.new, ast.Subscript):
            cause = c.DERIVATIVE_MISSING  # of a maximum, which goes to one place
        return cause, f"it is stored in {_quote(found.old)} and not in {_quote(found.new)}"
    if found.above and isinstance(found.above[-1][0], ast.keyword):  # axis=1 is not 0 + 1
        words = [f"`{found.above[-1][0].arg}={ast.unparse(one)}`" for one in (found.old, found.new)]
        of_flip = len(found.above) > 1 and function_name(found.above[-2][0]) == "flip"
        cause = c.TIME_REVERSED if of_flip else cause
        return cause, f"{words[0]} stands in place of {words[1]}"
    if any(function_name(node) == "range" for node, _ in found.above):
        told = f"{_quote(found.old)} stands in place of {_quote(found.new)}"
        return c.TIME_SHIFTED, f"{told}: the loop begins or ends at another place"
    zeroed = None if _is_index(found) else _zeroed(found)
    if zeroed is not None:
        return c.TERM_MISSING, f"the term {_quote(zeroed)} is missing"
    counted = _counted(found, setting.scope) if setting.targets is not None else None
    factors = counted or _factors(found, found.old, found.new, setting)
    cause, told = factors or _replaced(found, cause, setting)
    are_numbers = all(is_number(one, setting.scope) for one in (found.old, found.new))
    is_scale = setting.has_mask and (cause == c.FACTOR or are_numbers)
    return c.MASK_SCALE if is_scale else cause, told


def _counted(found: Difference, scope: Mapping[str, Any]) -> tuple[str, str] | None:
    """The count that a loss is divided by: it is missing, or another one stands there."""
    parent, name = found.above[-1] if found.above else (None, "")
    more, old, new = factor_between(found.old, found.new), found.old, found.new
    if isinstance(parent, ast.Subscript) and _is_shape(found) and len(found.above) > 1:
        old, new = parent, ast.Subscript(parent.value, new, parent.ctx)
        parent, name = found.above[-2]
    if more is not None and more[0] is ast.Div:
        old, new = ast.Constant(1), more[1]
    elif not isinstance(getattr(parent, "op", None), ast.Div) or name not in ("right", "value"):
        return None
    other = factor_between(new, old)
    if other is not None and isinstance(other[1], ast.Constant):  # 2 N for N is no other count
        return None
    count = scope.get(ast.unparse(new))
    if not isinstance(count, int | numpy.integer) or not is_number(old, scope):
        return None
    if _is_one(old):
        return c.LOSS_NOT_AVERAGED, f"it is not divided by {_quote(new)}, as the loss is"
    told = f"it is divided by {_quote(old)} and should be divided by {_quote(new)}"
    return c.LOSS_WRONG_COUNT, told


_LACKS: dict[type, str] = {
    ast.Add: "the term `{other}` is missing", ast.Sub: "the term `- {other}` is missing",
    ast.Mult: "the factor `{other}` is missing", ast.Div: "it is not divided by `{other}`",
    ast.Pow: "`{part}` should stand there to the power of `{other}`",
}  # fmt: skip
_HAS: dict[type, str] = {
    ast.Add: "the term `{other}` is too many", ast.Sub: "the term `{other}` is too many",
    ast.Mult: "the factor `{other}` is too many", ast.Div: "it is divided by `{other}`",
    ast.Pow: "the power of `{other}` is too many",
}  # fmt: skip


def _factors(found: Difference, old: Any, new: Any, setting: Setting) -> tuple[str, str] | None:
    """A factor or a term that one of two expressions has more."""
    more, less = factor_between(old, new), factor_between(new, old)
    is_factor = not found.above or isinstance(found.above[-1][0], ast.BinOp | ast.Call)
    if not more and not less and isinstance(new, ast.expr) and _is_one(old) and is_factor:
        more, new = (ast.Mult, new, True), ast.BinOp(old, ast.Mult(), new)
    extra = more or less
    if extra is None or extra[0] not in _LACKS:
        return None
    op, other, behind = extra
    is_term = op in (ast.Add, ast.Sub)
    if (is_term and _is_index(found)) or (op in (ast.Sub, ast.Div) and not behind):
        return None
    part, whole = (old, new) if more else (new, old)
    told = (_LACKS if more else _HAS)[op].format(other=_short(other), part=_short(part))
    if is_term and more:
        is_multiple = is_number(part, setting.scope) and _is_linear(found, setting.scope)
        return c.FACTOR if is_multiple else c.TERM_MISSING, told
    is_place = _is_index(found) or ast.unparse(part) in setting.loops  # which is no multiple
    if is_term or op is ast.Pow or (more and is_place):
        return c.WRONG_VALUE, told
    cause = _of_factor(found, other, whole, setting, is_missing=more is not None)
    return cause or (c.TERM_MISSING if more else c.WRONG_VALUE), told


def _of_factor(
    found: Difference, factor: Any, product: Any, setting: Setting, is_missing: bool
) -> str | None:
    """The cause where a factor that is missing, or too many, is a number, a slope or a mask."""
    if is_number(factor, setting.scope):
        return c.FACTOR if _is_linear(found, setting.scope) else c.WRONG_VALUE
    if is_slope(factor, product):
        return c.DERIVATIVE_MISSING
    if not is_mask(factor, setting.scope):
        return None
    if not is_missing:
        return c.MASK_SCALE if setting.is_random else None
    if setting.targets is not None and setting.targets.dtype.kind in "iu":
        return c.IGNORED_COUNTED
    is_dropout = setting.is_random or "drop" in ast.unparse(factor).lower()
    return c.MASK_MISSING if is_dropout else None


def _zeroed(found: Difference) -> ast.expr | None:
    """The term that the learner's line multiplies by 0, or has a 0 in place of."""
    old, new = found.old, found.new
    parent, name = found.above[-1] if found.above else (None, "")
    is_zero = isinstance(old, ast.Constant) and old.value == 0 and type(old.value) is not bool
    if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult) and is_zero:
        other = parent.right if name == "left" else parent.left
        return other
    is_value = name == "value" or (name == "elts" and not _is_axis(found))
    is_value = is_value or function_name(parent) == "where"
    if (is_zero and is_value) or function_name(old) in ("zeros", "zeros_like"):
        return new if isinstance(new, ast.expr) else None
    return None


def _is_one(node: Any) -> bool:
    """Return whether a value is 1, or an array of ones."""
    is_one = isinstance(node, ast.Constant) and node.value == 1
    return is_one or function_name(node) in ("ones", "ones_like")


def _of_statements(old: ast.stmt, new: ast.stmt, cause: str) -> tuple[str, str]:
    """An assignment in place of an addition, and the like."""
    if isinstance(old, ast.Assign) and isinstance(new, ast.AugAssign):
        target = _quote(new.target)
        if isinstance(new.op, ast.Mult):
            return c.TERM_MISSING, f"what {target} holds is overwritten, not multiplied"
        told = f"what {target} holds already is overwritten, not added to"
        return (c.TERM_MISSING if isinstance(new.target, ast.Name) else c.ASSIGNED), told
    if isinstance(old, ast.AugAssign) and isinstance(new, ast.Assign):
        return c.WRONG_VALUE, f"it is added to what {_quote(old.target)} holds already"
    if isinstance(old, ast.Assign) and isinstance(old.targets[0], ast.Subscript):
        place = old.targets[0]
        parts = place.slice.elts if isinstance(place.slice, ast.Tuple) else [place.slice]
        if all(isinstance(one, ast.Slice | ast.Constant) for one in parts):
            return c.ASSIGNED, f"what {_quote(place)} holds already is overwritten"
    return cause, ""


def _replaced(found: Difference, cause: str, setting: Setting) -> tuple[str, str]:
    """One expression in place of another."""
    old, new, scope = found.old, found.new, setting.scope
    if not isinstance(old, ast.expr) or not isinstance(new, ast.expr):
        return cause, ""
    functions = [function_name(one) for one in (old, new)]
    if sorted(functions) == ["mean", "sum"]:
        told = f"the {functions[0]} is taken, not the {functions[1]}"
        return (_of_mean(old) if functions[0] == "mean" and setting.is_bias else c.FACTOR), told
    if isinstance(old, ast.Tuple) and isinstance(new, ast.Tuple):
        moved = [_quote(a) for a, b in zip(old.elts, new.elts) if dumped(a) != dumped(b)]
        return cause, f"{' and '.join(moved)} are in each other's place"
    turned = _turned(old, new)
    if turned is not None:
        operand, told = turned
        return (c.FACTOR if is_number(operand, scope) else c.WRONG_VALUE), told
    told = f"{_quote(old)} stands in place of {_quote(new)}" if _is_short(old, new) else ""
    meant = [setting.assigned.get(ast.unparse(one), one) for one in (old, new)]
    if _is_one_step(meant[0], new, setting.loops):
        return c.CACHE, f"{told}: one step's value is used for all"
    said = _factors(found, old, meant[1], setting) or _factors(found, meant[0], new, setting)
    if said is not None:
        is_other = said[0] == c.TERM_MISSING and all(isinstance(one, _PLAIN) for one in (old, new))
        is_expression = isinstance(old, ast.BinOp | ast.Call)  # and others read what is right
        is_other |= is_expression and ast.unparse(new) in setting.others
        return c.WRONG_VALUE if is_other else said[0], f"{told}: {said[1]}"
    if ast.unparse(new).startswith(f"{ast.unparse(old)}.sum(") and "keepdims" in ast.unparse(new):
        return c.TERM_MISSING, f"{told}: the sum is missing"
    if setting.is_bias and isinstance(old, ast.Subscript) and function_name(new) == "sum":
        return _of_mean(new), f"{told}: the other entries are left out"
    summed = re.fullmatch(r"\(?(.*?)\)?\.sum\([^()]*\)", ast.unparse(old))
    if summed and summed[1] == ast.unparse(new) and "keepdims" not in ast.unparse(old):
        return c.WRONG_AXIS, f"{told}: the sum is too many"
    parent, _ = found.above[-1] if found.above else (None, "")
    if isinstance(parent, ast.Call) and function_name(parent) in _MOVES:
        return c.TRANSPOSED, f"{_quote(parent)} exchanges other axes"
    if cause in (c.TIME_SHIFTED, c.WRONG_VALUE) and _is_shape(found):
        return c.FACTOR, told
    if _is_index(found) and _is_reversal(old, new):
        return c.TIME_REVERSED, f"{told}: the order is reversed"
    if (_is_index(found) or _is_axis(found)) and cause == c.WRONG_VALUE:  # a place, no multiple
        return cause, told
    if _lacks_exponent(found):
        return c.FACTOR, f"{told}: the exponent is missing as a factor"
    if isinstance(new, ast.UnaryOp) and dumped(new.operand) == dumped(old):
        return c.SIGN, f"{_quote(old)} has the wrong sign"
    is_place = {ast.unparse(old), ast.unparse(new)} <= set(setting.loops)  # one index for another
    is_count = not is_place and is_number(old, scope) and is_number(new, scope)
    if cause in (c.FACTOR, c.WRONG_VALUE) and is_count:
        return (c.FACTOR if _is_linear(found, scope) else c.WRONG_VALUE), told
    return cause, told


def _is_reversal(old: ast.expr, new: ast.expr) -> bool:
    """Return whether one index counts from the end what the other counts from the beginning."""
    return any(
        isinstance(one, ast.BinOp)
        and isinstance(one.op, ast.Sub)
        and dumped(one.right) == dumped(k)
        for one, k in ((old, new), (new, old))
    )


def _lacks_exponent(found: Difference) -> bool:
    """Return whether a number is that of ``k * x**3``, not of its derivative ``3 * k * x**2``."""
    parent, name = found.above[-1] if found.above else (None, "")
    if not isinstance(parent, ast.BinOp) or not isinstance(parent.op, ast.Mult):
        return False
    power = parent.right if name == "left" else parent.left
    if not isinstance(power, ast.BinOp) or not isinstance(power.op, ast.Pow):
        return False
    values = [getattr(n, "value", None) for n in (power.right, found.old, found.new)]
    numbers = [v for v in values if isinstance(v, int | float)]
    return len(numbers) == 3 and abs((numbers[0] + 1) * numbers[1] - numbers[2]) < 1e-12


def _is_one_step(old: Any, new: Any, loops: Collection[str]) -> bool:
    """Return whether an entry stands for those of all rounds: ``hs[:, -1]``, ``hs[:, t]``."""
    if not isinstance(old, ast.Subscript) or not isinstance(new, ast.Subscript):
        return False
    names = [{n.id for n in ast.walk(one.slice) if isinstance(n, ast.Name)} for one in (old, new)]
    is_same = dumped(old.value) == dumped(new.value)
    return is_same and not names[0] and not names[1].isdisjoint(loops)


def _of_mean(old: ast.expr) -> str:
    """Over which axis a bias gradient is a mean: over N, or over T."""
    assert isinstance(old, ast.Call)
    over_first = re.search(r"axis=0\b", ast.unparse(old))
    is_summed = re.search(r"\b(sum|mean)\((axis=)?0", ast.unparse(old.func))
    return c.NOT_SUMMED_N if over_first and not is_summed else c.NOT_SUMMED_T


def _turned(old: ast.expr, new: ast.expr) -> tuple[ast.expr, str] | None:
    """The operand by which it is multiplied in place of divided, or the reverse."""
    if not isinstance(old, ast.BinOp) or not isinstance(new, ast.BinOp):
        return None
    words = {ast.Mult: "multiplied", ast.Div: "divided"}
    kinds = [words.get(type(one.op)) for one in (old, new)]
    same = dumped(old.left) == dumped(new.left) and dumped(old.right) == dumped(new.right)
    if not same or None in kinds or kinds[0] == kinds[1]:
        return None
    return old.right, f"it is {kinds[0]} by {_quote(old.right)}, not {kinds[1]}"


def _is_short(*nodes: ast.expr) -> bool:
    """Return whether expressions are short enough to be quoted beside their lines."""
    return all(len(ast.unparse(node)) <= 60 for node in nodes)


def _quote(node: ast.AST) -> str:
    return f"`{_short(node)}`"


def _short(node: ast.AST) -> str:
    return shortened(ast.unparse(node))


def _is_index(found: Difference) -> bool:
    """Return whether a node stands in the brackets of a subscript."""
    return any(isinstance(node, ast.Subscript) and name == "slice" for node, name in found.above)


def _is_condition(found: Difference) -> bool:
    """Return whether a node decides between cases: in a comparison, or in ``where``."""
    for node, name in found.above:
        if isinstance(node, ast.Compare) or name == "test":
            return True
        if isinstance(node, ast.Call) and name == "args" and function_name(node) == "where":
            return any(one is found.old for one in ast.walk(node.args[0]))
    return isinstance(found.old, ast.Compare) and isinstance(found.new, ast.Compare)


def _is_axis(found: Difference) -> bool:
    """Return whether a node is an axis that a function is given: ``expand_dims(x, (0, 1))``."""
    return [type(node) for node, _ in found.above[-2:]] == [ast.Call, ast.Tuple]


def _is_shape(found: Difference) -> bool:
    """Return whether a node is an index of a shape, as in ``x.shape[-1]``."""
    return any(
        isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(".shape")
        for node, _ in found.above
    )


def _is_linear(found: Difference, scope: Mapping[str, Any]) -> bool:
    """Return whether a multiple of a part is one of the whole term: it is in no exp or square."""
    for node, name in found.above:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return is_number(node, scope)
        if isinstance(node, ast.Call) and name != "func" and function_name(node) not in _LINEAR:
            return is_number(node, scope)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            other = node.right if name == "left" else node.left
            if isinstance(other, ast.Constant) and other.value:  # 1 - 2 y is no multiple of 1 - y
                return False
    return True


def of_node(node: ast.AST) -> bool:
    """Return whether an expression is a node of an engine: one number, but no constant."""
    return isinstance(node, ast.Attribute) and node.attr in (*DATA, *GRAD)


def is_number(node: ast.AST, scope: Mapping[str, Any]) -> bool:
    """Return whether an expression is a single number, as far as its names tell."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float)
    text = ast.unparse(node)
    if of_node(node):
        return False
    if text in scope:
        return numpy.ndim(scope[text]) == 0 or numpy.size(scope[text]) == 1
    if isinstance(node, ast.Attribute):
        return node.attr == "size"
    if isinstance(node, ast.Subscript):
        return ast.unparse(node.value).endswith(".shape")
    if isinstance(node, ast.Call):
        if function_name(node) in ("len", "slice", "range"):
            return function_name(node) == "len"
        of_module = ast.unparse(node.func).rpartition(".")[0] in ("", "np", "numpy", "math")
        return of_module and bool(node.args) and all(is_number(one, scope) for one in node.args)
    if isinstance(node, ast.BinOp):
        return is_number(node.left, scope) and is_number(node.right, scope)
    return isinstance(node, ast.UnaryOp) and is_number(node.operand, scope)


def is_slope(factor: ast.AST, product: ast.AST) -> bool:
    """Return whether a factor is like an activation's derivative: ``1 - y ** 2``, ``y (1 - y)``.

    Parameters
    ----------
    factor : ast.AST
    product : ast.AST
        That it stands in: ``1 - y`` is part of a derivative where ``y`` is a factor, too.
    """
    texts = [ast.unparse(one) for one in _operands(factor)]
    beside = {ast.unparse(one) for one in _operands(product)}
    complements = [m.group(2) for m in map(_COMPLEMENT.search, texts) if m]
    return any(map(_SLOPE.search, texts)) or any(y in beside for y in complements)


def _operands(node: ast.AST) -> Iterator[ast.AST]:
    """The factors of a product."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _operands(node.left)
        yield from _operands(node.right)
    else:
        yield node


def is_mask(node: ast.AST, scope: Mapping[str, Any]) -> bool:
    """Return whether the value of a node holds zeros and one other number."""
    value = scope.get(ast.unparse(node))
    if not isinstance(value, numpy.ndarray) or value.size > 10_000:
        return False
    return value.dtype.kind in "fib" and holds_mask(value)

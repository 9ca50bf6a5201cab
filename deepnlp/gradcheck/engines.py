"""Engines that go backward by themselves: micrograd, DeZero, TinyTorch, torch and their like.

What their functions take and give are *nodes*, which keep numbers and the gradient with respect to
them. A check hands over leaves with the numbers of an input, lets the output go backward, and reads
the gradients from the leaves.
"""

import copy
import functools
import inspect
import operator
import re
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import numpy

from deepnlp.gradcheck.names import DATA, GRAD
from deepnlp.gradcheck.walking import LIBRARIES, is_node, is_tensor, name_of, plain

_ASSIGNED = r"\s*\w+\.\w*(grad|derivative)\w*(\[.*\])? = (?!.*(ones|zeros|None$|[01](\.0)?$))"
_SAMPLES = 4  # of the numbers that a function of single numbers was given


def leaf(like: Any, value: Any, seed: float = 0.0) -> Any:
    """A node of the kind of another one, with other numbers; ``seed`` is all of its gradient."""
    if is_tensor(like):
        made = sys.modules["torch"].from_numpy(numpy.array(value))
        return made.requires_grad_() if made.is_floating_point() or made.is_complex() else made
    made, (data, grad) = copy.copy(like), _names(like)
    for name, one in list(getattr(made, "__dict__", {}).items()):
        if not is_node(one) and callable(getattr(one, "backward", None)):
            setattr(made, name, None)  # the function that made it
    is_number = isinstance(getattr(like, data), int | float)
    setattr(made, data, value.item() if is_number else value)
    before = getattr(like, grad)
    if before is not None or seed:
        setattr(made, grad, seed if is_number else numpy.full(numpy.shape(value), seed))
    return made


def gradient_of(node: Any) -> Any:
    """The gradient that a leaf has after backward."""
    grad = getattr(node, _names(node)[1])
    return plain(grad)


def go_backward(outputs: list[Any], dys: list[Any], like: Any, call: Any, alone: bool) -> None:
    """Let the outputs go backward, together; ``like`` is a leaf.

    Those of one operation ``alone`` take only its own step back, where they hold it as a function.
    """
    steps = [_step_of(y) for y in outputs] if alone else []
    if steps and all(steps):
        for y, dy, step in zip(outputs, dys, steps, strict=True):
            setattr(y, _names(y)[1], plain(leaf(y, numpy.array(dy, dtype=float))))
            call(step)
        return
    if len(outputs) > 1 and is_tensor(outputs[0]):
        given = [leaf(y, numpy.asarray(dy)).detach() for y, dy in zip(outputs, dys, strict=True)]
        sys.modules["torch"].autograd.backward(outputs, given)
        return
    y, dy = outputs[0], numpy.asarray(dys[0], dtype=float)
    if len(outputs) == 1 and _takes_gradient(y):
        given = leaf(y, dy.reshape(numpy.shape(plain(y))))
        call(y.backward, given.detach() if is_tensor(y) else plain(given))
        return
    if len(outputs) > 1 or numpy.size(plain(y)) > 1:  # backward starts from ones
        try:
            terms = [y * leaf(like, numpy.asarray(dy)) for y, dy in zip(outputs, dys, strict=True)]
            y = functools.reduce(operator.add, terms)
        except TypeError:  # it has no operators
            for y, dy in zip(reversed(outputs), reversed(dys), strict=True):
                setattr(y, name_of(GRAD, y), numpy.asarray(dy, dtype=float))
    call(y.backward)


def operation(function: Callable[..., Any], samples: list[list[Any]]) -> Any:
    """An innermost function of an engine, such as ``Value.__mul__``, as one of its ``nodes`` alone.

    It is called for each of several ``samples`` of arguments. Its leaves have the gradient ``seed``
    before backward. ``alone`` is what is checked, with its inputs.
    """
    given = [one for args in samples for one in args]
    places = [k for k, one in enumerate(given) if is_node(one)]
    count = len(samples[0])

    def run(*nodes: Any) -> Any:
        changed = dict(zip(places, nodes, strict=True))
        values = [changed.get(k, one) for k, one in enumerate(given)]
        made = [function(*values[k : k + count]) for k in range(0, len(values), count)]
        return made if len(made) > 1 else made[0]

    made: Any = run
    made.nodes, made.seed, made.function = [given[k] for k in places], 0.0, function
    made.alone = (function, samples[0]) if isinstance(function, type) else (made, made.nodes)
    made.__name__ = getattr(function, "__name__", "operation")
    named = list(inspect.signature(function).parameters.values())
    if count <= len(named) and all(one.kind in (0, 1) for one in named[:count]):
        names = [f"{named[k % count].name}{k // count or ''}" for k in places]
        kind = inspect.Parameter.POSITIONAL_ONLY
        made.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in names])
    return made


def is_operation(function: Any) -> bool:
    """Return whether an operation was taken out of an engine."""
    return hasattr(function, "nodes") and hasattr(function, "seed")


def _step_of(node: Any) -> Any:
    """The function without arguments that a node holds for its own step back; None without one."""
    functions = filter(inspect.isfunction, getattr(node, "__dict__", {}).values())
    return next((one for one in functions if not one.__code__.co_argcount), None)


def walk_of(node: Any) -> set[CodeType]:
    """The code with which a node walks back through the graph, with the functions inside."""
    code = getattr(type(node).backward, "__code__", None)
    return {one for one in (code, *getattr(code, "co_consts", ())) if isinstance(one, CodeType)}


def assignment(operation: Any) -> str:
    """The line that overwrites a gradient, quoted with its number; empty if none is found."""
    for function in (operation.function, type(operation.nodes[0]).backward):
        lines, first = inspect.getsourcelines(inspect.unwrap(function))
        for number, line in enumerate(lines, first):
            if re.match(_ASSIGNED, line):
                return f"in line {number}, `{line.strip()}`"
    return ""


def operations(run: Callable[[], Any]) -> list[Any]:
    """The innermost functions that make a node of other nodes while ``run`` runs, each once."""
    found: dict[Any, tuple[Any, list[list[Any]]]] = {}
    given: dict[FrameType, list[Any]] = {}
    outer: set[FrameType] = set()  # frames that call another such function

    def look(frame: FrameType, event: str, result: Any) -> None:
        code = frame.f_code
        if str(frame.f_globals.get("__name__")).split(".")[0] in LIBRARIES:
            return
        if event == "call":
            given[frame] = [frame.f_locals[n] for n in code.co_varnames[: code.co_argcount]]
            if code.co_flags & inspect.CO_VARARGS:
                given[frame] += frame.f_locals[code.co_varnames[code.co_argcount]]
        args = given.pop(frame, []) if event == "return" else []
        is_made = is_node(result) and any(is_node(one) and one is not result for one in args)
        if not is_made or code.co_name.startswith("<"):
            return
        if is_tensor(result):  # all else goes back by itself
            if (kind := _kind_in_autograd(frame)) is not None:
                args = args[not is_tensor(args[0]) :]  # without the context
                alone = [one.detach().clone() if is_tensor(one) else one for one in args]
                found.setdefault(kind, (kind, [alone]))
            return
        above = frame.f_back
        while above is not None:
            outer.add(above)
            above = above.f_back
        methods = [vars(kind).get(code.co_name) for kind in type(args[0]).__mro__]
        functions = [*methods, frame.f_globals.get(code.co_name)]
        function = next((f for f in functions if getattr(f, "__code__", None) is code), None)
        if function is None or frame in outer:
            return
        key = code, type(args[0])
        if function in methods and not is_node(args[0]):  # an object such as Exp()
            function = function.__get__(args.pop(0))
        samples = found.setdefault(key, (function, []))[1]
        is_number = all(numpy.size(plain(one)) == 1 for one in args if is_node(one))
        if len(samples) < (_SAMPLES if is_number and "mul" not in code.co_name else 1):
            samples.append(args)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(before)
    return [operation(*one) for one in found.values()]


def _kind_in_autograd(frame: FrameType) -> Any:
    """The class of ``torch.autograd.Function`` whose forward runs; None in other code."""
    names = frame.f_code.co_qualname.split(".")
    owners = [getattr(type(one), "_forward_cls", None) for one in frame.f_locals.values()]
    owners.append(frame.f_globals.get(names[-2] if len(names) > 1 else ""))
    functions = sys.modules["torch"].autograd.Function
    kinds = [one for one in owners if isinstance(one, type) and issubclass(one, functions)]
    return kinds[0] if kinds and names[-1] == "forward" else None


def _takes_gradient(y: Any) -> bool:
    """Return whether backward takes the gradient with respect to the output."""
    names = list(inspect.signature(y.backward).parameters)
    return bool(names) and not names[0].startswith("retain")


def _names(node: Any) -> tuple[str, str]:
    return name_of(DATA, node), name_of(GRAD, node)

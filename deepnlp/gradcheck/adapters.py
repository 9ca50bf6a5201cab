"""What people bring, as two functions: what goes into forward and backward, and what comes out.

Objects, pairs of functions, functions of a context, losses with gradients, closures, engines and
lines each become a :class:`Code`; the :class:`Caller` calls any of them in the same way, and
:func:`hand_over` gives what backward returned to the variables.
"""

import ast
import copy
import inspect
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, NamedTuple

import numpy

from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.engines import go_backward, gradient_of, is_operation, leaf
from deepnlp.gradcheck.lines import Lines
from deepnlp.gradcheck.names import CACHES, GRADIENT, OUTPUT, belongs, is_node, is_tensor, plain
from deepnlp.gradcheck.variables import Attribute, Input
from deepnlp.gradcheck.walking import leaves, mapped


class Context:
    """What functions such as those of ``torch.autograd`` keep their values in."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 32

    def save_for_backward(self, *values: Any) -> None:
        """Keep values for backward, which finds them in ``saved_tensors``."""
        self.saved_tensors = values

    @property
    def saved_values(self) -> tuple[Any, ...]:
        """The same, as MiniTorch calls them."""
        return self.saved_tensors


@dataclass
class Code:
    """The forward and the backward of somebody's code.

    Attributes
    ----------
    name : str
    layer : object
        Holds the weights; a copy.
    forward : callable
        Of the user.
    backward : callable, optional
        None where what forward gives says how: gradients beside the loss, a function behind the
        outputs, or nodes that go backward by themselves.
    node : object, optional
        A node of the engine that takes the inputs.
    is_again : bool
        Whether backward takes what forward takes, as ``gradient(x, t)`` beside ``loss(x, t)``.
    has_context : bool
        Whether both take a context first.
    lines : Lines, optional
        The lines that forward runs.
    in_torch : tuple of functions, optional
        The forward and the backward of a function of torch.
    """

    name: str
    layer: Any
    forward: Callable[..., Any]
    backward: Callable[..., Any] | None = None
    node: Any = None
    is_again: bool = False
    has_context: bool = False
    lines: Lines | None = None
    in_torch: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        firsts = {
            next(iter(inspect.signature(function).parameters), "")
            for function in (self.forward, self.backward)
            if function is not None
        }
        self.has_context = self.backward is not None and firsts <= {"ctx", "context"}


def read_code(given: Any, inputs: Any = ()) -> Code:
    """Forward and backward of a layer in any form, copied.

    Raises
    ------
    TypeError
        If they are not there.
    """
    if given is None:
        raise TypeError(say("none"))
    if isinstance(given, tuple | list):
        return _pair(given)
    if isinstance(given, type):
        return _class(given)
    if inspect.isroutine(given):
        return _function(given)
    layer = _copied(given)
    name = type(layer).__name__
    node = next((one for _, one in leaves(inputs) if is_node(one)), None) or _node_of(layer)
    if node is not None:
        return Code(name, layer, layer if callable(layer) else _method(layer, "forward"), node=node)
    if hasattr(layer, "loss") and not hasattr(layer, "forward"):
        again = getattr(layer, "gradient", None)
        return Code(name, layer, layer.loss, again, is_again=again is not None)
    is_called = not hasattr(layer, "forward") and callable(layer)
    forward = layer.__call__ if is_called else _method(layer, "forward")
    backward = getattr(layer, "backward", None)
    if backward is None and hasattr(layer, "derivative"):
        return Code(name, layer, forward, lambda dout: dout * layer.derivative())
    return Code(name, layer, forward, backward)


def code_of_lines(lines: Lines) -> Code:
    """A function of every array of which the lines compute the gradient."""

    def run(*values: Any) -> Any:
        return lines.forward(*values)

    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(f"value_{k}", kind) for k in range(len(lines.values))]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return Code("lines", object(), run, lines=lines)


def _copied(layer: Any) -> Any:
    """A copy, or an error that names the attribute of which there can be none."""
    try:
        return copy.deepcopy(layer)
    except Exception as error:
        for name, value in getattr(layer, "__dict__", {}).items():
            try:
                copy.deepcopy(value)
            except Exception:
                raise TypeError(
                    say("not copied", name=name, kind=type(layer).__name__, error=error)
                ) from error
        raise


def _pair(given: Any) -> Code:
    if len(given) != 2 or not all(map(callable, given)):
        raise TypeError(say("pair"))
    if isinstance(given[1], type) and hasattr(given[1], "apply"):
        return Code(given[1].__name__, object(), *_applying(*given))
    names = [getattr(function, "__name__", "function") for function in given]
    name = names[0].removesuffix("_forward") if "<" not in names[0] else names[1]
    return Code(name.removesuffix("_backward"), object(), *given)


def _applying(forward: Callable[..., Any], kind: Any) -> tuple[Any, Any]:
    """A function of arrays, and the ``apply`` of an object made with the tensors of its inputs."""
    kept: list[Any] = []

    @wraps(forward)
    def run(*inputs: Any) -> Any:
        kept[:] = inputs
        return forward(*map(plain, inputs))

    return run, lambda grad_output: kind(*kept).apply(grad_output)


def _function(given: Callable[..., Any]) -> Code:
    """A function, or a method of an object, which is copied."""
    name = getattr(given, "__name__", "function")
    owner = getattr(given, "__self__", None)
    if owner is None or inspect.ismodule(owner) or isinstance(owner, type):
        return Code(name, object(), given)
    layer = copy.deepcopy(owner)
    return Code(f"{type(layer).__name__}.{name}", layer, getattr(layer, name))


def _class(kind: type) -> Code:
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.autograd.Function):
        both = _method(kind, "forward"), _method(kind, "backward")
        return Code(kind.__name__, object(), _applied(kind), node=torch.zeros(()), in_torch=both)
    if isinstance(inspect.getattr_static(kind, "forward", None), staticmethod | classmethod):
        layer: Any = object.__new__(kind)
        return Code(kind.__name__, layer, _method(layer, "forward"), _method(layer, "backward"))
    try:
        taken = ", ".join(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        taken = "..."
    raise TypeError(say("class", kind=kind.__name__, taken=taken))


def _applied(kind: Any) -> Callable[..., Any]:
    """``kind.apply`` with the arguments of its forward."""

    def apply(*inputs: Any) -> Any:
        return kind.apply(*inputs)

    parameters = list(inspect.signature(kind.forward).parameters.values())
    is_old = bool(parameters) and parameters[0].name in ("ctx", "context")
    apply.__signature__ = inspect.Signature(parameters[is_old:])  # type: ignore[attr-defined]
    apply.__name__ = kind.__name__
    return apply


def _node_of(layer: Any) -> Any:
    """A node of the engine whose function this is, as those of DeZero; None of other objects."""
    call: Any = next(
        (vars(k)["__call__"] for k in type(layer).__mro__ if "__call__" in vars(k)), None
    )
    kind: Any = getattr(call, "__globals__", {}).get("Variable")
    is_function = isinstance(kind, type) and hasattr(layer, "forward")
    return kind(numpy.zeros(())) if is_function and hasattr(kind, "backward") else None


def _method(layer: Any, name: str) -> Any:
    method = getattr(layer, name, None)
    if callable(method):
        return method
    raise TypeError(say("no method", kind=type(layer).__name__, name=name))


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Way = tuple[Callable[[list[Any]], Any] | None, list[int]]
"""How backward takes gradients: each by itself (None) or all in one; of which results."""


class Caller:
    """Calls the forward and the backward of somebody's code.

    Parameters
    ----------
    code : Code
    inputs : tuple
        What is given by position.
    named : dict
        What is given by name; it follows.

    Attributes
    ----------
    input_names : list of str
    default : object
        What backward takes by default for its first gradient; ``inspect.Parameter.empty`` if
        nothing.
    ways : list of Way
        How backward may take its gradients, the likeliest first; known after the first forward.
    is_loss : bool
        Whether forward gives the gradients beside the loss, or backward takes the inputs again.
    runs : dict of str to int
        How often forward and backward ran.
    """

    def __init__(self, code: Code, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.code, self.count, self.named = code, len(inputs), tuple(named)
        self.input_names = list(code.lines.values) if code.lines else self._bind()
        self.default: Any = inspect.Parameter.empty
        self.is_loss, self.is_engine = False, code.node is not None
        self.is_walk_right = True  # the way back through the graph, as far as it is known
        self.runs = {"forward": 0, "backward": 0}
        self.call: Callable[..., Any] = call  # of the learner's backward
        self._nodes = {
            path: one for path, one in leaves([*inputs, *named.values()]) if is_node(one)
        }
        self._taken: list[inspect.Parameter] = []  # what backward takes
        self._gradients: list[inspect.Parameter] = []  # those that take a gradient
        self._others: dict[str, tuple[str, int]] = {}  # the input or result that another takes
        self._outputs: list[int] = []  # which of the results are outputs, once known
        self._wrap: Callable[[list[Any]], Any] | None = None  # backward takes all gradients in one
        self.ways: list[Way] = []  # the likeliest first
        self._context: list[Any] = []
        self._inputs: list[Any] = []
        self._results: list[Any] = []
        self._names: list[str] = []  # of the results, as far as they are known

    @property
    def takes_gradients(self) -> bool:
        """Whether backward takes gradients with respect to the outputs."""
        return bool(self._gradients)

    @property
    def gradient_names(self) -> list[str]:
        """Names of the arguments of backward that take a gradient: ``["dout"]``."""
        return [p.name for p in self._gradients]

    def __getstate__(self) -> dict[str, Any]:
        """What is copied: not what the last forward gave, such as tensors within a graph."""
        return {**vars(self), "_results": [], "_inputs": [], "_context": []}

    # --- Forward ----------------------------------------------------------------------------

    def _bind(self) -> list[str]:
        """Names of the inputs; an error if forward does not take them."""
        parameters = _parameters(self.code.forward)[self.code.has_context :]
        own = [p.name for p in parameters if p.kind not in _ANY]
        kinds = {p.kind for p in parameters}
        names = [p.name for p in parameters if p.kind in _POSITIONAL][: self.count]
        given = [*names, *self.named]
        missing = [
            p.name
            for p in parameters
            if p.name in own and p.default is p.empty and p.name not in given
        ]
        problem = ""
        if self.count > len(names) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            problem = f"{self.count} inputs were given"
        elif strange := [name for name in self.named if name not in own]:
            if inspect.Parameter.VAR_KEYWORD not in kinds:
                problem = f"it takes no {strange[0]!r}"
        elif missing:
            were = "were" if len(missing) > 1 else "was"
            how = ", ".join(f"{name}=..." for name in missing)
            problem = f"{', '.join(missing)} {were} not given: check_gradients(layer, ..., {how})"
        if problem:
            takes = f"{self.title('forward')} takes {', '.join(own) or 'no input'}"
            raise TypeError(f"check_gradients: {takes}; {problem}")
        names += [f"input {k}" for k in range(len(names), self.count)]
        return [*names, *self.named]

    def forward(self, inputs: list[Any]) -> list[Any]:
        """The outputs, without what is passed on to backward."""
        self.runs["forward"] += 1
        self._context = [Context()] if self.code.has_context else []
        self._inputs = (
            inputs if not self._nodes and self.code.node is None else self._leaves(inputs)
        )
        positional, named = self.split(self._inputs)
        try:
            result = self._call_forward([*self._context, *positional], named)
        except Exception as error:
            self._tell_in_shapes(error, "forward")
            if self._outputs or not (absent := self._absent()):
                raise
            how = ", ".join(f"{name}=..." for name in absent)
            kind = type(error).__name__
            raise TypeError(
                say("absent", title=self.title("forward"), kind=kind, error=error, how=how)
            ) from error
        if result is None:  # kept, as layer.dinputs is by backward
            result = getattr(self.code.layer, "output", None)
        is_pair = self.code.backward is not None and isinstance(result, tuple) and len(result) == 2
        if is_pair and isinstance(result[0], dict):  # the outputs, then the cache
            result = {**result[0], "cache": result[1]}
        self._results = list(_values(result))
        if not self._outputs and self._is_given_arrays():
            self.code.node = type(self._results[0])(numpy.zeros(()))
            return self.forward(inputs)
        if not self._outputs:
            self._look_at(result)
        return [plain(self._results[k]) for k in self._outputs]

    def _tell_in_shapes(self, error: Exception, method: str) -> None:
        """Raise an error that names the arrays whose shapes do not fit, if they do not."""
        from deepnlp.diagnosis.places import told_in_shapes  # needed here alone

        if told := told_in_shapes(error):
            title = self.title(method)
            raise ValueError(say("shapes", title=title, told=told, error=error)) from error

    def _is_given_arrays(self) -> bool:
        """Whether a function of nodes was given arrays, as those of DeZero may be."""
        is_alone = self.code.backward is None and self.code.node is None and not self._nodes
        return is_alone and is_node(self._results[0]) and not is_tensor(self._results[0])

    def _leaves(self, inputs: list[Any]) -> list[Any]:
        """The inputs as nodes of the engine."""
        made: Any = {}
        seed = getattr(self.code.forward, "seed", 0.0)
        for path, value in leaves(inputs):
            like = self._nodes.get(path)
            if like is None and self.code.node is not None and hasattr(value, "dtype"):
                is_ids = getattr(value.dtype, "kind", "") in ("i", "u", "b")  # or a mask
                like = self.code.node if is_tensor(self.code.node) or not is_ids else None
            made[id(value)] = value if like is None else leaf(like, value, seed)
            if hasattr(like, "requires_grad") and not is_tensor(like):
                made[id(value)].requires_grad = self.needs_gradient(path)
        return list(mapped(lambda value: made.get(id(value), value), inputs))

    def needs_gradient(self, path: tuple[Any, ...]) -> bool:
        """Whether an input needs one: a tensor may say that it does not."""
        return getattr(self._nodes.get(path), "requires_grad", True) or not any(
            getattr(node, "requires_grad", True) for node in self._nodes.values()
        )

    def _absent(self) -> list[str]:
        """Names of what forward may be given, and is None here."""
        parameters = _parameters(self.code.forward)
        return [p.name for p in parameters if p.default is None and p.name not in self.input_names]

    def split(self, inputs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Those that forward takes by position, and those by name."""
        return inputs[: self.count], dict(zip(self.named, inputs[self.count :], strict=True))

    def _call_forward(self, inputs: list[Any], named: dict[str, Any]) -> Any:
        return self.code.forward(*inputs, **named)

    # --- What the first forward shows ---------------------------------------------------------

    def _look_at(self, result: Any) -> None:
        """Decide what the outputs are and what backward takes."""
        outputs = [k for k, one in enumerate(self._results) if _is_output(one)] or [0]
        names = (
            list(result) if isinstance(result, dict) else names_returned(self.code.forward, False)
        )
        self._names = names if len(names) == len(self._results) else [""] * len(self._results)
        self.is_engine = any(map(is_node, self._results))
        backward = self._backward_of_user()
        if self.is_engine:
            nodes = [k for k, one in enumerate(self._results) if is_node(one)]
            is_number = sum(numpy.size(plain(self._results[k])) for k in nodes) == 1
            self._gradients = [] if is_number else _parameters(go_backward)[1:2]
            self.ways = [(None, nodes)]
        elif backward is None or self.code.is_again:
            self.is_loss = True
            losses = [k for k in outputs if numpy.size(self._results[k]) == 1]
            self.ways = [(None, (losses or outputs)[:1])]
        else:
            self._taken = _parameters(backward)[self.code.has_context :]
            if callable(self._results[-1]):
                outputs = [k for k in outputs if k != len(self._results) - 1]
            self._match(outputs, result)
        self.use(self.ways[0])

    def _backward_of_user(self) -> Callable[..., Any] | None:
        """Of the code; or what forward gave behind the outputs, ``return y, backward``."""
        last = self._results[-1]
        is_closure = self.code.backward is None and inspect.isroutine(last)
        return last if is_closure else self.code.backward

    def _match(self, outputs: list[int], result: Any) -> None:
        """Which arguments of backward take gradients, and what the others take."""
        takes_any = any(p.kind in _ANY for p in self._taken)
        free = [p for p in self._taken if p.kind not in _ANY]
        needed = [p.name for p in free if p.default is p.empty]
        outputs = self._match_cache(needed, outputs, isinstance(result, dict))
        self._match_others(needed, outputs)
        needed = [name for name in needed if name not in self._others]
        if len(needed) > len(outputs):
            gave = f"{len(outputs)} output{'s' if len(outputs) > 1 else ''}"
            title, taken = self.title("backward"), ", ".join(needed)
            raise TypeError(say("too much taken", title=title, taken=taken, gave=gave))
        free = [p for p in free if p.name not in self._others]
        self.default = free[0].default if free else inspect.Parameter.empty
        self._gradients = [p for p in self._taken if p in free or p.kind is p.VAR_POSITIONAL]
        named = [k for p in free for k in outputs if belongs(p.name, self._names[k])]
        losses = [k for k in outputs if numpy.size(self._results[k]) == 1]
        self.ways = [(None, outputs)]
        if not self._gradients and losses:  # probabilities beside the loss are no outputs
            self.ways = [(None, losses[:1])]
        elif len(outputs) > len(free) > 0 and len(named) == len(free) and not takes_any:
            self.ways = [(None, named)]
        elif isinstance(result, dict) and len(free) == 1:
            keys = [self._names[k] for k in outputs]
            forms: list[tuple[str, ...]] = [("{}", "d{}"), ("{}",), ("d{}",)]
            self.ways = [(_dict_of(keys, form), outputs) for form in forms]
            self.ways += [(None, outputs[:1])]
        elif len(outputs) > 1 and len(free) == 1 and not takes_any:
            self.ways = [(type(result), outputs), (None, outputs[:1])]
        elif isinstance(result, tuple | list) and len(result) == 1:
            self.ways += [(type(result), outputs)]

    def _match_cache(self, needed: list[str], outputs: list[int], by_key: bool) -> list[int]:
        """Find what takes the cache; return the outputs without it."""
        last = len(self._results) - 1
        cache = next((name for name in needed if name in CACHES), None)
        if by_key and cache in self._names:
            last = self._names.index(cache)
        elif cache is None and len(needed) == len(self._results) > 1:
            others = [name for name in needed if not GRADIENT.match(name)]
            is_cache = last not in outputs or bool(others)
            cache = (others or needed)[-1] if is_cache else None
        if cache is None or len(self._results) == 1:
            return outputs
        self._others[cache] = ("result", last)
        return [k for k in outputs if k != last] or [0]

    def _match_others(self, needed: list[str], outputs: list[int]) -> None:
        """Inputs and outputs that backward takes again, where it takes too much for gradients."""
        is_loss = all(numpy.size(self._results[k]) == 1 for k in outputs)
        for name in [n for n in needed if n not in self._others]:
            is_again = is_loss and name in self.input_names and not GRADIENT.match(name)
            if len(needed) - len(self._others) <= len(outputs) and not is_again:
                continue
            if name in self.input_names:
                self._others[name] = ("input", self.input_names.index(name))
            elif name in self._names:
                self._others[name] = ("result", self._names.index(name))
            elif OUTPUT.fullmatch(name):
                self._others[name] = ("result", 0)
        taken = [place for kind, place in self._others.values() if kind == "input"]
        left = [k for k in range(len(self.input_names)) if k not in taken]
        for name in [n for n in needed if n not in self._others and not GRADIENT.match(n)]:
            if left and len(needed) - len(self._others) > len(outputs):
                self._others[name] = ("input", left.pop(0))

    # --- Backward ---------------------------------------------------------------------------

    def backward(self, dys: list[Any]) -> Any:
        """What backward returns for gradients with respect to the outputs."""
        self.runs["backward"] += 1
        if self.is_engine:
            given = (one for _, one in leaves(self._inputs) if is_node(one))
            like = next(given, self.code.node)
            alone = is_operation(self.code.forward)
            go_backward([self._results[k] for k in self._outputs], dys, like, self.call, alone)
            return mapped(lambda one: gradient_of(one) if is_node(one) else None, self._inputs)
        backward = self._backward_of_user()
        if self.code.is_again and backward is not None:
            positional, named = self.split(self._inputs)
            return self.call(backward, *positional, **named)
        if backward is None:
            return tuple(self._results[k] for k in self._beside)
        rest: list[Any] = [self._wrap(dys)] if self._wrap is not None else list(dys)
        positional, named = list(self._context), {}
        for p in self._taken:
            if p.kind is p.VAR_POSITIONAL:
                positional += rest
                rest = []
            elif p.name not in self._others and not rest:
                break
            else:
                value = self._other(p.name) if p.name in self._others else rest.pop(0)
                if p.kind is p.KEYWORD_ONLY:
                    named[p.name] = value
                else:
                    positional.append(value)
        try:
            return self.call(backward, *positional, **named)
        except ValueError as error:
            self._tell_in_shapes(error, "backward")
            raise

    def _other(self, name: str) -> Any:
        """What an argument of backward takes that takes no gradient."""
        kind, place = self._others[name]
        return self._inputs[place] if kind == "input" else self._results[place]

    @property
    def _beside(self) -> list[int]:
        """Which of the results are no outputs."""
        return [k for k in range(len(self._results)) if k not in self._outputs]

    @property
    def names_of_gradients(self) -> list[str]:
        """The names in what backward returns, as far as its source says them."""
        backward = self._backward_of_user()
        if self.is_engine:
            return []
        return (
            [self._names[k] for k in self._beside] if backward is None else names_returned(backward)
        )

    def use(self, way: Way) -> None:
        """Choose how gradients are handed over."""
        self._wrap, self._outputs = way

    @property
    def count_of_outputs(self) -> int:
        """Number of outputs that have a gradient."""
        return len(self._outputs)

    def title(self, method: str) -> str:
        """The name of forward or backward for a message, such as ``"Affine.forward"``."""
        if type(self.code.layer) is object:
            function = self.code.forward if method == "forward" else self.code.backward
            return str(getattr(function, "__name__", self.code.name))
        return f"{self.code.name}.{method}"


def call(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function; the diagnosis evaluates it instead."""
    return function(*args, **named)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _values(result: Any) -> list[Any]:
    """What forward gave, one by one."""
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, tuple | list) else [result]


def _dict_of(keys: list[str], forms: tuple[str, ...]) -> Callable[[list[Any]], dict[str, Any]]:
    """Puts gradients into a dict, each under one or several names."""
    return lambda dys: {
        form.format(key): dy for key, dy in zip(keys, dys, strict=True) for form in forms
    }


def _is_output(value: Any) -> bool:
    """Whether it can have a gradient; true of a number that something else follows, too."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.dtype.kind in "fc"
    return not isinstance(value, tuple | list | dict | str | int | type(None)) and not callable(
        value
    )


class Part(NamedTuple):
    """A gradient that was returned; ``name`` is empty where it is not known, or a key of a dict."""

    name: str
    value: Any
    is_key: bool = False


def parts(returned: Any, names: list[str], shape: tuple[int, ...] | None) -> list[Part]:
    """The gradients that backward returned, in order.

    Parameters
    ----------
    returned : object
    names : list of str
        Under which they are returned, after the source of backward.
    shape : tuple of int, optional
        Of the only input: a list of that shape is one gradient.
    """
    if isinstance(returned, list) and shape is not None and _shape_of(returned) == shape:
        return [Part("", returned)]
    found = list(_flat(returned))
    if len(names) == len(found):
        found = [p if p.name else Part(n, p.value) for n, p in zip(names, found, strict=True)]
    return found


def hand_over(given: list[Part], inputs: list[Input], count: int, weights: list[Attribute]) -> None:
    """Give each part to the variable it belongs to, by its name or by its place.

    Parameters
    ----------
    given : list of Part
    inputs : list of Input
        Those that have a gradient, of ``count`` inputs.
    weights : list of Attribute
        Those whose gradient is nowhere else: it may be returned behind those of the inputs.
    """
    both: list[Input | Attribute] = [*inputs, *weights]
    for variable in both:
        variable.returned, variable.is_returned = None, False
    keyed = [(part, _owner(part, both)) for part in given if part.is_key]
    if any(owner is not None for _, owner in keyed):
        given = [part for part in given if not part.is_key]
        for part, owner in [*keyed, *_left_over(keyed, weights)]:
            if owner is not None:
                _give(owner, part)
    inputs = [v for v in inputs if not v.is_returned]
    weights = [v for v in weights if not v.is_returned]
    owners = [_owner(part, [*inputs, *weights]) for part in given]
    known = [v for v in owners if v is not None]
    of_weights = any(isinstance(v, Attribute) for v in known)
    others = [part for part, owner in zip(given, owners, strict=True) if owner is None]
    is_known = len({id(v) for v in known}) == len(known)
    if others:  # such as the last state, beside the gradients of all weights
        has_all = bool(weights) and {id(v) for v in weights} <= {id(v) for v in known}
        is_known = is_known and has_all and not any(map(_may_be_gradient, others))
    if is_known and (of_weights or len(known) < len(inputs)):
        for owner, part in zip(owners, given, strict=True):
            if owner is not None:
                _give(owner, part)
        return
    # One for each input, such as (None, dx) for (ids, x); or one for each that has a gradient.
    by_place = [(v, given[v.position]) for v in inputs] if len(given) >= count else []
    in_order = list(zip(inputs, given, strict=False))
    rest = given[len(inputs) :]
    if _fit(by_place) or (len(given) == count and not _fit(in_order)):
        in_order, rest = by_place, given[count:]
    elif len(given) < len(inputs) and not _fit(in_order):
        in_order = _by_shape(inputs, given) or in_order
    for variable, part in in_order:
        _give(variable, part)
    for part in rest:
        left = [v for v in weights if not v.is_returned and part.value is not None]
        alike = [v for v in left if numpy.shape(part.value) == v.get().shape]
        if owner := _owner(part, left) or next(iter(alike), None):
            _give(owner, part)


def _by_shape(inputs: list[Input], given: list[Part]) -> list[tuple[Input, Part]]:
    """Each part and the next input of its shape; nothing if there is one without."""
    left = iter(inputs)
    alike = [
        next((v for v in left if _shape_of(part.value) == v.get().shape), None) for part in given
    ]
    pairs = zip(alike, given, strict=True)
    return [(v, part) for v, part in pairs if v is not None] if None not in alike else []


def _left_over(keyed: list[tuple[Part, Any]], weights: list[Attribute]) -> list[tuple[Part, Any]]:
    """Keys of other names than the weights, such as "b" for b1, by shapes that occur once.

    A key with a number, such as "b3" beside b1 and b2, is that of another weight.
    """
    unknown = [part for part, owner in keyed if owner is None and not part.name[-1:].isdigit()]
    keys = [(_shape_of(part.value), part) for part in unknown]
    owned = {id(owner) for _, owner in keyed}
    free = [(v.get().shape, v) for v in weights if id(v) not in owned]
    seen = Counter(shape for shape, _ in [*keys, *free])
    return [(k, v) for of_k, k in keys for of_v, v in free if of_k == of_v and seen[of_k] == 2]


def _owner(part: Part, variables: Sequence[Input | Attribute]) -> Input | Attribute | None:
    """The variable that a part belongs to by its name."""
    return next((v for v in variables if belongs(part.name, v.key)), None)


def _may_be_gradient(part: Part) -> bool:
    """Whether nothing speaks against it: it has no name, or one of a gradient."""
    return not part.name or GRADIENT.match(part.name) is not None


def _give(variable: Input | Attribute, part: Part) -> None:
    variable.returned, variable.is_returned = part.value, True


def _fit(pairs: Sequence[tuple[Input, Part]]) -> bool:
    """Whether every gradient has the shape of its input."""
    return bool(pairs) and all(_shape_of(part.value) == v.get().shape for v, part in pairs)


def _flat(value: Any, name: str = "") -> Iterator[Part]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, str(key))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
    else:
        yield Part(name, value, bool(name))


def _shape_of(value: Any) -> tuple[int, ...] | None:
    try:
        return numpy.shape(value)
    except ValueError:
        return None


def names_returned(function: Callable[..., Any], nested: bool = True) -> list[str]:
    """Names in the last ``return a, (b, self.c)`` or ``return a``; empty ones for expressions.

    Where they are not nested, one for each thing that is returned, though it be a tuple.
    """
    function = inspect.unwrap(getattr(function, "__func__", function))
    if not inspect.isfunction(function):
        return []
    return _names_in(function, nested)


@cache
def _names_in(function: Callable[..., Any], nested: bool) -> list[str]:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return []
    outer = tree.body[0]
    returns = [node.value for node in _own_nodes(outer) if isinstance(node, ast.Return)]
    if not returns or returns[-1] is None:
        return []
    last = returns[-1]
    if isinstance(last, ast.Tuple | ast.List) and not nested:
        return list(map(_name_of, last.elts))
    return list(map(_name_of, _leaves(last)))


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All in the body of a function but not in functions inside."""
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield one
            yield from _own_nodes(one)


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for one in node.elts:
            yield from _leaves(one)
    else:
        yield node


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Constant):
        return _name_of(node.value)  # hs[-1] is one of hs
    return node.attr if isinstance(node, ast.Attribute) else ""

"""Calling anybody's code: what forward gives, what backward takes, and what goes between them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy

from deepnlp.gradcheck.conventions import Code, Context
from deepnlp.gradcheck.engines import (
    go_backward,
    gradient_of,
    is_node,
    is_tensor,
    leaf,
    plain,
)  # fmt: skip
from deepnlp.gradcheck.names import CACHES, GRADIENT, OUTPUT, belongs
from deepnlp.gradcheck.returned import names_returned
from deepnlp.gradcheck.walking import leaves, mapped

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
            from deepnlp.diagnosis.places import told_in_shapes  # needed here alone

            if told := told_in_shapes(error):
                title = self.title("forward")
                raise ValueError(
                    f"check_gradients: {title}: {told}; these do not fit: {error}"
                ) from error
            if self._outputs or not (absent := self._absent()):
                raise
            how = ", ".join(f"{name}=..." for name in absent)
            raise TypeError(
                f"check_gradients: {self.title('forward')} ended in {type(error).__name__}: "
                f"{error}; does it need what was not given? check_gradients(layer, ..., {how})"
            ) from error
        if result is None:  # kept, as layer.dinputs is by backward
            result = getattr(self.code.layer, "output", None)
        is_pair = self.code.backward is not None and isinstance(result, tuple) and len(result) == 2
        if is_pair and isinstance(result[0], dict):  # the outputs, then the cache
            result = {**result[0], "cache": result[1]}
        self._results = list(_values(result))
        if not self._outputs:
            self._look_at(result)
        return [plain(self._results[k]) for k in self._outputs]

    def _leaves(self, inputs: list[Any]) -> list[Any]:
        """The inputs as nodes of the engine."""
        made: Any = {}
        seed = getattr(self.code.forward, "seed", 0.0)
        for path, value in leaves(inputs):
            like = self._nodes.get(path)
            if like is None and self.code.node is not None and hasattr(value, "dtype"):
                like = self.code.node
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
            s = "s" if len(outputs) > 1 else ""
            raise TypeError(
                f"check_gradients: {self.title('backward')} takes {', '.join(needed)}; forward "
                f"gave {len(outputs)} output{s}"
            )
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
            go_backward([self._results[k] for k in self._outputs], dys, like, self.call)
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
        return self.call(backward, *positional, **named)

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

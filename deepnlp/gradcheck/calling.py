"""Calling anybody's code: what forward gives, what backward takes, and what goes between them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy

from deepnlp.gradcheck.conventions import Code, Context

CACHES = ("cache", "caches", "memory", "memo", "saved", "store", "stored", "residuals", "ctx")
"""Names of the argument of backward that takes what forward gave behind its outputs."""

OUTPUTS = ("y", "out", "output", "outputs", "a", "A", "z", "h", "result")
"""Names of an argument of backward that takes the output of forward."""

_GRADIENT = re.compile(r"d(?!ata|ict|im)|g_?[a-z]?$|grad|delta|up|err|out_?grad", re.IGNORECASE)
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

Way = tuple[type | None, list[int]]
"""How backward takes gradients: each by itself (None) or in a tuple or list; of which results."""


class Caller:
    """Calls the forward and the backward of somebody's code.

    Parameters
    ----------
    code : Code
    count : int
        Number of inputs that are given by position.
    named : tuple of str
        Names of those that are given by name; they follow.

    Attributes
    ----------
    input_names : list of str
    takes_gradients : bool
        Whether backward takes gradients with respect to the outputs.
    default : object
        What it takes by default for the first of them; ``inspect.Parameter.empty`` if nothing.
    ways : list of Way
        How backward may take its gradients, the likeliest first; known after the first forward.
    """

    def __init__(self, code: Code, count: int, named: tuple[str, ...] = ()) -> None:
        self.code, self.count, self.named = code, count, named
        self.input_names = self._bind()
        self.default: Any = inspect.Parameter.empty
        self._gradients: list[inspect.Parameter] = []  # the arguments of backward that take one
        self._others: dict[str, tuple[str, int]] = {}  # the input or result that another takes
        self._outputs: list[int] = []  # which of the results are outputs, once known
        self._wrap: Callable[[Any], Any] | None = None  # backward takes all gradients in one
        self.ways: list[Way] = []  # the likeliest first
        self._context: list[Any] = []
        self._inputs: list[Any] = []
        self._results: list[Any] = []

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
        self._context = [Context()] if self.code.has_context else []
        self._inputs = inputs
        positional, named = self.split(inputs)
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
        self._results = list(result) if isinstance(result, tuple | list) else [result]
        if not self._outputs:
            self._look_at(result)
        return [self._results[k] for k in self._outputs]

    def _absent(self) -> list[str]:
        """Names of what forward may be given, and is None here."""
        parameters = _parameters(self.code.forward)
        return [p.name for p in parameters if p.default is None and p.name not in self.input_names]

    def split(self, inputs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Those that forward takes by position, and those by name."""
        return inputs[: self.count], dict(zip(self.named, inputs[self.count :], strict=True))

    def _call_forward(self, inputs: list[Any], named: dict[str, Any]) -> Any:
        return self.code.forward(*inputs, **named)

    def _look_at(self, result: Any) -> None:
        """Decide, at the first forward, what the outputs are and what backward takes."""
        outputs = [k for k, one in enumerate(self._results) if _is_output(one)] or [0]
        if self.code.backward is None:  # the loss, then its gradients
            self.ways = [(None, outputs[:1])]
            self.use(self.ways[0])
            return
        parameters = _parameters(self.code.backward)[self.code.has_context :]
        takes_any = any(p.kind in _ANY for p in parameters)
        free = [p for p in parameters if p.kind not in _ANY]
        needed = [p.name for p in free if p.default is p.empty]
        last = len(self._results) - 1
        cache = next((name for name in needed if name in CACHES), None)
        if cache is None and len(needed) == len(self._results) > 1:
            is_cache = last not in outputs or not _GRADIENT.match(needed[-1])
            cache = needed[-1] if is_cache else None
        if cache is not None and last > 0:
            self._others[cache] = ("result", last)
            outputs = [k for k in outputs if k != last] or [0]
        for name in [n for n in needed if n not in self._others]:
            if len(needed) - len(self._others) <= len(outputs):
                break
            if name in self.input_names:
                self._others[name] = ("input", self.input_names.index(name))
            elif name in OUTPUTS:
                self._others[name] = ("result", 0)
        needed = [name for name in needed if name not in self._others]
        if len(needed) > len(outputs):
            s = "s" if len(outputs) > 1 else ""
            raise TypeError(
                f"check_gradients: {self.title('backward')} takes {', '.join(needed)}; forward "
                f"gave {len(outputs)} output{s}"
            )
        free = [p for p in free if p.name not in self._others]
        self.default = free[0].default if free else inspect.Parameter.empty
        self._gradients = [p for p in parameters if p in free or p.kind is p.VAR_POSITIONAL]
        self.ways = [(None, outputs)]
        if len(outputs) > 1 and len(free) == 1 and not takes_any:
            self.ways = [(type(result), outputs), (None, outputs[:1])]
        elif isinstance(result, tuple | list) and len(result) == 1:
            self.ways += [(type(result), outputs)]
        self.use(self.ways[0])

    # --- Backward ---------------------------------------------------------------------------

    def backward(self, dys: list[Any]) -> Any:
        """What backward returns for gradients with respect to the outputs."""
        if self.code.backward is None:
            return tuple(self._results[1:])
        left = [self._wrap(dys)] if self._wrap is not None else list(dys)
        positional, named = list(self._context), {}
        for p in self._taken:
            if p.kind is p.VAR_POSITIONAL:
                positional += left
                left = []
            elif p.name not in self._others and not left:
                break
            else:
                value = self._other(p.name) if p.name in self._others else left.pop(0)
                if p.kind is p.KEYWORD_ONLY:
                    named[p.name] = value
                else:
                    positional.append(value)
        return self.code.backward(*positional, **named)

    @cached_property
    def _taken(self) -> list[inspect.Parameter]:
        """What backward takes, without the context."""
        function = self.code.backward
        return _parameters(function)[self.code.has_context :] if function is not None else []

    def _other(self, name: str) -> Any:
        """What an argument of backward takes that takes no gradient."""
        kind, place = self._others[name]
        return self._inputs[place] if kind == "input" else self._results[place]

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


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _is_output(value: Any) -> bool:
    """Whether it can have a gradient; true of a number that something else follows, too."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.dtype.kind in "fc"
    return not isinstance(value, tuple | list | dict | str | int | type(None)) and not callable(
        value
    )

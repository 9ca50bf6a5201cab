"""Somebody's code, in whatever form, as a forward and a backward that are called in one way.

What is the same for all forms stands in :class:`Adapter`: it calls forward, tells the outputs from
the rest, and has gradients with respect to them go backward. Each form is a class that says what
differs; :mod:`deepnlp.gradcheck.forms` says which form code has.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.engines import go_backward, gradient_of, is_operation, leaf
from deepnlp.gradcheck.labels import Cost, costs_of
from deepnlp.gradcheck.lines import Lines
from deepnlp.gradcheck.names import ANSWERS, CACHES, GRADIENT, OUTPUT, RATE
from deepnlp.gradcheck.places import told_in_shapes
from deepnlp.gradcheck.translating import in_numpy
from deepnlp.gradcheck.variables import belongs, names_returned
from deepnlp.gradcheck.walking import has_gradient, is_node, is_tensor, leaves, mapped, plain

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class BackwardError(ValueError):
    """A backward of an engine that ends in shapes that do not fit: its call is not guessed."""


class Code(NamedTuple):
    """Somebody's code.

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
    in_torch : tuple of functions, optional
        The forward and the backward of a function of torch.
    """

    name: str
    layer: Any
    forward: Callable[..., Any]
    backward: Callable[..., Any] | None = None
    in_torch: tuple[Any, Any] | None = None


class Way(NamedTuple):
    """How backward takes gradients: of which results, and put into what, such as a dict.

    Where it takes labels in their place, it is said to which cost the gradients belong.
    """

    outputs: list[int]
    wrap: Callable[[list[Any]], Any] | None = None
    cost: Cost | None = None


class Adapter:
    """Calls a forward, and what goes backward from its outputs.

    A form has its own :meth:`look_at`, :meth:`go_back` and ``names_of_gradients``, and may have its
    own ``_call_forward``, whose name says to the diagnosis where the learner's code begins.

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
    gradient_names : list of str
        Names of the arguments of backward that take a gradient: ``["dout"]``.
    ways : list of Way
        How backward may take its gradients, the likeliest first; known after the first forward.
    way : Way
        How they are handed over.
    runs : dict of str to int
        How often forward and backward ran.
    """

    is_engine = False
    needs_gradients = False  # of the outputs, as there is no default for them
    is_walk_right = True  # an engine's way back through the graph, as far as it is known
    lines: Any = None  # of a script
    node: Any = None  # of an engine

    def __init__(self, code: Code, inputs: Any = (), named: Any = None) -> None:
        self.code, self.given, self.named = code, tuple(inputs), dict(named or {})
        self.input_names = self._bind()
        self.gradient_names: list[str] = []
        self.runs = {"forward": 0, "backward": 0}
        self.call: Callable[..., Any] = call  # of the learner's backward
        self.ways, self.way = list[Way](), Way([])
        self.settled = self  # the form that goes on, once forward has shown it
        self._context: list[Any] = []
        self._inputs: list[Any] = []
        self._results: list[Any] = []
        self._names: list[str] = []  # of the results, as far as they are known
        self._all: list[int] = []  # of the results all that are outputs
        self.rates: dict[str, Any] = {}  # the steps that backward may take

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy, without values of the last forward, such as tensors."""
        return {**vars(self), "_results": [], "_inputs": [], "_context": []}

    # --- What differs ---------------------------------------------------------------------------

    def _call_forward(self, inputs: list[Any]) -> Any:
        """Return the value of forward as it is."""
        positional, named = self.split(inputs)
        return self.code.forward(*self._context, *positional, **named)

    def look_at(self, result: Any, outputs: list[int]) -> list[Way]:
        """How the results that may have a gradient go backward, seen at the first forward."""
        raise NotImplementedError

    def go_back(self, dys: list[Any]) -> Any:
        """Go backward from the outputs."""
        raise NotImplementedError

    @property
    def names_of_gradients(self) -> list[str]:
        """The names in what backward returns, as far as its source says them."""
        return []

    def needs_gradient(self, path: tuple[Any, ...]) -> bool:
        """Return whether an input needs one: a tensor may say that it does not."""
        return True

    def in_numpy(self, name: str, inputs: list[Any]) -> tuple[Any, Any] | None:
        """Functions in NumPy's words and their inputs; None if they are in these already."""
        return None

    # --- What is the same -----------------------------------------------------------------------

    @property
    def takes_gradients(self) -> bool:
        """True if backward takes gradients with respect to the outputs."""
        return bool(self.gradient_names)

    @property
    def _outputs(self) -> list[int]:
        """Which of the results are outputs; none before the first forward."""
        return self.way.outputs

    @property
    def outputs_not_taken(self) -> list[str]:
        """The outputs whose gradients backward does not take."""
        left = [k for k in self._all if k not in self._outputs] if self.gradient_names else []
        return [f"output {k}" for k in left]

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters of forward."""
        return parameters_of(self.code.forward)

    def _bind(self) -> list[str]:
        """Names of the inputs; an error if forward does not take them."""
        parameters, count = self.parameters(), len(self.given)
        own = [p.name for p in parameters if p.kind not in _ANY]
        kinds = {p.kind for p in parameters}
        names = [p.name for p in parameters if p.kind in _POSITIONAL][:count]
        missing = [
            p.name
            for p in parameters
            if p.name in own and p.default is p.empty and p.name not in (*names, *self.named)
        ]
        problem = ""
        if count > len(names) and inspect.Parameter.VAR_POSITIONAL not in kinds:
            problem = f"{count} inputs were given"
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
        names += [f"input {k}" for k in range(len(names), count)]
        return [*names, *self.named]

    def split(self, inputs: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Those that forward takes by position, and those by name."""
        count = len(self.given)
        return inputs[:count], dict(zip(self.named, inputs[count:], strict=True))

    def forward(self, inputs: list[Any]) -> list[Any]:
        """The outputs, without what is passed on to backward."""
        self.runs["forward"] += 1
        self._inputs = inputs
        try:
            result = self._call_forward(inputs)
        except Exception as error:
            self._tell_in_shapes(error, "forward")
            absent = [p.name for p in self.parameters() if p.default is None]
            absent = [f"{name}=..." for name in absent if name not in self.input_names]
            if self._outputs or not absent:
                raise
            title, kind, how = self.title("forward"), type(error).__name__, ", ".join(absent)
            raise TypeError(say("absent", title=title, kind=kind, error=error, how=how)) from error
        return self.receive(result)

    def receive(self, result: Any) -> list[Any]:
        """The outputs among what forward gave."""
        if result is None:  # kept, as layer.dinputs is by backward
            result = getattr(self.code.layer, "output", None)
        self._results = values_of(result)
        if not self._outputs:
            forward, count = self.code.forward, len(self._results)
            names = list(result) if isinstance(result, dict) else names_returned(forward, False)
            self._names = names if len(names) == count else [""] * count
            outputs = [k for k, one in enumerate(self._results) if _is_output(one)] or [0]
            self.ways = self.look_at(result, outputs)
            self.way = self.ways[0]
        outputs, cost = [plain(self._results[k]) for k in self._outputs], self.way.cost
        return outputs if cost is None else [cost.function(outputs[0], cost.labels)]

    def backward(self, dys: list[Any]) -> Any:
        """Return the value of backward for gradients with respect to the outputs."""
        self.runs["backward"] += 1
        try:
            return self.go_back(dys)
        except ValueError as error:
            self._tell_in_shapes(error, "backward")
            raise

    def _tell_in_shapes(self, error: Exception, method: str) -> None:
        """Raise an error that names the arrays whose shapes do not fit, if they do not."""
        if told := told_in_shapes(error):
            kind = BackwardError if self.is_engine and method == "backward" else ValueError
            raise kind(say("shapes", title=self.title(method), told=told, error=error)) from error

    def title(self, method: str) -> str:
        """The name of forward or backward for a message, such as ``"Affine.forward"``."""
        if type(self.code.layer) is object:
            function = self.code.forward if method == "forward" else self.code.backward
            return str(getattr(function, "__name__", self.code.name))
        return f"{self.code.name}.{method}"

    def _losses(self, outputs: list[int]) -> list[int]:
        """Those of the outputs that are a single number."""
        return [k for k in outputs if numpy.size(self._results[k]) == 1]


class Beside(Adapter):
    """A function that gives the gradients beside the loss: ``loss, dW`` or ``loss, grads``."""

    def look_at(self, result: Any, outputs: list[int]) -> list[Way]:
        """One loss."""
        return [Way((self._losses(outputs) or outputs)[:1])]

    def go_back(self, dys: list[Any]) -> Any:
        """Return the gradients beside the loss."""
        return tuple(self._results[k] for k in self._beside)

    @property
    def _beside(self) -> list[int]:
        return [k for k in range(len(self._results)) if k not in self._outputs]

    @property
    def names_of_gradients(self) -> list[str]:
        """Those that forward returns beside the loss."""
        return [self._names[k] for k in self._beside]


class Again(Beside):
    """A net with ``loss(x, t)`` and ``gradient(x, t)``, which takes the inputs again."""

    def go_back(self, dys: list[Any]) -> Any:
        """Return the value of ``gradient``."""
        positional, named = self.split(self._inputs)
        return self.call(self.code.backward, *positional, **named)

    @property
    def names_of_gradients(self) -> list[str]:
        """Those that ``gradient`` returns."""
        return names_returned(self.code.backward)


class TwoFunctions(Adapter):
    """A forward, and a backward that takes gradients with respect to its outputs.

    Backward may take the cache that forward gave behind its outputs, and inputs and outputs again.
    """

    def __init__(self, code: Code, inputs: Any = (), named: Any = None) -> None:
        takes = parameters_of(code.forward), parameters_of(code.backward or code.forward)
        forwards, backwards = ({p.name for p in some} for some in takes)
        own = {n: v for n, v in (named or {}).items() if n in backwards - forwards}
        super().__init__(code, inputs, {n: v for n, v in (named or {}).items() if n not in own})
        self._taken: list[inspect.Parameter] = []  # what backward takes
        self._others: dict[str, tuple[str, int]] = {}  # the input or result that another takes
        self._own: dict[str, Any] = own  # what backward alone is given

    def own_backward(self) -> Any:
        """The learner's backward."""
        return self.code.backward

    def taken(self) -> list[inspect.Parameter]:
        """Return the parameters of backward."""
        return parameters_of(self.own_backward())

    @property
    def needs_gradients(self) -> bool:  # type: ignore[override]
        """True if backward cannot be called without a gradient: no ``dout=1``."""
        return any(p.default is p.empty for p in self._taken if p.name in self.gradient_names)

    def receive(self, result: Any) -> list[Any]:
        """The outputs; those in a dict may have a cache behind it."""
        if isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], dict):
            result = {**result[0], "cache": result[1]}
        return super().receive(result)

    def look_at(self, result: Any, outputs: list[int]) -> list[Way]:
        """Which arguments of backward take gradients, and what the others take."""
        self._taken = self.taken()
        takes_any = any(p.kind in _ANY for p in self._taken)
        free = [p for p in self._taken if p.kind not in _ANY and p.name not in self._own]
        free = [p for p in free if not _keeps_default(p, p is self._taken[0])]
        needed = [p.name for p in free if p.default is p.empty]
        if len(needed) > 1:
            self.rates |= {n: 0.0 for n in needed if RATE.fullmatch(n) and n not in self._own}
        needed = [name for name in needed if name not in self.rates]
        free = [p for p in free if p.name not in self.rates]
        outputs = self._all = self._match_cache(needed, outputs, isinstance(result, dict))
        if labels := self._labels(needed):
            self._match_others([name for name in needed if name != labels], [])
            y, given = plain(self._results[outputs[0]]), self._own.get(labels)
            costs = costs_of(self.own_backward(), labels, y, given)
            return [Way(outputs[:1], cost=cost) for cost in costs]
        self._match_others(needed, outputs)
        needed = [name for name in needed if name not in self._others]
        if len(needed) > len(outputs):
            gave = f"{len(outputs)} output{'s' if len(outputs) > 1 else ''}"
            title, taken = self.title("backward"), ", ".join(needed)
            raise TypeError(say("too much taken", title=title, taken=taken, gave=gave))
        free = [p for p in free if p.name not in self._others]
        self.gradient_names = [
            p.name for p in self._taken if p in free or p.kind is p.VAR_POSITIONAL
        ]
        named = [k for p in free for k in outputs if belongs(p.name, self._names[k])]
        if not self.gradient_names and (losses := self._losses(outputs)):
            return [Way(losses[:1])]  # probabilities beside the loss are no outputs
        if len(outputs) > len(free) > 0 and len(named) == len(free) and not takes_any:
            return [Way(named)]
        if isinstance(result, dict) and len(free) == 1:
            keys = [self._names[k] for k in outputs]
            forms: list[tuple[str, ...]] = [("{}", "d{}"), ("{}",), ("d{}",)]
            return [*(Way(outputs, _dict_of(keys, form)) for form in forms), Way(outputs[:1])]
        if len(outputs) > 1 and len(free) == 1 and not takes_any:
            return [Way(outputs, type(result)), Way(outputs[:1])]
        if isinstance(result, tuple | list) and len(result) == 1:
            return [Way(outputs), Way(outputs, type(result))]
        return [Way(outputs)]

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

    def _labels(self, needed: list[str]) -> str:
        """The argument of backward that takes labels, where none takes a gradient; or nothing."""
        known = {*self.input_names, *self._names, *self._others, *CACHES}
        names = [n for n in (*needed, *self._own) if ANSWERS.fullmatch(n) and n not in known]
        rest = [n for n in needed if n not in names and n not in self._others]
        is_clear = all(n in known or OUTPUT.fullmatch(n) for n in rest)
        is_answer = len(names) == 1 and (bool(rest) or names[0] not in ("y", "t", "ts"))
        return names[0] if is_answer and is_clear else ""

    def _match_others(self, needed: list[str], outputs: list[int]) -> None:
        """Inputs and outputs that backward takes again, where it takes too much for gradients."""
        is_loss = len(self._losses(outputs)) == len(outputs)
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

    def go_back(self, dys: list[Any]) -> Any:
        """Return the value of the learner's backward."""
        rest: list[Any] = [self.way.wrap(dys)] if self.way.wrap is not None else list(dys)
        positional, named, by_name = list(self._context), dict[str, Any](), False
        for p in self._taken:
            if p.kind is p.VAR_POSITIONAL:
                positional += rest
                rest = []
            elif not self._is_other(p.name) and not (rest and p.name in self.gradient_names):
                by_name = True  # it keeps its default
            else:
                value = self._other(p.name) if self._is_other(p.name) else rest.pop(0)
                if p.kind is p.KEYWORD_ONLY or by_name:
                    named[p.name] = value
                else:
                    positional.append(value)
        return self.call(self.own_backward(), *positional, **named)

    def _is_other(self, name: str) -> bool:
        cost = self.way.cost
        return name in (*self._others, *self._own, *self.rates) or (
            cost is not None and name == cost.name
        )

    def _other(self, name: str) -> Any:
        """Return the value for an argument of backward that takes no gradient."""
        if self.way.cost is not None and name == self.way.cost.name:
            return self.way.cost.labels.copy()
        if name in self._own or name in self.rates:
            return self._own[name] if name in self._own else self.rates[name]
        kind, place = self._others[name]
        return self._inputs[place] if kind == "input" else self._results[place]

    @property
    def names_of_gradients(self) -> list[str]:
        """Those that backward returns."""
        return names_returned(self.own_backward())


class Closure(TwoFunctions):
    """A function that gives its backward behind the outputs: ``return y, backward``."""

    def own_backward(self) -> Any:
        """Return the backward that forward gave last."""
        return self._results[-1]

    def receive(self, result: Any) -> list[Any]:
        """The outputs; a tuple before the backward is what it takes, nested in the same way."""
        self._nested, back = values_of(result)[0], values_of(result)[-1]
        if isinstance(self._nested, tuple | list) and len(result) == 2:
            result = (*(value for _, value in leaves(self._nested)), back)
        return super().receive(result)

    def look_at(self, result: Any, outputs: list[int]) -> list[Way]:
        """The outputs are before the backward."""
        ways = super().look_at(result, [k for k in outputs if k != len(self._results) - 1])
        is_nested = isinstance(self._nested, tuple | list) and len(self.gradient_names) == 1
        return [Way(way.outputs, self._nest) for way in ways[:1]] if is_nested else ways

    def _nest(self, dys: list[Any]) -> Any:
        """Gradients in the places of the outputs."""
        given = iter(dys)
        return mapped(lambda _: next(given), self._nested)


class Context:
    """The context in which functions such as those of ``torch.autograd`` keep values."""

    saved_tensors: tuple[Any, ...] = ()
    saved_values: tuple[Any, ...] = ()  # the same, as MiniTorch calls them
    needs_input_grad = (True,) * 32

    def save_for_backward(self, *values: Any) -> None:
        """Keep values for backward, which finds those of all calls in ``saved_tensors``."""
        self.saved_tensors = self.saved_values = (*self.saved_values, *values)

    def settle(self, *values: Any) -> None:
        """Take what torch is told of outputs and gradients, which makes no difference here."""

    mark_dirty = mark_non_differentiable = set_materialize_grads = settle


class WithContext(TwoFunctions):
    """A forward and a backward that take a context first, as in MiniTorch."""

    def parameters(self) -> list[inspect.Parameter]:
        """Return the parameters of forward behind the context."""
        return super().parameters()[1:]

    def _call_forward(self, inputs: list[Any]) -> Any:
        """Return the value of forward for a new context."""
        self._context = [Context()]
        return super()._call_forward(inputs)

    def taken(self) -> list[inspect.Parameter]:
        """Return the parameters of backward behind the context."""
        return super().taken()[1:]


class OfNodes(Adapter):
    """Code that takes nodes: each forward takes new ones, with the numbers of the inputs.

    Parameters
    ----------
    node : object, optional
        Of this kind are those that stand for inputs which were given as arrays.
    """

    def __init__(self, code: Code, inputs: Any = (), named: Any = None, node: Any = None) -> None:
        super().__init__(code, inputs, named)
        self.node = node
        given = [*self.given, *self.named.values()]
        self._nodes = {path: one for path, one in leaves(given) if has_gradient(one)}

    def _call_forward(self, inputs: list[Any]) -> Any:
        """Return the value of forward for nodes."""
        if self._nodes or self.node is not None:
            self._inputs = self._leaves(inputs)
        return super()._call_forward(self._inputs)

    def _leaves(self, inputs: list[Any]) -> list[Any]:
        """The inputs as nodes of the engine."""
        made: Any = {}
        seed = getattr(self.code.forward, "seed", 0.0)
        for path, value in leaves(inputs):
            like = self._nodes.get(path)
            if like is None and self.node is not None and hasattr(value, "dtype"):
                is_ids = getattr(value.dtype, "kind", "") in ("i", "u", "b")  # or a mask
                like = self.node if is_tensor(self.node) or not is_ids else None
            made[id(value)] = value if like is None else leaf(like, value, seed)
            if hasattr(like, "requires_grad") and not is_tensor(like):
                made[id(value)].requires_grad = self.needs_gradient(path)
        return list(mapped(lambda value: made.get(id(value), value), inputs))

    def needs_gradient(self, path: tuple[Any, ...]) -> bool:
        """Return whether an input needs one: a tensor may say that it does not."""
        node = self._nodes.get(path)
        is_whole = node is not None and not numpy.any(numpy.mod(plain(node), 1))  # such as ids
        return getattr(node, "requires_grad", True) or not (
            is_whole or any(getattr(node, "requires_grad", True) for node in self._nodes.values())
        )


class Nodes(OfNodes):
    """A function of nodes that go backward by themselves."""

    is_engine = True

    def look_at(self, result: Any, outputs: list[int]) -> list[Way]:
        """The outputs are nodes; a single number takes no gradient."""
        nodes = [k for k, one in enumerate(self._results) if is_node(one)]
        is_number = sum(numpy.size(plain(self._results[k])) for k in nodes) == 1
        self.gradient_names = [] if is_number else ["dys"]
        return [Way(nodes)]

    def go_back(self, dys: list[Any]) -> Any:
        """The gradients that the inputs have after a backward."""
        given = (one for _, one in leaves(self._inputs) if is_node(one))
        outputs = [self._results[k] for k in self._outputs]
        alone = is_operation(self.code.forward)
        go_backward(outputs, dys, next(given, self.node), self.call, alone)
        return mapped(lambda one: gradient_of(one) if is_node(one) else None, self._inputs)


class TorchFunction(Nodes):
    """A ``torch.autograd.Function``."""

    def go_back(self, dys: list[Any]) -> Any:
        """The gradients; by its backward alone where torch refuses their shapes."""
        try:
            return super().go_back(dys)
        except RuntimeError as error:
            if "invalid gradient" not in str(error):
                raise
        kind, context = self.code.forward.kind, Context()  # type: ignore[attr-defined]
        inputs = list(mapped(_detached, self._inputs))
        if kind.setup_context is sys.modules["torch"].autograd.Function.setup_context:
            kind.forward(context, *inputs)
        else:
            kind.setup_context(context, tuple(inputs), kind.forward(*inputs))
        pairs = zip(self._outputs, dys, strict=True)
        given = [_detached(leaf(self._results[k], numpy.asarray(dy))) for k, dy in pairs]
        return mapped(plain, kind.backward(context, *given))

    def in_numpy(self, name: str, inputs: list[Any]) -> tuple[Any, Any] | None:
        """Its forward and its backward, as functions with a context."""
        return tuple(in_numpy(self.code.in_torch or ())), tuple(inputs)


def _detached(value: Any) -> Any:
    return value.detach() if is_tensor(value) else value


class Backwards(OfNodes, TwoFunctions):
    """A forward and a backward of nodes: the gradients that go back are nodes, or arrays."""

    takes_nodes = True

    def _leaves(self, inputs: list[Any]) -> list[Any]:
        """Tensors that autograd does not follow, so that a layer that keeps some can be copied."""
        return list(mapped(_detached, super()._leaves(inputs)))

    def go_back(self, dys: list[Any]) -> Any:
        """Go backward through nodes where forward gives nodes; through arrays if it must."""
        pairs = zip(self._outputs, dys, strict=True)
        given = [self._like(self._results[k], dy) for k, dy in pairs]
        if self.takes_nodes:
            try:
                return mapped(plain, super().go_back(given))
            except TypeError:
                self.takes_nodes = False
        return mapped(plain, super().go_back(dys))

    def _like(self, output: Any, dy: Any) -> Any:
        return _detached(leaf(output, numpy.asarray(dy))) if is_node(output) else dy


class OneFunction(OfNodes):
    """A function alone: what it gives at first shows of which form it is."""

    def receive(self, result: Any) -> list[Any]:
        """The outputs that the form gives which goes on."""
        results = values_of(result)
        code, given = self.code, (self.given, self.named)
        if any(map(is_node, results)):
            node, is_given_arrays = self.node, is_node(results[0]) and not is_tensor(results[0])
            if is_given_arrays and node is None and not self._nodes:  # as those of DeZero may be
                node = type(results[0])(numpy.zeros(()))
            self.settled = Nodes(code, *given, node)
            if node is not self.node:
                return self.settled.forward(self._inputs)
        else:
            is_closure = len(results) > 1 and inspect.isroutine(results[-1])
            self.settled = (Closure if is_closure else Beside)(code, *given)
        self.settled._inputs, self.settled.runs = self._inputs, self.runs
        return self.settled.receive(result)


class Script(Beside):
    """Lines as a function of every array of which they compute the gradient."""

    def __init__(self, lines: Lines) -> None:
        def run(*values: Any) -> Any:
            return lines.forward(*values)

        self.lines = lines
        super().__init__(Code("lines", object(), run), lines.values.values())

    def _bind(self) -> list[str]:
        return list(self.lines.values)

    def in_numpy(self, name: str, inputs: list[Any]) -> tuple[Any, Any] | None:
        """The lines as a function of one of the arrays."""
        return self.lines.as_function(name), (self.lines.values[name].copy(),)


def call(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Call a function; the diagnosis evaluates it instead."""
    result = function(*args, **named)
    return tuple(result) if inspect.isgenerator(result) else result


def parameters_of(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function."""
    return list(inspect.signature(function).parameters.values())


def values_of(result: Any) -> list[Any]:
    """Return the outputs of forward, one by one."""
    if isinstance(result, dict):
        return list(result.values())
    return list(result) if isinstance(result, tuple | list) else [result]


def _dict_of(keys: list[str], forms: tuple[str, ...]) -> Callable[[list[Any]], dict[str, Any]]:
    """Puts gradients into a dict, each under one or several names."""
    return lambda dys: {
        form.format(key): dy for key, dy in zip(keys, dys, strict=True) for form in forms
    }


def _keeps_default(p: inspect.Parameter, is_first: bool) -> bool:
    """Return whether an argument of backward is a setting: text or number, not ``dh_next=0``."""
    is_setting = isinstance(p.default, bool | str | int | float)
    is_number = type(p.default) in (int, float) and p.default in (0, 1)
    is_gradient = GRADIENT.match(p.name) or (is_first and not RATE.fullmatch(p.name))
    return is_setting and not (is_number and is_gradient)


def _is_output(value: Any) -> bool:
    """Return whether an output can have a gradient, or is a number that something follows."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        return value.dtype.kind in "fc"
    return not isinstance(value, tuple | list | dict | str | int | type(None)) and not callable(
        value
    )

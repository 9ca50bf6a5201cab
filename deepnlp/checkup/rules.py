"""An update rule against the textbook's: the same gradients into both, and the weights compared.

Every rule here works entry by entry. So one array holds many experiments side by side: an entry
whose gradient is constant, one that is hit once, one that is never hit and only decays. The rule
that is checked and each rule that is known, right or with a slip, go through the same gradients for
some steps; what fits to rounding has the rule's name, or the slip's.
"""

import ast
import inspect
import itertools
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import numpy

from deepnlp.checkup.program import hushed
from deepnlp.checkup.report import Cause, Report, cause, row_of
from deepnlp.gradcheck.walking import copy_of
from deepnlp.optimizers import Optimizer
from deepnlp.parameter import Parameter

STEPS = 7
"""Updates that are compared."""

NEAR = 1e-6
"""The largest difference between two courses that count as one, relative to the updates."""

Course = list[Any]  # the weights after each step: arrays of two weights, one behind the other
Numbers = dict[str, float]

_TABLE: dict[str, Any] = tomllib.loads(files(__package__).joinpath("rules.toml").read_text("utf-8"))

RULES: dict[str, Any] = _TABLE["rules"]
"""The rules by name: their lines, numbers, spellings and slips."""


def check_optimizer(rule: Any, like: str | None = None, **numbers: float) -> Report:
    """Return whether an update rule is one of the textbook's, or by which slip it differs.

    Parameters
    ----------
    rule : object
        An optimizer: of deepnlp or torch, or one with ``update(params, grads)``, or a class that
        makes one; or a function: ``rule(w, dw, config) -> w, config``, ``rule(w, dw)``, which
        gives the new weight or writes it, or ``rule(params, grads)``.
    like : str, optional
        What it is meant to be: sgd, momentum, nesterov, adagrad, rmsprop, adam or adamw. By default
        what its name says.
    **numbers
        The numbers of the rule, such as ``lr=0.1``, where its attributes do not say them.

    Raises
    ------
    TypeError
        If it cannot be called in one of these ways.
    ValueError
        If ``like`` is no name of a rule.

    Examples
    --------
    >>> class Momentum:
    ...     def __init__(self, lr=0.1, momentum=0.9):
    ...         self.lr, self.momentum, self.v = lr, momentum, {}
    ...     def update(self, params, grads):
    ...         for key in params:
    ...             v = self.momentum * 0 - self.lr * grads[key]    # made anew
    ...             params[key] += v
    >>> check_optimizer(Momentum()).diagnosis
    'momentum is made anew'
    """
    if like is not None and like.lower() not in RULES:
        raise ValueError(f"check_optimizer: like should be one of {', '.join(RULES)}, got {like!r}")
    W0, G = probes()
    made, course, changed = drive(rule, W0, G, numbers)
    family = (like or _meant(rule, made)).lower()
    known = _Known(_numbers_of(rule, made, family) | numbers, _constants(rule))
    seen = [cause("the rule changes the gradients")] if changed else ["left alone"]
    rows = [row_of("update", _compared(course, W0, G, family, known))]
    rows.append(row_of("gradients", seen))
    taken = {"meant": family or "unknown"} | {k: f"{v:g}" for k, v in known.items()}
    return Report(getattr(rule, "__name__", type(rule).__name__), rows, taken, STEPS)


def probes() -> tuple[list[Any], list[list[Any]]]:
    """Return two weights, and for each step the gradients of both."""
    rng = numpy.random.default_rng(7)
    W0, G = [], []
    for shape in ((3, 8), (3, 8)):
        W0.append(rng.normal(size=shape))
        drawn = rng.normal(size=(STEPS, *shape))
        drawn[:, 0, 0] = 1.0
        drawn[1:, 0, 1] = 0.0
        drawn[:, 0, 2] = 0.0  # only what decays
        drawn[:, 0, 3] = [(-1.0) ** t for t in range(STEPS)]
        drawn[:, 1] *= 100.0
        drawn[:, 2] *= 1e-5
        G.append(drawn)
    return W0, [[g[t] for g in G] for t in range(STEPS)]


# --- Driving ------------------------------------------------------------------------------------


def drive(rule: Any, W0: list[Any], G: list[list[Any]], known: Numbers) -> tuple[Any, Course, bool]:
    """Return the rule as it was used, the weights after each step, and if it changes gradients.

    Parameters
    ----------
    rule : object
    W0, G : list
        Of :func:`probes`.
    known : dict
        Numbers that a function takes by name.
    """
    failed: Exception = TypeError(
        f"check_optimizer: a {type(rule).__name__} has no update(params, grads) or step()"
    )
    for begin in (_of_deepnlp, _of_torch, _of_boxes, _of_dict, _of_list, _of_alone, _of_function):
        try:
            with hushed():
                made, advance = begin(rule, [w.copy() for w in W0], known)
                course, changed = [], False
                for gradients in G:
                    given = [g.copy() for g in gradients]
                    now = advance(given)
                    pairs = zip(given, gradients, strict=True)
                    changed |= any(not numpy.array_equal(a, b) for a, b in pairs)
                    course.append(numpy.stack([numpy.array(w, dtype="float64") for w in now]))
            return made, course, changed
        except _OtherFormError:
            continue
        except Exception as error:
            failed = error
    raise TypeError(f"check_optimizer: it could not be called: {failed}") from failed


class _OtherFormError(Exception):
    """Raised where a rule has another form."""


Way = tuple[Any, Callable[[list[Any]], list[Any]]]


def _of_deepnlp(rule: Any, weights: list[Any], _: Numbers) -> Way:
    if not isinstance(rule, Optimizer):
        raise _OtherFormError
    parameters = [Parameter(w) for w in weights]
    mine = copy_of(rule)
    mine.parameters, mine._steps, mine._kept = parameters, {}, {}

    def advance(gradients: list[Any]) -> list[Any]:
        for parameter, grad in zip(parameters, gradients, strict=True):
            parameter.zero_grad()
            parameter.accumulate(grad.copy())
        mine.step()
        return [p.value for p in parameters]

    return mine, advance


def _of_torch(rule: Any, weights: list[Any], _: Numbers) -> Way:
    """An optimizer of tensors, or a class or function that makes one of them."""
    is_made = hasattr(rule, "param_groups")
    space = getattr(inspect.getmodule(rule) or rule, "__dict__", {}) | getattr(
        rule, "__globals__", {}
    )
    if not is_made and not ("torch" in space and _is_maker(rule)):
        raise _OtherFormError
    import torch

    tensors = [torch.nn.Parameter(torch.tensor(w)) for w in weights]
    if is_made:
        takes = inspect.signature(type(rule).__init__).parameters
        group = {k: v for k, v in rule.param_groups[0].items() if k in takes and k != "params"}
        mine = type(rule)(tensors, **group)
    else:
        mine = rule(tensors)

    def advance(gradients: list[Any]) -> list[Any]:
        for tensor, grad in zip(tensors, gradients, strict=True):
            tensor.grad = torch.tensor(grad)
        mine.step()
        return [t.detach().numpy().copy() for t in tensors]

    return mine, advance


def _is_maker(rule: Any) -> bool:
    """Return whether it makes an optimizer of the weights that it takes."""
    needed = [p for p in inspect.signature(rule).parameters.values() if p.default is p.empty]
    named = {p.name.lower() for p in needed[:1]}
    is_first = bool(named & {"params", "parameters", "ps", "weights"})
    return is_first and (isinstance(rule, type) or len(needed) == 1)


def _made(rule: Any) -> Any:
    return rule() if isinstance(rule, type) else copy_of(rule)


class _Box:
    """A weight with its gradient, as engines keep them."""

    def __init__(self, value: Any) -> None:
        self.data = self.value = value
        self.grad: Any = numpy.zeros_like(value)


def _of_boxes(rule: Any, weights: list[Any], _: Numbers) -> Way:
    """``step()`` of an optimizer that holds boxes."""
    boxes = [_Box(w) for w in weights]
    mine = (
        rule(boxes) if not inspect.isfunction(rule) and callable(rule) and _is_maker(rule) else None
    )
    if mine is None or inspect.isfunction(getattr(mine, "update", None)):
        raise _OtherFormError

    def advance(gradients: list[Any]) -> list[Any]:
        for box, grad in zip(boxes, gradients, strict=True):
            box.grad = grad
        mine.step()
        return [box.data for box in boxes]

    return mine, advance


def _method(mine: Any) -> Any:
    method = getattr(mine, "update", None) or getattr(mine, "step", None)
    if method is None or len(inspect.signature(method).parameters) < 2:
        raise _OtherFormError
    return method


def _of_dict(rule: Any, weights: list[Any], _: Numbers) -> Way:
    """``update(params, grads)`` with dicts."""
    mine, params = _made(rule), {"W": weights[0], "b": weights[1]}
    method = _method(mine)

    def advance(gradients: list[Any]) -> list[Any]:
        result = method(params, dict(zip(params, gradients, strict=True)))
        params.update(result if isinstance(result, dict) else {})
        return list(params.values())

    return mine, advance


def _of_list(rule: Any, weights: list[Any], _: Numbers) -> Way:
    """``update(params, grads)`` with lists."""
    mine = _made(rule)
    method = _method(mine)

    def advance(gradients: list[Any]) -> list[Any]:
        result = method(weights, gradients)
        weights[:] = result if isinstance(result, list | tuple) else weights
        return weights

    return mine, advance


def _of_alone(rule: Any, weights: list[Any], _: Numbers) -> Way:
    """``update(w, dw)``, an optimizer for each weight."""
    each = [_made(rule) for _ in weights]
    methods = [_method(one) for one in each]

    def advance(gradients: list[Any]) -> list[Any]:
        for k, grad in enumerate(gradients):
            result = methods[k](weights[k], grad)
            weights[k] = weights[k] if result is None else result
        return weights

    return each[0], advance


def _of_function(rule: Any, weights: list[Any], known: Numbers) -> Way:
    """A function of weights and gradients, with or without a state: of one weight, or of all."""
    if not callable(rule) or isinstance(rule, type):
        raise _OtherFormError
    parameters = list(inspect.signature(rule).parameters.values())
    first = parameters[0].name.lower() if parameters else ""
    is_many = first in ("params", "parameters", "weights", "ws", "ps") and "s" in (
        parameters[1].name.lower()[-1:] if len(parameters) > 1 else ""
    )
    names = _TABLE["names"]
    given = {
        p.name: known[k] for p in parameters[2:] for k in names if p.name in names[k] and k in known
    }
    states: list[Any] = [None] * len(weights)
    clock = itertools.count(1)

    def others(state: Any, t: int) -> dict[str, Any]:
        named = dict(given)
        for p in parameters[2:]:
            is_rate = p.name in names["lr"]
            if p.name in ("t", "step", "iteration", "it", "k", "n"):
                named[p.name] = t
            elif p.name not in named and (p.default is p.empty or p.default is None):
                named[p.name] = 0.1 if is_rate else state
        return named

    def advance(gradients: list[Any]) -> list[Any]:
        t = next(clock)
        needs = any(p.default is p.empty for p in parameters[2:])
        if is_many:
            states[0] = {} if states[0] is None and needs else states[0]
            result = rule(weights, gradients, **others(states[0], t))
            weights[:] = result if isinstance(result, list) else weights
            return weights
        for k, grad in enumerate(gradients):
            states[k] = {} if states[k] is None and needs else states[k]
            result = rule(weights[k], grad, **others(states[k], t))
            if isinstance(result, tuple):
                weights[k], states[k] = result[0], result[1]
            elif result is not None:
                weights[k] = result
        return weights

    return rule, advance


class _Known(dict[str, float]):
    """The numbers of a rule that are known, and of the others those that it may have.

    Parameters
    ----------
    known : dict
    written : set of float
        What stands in its source.
    """

    def __init__(self, known: Numbers, written: set[float]) -> None:
        super().__init__(known)
        self.written = written

    def choices(self, name: str) -> tuple[float, ...]:
        """The values to try of a number."""
        if name in self:
            return (self[name],)
        low, high = _TABLE["ranges"][name]
        fit = sorted(c for c in self.written if low <= c <= high)
        return ((0.0,) if name == "decay" else ()) + tuple(fit or _TABLE["guesses"][name])

    def rates(
        self,
        lines: str,
        numbers: Numbers,
        course: Course,
        start: Any,
        grads: list[Any],
        is_free: bool,
    ) -> list[float]:
        """The rates to try: the known one, else that of the first updates, if it is written."""
        if "lr" in self:
            return [self["lr"]]
        unit = _run(lines, {**numbers, "lr": 1.0}, start, grads[:2])
        steps = [(course[0] - start, unit[0] - start), (course[1] - start, unit[1] - start)]
        rate = next((r for seen, one in steps if (r := _rate(seen, one))), 0.0)
        is_written = any(abs(rate - c) <= 1e-4 * c for c in self.written if c > 0)
        return [rate] if rate and (is_free or is_written or not self.written) else []


def _rate(seen: Any, unit: Any) -> float:
    """The rate that makes one update of the other; 0 where neither moves."""
    finite = numpy.isfinite(seen) & numpy.isfinite(unit)
    size = float((unit[finite] ** 2).sum())
    return abs(float((seen * unit)[finite].sum())) / size if size else 0.0


def _constants(rule: Any) -> set[float]:
    """The numbers in the source of a rule, and what is left of them to 1."""
    try:
        source = textwrap.dedent(inspect.getsource(rule if callable(rule) else type(rule)))
        nodes = list(ast.walk(ast.parse(source)))
    except (OSError, TypeError, SyntaxError):
        return set()
    values: list[Any] = [n.value for n in nodes if isinstance(n, ast.Constant)]
    found = {float(value) for value in values if type(value) in (int, float)}
    return found | {round(1 - c, 12) for c in found}


# --- What it is meant to be ---------------------------------------------------------------------


def _meant(rule: Any, made: Any) -> str:
    """The rule that a name speaks of; empty where it speaks of none."""
    named = [getattr(rule, "__name__", ""), type(made).__name__, type(made).__module__]
    text = " ".join(named[:2]).lower().replace("_", "")
    order = (
        "adamw",
        "adam",
        "rmsprop",
        "adagrad",
        "nesterov",
        "nag",
        "momentum",
        "sgd",
        "gradientdescent",
    )
    hit = next((name for name in order if name in text), "")
    hit = {"nag": "nesterov", "gradientdescent": "sgd"}.get(hit, hit)
    group = (getattr(made, "param_groups", None) or [{}])[0]
    momentum = group.get("momentum", getattr(made, "momentum", 0)) if made is not None else 0
    if hit == "sgd" and momentum:
        hit = "nesterov" if group.get("nesterov", getattr(made, "nesterov", False)) else "momentum"
    return hit


def _numbers_of(rule: Any, made: Any, family: str) -> Numbers:
    """The numbers that attributes, groups and defaults say."""
    groups = getattr(made, "param_groups", None)
    held: dict[str, Any] = dict(groups[0]) if groups else dict(getattr(made, "__dict__", {}))
    if inspect.isroutine(rule):
        held = {p.name: p.default for p in inspect.signature(rule).parameters.values()}
    known: Numbers = {}
    betas = held.get("betas")
    if isinstance(betas, tuple | list) and len(betas) == 2:
        known |= {"beta1": float(betas[0]), "beta2": float(betas[1])}
    for name, spelled in _TABLE["names"].items():
        for word in spelled:
            value = held.get(word, held.get(f"_{word}"))
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in known:
                known[name] = float(value)
    if family == "rmsprop" and known.get("decay", 0.0) > 0.5:
        del known["decay"]  # it is rho
    return {name: value for name, value in known.items() if name == "lr" or _has(family, name)}


def _has(family: str, name: str) -> bool:
    return not family or name in RULES[family]["numbers"]


# --- Comparing ----------------------------------------------------------------------------------


def _compared(
    course: Course, W0: list[Any], G: list[Any], family: str, known: _Known
) -> Iterator[Cause | str]:
    """The name of the rule or of the slip whose course this is."""
    start, grads = numpy.stack(W0), [numpy.stack(g) for g in G]
    if all(numpy.array_equal(w, start) for w in course):
        yield cause("the rule changes no weight")
        return
    if known.get("beta1", 0.0) > known.get("beta2", 1.0):
        yield cause("betas exchanged", rule=family)
        return
    families = [family] if family else list(RULES)
    others = [one for one in RULES if one not in families]
    tries = [(one, "", lines) for one in families for lines in _spellings(one)]
    tries += [(one, slip, lines) for one in families for slip, lines in _slips(one)]
    tries += [(one, "", lines) for one in others for lines in _spellings(one)]
    with numpy.errstate(all="ignore"):
        for is_free in (False, True):  # a rate that stands nowhere in the source comes last
            for one, slip, lines in tries[: len(tries) if not is_free else len(families) * 3]:
                numbers = _fits(one, lines, course, start, grads, known, is_free)
                if numbers is None:
                    continue
                if numbers.get("mu", 0.0) >= 1:
                    yield cause("momentum is one or more", mu=numbers["mu"])
                elif slip:
                    yield cause(slip, slip != "decay is not times the rate", rule=one)
                elif one in families:
                    yield f"{one}, as in the textbook"
                else:
                    yield cause("it is another rule", meant=family, rule=one)
                return
    finite = [bool(numpy.isfinite(w).all()) for w in course]
    if not all(finite):
        yield cause("the rule gives no number", step=finite.index(False) + 1)
        return
    first, moved = course[0] - start, numpy.abs(grads[0]) > 0
    if float((numpy.sign(first) == numpy.sign(grads[0]))[moved].mean()) > 0.9:
        yield cause("the rule goes uphill", rule=family or "rule")
    else:
        yield cause("the rule differs from the textbook", bool(family), rule=family or "any rule")


def _spellings(family: str) -> list[str]:
    """The lines of a rule, in each right spelling."""
    rule = RULES[family]
    return [rule["lines"], *(_edited(rule["lines"], edit) for edit in rule.get("spellings", ()))]


def _slips(family: str) -> Iterator[tuple[str, str]]:
    """Each slip of a rule with its lines, those of the rule itself first."""
    rule = RULES[family]
    own = rule.get("slips", {}) | RULES.get(rule.get("like", ""), {}).get("slips", {})
    seen = {*_spellings(family)}
    for name, edits in [*own.items(), *_TABLE["slips"].items()]:
        for edit in edits:
            for spelling in _spellings(family):
                lines = _edited(spelling, edit)
                if lines not in seen:
                    seen.add(lines)
                    yield name, lines


def _edited(lines: str, edit: list[str]) -> str:
    """Lines with a text replaced by another, in pairs; as they are where a text is not there."""
    made = lines
    if len(edit) % 2:
        made, edit = "\n# shared" + made, edit[1:]
    for old, new in zip(edit[::2], edit[1::2], strict=True):
        if old == "@":  # in front
            made = "\n" + new + made
        elif old == "@@":  # behind
            made += new
        elif old not in made:
            return lines
        else:
            made = made.replace(old, new)
    return made


def _fits(
    family: str,
    lines: str,
    course: Course,
    start: Any,
    grads: list[Any],
    known: _Known,
    is_free: bool,
) -> Numbers | None:
    """The numbers with which lines take this course; None if there are none."""
    names = RULES[family]["numbers"]
    for values in itertools.product(*(known.choices(name) for name in names)):
        numbers = dict(zip(names, values, strict=True))
        for lr in known.rates(lines, numbers, course, start, grads, is_free):
            chosen = {**numbers, "lr": lr}
            if _near(_run(lines, chosen, start, grads[:2]), course, start) and _near(
                _run(lines, chosen, start, grads), course, start
            ):
                return chosen
    return None


@cache
def _compiled(lines: str) -> Any:
    return compile(lines, "<rule>", "exec")


def _run(lines: str, numbers: Numbers, start: Any, grads: list[Any]) -> Course:
    """The weights after each step of some lines."""
    code, zeros = _compiled(lines), numpy.zeros_like(start)
    parts = [[0], [1]] if "# shared" in lines or "count" in lines else [[0, 1]]
    state = dict.fromkeys(("m", "v", "s", "g_before", "old_m", "old_v"), zeros)
    shared = dict.fromkeys(state, zeros[:1])
    spaces = (
        [shared] * 2
        if "# shared" in lines
        else [dict(shared) if len(parts) > 1 else state for _ in parts]
    )
    W, course, count = start.copy(), [], 0
    only = numpy.array([1.0, 0.0]).reshape(2, 1, 1)
    for t, g in enumerate(grads, 1):
        for part, space in zip(parts, spaces, strict=True):
            count += 1
            space.update(numbers, **_FUNCTIONS)
            masks = {"only_first": only[part], "only_last": only[::-1][part]}
            space.update(masks, W=W[part], g=g[part], t=t, count=count)
            exec(code, space)
            W[part] = space["W"]
        course.append(W.copy())
    return course


def _norm(x: Any, axes: Any = (1, 2)) -> Any:
    return numpy.sqrt((x * x).sum(axis=axes, keepdims=True))


_FUNCTIONS: dict[str, Any] = {
    "sqrt": numpy.sqrt,
    "sign": numpy.sign,
    "norm": _norm,
    "norm_of_all": lambda x: _norm(x, None),
    "mean": lambda x: x.mean(axis=(1, 2), keepdims=True) + 0 * x,
    "total": lambda x: x.sum(axis=(1, 2), keepdims=True) + 0 * x,
}


def _near(made: Course, course: Course, start: Any) -> bool:
    """Return whether two courses are one, to rounding; nan where the other has none either."""
    before_made = before = start
    for a, b in zip(made, course, strict=False):
        finite = numpy.isfinite(a) & numpy.isfinite(b)
        if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)) or not finite.any():
            return False
        da, db = (a - before_made)[finite], (b - before)[finite]
        size = numpy.abs(db) + 1e-9 * numpy.abs(db).max() + 1e-13
        if not bool((numpy.abs(da - db) <= NEAR * size + 1e-14 * numpy.abs(b[finite])).all()):
            return False
        before_made, before = numpy.where(finite, a, 0.0), numpy.where(finite, b, 0.0)
    return True

"""An update rule against the textbook's: the same gradients into both, and the weights compared.

Every rule here works entry by entry. So one array holds many experiments side by side: an entry
whose gradient is constant, one that is hit once, one that is never hit and only decays. The rule
that is checked and each rule that is known, right or with a slip, go through the same gradients for
some steps; what fits to rounding has the rule's name, or the slip's.
"""

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from deepnlp.checkup.program import hushed
from deepnlp.checkup.report import Cause, Report, Row, cause, row_of
from deepnlp.gradcheck.walking import copy_of, is_tensor
from deepnlp.optimizers import Optimizer
from deepnlp.parameter import Parameter

STEPS = 7
"""Updates that are compared."""

NEAR = 1e-6
"""The largest difference between two courses that count as one, relative to the updates."""

Course = list[Any]  # the weights after each step: arrays of two weights, one behind the other
Numbers = dict[str, float]

NAMES = {
    "lr": ("lr", "learning_rate", "eta", "alpha", "step_size"),
    "momentum": ("momentum", "mu", "rho", "beta", "gamma", "mom"),
    "beta1": ("beta1", "b1", "beta_1", "rho1"),
    "beta2": ("beta2", "b2", "beta_2", "rho2"),
    "rho": ("decay_rate", "rho", "alpha", "beta", "gamma", "decay"),
    "eps": ("eps", "epsilon", "e"),
    "decay": ("weight_decay", "wd", "lambd", "decay", "l2", "reg", "lambda_"),
}
"""How the numbers of a rule are called."""

GUESSES: dict[str, tuple[float, ...]] = {
    "momentum": (0.9, 0.5, 0.99, 0.95, 0.8),
    "beta1": (0.9, 0.95, 0.8, 0.5),
    "beta2": (0.999, 0.99, 0.95, 0.98, 0.9),
    "rho": (0.99, 0.9, 0.95, 0.999),
    "eps": (1e-8, 1e-7, 1e-6, 1e-10, 1e-5, 1e-12, 1e-3),
    "decay": (0.0, 0.01, 0.1, 1e-3, 1e-4, 0.05, 5e-4, 1e-2),
}
"""What is tried of numbers that are not known."""

FAMILIES = {
    "sgd": "decay",
    "momentum": "momentum decay",
    "nesterov": "momentum decay",
    "adagrad": "eps decay",
    "rmsprop": "rho eps decay",
    "adam": "beta1 beta2 eps decay",
    "adamw": "beta1 beta2 eps decay",
}
"""The rules, each with the numbers that it has beside the rate."""


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
    if like is not None and like.lower() not in FAMILIES:
        raise ValueError(
            f"check_optimizer: like should be one of {', '.join(FAMILIES)}, got {like!r}"
        )
    made = rule() if isinstance(rule, type) and not _is_torch_kind(rule) else rule
    family = (like or _meant(rule, made)).lower()
    known = _numbers_of(rule, made) | numbers
    name = getattr(rule, "__name__", type(rule).__name__)
    W0, G = probes()
    course, changed = drive(made, W0, G, known)
    rows = [row_of("update", _compared(course, W0, G, family, known))]
    rows.append(
        row_of(
            "gradients", [cause("the rule changes the gradients")] if changed else ["left alone"]
        )
    )
    taken = {"meant": family or "unknown"} | {k: f"{v:g}" for k, v in known.items()}
    return Report(name, [Row(r.name, r.verdict, r.note, r.causes) for r in rows], taken, STEPS)


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


def drive(rule: Any, W0: list[Any], G: list[list[Any]], known: Numbers) -> tuple[Course, bool]:
    """Return the weights after each step, and whether the rule changes its gradients.

    Parameters
    ----------
    rule : object
    W0, G : list
        Of :func:`probes`.
    known : dict
        Numbers that a function takes by name.
    """
    advance = _advance_of(rule, [w.copy() for w in W0], known)
    course, changed = [], False
    with hushed():
        for gradients in G:
            given = [g.copy() for g in gradients]
            now = advance(given)
            changed |= any(
                not numpy.array_equal(a, b) for a, b in zip(given, gradients, strict=True)
            )
            course.append(numpy.stack([numpy.array(w, dtype="float64") for w in now]))
    return course, changed


def _advance_of(rule: Any, weights: list[Any], known: Numbers) -> Callable[[list[Any]], list[Any]]:
    """A function of gradients that makes a step and gives the weights."""
    if isinstance(rule, Optimizer):
        return _of_deepnlp(rule, weights)
    if hasattr(rule, "param_groups") or _is_torch_kind(rule):
        return _of_torch(rule, weights)
    if hasattr(rule, "update") and not inspect.isfunction(rule):
        return _of_book(copy_of(rule), weights)
    if hasattr(rule, "step") and not inspect.isfunction(rule):
        return _of_boxes(copy_of(rule), weights)
    if callable(rule):
        return _of_function(rule, weights, known)
    raise TypeError(
        f"check_optimizer: a {type(rule).__name__} has no update(params, grads) or step()"
    )


def _of_deepnlp(rule: Optimizer, weights: list[Any]) -> Callable[[list[Any]], list[Any]]:
    parameters = [Parameter(w) for w in weights]
    mine = copy_of(rule)
    mine.parameters, mine._steps, mine._kept = parameters, {}, {}

    def advance(gradients: list[Any]) -> list[Any]:
        for parameter, grad in zip(parameters, gradients, strict=True):
            parameter.zero_grad()
            parameter.accumulate(grad.copy())
        mine.step()
        return [p.value for p in parameters]

    return advance


def _of_torch(rule: Any, weights: list[Any]) -> Callable[[list[Any]], list[Any]]:
    import torch

    tensors = [torch.nn.Parameter(torch.tensor(w)) for w in weights]
    if isinstance(rule, type):
        mine = rule(tensors)
    else:
        group = {k: v for k, v in rule.param_groups[0].items() if k in rule.defaults}
        takes = inspect.signature(type(rule).__init__).parameters
        mine = type(rule)(tensors, **{k: v for k, v in group.items() if k in takes})

    def advance(gradients: list[Any]) -> list[Any]:
        for tensor, grad in zip(tensors, gradients, strict=True):
            tensor.grad = torch.tensor(grad)
        mine.step()
        return [t.detach().numpy().copy() for t in tensors]

    return advance


def _of_book(mine: Any, weights: list[Any]) -> Callable[[list[Any]], list[Any]]:
    """``update(params, grads)`` with dicts or lists, or ``update(w, dw)`` of one weight."""
    names = list(inspect.signature(mine.update).parameters)
    is_alone = len(names) > 1 and names[0].lower() in ("w", "param", "weight", "theta", "p", "x")
    params: Any = {"W": weights[0], "b": weights[1]}
    state: dict[str, Any] = {"form": dict}

    def advance(gradients: list[Any]) -> list[Any]:
        nonlocal params
        if is_alone:
            for k, grad in enumerate(gradients):
                result = mine.update(weights[k], grad)
                weights[k] = weights[k] if result is None else result
            return weights
        try:
            result = mine.update(
                params,
                dict(zip(params, gradients, strict=True)) if state["form"] is dict else gradients,
            )
        except (TypeError, KeyError, IndexError, AttributeError):
            if state["form"] is list:
                raise
            state["form"], params = list, weights
            return advance(gradients)
        params = params if result is None else result
        return list(params.values()) if isinstance(params, dict) else list(params)

    return advance


class _Box:
    """A weight with its gradient, as engines keep them."""

    def __init__(self, value: Any) -> None:
        self.data = self.value = value
        self.grad: Any = numpy.zeros_like(value)


def _of_boxes(mine: Any, weights: list[Any]) -> Callable[[list[Any]], list[Any]]:
    """``step()`` of an optimizer that holds boxes, or ``step(params, grads)``."""
    if len(inspect.signature(mine.step).parameters) >= 2:
        mine.update = mine.step
        return _of_book(mine, weights)
    boxes = [_Box(w) for w in weights]
    for name in ("params", "parameters", "weights"):
        if hasattr(mine, name):
            setattr(mine, name, boxes)
    for name, value in vars(mine).items():  # states with an array for each weight
        if (
            isinstance(value, list)
            and value is not boxes
            and all(hasattr(v, "shape") for v in value)
        ):
            setattr(mine, name, [numpy.zeros_like(w) for w in weights])

    def advance(gradients: list[Any]) -> list[Any]:
        for box, grad in zip(boxes, gradients, strict=True):
            box.grad = grad
        mine.step()
        return [
            b.data if b.data is not b.value or b.data is w else b.value
            for b, w in zip(boxes, weights, strict=True)
        ]

    return advance


def _of_function(rule: Any, weights: list[Any], known: Numbers) -> Callable[[list[Any]], list[Any]]:
    """A function of a weight and its gradient, with or without a state."""
    parameters = list(inspect.signature(rule).parameters.values())
    needed = [p.name for p in parameters if p.default is p.empty and p.kind in (0, 1)]
    states: list[Any] = [None for _ in weights]
    by_name = {
        p.name: known[k]
        for k, names in NAMES.items()
        for p in parameters[2:]
        if p.name in names and k in known
    }
    first = needed[0].lower() if needed else ""
    is_many = first in ("params", "parameters", "weights", "ws")
    clock = {"t": 0}

    def others(state: Any) -> dict[str, Any]:
        given = dict(by_name)
        for p in parameters[2:]:
            if p.name in given:
                continue
            if p.name in ("t", "step", "iteration", "it", "k"):
                given[p.name] = clock["t"]
            elif p.name in ("config", "state", "cache", "optim_config", "memory", "st"):
                given[p.name] = state
            elif p.name in ("lr", "learning_rate", "eta", "alpha") and p.default is p.empty:
                given[p.name] = 0.1
        return given

    def advance(gradients: list[Any]) -> list[Any]:
        clock["t"] += 1
        if is_many:
            shared = states[0] if states[0] is not None else {}
            states[0] = shared
            result = rule(weights, gradients, **others(shared))
            pair = (
                result[0] if isinstance(result, tuple) and isinstance(result[0], list) else result
            )
            weights[:] = weights if pair is None else list(pair)
            return weights
        for k, grad in enumerate(gradients):
            state = states[k]
            if state is None and not any(p.default is None for p in parameters[2:]):
                state = states[k] = {}
            result = rule(weights[k], grad, **others(state))
            if isinstance(result, tuple):
                weights[k], states[k] = result[0], result[1]
            elif result is not None:
                weights[k] = result
        return weights

    return advance


def _is_torch_kind(rule: Any) -> bool:
    return isinstance(rule, type) and any(
        k.__module__.startswith("torch.optim") for k in rule.__mro__
    )


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


def _numbers_of(rule: Any, made: Any) -> Numbers:
    """The numbers that attributes, groups and defaults say."""
    groups = getattr(made, "param_groups", None)
    held: dict[str, Any] = dict(groups[0]) if groups else dict(getattr(made, "__dict__", {}))
    if inspect.isroutine(rule):
        held = {p.name: p.default for p in inspect.signature(rule).parameters.values()}
    known: Numbers = {}
    betas = held.get("betas")
    if isinstance(betas, tuple | list) and len(betas) == 2:
        known |= {"beta1": float(betas[0]), "beta2": float(betas[1])}
    for name, spelled in NAMES.items():
        for word in spelled:
            value = held.get(word, held.get(f"_{word}"))
            if isinstance(value, int | float) and not isinstance(value, bool) and name not in known:
                known[name] = float(value)
    return known


# --- Comparing ----------------------------------------------------------------------------------


def _compared(
    course: Course, W0: list[Any], G: list[Any], family: str, known: Numbers
) -> Iterator[Cause | str]:
    """The name of the rule or of the slip whose course this is."""
    start, grads = numpy.stack(W0), [numpy.stack(g) for g in G]
    if all(numpy.array_equal(w, start) for w in course):
        yield cause("the rule changes no weight")
        return
    families = [family] if family else list(FAMILIES)
    with numpy.errstate(all="ignore"):
        for one in families:
            if _fits(one, "", course, start, grads, known):
                yield f"{one}, as in the textbook"
                return
        for one, slip in itertools.chain(
            ((one, slip) for one in families for slip in SLIPS[one]),
            ((one, "") for one in FAMILIES if family and one != family),
        ):
            if _fits(one, slip, course, start, grads, known):
                if slip:
                    yield cause(slip, rule=one)
                else:
                    yield cause("it is another rule", meant=family, rule=one)
                return
    finite = [bool(numpy.isfinite(w).all()) for w in course]
    if not all(finite):
        yield cause("the rule gives no number", step=finite.index(False) + 1)
        return
    first = course[0] - start
    moved = numpy.abs(grads[0]) > 0
    if float((numpy.sign(first) == numpy.sign(grads[0]))[moved].mean()) > 0.9:
        yield cause("the rule goes uphill", rule=family or "rule")
    elif family:
        yield cause(
            "the rule differs from the textbook",
            rule=family,
            step=_first_off(family, course, start, grads, known),
        )
    else:
        yield cause("no rule that is known", False)


def _first_off(family: str, course: Course, start: Any, grads: list[Any], known: Numbers) -> int:
    """The first step at which the rule leaves the textbook's."""
    for count in range(1, STEPS + 1):
        if not _fits(family, "", course[:count], start, grads[:count], known):
            return count
    return STEPS


def _fits(
    family: str, slip: str, course: Course, start: Any, grads: list[Any], known: Numbers
) -> bool:
    """Whether a rule with a slip takes this course, with the numbers that are known, or with others."""
    names = FAMILIES[family].split()
    choices = []
    for name in names:
        given = known.get(name)
        others = GUESSES[name] if given is None else (given,)
        choices.append(others if name != "decay" or given is None else (given,))
    for values in itertools.product(*choices):
        chosen = dict(zip(names, values, strict=True))
        for form in FORMS.get(family, ("",)):
            with_unit = _course(family, slip, form, {**chosen, "lr": 1.0}, start, grads[:1])
            rates = (
                [known["lr"]] if "lr" in known else _rates(course[0] - start, with_unit[0] - start)
            )
            for lr in rates:
                made = _course(family, slip, form, {**chosen, "lr": lr}, start, grads)
                if _near(made, course, start):
                    return True
    return False


def _rates(seen: Any, unit: Any) -> list[float]:
    """The rate that makes one first update of the other."""
    size = float((unit * unit).sum())
    if not size or not math.isfinite(size) or not numpy.isfinite(seen).all():
        return []
    return [abs(float((seen * unit).sum() / size))]


def _near(made: Course, course: Course, start: Any) -> bool:
    before_made, before = start, start
    for a, b in zip(made, course, strict=True):
        da, db = a - before_made, b - before
        if not numpy.isfinite(da).all() and not numpy.isfinite(db).all():
            return bool(numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)))
        size = numpy.abs(db) + 1e-9 * numpy.abs(db).max() + 1e-13
        if not bool((numpy.abs(da - db) <= NEAR * size + 1e-14 * numpy.abs(b)).all()):
            return False
        before_made, before = a, b
    return True


# --- The rules ----------------------------------------------------------------------------------

FORMS = {
    "momentum": ("", "averaged", "rate outside"),
    "nesterov": ("", "rate outside", "book"),
    "adagrad": ("", "eps inside"),
    "rmsprop": ("", "eps inside"),
    "adam": ("", "eps hat"),
    "adamw": ("", "not times the rate"),
}
"""Right spellings of a rule that differ in numbers."""

_DECAY = (
    "decay with the wrong sign in the rule",
    "decay is left out",
    "decay comes behind the update alone",
)
_ANY = (
    "the rule goes uphill",
    "the rate is not used",
    "the rate is used twice",
    "the state is shared by all weights",
)

SLIPS: dict[str, tuple[str, ...]] = {
    "sgd": (*_ANY[:3], *_DECAY[:2], "the gradient is squared"),
    "momentum": (
        "momentum is made anew", *_ANY, "momentum times the gradient", "the old velocity is used",
        "momentum with the wrong sign", "momentum twice", *_DECAY[:2],
    ),
    "nesterov": (
        "nesterov without looking ahead", "momentum is made anew", *_ANY, "the new velocity in place of the old",
        "momentum with the wrong sign", "the old velocity is used", *_DECAY[:2],
    ),
    "adagrad": (
        "the square is missing", "the root is missing", "squares are not added up", *_ANY,
        "squares are added behind the update", "eps is added to the update", *_DECAY[:2],
    ),
    "rmsprop": (
        "the square is missing", "the root is missing", "squares do not decay", "the factor 1 - rho is missing",
        "rho and 1 - rho exchanged", "squares are not added up", *_ANY, "squares are added behind the update",
        "eps is added to the update", *_DECAY[:2],
    ),
    "adam": (
        "bias correction is missing", "bias correction of m is missing", "bias correction of v is missing",
        "t is not counted", "t begins too late", "t begins at zero", "t is counted for each weight",
        "betas exchanged", "the square is missing", "the root is missing", "eps inside the root",
        "bias correction is stored", "bias correction multiplies", "the factor 1 - beta is missing",
        "moments are made anew", "v from m in place of g", "the old moments are used", *_ANY,
        "eps is added to the update", "v in place of m", "betas to the power of one", "m is not used", *_DECAY[:2],
    ),
}  # fmt: skip
SLIPS["adamw"] = ("decay goes into the gradient", *SLIPS["adam"], _DECAY[2])
"""The mistakes that are tried for each rule, the likelier first."""


def _course(family: str, slip: str, form: str, n: Numbers, start: Any, grads: list[Any]) -> Course:
    """The weights after each step of a rule, with a slip."""
    if slip in ("the state is shared by all weights", "t is counted for each weight"):
        return _one_by_one(family, slip, form, n, start, grads)
    W, state, course = start.copy(), dict[str, Any](), []
    for t, g in enumerate(grads, 1):
        W = W + _update(family, slip, form, n, W, g, t, state)
        course.append(W)
    return course


def _one_by_one(
    family: str, slip: str, form: str, n: Numbers, start: Any, grads: list[Any]
) -> Course:
    """The same where one weight follows the other with one state, or with one count of steps."""
    W, course, count = start.copy(), [], 0
    shared = dict[str, Any]()
    states = [shared if slip.startswith("the state") else dict[str, Any]() for _ in W]
    for t, g in enumerate(grads, 1):
        for k in range(len(W)):
            count += 1
            clock = count if slip.startswith("t is") else t
            W[k] = W[k] + _update(family, "", form, n, W[k], g[k], clock, states[k])
        course.append(W.copy())
    return course


def _update(
    family: str, slip: str, form: str, n: Numbers, W: Any, g: Any, t: int, s: dict[str, Any]
) -> Any:
    """The change of a weight, by the formula of a rule or by what a slip makes of it."""
    lr, decay = n["lr"], n.get("decay", 0.0)
    rate = {"the rate is not used": 1.0, "the rate is used twice": lr * lr}.get(slip, lr)
    rate = -rate if slip == "the rule goes uphill" else rate
    decay = {_DECAY[0]: -decay, _DECAY[1]: 0.0}.get(slip, decay)
    apart = 0.0
    if family == "adamw" and slip != "decay goes into the gradient":
        apart = decay * W * (1.0 if form == "not times the rate" else lr)
        if slip == _DECAY[2]:
            apart = apart * 0.0
    else:
        g = g + decay * W
    if slip == "the gradient is squared":
        g = g * g
    if family in ("sgd", "momentum", "nesterov"):
        return _of_velocity(family, slip, form, n, rate, g, s) - apart
    return _of_squares(family, slip, form, n, rate, g, t, s) - apart


def _of_velocity(
    family: str, slip: str, form: str, n: Numbers, rate: float, g: Any, s: dict[str, Any]
) -> Any:
    """SGD, with or without momentum."""
    if family == "sgd":
        return -rate * g
    mu = -n["momentum"] if slip == "momentum with the wrong sign" else n["momentum"]
    old = s.get("v", numpy.zeros_like(g))
    if slip == "momentum is made anew":
        old = numpy.zeros_like(g)
    share = 1 - mu if form == "averaged" else mu if slip == "momentum times the gradient" else 1.0
    new = s["v"] = mu * old + share * g
    if family == "momentum":
        if slip == "momentum twice":
            return -rate * mu * new
        return -rate * (old if slip == "the old velocity is used" else new)
    if slip == "nesterov without looking ahead":
        return -rate * new
    if slip == "the new velocity in place of the old":
        return -rate * ((1 + mu) * new - mu * new)
    if form == "book":  # Deep Learning from Scratch: the velocity is updated first
        return -rate * (mu * mu * old + (1 + mu) * g)
    return -rate * (g + mu * (old if slip == "the old velocity is used" else new))


def _of_squares(
    family: str, slip: str, form: str, n: Numbers, rate: float, g: Any, t: int, s: dict[str, Any]
) -> Any:
    """Rules with a step size for each entry."""
    eps = n["eps"]
    square = numpy.abs(g) if slip == "the square is missing" else g * g
    if slip == "the square is missing" and family == "adam":
        square = g
    zeros = numpy.zeros_like(g)
    old = (
        zeros
        if slip in ("squares are not added up", "moments are made anew")
        else s.get("v", zeros)
    )
    if family == "adagrad":
        new = old + square
    elif family == "rmsprop":
        rho = n["rho"]
        keep, share = (1 - rho, rho) if slip == "rho and 1 - rho exchanged" else (rho, 1 - rho)
        keep = 1.0 if slip == "squares do not decay" else keep
        new = keep * old + (1.0 if slip == "the factor 1 - rho is missing" else share) * square
    if family in ("adagrad", "rmsprop"):
        s["v"] = new
        used = old if slip == "squares are added behind the update" else new
        return -rate * _divided(g, used, eps, slip, form)
    b1, b2 = n["beta1"], n["beta2"]
    b1, b2 = (b2, b1) if slip == "betas exchanged" else (b1, b2)
    first = zeros if slip == "moments are made anew" else s.get("m", zeros)
    is_whole = slip == "the factor 1 - beta is missing"
    m = b1 * first + (1.0 if is_whole else 1 - b1) * g
    square = m * m if slip == "v from m in place of g" else square
    v = b2 * old + (1.0 if is_whole else 1 - b2) * square
    s["m"], s["v"] = m, v
    if slip == "the old moments are used":
        m, v = first, old
    t = {"t is not counted": 1, "t begins too late": t + 1, "t begins at zero": t - 1}.get(slip, t)
    t = 1 if slip == "betas to the power of one" else t
    c1, c2 = 1 - b1**t, 1 - b2**t
    c1 = 1.0 if slip in ("bias correction is missing", "bias correction of m is missing") else c1
    c2 = 1.0 if slip in ("bias correction is missing", "bias correction of v is missing") else c2
    if slip == "bias correction multiplies":
        c1, c2 = 1 / c1, 1 / c2
    if slip == "bias correction is stored":
        s["m"], s["v"] = m / c1, v / c2
    top = g if slip == "m is not used" else v / c2 if slip == "v in place of m" else m / c1
    if form == "eps hat":
        return -rate * top * numpy.sqrt(c2) / (numpy.sqrt(v) + eps)
    return -rate * _divided(top, v / c2, eps, slip, "")


def _divided(top: Any, v: Any, eps: float, slip: str, form: str) -> Any:
    """What a rule divides by: the root of the squares, with eps."""
    if slip == "the root is missing":
        return top / (v + eps)
    if slip == "eps inside the root" or form == "eps inside":
        return top / numpy.sqrt(v + eps)
    if slip == "eps is added to the update":
        return top / numpy.sqrt(v) + eps
    return top / (numpy.sqrt(v) + eps)

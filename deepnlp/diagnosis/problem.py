"""A wrong gradient, and everything that a hypothesis uses."""

from __future__ import annotations

import copy
import inspect
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.trace import Trace, follow
from deepnlp.gradcheck.causes import FACTOR
from deepnlp.gradcheck.names import LABELS
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.variables import Input
from deepnlp.gradcheck.walking import copy_of, mapped


@dataclass
class Guess:
    """A mistake, and the gradients that it would give.

    Attributes
    ----------
    cause : str
        A name of the list.
    evidence : str
    gradients : dict of str to array, or Edit
        Of those that the mistake changes; the others stay right. Or the edit of the reverse pass
        that would give them.
    edit : Edit, optional
        The same mistake as an edit, where the gradients are known already.
    place : str
        The learner's line, where one is known to be wrong.
    tier : int
        Of guesses that explain equally much, those of the lowest tier come first.
    is_edit : bool
        Whether it was tried over all statements, and not expected: its name says less.
    removes : bool
        Whether it is a repair that takes an operation out of the learner's line.
    key : tuple of str
        Its row in the table of mistakes, and its place: the same on other numbers and sizes.
    factor : str
        The names of a multiple, where the sentence holds one.
    hypothesis : callable, optional
        What gave it.
    """

    cause: str
    evidence: str
    gradients: Any = field(repr=False)
    edit: Edit | None = field(default=None, repr=False)
    tier: int = 0
    place: str = ""
    is_edit: bool = False
    removes: bool = False
    key: tuple[str, ...] = ()
    factor: str = ""
    hypothesis: Callable[..., Iterable[Guess]] | None = field(default=None, repr=False)


class NotFollowedError(ValueError):
    """A hypothesis needs the tape of a forward that cannot be followed."""


class Problem:
    """The rows of a report of which some are wrong.

    Attributes
    ----------
    wrong, right : dict of str to array
        The gradients that were found, and those that should have been; of all rows.
    bad : list of str
        Names of the wrong rows.
    """

    def __init__(self, subject: Subject, rows: list[Row], tolerance: float | None = None) -> None:
        self.subject, self.rows = subject, rows
        self.tolerance = TOLERANCE if tolerance is None else tolerance
        self.wrong = {row.name: row.analytic for row in rows}
        self.right = {row.name: row.numeric for row in rows}
        self.bad = [row.name for row in rows if row.is_wrong]
        self.owner = subject.name
        self._remembered: dict[str, Any] = {}
        self.work = WORK
        self.not_followed = ""  # why the forward cannot be followed
        self.partial: list[tuple[set[str], Guess]] = []  # guesses that explain a part
        self.base: Edit | None = None  # edits that are known already

    def recall(self, what: str, compute: Callable[[], Any]) -> Any:
        """Compute something once, and remember it."""
        if what not in self._remembered:
            self._remembered[what] = compute()
        return self._remembered[what]

    @cached_property
    def trace(self) -> Trace | None:
        """The tape of the forward; None if it cannot be followed or disagrees with numbers."""
        try:
            found = follow(self.subject)
        except Exception as error:  # whatever a forward does with arrays that are none
            self.not_followed = str(error) or type(error).__name__
            return None
        gradients = found.right
        agrees = all(distance(gradients[name], self.right[name]) < 1e-5 for name in self.right)
        return found if agrees else None

    def resolved(self, guesses: Iterable[Guess]) -> Iterator[Guess]:
        """The guesses with their gradients; edited reverse passes are run side by side.

        Guesses without an edit of their own are passed through. When the work that a diagnosis
        may cost is done, the remaining edits are left out.
        """
        waiting: list[Guess] = []
        edits: list[Edit] = []
        for guess in guesses:
            if isinstance(guess.gradients, Edit):
                guess.edit = edit = guess.gradients
                self.work -= self.followed.tape.size
                if self.work < 0:
                    break
                waiting.append(guess)
                edits.append(edit if self.base is None else self.base + edit)
            else:
                yield guess
        if not waiting:
            return
        for guess, gradients in zip(waiting, self.followed.run(edits)):
            guess.gradients = gradients
            yield guess

    @property
    def has_epsilon(self) -> bool:
        """True if forward computes with a small constant, as in ``log(y + 1e-7)``."""
        nodes = self.trace.nodes if self.trace is not None else []
        pairs = [pair for node in nodes for pair in node.operands]
        return any(((t == 0) & (v != 0) & (abs(v) < _SMALL)).any() for v, t in pairs)

    @cached_property
    def must_stay(self) -> frozenset[str]:
        """The rows that are right, and would not be if something on their way were changed."""
        return frozenset(n for n in self.right if n not in self.bad and self.right[n].any())

    @cached_property
    def _dependence(self) -> HostArray:
        """By ticket and variable, whether the one depends on the other."""
        trace = self.followed
        depends = numpy.zeros((trace.tape.size, len(trace.variables)), dtype=bool)
        for k, tickets in enumerate(trace.variables.values()):
            depends[tickets, k] = True
        for node in trace.nodes:
            taken = numpy.concatenate([t.reshape(-1) for _, t in node.operands])
            depends[node.tickets] = depends[taken].any(axis=0)
        return depends

    def reached(self, tickets: HostArray) -> frozenset[str]:
        """Names of the variables that numbers depend on."""
        names = list(self.followed.variables)
        found = numpy.flatnonzero(self._dependence[tickets.reshape(-1)].any(axis=0))
        return frozenset(names[k] for k in found)

    @cached_property
    def is_random(self) -> bool:
        """True if the forward draws random numbers, as dropout does, by the names it uses."""
        methods = [m for base in type(self.subject.layer).__mro__ for m in vars(base).values()]
        found = [getattr(f, "__func__", f) for f in (*methods, *self.subject.functions)]
        codes = [f.__code__ for f in found if inspect.isfunction(f)]
        words = [name for code in codes for name in (*code.co_names, *code.co_varnames)]
        return any(map(_RANDOM.search, [self.owner, *words]))

    def incoming(self, k: int = 0) -> str:
        """Return the name, in the learner's backward, of the gradient with respect to output k."""
        names = self.subject.caller.gradient_names
        return names[k] if len(names) > k else "dy"

    @property
    def followed(self) -> Trace:
        """The tape; an error if there is none."""
        if self.trace is None:
            raise NotFollowedError(f"{self.owner}: its forward cannot be followed")
        return self.trace

    @cached_property
    def targets(self) -> HostArray | None:
        """The targets, where the subject is a loss."""
        subject = self.subject
        if len(subject.weights) != 1 or subject.weights[0].ndim:
            return None
        pairs = zip(subject.input_names, subject.inputs)
        arrays = [(n, v) for n, v in pairs if isinstance(v, numpy.ndarray)]
        named = [v for name, v in arrays if name in LABELS or name.startswith("target")]
        others = [v for _, v in arrays[1:]]
        found = named or [v for v in others if v.dtype.kind in "iu"] or others
        return found[0] if found else None

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The sizes that the letters N, T, D, H and V stand for."""
        sizes: dict[str, int] = {}
        for value in self.subject.inputs:
            if not isinstance(value, numpy.ndarray) or value.ndim == 0:
                continue
            is_ids = value.dtype.kind in "iu"
            letters = {1: "N", 2: "NT"} if is_ids else {1: "N", 2: "ND", 3: "NTD"}
            for letter, size in zip(letters.get(value.ndim, ""), value.shape, strict=False):
                sizes.setdefault(letter, size)
        names = [*self.subject.input_names, *self.right]
        for weight in self.subject.weights if any(map(_HIDDEN.search, names)) else ():
            if weight.ndim > 1:
                sizes.setdefault("H", weight.shape[-1])
        return sizes

    @cached_property
    def factors(self) -> list[tuple[str, float]]:
        """Multiples with a name, the likeliest first."""
        letters = ("N", "T", "N T", "D", "N D", "H", "N H")
        known = {p: [self.sizes.get(letter, 0) for letter in p.split()] for p in letters}
        sizes = {p: math.prod(found) for p, found in known.items() if math.prod(found) > 1}
        named = [("2", 2.0), ("1/2", 0.5)]
        for name, n in sizes.items():
            named += [(name, float(n)), (f"1/({name})" if " " in name else f"1/{name}", 1 / n)]
        for name, n in sizes.items():
            named += [(f"sqrt({name})", n**0.5), (f"1/sqrt({name})", n**-0.5)]
            if n > 2:  # else it is 1/n, and n
                named += [(f"({name} - 1)/{name}", 1 - 1 / n)]
                named += [(f"{name}/({name} - 1)", n / (n - 1))]
        return [*named, ("3", 3.0), ("1/3", 1 / 3), ("4", 4.0), ("1/4", 0.25)]

    def name_factor(self, factor: float) -> str:
        """All names that fit a multiple, such as ``"2 = N"``; the number itself is one."""
        size, sign = abs(factor), "-" if factor < 0 else ""
        names = [sign + name for name, value in self.factors if abs(value / size - 1) < 1e-5]
        if not any(re.fullmatch(r"[-\d./]+", name) for name in names):
            names.append(f"{factor:.6g}")
        return " = ".join(names)

    @cached_property
    def _tolerances(self) -> dict[str, float]:
        """How close a prediction must come to what was found.

        It must be much closer than the right gradient: where that is off by only 1e-6, most wrong
        guesses are as close.
        """
        apart = {name: distance(self.wrong[name], self.right[name]) for name in self.bad}
        return {name: min(self.tolerance, 0.1 * apart.get(name, 1.0)) for name in self.right}

    def fits(self, name: str, predicted: HostArray) -> bool:
        """Return whether a prediction is what was found."""
        least = ROUNDING * float(numpy.abs(self.right[name]).max(initial=0.0))
        return distance(self.wrong[name], predicted, least) <= self._tolerances[name]

    def explained_by(self, guess: Guess) -> set[str]:
        """The wrong gradients that a guess predicts; none if it makes a right one wrong."""
        explained = set()
        for name in self._right_first:
            predicted = guess.gradients.get(name)
            if predicted is None:
                continue
            if self.fits(name, predicted):
                if name in self.bad:
                    explained.add(name)
            elif name not in self.bad:
                return set()
        is_multiple = guess.cause == FACTOR and not guess.place  # a repair is proved elsewhere
        if is_multiple and all(numpy.count_nonzero(self.right[n]) < 2 for n in explained):
            return set()  # of a single number, anything is a multiple
        return explained if self.holds(guess, explained) else set()

    # --- On fresh numbers -------------------------------------------------------------------

    @cached_property
    def fresh(self) -> Problem | None:
        """The same code on fresh numbers, of other sizes where it takes them."""
        arrays = [v for v in self.subject.inputs if isinstance(v, numpy.ndarray) and v.ndim]
        is_script = hasattr(self.subject.caller.code.forward, "lines")  # its sizes are fixed
        shape = arrays[0].shape[:3] if arrays and not is_script else ()
        for count in reversed(range(len(shape) + 1)):
            try:
                subject = elsewhere(self.subject, numpy.random.default_rng(1), shape[:count])
                wrong = subject.analytic_gradients()
                right = self._right_of(subject)
                same = [(n, wrong[n].shape == right[n].shape) for n in self.wrong]
            except Exception:  # whatever a forward does with arrays of other sizes
                continue
            if any(
                (self.wrong[n].shape == self.right[n].shape) is not is_same for n, is_same in same
            ):
                continue  # backward counts on the old sizes
            apart = {name: distance(wrong[name], right[name]) for name in right}
            rows = [Row(n, a, (), a < 1e-5, wrong[n], right[n]) for n, a in apart.items()]
            return (
                Problem(subject, rows, self.tolerance)
                if any(row.is_wrong for row in rows)
                else None
            )
        return None

    def _right_of(self, subject: Subject) -> dict[str, HostArray]:
        """The right gradients, by the tape where it was right before."""
        if self.trace is not None:
            return follow(subject).right
        return {name: subject.numeric_gradient(name, "central") for name in self.right}

    def holds(self, guess: Guess, explained: set[str], name: str | None = None) -> bool:
        """Return whether a guess explains the gradients on fresh numbers too.

        Of the names of its multiple, those stay that fit both times.
        """
        again = guess.hypothesis
        if again is None or guess.place or not explained or self.base is not None:
            return True  # a repair, which has a place, is proved elsewhere
        fresh = self.fresh
        if fresh is None or not explained <= set(fresh.bad):
            return True
        tried = again(fresh) if name is None else again(fresh, name)
        for other in fresh.resolved(one for one in tried if one.key == guess.key):
            found = other.gradients
            if all(n in found and fresh.fits(n, found[n]) for n in explained):
                names, told = other.factor.split(" = "), guess.factor.split(" = ")
                both = [name for name in told if name in names]
                if not both and guess.key[0] == "multiple":  # a multiple, by a number of its own
                    both = [f"{told[-1]} (a number that depends on the sizes)"]
                if both:
                    guess.evidence = guess.evidence.replace(guess.factor, " = ".join(both))
                return bool(both)
        return fresh.work < 0  # or it was not tried

    @cached_property
    def _right_first(self) -> list[str]:
        """All rows; those that are right rule most guesses out."""
        return sorted(self.wrong, key=lambda name: name in self.bad)

    def changed_by(self, guess: Guess) -> set[str]:
        """The gradients that a guess changes."""
        return {
            name
            for name, predicted in guess.gradients.items()
            if distance(self.right[name], predicted) > 1e-9
        }

    def after(self, edit: Edit) -> Problem:
        """Return what remains to be explained once a mistake is known."""
        rest = copy.copy(self)
        rest.base = edit
        trace = copy.copy(self.followed)
        vars(trace).pop("right", None)
        vars(trace)["adjoint"] = trace.adjoints([edit])[:, 0]
        for name in ("must_stay", "_right_first", "_tolerances"):
            vars(rest).pop(name, None)
        vars(rest)["trace"] = trace
        rest.right = trace.right
        rest.bad = [n for n in self.bad if distance(self.wrong[n], rest.right[n]) > TOLERANCE]
        rest.work, rest.partial, rest._remembered = WORK // 4, [], {}
        return rest


_RANDOM = re.compile(r"rand|rng|binomial|bernoulli|drop|uniform|generator", re.IGNORECASE)

_HIDDEN = re.compile(r"(^|[._\W])(h|hx|[hH]0|Wh+|W_?hh?|[hH]idden)($|[._\W\d])|h_")
"""Names of a hidden state, and of its weights."""

WORK = 14_000_000
"""Numbers that all edited passes of one diagnosis may compute: what takes a second or less."""

_APART = 0.2  # by so much, in the logarithm, numbers are moved

ROUNDING = 1e-8
"""Where a gradient is smaller than this part of the right one, it is what rounding left of 0."""

_SMALL = 1e-5
TOLERANCE = 3e-6
"""A prediction this close to what was found explains it."""


def distance(a: HostArray, b: HostArray, least: float = 0.0) -> float:
    """How far two arrays are apart, relative to the largest entry of either, or to ``least``.

    Returns
    -------
    float
        Infinite where the shapes differ.

    Examples
    --------
    >>> distance(numpy.array([1.0, 2.0]), numpy.array([1.0, 1.0]))
    0.5
    """
    if a.shape != b.shape:
        return float("inf")
    if a.size == 0:
        return 0.0
    scale = max(float(numpy.abs(a).max()), float(numpy.abs(b).max()), least)
    apart = float(numpy.abs(a - b).max())
    if not numpy.isfinite(apart):
        return float("inf")
    return apart / scale if scale > 0 else 0.0


def elsewhere(subject: Subject, rng: Any, sizes: Collection[int]) -> Subject:
    """A copy of a subject with other numbers, of the same signs, and in another shape.

    Along the axes of some sizes its inputs have two entries more; then its weights stay. A loss
    whose backward takes no other gradient than 1 keeps this.
    """
    subject = copy_of(subject)
    subject.restore()
    subject.inputs[:] = mapped(lambda one: _longer(one, sizes), subject.inputs)
    for variable in subject.variables.values():
        if not sizes or isinstance(variable, Input):
            value = variable.get()
            noise = _APART * rng.normal(size=value.shape)
            moved = value * numpy.exp(noise) if value.any() else noise
            variable.set(still_probabilities(moved, value))
    is_one = all((w == 1).all() for w in subject.weights)
    subject.draw_weights(rng)
    if is_one:
        subject.weights = [numpy.ones_like(w) for w in subject.weights]
    return subject


def _longer(value: Any, sizes: Collection[int]) -> Any:
    """An array with two entries more along each axis of some sizes, the last one again.

    Two, so that an even size stays one and a stride of two has another step.
    """
    if not isinstance(value, numpy.ndarray):
        return value
    longer = value
    for axis, n in enumerate(value.shape):
        if n in sizes:
            longer = numpy.take(longer, range(n + 2), axis=axis, mode="clip")
    return still_probabilities(longer, value)


def still_probabilities(value: HostArray, before: HostArray) -> HostArray:
    """A changed array, whose rows sum to 1 where those before did: as targets they have to.

    Examples
    --------
    >>> still_probabilities(numpy.array([1.0, 0.0, 1.0]), numpy.array([1.0, 0.0]))
    array([0.5, 0. , 0.5])
    >>> still_probabilities(numpy.array([0, 1, 1]), numpy.array([0, 1]))
    array([0, 1, 0])
    """
    is_positive = before.shape[-1:] > (1,) and (before >= 0).all()
    if is_positive and numpy.allclose(before.sum(axis=-1), 1):
        if before.dtype.kind != "f":  # one-hot
            return value * (value.cumsum(axis=-1) == 1)
        value = value / value.sum(axis=-1, keepdims=True)
    return value


def is_one(factor: float) -> bool:
    """Return whether a factor is so close to 1 that it does not count as a multiple.

    Examples
    --------
    >>> is_one(1.000001), is_one(1.01)
    (True, False)
    """
    return abs(factor - 1) <= 1.001e-5


def ratio(
    wrong: HostArray, right: HostArray, fewest: int = 1, scale: float | None = None
) -> float | None:
    """The number by which one array is a multiple of another, None if it is none.

    Parameters
    ----------
    wrong, right : array
    fewest : int
        So many entries that are not 0 must agree with one factor.
    scale : float, optional
        What a difference is compared with, in place of the largest entry of the multiple.

    Examples
    --------
    >>> ratio(numpy.array([2.0, 4.0]), numpy.array([1.0, 2.0]))
    2.0
    """
    if wrong.shape != right.shape or not numpy.isfinite(wrong).all():
        return None
    if numpy.count_nonzero(right) < fewest:
        return None
    factor = float((wrong * right).sum()) / float((right * right).sum())
    off = float(numpy.abs(wrong - factor * right).max())
    scale = float(numpy.abs(wrong).max()) if scale is None else scale
    return factor if off <= TOLERANCE * scale else None

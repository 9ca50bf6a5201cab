"""Trying the changes: which makes wrong gradients right?"""

from __future__ import annotations

import ast
import contextlib
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.evaluating.evaluator import Frame
from deepnlp.diagnosis.problem import Guess, Problem, distance
from deepnlp.diagnosis.rewriting.backward import backward_of
from deepnlp.diagnosis.rewriting.forms import (
    of_expressions,
    of_indices,
    of_numbers_in_sums,
    of_statement,
    of_two_statements,
)
from deepnlp.diagnosis.rewriting.functions import Ran, shape_of, signature
from deepnlp.diagnosis.rewriting.locating import located_in
from deepnlp.diagnosis.rewriting.proof import Proof
from deepnlp.diagnosis.rewriting.slots import Above, Change, Slot, is_misplaced, statements
from deepnlp.diagnosis.rewriting.substituting import (
    inserted,
    renamed,
    replaced,
    scaled_places,
    wrapped,
)
from deepnlp.diagnosis.rewriting.telling import guess_of
from deepnlp.diagnosis.rewriting.trials import MORE, Trials
from deepnlp.diagnosis.rewriting.values import Value, values
from deepnlp.gradcheck import causes as c

TRACE = 1e-4
"""A difference no larger than this comes from a small constant, not from a wrong line."""

MOST = 8
"""As many changes that repair the same gradients are told."""

STEPS = 400_000
"""As many steps are evaluated where nothing says more than a change would."""

STEPS_BESIDE = 200_000
"""As many where the cause is known, and only the learner's line is looked for."""

STEPS_OF_A_CHANGE = 30
"""What it costs to make a change and look at it, in steps."""


@dataclass
class Repair:
    """A change that makes gradients right.

    Attributes
    ----------
    ran : Ran
        The function that is changed.
    change : Change
    names : set of str
        The gradients that it makes right.
    others : list of Repair
        Changes of other statements that it takes besides.
    helpers : collection of str
        Names of the functions of backward.
    """

    ran: Ran
    change: Change
    names: frozenset[str]
    others: list[Repair] = field(default_factory=list)
    helpers: Collection[str] = ()

    @property
    def growth(self) -> int:
        """By how much it makes the code longer."""
        return growth_of(self.change)

    @property
    def cost(self) -> float:
        """That of the change; more where it adds to a call what a helper should do."""
        is_around = self.growth > 0 and called_in(self.change.statement.node) & {*self.helpers}
        return self.change.cost + (_AROUND if is_around else 0.0)


_AROUND = 0.3


def called_in(node: ast.AST) -> set[str]:
    """Return the names of the functions that a statement calls."""
    calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
    return {str(getattr(one, "attr", getattr(one, "id", ""))) for one in calls}


def growth_of(change: Change) -> int:
    """Return by how much a change makes the code longer."""
    return sum(_size(new) - _size(slot.node) for slot, new in change.puts)


def _size(node: Any) -> int:
    return sum(1 for _ in ast.walk(node)) if isinstance(node, ast.AST) else 0


ROUNDS = 2
"""So many rounds of a loop tell most arrays apart."""

MOST_ROUNDS = 24
"""Numbers, such as indices, and what depends on an outer loop may be equal for longer."""


class StepsAreSpentError(Exception):
    """The steps that changes may take are spent."""


def repairs(problem: Problem, steps: int = STEPS) -> Iterator[Guess]:
    """Changes of the learner's backward that make wrong gradients right and no right one wrong.

    Wrong: ``db = dy.sum(axis=1)``. Right with ``axis=0``, and with no other small change.
    """
    far = max(distance(problem.wrong[name], problem.right[name]) for name in problem.bad)
    if problem.base is not None or far <= TRACE:
        return
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = Search(problem, steps).run()
        for number, repair in _best(found):
            changes = [(one.ran, one.change) for one in (repair, *repair.others)]
            guess = guess_of(problem, changes, repair.names)
            guess.tier = number
            yield guess


def _best(found: list[Repair]) -> Iterator[tuple[int, Repair]]:
    """The changes for each set of gradients, numbered: the smallest first; of two as small, the
    one with the more general name.
    """
    by_names: dict[frozenset[str], list[Repair]] = {}
    for repair in found:
        by_names.setdefault(repair.names, []).append(repair)
    for members in sorted(by_names.values(), key=lambda one: -len(one[0].names)):
        general = {id(one): one.change.cause != c.WRONG_VALUE for one in members}
        members.sort(key=lambda one: (round(one.cost, 9), general[id(one)], one.growth))
        yield from enumerate(members[:MOST])


class Search:
    """The search over all changes of all functions of a backward.

    Parameters
    ----------
    problem : Problem
    steps : int
        As many are evaluated.
    """

    def __init__(self, problem: Problem, steps: int) -> None:
        self.problem = problem
        self.backward = backward_of(problem)
        self.evaluator, self.trials = self.backward.evaluator, self.backward.trials
        self.ran = self.backward.ran
        self._helpers = {ran.tree.name for ran in self.ran}
        self._trees = {ran.code: Above(ran.tree) for ran in self.ran}
        order = [*problem.bad, *(name for name in problem.right if name not in problem.bad)]
        self._limits = [(name, problem.right[name], self._limit(name)) for name in order]
        self._values: dict[int, list[Value]] = {}  # by function, once they are needed
        self.found: list[Repair] = []
        of_bad = self._limits[: len(problem.bad)]
        before = [_right_entries(problem.wrong[n], right, limit) for n, right, limit in of_bad]
        self._before = numpy.concatenate(before)
        self._keeps_shapes = all(problem.wrong[n].shape == problem.right[n].shape for n in order)
        self._parts: dict[int, tuple[int, float, HostArray, Repair]] = {}  # by statement
        self._proof = Proof(problem, self.evaluator)
        self._cleared = located_in(problem).cleared()
        lines = getattr(problem.subject.caller.code.forward, "lines", None)
        if lines is not None:  # of a script, of which all others are known to be right
            found = [s.node for ran in self.ran for s in statements(ran.tree)]
            self._cleared = {id(node) for node in found if node.lineno not in lines}
        self._is_known = lines is not None
        self._is_first = True
        self._steps = steps

    def _limit(self, name: str) -> float:
        """The largest difference of two gradients that are the same."""
        right, close = self.problem.right[name], self.problem.tolerance / 3
        if name in self.problem.bad:
            close = min(close, 0.1 * distance(self.problem.wrong[name], right))
        return close * float(numpy.abs(right).max(initial=0)) + 1e-300

    def run(self) -> list[Repair]:
        """The changes that repair something, of the first level at which one repairs all."""
        for is_first in (True, False):  # the statements in which the mistake can be
            self._is_first = is_first
            self._until = self.evaluator.guard.steps + self._steps // (1 if is_first else 4)
            with contextlib.suppress(StepsAreSpentError):
                for level in LEVELS if is_first else LEVELS[: not self._is_known]:
                    for make in level:
                        self._try_level(make)
                    if not self._whole():
                        self._try_together()
                    if self._whole():
                        return self.found
        return self.found

    def _whole(self) -> list[Repair]:
        """The repairs of all wrong gradients."""
        return [one for one in self.found if one.names == set(self.problem.bad)]

    def _try_level(self, make: Any) -> None:
        """All changes of a kind; where one repairs all, others of its statement, and of a call."""
        whole = self._whole()
        known = {id(one.change.statement.node) for one in whole}
        helpers = {one.ran.tree.name for one in whole}
        for number, ran in reversed([*enumerate(self.ran)]):  # helpers before what calls them
            places = [
                s
                for s in statements(ran.tree)
                if not known or id(s.node) in known or helpers & called_in(s.node)
            ]
            places = [s for s in places if (id(s.node) not in self._cleared) is self._is_first]
            self._try_all(ran, make(ran, places, partial(self._values_of, number)))

    def _values_of(self, number: int) -> list[Value]:
        """Return the values that a function could use."""
        if number not in self._values:
            self._values[number] = values(self.ran[number], self.backward.forward)
        return self._values[number]

    def _try_all(self, ran: Ran, made: Iterator[Change]) -> None:
        """Those inside one expression first, expression by expression."""
        above = self._trees[ran.code]
        inside: dict[int, list[Change]] = {}
        groups: list[list[Change]] = []
        for change in made:
            self._count()
            number, *more = above.roots_of(change)
            if number is None or more:
                groups.append([change])
            else:
                inside.setdefault(number, []).append(change)
        for root, changes in inside.items():
            screen = Screen(self.trials, above, above.roots[root], changes, self._keeps_shapes)
            groups += screen.kept()
        for group in groups:
            self._count()
            group.sort(key=lambda one: (one.cost, growth_of(one)))
            for change in group[:MOST]:  # those that give the same on these numbers
                names = self._tried([change])
                is_safe = not names or self._divides_safely(ran, change)
                if names and is_safe and not is_misplaced(ran.tree, change):
                    self.found.append(Repair(ran, change, frozenset(names), [], self._helpers))
                elif names is None:
                    self._note_part(Repair(ran, change, frozenset()))
                if is_safe and (names or not self._is_by_chance):
                    break

    def _divides_safely(self, ran: Ran, change: Change) -> bool:
        """Return whether what a change divides by is never 0, or forward divides by it as well."""
        new = {text for _, put in change.puts for text in _divisors(put)}
        before = {text for slot, _ in change.puts for text in _divisors(slot.node)}
        values = [ran.value(text) for text in new - before]
        return all(
            (value > 0).all() or (value < 0).all() or self._is_divisor(value)
            for value in values
            if isinstance(value, numpy.ndarray) and value.ndim
        )

    def _is_divisor(self, value: HostArray) -> bool:
        """Return whether forward divides by an array, or takes its logarithm, up to its sign."""
        nodes = self.problem.trace.nodes if self.problem.trace is not None else []
        divisors = [node.arrays[-1] for node in nodes if node.op in _DIVIDING]
        return any(numpy.array_equal(abs(one).ravel(), abs(value).ravel()) for one in divisors)

    def _count(self) -> None:
        self.evaluator.guard.steps += STEPS_OF_A_CHANGE
        if self.evaluator.guard.steps > self._until:
            raise StepsAreSpentError

    def _tried(self, changes: list[Change]) -> set[str] | None:
        """The wrong gradients that are right with changes; none if a right one is not.

        None where only some entries of gradients get right.
        """
        slots = [slot for one in changes for slot, _ in one.puts]
        nodes = [one for above in self._trees.values() for one in above.statements_with(slots)]
        self.evaluator.changed(nodes)
        with contextlib.ExitStack() as stack:
            for one in changes:
                stack.enter_context(one.applied())
            names = self._repaired()
            self._is_by_chance = bool(names) and not self._proof.holds(names or set())
        self.evaluator.changed(nodes)
        return set() if self._is_by_chance else names

    def _repaired(self) -> set[str] | None:
        with contextlib.suppress(Exception):
            self.trials.run()
            entries = {}
            for name, right, limit in self._limits:
                now = self.trials.gradient(name)
                entries[name] = _right_entries(now, right, limit)
                if name not in self.problem.bad and not entries[name].all():
                    return set()
            found = {name for name in self.problem.bad if entries[name].all()}
            self._now = numpy.concatenate([entries[name] for name in self.problem.bad])
            is_part = not found and not (self._before & ~self._now).any()
            return None if is_part and (self._now & ~self._before).any() else found
        return set()

    # --- Several places -------------------------------------------------------------------------

    def _note_part(self, part: Repair) -> None:
        """Remember the change of a statement that makes most entries right."""
        gained, place = int((self._now & ~self._before).sum()), id(part.change.statement.node)
        best = self._parts.get(place)
        if best is None or (gained, -part.change.cost) > (best[0], -best[1]):
            self._parts[place] = gained, part.change.cost, self._now, part

    def _try_together(self) -> None:
        """Changes of several statements: a slip copied into every gate, or two mistakes."""
        parts = [part for *_, part in sorted(self._parts.values(), key=lambda p: (-p[0], p[1]))]
        parts += sorted(self.found, key=lambda one: (-len(one.names), one.change.cost))[:MOST]
        chosen: list[Repair] = []
        most = int(self._before.sum())
        for part in parts:
            if any(one.change.statement.node is part.change.statement.node for one in chosen):
                continue
            names = self._tried([one.change for one in (*chosen, part)])
            if int(self._now.sum()) > most:
                most, chosen = int(self._now.sum()), [*chosen, part]
                if names and len(chosen) > 1:
                    first, *others = chosen
                    self.found.append(Repair(first.ran, first.change, frozenset(names), others))


_DIVIDING = ("divide", "reciprocal", "log", "log2", "log10", "log1p")
"""Operations that are not defined where their last operand is 0."""


def _divisors(node: Any) -> set[str]:
    """Return the divisors in a piece of code."""
    parts = ast.walk(node) if isinstance(node, ast.AST) else ()
    kinds = [one for one in parts if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
    return {ast.unparse(one.right) for one in kinds}


def _right_entries(gradient: HostArray, right: HostArray, limit: float) -> HostArray:
    """Which entries of a gradient are right, one after the other."""
    if gradient.shape != right.shape:
        return numpy.zeros(right.size, dtype=bool)
    return numpy.asarray(numpy.abs(gradient - right) <= limit).reshape(-1)


class Screen:
    """Evaluates an expression, and beside it what would stand there instead.

    Parameters
    ----------
    trials : Trials
    above : Above
    root : Slot
        Where the expression stands.
    changes : list of Change
        Those inside it.
    keeps_shapes : bool
        Whether only values of a like shape are kept: not where a gradient has a wrong one.
    """

    def __init__(
        self, trials: Trials, above: Above, root: Slot, changes: list[Change], keeps_shapes: bool
    ) -> None:
        self.trials, self.evaluator, self.root = trials, trials.evaluator, root
        self.statements = above.statements_with([root])
        self.keeps_shapes = keeps_shapes
        self.changes = [(one, above.path_of(one)) for one in sorted(changes, key=lambda c: c.cost)]
        self.alive: dict[int, tuple[Any, ...]] = dict.fromkeys(range(len(changes)), ())
        self.first: tuple[Any, ...] = ()
        self.calls = 0

    def kept(self) -> list[list[Change]]:
        """The changes that make a difference, those together that make the same."""
        evaluator = self.evaluator
        evaluator.watched, evaluator.watcher = self.root.node, self._watch
        evaluator.changed(self.statements)
        try:
            with contextlib.suppress(Exception):
                self.trials.run()
        finally:
            evaluator.watched = evaluator.watcher = None
            evaluator.changed(self.statements)
        found: dict[Any, list[Change]] = {}
        for k, signatures in self.alive.items() if self.calls else ():
            if signatures != self.first:
                found.setdefault(signatures, []).append(self.changes[k][0])
        return list(found.values())

    def _watch(self, frame: Frame) -> Any:
        """The value of the original; in its first rounds those of the others are noted."""
        evaluator = self.evaluator
        known: dict[int, Any] = {}
        node, evaluator.watched = evaluator.watched, None
        value = evaluator.code(node, known, is_learning=True)(frame)
        shape = shape_of(value)
        self.calls += 1
        if self.calls <= MOST_ROUNDS:
            is_early = self.calls <= ROUNDS or not shape
            waiting = [k for k, seen in self.alive.items() if is_early or seen == self.first]
            self.first += (signature(value),)
            for k in waiting:
                evaluator.guard.most = evaluator.guard.steps + MORE
                change, path = self.changes[k]
                rest = {key: v for key, v in known.items() if key not in path}
                try:
                    with change.applied():
                        other = evaluator.code(self.root.node, rest)(frame)
                    now = shape_of(other)
                    if shape is not None and (
                        now is None or (self.keeps_shapes and not _alike(now, shape))
                    ):
                        raise ValueError
                    self.alive[k] += (signature(other),)
                except Exception:
                    del self.alive[k]
        evaluator.watched = node
        return value


def _alike(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether numbers of these shapes can stand in each other's place."""
    return all(a == b or 1 in (a, b) for a, b in zip(shape[::-1], other[::-1]))


Own = Callable[[], list[Value]]
"""Gives the values that a function could use."""


def _local(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    for statement in found:
        yield from of_expressions(ran, statement)
        yield from of_statement(ran, statement)
        yield from of_indices(ran, statement)
        yield from renamed(ran, statement)
        yield from scaled_places(ran, statement)
    yield from of_two_statements(ran, found)


def _of_names(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    names = [one for one in own() if one.cost == 0]
    for statement in found:
        yield from inserted(ran, statement, names)


def _of_values(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    for statement in found:
        yield from replaced(ran, statement, own())
        yield from wrapped(ran, statement)
        yield from of_numbers_in_sums(statement)


def _of_terms(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    """Yield values of forward as factors or divisors: ``/ np.sqrt(d)``."""
    others = [one for one in own() if one.cost > 0]
    for statement in found:
        yield from inserted(ran, statement, others)


LEVELS = ((_local,), (_of_names, _of_values), (_of_terms,))
"""Makers of changes, the likeliest first; a later level is tried if no earlier one repairs all."""

"""Trying the changes: which makes wrong gradients right?"""

from __future__ import annotations

import contextlib
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import get_ident
from types import CodeType
from typing import Any

import numpy

from deepnlp.diagnosis.problem import Guess, Problem, distance
from deepnlp.diagnosis.rewriting.functions import (
    TICK,
    Ran,
    codes_run,
    functions_of,
    names_in,
    shape_of,
)
from deepnlp.diagnosis.rewriting.holes import Holes, signature
from deepnlp.diagnosis.rewriting.indices import of_indices, of_other_indices
from deepnlp.diagnosis.rewriting.operators import of_operators, of_sums
from deepnlp.diagnosis.rewriting.purity import only_compute
from deepnlp.diagnosis.rewriting.slots import Change, Slot, is_misplaced, statements
from deepnlp.diagnosis.rewriting.statements import (
    of_all_axes,
    of_statement,
    of_two_statements,
)
from deepnlp.diagnosis.rewriting.substituting import (
    inserted,
    of_einsum,
    renamed,
    replaced,
    wrapped,
)
from deepnlp.diagnosis.rewriting.telling import guess_of
from deepnlp.diagnosis.rewriting.trials import Trials
from deepnlp.diagnosis.rewriting.values import Value, products, values
from deepnlp.gradcheck import causes as c

TRACE = 1e-4
"""A difference no larger than this comes from a small constant, not from a wrong line."""

MOST = 8
"""As many changes that repair the same gradients are told."""

SECONDS = 1.0
"""As many seconds of processor time are spent where nothing says more than a change would."""

SECONDS_BESIDE = 0.2
"""As many where the cause is known, and only the learner's line is looked for."""


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
    """

    ran: Ran
    change: Change
    names: frozenset[str]


ROUNDS = 2
"""So many rounds of a loop tell two arrays apart."""

ROUNDS_OF_NUMBERS = 24
"""Numbers, such as indices, may be equal for longer."""


class TimeIsUpError(Exception):
    """The time that changes may take is spent."""


def repairs(problem: Problem, seconds: float = SECONDS) -> Iterator[Guess]:
    """Changes of the learner's backward that make wrong gradients right and no right one wrong.

    Wrong: ``db = dy.sum(axis=1)``. Right with ``axis=0``, and with no other small change.
    """
    far = max(distance(problem.wrong[name], problem.right[name]) for name in problem.bad)
    if problem.base is not None or far <= TRACE:
        return
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = Search(problem, seconds).run()
        for number, repair in _best(found):
            guess = guess_of(problem, repair.ran, repair.change, repair.names)
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
        members.sort(key=lambda one: (round(one.change.cost, 9), general[id(one)]))
        yield from enumerate(members[:MOST])


class Search:
    """The search over all changes of all functions of a backward.

    Parameters
    ----------
    problem : Problem
    seconds : float
        Of processor time.
    """

    def __init__(self, problem: Problem, seconds: float) -> None:
        self.problem = problem
        self.until = time.process_time() + seconds
        subject = copy.deepcopy(problem.subject)
        own, of_forward = codes_run(subject)
        self.ran, forward = functions_of(own, of_forward)
        self.trials = Trials(problem, subject)
        repeated = own if self.trials.is_quick else own | of_forward
        if not only_compute(repeated, own | of_forward):
            self.ran = []  # nothing runs in another form than its own
        self.holes = [Holes(ran) for ran in self.ran]
        self._forward = forward
        self._values: dict[int, list[Value]] = {}  # by function, once they are needed
        self.found: list[Repair] = []

    def run(self) -> list[Repair]:
        """The changes that repair something, of the first level at which one repairs all."""
        functions = [*self.ran, *self._forward]
        modules = {id(ran.globals): ran.globals for ran in functions}
        silent = {TICK: self.trials.tick, "print": _silent(get_ident())}
        with contextlib.ExitStack() as stack, contextlib.suppress(TimeIsUpError):
            stack.enter_context(names_in([*modules.values()], **silent))
            for ran in functions:
                counted = ran.compiled() if ran.loops else None
                if counted is not None:
                    stack.enter_context(ran.replaced_by(counted))
            can = [stack.enter_context(holes.installed()) for holes in self.holes]
            for level in LEVELS:
                for make in level:
                    self._try_level(make, can)
                if self._whole():
                    break
        return self.found

    def _whole(self) -> list[Repair]:
        """The repairs of all wrong gradients."""
        return [one for one in self.found if one.names == set(self.problem.bad)]

    def _try_level(self, make: Any, can: list[bool]) -> None:
        """All changes of a kind; where one repairs all, only others of its statement."""
        known = {id(one.change.statement.node) for one in self._whole()}
        for number, (ran, holes) in enumerate(zip(self.ran, self.holes)):
            places = [s for s in statements(ran.tree) if not known or id(s.node) in known]
            made = make(ran, places, partial(self._values_of, number))
            self._try_all(ran, holes if can[number] else None, made)

    def _values_of(self, number: int) -> list[Value]:
        """What a function could use."""
        if number not in self._values:
            self._values[number] = values(self.ran[number], self._forward)
        return self._values[number]

    def _try_all(self, ran: Ran, holes: Holes | None, made: Iterator[Change]) -> None:
        """Those inside one expression first, expression by expression."""
        inside: dict[int, list[Change]] = {}
        others = []
        for change in made:
            self._check_time()
            number = None if holes is None else holes.number_of(change)
            if number is None:
                others.append(change)
            else:
                inside.setdefault(number, []).append(change)
        for number, changes in inside.items():
            assert holes is not None
            for change, code in self._screened(holes, number, changes):
                self._check_time()
                with holes.filled(number, partial(eval, code)):
                    self._note(ran, change, self.trials.repaired())
        for change in others:
            self._check_time()
            with change.applied():
                whole = ran.compiled()
            if whole is not None:
                with ran.replaced_by(whole):
                    self._note(ran, change, self.trials.repaired())

    def _note(self, ran: Ran, change: Change, names: set[str]) -> None:
        if names and not is_misplaced(ran.tree, change):
            self.found.append(Repair(ran, change, frozenset(names)))

    def _check_time(self) -> None:
        if time.process_time() > self.until:
            raise TimeIsUpError

    def _screened(
        self, holes: Holes, number: int, changes: list[Change]
    ) -> list[tuple[Change, CodeType]]:
        """Those that give something else there, and each something of its own."""
        original = holes.expression(number)
        candidates = []
        for change in sorted(changes, key=lambda one: one.cost):
            self._check_time()
            with change.applied():
                code = holes.expression(number)
            if code is not None:
                candidates.append((change, code))
        if original is None:
            return candidates
        screen = Screen(original, [code for _, code in candidates], self.until)
        with holes.filled(number, screen):
            self.trials.repaired()
        self._check_time()
        return [candidates[k] for k in screen.kept()]


def _silent(thread: int) -> Callable[..., None]:
    """A ``print`` that is not heard from a thread."""

    def show(*values: Any, **options: Any) -> None:
        if get_ident() != thread:
            print(*values, **options)

    return show


class Screen:
    """Computes an expression, and beside it what would stand there instead.

    Parameters
    ----------
    original : code
    codes : list of code
    until : float
        The processor time at which the time is up.
    """

    def __init__(self, original: CodeType, codes: list[CodeType], until: float) -> None:
        self.original, self.codes, self.until = original, codes, until
        self.alive: dict[int, tuple[Any, ...]] = dict.fromkeys(range(len(codes)), ())
        self.first: tuple[Any, ...] = ()
        self.calls = 0

    def __call__(self, scope: dict[str, Any]) -> Any:
        """The value of the original; in its first rounds those of the others are noted."""
        value = eval(self.original, scope)
        self.calls += 1
        shape = shape_of(value)
        if self.calls > (ROUNDS if shape else ROUNDS_OF_NUMBERS):
            return value
        self.first += (signature(value),)
        for k in list(self.alive):
            if time.process_time() > self.until:
                break
            try:
                other = eval(self.codes[k], scope)
                now = shape_of(other)
                if shape is not None and (now is None or not _alike(now, shape)):
                    raise ValueError
                self.alive[k] += (signature(other),)
            except Exception:
                del self.alive[k]
        return value

    def kept(self) -> list[int]:
        """Numbers of those that make a difference."""
        if self.calls == 0:
            return []
        seen = {self.first}
        found = []
        for k, signatures in self.alive.items():
            if signatures not in seen:
                seen.add(signatures)
                found.append(k)
        return found


def _alike(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether numbers of these shapes can stand in each other's place."""
    return all(a == b or 1 in (a, b) for a, b in zip(shape[::-1], other[::-1]))


Own = Callable[[], list[Value]]
"""Gives the values that a function could use."""


def _local(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    for statement in found:
        yield from of_operators(ran, statement)
        yield from of_statement(ran, statement)
        yield from of_indices(ran, statement)
        yield from renamed(ran, statement)


def _of_names(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    names = [one for one in own() if one.cost == 0]
    for statement in found:
        yield from of_einsum(ran, statement)
        yield from inserted(ran, statement, names)


def _of_values(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    for statement in found:
        yield from of_other_indices(ran, statement, own())
        yield from replaced(ran, statement, own())
        yield from wrapped(ran, statement)
        yield from of_sums(statement)


def _of_terms(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    yield from of_all_axes(found)
    yield from of_two_statements(ran, found)
    others = [one for one in own() if one.cost > 0]
    for statement in found:
        yield from inserted(ran, statement, others)


def _of_products(ran: Ran, found: list[Slot], own: Own) -> Iterator[Change]:
    pairs = products(ran)
    for statement in found:
        yield from inserted(ran, statement, pairs)


LEVELS = ((_local,), (_of_names, _of_values), (_of_terms,), (_of_products,))
"""Makers of changes, the likeliest first; a later level is tried if no earlier one repairs all."""

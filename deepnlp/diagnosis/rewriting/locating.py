"""Where a backward goes wrong: the first of its values that is no gradient of the right pass.

The tape of the forward knows the gradient of every number that forward computes, and what each
operation adds to it. A value of backward is *right* if all its entries are among these, *wrong* if
it is named after a value of forward (``dz`` after ``z``) and they are not. Of other values, such as
parts of a formula, nothing is said.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Any

import numpy

from deepnlp.diagnosis.problem import Problem, distance
from deepnlp.diagnosis.rewriting.backward import Backward, backward_of
from deepnlp.diagnosis.rewriting.evaluator import Frame
from deepnlp.diagnosis.rewriting.functions import Ran
from deepnlp.diagnosis.trace import Trace
from deepnlp.gradcheck.numeric import HostArray

CLOSE = 1e-7
MOST_LINES = 6
_MOST_NODES = 3000
_GRADIENT_OF = re.compile(r"^(?:d|grad_?|g_|delta_?)_?(.+)$")


@dataclass
class Note:
    """A value that a statement of backward stored or returned.

    Attributes
    ----------
    ran : Ran
    statement : ast.stmt
    name : str
        As it is written: ``"self.dW"``, ``"dx[:, t]"``.
    value : array
    verdict : bool or None
        Whether it is right; None if that is not known.
    """

    ran: Ran
    statement: ast.stmt
    name: str
    value: HostArray
    verdict: bool | None = None

    @property
    def is_part(self) -> bool:
        """Whether it was stored in a part of something, or added to it."""
        return "[" in self.name or isinstance(self.statement, ast.AugAssign | ast.Expr)

    @property
    def base(self) -> str:
        """The name without brackets."""
        return self.name.partition("[")[0]

    @property
    def bare(self) -> str:
        """The same without ``self`` before it."""
        return self.base.rpartition(".")[2]


class Located:
    """What is right and what is wrong in a backward.

    Attributes
    ----------
    notes : list of Note
        In the order of time.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        backward = backward_of(problem)
        self.notes = _notes(backward) if backward.ran else []
        trace = problem.trace
        if self.notes and trace is not None and len(trace.nodes) <= _MOST_NODES:
            self._judge(trace, _doubled(backward))

    def _judge(self, trace: Trace, doubled: list[Note]) -> None:
        whole, all_parts = _sorted([trace.adjoint]), _gradients(trace)
        values, own = _sorted([trace.tape.values]), _named(trace)
        right: list[Note] = []
        unfinished = {(id(n.ran), n.base) for n in self.notes if n.is_part}
        if len(doubled) != len(self.notes):
            doubled = self.notes
        for note, other in zip(self.notes, doubled):
            value = note.value
            if not value.any():
                continue
            if numpy.array_equal(value, other.value):  # it does not depend on dy
                note.verdict = _holds(values, value) or None
                continue
            found = _GRADIENT_OF.match(note.bare) if "[" not in note.name else None
            named = own.get((found.group(1), value.shape)) if found else None
            if any(distance(value, one.value) < CLOSE for one in right):
                continue  # that of something else, handed on
            if _holds(whole if named is None else _sorted(named), value):
                note.verdict = True
                right.append(note)
            elif named is not None and (id(note.ran), note.base) not in unfinished:
                note.verdict = None if _holds(all_parts, value) else False

    def _end_of(self, name: str) -> int | None:
        """The number of the note that is a wrong gradient."""
        wrong = self.problem.wrong[name]
        for k in range(len(self.notes) - 1, -1, -1):
            if distance(self.notes[k].value, wrong) < 1e-9:
                return k
        bare = name.rpartition(".")[2]
        for k in range(len(self.notes) - 1, -1, -1):
            found = _GRADIENT_OF.match(self.notes[k].bare)
            if found and found.group(1) == bare:
                return k
        return None

    def _before(self, end: int) -> list[int]:
        """Numbers of the notes from which the value of a note is computed, in order."""
        found, needed = [], _read(self.notes[end])
        for k in range(end - 1, -1, -1):
            note = self.notes[k]
            if note.base in needed or note.ran is not self.notes[end].ran:
                found.append(k)
                needed |= _read(note)
        return found[::-1]

    def suspects(self, name: str) -> list[Note]:
        """The values, in the order of time, of which the first wrong one must be one.

        They are wrong or not known to be right, and nothing that is right is computed from them.
        """
        end = self._end_of(name)
        if end is None:
            return []
        way = [*self._before(end), end]
        self.notes[end].verdict = False
        first = next((k for k in way if self.notes[k].verdict is False), end)
        way = [k for k in way if k <= first]
        cleared: set[int] = set()
        for k in reversed(way):
            if self.notes[k].verdict and k not in cleared:
                cleared |= {k, *self._before(k)}
        bases = {self.notes[k].base for k in way if k not in cleared}
        bases |= _read(self.notes[first])
        return [
            self.notes[k]
            for k in way
            if k not in cleared or (self.notes[k].is_part and self.notes[k].base in bases)
        ]

    def cleared(self) -> set[int]:
        """The statements, by ``id``, in which the mistake cannot be."""
        suspects = {n: self.suspects(n) for n in self.problem.bad}
        if not all(suspects.values()):
            return set()
        kept = {id(note.statement) for notes in suspects.values() for note in notes}
        return {id(note.statement) for note in self.notes} - kept


def located(problem: Problem, name: str) -> str:
    """Where a wrong gradient comes from, for the evidence; empty if that is not known."""
    backward = backward_of(problem)
    if not backward.ran:
        return f"; its lines were not evaluated: {backward.reason}" if backward.reason else ""
    notes = located_in(problem).suspects(name)
    if not notes:
        return ""
    last = notes[-1]
    lines = sorted(
        {n.statement.lineno for n in notes if n.ran is last.ran} - {last.statement.lineno}
    )
    told = f"; `{last.name}` in line {last.statement.lineno} of {last.ran.file} is the first value"
    told += " known to be wrong"
    if lines:
        listed = " or ".join(map(str, lines[-MOST_LINES:]))
        told += f"; the mistake is in this line or in line {listed}"
    return told


def located_in(problem: Problem) -> Located:
    """What is right and wrong in the backward of a problem, found out once."""
    found: Located = problem.recall("located", lambda: Located(problem))
    return found


def _notes(backward: Backward) -> list[Note]:
    """What the statements store while backward is evaluated once."""
    notes: list[Note] = []
    trees = {id(ran.tree): ran for ran in backward.ran}
    evaluator = backward.evaluator

    def note(statement: ast.stmt, frame: Frame) -> None:
        ran = trees.get(id(frame.function.tree))
        if ran is None or len(notes) > 20_000:
            return
        for target in _stored(statement):
            value: Any = evaluator.value(target, frame)
            if isinstance(value, numpy.ndarray | float) and numpy.asarray(value).dtype.kind == "f":
                notes.append(Note(ran, statement, ast.unparse(target), numpy.array(value)))

    evaluator.on_statement = note
    try:
        backward.trials.run()
    finally:
        evaluator.on_statement = None
    return notes


def _doubled(backward: Backward) -> list[Note]:
    """The same for twice the gradient with respect to the outputs."""
    subject = backward.trials.subject
    weights = subject.weights
    subject.weights = [2 * one for one in weights]
    try:
        return _notes(backward)
    finally:
        subject.weights = weights


def _stored(statement: ast.stmt) -> list[Any]:
    """The expressions that name what a statement stores or returns, to be read."""
    found: list[Any] = []
    if isinstance(statement, ast.Assign):
        found = statement.targets
    elif isinstance(statement, ast.AugAssign):
        found = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value  # np.add.at(dW, ids, dy)
        found = call.args[:1] if ast.unparse(call.func).endswith(".at") else []
    elif isinstance(statement, ast.Return) and statement.value is not None:
        found = [statement.value]
    leaves = [e for one in found for e in (one.elts if isinstance(one, ast.Tuple) else [one])]
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    return [one for one in leaves if isinstance(one, kinds) or isinstance(statement, ast.Return)]


def _read(note: Note) -> set[str]:
    """Names that a statement reads, with those of its target where that is changed."""
    inner = ast.walk(note.statement)
    names = [n for n in inner if isinstance(n, ast.Name | ast.Attribute)]
    own = note.base if isinstance(note.statement, ast.Assign) else ""
    return {ast.unparse(n) for n in names} - {own}


def _gradients(trace: Trace) -> HostArray:
    """All numbers that are a gradient, or a part of one: of one use, or of the later ones."""
    adjoint, sums = trace.adjoint, numpy.zeros(trace.tape.size)
    found = [adjoint]
    for node in reversed(trace.nodes):
        parts = node.vjp(adjoint[node.tickets], [v for v, _ in node.operands], node.values)
        for (_, tickets), part, carries in zip(node.operands, parts, node.carries):
            if not carries:
                continue
            whole = numpy.broadcast_to(part, numpy.broadcast_shapes(part.shape, tickets.shape))
            numpy.add.at(sums, numpy.broadcast_to(tickets, whole.shape), whole)
            alone = _summed(whole, tickets.shape)
            found += [sums[tickets], alone]
    return _sorted(found)


def _named(trace: Trace) -> dict[tuple[str, tuple[int, ...]], list[HostArray]]:
    """Gradients of what forward has under a name, by the name and the shape."""
    found: dict[tuple[str, tuple[int, ...]], list[HostArray]] = {}
    held = [(node.site.target or "", node.tickets) for node in trace.nodes]
    held += [(name.rpartition(".")[2], tickets) for name, tickets in trace.variables.items()]
    for name, tickets in held:
        found.setdefault((name, tickets.shape), []).append(trace.adjoint[tickets])
    return found


def _summed(array: HostArray, shape: tuple[int, ...]) -> HostArray:
    """The sums over the axes along which an array of a shape was repeated."""
    array = array.sum(axis=tuple(range(array.ndim - len(shape))))
    axes = tuple(k for k, n in enumerate(shape) if n == 1 and array.shape[k] != 1)
    return array.sum(axis=axes, keepdims=True) if axes else array


def _sorted(arrays: list[HostArray]) -> HostArray:
    return numpy.unique(numpy.concatenate([numpy.ravel(one) for one in arrays]))


def _holds(numbers: HostArray, array: HostArray) -> bool:
    """Whether all entries but zeros are among numbers that are sorted."""
    entries = array[array != 0]
    if not numpy.isfinite(entries).all():
        return False
    place = numpy.searchsorted(numbers, entries).clip(1, len(numbers) - 1)
    apart = numpy.minimum(abs(numbers[place] - entries), abs(numbers[place - 1] - entries))
    return bool((apart <= CLOSE * numpy.abs(entries)).all())

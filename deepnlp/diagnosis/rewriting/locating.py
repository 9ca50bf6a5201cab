"""Where a backward goes wrong: the first of its values that is no gradient of the right pass.

The tape of the forward knows the gradient of every array that forward computes, and what each
operation adds to it. A value of backward is *right* if it is one of these, number by number; it is
*wrong* if named after a value of forward (``dz`` after ``z``) and is neither that gradient nor
a part of one. Of other values, such as parts of a formula, nothing is said. From the wrong gradient
the way goes back over the statements that its value was computed from.
"""

from __future__ import annotations

import ast
import contextlib
import re
from dataclasses import dataclass, field
from typing import Any

import numpy

from deepnlp.backend import HostArray
from deepnlp.diagnosis.derivatives import summed
from deepnlp.diagnosis.evaluating.evaluator import Frame
from deepnlp.diagnosis.mistakes.table import phrase
from deepnlp.diagnosis.problem import Problem, distance
from deepnlp.diagnosis.rewriting.backward import Backward, backward_of
from deepnlp.diagnosis.rewriting.functions import Ran, ran_of
from deepnlp.diagnosis.rewriting.slots import statements
from deepnlp.diagnosis.trace import Trace

CLOSE = 1e-7
MOST_LINES, MOST_BESIDE = 8, 5
_MOST_NODES, _MOST_NOTES = 3000, 4000
_NUMBERS = (numpy.ndarray, numpy.generic, float)
_GRADIENT_OF = re.compile(r"^(?:d|grad_?|g_|delta_?)_?(.+)$")


@dataclass(eq=False)
class Note:
    """A value that a statement of backward stored or returned.

    Attributes
    ----------
    ran : Ran
    statement : ast.stmt
    name : str
        As it is written: ``"self.dW"``, ``"dx[:, t]"``.
    value : array or None
        None for what holds no numbers with a point, such as a size or a mask.
    verdict : bool or None
        Whether it is right; None if that is not known.
    made_from : list of Note
        What stored, or returned, the values that it reads.
    held : int
        A number that is the same for the same array: of the whole, where a part was stored.
    """

    ran: Ran
    statement: ast.stmt
    name: str
    value: HostArray | None
    verdict: bool | None = None
    made_from: list[Note] = field(default_factory=list)
    held: int = 0

    @property
    def is_handed_on(self) -> bool:
        """True if the statement only takes apart, or renames, arrays that exist already."""
        node = self.statement
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Name | ast.Attribute):
            return False
        if isinstance(node.targets[0], ast.Tuple):
            return True
        return self.value is not None and not self.of and "[" not in self.name

    @property
    def is_part(self) -> bool:
        """True if the value was stored in a part of something, or added to it."""
        return "[" in self.name or isinstance(self.statement, ast.AugAssign | ast.Expr)

    @property
    def base(self) -> str:
        """The name without brackets."""
        return self.name.partition("[")[0]

    @property
    def of(self) -> str:
        """The variable of the gradient, by name: ``"W"`` for ``"self.dW"``; may be empty."""
        found = _GRADIENT_OF.match(self.base.rpartition(".")[2])
        return found.group(1) if found else ""


class Located:
    """The right and the wrong values in a backward.

    Attributes
    ----------
    notes : list of Note
        In the order of time.
    ends : list of Note
        Those that are wrong gradients, as far as it was asked for them.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        backward = backward_of(problem)
        self.notes = _notes(backward) if backward.ran else []
        self.ends: list[Note] = []
        trace = problem.trace
        if self.notes and trace is not None and len(trace.nodes) <= _MOST_NODES:
            self._judge(trace)

    def _judge(self, trace: Trace) -> None:
        known, parts = _gradients(trace)
        named = _named(trace)
        later: dict[tuple[int, str], ast.stmt] = {}  # the last statement that stores a name
        unfinished: set[int] = set()
        for note in reversed(self.notes):
            last = later.setdefault((id(note.ran), note.base), note.statement)
            if note.is_part or last is not note.statement:
                unfinished.add(id(note))
        for note in self.notes:
            if note.value is None or not note.value.any():
                continue
            is_named = note.of and "[" not in note.name
            shapes = (note.value.shape, note.value.shape[::-1]) if is_named else ()
            own = [
                array.ravel()
                for shape in dict.fromkeys(shapes)
                for array in named.get((note.of, shape), [])
            ]
            rows = numpy.stack(own) if own else known.get(note.value.size)
            if rows is not None and _is_among(rows, note.value):
                note.verdict = True
            elif own and id(note) not in unfinished and not _holds(parts, note.value):
                note.verdict = False

    def _end_of(self, name: str) -> Note | None:
        """Find the statement that stored a wrong gradient, by its value or its name."""
        wrong, bare = self.problem.wrong[name], name.rpartition(".")[2]
        held, back = _numbers(wrong), self.notes[::-1]
        alike = [n for n in back if n.of == bare]
        shaped = [n for n in alike if n.value is not None and n.value.shape == wrong.shape]
        same = [n for n in back if n.value is not None and distance(n.value, wrong) < 1e-9]
        orders = (
            [n for n in same if n.of == bare],
            same,
            [n for n in back if n.held == held],
            [n for n in alike if n.is_part or n in shaped],
            [n for n in back if isinstance(n.statement, ast.Return)],
            alike,
        )
        return next((notes[0] for notes in orders if notes), None)

    def suspects(self, name: str) -> list[Note]:
        """The first value that is known to be wrong, then those that it is computed from.

        These end with values that are right: of what these were computed from, nothing is wrong.
        """
        end = self._end_of(name)
        if end is None:
            return []
        end.verdict = False
        self.ends.append(end)
        wrong = [n for n in _above(end) if n.verdict is False]
        bare = name.rpartition(".")[2]  # what has its name may be a part of it: dx + dy
        first = min((n for n in wrong if n is end or n.of != bare), key=self.notes.index)
        return _above(first, until=lambda note: note.verdict is True)

    def cleared(self) -> set[int]:
        """The statements, by ``id``, in which the mistake cannot be."""
        suspects = {n: self.suspects(n) for n in self.problem.bad}
        if not all(suspects.values()):
            return set()
        kept = {id(note.statement) for notes in suspects.values() for note in notes}
        return {id(note.statement) for note in self.notes} - kept


def _above(note: Note, until: Any = lambda _: False) -> list[Note]:
    """A note and what its value was computed from, the nearest first; up to some."""
    found, waiting = {id(note): note}, [note]
    for one in waiting:
        for source in one.made_from if one is note or not until(one) else ():
            if id(source) not in found:
                found[id(source)] = source
                waiting.append(source)
    return waiting


def located(problem: Problem, name: str, quoted: str = "") -> str:
    """Where a wrong gradient comes from, for the evidence.

    Parameters
    ----------
    problem : Problem
    name : str
    quoted : str
        A line that is quoted already: ``"file.py:12: dx = dy"``.
    """
    backward = backward_of(problem)
    if not backward.ran:
        return _stored_at(problem, name, backward.reason)
    notes = located_in(problem).suspects(name)
    if not notes:
        return ""
    first, file = notes[0], notes[0].ran.file
    own, *others = _lines([n for n in notes if n is first or not n.is_handed_on])
    if not problem.wrong[name].any():  # it may not be handed over
        others += [n.lineno for n in ast.walk(first.ran.tree) if isinstance(n, ast.Return)]
    if len(problem.subject.weights) > 1:  # their gradients may be taken in another order
        others.append(first.ran.tree.lineno)
    if quoted:
        lines = [own, *others, *(end.statement.lineno for end in located_in(problem).ends)]
        here_too = re.match(rf"{re.escape(file)}:(\d+):", quoted)
        number = int(here_too[1]) if here_too else own
        near = sorted(set(lines) - {number}, key=lambda n: abs(n - number))[:MOST_BESIDE]
        return phrase("also_at", lines=_listed(sorted(near))) if near else ""
    listed = _listed(others[:MOST_LINES])
    told = phrase("first_wrong", value=first.name, line=own, file=file)
    return told + (phrase("or_before", lines=listed) if listed else "")


def _lines(notes: list[Note]) -> list[int]:
    """The lines of statements, function by function, the nearest to the first one first.

    With them stand the loops and conditions around them, and a ``pass``, where something may be
    missing.
    """
    found: list[int] = []
    for ran in {id(note.ran): note.ran for note in notes}.values():
        known = {id(note.statement): note.statement for note in notes if note.ran is ran}
        around = [n for n in ast.walk(ran.tree) if isinstance(n, ast.For | ast.While | ast.If)]
        around = [n for n in around if any(id(one) in known for one in ast.walk(n))]
        own = [k for n in known.values() for k in range(n.lineno, (n.end_lineno or n.lineno) + 1)]
        own += [n.lineno for n in ast.walk(ran.tree) if isinstance(n, ast.Pass)]
        found += [k for _, k in sorted((abs(k - own[0]), k) for k in own)]
        found += [n.lineno for n in around[::-1]]
    return list(dict.fromkeys(found))


def _listed(lines: list[int]) -> str:
    return ", ".join(f"line {n}" for n in lines)


def _stored_at(problem: Problem, name: str, reason: str) -> str:
    """The line that stores or returns a gradient, by its name; why no more is known."""
    given = problem.subject.caller.code
    found = (given.in_torch and given.in_torch[1]) or given.backward or given.forward
    found = getattr(found, "function", found)  # of an operation of an engine
    if given.backward is None:  # which may be an object such as Exp()
        found = getattr(getattr(found, "__self__", None), "backward", found)
    code = getattr(getattr(found, "__func__", found), "__code__", None)
    ran = None if code is None else ran_of(code)
    told = phrase("not_evaluated", reason=reason) if reason else ""
    if ran is None:
        return told
    ends = [one.node for one in statements(ran.tree) if not isinstance(one.node, ast.FunctionDef)]
    notes = [Note(ran, s, ast.unparse(target), None) for s in ends for target in _stored(s)]
    alike = [one for one in notes if one.of == name.rpartition(".")[2]] or notes
    if not alike:
        return told
    line = alike[-1].statement.lineno
    return phrase("stored_at", name=name, line=line, file=ran.file) + told


def located_in(problem: Problem) -> Located:
    """Locate what is right and wrong in the backward of a problem, once."""
    found: Located = problem.recall("located", lambda: Located(problem))
    return found


# --- What backward computes -----------------------------------------------------------------------


def _notes(backward: Backward) -> list[Note]:
    """Return the values that the statements store while backward is evaluated once."""
    notes: list[Note] = []
    trees = {id(ran.tree): ran for ran in backward.ran}
    evaluator = backward.evaluator
    stored: dict[Any, list[Note]] = {}  # what a name holds, and what was added to it
    holding: dict[int, Note] = {}  # the last that gave an array, by its numbers
    returned: list[Note] = []  # by functions that were called and not yet used

    def key(ran: Ran, name: str) -> Any:
        return name if "." in name else (id(ran), name)

    def sources(ran: Ran, frame: Frame, name: str, node: Any) -> list[Note]:
        found = stored.get(key(ran, name), [])
        if not found:  # it was handed over, or is known under another name
            with contextlib.suppress(Exception):
                value = evaluator.value(node, frame)
                found = [holding[_numbers(value)]] if _is_real(value) else []
        return found

    def note(statement: ast.stmt, frame: Frame) -> None:
        ran = trees.get(id(frame.function.tree))
        if ran is None or len(notes) > _MOST_NOTES:
            return
        called = [one for one in returned if one.ran is not ran]
        returned[:] = [one for one in returned if one.ran is ran]
        for target in _stored(statement):
            names = _read(target if isinstance(statement, ast.Return) else statement)
            made_from = [n for pair in names.items() for n in sources(ran, frame, *pair)] + called
            whole = target
            while isinstance(whole, ast.Subscript):
                whole = whole.value
            try:
                value, held = evaluator.value(target, frame), evaluator.value(whole, frame)
            except Exception:  # what an append is made to, say, may be read no more
                continue
            array = numpy.array(value) if _is_real(value) else None
            one = Note(ran, statement, ast.unparse(target), array, made_from=made_from)
            before = stored.get(key(ran, one.base), [])[-64:] if one.is_part else []
            stored[key(ran, one.base)] = [*before, one]
            notes.append(one)
            if _is_real(held):
                one.held = _numbers(held)
                holding[one.held] = one
            if isinstance(statement, ast.Return):
                returned.append(one)

    evaluator.on_statement = note
    try:
        backward.trials.run()
    finally:
        evaluator.on_statement = None
    return notes


def _is_real(value: Any) -> bool:
    return isinstance(value, _NUMBERS) and numpy.asarray(value).dtype.kind == "f"


def _numbers(array: Any) -> int:
    """The same for arrays that hold the same."""
    return hash((numpy.shape(array), numpy.asarray(array).tobytes()))


def _stored(statement: ast.stmt) -> list[Any]:
    """The expressions that name what a statement stores or returns, to be read."""
    found: list[Any] = []
    if isinstance(statement, ast.Assign):
        found = statement.targets
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        found = [statement.target]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value  # np.clip(dW, -1, 1, out=dW), np.add.at(dW, ids, dy), dxs.append(dx)
        is_at = ast.unparse(call.func).endswith(".at")
        out = [one.value for one in call.keywords if one.arg == "out"]
        found = out or (call.args[:1] if is_at else [getattr(call.func, "value", None)])
    elif isinstance(statement, ast.Return) and statement.value is not None:
        found = [statement.value]
    leaves = [e for one in found for e in (one.elts if isinstance(one, ast.Tuple) else [one])]
    kinds = (ast.Name, ast.Attribute, ast.Subscript)
    return [one for one in leaves if isinstance(one, kinds) or isinstance(statement, ast.Return)]


def _read(statement: ast.AST) -> dict[str, ast.AST]:
    """Return the names that a statement reads, with its target where this is changed."""
    whole: list[Any] = [statement]
    if isinstance(statement, ast.Assign):
        slices = [n.slice for t in statement.targets for n in ast.walk(t)
                  if isinstance(n, ast.Subscript)]  # fmt: skip
        whole = [statement.value, *slices]
    inner = [n for one in whole for n in ast.walk(one)]
    return {ast.unparse(n): n for n in inner if isinstance(n, ast.Name | ast.Attribute)}


# --- What the right pass computes -----------------------------------------------------------------


def _gradients(trace: Trace) -> tuple[dict[int, HostArray], HostArray]:
    """Gradients of all arrays of forward, by size, one in a row; and, sorted, all numbers that are
    a gradient or a part of one: of one use, or of the later ones.
    """
    adjoint, sums = trace.adjoint, numpy.zeros(trace.tape.size)
    arrays = [*trace.variables.values(), *trace.outputs]
    numbers = [adjoint]
    for node in reversed(trace.nodes):
        arrays += [node.tickets] if node.op != "negative" else []
        parts = node.vjp(adjoint[node.tickets], [v for v, _ in node.operands], node.values)
        for (_, tickets), part, carries in zip(node.operands, parts, node.carries):
            if not carries:
                continue
            arrays.append(tickets)
            whole = numpy.broadcast_to(part, numpy.broadcast_shapes(part.shape, tickets.shape))
            numpy.add.at(sums, numpy.broadcast_to(tickets, whole.shape), whole)
            numbers += [sums[tickets], summed(whole, tickets.shape)]
    found: dict[int, list[HostArray]] = {}
    for tickets in arrays:
        found.setdefault(tickets.size, []).append(adjoint[tickets].ravel())
    rows = {size: numpy.stack(arrays) for size, arrays in found.items()}
    return rows, numpy.unique(numpy.concatenate([one.ravel() for one in numbers]))


def _named(trace: Trace) -> dict[tuple[str, tuple[int, ...]], list[HostArray]]:
    """Gradients of what forward has under a name, by the name and the shape."""
    found: dict[tuple[str, tuple[int, ...]], list[HostArray]] = {}
    held = [(node.site.target or "", node.tickets) for node in trace.nodes]
    held += [(name.rpartition(".")[2], tickets) for name, tickets in trace.variables.items()]
    for name, tickets in held:
        found.setdefault((name, tickets.shape), []).append(trace.adjoint[tickets])
    return found


def _is_among(rows: HostArray, array: HostArray) -> bool:
    """Return whether a row holds the numbers of an array in the same order, or transposed."""
    limit = CLOSE * float(numpy.abs(array).max())
    for flat in (array.ravel(), array.T.ravel())[: max(array.ndim, 1)]:
        near = rows[numpy.abs(rows[:, 0] - flat[0]) <= limit]  # most rows differ at once
        if (numpy.abs(near - flat) <= limit).all(axis=1).any():
            return True
    return False


def _holds(numbers: HostArray, array: HostArray) -> bool:
    """Return whether all entries but zeros are among numbers that are sorted."""
    entries = array[array != 0]
    if not numpy.isfinite(entries).all():
        return False
    place = numpy.searchsorted(numbers, entries).clip(1, len(numbers) - 1)
    apart = numpy.minimum(abs(numbers[place] - entries), abs(numbers[place - 1] - entries))
    return bool((apart <= CLOSE * numpy.abs(entries)).all())

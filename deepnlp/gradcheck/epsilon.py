"""Small constants in code, as in ``log(y + 1e-12)``, that shift a gradient a little."""

import dis
import inspect
from collections.abc import Iterator
from types import CodeType
from typing import Any

from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.report import Row
from deepnlp.gradcheck.rules import EPSILON, LARGEST, SHIFT
from deepnlp.gradcheck.subject import Subject
from deepnlp.gradcheck.walking import places


def note_epsilon(subject: Subject, rows: list[Row]) -> None:
    """Note gradients that are off by no more than a small constant of the code accounts for."""
    wrong = [row for row in rows if row.is_wrong and row.fits and 0 < row.error <= LARGEST]
    constants = sorted({*_constants(subject)}) if wrong else []
    for row in wrong:
        near = [told for size, told in constants if row.error <= SHIFT * size]
        if near:
            row.noted = say("epsilon", error=row.error, constant=near[0])


def _constants(subject: Subject) -> Iterator[tuple[float, str]]:
    """The small constants in the lines and functions of a subject, and those that it holds."""
    lines = subject.caller.lines
    owners = [holder.owner for holder in subject.found] if lines is None else []
    codes = [o.__code__ for o in owners if inspect.isfunction(o)] if lines is None else lines.codes
    for code in codes:
        yield from _in_code(code)
    for _, key, value in places(subject.found):
        if _is_small(value):
            yield float(value), f"{key} = {value:.0e}"


def _in_code(code: CodeType) -> Iterator[tuple[float, str]]:
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield from _in_code(inner)
    for instruction in dis.get_instructions(code) if any(map(_is_small, code.co_consts)) else ():
        at = instruction.positions
        if _is_small(instruction.argval) and at is not None:
            yield instruction.argval, f"{instruction.argval:.0e} of line {at.lineno}"


def _is_small(value: Any) -> bool:
    return isinstance(value, float) and 0 < value < EPSILON

"""Numbers that a lesson's text quotes from its cells, marked ``1.10<!--= np.log(3) -->``.

A mark is an HTML comment after a number, and so invisible. It holds a Python expression, which the
builder evaluates where the text stands, that is after the code cells above it. The number has to be
that value, rounded to the digits that are printed; after ``61 ± 1`` it may be off by 1, for numbers
that another processor or another seed moves. An expression that is true or false needs no
number before it and has to be true: ``the LSTM is ahead<!--= lstm < rnn -->``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from notebooks.folding import is_solution

MARK = re.compile(r"<!--=\s*(?P<expression>.+?)\s*-->", re.DOTALL)
NUMBER = re.compile(
    r"(?<![\w.^{])(?P<sign>(?<![\w)])[-−])?"
    r"(?:(?P<digits>\d[\d,]*(?:\.\d+)?)"
    r"(?:e(?P<e>[-+]?\d+)|\s*(?:\\cdot|\\times|×)\s*10\^\{(?P<power>-?\d+)\})?"
    r"|10\^\{(?P<alone>-?\d+)\})"
    r"(?P<tail>[^\d]{0,20})\Z"
)
PLUS_MINUS = re.compile(r"(?P<digits>\d[\d,]*(?:\.\d+)?)\s*±\s*\Z")
TAG = "quoted"


class QuotedError(Exception):
    """The text of a lesson quotes what its cells did not give."""


@dataclass(frozen=True)
class Mark:
    """A quoted number: the expression it comes from, and how it is printed.

    Attributes
    ----------
    expression : str
    shown : str
        The number and what stands between it and the mark; empty where there is no number.
    value : float or None
        In the unit of the expression: 0.43 where the text says 43 %.
    half_digit : float
        Half of the last digit printed, or what stands after ±, in the same unit.
    """

    expression: str
    shown: str = ""
    value: float | None = None
    half_digit: float = 0.0


def marks(text: str) -> list[Mark]:
    """The marks of a text, in order.

    Examples
    --------
    >>> [(mark.shown, mark.value) for mark in marks("43 %<!--= share --> of 1,024<!--= n -->")]
    [('43 %', 0.43), ('1,024', 1024.0)]
    """
    found, begin = [], 0
    for comment in MARK.finditer(text):
        number = NUMBER.search(text, begin, comment.start())
        expression = " ".join(comment["expression"].split())
        middle = PLUS_MINUS.search(text, begin, number.start()) if number else None
        found.append(_mark(expression, number, middle) if number else Mark(expression))
        begin = comment.end()
    return found


def _mark(expression: str, number: re.Match[str], middle: re.Match[str] | None) -> Mark:
    digits = (number["digits"] or "1").replace(",", "")
    exponent = int(number["e"] or number["power"] or number["alone"] or 0)
    exponent -= 2 if re.match(r"\s*(\\?%|per cent)", number["tail"]) else 0
    decimals = len(digits.partition(".")[2])
    value = float(f"{'-' if number['sign'] else ''}{digits}e{exponent}")
    if middle:
        shown = f"{middle[0]}{number[0]}".strip()
        return Mark(
            expression, shown, float(f"{middle['digits'].replace(',', '')}e{exponent}"), value
        )
    return Mark(expression, number[0].strip(), value, float(f"0.5e{exponent - decimals}"))


def complaint(mark: Mark, value: float | bool) -> str | None:
    """What is wrong with a quoted number, if anything is.

    Examples
    --------
    >>> (mark,) = marks("a loss of 1.8<!--= loss -->")
    >>> complaint(mark, 1.83)
    >>> complaint(mark, 1.0986)
    'the text says 1.8, and loss is 1.0986'
    """
    if isinstance(value, bool):
        return None if value else f"{mark.expression} does not hold"
    if mark.value is None:
        return f"no number stands before the mark of {mark.expression}, which is {value:.6g}"
    if abs(value - mark.value) <= mark.half_digit * (1 + 1e-9):
        return None
    return f"the text says {mark.shown}, and {mark.expression} is {value:.6g}"


def add_probes(notebook: Any) -> None:
    """After each text with marks put a code cell that prints the values of their expressions."""
    from nbformat.v4 import new_code_cell

    cells: list[Any] = []
    for cell in notebook.cells:
        cells.append(cell)
        found = marks(cell.source) if cell.cell_type == "markdown" else []
        if found:
            values = ",\n ".join(f"({mark.expression})" for mark in found)
            numbers = f"[getattr(_, 'item', lambda _=_: _)() for _ in [\n {values}]]"
            source = f"print(__import__('json').dumps({numbers}))"
            cells.append(new_code_cell(source, metadata={"tags": [TAG]}))
    notebook.cells = cells


def take_probes(notebook: Any) -> None:
    """Take the cells of :func:`add_probes` out again, their values into the metadata."""
    values: list[Any] = []
    for cell in notebook.cells:
        if TAG in cell.metadata.get("tags", []):
            values += json.loads("".join(output.text for output in cell.outputs))
    notebook.cells = [c for c in notebook.cells if TAG not in c.metadata.get("tags", [])]
    named = zip(_places(notebook), values, strict=True)
    notebook.metadata["quoted"] = [place | {"value": value} for place, value in named]


def keep_values(notebook: Any, last: Sequence[dict[str, Any]]) -> None:
    """Give a notebook the values of its last run, for a text that quotes nothing new."""
    known = {(one["after"], one["expression"]): one["value"] for one in last}
    kept = notebook.metadata["quoted"] = []
    for place in _places(notebook):
        if (place["after"], place["expression"]) not in known:
            raise QuotedError(f"{place['expression']} was never evaluated: the lesson has to run")
        kept.append(place | {"value": known[place["after"], place["expression"]]})


def _places(notebook: Any) -> list[dict[str, Any]]:
    """The expressions of a notebook's marks, each with the number of code cells above it."""
    found, above = [], 0
    for cell in notebook.cells:
        if cell.cell_type == "code" or is_solution(cell):
            above += 1
        else:
            found += [{"after": above, "expression": m.expression} for m in marks(cell.source)]
    return found


def complaints(notebook: Any) -> list[str]:
    """What a notebook's text quotes otherwise than its cells gave it."""
    texts = [c.source for c in notebook.cells if c.cell_type == "markdown" and not is_solution(c)]
    found, values = [mark for text in texts for mark in marks(text)], notebook.metadata["quoted"]
    if [mark.expression for mark in found] != [one["expression"] for one in values]:
        return ["the marks of the text are not those that were evaluated"]
    said = (complaint(mark, one["value"]) for mark, one in zip(found, values))
    return [text for text in said if text]

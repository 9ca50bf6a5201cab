"""How long a lesson takes to work through: ``python -m notebooks.minutes``.

A heading that ends in ``· further`` marks what a reader may skip: a section, up to the next heading
of its rank or a higher one, or an exercise, up to its check. All else is the core. Minutes are
estimated with the rates below, from two readers new to the field who worked through lessons 1, 2
and 5. For all exercises of these the slower one took 293 minutes, and 20 more at a message that has
been mended since; the rates give 284. For reading he took 138, 137 and 150 minutes, in which he
wrote 2,200 to 3,100 words of notes; less 55 minutes for these (40 words a minute) that is close to
what the rates give: 82, 78 and 80.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from notebooks.folding import is_solution
from notebooks.quoted import MARK

WORDS, WORDS_WITH_FORMULAS = 125, 65  # a minute
DISPLAYED = FIGURE = 1.5  # minutes for a displayed equation, and for a figure
CODE = 0.15  # a line
EXERCISE = {"★": 4, "★★": 10, "★★★": 17}
MOST = 90  # minutes for the core
FURTHER, END = "· further", "What to read next"
IMPORTS = ("import ", "from ")

HEADING = re.compile(r"(?m)^(#+) (.*)$")
SAID = re.compile(
    r"\*Time\.\*\s+Core:\s+(?P<core>\d+)\s+minutes,\s+(?P<run>\d+)\s+of\s+them\s+for\s+running"
    r"(?:[^;]*;\s+further:\s+(?P<further>\d+)\s+more)?"
)


@dataclass
class Piece:
    """A part of a lesson.

    Attributes
    ----------
    title : str
        Of the heading that it stands under.
    further : bool
        Whether a reader may skip it.
    minutes : float
    """

    title: str
    further: bool
    minutes: float = 0.0


def pieces(notebook: Any) -> list[Piece]:
    """The parts of a built lesson between its headings and checks, with their minutes."""
    open_ranks: dict[int, Piece] = {}  # the sections that we are in
    found: list[Piece] = []
    for cell in notebook.cells:
        if is_solution(cell):
            continue
        if cell.cell_type == "code":
            if 'check("' in cell.source and found[-1].title.startswith("Exercise"):
                section = open_ranks[max(open_ranks)]
                found.append(Piece(section.title, section.further))
            else:
                found[-1].minutes += _of_code(cell)
            continue
        for rank, title, text in _split(MARK.sub("", cell.source)):
            if title == END:  # a list of books is not part of the work
                return found
            if title:
                above = [piece for k, piece in open_ranks.items() if k < rank]
                further = title.endswith(FURTHER) or any(piece.further for piece in above)
                found.append(Piece(title, further))
                if stars := re.match(r"Exercise \S+ (★+)", title):
                    found[-1].minutes += EXERCISE[stars[1]]
                    continue  # its text is among these minutes
                open_ranks = {k: piece for k, piece in open_ranks.items() if k < rank}
                open_ranks[rank] = found[-1]
            found[-1].minutes += _of_text(text)
    return found


def minutes(notebook: Any) -> tuple[float, float]:
    """Minutes for the core of a built lesson, its running included, and for the rest."""
    parts = pieces(notebook)
    core, further = (
        sum(part.minutes for part in parts if part.further == skipped) for skipped in (False, True)
    )
    return core + said(notebook).get("run", 0), further


def said(notebook: Any) -> dict[str, int]:
    """What a lesson says itself of its time, in minutes: ``core``, ``run`` and ``further``."""
    match = SAID.search(notebook.cells[0].source)
    return {name: int(value or 0) for name, value in match.groupdict().items()} if match else {}


def main() -> int:
    """Print the minutes of every lesson, part by part."""
    import nbformat

    from notebooks.build import sources

    for source in sources(sys.argv[1:]):
        notebook = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
        for piece in pieces(notebook):
            print(f"{piece.minutes:6.1f} {'further' if piece.further else '':8}{piece.title}")
        core, further = minutes(notebook)
        print(f"{source.stem}: core {core:.0f} minutes, further {further:.0f}")
    return 0


def _split(text: str) -> Iterator[tuple[int, str, str]]:
    """Rank, title and text below it of each heading; first what stands before any heading."""
    before, *parts = re.split(HEADING, text)
    if before:
        yield 0, "", before
    for rank, title, below in zip(*[iter(parts)] * 3, strict=True):
        yield len(rank), title, below


def _of_text(text: str) -> float:
    total = 0.0
    for paragraph in re.split(r"\n\s*\n", text):
        words, displayed = re.subn(r"\$\$.*?\$\$", " ", paragraph, flags=re.DOTALL)
        words, inline = re.subn(r"\$[^$]+\$", " x ", words)
        rate = WORDS_WITH_FORMULAS if inline or displayed else WORDS
        total += len(words.split()) / rate + displayed * DISPLAYED
    return total


def _of_code(cell: Any) -> float:
    lines = sum(
        1 for line in cell.source.splitlines() if line.strip() and not line.startswith(IMPORTS)
    )
    figures = sum("image/png" in output.get("data", {}) for output in cell.outputs)
    return CODE * lines + FIGURE * figures


if __name__ == "__main__":
    sys.exit(main())

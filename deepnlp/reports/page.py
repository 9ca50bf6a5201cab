"""A page in one HTML file: figures, tables, coloured texts. What is text is escaped here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from html import escape
from itertools import islice
from os import PathLike
from pathlib import Path
from string import Template
from urllib.parse import quote

from matplotlib.figure import Figure

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import write_whole
from deepnlp.plots.display import as_svg, described

TEMPLATE = Template(Path(__file__).with_name("page.html").read_text("utf-8"))
RETURN = "↵"  # stands for the end of a line
LARGEST = 1_500_000  # letters of what can be chosen at a place, so that a page stays below 3 MB

Part = Callable[[], str]


def write_page(
    path: str | PathLike[str], title: str, verdict: Iterable[str], parts: Mapping[str, Part]
) -> Path:
    """Write a page, whole; a part that says nothing, or cannot be, is left out.

    A part may ask for what a run, a task or a model has not, and so raise an error.

    Parameters
    ----------
    path : str or path
    title : str
    verdict : iterable of str
        Sentences that stand at the top.
    parts : mapping of str to callable
        By heading what gives the HTML below it.

    Returns
    -------
    path
    """
    sections = []
    for heading, part in parts.items():
        with suppress(AttributeError, TypeError, ValueError, OSError, DeepNLPError):
            if body := part():
                sections.append(f"<section><h2>{escape(heading)}</h2>\n{body}</section>")
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in verdict)
    content = {"title": escape(title), "verdict": said, "sections": "\n".join(sections)}
    write_whole(path, TEMPLATE.substitute(content))
    return Path(path)


def picture(figure: Figure) -> str:
    """A figure as an image, which a screen reader is told in words."""
    svg = " ".join(as_svg(figure).split()).replace('"', "'")
    data = f"data:image/svg+xml,{quote(svg, safe=' <>/=:;,.()!?*+-_')}"
    width, words = round(96 * figure.get_size_inches()[0]), escape(described(figure))
    style = f"width:{width}px;min-width:min({width}px,36rem)"
    image = f'<img alt="{words}" style="{style}" src="{data}">'
    return f'<div class="wide" tabindex="0" role="group" aria-label="Picture">{image}</div>'


def table(headings: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> str:
    """A table; a number stands right in its column."""
    names = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    region = f'<div class="wide" tabindex="0" role="group" aria-label="{escape(caption)}">'
    head = f"<caption>{escape(caption)}</caption><thead><tr>{names}</tr></thead>"
    return f"{region}<table>{head}\n<tbody>{body}</tbody></table></div>" if body else ""


def _cell(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"<td>{escape(str(value))}</td>"
    text = f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
    return f'<td class="number">{text}</td>'


def choice(label: str, panels: Iterable[tuple[str, str]]) -> str:
    """Panels of which one is shown, and what chooses it; all of them where scripts do not run."""
    names, shown = [], ""
    for name, body in panels:
        names.append(f"<option>{escape(name)}</option>")
        shown += f'<div role="group" aria-label="{escape(name)}">{body}</div>\n'
        if len(shown) > LARGEST:
            break
    select = f"<label>{escape(label)} <select>{''.join(names)}</select></label>"
    return f'<div class="choice">{select}\n{shown}</div>' if names else ""


def coloured(pieces: Iterable[str], styles: Sequence[str], notes: Sequence[str]) -> str:
    """A text in pieces, each with a style, ``--s`` from 0 to 1 for how strong, and a note.

    What the pieces hold before the first token, nothing, is passed over.
    """
    spans = [
        f'<span style="{style}" data-note="{escape(note)}">{escape(piece)}</span>'
        for piece, style, note in zip(islice(pieces, 1, None), styles, notes)
    ]
    text = "".join(spans).replace("\n", f"{RETURN}<br>")
    told = "Point at a word, or move with the arrow keys."
    region = f'<p class="text" tabindex="0" role="application" aria-label="Text">{text}</p>'
    return f'<div class="coloured"><p class="note" role="status">{told}</p>{region}</div>'

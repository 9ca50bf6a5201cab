"""Tables of text, for reports that a person reads."""

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows of text under headings, each column as wide as its widest entry.

    A column is aligned to the right where its heading begins with ``>``.

    >>> print(table(["layer", ">error"], [["Affine", "1e-16"], ["LSTM", "3e-15"]]))
    layer   error
    ------  -----
    Affine  1e-16
    LSTM    3e-15
    """
    pads = [str.rjust if heading.startswith(">") else str.ljust for heading in headings]
    names = [heading.removeprefix(">") for heading in headings]
    body = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *body, strict=True)]
    lines = [names, ["-" * width for width in widths], *body]
    aligned = [[pad(cell, n) for pad, cell, n in zip(pads, line, widths)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in aligned)

"""Tables of results: as text for a terminal, as Markdown for the page."""

from __future__ import annotations

from dataclasses import dataclass

from deepnlp.files.tables import table


@dataclass(frozen=True)
class Table:
    """A table with a title.

    Parameters
    ----------
    title : str
    headings : list of str
        One that begins with ``>`` stands, with its column, to the right.
    rows : list of list of str

    Examples
    --------
    >>> found = Table("Steps", ["H", ">ms"], [["100", "41.0"]])
    >>> print(found.text())
    Steps
    <BLANKLINE>
    H      ms
    ---  ----
    100  41.0
    >>> print(found.markdown())
    | H | ms |
    |---|---:|
    | 100 | 41.0 |
    """

    title: str
    headings: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        """For a terminal."""
        return f"{self.title}\n\n{table(self.headings, self.rows)}"

    def markdown(self) -> str:
        """For a page, without the title."""
        names = [heading.removeprefix(">") for heading in self.headings]
        rule = ["---:" if heading.startswith(">") else "---" for heading in self.headings]
        lines = [f"| {' | '.join(cells)} |" for cells in (names, *self.rows)]
        return "\n".join([lines[0], f"|{'|'.join(rule)}|", *lines[1:]])


def number(value: float | None) -> str:
    """A measured number with as many digits as it deserves.

    Returns
    -------
    str
        ``-`` for None.

    Examples
    --------
    >>> [number(x) for x in (12345.6, 52.34, 4.567, 0.01234, -1e-5, None)]
    ['12,346', '52.3', '4.57', '0.012', '0.000', '-']
    """
    if value is None:
        return "-"
    if value == 0:
        return "0"
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{round(value, digits) + 0.0:,.{digits}f}"  # + 0.0 takes the sign off a zero

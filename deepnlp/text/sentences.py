"""Cutting raw English into sentences."""

import re

# An end mark, closing quotes or brackets, white space, and then something that can begin a
# sentence: a capital, a digit, an underscore, perhaps inside quotes or brackets.
BOUNDARY = re.compile(r"""([.!?]["'”’)\]]*)\s+(?=["'“‘(\[]?[A-Z0-9_])""")
PARAGRAPH = re.compile(r"\n\s*\n")
NO_BOUNDARY = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|Mrs?|Ms|Dr|Prof|St|Fig|Eq|Sec|No)|\b[A-Z])\.$")


def sentences(text: str) -> list[str]:
    r"""Cut raw text into sentences, each on one line.

    A blank line always ends a sentence. Inside a paragraph a full stop, an exclamation or a
    question mark ends one where what follows can begin the next; abbreviations (``e.g.``, ``Dr.``)
    and initials do not.

    Parameters
    ----------
    text : str
        Raw text; line breaks inside a paragraph count as spaces.

    Returns
    -------
    list of str
        Sentences without surrounding white space, none of them empty.

    Examples
    --------
    >>> sentences("Dr. No came, e.g. At noon. He\nleft.\n\nA title")
    ['Dr. No came, e.g. At noon.', 'He left.', 'A title']
    """
    found = []
    for paragraph in PARAGRAPH.split(text):
        line = " ".join(paragraph.split())
        start = 0
        for boundary in BOUNDARY.finditer(line):
            candidate = line[start : boundary.end(1)]
            if not NO_BOUNDARY.search(candidate):
                found.append(candidate)
                start = boundary.end()
        if start < len(line):
            found.append(line[start:])
    return found

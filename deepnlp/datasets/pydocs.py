"""The corpus that needs no download: the English that every Python installation carries.

It is made of the language reference's topics (``pydoc_data.topics``) and of the docstrings of the
standard library. Source files are parsed, never imported. The text depends on the
version of Python and on what the installation includes, so logs state its fingerprint. Python in a
browser has no topics; there, a small part of that text is read from ``pydocs.txt.gz``.
"""

import ast
import functools
import gzip
import importlib.util
import re
import sysconfig
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypeVar

from deepnlp.datasets.corpus import SPLITS
from deepnlp.text import sentences
from deepnlp.text.tokenisers import split_words

Words = tuple[str, ...]
Sentence = TypeVar("Sentence")

#: Parts of a path that hold no documentation of the standard library: installed packages, tests,
#: compiled files, and ``encodings``, whose docstrings are generated.
SKIPPED = frozenset(
    ["site-packages", "dist-packages", "test", "tests", "idle_test", "encodings", "pydoc_data"]
)

RULER = re.compile(r"^[\W_]*$")  # a line without a letter or a digit: blank, underline, table rule
ITEM = re.compile(r"^\s*(?:[*+•-]|\d+[.)]|\(\w\))\s+|^\s*\S+\s+(?:--|-|:)\s")
BULLET = re.compile(r"^\s*(?:[*+•-]|\d+[.)]|\(\w\))\s+")
CODE = re.compile(r"^\s*(?:>>>|\.\.\. )|::=|^\s*[|+]")  # a doctest, a grammar, a table
ROLE = re.compile(r":[a-z:]+:`([^`]*)`")
BACKQUOTES = re.compile(r"`+([^`]+)`+(?:_+)?")
STARRED = re.compile(r"(?<![\w*])\*{1,2}([^\s*](?:[^*\n]*[^\s*])?)\*{1,2}(?![\w*])")
WORD = re.compile(r"[a-z]+(?:[-'’][a-z]+)*|n't|'[a-z]+")

#: At least this share of a sentence's tokens, punctuation apart, are plain words; a sentence with
#: fewer is taken for code.
PLAIN_SHARE = 0.5
PUNCTUATION = frozenset(["()", *"()[]{}\"'`.,:;!?“”‘’*-", "...", "--"])
#: A sentence with more tokens than this is kept once; shorter ones ("Return a string.") repeat.
REPEATABLE = 5
#: Of a hundred documents, how many go to the test and to the validation split.
TEST_SHARE, VALID_SHARE = 7, 7


def split_of(document: str) -> str:
    """Split that a module or a topic belongs to, by a checksum of its name.

    >>> split_of("collections"), split_of("collections") == split_of("collections")
    ('train', True)
    """
    place = zlib.crc32(document.encode("utf-8")) % 100
    valid = "valid" if place < TEST_SHARE + VALID_SHARE else "train"
    return "test" if place < TEST_SHARE else valid


def documents() -> Iterator[tuple[str, str]]:
    """Return names and texts of all modules and topics, in the order of their names.

    >>> name, text = next(documents())
    >>> name
    'topics.assert'
    """
    from pydoc_data.topics import topics

    for topic in sorted(topics):
        # Topics put literals in double quotes where the reference has reST's backquotes.
        yield f"topics.{topic}", topics[topic].replace('"', "")
    library = Path(sysconfig.get_paths()["stdlib"])
    sources = sorted(library.rglob("*.py"), key=lambda path: path.relative_to(library).parts)
    if not sources:
        raise FileNotFoundError(
            f"the pydocs corpus is read from the sources of the standard library, and {library}"
            " holds none: use a Python installed with its .py files, or another corpus"
        )
    for path in sources:
        parts = path.relative_to(library).with_suffix("").parts
        if SKIPPED.isdisjoint(parts):
            yield ".".join(parts), "\n\n".join(docstrings(path.read_bytes()))


def has_sources() -> bool:
    """Return whether this Python carries its documentation; the one in a browser does not."""
    return importlib.util.find_spec("pydoc_data") is not None


def kept() -> Iterator[tuple[str, list[str]]]:
    """Return names and sentences of the documents in ``pydocs.txt.gz``, as Python 3.11 had them.

    >>> name, lines = next(kept())
    >>> name, lines[0]
    ('topics.assert', 'The assert statement')
    """
    packed = resources.files("deepnlp.datasets").joinpath("pydocs.txt.gz").read_bytes()
    for block in gzip.decompress(packed).decode("utf-8").split("\n\n"):
        name, *lines = block.split("\n")
        yield name, lines


def docstrings(source: bytes) -> list[str]:
    r"""Return docstrings of a module, its classes and functions, in the order of the file.

    >>> docstrings(b'def f():\n    "Do it."\n')
    ['Do it.']
    """
    try:
        with warnings.catch_warnings():  # about old escapes in the sources
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError:
        return []
    return list(_docstrings(tree))


def _docstrings(node: ast.AST) -> Iterator[str]:
    """Return the docstring of a node, then those of all definitions inside it."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        text = ast.get_docstring(node)
        if text:
            yield text
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from _docstrings(child)


def english(text: str) -> list[str]:
    r"""Return sentences of a docstring or a topic, without markup and code.

    >>> english("Title\n=====\n\nReturn *x* as a :class:`str`. Raise if\nempty.\n\n>>> f(1)\n2")
    ['Title', 'Return x as a str.', 'Raise if empty.']
    """
    every = (line for block in _blocks(text) for line in sentences(_without_markup(block)))
    return [line for line in every if _is_english(split_words(line))]


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, headings and list items; code ends the block it stands in."""
    lines: list[str] = []
    in_code = False
    for line in [*text.split("\n"), ""]:
        ruler = bool(RULER.match(line))
        code = bool(CODE.search(line))
        if ruler or code or ITEM.match(line):
            if lines:
                yield "\n".join(lines)
            lines = []
            in_code = code or (in_code and not ruler)
        if not (ruler or in_code):
            lines.append(BULLET.sub("", line))


def _without_markup(text: str) -> str:
    """Return the text of reST without its marks: ``x``, :class:`x`, *x* and **x** are all x."""
    text = ROLE.sub(r"\1", text)
    text = BACKQUOTES.sub(r"\1", text)
    return STARRED.sub(r"\1", text)


def _is_english(tokens: list[str]) -> bool:
    """Return whether enough of the tokens are plain words."""
    content = [token for token in tokens if token not in PUNCTUATION]
    plain = sum(1 for token in content if WORD.fullmatch(token))
    return plain > 0 and plain >= PLAIN_SHARE * len(content)


@functools.cache
def pydocs_sentences() -> dict[str, tuple[str, ...]]:
    """Return sentences of the corpus by split, in the order of the documents, repeats included.

    Reading the library takes seconds, so a process does it once.
    """
    splits: dict[str, list[str]] = {split: [] for split in SPLITS}
    cleaned = ((name, english(text)) for name, text in documents()) if has_sources() else kept()
    for name, lines in cleaned:
        splits[split_of(name)].extend(lines)
    return {split: tuple(lines) for split, lines in splits.items()}


def keep_once(
    splits: Mapping[str, Sequence[Sentence]], key: Callable[[Sentence], Iterable[str]]
) -> dict[str, list[Sentence]]:
    """Keep each sentence of more than five tokens once, its first occurrence, across the splits.

    The test split comes first, then the validation split, then the training split: what they share
    is removed from the training split. Sentences with the same key are the same.

    >>> splits = {"train": ["a b c d e f", "a", "a"], "valid": ["a b c d e f"], "test": []}
    >>> keep_once(splits, key=split_words)["train"]
    ['a', 'a']
    """
    seen: set[Words] = set()

    def new(sentence: Sentence) -> bool:
        before, words = len(seen), tuple(key(sentence))
        seen.add(words)
        return len(words) <= REPEATABLE or len(seen) > before

    kept = {split: [s for s in splits[split] if new(s)] for split in ("test", "valid", "train")}
    return {split: kept[split] for split in SPLITS}

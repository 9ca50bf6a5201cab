"""The answer of a command, arguments that several have, and files that they name."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import deepnlp
from deepnlp.errors import DeepNLPError
from deepnlp.files.reading import content_of, decode
from deepnlp.options import Option

if TYPE_CHECKING:
    from deepnlp.text import Vocabulary


CHECKOUT = Path(deepnlp.__file__).parents[1]


class Answer(NamedTuple):
    """The answer of a command: facts for ``--json``, a text for people, and the exit code."""

    facts: Mapping[str, Any]
    text: str | None = None
    code: int = 0


Flag = Annotated[bool, Option()]
Count = Annotated[int | None, Option(low=1)]
Out = Annotated[str, Option(metavar="FILE")]
MODELS = "a run folder, a checkpoint (.npz) of one, or a model of deepnlp: pydocs-small, dates"
Model = Annotated[str, Option(MODELS, metavar="RUN_OR_CHECKPOINT")]
CorpusName = Annotated[str | None, Option(metavar="NAME|PATH")]
Split = Annotated[str, Option("the split to measure", choices=("train", "valid", "test"))]
Side = Annotated[str | None, Option(choices=("input", "output"))]
Text = Annotated[str | None, Option(metavar="TEXT", either="text")]
TextFile = Annotated[str | None, Option(metavar="FILE", either="text")]


def from_checkout(module: str, what: str) -> Any:
    """Return a module of the checkout; an error if the package is not part of one."""
    path = CHECKOUT.joinpath(*module.split("."))
    if not (path.is_dir() or path.with_suffix(".py").is_file()):
        raise DeepNLPError(
            f"{what} are in the source, not in the installed package: run this in a checkout "
            "that is installed with `pip install -e .`"
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    return import_module(module)


def text_of(text: str | None, file: str | None) -> str:
    """Return the text that was given, or that of a file or of standard input."""
    return read_text(file or "-") if text is None or text == "-" else text


def read_text(path: str) -> str:
    """Read a text file, or standard input for ``-``, as UTF-8 whatever the platform's encoding."""
    return decode(content_of(path), "standard input" if path == "-" else path)


def note_unknown(vocab: "Vocabulary", tokens: Iterable[str]) -> None:
    """Name the words that a model reads as ``<unk>``."""
    unknown = ", ".join(dict.fromkeys(token for token in tokens if token not in vocab))
    if unknown:
        print(f"not in the vocabulary, read as <unk>: {unknown}", file=sys.stderr)


def megabytes(count: float) -> str:
    """Return a number of bytes in units that are easy to read.

    >>> megabytes(10_612_736)
    '10.6 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def refuse_to_replace(path: Path, overwrite: bool) -> None:
    """Raise an error if the path is a link, or a file that was not to be overwritten."""
    if path.is_symlink():
        raise ValueError(f"{path} is a symbolic link: name the file itself")
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists: choose another name, or say --overwrite")


def picture(text: str, *endings: str) -> str:
    """Return the value of an option that names the file of a figure, or with endings another file.

    >>> picture("figure.gif")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should end in .png, .pdf or .svg, got 'figure.gif'
    """
    path, endings = Path(text), endings or (".png", ".pdf", ".svg")
    if not text.lower().endswith(endings) or not path.suffix:
        expected = " or ".join([", ".join(endings[:-1]), endings[-1]][len(endings) < 2 :])
        raise argparse.ArgumentTypeError(f"should end in {expected}, got {text!r}")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text}: it is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text}: there is no folder {path.parent}")
    return text


def page(text: str) -> str:
    """The value of an option that names the file of a page."""
    return picture(text, ".html")


Picture = Annotated[str | None, Option(metavar="PATH", details={"type": picture})]
PageFile = Annotated[str | None, Option(metavar="FILE", details={"type": page})]

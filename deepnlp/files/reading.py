"""Files that people hand over: unpacked in place, read up to a limit, named in every error."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tomllib
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

from deepnlp.files.writing import naming

BUFFER = 1 << 20  # bytes that are unpacked at a time
MOST = 1 << 24  # bytes: more than a book, or the metrics of any run


def content_of(path: str | PathLike[str], most: int = MOST) -> bytes:
    """The bytes of a regular file, or of standard input for ``-``, if there are not too many.

    >>> content_of("/dev/zero")
    Traceback (most recent call last):
        ...
    ValueError: /dev/zero is no regular file: expected one, or - for standard input
    """
    if str(path) == "-":
        stream = getattr(sys.stdin, "buffer", sys.stdin)
        return _limited(stream.read(most + 1), "standard input", most)
    if Path(path).exists() and not Path(path).is_file() and not Path(path).is_dir():
        raise ValueError(f"{path} is no regular file: expected one, or - for standard input")
    with naming(Path(path)), Path(path).open("rb") as file:
        return _limited(file.read(most + 1), str(path), most)


def _limited(content: Any, name: str, most: int) -> bytes:
    if len(content) > most:
        raise ValueError(f"{name} is longer than {most >> 20} MB, the most that is read of it")
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """The table in a TOML file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no configuration {path}")
    return _parsed(path, tomllib.loads, "a TOML file")


def read_json(path: str | PathLike[str]) -> dict[str, Any]:
    """The object in a JSON file."""
    return _parsed(path, json.loads, "a JSON object")


def _parsed(path: str | PathLike[str], parse: Callable[[str], Any], what: str) -> dict[str, Any]:
    content = content_of(path)
    try:
        table = parse(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not {what}: byte {error.start} is no UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"{path}: not {what}: {said}") from error
    if not isinstance(table, dict):
        raise ValueError(f"{path}: not {what}, but a {type(table).__name__}")
    return table


@contextmanager
def unpacked(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where its name ends in ``.gz``.

    >>> with unpacked(__file__) as file:
    ...     b"import gzip" in file.read()
    True
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: check the path")
    if path.suffix != ".gz":
        with path.open("rb") as file:
            yield file
        return
    try:
        with io.BufferedReader(cast(io.RawIOBase, gzip.open(path)), BUFFER) as packed:
            yield cast(BinaryIO, packed)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}): fetch it again") from None


def decode(content: bytes, name: str) -> str:
    r"""The text of a file of that name, or an error if it is not UTF-8.

    Line breaks become ``\n``, and a byte order mark is left out.

    >>> decode(b"\xef\xbb\xbfa cat\r\n", "cats.txt")
    'a cat\n'
    """

    def wrong(position: int, advice: str) -> ValueError:
        byte = f"byte 0x{content[position]:02x} at position {position}"
        return ValueError(f"{name} is not UTF-8 text: {byte}{advice} to UTF-8")

    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise wrong(error.start, "; convert the file") from None
    if "\0" in text:  # of half the bytes of English in UTF-16
        cause = ", as in UTF-16 or in a file that was not written to its end"
        raise wrong(content.index(0), f"{cause}; convert it")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

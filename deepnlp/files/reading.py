"""Files that people hand over: unpacked in place, read up to a limit, named in every error."""

import codecs
import gzip
import io
import json
import re
import sys
import tomllib
import unicodedata
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, cast

from deepnlp.files.writing import naming

BUFFER = 1 << 20  # bytes that are unpacked at a time
MOST = 1 << 24  # bytes: more than a book, or the metrics of any run
UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
NO_TEXT = re.compile("[\ud800-\udfff]")  # half a character, which UTF-8 cannot hold


def content_of(path: str | PathLike[str], most: int = MOST) -> bytes:
    """Read a regular file, or standard input for ``-``, if it has not too many bytes.

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
    """Return the table in a TOML file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"no configuration {path}")
    return _parsed(path, tomllib.loads, "a TOML file")


def read_json(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the object in a JSON file."""
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
    """Return the bytes of a file, unpacked where its name ends in ``.gz``.

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


def decode(
    content: bytes, name: str, encoding: str | None = None, keep_returns: bool = False
) -> str:
    r"""Return the text of a file of that name, or an error if it is not in that encoding.

    By default it is UTF-8, or UTF-16 where a byte order mark says so. Line breaks become ``\n``,
    and letters with accents one character each (NFC), however they were written. With
    ``keep_returns`` a carriage return before no line feed is a character like others.

    >>> decode("\ufeffpre\u0300s\r\n".encode("utf-16"), "notes.txt")
    'près\n'
    """
    kind = encoding or ("utf-16" if content.startswith(UTF16) else "utf-8")
    text, bad, cause = "", -1, ""
    try:
        text = content.decode(kind)
    except UnicodeDecodeError as error:
        bad = error.start
    except LookupError:
        raise ValueError(f"unknown encoding {kind!r}: expected one such as cp1252") from None
    if "\0" in text:
        bad, cause = content.index(0), ", as in UTF-16 or in a file that was not written to its end"
    if bad >= 0:
        byte = f"byte 0x{content[bad]:02x} at position {bad}{cause}"
        advice = "save it as UTF-8, or name its encoding (deepnlp train --encoding cp1252)"
        raise ValueError(f"{name} is not {kind.upper()} text: {byte}; {advice}")
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    text = text if keep_returns else text.replace("\r", "\n")
    return unicodedata.normalize("NFC", text)

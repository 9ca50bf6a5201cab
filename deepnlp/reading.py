"""Files that people hand over: only so many bytes are read, and an error names the file."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from deepnlp.files import naming

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

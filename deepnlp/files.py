"""Files: gzip read in place, text, an old file kept until the new one is whole, locks."""

from __future__ import annotations

import gzip
import io
import os
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from os import PathLike
from pathlib import Path
from typing import BinaryIO, cast

BUFFER = 1 << 20  # bytes that are unpacked at a time


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
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{name} is not UTF-8 text: byte 0x{content[error.start]:02x} at position"
            f" {error.start}; convert the file to UTF-8"
        ) from None
    if "\0" in text:  # of half the bytes of English in UTF-16
        raise ValueError(
            f"{name} is not UTF-8 text: byte 0x00 at position {content.index(0)}, as in UTF-16 or"
            " in a file that was not written to its end; convert it to UTF-8"
        )
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Write a file beside its final name, then rename: the old one is whole until the new one is.

    The name beside it is nobody else's, so that of several writers each writes a whole file, and
    the last one counts. :func:`left_by_writers` finds what a killed one leaves.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as file:
    ...         _ = file.write(b"whole")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    path = Path(path)
    beside = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: there is no folder {path.parent}")
    with naming(path):
        file = beside.open("xb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # on the disk before the name points to it
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Context in which an error of the system that names no file is said to be of this one."""
    try:
        yield
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def left_by_writers(path: Path) -> list[Path]:
    """What killed writers of a file have left beside it."""
    return [path.with_name(f"{path.name}.tmp"), *path.parent.glob(f"{escape(path.name)}.*.tmp")]


@contextmanager
def locked(path: Path, patience: float) -> Iterator[bool]:
    """Hold a lock that no two processes hold at once; gives whether it was free in time.

    It ends with the process, however that ends. Where the system has no such locks, it is free.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "a.lock", 0) as held:
    ...     held
    True
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    end = time.monotonic() + patience
    with path.open("a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    yield False
                    return
                time.sleep(0.05)
            except OSError:  # a file system without locks
                break
        yield True

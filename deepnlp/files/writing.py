"""Files written so that nothing is lost, the old one being kept until the new one is whole.

Also locks, and JSON in which every number is finite.
"""

import json
import math
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO


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
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise ValueError(f"cannot write {path}: it is a device or a pipe, and no file")
    with naming(path):
        file = beside.open("xb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # on the disk before the name points to it
            beside.replace(path)
            with suppress(OSError):  # the name too, where the system can
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise


def write_whole(path: str | PathLike[str], content: bytes | memoryview | str) -> None:
    """Write a file as :func:`replacing` does; a text in UTF-8."""
    with replacing(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


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
    """Yield the files that killed writers of a file have left beside it."""
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
    end = time.monotonic() + patience
    with open(path, "ab", opener=_at_once) as file:
        while not (free := _lock(file)) and time.monotonic() <= end:
            time.sleep(0.05)
        yield free


def _at_once(path: str, flags: int) -> int:
    """Open a file, and wait for nobody at the other end of a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def _lock(file: BinaryIO) -> bool:
    """Lock a file until it is closed; false if somebody else has locked it."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # a system, or a file system, without locks
        pass
    return True


def to_json(value: Any, indent: int | None = None) -> str:
    """Return strictly valid JSON: a number that is not finite becomes null.

    >>> to_json({"perplexity": float("inf"), "epoch": 1})
    '{"perplexity": null, "epoch": 1}'
    """
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, indent=indent)


def finite(value: Any) -> Any:
    """Return the same value with None for every number that is not finite, at any depth.

    >>> finite([1.5, float("nan")])
    [1.5, None]
    """
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value

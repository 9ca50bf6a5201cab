"""Errors that count as mistakes of the user, and their messages on one line."""

import errno
import traceback
from pathlib import Path

from deepnlp.errors import DeepNLPError

# Errors of the operating system or of arithmetic that bad input causes.
MISTAKES = (DeepNLPError, OSError, MemoryError, RecursionError, OverflowError)
HOMES = (Path(__file__).parents[1], Path(__file__).parents[2] / "studies")


def is_mistake(error: BaseException) -> bool:
    """Return whether the user can mend it: deepnlp knew what was wrong, and raised the error.

    A ValueError or a TypeError from elsewhere is a bug of deepnlp, and shows where it was raised.
    """
    if isinstance(error, MISTAKES) or not isinstance(error, ValueError | TypeError):
        return isinstance(error, MISTAKES)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    is_ours = any(Path(frame.filename).is_relative_to(home) for home in HOMES)
    return is_ours and (frame.line or "").startswith("raise ")


def in_one_line(error: Exception) -> str:
    """Return the message of an exception, on one line.

    >>> in_one_line(PermissionError(13, "Permission denied", "runs/first"))
    'runs/first: permission denied'
    """
    said = str(error)
    if isinstance(error, OSError) and error.strerror:
        reason = f"{error.strerror[0].lower()}{error.strerror[1:]}"
        said = reason if error.filename is None else f"{error.filename}: {reason}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            said += ": make room there, or choose another folder"
    elif isinstance(error, MemoryError):
        more = f": {said}" if said else ""
        said = f"out of memory{more}; try a smaller --batch-size, --hidden-size or --vocab-size"
    elif isinstance(error, RecursionError):
        said = f"nested too deeply: {said}"
    return " ".join(said.split()) or type(error).__name__

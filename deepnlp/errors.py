"""The exceptions that are deepnlp's own, and the one error of packages that are not installed."""

from importlib import import_module
from typing import Any


class DeepNLPError(Exception):
    """Something a user can put right: the text says what was wrong, what was expected, what to do.

    The command line prints it on one line and exits with code 2. Where a built-in exception says
    the same (``ValueError``, ``TypeError``, ``FileNotFoundError``), that one is raised instead.
    """


class DivergedError(DeepNLPError):
    """The loss, the gradient or the validation of a training run is no longer finite.

    Examples
    --------
    >>> issubclass(DivergedError, DeepNLPError)
    True
    """


def required(module: str, user: str, install: str = "") -> Any:
    """Import an optional package, or raise an error that says how to install it.

    >>> required("no_such.module", "this needs a package")
    Traceback (most recent call last):
        ...
    deepnlp.errors.DeepNLPError: this needs a package, which is not installed: python -m pip ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        how = f"python -m pip install {install or module.partition('.')[0]}"
        raise DeepNLPError(f"{user}, which is not installed: {how}") from error

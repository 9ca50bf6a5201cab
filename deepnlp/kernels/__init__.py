"""The registry of quick forms.

A *kernel* is a function whose formula stands where a reader looks for it: the steps of the LSTM in
``layers/lstm.py``, the rule of Adam in ``optimizers/adaptive.py``. That is its plain form, the
reference in the tests. It may have a quick form for a backend: a function in the table ``FORMS``
of a module here, which takes the same arguments and gives the same results,

- on NumPy in :mod:`deepnlp.kernels.fast`: few passes over memory, blocks that stay in the cache,
  work shared out between threads;
- on CuPy in :mod:`deepnlp.kernels.cuda`: one launch on the device for many operations.

A call of the kernel goes to the quick form of the backend in use. Where there is none, or where
it returns ``NotImplemented`` because of the types it was given, the plain form is called. So it is
where a function that the plain form computes with has been edited or replaced, with a warning
(:mod:`deepnlp.kernels.formulas`): what is read is what runs. The plain form can be chosen for all
kernels or for some: ``DEEPNLP_KERNELS=plain`` in the environment, ``deepnlp.kernels.use("plain")``,
or for a while ``with deepnlp.kernels.using("plain"): ...``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from deepnlp import backend
from deepnlp.backend.threads import one_blas_thread
from deepnlp.errors import DeepNLPError
from deepnlp.kernels.formulas import Formula, plain_form

__all__ = [
    "NAMES", "Kernel", "back_of", "kernel", "plain_form", "use", "using", "without_quick_form",
]  # fmt: skip

CHOICES = ("quick", "plain")

P = ParamSpec("P")
R = TypeVar("R")

_KERNELS: dict[str, Kernel[Any, Any]] = {}

NAMES = _KERNELS.keys()
"""Names of all kernels in the modules that have been imported."""


@cache
def _numpy_forms() -> Any:
    from deepnlp.kernels import fast

    return fast


@cache
def _cupy_forms() -> Any:
    from deepnlp.kernels import cuda

    return cuda


QUICK_FORMS = {"numpy": _numpy_forms, "cupy": _cupy_forms}  # imported when they are first used


class Kernel(Generic[P, R]):
    """A function with its plain form and quick forms; a call goes to the one in use.

    A kernel that goes back has the form of its ``forward``, whose results it takes, and the formula
    of both is one.
    """

    def __init__(self, plain: Callable[P, R], forward: Kernel[Any, Any] | None = None) -> None:
        self.plain = plain
        self.name = plain.__name__
        self.formula: Formula = Formula(self.name) if forward is None else forward.formula
        self.choice = _from_environment()
        update_wrapper(self, plain)

    def __call__(self, *arguments: P.args, **options: P.kwargs) -> R:
        """Call the form in use, with one BLAS thread."""
        with one_blas_thread():
            result: R = self.form()(*arguments, **options)
            if result is NotImplemented:
                result = self.plain(*arguments, **options)
        return result

    def form(self) -> Any:
        """The function in use."""
        forms = QUICK_FORMS.get(backend.name())
        if self.choice == "plain" or forms is None:
            return self.plain
        quick = forms().FORMS.get(self.name)
        return self.plain if quick is None or not self.formula.is_current() else quick


def kernel(plain: Callable[P, R], forward: Kernel[Any, Any] | None = None) -> Kernel[P, R]:
    """Decorator: make a function the plain form of a kernel."""
    made = _KERNELS[plain.__name__] = Kernel(plain, forward)
    return made


def back_of(forward: Kernel[Any, Any]) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorator: make a function the plain form of the kernel that goes back through another."""
    return partial(kernel, forward=forward)


def without_quick_form() -> list[Kernel[Any, Any]]:
    """Return the kernels that have a quick form on the backend in use, and run the plain one."""
    forms = QUICK_FORMS[backend.name()]().FORMS if backend.name() in QUICK_FORMS else {}
    return [_KERNELS[name] for name in forms if _KERNELS[name].form() is _KERNELS[name].plain]


def _from_environment() -> str:
    choice = os.environ.get("DEEPNLP_KERNELS") or "quick"
    if choice not in CHOICES:
        raise DeepNLPError(f"DEEPNLP_KERNELS: expected 'quick' or 'plain', got {choice!r}")
    return choice


def use(choice: str, *names: str) -> None:
    """Choose the form of all kernels, or of those named: ``"quick"`` or ``"plain"``.

    ``"quick"`` is the quick form where the backend in use has one. The form must not change
    between a forward and its backward.

    >>> use("quick")
    >>> use("plain", "lstm_leap")
    Traceback (most recent call last):
        ...
    ValueError: there is no kernel 'lstm_leap'; see deepnlp.kernels.NAMES
    """
    if choice not in CHOICES:
        raise ValueError(f"unknown form {choice!r}: choose 'quick' or 'plain'")
    for name in names:
        if name not in _KERNELS:
            raise ValueError(f"there is no kernel {name!r}; see deepnlp.kernels.NAMES")
    for name in names or NAMES:
        _KERNELS[name].choice = choice


@contextmanager
def using(choice: str, *names: str) -> Iterator[None]:
    """Context in which all kernels, or those named, have the chosen form.

    >>> from deepnlp.layers.lstm import lstm_steps
    >>> with using("plain", "lstm_steps"):
    ...     lstm_steps.form().__module__
    'deepnlp.layers.lstm'
    """
    before = {name: kernel.choice for name, kernel in _KERNELS.items()}
    try:
        use(choice, *names)
        yield
    finally:
        for name, kernel in _KERNELS.items():
            kernel.choice = before.get(name, kernel.choice)

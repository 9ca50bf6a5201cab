"""The arithmetic around the matrix products, in three forms of the same formulas.

==========  =====================================================================================
form        what it is
==========  =====================================================================================
`plain`     the formula, as a textbook has it; the reference in the tests of the others
`fast`      on NumPy: few passes over memory, blocks that stay in the cache, two threads
`cuda`      on CuPy: one kernel on the device for each function
==========  =====================================================================================

Layers call the names below and get the quick form of the backend in use. The plain form can be
chosen, for all of them or for some: ``DEEPNLP_KERNELS=plain`` in the environment,
``deepnlp.kernels.use("plain")``, or for a while ``with deepnlp.kernels.using("plain"): ...``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

from deepnlp import backend
from deepnlp.errors import DeepNLPError
from deepnlp.kernels import cuda, fast, plain
from deepnlp.kernels.plain import ACTIVATIONS, Update, split_gates

__all__ = [
    "ACTIVATIONS",
    "NAMES",
    "Kernel",
    "Update",
    "add_bias",
    "add_rows",
    "clip_all",
    "dropout",
    "dropout_backward",
    "gru_gates",
    "gru_gates_backward",
    "gru_output",
    "gru_output_backward",
    "gru_slopes",
    "gru_step",
    "gru_step_backward",
    "lstm_slopes",
    "lstm_step",
    "lstm_step_backward",
    "rnn_slopes",
    "rnn_step",
    "rnn_step_backward",
    "softmax_nll",
    "softmax_nll_backward",
    "split_gates",
    "sum_rows",
    "update_all",
    "use",
    "using",
]

CHOICES = ("quick", "plain")
_QUICK = {"numpy": fast, "cupy": cuda}  # any other array module gets the plain form


class Kernel:
    """A function in its forms; a call goes to the one in use.

    Parameters
    ----------
    name : str
        Of the function in each of the modules. A form that has no function of that name, for
        nothing would be gained, leaves it to the plain one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.choice = _from_environment()
        update_wrapper(self, getattr(plain, name))

    def __call__(self, *arguments: Any) -> Any:
        """The function in its form in use, called."""
        return self.form()(*arguments)

    def form(self) -> Callable[..., Any]:
        """The function in use.

        Returns
        -------
        callable
        """
        module = plain if self.choice == "plain" else _QUICK.get(backend.name(), plain)
        function: Callable[..., Any] = getattr(module, self.name, None) or getattr(plain, self.name)
        return function


def _from_environment() -> str:
    choice = os.environ.get("DEEPNLP_KERNELS") or "quick"
    if choice not in CHOICES:
        raise DeepNLPError(f"DEEPNLP_KERNELS: expected 'quick' or 'plain', got {choice!r}")
    return choice


rnn_step = Kernel("rnn_step")
rnn_slopes = Kernel("rnn_slopes")
rnn_step_backward = Kernel("rnn_step_backward")
lstm_step = Kernel("lstm_step")
lstm_slopes = Kernel("lstm_slopes")
lstm_step_backward = Kernel("lstm_step_backward")
gru_gates = Kernel("gru_gates")
gru_output = Kernel("gru_output")
gru_step = Kernel("gru_step")
gru_slopes = Kernel("gru_slopes")
gru_output_backward = Kernel("gru_output_backward")
gru_gates_backward = Kernel("gru_gates_backward")
gru_step_backward = Kernel("gru_step_backward")
softmax_nll = Kernel("softmax_nll")
softmax_nll_backward = Kernel("softmax_nll_backward")
dropout = Kernel("dropout")
dropout_backward = Kernel("dropout_backward")
add_bias = Kernel("add_bias")
sum_rows = Kernel("sum_rows")
add_rows = Kernel("add_rows")
clip_all = Kernel("clip_all")
update_all = Kernel("update_all")

_KERNELS = {
    kernel.name: kernel for kernel in list(globals().values()) if isinstance(kernel, Kernel)
}

NAMES = tuple(_KERNELS)
"""Names of all kernels."""


def use(choice: str, *names: str) -> None:
    """Choose the form of all kernels, or of those named.

    Parameters
    ----------
    choice : {"quick", "plain"}
        ``"quick"`` is the quickest form that the backend in use has.
    *names : str
        Of :data:`NAMES`; all by default.

    Raises
    ------
    ValueError
        If the choice or a name is not known.

    Examples
    --------
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

    Parameters
    ----------
    choice : {"quick", "plain"}
    *names : str
        Of :data:`NAMES`; all by default.

    Raises
    ------
    ValueError
        If the choice or a name is not known.

    Examples
    --------
    >>> with using("plain", "lstm_step"):
    ...     lstm_step.form().__module__
    'deepnlp.kernels.plain'
    """
    before = {name: kernel.choice for name, kernel in _KERNELS.items()}
    try:
        use(choice, *names)
        yield
    finally:
        for name, kernel in _KERNELS.items():
            kernel.choice = before[name]

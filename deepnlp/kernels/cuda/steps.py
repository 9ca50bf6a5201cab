"""The steps of the recurrent layers: kernels in which each thread has entries of its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from deepnlp.backend import xp
from deepnlp.kernels import plain
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import REALS, launch_over, strides

ACTIVATION_NUMBERS = {"tanh": 0, "relu": 1}


class StepKernel:
    """A function of :mod:`deepnlp.kernels.plain` as one kernel on the device.

    The kernel takes N, H and then what the function takes, in that order: an array as a pointer,
    one that may have any strides as a pointer and two of them, an activation as a number. What it
    cannot take (another number type, an array that is not in C order) goes to the plain function.

    Parameters
    ----------
    reference : callable
        The plain function; the kernel has its name.
    of_size : str
        Name of an argument of shape (N, H) or (T, N, H): the kernel has a thread for each entry.
    strided : tuple of str
        Names of the arguments that may have any strides, such as the transpose of a product.
    """

    def __init__(
        self, reference: Callable[..., None], of_size: str, strided: tuple[str, ...] = ()
    ) -> None:
        names = list(inspect.signature(reference).parameters)
        self.reference = reference
        self.name = reference.__name__
        self.__doc__ = reference.__doc__
        self._of_size = names.index(of_size)
        self._strided = [name in strided for name in names]

    def __call__(self, *arguments: Any) -> None:
        """Launch the kernel, or call the plain function."""
        sized = arguments[self._of_size]
        letter = sized.dtype.char
        values = self._values(arguments, sized.shape[:-1], letter) if letter in REALS else None
        if values is None:
            self.reference(*arguments)
        else:
            launch_over(sized.shape, self.name, letter, tuple(values))

    def _values(self, arguments: tuple[Any, ...], lead: Any, letter: str) -> list[int] | None:
        """The kernel's arguments, or None if it cannot take these."""
        values: list[int] = []
        pointer = launching.device.pointer
        ndarray = xp.ndarray
        for argument, strided in zip(arguments, self._strided, strict=True):
            if type(argument) is ndarray:
                shape = argument.shape
                is_bias = len(shape) == 1 and not strided
                if argument.dtype.char != letter or not (is_bias or shape[:-1] == lead):
                    return None
                values.append(pointer(argument))
                if strided:
                    steps = strides(argument)
                    if steps is None:
                        return None
                    values += steps
                elif not argument.flags.c_contiguous:
                    return None
            elif argument is None:
                values += (0, 0, 0) if strided else (0,)
            elif isinstance(argument, str) and argument in ACTIVATION_NUMBERS:
                values.append(ACTIVATION_NUMBERS[argument])
            else:
                return None
        return values


FROM_LATER = ("dh_above", "dh_next")

rnn_step = StepKernel(plain.rnn_step, "h", strided=("p",))
rnn_slopes = StepKernel(plain.rnn_slopes, "h")
rnn_step_backward = StepKernel(plain.rnn_step_backward, "da", strided=FROM_LATER)
lstm_step = StepKernel(plain.lstm_step, "h", strided=("p",))
lstm_slopes = StepKernel(plain.lstm_slopes, "tanh_c")
lstm_step_backward = StepKernel(plain.lstm_step_backward, "dc", strided=FROM_LATER)
gru_gates = StepKernel(plain.gru_gates, "u", strided=("p",))
gru_output = StepKernel(plain.gru_output, "h", strided=("p_n",))
gru_step = StepKernel(plain.gru_step, "h", strided=("p",))
gru_slopes = StepKernel(plain.gru_slopes, "h_prev", strided=("p_n",))
gru_output_backward = StepKernel(plain.gru_output_backward, "carry", strided=FROM_LATER)
gru_gates_backward = StepKernel(plain.gru_gates_backward, "carry", strided=("du",))
gru_step_backward = StepKernel(plain.gru_step_backward, "carry", strided=FROM_LATER)

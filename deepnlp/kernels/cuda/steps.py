"""The steps of the recurrent layers, as kernels in which each thread computes some entries."""

from typing import Any

from deepnlp.backend import xp
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import REALS, launch_over, strides

ACTIVATION_NUMBERS = {"tanh": 0, "relu": 1}


class StepKernel:
    """A step between the products as one kernel on the device, which writes in place.

    ``arguments`` names what it takes, with a ``*`` after those that may have any strides;
    ``of_size`` is the one whose shape is that of the grid.
    """

    def __init__(self, name: str, arguments: str, of_size: str) -> None:
        names = arguments.split()
        self.name = name
        self._of_size = names.index(of_size)
        self._strided = [argument.endswith("*") for argument in names]

    def __call__(self, *arguments: Any) -> None:
        """Launch the kernel."""
        sized = arguments[self._of_size]
        letter = sized.dtype.char
        values = self._values(arguments, letter) if letter in REALS else None
        if values is None:
            raise TypeError(f"the CUDA kernel {self.name} cannot take these types or layouts")
        launch_over(sized.shape, self.name, letter, tuple(values))

    def _values(self, arguments: tuple[Any, ...], letter: str) -> list[int] | None:
        """The kernel's arguments, or None if it cannot take these."""
        values: list[int] = []
        pointer = launching.device.pointer
        for argument, strided in zip(arguments, self._strided, strict=True):
            if argument is None:
                values += (0, 0, 0) if strided else (0,)
            elif isinstance(argument, str):
                values.append(ACTIVATION_NUMBERS[argument])
            elif type(argument) is not xp.ndarray or argument.dtype.char != letter:
                return None
            elif strided:
                steps = strides(argument)
                if steps is None:
                    return None
                values += [pointer(argument), *steps]
            elif not argument.flags.c_contiguous:
                return None
            else:
                values.append(pointer(argument))
        return values


rnn_step = StepKernel("rnn_step", "a p* h activation", of_size="h")
rnn_slopes = StepKernel("rnn_slopes", "h da activation", of_size="h")
rnn_step_backward = StepKernel("rnn_step_backward", "dh_above* dh_next* da", of_size="da")
lstm_step = StepKernel("lstm_step", "a p* c_prev h c tanh_c", of_size="h")
lstm_slopes = StepKernel("lstm_slopes", "gates c_prev tanh_c da", of_size="tanh_c")
lstm_step_backward = StepKernel(
    "lstm_step_backward", "dh_above* dh_next* dc gates dh_dc da", of_size="dc"
)
gru_gates = StepKernel("gru_gates", "a p* h_prev u", of_size="u")
gru_output = StepKernel("gru_output", "a p_n* h_prev h", of_size="h")
gru_step = StepKernel("gru_step", "a p* bh h_prev h", of_size="h")
gru_slopes = StepKernel("gru_slopes", "gates h_prev p_n* da", of_size="h_prev")
gru_output_backward = StepKernel(
    "gru_output_backward", "dh_above* dh_next* dh_prev gates da", of_size="dh_prev"
)
gru_gates_backward = StepKernel("gru_gates_backward", "du* dh_prev gates da", of_size="dh_prev")
gru_step_backward = StepKernel(
    "gru_step_backward", "dh_above* dh_next* dh_prev gates da dp", of_size="dh_prev"
)

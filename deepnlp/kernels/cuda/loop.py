"""All steps of an LSTM in one launch, where the device has room for its weights.

The blocks of the launch keep Wh in their shared memory from the first step to the last and wait for
each other between two steps (``loop.cu``). A loop from Python launches two kernels a step, and the
time to launch them is longer than the time that they take.
"""

from deepnlp.backend import Array, xp
from deepnlp.kernels.cuda import launching
from deepnlp.kernels.cuda.launching import TOGETHER, is_dense, pointers


def lstm_loop(a: Array, Wh: Array, h: Array, c: Array, tanh_c: Array) -> bool:
    """All steps of :func:`steps.lstm_step` with their products; False where there is no room."""
    return _launch("loop_lstm", len(a), Wh, (a, Wh, h, c, tanh_c))


def lstm_loop_backward(
    dh_above: Array, gates: Array, Wh: Array, dh_dc: Array, da: Array, dh: Array, dc: Array
) -> bool:
    """The same for :func:`steps.lstm_step_backward`, last step first; dh and dc are changed."""
    return _launch("loop_lstm_backward", len(da), Wh, (dh_above, gates, Wh, dh_dc, da, dh, dc))


def _launch(name: str, T: int, Wh: Array, arrays: tuple[Array, ...]) -> bool:
    """Launch one of the two kernels, if the device has room and the arrays are dense."""
    N, H = arrays[-1].shape[-2:]
    blocks, memory = launching.device.room
    units = -(-H // blocks)  # of a block
    rows = -(-N // 4) * 4  # of what the blocks exchange
    # a block multiplies (rows, K) by (K, 4 columns), in tiles of 4 by 4
    K, columns = (H, units) if name == "loop_lstm" else (4 * H, -(-units // 4))
    shared = 4 * Wh.itemsize * (K * columns + 4 * TOGETHER)
    fits = shared <= memory and columns * rows // 4 <= TOGETHER
    letter = Wh.dtype.char
    if not fits or not T * N * H or not all(is_dense(array, letter) for array in arrays):
        return False
    x, arrived = xp.empty((2, K, rows), Wh.dtype), xp.zeros(1, xp.uint32)
    arguments = (T, N, H, units, *pointers(*arrays, x, arrived))
    launching.device.launch(name, letter, (-(-H // units),), TOGETHER, arguments, shared)
    return True

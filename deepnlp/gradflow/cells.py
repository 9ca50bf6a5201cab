"""The gates of each cell, and the Jacobian of one step.

The Jacobian comes from the step of the cell and its way back: one unit vector per row gives one row
of the Jacobian each, so that the equations of a cell are written only once.
"""

from deepnlp.backend import Array, HostArray, asnumpy, xp
from deepnlp.backend.functions import sigmoid, split_gates, tanh_grad
from deepnlp.layers.lstm import lstm_step
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.layers.scans import TimeScan

NO_GATES = "gn"  # the new memory of an LSTM, the new state of a GRU


def hidden_blocks(layer: TimeRecurrent) -> dict[str, HostArray]:
    """Return the square blocks of W_h, one per gate.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM or TimeGRU

    Returns
    -------
    dict of str to numpy.ndarray (H, H)
        ``{"Wh": ...}`` for an RNN, ``Wh_i, Wh_f, Wh_g, Wh_o`` for an LSTM, ``Wh_r, Wh_z, Wh_n``
        for a GRU; none where gates do not look at the state.

    Examples
    --------
    >>> from deepnlp.layers import TimeGRU
    >>> list(hidden_blocks(TimeGRU.init(3, 2)))
    ['Wh_r', 'Wh_z', 'Wh_n']
    """
    if layer.Wh is None:
        return {}
    names = [f"Wh_{gate}" for gate in layer.gates] if len(layer.gates) > 1 else ["Wh"]
    blocks = split_gates(asnumpy(layer.Wh.value), len(names))
    return dict(zip(names, blocks, strict=True))


def gate_values(layer: TimeRecurrent, x: Array, h_prev: Array) -> dict[str, Array]:
    """Return the gates of a step, numbers between 0 and 1.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM or TimeGRU
    x : array (n, D)
    h_prev : array (n, H)

    Returns
    -------
    dict of str to array (n, H)
        i, f, o of an LSTM; r, z of a GRU; those of a layer that is a scan. An RNN has no gates:
        for tanh it is ``|h|``, near 1 where the unit is saturated and lets no gradient through;
        for relu it is ``open``, 1 where the unit lets the gradient through and 0 where it does not.

    Examples
    --------
    >>> from deepnlp.layers import TimeLSTM
    >>> layer = TimeLSTM.init(3, 2, dtype="float64")
    >>> gates = gate_values(layer, xp.zeros((1, 3)), xp.zeros((1, 2)))
    >>> gates["f"].round(2)                    # sigmoid of the forget bias, 1
    array([[0.73, 0.73]])
    """
    a = layer._input_product(x)
    if isinstance(layer, TimeScan):
        return layer.gate_values(a)
    a = a + h_prev @ layer.Wh.value
    if len(layer.gates) > 1:
        bh = getattr(layer, "bh", None)
        a = a if bh is None else a + bh.value
        blocks = zip(layer.gates, split_gates(sigmoid(a), len(layer.gates)))
        return {gate: block for gate, block in blocks if gate not in NO_GATES}
    activation = getattr(layer, "activation", None)
    if activation is None:
        kinds = "a TimeRNN, TimeLSTM or TimeGRU"
        raise TypeError(f"the microscope needs {kinds}, got a {type(layer).__name__}")
    if activation == "relu":
        return {"open": (a > 0).astype(a.dtype)}
    return {"|h|": xp.abs(xp.tanh(a))}


def cell_gradient(
    layer: TimeRecurrent, x: Array, h_prev: Array, c_prev: Array, dh: Array, dc: Array
) -> Array:
    r"""Return the whole gradient with respect to the memory cell of an LSTM.

    .. math::
        \frac{dL}{dc_t} = \frac{dL}{dc_t}\Big|_{\text{from } c_{t+1}}
            + \frac{dL}{dh_t} \odot o_t \odot (1 - \tanh^2 c_t)

    Parameters
    ----------
    layer : TimeLSTM
    x : array (n, D)
    h_prev, c_prev : array (n, H)
    dh, dc : array (n, H)
        The gradients with respect to h_t, and to c_t from the steps after t.

    Returns
    -------
    array (n, H)
    """
    a = layer._input_product(x)
    _, (*_, o, tanh_c) = lstm_step(a, h_prev, c_prev, layer.Wh.value)
    return dc + dh * o * tanh_grad(tanh_c)


def step_jacobian(
    layer: TimeRecurrent, x: Array, h_prev: Array, c_prev: Array | None = None
) -> HostArray:
    r"""Return the Jacobian of one step with respect to the state before it, at one input.

    .. math:: J_{ij} = \frac{\partial s_{t, i}}{\partial s_{t-1, j}}, \qquad
        \frac{dL}{ds_{t-1}} = \frac{dL}{ds_t} J

    where the state s is h for an RNN and a GRU, and h and c side by side for an LSTM.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM or TimeGRU
    x : array (D,)
    h_prev : array (H,)
    c_prev : array (H,), optional
        For an LSTM.

    Returns
    -------
    numpy.ndarray of float64, (H, H) or (2H, 2H)

    Examples
    --------
    >>> from deepnlp.layers import TimeRNN
    >>> layer = TimeRNN([[1.0]], Wh=[[0.5]], b=[0.0])
    >>> step_jacobian(layer, xp.zeros(1), xp.zeros(1))    # tanh'(0) Wh
    array([[0.5]])
    """
    states = [h_prev] if c_prev is None else [h_prev, c_prev]
    S = layer.H * len(states)
    a, *before = (
        xp.tile(array.astype("float64"), (S, 1))
        for array in (layer._input_product(x[None])[0], *states)
    )
    step, step_backward, weights = layer.formula()
    weights = [w.astype("float64") if isinstance(w, xp.ndarray) else w for w in weights]
    _, saved = step(a, *before, *weights)
    rows = xp.eye(S, dtype="float64")  # the gradient of each output, one per row
    _, gradients = step_backward(*xp.split(rows, len(states), axis=1), saved, *weights)
    return asnumpy(xp.concatenate(gradients, axis=1))

"""How the gradient of one loss flows back through a recurrent model."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from deepnlp.backend import Array, HostArray, asarray, asnumpy, check_number, xp
from deepnlp.files.tables import table
from deepnlp.gradflow.cells import gate_values, hidden_blocks, step_jacobian
from deepnlp.gradflow.observer import Observation, Observer, observe
from deepnlp.gradflow.spectra import Jacobians, Measured, Spectrum, jacobian_products, spectrum
from deepnlp.layers.losses import IGNORED
from deepnlp.layers.recurrent import TimeRecurrent

SHUT, OPEN = 0.1, 0.9  # a gate below or above is saturated
SHOWN_STEPS = (0, 1, 2, 5, 10, 20, 35, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class GateUse(Measured):
    """Mean of a gate over units, rows and steps, and the shares of it below 0.1 and above 0.9."""

    mean: float
    shut: float
    open: float

    def to_dict(self) -> dict[str, float]:
        """Numbers, for JSON."""
        return {"mean": self.mean, "below_0.1": self.shut, "above_0.9": self.open}


@dataclass(frozen=True)
class LayerFlow(Measured):
    """How the gradient flows back through one recurrent layer.

    ``dh`` (T,) is the norm of dL/dh by step back in time, the last step of the window first, and
    ``dc`` that of dL/dc where the layer has a memory cell. ``weights`` holds the spectrum of each
    square block of W_h, ``jacobians`` those of the products of step Jacobians; both are empty
    where only the gradients were measured, or the output is not the state.

    ``predicted_rate`` is the largest spectral radius of a mean step Jacobian, of this layer and
    of those above. The gradient comes down from them at every step, so it decays as slowly as in
    the layer where it decays most slowly.
    """

    name: str
    cell: str
    dh: HostArray
    dc: HostArray | None
    gates: dict[str, GateUse]
    weights: dict[str, Spectrum]
    jacobians: Jacobians | None
    predicted_rate: float | None

    @property
    def dh_share(self) -> HostArray:
        """The norm of dL/dh as a share of that at the last step, (T,)."""
        return share(self.dh)

    @property
    def dc_share(self) -> HostArray | None:
        """The norm of dL/dc as a share of that at the last step, (T,)."""
        return None if self.dc is None else share(self.dc)

    @property
    def measured_rate(self) -> float:
        """The factor by which the norm of dL/dh changes per step: the slope of its logarithm."""
        return rate(self.dh)

    def to_dict(self) -> dict[str, Any]:
        """Return lists and numbers, for JSON."""
        dc_share = None if self.dc_share is None else self.dc_share.tolist()
        shares = {"dh_share": self.dh_share.tolist(), "dc_share": dc_share}
        return {**super().to_dict(), **shares, "measured_rate": self.measured_rate}


@dataclass(frozen=True)
class GradientFlow(Measured):
    """Gradients in each recurrent layer, from the input upwards.

    The loss is the mean, over ``batch_size`` windows of a text, of the cross-entropy at the last
    of ``steps + 1`` tokens. Norms are over the whole batch (Frobenius).
    """

    loss: float
    steps: int
    batch_size: int
    layers: tuple[LayerFlow, ...]

    def table(self) -> str:
        """Return a text: for each layer norms and shares by step, gates, and spectra."""
        windows = f"{self.batch_size} windows side by side"
        head = f"gradient of the loss at the last of {self.steps + 1} tokens, {windows}"
        return "\n\n".join([head, *(_layer_table(layer) for layer in self.layers)])


def gradient_flow(
    model: Any, ids: HostArray, steps: int = 50, batch_size: int = 16, spectra: bool = True
) -> GradientFlow:
    r"""Follow the gradient of a loss at the last step of a window back in time.

    .. math:: \left\| \frac{dL_t}{dh_{t-k}} \right\|, \quad
        \left\| \frac{dL_t}{dc_{t-k}} \right\|, \qquad k = 0, \dots, \mathrm{steps}

    The windows are spread evenly over the text and begin from a state of zeros. Dropout is off.
    It is done with a copy of the model, so that weights, gradients and state are not changed.

    Parameters
    ----------
    model : RNNLM
        Or any model with ``forward(ids, targets)``, ``backward()``, a ``loss`` that ignores
        targets with its ``ignore_id``, and recurrent layers inside.
    ids : numpy.ndarray of int, shape (n,)
        A text, on the host.
    steps : int
        How far back to look.
    batch_size : int
        N, the number of windows; fewer where the text has fewer tokens than that.
    spectra : bool
        Whether to look at W_h and at step Jacobians, too: at their products along each window, of
        which the largest is kept, and at their mean.

    Raises
    ------
    ValueError
        If a number is below 1, the text is too short, or the model has no recurrent layer.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(vocab_size=9, embed_size=4, hidden_size=4, layers=1)
    >>> flow = gradient_flow(model, np.arange(100) % 9, steps=6, batch_size=2)
    >>> flow.layers[0].dh.shape, sorted(flow.layers[0].gates)
    ((7,), ['f', 'i', 'o'])
    """
    inputs, targets = _windows(ids, steps, batch_size)
    if hasattr(model, "targets"):  # what it predicts, where that is not what it reads
        targets = model.targets(targets)
    model = copy.deepcopy(model)
    model.reset_state()
    model.eval()
    with observe(model) as observers:
        loss = model.forward(asarray(inputs), asarray(targets))
        model.backward()
    layers: list[LayerFlow] = []
    for path, observer in reversed(observers.items()):  # the highest layer first
        above = layers[0].predicted_rate if layers else None
        layers.insert(0, _layer_flow(path, observer, spectra, above))
    return GradientFlow(float(loss), steps, len(inputs), tuple(layers))


def share(norms: HostArray) -> HostArray:
    """Return norms (..., T) by step back in time, divided by the one at the last step.

    Zeros where there was no gradient to begin with.

    >>> share(np.array([4.0, 2.0, 1.0]))
    array([1.  , 0.5 , 0.25])
    """
    first = norms[..., :1]
    return np.divide(norms, first, out=np.zeros_like(norms), where=first > 0)


def rate(norms: HostArray) -> float:
    """Return the factor by which norms (T,) change per step, from the slope of their logarithm.

    Those that are zero, or not finite, do not count; it is no number where fewer than two do.

    >>> round(rate(np.array([4.0, 2.0, 1.0, 0.5])), 6)
    0.5
    """
    k = np.flatnonzero(np.isfinite(norms) & (norms > 0))
    if len(k) < 2:
        return float("nan")
    slope, _ = np.polyfit(k, np.log(norms[k]), 1)
    return float(np.exp(slope))


def _windows(ids: HostArray, steps: int, batch_size: int) -> tuple[HostArray, HostArray]:
    """Return inputs and targets (N, steps + 1), of which only the last target counts."""
    ids = np.asarray(ids)
    check_number("steps", steps, whole=True, low=1)
    check_number("batch_size", batch_size, whole=True, low=1)
    last = len(ids) - steps - 2  # where the last window can begin
    if last < 0:
        few = f"a text of {len(ids)} tokens is too short to look {steps} steps back"
        more = f"it takes {steps + 2}; give a longer text or fewer steps"
        raise ValueError(f"gradient_flow: {few}: {more}")
    begins = np.unique(np.linspace(0, last, batch_size).astype(int))
    inputs = ids[begins[:, None] + np.arange(steps + 1)]
    targets = np.full_like(inputs, IGNORED)
    targets[:, -1] = ids[begins + steps + 1]
    return inputs, targets


def _layer_flow(path: str, observer: Observer, spectra: bool, above: float | None) -> LayerFlow:
    layer, seen = observer.layer, observer.observation()
    rows = [array.reshape(-1, array.shape[2]) for array in (seen.x, seen.h_prev)]
    parts = {name: (g, g < SHUT, g > OPEN) for name, g in gate_values(layer, *rows).items()}
    gates = {name: GateUse(*(float(xp.mean(p)) for p in parts[name])) for name in parts}
    dh, dc = _norms_back(seen.dh), None if seen.dc is None else _norms_back(seen.dc)
    cell = type(layer).__name__
    if not (spectra and layer.shows_state):  # a matrix as a state has too many Jacobians
        return LayerFlow(path, cell, dh, dc, gates, {}, None, None)
    blocks, jacobians = hidden_blocks(layer), _jacobians(layer, seen)
    weights = {name: spectrum(W.astype("float64")) for name, W in blocks.items()}
    rate = max(jacobians.rate, above or 0.0)
    return LayerFlow(path, cell, dh, dc, gates, weights, jacobians, rate)


def _norms_back(gradients: Array) -> HostArray:
    """Return the Frobenius norms of (T, N, H), the last step first, (T,) in float64."""
    norms = xp.sqrt(xp.sum(gradients.astype("float64") ** 2, axis=(1, 2)))
    return asnumpy(norms)[::-1].copy()


def _jacobians(layer: TimeRecurrent, seen: Observation) -> Jacobians:
    """Step Jacobians along all windows, from their second step on, and their products."""
    T, N, _ = seen.x.shape
    arrays = [a for a in (seen.x, seen.h_prev, seen.c_prev) if a is not None]
    sequences = (  # of one window after the other: all of them would be many
        [step_jacobian(layer, *(a[t, n] for a in arrays)) for t in range(1, T)] for n in range(N)
    )
    lags = [k for k in shown_steps(T - 1) if k > 0]
    return jacobian_products(sequences, layer.H, lags)


def shown_steps(last: int) -> list[int]:
    """Return steps back that a table shows: a few round numbers, and the last.

    >>> shown_steps(30)
    [0, 1, 2, 5, 10, 20, 30]
    """
    return [*(k for k in SHOWN_STEPS if k < last), last]


def _layer_table(layer: LayerFlow) -> str:
    columns: dict[str, Any] = {">|dL/dh|": layer.dh, ">share": layer.dh_share}
    if layer.dc is not None:
        columns |= {">|dL/dc|": layer.dc, ">share of it": layer.dc_share}
    if layer.jacobians is not None:
        lags, largest = layer.jacobians.lags, layer.jacobians.singular_values[:, 0]
        columns[">largest sv of dh_t/dh_(t-k)"] = {0: 1.0, **dict(zip(lags, largest))}
        radius = layer.jacobians.spectral_radius
        columns[">spectral radius"] = {0: 1.0, **dict(zip(lags, radius))}
    steps = shown_steps(len(layer.dh) - 1)
    rows = [[str(k), *(f"{values[k]:.3g}" for values in columns.values())] for k in steps]
    rates = f"measured rate {layer.measured_rate:.3f} per step"
    if layer.predicted_rate is not None:
        rates += f", predicted {layer.predicted_rate:.3f}"
    head = f"{layer.name or 'layer'}  {layer.cell}: {rates}"
    gates, weights = layer.gates.items(), layer.weights.items()
    uses = [[n, f"{g.mean:.3f}", f"{g.shut:.1%}", f"{g.open:.1%}"] for n, g in gates]
    spectra = [[n, f"{W.largest:.3f}", f"{W.spectral_radius:.3f}"] for n, W in weights]
    parts = [head, table([">steps back", *columns], rows)]
    parts.append(table(["gate", ">mean", ">below 0.1", ">above 0.9"], uses))
    if spectra:
        parts.append(table(["weights", ">largest singular value", ">spectral radius"], spectra))
    return "\n\n".join(parts)

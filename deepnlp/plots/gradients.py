"""How gradients flow back in time: through one model now, and over the course of training."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from deepnlp.backend import HostArray
from deepnlp.gradflow import GradientFlow, GradientHistory, LayerFlow
from deepnlp.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    LOOKS,
    SKY,
    VERMILLION,
    Label,
    headed,
    label_in_margin,
    legend_above,
    log_scale,
    percent,
    plain,
    saved,
)

LEAST_SHARE = 1e-12  # smaller shares are not drawn
LEFT = "share of the gradient that is left"
DH_DH = r"$\partial h_t / \partial h_{t-k}$"


def gradient_flow(flow: GradientFlow, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the measurements of the gradient microscope, one column per layer.

    Above: the share of the gradient that is left at each step back in time, with the predicted rate
    beside the measured one, and the largest singular value of the product of step Jacobians over
    all windows. In the last layer no measured share is above it; into the others, gradients also
    come down at every step from the layers above. Shares too small to be drawn lie on the lower
    edge. Below: how far the gates are open, and the singular values of the blocks of W_h.

    Parameters
    ----------
    flow : GradientFlow
    path : str or path, optional
        Where to save the figure; the suffix chooses the format (``.png``, ``.pdf``, ``.svg``).

    Examples
    --------
    >>> from deepnlp import gradflow
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(vocab_size=9, embed_size=4, hidden_size=4, layers=1, cell="rnn")
    >>> flow = gradflow.gradient_flow(model, np.arange(60) % 9, steps=8)
    >>> len(gradient_flow(flow).axes)
    3
    """
    with_weights = any(layer.weights for layer in flow.layers)
    rows = 3 if with_weights else 2
    width, height = 0.9 + 6.0 * len(flow.layers), 8.6 if with_weights else 6.4
    figure = headed(width, height, _flow_message(flow))
    ratios = [3.0, 1.0, 1.5][:rows]
    panels = figure.subplots(rows, len(flow.layers), squeeze=False, height_ratios=ratios)
    curves = [_curves(layer, layer is not flow.layers[-1]) for layer in flow.layers]
    drawn = np.concatenate([y for of_layer in curves for _, y, *_ in of_layer])
    lowest = max(float(drawn[drawn > 0].min(initial=0.1)), LEAST_SHARE)
    for column, layer, of_layer in zip(panels.T, flow.layers, curves, strict=True):
        _draw_shares(column[0], of_layer, lowest, max(1.0, float(drawn.max())))
        column[0].set_title(f"{layer.name}  {layer.cell}".strip(), loc="left", fontsize=10.5)
        _draw_gates(column[1], layer)
        if with_weights:
            _draw_singular_values(column[2], layer)
    return saved(figure, path)


def gradient_heat_map(history: GradientHistory, path: str | PathLike[str] | None = None) -> Figure:
    """Draw the share of the gradient that is left at each step back in time, over training.

    Parameters
    ----------
    history : GradientHistory
        At least one measurement.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If nothing was measured.

    Examples
    --------
    >>> from deepnlp import gradflow
    >>> from deepnlp.models import RNNLM
    >>> model, history = RNNLM(9, 4, 4, layers=2), GradientHistory()
    >>> for update in (0, 50):
    ...     history.add(update, gradflow.gradient_flow(model, np.arange(60) % 9, steps=8))
    >>> len(gradient_heat_map(history).axes)     # two layers and the scale of colours
    3
    """
    if not len(history):
        raise ValueError("a heat map of gradients needs at least one measurement, got none")
    shares, updates = history.dh_share, history.updates
    _, layers, T = shares.shape
    figure = headed(8.0, 1.7 + 2.5 * layers, _history_message(history))
    panels = figure.subplots(layers, 1, sharex=True, squeeze=False)[:, 0]
    low = max(min(1e-3, float(shares[shares > 0].min(initial=1.0))), LEAST_SHARE)
    norm = LogNorm(low, max(1.0, float(shares.max())))
    edges = _edges(updates)
    for number, (axes, name) in enumerate(zip(panels, history.layers, strict=True)):
        values = np.clip(shares[:, number, :], low, None).T
        image = axes.pcolormesh(edges, np.arange(T + 1) - 0.5, values, norm=norm, cmap="cividis")
        reach = [_reach(row) for row in shares[:, number, :]]
        for colour, width in (("white", 1.8), (BLACK, 0.9)):
            axes.plot(updates, reach, color=colour, linewidth=width, drawstyle="steps-mid")
        axes.set(ylim=(-0.5, T - 0.5), ylabel="steps back in time")
        axes.set_title(f"layer {number + 1} ({name})", loc="left", fontsize=10)
    panels[-1].set_xlabel("updates")
    panels[-1].xaxis.set_major_locator(MaxNLocator(integer=True))
    scale = figure.colorbar(image, ax=panels, aspect=40, ticks=LogLocator(numticks=7))
    scale.set_label("share of the gradient w.r.t. h that is left")
    return saved(figure, path)


def gradient_norms(
    updates: Sequence[int],
    norms: Mapping[str, Sequence[float]],
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw the norm of the whole gradient over the updates, and below it that of each layer.

    Parameters
    ----------
    updates : sequence of int
        M, after how many updates each norm was measured.
    norms : mapping of str to sequence of float
        M norms by layer, the first at the bottom.
    path : str or path, optional
        Where to save the figure.

    Raises
    ------
    ValueError
        If there is nothing to draw.

    Examples
    --------
    >>> figure = gradient_norms([0, 10], {"embedding": [1.0, 3.0], "output": [2.0, 4.0]})
    >>> figure.axes[0].get_title(loc="left")
    'The norm of the gradient: 2.24 at first, 5 at the end'
    """
    values = np.array([*norms.values()], dtype=float)
    if not values.size:
        raise ValueError("there are no norms of gradients to draw")
    whole = np.sqrt(np.sum(values**2, axis=0))
    figure = headed(7.0, 2.9 + 0.22 * len(values))
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.0, 0.7 + 0.15 * len(values)])
    top.plot(updates, whole, color=BLUE, lw=1.2)
    top.set(yscale="log", ylabel="norm")
    first, last = (f"{norm:.3g}" for norm in whole[[0, -1]])
    message = f"The norm of the gradient: {first} at first, {last} at the end"
    top.set_title(message, loc="left", fontsize=10.5, weight="bold")
    plain(top)
    drawn = np.maximum(values, LEAST_SHARE)
    edges, rows = _edges(np.asarray(updates)), np.arange(len(values) + 1) - 0.5
    image = below.pcolormesh(edges, rows, drawn, norm=LogNorm(), cmap="cividis")
    below.set_yticks(range(len(values)), [*norms], fontsize=8.5)
    below.set_xlabel("updates")
    figure.colorbar(image, ax=below).set_label("norm")
    return saved(figure, path)


# --- One layer now ----------------------------------------------------------------------------


Curve = tuple[HostArray, HostArray, str, dict[str, Any]]  # x, y, the text at its end, its look


def _curves(layer: LayerFlow, fed: bool) -> list[Curve]:
    """Return the shares measured and predicted; ``fed`` where gradients come down at every step."""
    k = np.arange(len(layer.dh))
    measured = f"measured w.r.t. $h$\n{layer.measured_rate:.3f} per step"
    curves: list[Curve] = [(k, layer.dh_share, measured, {"color": BLUE, "lw": 2.2})]
    if layer.dc_share is not None:
        look: dict[str, Any] = {"color": VERMILLION, "ls": "--", "lw": 1.8}
        curves.append((k, layer.dc_share, "measured w.r.t. $c$", look))
    if layer.predicted_rate is not None:
        text = f"predicted rate\n{layer.predicted_rate:.3f} per step"
        look = {"color": BLACK, "ls": ":", "lw": 1.3}
        curves.append((k, layer.predicted_rate**k, text, look))
    if layer.jacobians is not None:
        lags, values = np.array(layer.jacobians.lags), layer.jacobians.singular_values[:, 0]
        text = "largest singular\nvalue of " + DH_DH + (",\nthis layer alone" if fed else "")
        curves.append((lags, values, text, {"color": GREEN, "ls": "", "marker": "D", "ms": 4.5}))
    return curves


def _draw_shares(axes: Axes, curves: list[Curve], lowest: float, highest: float) -> None:
    labels = []
    for x, y, text, look in curves:
        seen = np.maximum(y, lowest / 3)  # smaller ones lie on the lower edge
        axes.plot(x, seen, clip_on=False, zorder=3, **look)
        labels.append(Label(text, float(seen[-1]), look["color"]))
    log_scale(axes, lowest / 3, highest * 3)
    axes.set(xlim=(0, len(curves[0][0]) - 1), xlabel=r"steps back in time, $k$", ylabel=LEFT)
    plain(axes)
    label_in_margin(axes, labels, height=0.14, size=8.5)


def _draw_gates(axes: Axes, layer: LayerFlow) -> None:
    """Draw for each gate the shares shut, between and open, and a mark at its mean."""
    names, uses = list(layer.gates), layer.gates.values()
    shut, open_, means = np.array([(use.shut, use.open, use.mean) for use in uses]).T
    for left, share, colour, text in (
        (0 * shut, shut, "#8C8C8C", "below 0.1"),
        (shut, 1 - shut - open_, "#DDDDDD", "between"),
        (1 - open_, open_, SKY, "above 0.9"),
    ):
        drawn = axes.barh(names, share, left=left, color=colour, height=0.62, label=text)
    axes.plot(means, names, "|", color=BLACK, markersize=17, markeredgewidth=2)
    axes.bar_label(drawn, [f"mean {mean:.2f}" for mean in means], padding=6, fontsize=8.5)
    axes.set(xlim=(0, 1), ylim=(len(names) - 0.4, -0.6))
    axes.set_xlabel("share of the values, and the mean (bar)", fontsize=9)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    legend_above(axes, 3)


def _draw_singular_values(axes: Axes, layer: LayerFlow) -> None:
    labels = []
    for (name, spectrum), (colour, dash, _) in zip(layer.weights.items(), LOOKS, strict=False):
        values = spectrum.singular_values
        axes.plot(np.arange(1, len(values) + 1), values, color=colour, ls=dash, lw=1.6)
        axes.plot([len(values)], [spectrum.spectral_radius], "D", color=colour, ms=5, clip_on=False)
        text = rf"$\rho$({name}) = {spectrum.spectral_radius:.2f}"
        labels.append(Label(text, spectrum.spectral_radius, colour))
    axes.axhline(1.0, color=BLACK, lw=0.8)
    top = max(spectrum.largest for spectrum in layer.weights.values())
    axes.set(xlim=(1, max(2, len(values))), ylim=(0, 1.1 * max(top, 1.0)), ylabel="singular value")
    below = "singular values of $W_h$, the largest first (diamond: spectral radius ρ)"
    axes.set_xlabel(below, fontsize=9)
    plain(axes)
    label_in_margin(axes, labels, height=0.16, size=8.5)


def _flow_message(flow: GradientFlow) -> str:
    left = [percent(float(layer.dh_share[-1])) for layer in flow.layers]
    parts = ", ".join(f"{share} in layer {number}" for number, share in enumerate(left, start=1))
    return f"Left of the gradient w.r.t. $h$ after {flow.steps} steps back in time:\n{parts}"


# --- Over the course of training ---------------------------------------------------------------


def _edges(updates: HostArray) -> HostArray:
    """Return borders between measurements, halfway from one to the next."""
    steps = np.diff(updates) if len(updates) > 1 else np.ones(1)
    beyond = np.concatenate([updates[:1] - steps[:1], updates, updates[-1:] + steps[-1:]])
    return (beyond[1:] + beyond[:-1]) / 2


def _reach(shares: HostArray, least: float = 0.01) -> int:
    """Return the last step back at which at least 1 % of the gradient is left."""
    return int(np.flatnonzero(shares >= least).max(initial=0))


def _history_message(history: GradientHistory) -> str:
    ends = [[_reach(row) for row in history.dh_share[m]] for m in (0, -1)]
    parts = [f"{a} to {b} in layer {n}" for n, (a, b) in enumerate(zip(*ends, strict=True), 1)]
    return (
        "Steps back that 1 % of the gradient reaches (the line), from the first update to the "
        f"last:\n{', '.join(parts)}"
    )

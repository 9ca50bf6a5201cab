"""How far the gates of a cell open and shut while it reads a sentence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.style import GREY, headed


def gate_traces(
    tokens: Sequence[str], gates: Mapping[str, HostArray], *, title: str, units: int = 12
) -> Figure:
    """Draw gates over a sentence, a panel for each: a row for a unit, a column for a word.

    Shown are the units whose gate changes most from word to word, those that are most open first;
    the numbers below each panel are means over all units.

    Parameters
    ----------
    tokens : sequence of str
        The T words that were read.
    gates : mapping of str to array (T, H)
        Numbers from 0 (shut) to 1 (open), by name.
    title : str
    units : int
        How many of the H units to show.

    Raises
    ------
    ValueError
        If there is no gate, or one has not a row for each word.

    Examples
    --------
    >>> gates = {"forget gate f": np.linspace(0, 1, 6).reshape(3, 2)}
    >>> figure = gate_traces(["a", "cat", "sleeps"], gates, title="It opens")
    >>> figure.axes[0].get_ylabel()
    'forget gate f'
    """
    if not gates or any(len(gate) != len(tokens) for gate in gates.values()):
        raise ValueError(
            f"gate_traces: expected gates with a row for each of {len(tokens)} words, got "
            f"{ {name: np.shape(gate) for name, gate in gates.items()} }"
        )
    panels, T = len(gates), len(tokens)
    rows = min(units, *(np.shape(gate)[1] for gate in gates.values()))
    below = 0.25 + 0.075 * max(map(len, tokens))  # inches, for words that stand upright
    height = 0.45 + 0.19 * title.count("\n") + panels * (0.36 + 0.105 * rows) + below
    figure = headed(max(4.6, min(9.0, 1.7 + 0.34 * T)), height, title)
    all_axes = figure.subplots(panels, squeeze=False)[:, 0]
    small: Any = {"ha": "center", "va": "top", "fontsize": 8.5, "color": GREY}
    for axes, (name, gate) in zip(all_axes, gates.items(), strict=True):
        shown = _most_varied(np.asarray(gate), rows).T
        image = axes.imshow(shown, aspect="auto", cmap="cividis", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        axes.set_ylabel(name, fontsize=9.5)
        for t, mean in enumerate(np.asarray(gate).mean(axis=1)):
            axes.text(t, rows - 0.35, f"{mean:.2f}".removeprefix("0"), **small)
        axes.spines[:].set_visible(False)
    axes.set_xticks(range(T), list(tokens), rotation=90)
    axes.tick_params(axis="x", length=0, pad=14, labelsize=9.5)
    scale = figure.colorbar(image, ax=all_axes, ticks=[0, 0.5, 1], aspect=40)
    scale.ax.set_yticklabels(["0 shut", "0.5", "1 open"], fontsize=8.5)
    return figure


def _most_varied(gate: HostArray, units: int) -> HostArray:
    """The columns that change most, (T, units), the most open first."""
    chosen = np.argsort(-gate.std(axis=0), kind="stable")[:units]
    return gate[:, chosen[np.argsort(-gate[:, chosen].mean(axis=0), kind="stable")]]

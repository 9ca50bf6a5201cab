"""How far the gates of a cell open and shut while it reads a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.plots.style import BLACK, GREY


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
    words = 0.25 + 0.075 * max(map(len, tokens))  # inches below, for words that stand upright
    head, panel = 0.3 + 0.19 * (1 + title.count("\n")), 0.34 + 0.105 * rows
    width, height = max(4.6, min(9.0, 1.7 + 0.34 * T)), head + panels * panel + words
    figure = Figure(figsize=(width, height), dpi=150)
    left, right = 0.62 / width, 1 - 0.95 / width
    for number, (name, gate) in enumerate(gates.items()):
        bottom = height - head - (number + 1) * panel + 0.26
        axes = figure.add_axes((left, bottom / height, right - left, (panel - 0.34) / height))
        image = axes.imshow(
            _most_varied(np.asarray(gate), rows).T, aspect="auto", cmap="cividis", vmin=0, vmax=1,
            interpolation="nearest",
        )  # fmt: skip
        axes.set_yticks([])
        axes.set_ylabel(name, fontsize=9.5)
        means = np.asarray(gate).mean(axis=1)
        for t, mean in enumerate(means):
            axes.text(
                t, rows - 0.35, f"{mean:.2f}"[1 if mean < 0.995 else 0 :], ha="center", va="top",
                fontsize=7, color=GREY,
            )  # fmt: skip
        axes.set_xticks(range(T), list(tokens) if number == panels - 1 else [], rotation=90)
        axes.tick_params(axis="x", length=0, pad=12, labelsize=9.5)
        axes.spines[:].set_visible(False)
    lowest = height - head - panels * panel + 0.26
    scale = figure.add_axes((1 - 0.75 / width, lowest / height, 0.13 / width,
                             (height - head - 0.08 - lowest) / height))  # fmt: skip
    figure.colorbar(image, cax=scale, ticks=[0, 0.5, 1])
    scale.set_yticklabels(["0 shut", "0.5", "1 open"], fontsize=8.5)
    figure.text(0.15 / width, 1 - 0.1 / height, title, fontsize=10.5, weight="bold", va="top",
                color=BLACK)  # fmt: skip
    return figure


def _most_varied(gate: HostArray, units: int) -> HostArray:
    """The columns that change most, (T, units), the most open first."""
    chosen = np.argsort(-gate.std(axis=0), kind="stable")[:units]
    return gate[:, chosen[np.argsort(-gate[:, chosen].mean(axis=0), kind="stable")]]

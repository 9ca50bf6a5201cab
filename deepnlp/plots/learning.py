"""The learning curve: perplexity, or another figure, by epoch beside the baselines to beat."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import isfinite
from operator import itemgetter
from os import PathLike
from typing import Any

from matplotlib.figure import Figure

from deepnlp.plots.curves import curves
from deepnlp.plots.style import BLUE, saved

WIDE_RANGE = 4.0  # highest perplexity over lowest, from which on the axis is logarithmic
MOST_RATES = 3  # of a schedule that changes more often the ends are named


def learning_curve(
    history: Sequence[Mapping[str, Any]],
    baselines: Mapping[str, float] | None = None,
    path: str | PathLike[str] | None = None,
    metric: str = "perplexity",
    *,
    higher_is_better: bool = False,
) -> Figure:
    """Draw perplexity by epoch beside the baselines to beat.

    The curves and the baselines are labelled in the right margin, each with its last value. A
    ring marks the epoch with the best validation; below the axis stands how the learning rate
    changed. The vertical axis is logarithmic where it spans more than a factor of 4, unless
    higher is better.

    Parameters
    ----------
    history : sequence of dict
        One row per epoch, with ``"epoch"`` and ``"train_perplexity"``, ``"valid_perplexity"`` and
        ``"lr"`` where there is one. A value that is missing, None or not finite leaves a gap.
    baselines : dict of str to float, optional
        Validation perplexities of models to compare with, such as ``{"trigram": 71.0}``.
    path : str or path, optional
        Where to save the figure; the suffix chooses the format (``.png``, ``.pdf``, ``.svg``).
    metric : str
        What is drawn: the rows hold ``train_<metric>`` and ``valid_<metric>``.
    higher_is_better : bool
        Of the metric.

    Raises
    ------
    ValueError
        If no row of ``history`` holds a finite value.

    Examples
    --------
    >>> history = [
    ...     {"epoch": 1, "train_perplexity": 190.0, "valid_perplexity": 98.0, "lr": 0.01},
    ...     {"epoch": 2, "train_perplexity": 92.0, "valid_perplexity": 69.5, "lr": 0.01},
    ... ]
    >>> figure = learning_curve(history, {"bigram": 95.0, "trigram": 71.0})
    >>> figure.axes[0].get_title(loc="left")
    "Validation perplexity 69.5 after 2 epochs, below the trigram's 71.0"
    """
    lines = {
        "validation": _points(history, f"valid_{metric}"),
        "training": _points(history, f"train_{metric}"),
    }
    lines = {name: points for name, points in lines.items() if points[1]}
    if not lines:
        raise ValueError(
            f"a learning curve needs a finite train_{metric} or valid_{metric} in at least one "
            f"row; got {len(history)} rows without any"
        )
    levels = {name: value for name, value in (baselines or {}).items() if isfinite(value)}
    shown = [*levels.values(), *(value for _, values in lines.values() for value in values)]
    is_wide = 0 < WIDE_RANGE * min(shown) < max(shown) and not higher_is_better
    which, (epochs, values) = next(iter(lines.items()))
    best = (max if higher_is_better else min)(zip(epochs, values, strict=True), key=itemgetter(1))
    name = metric.replace("_", " ")
    figure = curves(
        {f"{of} {_number(points[1][-1])}": points for of, points in lines.items()},
        title=_message(f"{which} {name}", best, epochs[-1], levels),
        xlabel="epoch" + _learning_rates(history),
        ylabel=name + (" (log scale)" if is_wide else ""),
        levels={f"{of} {_number(value)}": value for of, value in levels.items()},
        logy=is_wide,
    )
    if which == "validation":
        ring: Any = {"markerfacecolor": "none", "markeredgecolor": BLUE, "markeredgewidth": 1.3}
        figure.axes[0].plot(*best, marker="o", markersize=11, clip_on=False, zorder=4, **ring)
    return saved(figure, path)


def _points(history: Sequence[Mapping[str, Any]], key: str) -> tuple[list[float], list[float]]:
    """Return epochs and values, of those whose value can be drawn."""
    rows = [row for row in history if row.get(key) is not None and isfinite(row[key])]
    return [row["epoch"] for row in rows], [float(row[key]) for row in rows]


def _learning_rates(history: Sequence[Mapping[str, Any]]) -> str:
    """Return how the learning rate changed, if it did."""
    rates = [(row["epoch"], row["lr"]) for row in history if row.get("lr") is not None]
    changes = [after for before, after in pairwise(rates) if before[1] != after[1]]
    if not changes:
        return ""
    first = f"; learning rate {rates[0][1]:.3g}"
    if len(changes) > MOST_RATES:
        return f"{first} to {rates[-1][1]:.3g}"
    return first + "".join(f", {rate:.3g} from {epoch:g}" for epoch, rate in changes)


def _message(what: str, best: tuple[float, float], last: float, levels: Mapping[str, float]) -> str:
    """Return the figure's message in one line: the best value and the baselines around it."""
    epoch, value = best
    text = f"Best {what} {_number(value)} (epoch {epoch:g} of {last:g})"
    if epoch == last:
        epochs = "epoch" if epoch == 1 else "epochs"
        text = f"{what.capitalize()} {_number(value)} after {epoch:g} {epochs}"
    by_value = sorted((level, f"the {name}'s {_number(level)}") for name, level in levels.items())
    above = [of for level, of in by_value if level > value]
    below = [of for level, of in by_value if level <= value]
    if above and below:
        return f"{text},\nbetween {above[0]} and {below[-1]}"
    if above:
        return f"{text}, below {above[0]}"
    return f"{text}, above {below[-1]}" if below else text


def _number(value: float) -> str:
    if abs(value) < 1:
        return f"{value:.3f}"
    return f"{value:,.1f}" if value < 10_000 else f"{value:.2g}"

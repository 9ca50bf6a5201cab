"""Computation graphs of layers: blue arrows are values, red ones gradients."""

from __future__ import annotations

import math
import re
from inspect import signature
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import asnumpy
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import LSTM, Affine, MatMul, TimeLSTM
from deepnlp.lessons.figures.drawing import box, disc, word
from deepnlp.lessons.figures.graph_of_tape import HostArray, Node, Point, Source, graph_of
from deepnlp.lessons.figures.graph_places import SUM, Picture, picture_of, road_of
from deepnlp.plots.style import BLUE, VERMILLION, arrow, canvas

SYMBOLS = {
    "matmul": "×", "add": "+", "multiply": "$\\odot$", "one minus": "$1-$",
    "sigmoid": "$\\sigma$", "maximum": "ReLU",
}  # fmt: skip
RADIUS = 0.19  # of an operation, in inches
LEAF_WIDTH, LEAF_HEIGHT = 0.36, 0.19  # half of what an input's text takes
GAP = 0.03  # between an arrow and what it points to
MOST_NUMBERS = 2  # arrays of more entries are drawn without their values
BETWEEN = 0.055  # from the middle of an edge to its arrow of values, or of gradients


def computation_graph(
    layer: Layer, *inputs: Any, targets: Any = None, backward: bool = True, title: str | None = None
) -> Figure:
    """Draw what a layer computes, from its own weights, and where its gradients go.

    The graph is run on the inputs and compared with the layer: what is drawn is what the layer
    does. Arrays of up to two entries show their values and gradients, those of the outputs
    being 1.

    Parameters
    ----------
    layer : Layer
        A one-step RNN, LSTM or GRU, an Affine, a Sequential of layers; or a cell of one's own whose
        ``parts`` say which letters of an LSTM it has, such as ``"fgo"``.
    *inputs : arrays, optional
        What forward takes; random numbers, which are not shown, by default.
    targets : array of int, optional
        With them, SoftmaxWithLoss follows, and the gradients are those of the loss.
    backward : bool
        Whether to draw the gradients.
    title : str, optional
        Instead of the graph's own message.

    Raises
    ------
    ValueError
        If the number of inputs is not that of the layer.

    Examples
    --------
    >>> figure = computation_graph(LSTM.init(3, 5))
    >>> figure.axes[0].get_title(loc="left")
    'One step of an LSTM: from $c_{prev}$ to $c$ there is one product and one sum'
    """
    arrays, shown = _inputs_of(layer, inputs)
    picture = picture_of(layer, arrays, None if targets is None else np.asarray(asnumpy(targets)))
    return _Drawing(picture, shown, backward, title).figure


def memory_road(layer: TimeLSTM, x: Any) -> Figure:
    """Draw the memory cell of an LSTM over some steps, with the gradient's way back along it.

    The gradient is that of the last memory, set to 1; what goes through h is left out.

    Parameters
    ----------
    layer : TimeLSTM
        It reads x from a state of zeros.
    x : array (N, T, D)
        T inputs; with N = H = 1 the numbers are shown.

    Examples
    --------
    >>> figure = memory_road(TimeLSTM.init(3, 1), np.zeros((1, 3, 3)))
    >>> figure.axes[0].get_title(loc="left")
    'The road of $c$ alone: at each step one product with $f$ and one sum'
    """
    cell = LSTM(layer.Wx, layer.Wh, layer.b)
    inputs = [np.asarray(asnumpy(x))[:, t] for t in range(np.shape(x)[1])]
    states = [cell.start(len(x))]
    for x_t in inputs:
        states.append(cell.step(x_t, states[-1])[1])
    steps: list[list[Node]] = []
    dh, dc = np.zeros_like(states[0][0]), np.ones_like(states[0][1])
    for x_t, state in reversed(list(zip(inputs, states, strict=False))):
        nodes = graph_of(cell, [x_t, *map(asnumpy, state)], ["h", "c"], "ifgo", SUM, [dh, dc])
        dc = next(node.grad for node in nodes if node.name == "c_prev")
        steps.insert(0, nodes)
    return _Drawing(road_of(steps), values=True, backward=True).figure


def _inputs_of(layer: Any, inputs: tuple[Any, ...]) -> tuple[list[HostArray], bool]:
    """The inputs as host arrays, or random ones that fit; and whether to show their values."""
    name, parameters = type(layer).__name__, signature(layer.forward).parameters.values()
    wanted = sum(parameter.default is parameter.empty for parameter in parameters)
    if inputs:
        if len(inputs) != wanted:
            raise ValueError(
                f"computation_graph: a {name} takes {wanted} inputs, got {len(inputs)}"
            )
        return [np.asarray(asnumpy(x)) for x in inputs], True
    first = layer.layers[0] if isinstance(layer, Sequential) else layer
    if wanted > 1:
        widths = [layer.D] + [layer.H] * (wanted - 1)
    elif isinstance(first, Affine | MatMul):
        widths = [first.W.shape[0]]
    else:
        raise ValueError(
            f"computation_graph: a {type(first).__name__} does not say how wide its input is; "
            "give the input as well: computation_graph(layer, x)"
        )
    rng = np.random.default_rng(0)
    return [rng.standard_normal((2, width)) for width in widths], False


class _Drawing:
    """A graph on a figure whose unit is the inch."""

    def __init__(
        self, picture: Picture, values: bool, backward: bool, title: str | None = None
    ) -> None:
        self.picture, self.values, self.with_gradients = picture, values, backward
        places = np.array([node.at for node in picture.nodes])
        margin = np.array([0.55, 0.4])
        low, high = places.min(axis=0) - margin, places.max(axis=0) + margin
        width, height = high - low
        whole = (0.0, 0.0, 1.0, height / (height + 0.35))
        self.figure, self.axes = canvas(width, height + 0.35, whole)
        self.axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        for node in picture.nodes:
            self._node(node)
            for source in node.sources:
                self._edge(source, node)
        text = title or picture.title
        self.axes.set_title(text, loc="left", x=0.02, fontsize=10.5, weight="bold")

    def _node(self, node: Node) -> None:
        text = _symbol(node)
        if not node.operation:
            text = self._text(node.name, node.shape, node.value)
        elif _is_round(node):
            disc(self.axes, *node.at, RADIUS, lw=1.0)
        else:
            box(self.axes, *node.at, _half_width(node), RADIUS)
        word(self.axes, *node.at, text, fontsize=9.5, zorder=4)

    # --- Edges ------------------------------------------------------------------------------

    def _edge(self, source: Source, node: Node) -> None:
        """Both arrows between two nodes, and what they carry."""
        corners = [source.node.at, *source.via, node.at]
        corners[0] = _trimmed(corners[0], corners[1], source.node)
        corners[-1] = _trimmed(corners[-1], corners[-2], node)
        has_gradient = self.with_gradients and source.node.grad.size > 0
        self._arrows(corners, has_gradient)
        if not _is_variable(source.name):
            return
        along = self.picture.blocks_labelled_at if source.letters and not source.via else 0.5
        if source.via and not source.letters:
            along = 0.25  # after a corner, where other edges may cross further on
        if source.node.operation and node.operation:  # a leaf shows its value itself
            shape = "" if source.letters else source.node.shape
            self._beside(corners, self._text(source.name, shape, source.value), BLUE, 1.0, along)
        if has_gradient:
            grad = source.grad if self._is_used_once(source) else None
            self._beside(corners, self._gradient(source.name, grad), VERMILLION, -1.0, along)

    def _is_used_once(self, source: Source) -> bool:
        """Whether the gradient that comes back here is the whole gradient of the variable."""
        used = [other[::2] for node in self.picture.nodes for other in node.sources]
        return used.count(source[::2]) == 1

    def _arrows(self, corners: list[Point], has_gradient: bool) -> None:
        shift = BETWEEN if has_gradient else 0.0
        self._arrow(_parallel(corners, shift), BLUE, "-")
        if has_gradient:
            back = _parallel(corners, -shift)[::-1]
            self._arrow(back, VERMILLION, (0, (3, 2)))

    def _arrow(self, corners: list[Point], colour: str, style: Any) -> None:
        """A line with a head at its end, solid whatever the line is."""
        xs, ys = zip(*corners, strict=True)
        self.axes.plot(xs, ys, color=colour, linestyle=style, linewidth=1.1, zorder=2)
        ux, uy = _direction(corners[-2], corners[-1])
        (x, y) = corners[-1]
        arrow(self.axes, (x - 0.02 * ux, y - 0.02 * uy), (x, y), colour, width=0, head=8)

    def _beside(
        self, corners: list[Point], text: str, colour: str, side: float, along: float = 0.5
    ) -> None:
        """Write beside the last part of an edge: left of it (side 1) or right (side -1)."""
        begin, end = np.array(corners[-2:])
        ux, uy = _direction(*corners[-2:])
        normal = side * np.array([-uy, ux])
        place = begin + along * (end - begin) + 0.1 * normal
        horizontal = "center" if abs(normal[0]) < 0.35 else "left" if normal[0] > 0 else "right"
        vertical = "center" if abs(normal[1]) < 0.35 else "bottom" if normal[1] > 0 else "top"
        look: Any = {"ha": horizontal, "va": vertical, "multialignment": "center", "zorder": 4}
        word(self.axes, place[0], place[1], text, colour, fontsize=8.5, linespacing=1.05, **look)

    # --- Texts ------------------------------------------------------------------------------

    def _text(self, name: str, shape: str, value: HostArray) -> str:
        numbers = self._numbers(value)
        if numbers:
            return f"${_math(name)}$\n{numbers}"
        return f"${_math(name)}$\n({shape})" if shape else f"${_math(name)}$"

    def _gradient(self, name: str, grad: HostArray | None) -> str:
        numbers = "" if grad is None else self._numbers(grad)
        return f"$d{_math(name)}$" + (f"\n{numbers}" if numbers else "")

    def _numbers(self, array: HostArray) -> str:
        """The entries of a small array, where values are shown."""
        if not self.values or array.size > MOST_NUMBERS:
            return ""
        return ", ".join(f"{number:.3g}" for number in array.ravel())


def _symbol(node: Node) -> str:
    return SYMBOLS.get(node.operation, node.operation)


def _is_round(node: Node) -> bool:
    symbol = _symbol(node)
    return bool(symbol) and ("$" in symbol or len(symbol) == 1)


def _half_width(node: Node) -> float:
    """How far a node reaches to its sides, in inches."""
    if not node.operation:
        return max(LEAF_WIDTH, 0.06 * len(node.shape) + 0.12)
    return RADIUS if _is_round(node) else max(0.25, 0.042 * len(_symbol(node)) + 0.08)


def _trimmed(point: Point, towards: Point, node: Node) -> Point:
    """Where an edge leaves a node, a little off its border."""
    ux, uy = _direction(point, towards)
    wide, high = _half_width(node), LEAF_HEIGHT if not node.operation else RADIUS
    if _is_round(node):
        reach = RADIUS
    else:  # to the border of a box
        reach = min(wide / abs(ux) if ux else math.inf, high / abs(uy) if uy else math.inf)
    return point[0] + (reach + GAP) * ux, point[1] + (reach + GAP) * uy


def _direction(begin: Point, end: Point) -> Point:
    length = math.dist(begin, end)
    return (end[0] - begin[0]) / length, (end[1] - begin[1]) / length


def _parallel(corners: list[Point], shift: float) -> list[Point]:
    """The same way, moved to the left by a distance; corners stay corners."""
    ways = [_direction(*part) for part in pairwise(corners)]
    moved = []
    for k, (x, y) in enumerate(corners):
        before, after = ways[max(k - 1, 0)], ways[min(k, len(ways) - 1)]
        turn = 1 + before[0] * after[0] + before[1] * after[1]
        moved.append(
            (x - shift * (before[1] + after[1]) / turn, y + shift * (before[0] + after[0]) / turn)
        )
    return moved


def _is_variable(name: str) -> bool:
    """Whether it is a name of an equation, and not an expression such as ``x Wx``."""
    return re.fullmatch(r"[A-Za-z]+(_\w+)?", name) is not None


def _math(name: str) -> str:
    """A name as mathematical text: ``h_prev`` with an upright index, ``Wx`` with an index x."""
    letter, _, index = name.partition("_")
    if len(letter) == 2:
        return f"{letter[0]}_{{{letter[1]}" + (f",{index}" if index else "") + "}"
    if not index:
        return letter
    return f"{letter}_{{\\mathrm{{{index}}}}}" if len(index) > 2 else f"{letter}_{{{index}}}"

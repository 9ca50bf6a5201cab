"""Computation graphs of layers: blue arrows are values, red ones gradients."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from deepnlp.backend import HostArray, asnumpy
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import LSTM, Affine, MatMul, TimeLSTM
from deepnlp.plots.style import BLUE, VERMILLION, arrow, sheet
from material.figures.drawing import beside, box, disc, word
from material.figures.graph_of_tape import Node, Point, Source, graph_of
from material.figures.graph_places import PLANS, Picture, picture_of, road_of

SYMBOLS = {
    "matmul": "×", "add": "+", "multiply": "$\\odot$", "one minus": "$1-$",
    "sigmoid": "$\\sigma$", "maximum": "ReLU",
}  # fmt: skip
RADIUS = 0.19  # of an operation, in inches
LEAF_WIDTH = 0.36  # half of what an input's text takes, in inches
GAP = 2  # between an arrow and what it points to, in points
MARGIN = np.array([0.55, 0.4])  # round the nodes, in inches
MOST_NUMBERS = 2  # arrays of more entries are drawn without their values
BETWEEN = 0.055  # from the middle of an edge to its arrow of values, or of gradients


def computation_graph(
    layer: Layer,
    *inputs: Any,
    targets: Any = None,
    title: str | None = None,
    names: Mapping[str, str] | None = None,
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
    title : str, optional
        Instead of the graph's own message.
    names : mapping of str to str, optional
        Other letters, such as ``{"W_1": "E"}``.

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
    for node in picture.nodes:
        node.name = (names or {}).get(node.name, node.name)
    return _Drawing(picture, shown).draw(title)


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
    equations = PLANS["lstm"].equations
    dh, dc = np.zeros_like(states[0][0]), np.ones_like(states[0][1])
    for x_t, state in reversed(list(zip(inputs, states, strict=False))):
        nodes = graph_of(cell, [x_t, *map(asnumpy, state)], ["h", "c"], "ifgo", equations, [dh, dc])
        dc = next(node.grad for node in nodes if node.name == "c_prev")
        steps.insert(0, nodes)
    return _Drawing(road_of(steps), values=True).draw(None)


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


@dataclass
class _Drawing:
    """A graph on a sheet: nodes, and two arrows for each edge."""

    picture: Picture
    values: bool

    def draw(self, title: str | None) -> Figure:
        places = np.array([node.at for node in self.picture.nodes])
        low, high = places.min(axis=0) - MARGIN, places.max(axis=0) + MARGIN
        width, height = high - low
        figure, axes = sheet(width, height + 0.35, title or self.picture.title, tuple(low))
        patches = {id(node): self._node(axes, node) for node in self.picture.nodes}
        for node in self.picture.nodes:
            for source in node.sources:
                self._edge(axes, source, node, (patches[id(source.node)], patches[id(node)]))
        return figure

    def _node(self, axes: Axes, node: Node) -> Patch:
        """A circle or a box with the operation; the text of a leaf, whose box is not drawn."""
        text = SYMBOLS.get(node.operation, node.operation)
        if not text:
            text = self._text(node.name, node.shape, node.value)
            wide = max(LEAF_WIDTH, 0.06 * len(node.shape) + 0.12)
            patch: Patch = box(axes, *node.at, wide, RADIUS, visible=False)
        elif "$" in text or len(text) == 1:
            patch = disc(axes, *node.at, RADIUS, lw=1.0)
        else:
            patch = box(axes, *node.at, max(0.25, 0.042 * len(text) + 0.08), RADIUS)
        word(axes, *node.at, text, fontsize=9.5, zorder=4)
        return patch

    def _edge(self, axes: Axes, source: Source, node: Node, ends: tuple[Patch, Patch]) -> None:
        """Both arrows between two nodes, and what they carry."""
        corners = [source.node.at, *source.via, node.at]
        has_gradient = source.node.grad.size > 0
        self._arrow(axes, corners, ends, BLUE, BETWEEN if has_gradient else 0.0)
        if has_gradient:
            self._arrow(axes, corners[::-1], ends[::-1], VERMILLION, BETWEEN)
        if not _is_variable(source.name):
            return
        along = self.picture.blocks_labelled_at if source.letters and not source.via else 0.5
        if source.via and not source.letters:
            along = 0.25  # after a corner, where other edges may cross further on
        last = corners[-2], corners[-1]
        if source.node.operation and node.operation:  # a leaf shows its value itself
            shape = "" if source.letters else source.node.shape
            text = self._text(source.name, shape, source.part(source.node.value))
            self._label(axes, *last, text, BLUE, along)
        if has_gradient:
            grad = source.part(source.node.grad) if self._is_used_once(source) else np.zeros(0)
            text = self._text(source.name, "", grad, "d")
            self._label(axes, *last[::-1], text, VERMILLION, 1 - along)

    def _is_used_once(self, source: Source) -> bool:
        """Return whether the gradient that comes back here is the variable's whole gradient."""
        used = [other[::2] for node in self.picture.nodes for other in node.sources]
        return used.count(source[::2]) == 1

    def _arrow(
        self, axes: Axes, corners: list[Point], ends: tuple[Patch, Patch], colour: str, left: float
    ) -> None:
        """An arrow between two patches, a little left of the way through the corners."""
        (x, y), (dx, dy) = corners[0], beside(corners[0], corners[1], left)
        start = x + dx, y + dy
        (x, y), (dx, dy) = corners[-1], beside(corners[-2], corners[-1], left)
        way = "arc3"
        if len(corners) > 2:
            level_first = corners[0][1] == corners[1][1]
            way = f"angle,angleA={90 - 90 * level_first},angleB={90 * level_first},rad=0"
        look: Any = {"patchA": ends[0], "patchB": ends[1], "shrinkA": GAP, "shrinkB": GAP}
        look |= {"dashed": colour == VERMILLION, "width": 1.1, "head": 8}
        arrow(axes, start, (x + dx, y + dy), colour, connectionstyle=way, **look)

    def _label(
        self, axes: Axes, start: Point, end: Point, text: str, colour: str, along: float
    ) -> None:
        """Write left of an edge, so far along it."""
        dx, dy = beside(start, end, 1.0)
        x, y = (a + along * (b - a) for a, b in zip(start, end, strict=True))
        horizontal = "center" if abs(dx) < 0.35 else "left" if dx > 0 else "right"
        vertical = "center" if abs(dy) < 0.35 else "bottom" if dy > 0 else "top"
        look: Any = {"ha": horizontal, "va": vertical, "multialignment": "center", "zorder": 4}
        word(axes, x + 0.1 * dx, y + 0.1 * dy, text, colour, fontsize=8.5, linespacing=1.05, **look)

    def _text(self, name: str, shape: str, value: HostArray, before: str = "") -> str:
        """A name, and below it the entries of a small array where they are shown, or its shape."""
        text = f"${before}{_math(name)}$"
        if self.values and 0 < value.size <= MOST_NUMBERS:
            return f"{text}\n{', '.join(f'{number:.3g}' for number in value.ravel())}"
        return f"{text}\n({shape})" if shape else text


def _is_variable(name: str) -> bool:
    """Return whether it is a name of an equation, and not an expression such as ``x Wx``."""
    return re.fullmatch(r"[A-Za-z]+(_\w+)?", name) is not None


def _math(name: str) -> str:
    """A name as mathematical text: ``h_prev`` with an upright index, ``Wx`` with an index x."""
    letter, _, index = name.partition("_")
    if len(letter) == 2:
        return f"{letter[0]}_{{{letter[1]}" + (f",{index}" if index else "") + "}"
    if not index:
        return letter
    return f"{letter}_{{\\mathrm{{{index}}}}}" if len(index) > 2 else f"{letter}_{{{index}}}"

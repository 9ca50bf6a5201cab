"""Computation graphs of an LSTM in the making: a cell with some of its parts, and the road of c."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.lessons.figures.graph_model import Graph, HostArray, Node, Source

STAGES = {
    "n": "A memory: what comes in is added to what was there",
    "no": "An output gate: $o$ says how much of the memory is told",
    "fno": "A forget gate: $f$ says how much of the old memory stays",
    "fgo": "New memory: a tanh keeps what is added between $-1$ and 1",
    "ifgo": "An input gate: $i$ says how much of the new memory comes in",
}
PLACES = {"f": (5.2, 4.1), "i": (5.2, 3.15), "g": (5.2, 1.45), "o": (5.2, 0.4)}
A, C, TANH, H_AT, EXIT = (2.6, 1.8), (7.7, 4.9), (8.7, 2.7), (8.7, 0.4), 10.1


def stage_graph(layer: Any, x_value: HostArray, h_value: HostArray, c_value: HostArray) -> Graph:
    """One step of a cell whose ``parts`` are some of i, f, g, o, or n for new memory without tanh.

    Parameters
    ----------
    layer : Layer
        With ``parts``, the letters of the blocks of its ``Wx`` (D, n H), ``Wh`` and ``b``.
    x_value, h_value, c_value : array
        x (N, D), h_prev and c_prev (N, H).

    Returns
    -------
    Graph
    """
    parts, n = layer.parts, len(layer.parts)
    wide = "H" if n == 1 else f"{n}H"
    graph = Graph(STAGES.get(parts, f"A cell of the parts {', '.join(parts)}"), 0.68)
    c_prev = graph.leaf("c_prev", c_value, "N, H", (0.0, 4.9))
    x = graph.leaf("x", x_value, "N, D", (0.0, 1.0))
    h_prev = graph.leaf("h_prev", h_value, "N, H", (0.0, 2.6))
    Wx = graph.leaf("Wx", layer.Wx.value, f"D, {wide}", (1.4, 0.05), "Wx")
    xw = graph.apply("x Wx", "matmul", x, Wx, at=(1.4, 1.0))
    Wh = graph.leaf("Wh", layer.Wh.value, f"H, {wide}", (1.4, 3.55), "Wh")
    hw = graph.apply("h_prev Wh", "matmul", h_prev, Wh, at=(1.4, 2.6))
    b = graph.leaf("b", layer.b.value, wide, (2.6, 0.85), "b")
    a = graph.apply("a", "add", xw, hw, b, shape=f"N, {wide}", at=A, blocks=parts)

    def part(letter: str, operation: str) -> Node | None:
        if letter not in parts:
            return None
        source = Source(a, parts.index(letter) if n > 1 else None)
        return graph.apply(letter, operation, source, at=PLACES[letter])

    f, i, g, o = part("f", "sigmoid"), part("i", "sigmoid"), part("g", "tanh"), part("o", "sigmoid")
    kept = graph.apply("f c_prev", "multiply", f, c_prev, at=(6.7, 4.9)) if f else c_prev
    up = ((C[0], PLACES["g"][1]),)
    if i and g:
        new = Source(graph.apply("i g", "multiply", i, g, at=(6.7, 2.3)))
    elif g:
        new = Source(g, via=up)
    else:
        new = Source(a, parts.index("n") if n > 1 else None, via=((C[0], A[1]),))
    c = graph.apply("c", "add", kept, new, at=C)
    to_tanh = Source(c, via=((TANH[0], C[1]),))
    h = graph.apply("tanh c" if o else "h", "tanh", to_tanh, at=TANH)
    if o:
        h = graph.apply("h", "multiply", o, h, at=H_AT)
    graph.output(h, (EXIT, h.at[1]), "N, H")
    graph.output(c, (EXIT, C[1]), "N, H")
    return graph


def road_graph(gates: list[tuple[HostArray, HostArray]], c0: HostArray) -> Graph:
    """The memory cell over some steps: f_t and i_t g_t of each, (N, H), from c_0 (N, H)."""
    graph = Graph("The road of $c$ alone: at each step one product with $f$ and one sum")
    c = graph.leaf("c_0", c0, "N, H", (0.0, 1.4))
    for t, (f, new) in enumerate(gates, start=1):
        left = 2.75 * (t - 1)
        f_t = graph.leaf(f"f_{t}", f, "N, H", (left + 1.35, 0.1))
        new_t = graph.leaf(f"new_{t}", new, "N, H", (left + 2.4, 0.1))
        kept = graph.apply(f"f_{t} c_{t - 1}", "multiply", c, f_t, at=(left + 1.35, 1.4))
        c = graph.apply(f"c_{t}", "add", kept, new_t, at=(left + 2.4, 1.4))
    graph.output(c, (2.75 * len(gates) + 1.0, 1.4), "N, H")
    graph.backward(np.ones_like(c.value))
    return graph

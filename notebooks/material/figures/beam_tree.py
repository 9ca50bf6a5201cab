"""A beam search as a tree: what was kept at every step, and what was dropped."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION, Point, sheet
from material.figures.drawing import word

PATHS = [(VERMILLION, (0, (3, 1.5))), (BLUE, "-")]
PALE = "#8A8A8A"
WIDTH, ROW = 7.0, 0.37  # inches: of the figure, and a row
BOX = {"boxstyle": "round,pad=0.3", "facecolor": "white", "lw": 0.9}


class Candidate(NamedTuple):
    """One continuation that a beam search looked at.

    Parameters
    ----------
    parent : int
        Its place among the candidates of the step before; 0 in the first step.
    token : str
    log_probability : float
        Of the whole beginning.
    kept : bool
    """

    parent: int
    token: str
    log_probability: float
    kept: bool


def beam_tree(
    steps: Sequence[Sequence[Candidate]], paths: Mapping[str, Sequence[str]], *, title: str
) -> Figure:
    """Draw the candidates of each step, those that were dropped in grey, and a few ways through.

    Parameters
    ----------
    steps : sequence of sequence of Candidate
        From the first step to the last.
    paths : mapping of str to sequence of str
        At most two: by name, the tokens of a text among the candidates, step by step.
    title : str
        Line breaks are kept.

    Raises
    ------
    ValueError
        If there is no step, there are more than two paths, or a path is not among the candidates.

    Examples
    --------
    >>> steps = [[Candidate(0, "a", -0.5, True), Candidate(0, "b", -0.9, True)],
    ...          [Candidate(1, "c", -1.0, True), Candidate(0, "c", -1.4, False)]]
    >>> figure = beam_tree(steps, {"greedy": "ac", "beam": "bc"}, title="b c is likelier")
    >>> [text.get_text() for text in figure.axes[0].texts][:2]
    ['a  −0.50', 'b  −0.90']
    """
    if not steps or len(paths) > len(PATHS):
        raise ValueError(
            f"beam_tree: expected a step or more and at most {len(PATHS)} paths, got {len(steps)} "
            f"and {len(paths)}"
        )
    low, rows, lines = 0.3, max(map(len, steps)), 1 + title.count("\n")
    height = low + ROW * rows + 0.5 + 0.2 * lines
    figure, axes = sheet(WIDTH, height, title)
    middle = low + ROW * rows / 2
    gap = (WIDTH - 1.1) / len(steps)  # from one step to the next
    places: list[list[Point]] = [[(0.4, middle)]]  # the start
    for t, candidates in enumerate(steps):
        ys = _heights(candidates, [y for _, y in places[-1]], middle)
        places.append([(0.6 + gap * (t + 1), y) for y in ys])
        for one, (x, y) in zip(candidates, places[-1], strict=True):
            back, up = places[-2][one.parent]
            axes.plot((back, x), (up, y), color=GREY if one.kept else PALE, lw=1.0, zorder=2)
            colour = BLACK if one.kept else PALE
            text = f"{one.token}  {one.log_probability:.2f}".replace("-", "−")
            word(axes, x, y, text, colour, fontsize=8.5, bbox=BOX | {"edgecolor": colour}, zorder=5)
    for (name, way), (colour, dash) in zip(paths.items(), PATHS, strict=False):
        along = [places[0][0], *(places[t + 1][k] for t, k in enumerate(_found(steps, way)))]
        axes.plot(*zip(*along), color=colour, lw=2.4, ls=dash, zorder=3, label=name)
    word(axes, *places[0][0], "start", fontsize=9, bbox=BOX | {"edgecolor": "none"}, zorder=5)
    if paths:
        place = (0.0, 1 - (0.12 + 0.2 * lines) / height)
        look: Any = {"frameon": False, "fontsize": 9, "borderaxespad": 0.4}
        axes.legend(ncols=2, loc="upper left", bbox_to_anchor=place, **look)
    return figure


def _found(steps: Sequence[Sequence[Candidate]], way: Sequence[str]) -> list[int]:
    """The places of a text's candidates, step by step."""
    found = [0]  # the start
    for t, (candidates, token) in enumerate(zip(steps, way, strict=False)):
        ends = [(one.parent, one.token) for one in candidates]
        if (found[-1], token) not in ends:
            before = way[t - 1] if t else "start"
            raise ValueError(f"beam_tree: no candidate {token!r} after {before!r} in step {t + 1}")
        found.append(ends.index((found[-1], token)))
    return found[1:]


def _heights(candidates: Sequence[Candidate], parents: list[float], middle: float) -> list[float]:
    """The height of each: in the order of their parents, so that lines do not cross."""
    keys = [(-parents[one.parent], -one.log_probability) for one in candidates]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    top = middle + ROW * (len(candidates) - 1) / 2
    return [top - ROW * order.index(k) for k in range(len(candidates))]

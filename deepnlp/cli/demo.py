"""``deepnlp demo``: experiments on gradients and memory, each with a table and a figure.

Without a name: a list. The figure is written to runs/demos/NAME.png, or into --out; for slides
say --format svg.

examples:
  deepnlp demo
  deepnlp demo vanishing
  deepnlp demo memory --seed 1 --out figures --json
"""

import dataclasses
from pathlib import Path
from typing import Annotated

from deepnlp.cli.shared import Answer
from deepnlp.demos import DEMOS
from deepnlp.files.tables import table
from deepnlp.options import Option


def run(
    name: Annotated[str | None, Option(choices=DEMOS)] = None,
    *,
    out: Annotated[str, Option(metavar="DIR")] = "runs/demos",
    format: Annotated[str, Option(choices=("png", "svg", "pdf"))] = "png",
    seed: Annotated[int | None, Option(low=0, high=2**32 - 1)] = None,
) -> Answer:
    """Run one demonstration, or list them all.

    Parameters
    ----------
    name : str, optional
        the demonstration to run.
    out : str
        folder of the figure, created if there is none.
    format : str
        of the figure; svg and pdf stay sharp on slides.
    seed : int, optional
        seed of the random numbers; by default that of the demonstration.
    """
    if name is None:
        summaries = {name: demo.summary for name, demo in DEMOS.items()}
        listed = table(["name", "what it shows"], summaries.items())
        return Answer({"demonstrations": summaries}, listed)
    from deepnlp.plots.style import saved

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)  # before the work begins
    demo = DEMOS[name]
    config = demo.config if seed is None else dataclasses.replace(demo.config, seed=seed)
    result, figure = demo.run(config), folder / f"{name}.{format}"
    saved(result.figure(), figure)
    facts = {"name": name, **result.to_dict(), "figure": str(figure)}
    return Answer(facts, f"{result.table()}\n\nfigure: {figure}")

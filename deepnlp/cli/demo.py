"""``deepnlp demo``: experiments on gradients and memory, each with a table and a figure.

Without a name: a list. The figure is written to runs/demos/NAME.png, or into --out.

examples:
  deepnlp demo
  deepnlp demo vanishing
  deepnlp demo memory --seed 1 --out figures --json
"""

import argparse
import dataclasses
from functools import partial
from pathlib import Path

from deepnlp.cli.output import answer, aside, table
from deepnlp.cli.parser import add_json, at_least, option

DEFAULT_OUT = "runs/demos"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add("name NAME", "the demonstration to run", nargs="?")
    out = f"folder of the figure, created if there is none (default {DEFAULT_OUT})"
    add("--out DIR", out, default=DEFAULT_OUT)
    seed = "seed of the random numbers; by default that of the demonstration"
    add("--seed N", seed, at_least(0, 2**32 - 1))
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run one demonstration, or list them all."""
    from deepnlp.lessons.experiments import DEMOS
    from deepnlp.plots.style import saved

    if arguments.name is None:
        summaries = {name: demo.summary for name, demo in DEMOS.items()}
        listed = table(["name", "what it shows"], summaries.items())
        return answer(arguments, {"demonstrations": summaries}, listed)
    if arguments.name not in DEMOS:
        raise ValueError(
            f"there is no demonstration {arguments.name!r}: choose one of {', '.join(DEMOS)}"
        )
    folder = Path(arguments.out)
    folder.mkdir(parents=True, exist_ok=True)  # before the work begins
    demo, config = DEMOS[arguments.name], DEMOS[arguments.name].config
    if arguments.seed is not None:
        config = dataclasses.replace(config, seed=arguments.seed)
    result = demo.run(config)
    figure = folder / f"{arguments.name}.png"
    saved(result.figure(), figure)
    facts = {"name": arguments.name, **result.to_dict(), "figure": str(figure)}
    answer(arguments, facts, result.table())
    print(f"\nfigure: {figure}", file=aside(arguments))
    return 0
